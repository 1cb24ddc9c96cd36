"""What every policy shares: it chooses from a time step and learns as an observer."""

from __future__ import annotations

import abc
import copy
import functools
import typing
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Floats, Mask, Rng, as_numbers, check_array
from bandit_envs.base.bandit_py_environment import available_actions
from bandit_envs.base.checks import (
    MAX_REWARD,
    check_indices,
    check_integer,
    check_rewards,
    short_repr,
)
from bandit_envs.base.memo import Memo, Transient
from bandit_envs.base.state import Stateful, check_fields
from bandit_envs.nests import Nest, map_structure
from bandit_envs.policies.draws import draw_indices, normalized
from bandit_envs.seeding import Seed, generator
from bandit_envs.trajectories import PolicyInfo, TimeStep, Trajectory

Actions: TypeAlias = NDArray[np.integer[Any]]
Parts: TypeAlias = "Sequence[tuple[Trajectory, Mask]]"


class Sizes(TypedDict, total=False):
    """The keyword arguments of `Policy`, which subclasses pass on."""

    num_actions: typing.Required[int]
    batch_size: int
    seed: Seed


class PolicyState(NamedTuple):
    """All that changes in a policy: the generator of every draw, and what the hooks learned."""

    rng: Rng
    learned: Any
    is_trained: bool  # whether anything was learned


