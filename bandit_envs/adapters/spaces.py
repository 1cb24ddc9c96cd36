"""What the adapters to Gymnasium, gym and rlberry share. It imports none of them."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.bandit_py_environment import is_bandit
from bandit_envs.base.checks import check_action, shown
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.base.state import Seed
from bandit_envs.specs import ArraySpec, BoundedArraySpec, Nest, is_continuous, is_discrete
from bandit_envs.trajectories import TimeStep

LAST = 2
UNKNOWN_SEED = -1
"""Gymnasium's seed of a generator that was not seeded with an integer."""


def space_from_spec(spaces: Any, spec: Nest) -> Any:
    """Returns the space of one row's values, from a framework's module of spaces.

    Integers from 0 become a `Discrete`, or a `MultiDiscrete` if there are several, as in a slate;
    booleans a `Discrete` or a `MultiBinary`; a dict a `Dict`, a list or tuple a `Tuple`; all else a
    `Box`, in which infinity stands for the largest floating-point numbers.
    """
    if isinstance(spec, dict):
        return spaces.Dict({key: space_from_spec(spaces, leaf) for key, leaf in spec.items()})
    if isinstance(spec, (list, tuple)):
        return spaces.Tuple([space_from_spec(spaces, leaf) for leaf in spec])
    if spec.dtype == np.bool_:
        return spaces.MultiBinary(list(spec.shape)) if spec.shape else spaces.Discrete(2)
    bounded = BoundedArraySpec.from_spec(spec)
    low = np.broadcast_to(bounded.minimum, spec.shape)
    high = np.broadcast_to(bounded.maximum, spec.shape)
    if _counts(spec):
        counts = high.astype(np.int64) + 1
        return spaces.MultiDiscrete(counts) if spec.shape else spaces.Discrete(counts.item())
    if is_continuous(spec):
        largest = np.finfo(spec.dtype).max
        low = np.where(low <= -largest, -np.inf, low).astype(spec.dtype)
        high = np.where(high >= largest, np.inf, high).astype(spec.dtype)
    return spaces.Box(low, high, dtype=spec.dtype.type)


def to_element(spec: Nest, arrays: Nest, row: int | None = None) -> Any:
    """Copies arrays [B, ...] into an element of the batched space, or a row into one of a space."""
    if isinstance(spec, dict):
        return {key: to_element(leaf, arrays[key], row) for key, leaf in spec.items()}
    if isinstance(spec, (list, tuple)):
        return tuple(to_element(leaf, array, row) for leaf, array in zip(spec, arrays))
    counts, boolean = _counts(spec), spec.dtype == np.bool_
    if row is not None and spec.shape == () and (counts or boolean):
        return int(arrays[row])
    dtype = np.int64 if counts else np.int8 if boolean else spec.dtype
    return np.array(arrays if row is None else arrays[row], dtype)


def to_arrays(spec: Nest, element: Any, batch_size: int) -> Nest:
    """Returns an action, an element of a space or of the batched one, as arrays [B, ...].

    Raises:
        TypeError: the structure or the kind of a number is not as `spec` says.
        ValueError: a part has a wrong shape or is out of bounds.
    """
    if isinstance(spec, ArraySpec):
        return check_action(element, spec, batch_size).astype(spec.dtype)
    if isinstance(spec, dict):
        if isinstance(element, dict) and element.keys() == spec.keys():
            return {key: to_arrays(leaf, element[key], batch_size) for key, leaf in spec.items()}
    elif isinstance(element, (list, tuple)) and len(element) == len(spec):
        return type(spec)([to_arrays(leaf, part, batch_size) for leaf, part in zip(spec, element)])
    raise TypeError(f"action is {shown(element)}; expected the structure of {shown(spec)}")


def ending(step_type: Any, discount: Any) -> tuple[Any, Any]:
    """Returns whether an episode has terminated, by discount 0, and whether it was truncated."""
    last = step_type == LAST
    terminated = last & (discount == 0.0)
    return terminated, last ^ terminated


