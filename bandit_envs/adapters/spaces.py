"""What the adapters to Gymnasium, gym and rlberry share. It imports none of them."""

import functools
import importlib
import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.bandit_py_environment import is_bandit
from bandit_envs.base.checks import check_action, short_repr
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.base.slates import sum_over_slots
from bandit_envs.nests import Nest
from bandit_envs.seeding import Seed, generator
from bandit_envs.specs import ArraySpec, BoundedArraySpec, SlateSpec, is_discrete
from bandit_envs.trajectories import TimeStep


def space_from_spec(spaces: Any, spec: Nest) -> Any:
    """Returns the space of one row's values, from a framework's module of spaces.

    Integers from 0 become a `Discrete` or, if they have dimensions, a `MultiDiscrete`; booleans a
    `Discrete` or a `MultiBinary`; a dict a `Dict`, a list or tuple a `Tuple`; all else a `Box`. The
    `MultiDiscrete` of slates samples, and contains, distinct items only.
    """
    if isinstance(spec, dict):
        return spaces.Dict({key: space_from_spec(spaces, leaf) for key, leaf in spec.items()})
    if isinstance(spec, (list, tuple)):
        return spaces.Tuple([space_from_spec(spaces, leaf) for leaf in spec])
    if spec.dtype == np.bool_:
        return spaces.MultiBinary(list(spec.shape)) if spec.shape else spaces.Discrete(2)
    bounded = BoundedArraySpec.from_spec(spec)
    low, high = (np.broadcast_to(b, spec.shape) for b in (bounded.minimum, bounded.maximum))
    if is_discrete(spec) and not low.any() and (high < np.iinfo(np.int32).max).all():
        counts = high.astype(np.int64) + 1
        if isinstance(spec, SlateSpec):
            return slates(spaces)(counts)
        return spaces.MultiDiscrete(counts) if spec.shape else spaces.Discrete(counts.item())
    if spec.dtype.kind == "f":  # the largest finite numbers stand for infinity
        largest = np.finfo(spec.dtype).max
        low, high = np.where(low > -largest, low, -np.inf), np.where(high < largest, high, np.inf)
    return spaces.Box(low.astype(spec.dtype), high.astype(spec.dtype), dtype=spec.dtype.type)


@functools.cache
def slates(spaces: Any) -> Any:
    """Returns the class of the spaces of slates, in a framework's module of spaces."""

    class Slates(spaces.MultiDiscrete):  # type: ignore[misc]
        def sample(self, *args: Any, **kwargs: Any) -> NDArray[Any]:
            *rows, num_slots = self.nvec.shape
            order = self.np_random.random((*rows, int(self.nvec.max()))).argsort(axis=-1)
            return np.asarray(order[..., :num_slots], self.dtype)

        def contains(self, x: Any) -> bool:
            return super().contains(x) and bool(np.all(np.diff(np.sort(x, axis=-1))))

        def __reduce__(self) -> tuple[Any, ...]:
            return _slates_of, (spaces.__name__, self.nvec)

    return Slates


def _slates_of(name: str, counts: NDArray[Any]) -> Any:
    return slates(importlib.import_module(name))(counts)


def to_arrays(spec: Nest, element: Any, batch_size: int) -> Nest:
    """Returns an action, an element of a space or of the batched one, as arrays [B, ...]."""
    if isinstance(spec, ArraySpec):
        return check_action(element, spec, batch_size).astype(spec.dtype)
    if isinstance(spec, dict):
        if isinstance(element, dict) and element.keys() == spec.keys():
            return {key: to_arrays(leaf, element[key], batch_size) for key, leaf in spec.items()}
    elif isinstance(element, (list, tuple)) and len(element) == len(spec):
        return type(spec)([to_arrays(leaf, part, batch_size) for leaf, part in zip(spec, element)])
    raise TypeError(
        f"action is {short_repr(element)}; expected the structure of {short_repr(spec)}"
    )


def ending(step_type: Any, discount: Any) -> tuple[Any, Any]:
    """Returns whether a LAST terminates, by discount 0, and whether it truncates."""
    last = step_type == 2
    terminated = last & (discount == 0.0)
    return terminated, last ^ terminated


