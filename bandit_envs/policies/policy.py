"""What every policy shares: it chooses from a time step and learns as an observer."""

from __future__ import annotations

import abc
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.checks import check_indices, check_integer, check_rewards
from bandit_envs.base.state import Seed, Stateful, check_fields, generator
from bandit_envs.trajectories import TimeStep, Trajectory


class PolicyState(NamedTuple):
    """All that changes in a policy.

    Fields:
        rng: the generator of every draw.
        learned: what the policy knows; its arrays are updated in place.
    """

    rng: np.random.Generator
    learned: Any


class Policy(Stateful, abc.ABC):
    """Chooses an action for every row; called with a trajectory, it learns from it.

    So a policy is an observer: a driver that is to train it has it among its observers, and one
    that is to evaluate it does not. A subclass implements three hooks:

        _initial()                        -> learned
        _select(rng, learned, time_step)  -> actions [B]
        _learn(learned, trajectory)       -> learned

    Shapes:
        B: batch_size, the rows of the environment.
        K: num_actions.

    Args:
        num_actions: K.
        batch_size: B.
        seed: whatever `numpy.random.default_rng` takes, or a RandomState; None for fresh entropy.

    Raises:
        TypeError: `num_actions` or `batch_size` is not an integer, or `seed` is not a valid seed.
        ValueError: an integer is less than 1, or `seed` is negative.
    """

    def __init__(self, num_actions: int, batch_size: int, seed: Seed) -> None:
        self._num_actions = check_integer("num_actions", num_actions, minimum=1)
        self._batch_size = check_integer("batch_size", batch_size, minimum=1)
        self._rows = np.arange(self._batch_size)
        self._row_offsets = self._rows * self._num_actions
        self._state = PolicyState(generator(seed), self._initial())

    @property
    def num_actions(self) -> int:
        """The number of actions, K."""
        return self._num_actions

    @property
    def batch_size(self) -> int:
        """The number of rows, B."""
        return self._batch_size

    @classmethod
    def sizes(cls, env: Any) -> dict[str, Any]:
        """Returns the arguments of the constructor that make a policy fit `env`."""
        return {"num_actions": env.num_actions, "batch_size": env.batch_size}

    def action(self, time_step: TimeStep) -> NDArray[np.int32]:
        """Chooses an action for every row of `time_step`: [B] int32.

        Raises:
            ValueError: `time_step` has another number of rows.
        """
        self._check_rows("time_step", time_step.step_type)
        rng, learned = self._state
        return self._select(rng, learned, time_step).astype(np.int32)

    def __call__(self, trajectory: Trajectory) -> None:
        """Learns from the rewards [B] of the actions [B] of a trajectory.

        Raises:
            TypeError: the actions are not integers, or the rewards not numbers. Nothing has
                changed.
            ValueError: `trajectory` has another number of rows, an action that is not from 0 to
                K - 1, or a reward that is not finite. Nothing has changed.
        """
        self._check_rows("trajectory", trajectory.step_type)
        action = check_indices(trajectory.action, self._batch_size, self._num_actions)
        reward = check_rewards(trajectory.reward, self._batch_size)
        rng, learned = self._state
        learned = self._learn(learned, trajectory._replace(action=action, reward=reward))
        self._state = PolicyState(rng, learned)

    def reset(self) -> None:
        """Forgets everything learned. The generator goes on."""
        self._state = PolicyState(self._state.rng, self._initial())

    @abc.abstractmethod
    def _initial(self) -> Any:
        """Returns what the policy knows before it has seen anything."""

    @abc.abstractmethod
    def _select(
        self, rng: np.random.Generator, learned: Any, time_step: TimeStep
    ) -> NDArray[np.integer]:
        """Returns an action for every row: [B]."""

    @abc.abstractmethod
    def _learn(self, learned: Any, trajectory: Trajectory) -> Any:
        """Returns what the policy knows after `trajectory`."""

    def _sizes(self) -> dict[str, int | None]:
        return {"num_actions": self._num_actions, "batch_size": self._batch_size}

    def _check_content(self, content: Any) -> None:
        learned = type(self._initial())
        check_fields(content, PolicyState, rng=np.random.Generator, learned=learned)

    def _check_rows(self, name: str, step_type: NDArray[np.int32]) -> None:
        if len(step_type) != self._batch_size:
            raise ValueError(
                f"{name} has {len(step_type)} rows; expected {self._batch_size}, the batch_size"
            )


def argmax_random_ties(rng: np.random.Generator, values: NDArray[Any]) -> NDArray[np.intp]:
    """Returns the index of each row's largest value; of several, one uniformly at random.

    Args:
        rng: breaks the ties; drawn from only if there are any.
        values: [B, K], without NaN.

    Returns:
        [B] integers from 0 to K - 1.
    """
    best: NDArray[np.intp] = values.argmax(axis=1)
    rows, num_actions = values.shape
    flat = values.reshape(-1)
    largest = flat.take(np.arange(0, flat.size, num_actions) + best)
    is_largest = flat == largest.repeat(num_actions)
    if np.count_nonzero(is_largest) > rows:
        places = np.flatnonzero(is_largest)  # in `flat`: those of a row follow those of the last
        candidates = np.bincount(places // num_actions, minlength=rows)
        first = candidates.cumsum() - candidates
        tied = np.flatnonzero(candidates > 1)
        best[tied] = places[first[tied] + rng.integers(candidates[tied])] % num_actions
    return best