class Adapter:
    """Base of the adapters: an environment, its spaces and its generator.

    Attributes:
        reward_range: the smallest and the largest reward.
    """

    metadata: Any = {"render_modes": ["rgb_array", "human", "ansi"], "render_fps": 4}
    _spaces: Any
    _np_random_seed = UNKNOWN_SEED

    def _adapt(
        self, env: PyEnvironment, render_mode: str | None, expected_rewards: bool
    ) -> tuple[Any, Any]:
        """Returns the spaces of one row's observation and action."""
        if not isinstance(env, PyEnvironment):
            raise TypeError(f"env is {shown(env)}; expected a PyEnvironment")
        reward = env.reward_spec()
        if not isinstance(reward, ArraySpec) or reward.shape:
            raise ValueError(f"env has reward_spec {shown(reward)}; expected one number a row")
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise ValueError(f"render_mode is {render_mode!r}; expected None or one of {modes}")
        if expected_rewards and not is_bandit(env):
            raise ValueError(f"expected_rewards is True, but {env.name} is not a bandit")
        self._env = env
        self.render_mode = render_mode
        self.expected_rewards = expected_rewards
        self.reward_range = env.reward_range
        # A bandit converts an action that is one array by itself.
        self._converts = not (is_bandit(env) and isinstance(env.action_spec(), ArraySpec))
        specs = env.observation_spec(), env.action_spec()
        return space_from_spec(self._spaces, specs[0]), space_from_spec(self._spaces, specs[1])

    @property
    def env(self) -> PyEnvironment:
        """The adapted environment."""
        return self._env

    @property
    def np_random(self) -> np.random.Generator:
        """The generator of the environment."""
        return self._env.np_random

    @np_random.setter
    def np_random(self, value: np.random.Generator) -> None:
        self._env.seed(value)
        self._np_random_seed = UNKNOWN_SEED

    _np_random = np_random

    def close(self) -> None:
        self._env.close()

    def _seed(self, seed: Seed) -> None:
        if seed is not None:
            self._env.seed(seed)
            self._np_random_seed = int(seed) if isinstance(seed, numbers.Integral) else UNKNOWN_SEED

    def _take(self, action: Any) -> TimeStep:
        if self._converts:
            action = to_arrays(self._env.action_spec(), action, self._env.batch_size)
        return self._env.step(action)

    def _means(self) -> dict[str, NDArray[Any]]:
        """Returns what the infos tell of the state that the next action meets, for all rows."""
        if not (self.expected_rewards and is_bandit(self._env)):
            return {}
        means = self._env.expected_rewards().astype(np.float64)
        return {"best_arm": self._env.optimal_action().copy(), "expected_rewards": means}


class SingleAdapter(Adapter):
    """Base of the adapters of a batch of one.

    A LAST with discount 0 is `terminated`, a LAST with discount 1 `truncated`. So without a horizon
    every step of a bandit is `terminated`, and its observation is the one to choose the next action
    from. A testbed draws new arms at every reset: give it a horizon if something resets it after
    each episode.

    What is returned belongs to the caller, who may write into it.

    Args:
        env: the environment to adapt.
        render_mode: "rgb_array", "human" or "ansi"; None to show nothing.
        expected_rewards: whether the `info` of a bandit has the `best_arm` and, [K], the
            `expected_rewards` of the state that the next action meets.

    Raises:
        ValueError: the batch size is not 1, or a reward is not one number.
        NotImplementedError: from `reset` and `step`, the expected rewards are not known.
    """

    def __init__(
        self, env: PyEnvironment, render_mode: str | None = None, expected_rewards: bool = False
    ) -> None:
        super().__init__()
        spaces = self._adapt(env, render_mode, expected_rewards)
        self.observation_space, self.action_space = spaces
        if env.batch_size != 1:
            raise ValueError(f"env has batch_size {env.batch_size}; expected 1")

    def reset(
        self, *, seed: Seed = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts a new episode and returns its observation and info.

        Args:
            seed: whatever `numpy.random.default_rng` takes; None to continue the random stream.
            options: not used.
        """
        self._seed(seed)
        observation = self._observation(self._env.reset())
        self._show()
        return observation, self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Returns the observation, the reward, `terminated`, `truncated` and the info."""
        time_step = self._take(action)
        self._show()
        ends = ending(time_step.step_type.item(), time_step.discount.item())
        return self._observation(time_step), time_step.reward.item(), *ends, self._info()

    def render(self) -> Any:
        return None if self.render_mode is None else self._env.render(self.render_mode)

    def _observation(self, time_step: TimeStep) -> Any:
        return to_element(self._env.observation_spec(), time_step.observation, 0)

    def _info(self) -> dict[str, Any]:
        rows = {key: values[0] for key, values in self._means().items()}
        return {key: row if row.ndim else row.item() for key, row in rows.items()}

    def _show(self) -> None:
        if self.render_mode == "human":
            self.render()


def _counts(spec: ArraySpec) -> bool:
    """Whether values are integers that count from 0 to a bound."""
    return (
        isinstance(spec, BoundedArraySpec)
        and is_discrete(spec)
        and not np.any(spec.minimum)
        and bool(np.all(spec.maximum < np.iinfo(np.int32).max))
    )