class Policy(Stateful, abc.ABC):
    """Chooses an action for every row; called with a trajectory, it learns from it.

    A policy is an observer: a driver trains it if it is among the observers, and only evaluates it
    otherwise. A subclass implements `_initial`, `_learn`, and `_select` or `_probabilities`:

        _initial()                          -> learned    before the first trajectory
        _learn(learned, trajectory)         -> learned    new, or updated in place
        _select(rng, learned, time_step)    -> [B]        default: drawn from the probabilities
        _probabilities(learned, time_step)  -> [B, K]     default: unknown
        _probability_of(learned, time_step, action) -> [B]   default: looked up in this table

    Only `_learn` may write into the arrays of `learned`, whose shapes and dtypes stay those of
    `_initial`. The base class restricts probabilities to the actions that the observation makes
    available; `_select` asks `_available` for them. It asks for `_probability_of` only where all
    actions are available.

    Args:
        num_actions: the number of actions, K.
        batch_size: the number of rows, B.
        seed: whatever `numpy.random.default_rng` takes, or a RandomState; None for fresh entropy.
    """

    learns_by_row: ClassVar[bool] = True
    """Whether each row of arrays [B, ...] depends on its own rewards only, and all else on none."""

    reward_range: ClassVar[tuple[float, float]] = (-MAX_REWARD, MAX_REWARD)
    """The smallest and the largest reward that it takes; subclasses inherit it."""

    def __init__(self, num_actions: int, batch_size: int = 1, seed: Seed = None) -> None:
        self.num_actions = check_integer("num_actions", num_actions, minimum=1)  #: K
        self.batch_size = check_integer("batch_size", batch_size, minimum=1)  #: B
        self._table_shape = self.batch_size, self.num_actions
        self._row_offsets = np.arange(self.batch_size) * self.num_actions
        self._mask_memo, self._info_memo = Memo(), Memo()
        self._chosen_by = Transient()  # what a choice was based on, for its probabilities
        self._skips_the_table = self._defines("_probability_of")
        # A class that tells other probabilities does not choose as the class above it does.
        self._chooser = type(self)._select if self._defines("_select") else Policy._select
        self._state = PolicyState(generator(seed), self._initial(), False)

    @property
    def knows_probabilities(self) -> bool:
        """Whether the probabilities of actions have a closed form."""
        return self._defines("_probabilities")

    @property
    def can_learn(self) -> bool:
        """Whether it learns from trajectories."""
        return self._state.learned is not None

    @property
    def is_untrained(self) -> bool:
        """Whether it can learn, and nothing was learned yet."""
        return self.can_learn and not self._state.is_trained

    @classmethod
    def sizes(cls, env: Any) -> dict[str, Any]:
        """Returns the arguments of the constructor that make a policy fit `env`."""
        return {"num_actions": env.num_actions, "batch_size": env.batch_size}

    def action(self, time_step: TimeStep) -> NDArray[np.int32]:
        """Chooses an action for every row of `time_step`: [B]."""
        self._check_rows("time_step", time_step, TimeStep)
        return self._choose(self._state.rng, time_step).astype(np.int32)

    def probabilities(self, time_step: TimeStep) -> Floats:
        """Returns the probability with which `action` chooses each action, if known: [B, K]."""
        self._check_rows("time_step", time_step, TimeStep)
        tell = type(self)._probabilities if self.knows_probabilities else Policy._probabilities
        table = tell(self, self._state.learned, time_step)
        if np.shape(table) == self._table_shape and (table >= 0.0).all():
            restricted = self._restricted(table, time_step.observation).copy()
            if np.allclose(restricted.sum(axis=1), 1.0):
                return restricted
        expected = f"probabilities of shape {self._table_shape}, which sum to 1 in each row"
        raise ValueError(f"_probabilities returned {short_repr(table)}; expected {expected}")

    def probability_of(self, time_step: TimeStep, action: Any) -> Floats:
        """Returns `probabilities(time_step)[rows, action]` for actions [B], mostly faster: [B]."""
        self._check_rows("time_step", time_step, TimeStep)
        indices = check_indices(action, *self._table_shape)
        if self._skips_the_table and self._available(time_step.observation) is None:
            return self._probability_of(self._state.learned, time_step, indices)
        return self.probabilities(time_step).take(self._row_offsets + indices)

    def info_of(self, time_step: TimeStep, action: Any) -> Nest:
        """Returns what a trajectory tells of the choice of actions [B]: their log probabilities."""
        chances = self.probability_of(time_step, action)
        memo = Memo() if chances.flags.writeable else self._info_memo  # the logarithm of a constant
        return memo.of(chances, lambda known: PolicyInfo(np.log(known)))

    def estimated_probabilities(self, time_step: TimeStep, samples: int, rng: Rng) -> Floats:
        """Returns the frequencies of actions in `samples` choices, which `rng` draws: [B, K].

        The estimate of a probability p has the standard error sqrt(p (1 - p) / samples).
        """
        self._check_rows("time_step", time_step, TimeStep)
        if not isinstance(rng, np.random.Generator):
            raise TypeError(f"rng is {short_repr(rng)}; expected a numpy.random.Generator")
        counts, rows = np.zeros(self._table_shape), np.arange(self.batch_size)
        for _ in range(check_integer("samples", samples, minimum=1)):
            counts[rows, self._choose(rng, time_step)] += 1.0
        return counts / samples

    def __call__(self, trajectory: Trajectory) -> None:
        """Learns from the rewards [B], in `reward_range`, of the actions [B] of a trajectory."""
        checked = self._checked_trajectory(trajectory)
        rng, learned, _ = self._state
        self._state = PolicyState(rng, self._learn(learned, checked), True)

    def learn_rows(self, parts: Parts) -> None:
        """Learns from some rows of several trajectories, in this order and all in one step.

        Each of the `parts` is a trajectory and the rows to learn from, [B] bool. Numbers that rows
        share, such as a count of steps, advance as for one trajectory. A policy that can only learn
        from all rows raises ValueError.
        """
        checked = [(self._checked_trajectory(trajectory), rows) for trajectory, rows in parts]
        rng, learned, _ = self._state
        self._state = PolicyState(rng, self._learn_rows(learned, checked), True)

    def reset(self) -> None:
        """Forgets everything learned. The generator goes on."""
        self._state = PolicyState(self._state.rng, self._initial(), False)

    @abc.abstractmethod
    def _initial(self) -> Any:
        """Returns what the policy knows before it has seen anything; None if it never learns."""

    @abc.abstractmethod
    def _learn(self, learned: Any, trajectory: Trajectory) -> Any:
        """Returns what the policy knows after `trajectory`: new, or `learned` updated in place."""

    def _learn_rows(self, learned: Any, parts: Parts) -> Any:
        """Does for `learn_rows` what `_learn` does for a call."""
        if not self.learns_by_row and not all(rows.all() for _, rows in parts):
            name = type(self).__name__
            expected = "another policy, one delay for all rows, or batch_size 1"
            raise ValueError(f"{name} cannot learn from some rows only; expected {expected}")
        for index, (trajectory, rows) in enumerate(parts):
            if rows.all() and (index == 0 or not self.learns_by_row):
                learned = self._learn(learned, trajectory)
            else:
                after = self._learn(copy.deepcopy(learned), trajectory)
                merge = functools.partial(_merged, rows, index > 0)
                learned = map_structure(merge, learned, after)
        return learned

    def _select(self, rng: Rng, learned: Any, time_step: TimeStep) -> Actions:
        """Returns an available action for every row: [B]."""
        table = self._probabilities(learned, time_step)
        check_array("_probabilities returned", table, self._table_shape)
        return draw_indices(rng, self._restricted(table, time_step.observation))

    def _probabilities(self, learned: Any, time_step: TimeStep) -> Floats:
        """Returns the probability of every action: [B, K]."""
        name = type(self).__name__
        raise NotImplementedError(f"{name} has no closed form; use estimated_probabilities()")

    def _probability_of(self, learned: Any, time_step: TimeStep, action: Any) -> Floats:
        """Returns the probabilities of actions [B], exactly as in `_probabilities`: [B]."""
        raise NotImplementedError

    def _defines(self, hook: str) -> bool:
        """Returns whether `hook` belongs to the way in which this class chooses."""
        names = "_probabilities", "_select", "_probability_of"
        first = next(kind for kind in type(self).__mro__ if not vars(kind).keys().isdisjoint(names))
        # A class that only chooses in another way does not choose with inherited probabilities.
        return first is not Policy and hook in vars(first)

    def _available(self, observation: Nest) -> Mask | None:
        """Returns which actions are available: [B, K], at least one a row; None if all are."""
        if not isinstance(observation, dict):
            return None
        found = observation.get("mask", observation.get("num_actions"))
        memo = self._mask_memo
        if not isinstance(found, np.ndarray) or found.flags.writeable:
            memo = Memo()  # it may be edited in place; what environments return may not
        return memo.of(found, lambda _: self._checked_mask(observation))

    def _restricted(self, probabilities: Floats, observation: Nest) -> Floats:
        """Returns `probabilities` [B, K], given that an available action is chosen."""
        available = self._available(observation)
        if available is None:
            return probabilities
        weights = np.where(available, probabilities, 0.0)
        rounded_to_zero = ~weights.any(axis=1)
        weights[rounded_to_zero] = available[rounded_to_zero]
        return normalized(weights)

    def _checked_mask(self, observation: Nest) -> Mask | None:
        mask = available_actions(observation, self.num_actions)
        if mask is None or (mask.shape == self._table_shape and mask.any(axis=1).all()):
            return mask
        expected = f"expected shape {self._table_shape} and at least one action in each row"
        raise ValueError(f"observation makes actions {short_repr(mask)} available; {expected}")

    def _choose(self, rng: Rng, time_step: TimeStep) -> Actions:
        """Returns what `_select` chose; TypeError or ValueError if it is not integers [B]."""
        chosen = self._chooser(self, rng, self._state.learned, time_step)
        action = as_numbers("action is", chosen, "iu")
        if action.shape != self._table_shape[:1]:
            action = check_indices(action, *self._table_shape)
        return action  # the environment refuses actions that it does not have

    def _checked_trajectory(self, trajectory: Trajectory) -> Trajectory:
        self._check_rows("trajectory", trajectory, Trajectory)
        action, reward = self._checked(trajectory.action, trajectory.reward)
        return trajectory._replace(action=action, reward=reward)

    def _checked(self, action: Any, reward: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Returns what was done and paid as `_learn` takes it, or raises TypeError, ValueError."""
        indices = check_indices(action, *self._table_shape)
        if not self.can_learn and (isinstance(reward, dict) or np.ndim(reward) > 1):
            return indices, reward  # vectors and nests: nothing is learned from them
        return indices, check_rewards(reward, self.batch_size, *self.reward_range)

    def _state_key(self) -> dict[str, int | None]:
        return {"num_actions": self.num_actions, "batch_size": self.batch_size}

    def _check_content(self, content: Any) -> None:
        initial = self._initial()
        check_fields(content, PolicyState, rng=np.random.Generator, learned=type(initial))
        expected, found = (map_structure(_layout, nest) for nest in (initial, content.learned))
        if found != expected:
            raise ValueError(f"learned has arrays {found}; expected {expected}")

    def _check_rows(self, name: str, value: Any, kind: type[Any]) -> None:
        if getattr(value, "_fields", None) != kind._fields:  # TF-Agents' classes have the same
            raise TypeError(f"{name} is {short_repr(value)}; expected a {kind.__name__}")
        shape, expected = np.shape(value.step_type), self._table_shape[:1]
        if shape != expected:
            raise ValueError(f"{name} has shape {shape}; expected {expected}")


def _merged(rows: Mask, keeps_numbers: bool, old: Any, new: Any) -> Any:
    """Returns a leaf of what is known with the `rows` of `new`, and the others of `old`."""
    if np.ndim(new) == 0:
        return old if keeps_numbers else new
    if rows.all():
        return new
    if np.shape(new)[:1] == rows.shape:
        return np.where(rows.reshape(-1, *[1] * (np.ndim(new) - 1)), new, old)
    if not np.array_equal(old, new):
        raise ValueError("an array of the policy is not [B, ...]; expected batch_size 1")
    return new


def _layout(leaf: Any) -> tuple[bool, np.dtype[Any], tuple[int, ...]]:
    return isinstance(leaf, np.ndarray), np.asarray(leaf).dtype, np.shape(leaf)