class Adapter:
    """Base of the adapters: an environment with a batch of one in Gymnasium's interface.

    A LAST with discount 0 is `terminated`, a LAST with discount 1 `truncated`. So without a horizon
    every step of a bandit is `terminated`, and the next action is chosen from its observation. Give
    a testbed a horizon if something resets it after each episode: a reset draws new arms. The
    caller may write into what is returned. A slate whose reward is a vector pays its sum.

    Args:
        env: the environment to adapt; a reward is one number.
        render_mode: "rgb_array", "human" or "ansi"; None to show nothing.
        expected_rewards: whether infos have the `best_arm` and the `expected_rewards` [K] of the
            state that the next action meets; if they are unknown, `reset` raises
            NotImplementedError.
    """

    metadata: Any = {"render_modes": ["rgb_array", "human", "ansi"], "render_fps": 4}  # noqa: RUF012
    _spaces: Any
    _row: int | None = 0  # None: all rows
    _was_reset = False
    _np_random_seed = -1  # as in Gymnasium, of a generator that was not seeded with an integer

    def __init__(
        self, env: PyEnvironment, render_mode: str | None = None, expected_rewards: bool = False
    ) -> None:
        super().__init__()
        if not isinstance(env, PyEnvironment):
            raise TypeError(f"env is {short_repr(env)}; expected a PyEnvironment")
        if self._row is not None and env.batch_size != 1:
            raise ValueError(f"env has batch_size {env.batch_size}; expected 1")
        spec, action_spec = env.reward_spec(), env.action_spec()
        self._sums = isinstance(action_spec, SlateSpec) and len(getattr(spec, "shape", ())) == 1
        if not isinstance(spec, ArraySpec) or (spec.shape and not self._sums):
            expected = "one number a row, as LinearScalarization makes of vectors"
            raise ValueError(f"env has reward_spec {short_repr(spec)}; expected {expected}")
        modes = (None, *self.metadata["render_modes"])
        if render_mode not in modes:
            raise ValueError(f"render_mode is {render_mode!r}; expected one of {modes}")
        if expected_rewards and not is_bandit(env):
            raise ValueError(f"expected_rewards is True; expected False, as {env.name} has none")
        self._env: Any = env
        self._start = env.get_state()
        self.render_mode = render_mode
        self.expected_rewards = expected_rewards
        self.reward_range = env.reward_range
        self.observation_space = space_from_spec(self._spaces, env.observation_spec())
        self.action_space = space_from_spec(self._spaces, action_spec)
        # A bandit converts an action that is one array by itself.
        self._converts = not (isinstance(action_spec, ArraySpec) and is_bandit(env))

    @property
    def env(self) -> Any:
        """The adapted environment."""
        return self._env

    @property
    def np_random(self) -> Any:
        """The generator of the environment."""
        return self._env.np_random

    @np_random.setter
    def np_random(self, value: np.random.Generator) -> None:
        self._seed(value)

    _np_random = np_random

    def reset(self, *, seed: Seed = None, options: dict[str, Any] | None = None) -> Any:
        """Starts a new episode, or a new run if there is a `seed`; returns observation and info."""
        if seed is not None:  # what goes on through resets, such as time, starts anew as well
            generator(seed)  # refuses a bad seed before anything changes
            self._env.set_state(self._start)
        self._seed(seed)
        time_step = self._env.reset()
        self._was_reset = True
        return self._observed(time_step), self._info()

    def step(self, action: Any) -> Any:
        """Returns the observation, the reward, `terminated`, `truncated` and the info."""
        time_step = self._take(action)
        ends = ending(time_step.step_type.item(), time_step.discount.item())
        return self._observed(time_step), self._paid(time_step).item(), *ends, self._info()

    def render(self) -> Any:
        return None if self.render_mode is None else self._env.render(self.render_mode)

    def close(self) -> None:
        self._env.close()

    def _seed(self, seed: Seed) -> None:
        if seed is not None:
            self._env.seed(seed)
            self._np_random_seed = int(seed) if isinstance(seed, numbers.Integral) else -1

    def _take(self, action: Any) -> Any:
        if self._converts:
            action = to_arrays(self._env.action_spec(), action, self._env.batch_size)
        return self._env.step(action)

    def _paid(self, time_step: TimeStep) -> NDArray[Any]:
        reward: NDArray[Any] = time_step.reward
        return sum_over_slots(reward) if self._sums else reward

    def _observed(self, time_step: TimeStep) -> Any:
        return self._copied(self.observation_space, time_step.observation, self._row)

    def _copied(self, space: Any, arrays: Nest, row: int | None = None) -> Any:
        """Copies arrays [B, ...], or one row of them, into an element of a space."""
        if isinstance(arrays, dict):
            return {key: self._copied(space[key], leaf, row) for key, leaf in arrays.items()}
        if isinstance(arrays, (list, tuple)):
            return tuple(self._copied(space[i], leaf, row) for i, leaf in enumerate(arrays))
        if row is not None and isinstance(space, self._spaces.Discrete):
            return int(arrays[row])
        return np.array(arrays if row is None else arrays[row], space.dtype)

    def _means(self) -> dict[str, NDArray[Any]]:
        if not self.expected_rewards:
            return {}
        means = self._env.expected_rewards().astype(np.float64)
        return {"best_arm": self._env.optimal_action().copy(), "expected_rewards": means}

    def _info(self) -> dict[str, Any]:
        rows = {key: values[0] for key, values in self._means().items()}
        return {key: row if row.ndim else row.item() for key, row in rows.items()}
