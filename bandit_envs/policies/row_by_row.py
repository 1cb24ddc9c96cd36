"""Which rows may share what a policy learns, and policies for rows that may not."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Floats, Mask, Rng
from bandit_envs.base.checks import check_integer, short_repr
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.nests import Nest, flatten, map_structure
from bandit_envs.policies.best_arm.best_arm_policy import BestArmPolicy
from bandit_envs.policies.learned import Warm, none_if_zero, pad_pending, pending_of_rows
from bandit_envs.policies.learning_observer import PolicyState
from bandit_envs.policies.policy import Policy, PolicyStep
from bandit_envs.rendering import Knowledge
from bandit_envs.seeding import Seed
from bandit_envs.trajectories import TimeStep, Trajectory

Answer = TypeVar("Answer")


def shares_a_model(policy: Policy) -> bool:
    """Returns whether all rows of a policy teach one model."""
    return policy.can_learn and not policy.learns_by_row


def pools_problems(env: PyEnvironment, policy: Policy) -> bool:
    """Returns whether a policy would learn one model from the rows of several problems."""
    return shares_a_model(policy) and env.independent_rows and env.batch_size > 1


def check_problems(env: PyEnvironment, policy: Policy) -> None:
    """Raises ValueError if a policy would learn one model from the rows of several problems."""
    if env.independent_rows and env.batch_size > 1:
        check_learns_by_row(policy)
    if not pools_problems(env, policy):
        return
    name = type(policy).__name__
    problem = (
        f"policy learns one model from all rows ({name}.learns_by_row is False), but each of the "
        f"{env.batch_size} rows of {env.name} is a problem of its own (independent_rows is True)"
    )
    ways = "a batch_size of 1, policies.RowByRowPolicy, or one problem by wrappers.OneProblem"
    raise ValueError(f"{problem}; expected {ways}")


def check_learns_by_row(policy: Policy) -> None:
    """Raises ValueError if a policy says that it learns by row, but what it knows has no rows."""
    if not policy.can_learn or not policy.learns_by_row or isinstance(policy, RowByRowPolicy):
        return
    for leaf in flatten(policy._state.learned):
        shape = np.shape(leaf) if isinstance(leaf, np.ndarray) else ()
        if shape and policy.batch_size not in shape:
            name = type(policy).__name__
            problem = (
                f"{name} knows an array of shape {shape}, which all {policy.batch_size} rows "
                f"would share, but {name}.learns_by_row is True"
            )
            raise ValueError(f"{problem}; expected an axis of B rows, or learns_by_row = False")


class RowByRowPolicy(Policy):
    """A policy for each row, for rows that are problems of their own.

    A policy whose rows share a model, with `learns_by_row = False`, learns one model from a whole
    batch. This policy holds one such policy for each row, which acts in this row and learns from
    it alone. So it fits environments with `independent_rows = True`. It takes the time and the
    memory of B policies. Studies use it by themselves.

    Args:
        policies: B of them, each with a batch size of 1: of one class, and made with the same
            arguments except for the seed. They go on from what they know, and stay as they are.
        seed: of the choices in all rows; as in `Policy`.

    Raises:
        TypeError: a policy is a `BestArmPolicy`, whose rows learn by themselves.

    >>> from bandit_envs import KArmedTestbed, StepDriver, UCBPolicy
    >>> env = KArmedTestbed(k=3, batch_size=5, seed=0)
    >>> policies = [UCBPolicy(1.0, num_actions=3) for _ in range(5)]  # or with models
    >>> policy = RowByRowPolicy(policies, seed=1)
    >>> StepDriver(env, policy, [policy], num_steps=10).run().reward.shape
    (5,)
    """

    def __init__(self, policies: Sequence[Policy], seed: Seed = None) -> None:
        first = _check_policies(policies)
        self.encoding = first.encoding
        self.can_learn = first.can_learn
        self.knows_probabilities = first.knows_probabilities
        self.emits_info = first.emits_info
        self.can_count_pending = first.can_count_pending
        self.reward_range = first.reward_range
        self._policies = tuple(map(copy.copy, policies))
        counts = self.can_count_pending
        super().__init__(
            action_spec=first.action_kind,
            batch_size=len(policies),
            seed=seed,
            count_pending=counts,
        )
        learned = tuple(copy.deepcopy(policy._state.learned) for policy in policies)
        is_trained = any(policy._state.is_trained for policy in policies)
        pending = np.concatenate([policy.pending for policy in policies])
        self._state = PolicyState(self._state.rng, learned, is_trained, none_if_zero(pending))
        for policy in self._policies:
            del policy._state  # `_ask_alone` gives each what it knows

    def action(self, time_step: TimeStep) -> NDArray[Any]:
        self._check_batch("time_step", time_step, TimeStep)
        return np.asarray(self._ask(lambda policy, seen: policy.action(seen), time_step))

    def policy_step(self, time_step: TimeStep) -> PolicyStep:
        self._check_batch("time_step", time_step, TimeStep)
        return PolicyStep(*self._ask(lambda policy, seen: policy.policy_step(seen), time_step))

    def probabilities(self, time_step: TimeStep) -> Floats:
        self._check_batch("time_step", time_step, TimeStep)
        return np.asarray(self._ask(lambda policy, seen: policy.probabilities(seen), time_step))

    def probability_of(self, time_step: TimeStep, action: Any) -> Floats:
        choice = self._check_choice(time_step, action)
        return np.asarray(self._ask(lambda policy, row: policy.probability_of(*row), choice))

    def info_of(self, time_step: TimeStep, action: Any) -> Nest:
        choice = self._check_choice(time_step, action)
        return self._ask(lambda policy, row: policy.info_of(*row), choice)

    def estimated_probabilities(self, time_step: TimeStep, samples: int, rng: Rng) -> Floats:
        self._check_batch("time_step", time_step, TimeStep)

        def estimate(policy: Policy, seen: TimeStep) -> Floats:
            return policy.estimated_probabilities(seen, samples, rng)

        return np.asarray(self._ask(estimate, time_step))

    def scores(self, time_step: TimeStep) -> Floats:
        self._check_batch("time_step", time_step, TimeStep)
        return np.asarray(self._ask(lambda policy, seen: policy.scores(seen), time_step))

    def describe(self, row: int = 0, time_step: TimeStep | None = None) -> Knowledge:
        index = check_integer("row", row, 0, self.batch_size - 1)
        seen = None if time_step is None else _take_row(time_step, index)
        return self._ask_alone(index, lambda policy: policy.describe(0, seen))

    def replicate(self, batch_size: int) -> RowByRowPolicy:
        copied = copy.copy(self)
        copied._set_batch_size(batch_size)
        rows = np.arange(copied.batch_size) % self.batch_size
        copied._policies = tuple(copy.copy(self._policies[row]) for row in rows)
        learned = tuple(copy.deepcopy(self._state.learned[row]) for row in rows)
        copied._state = PolicyState(
            rng=copy.deepcopy(self._state.rng),
            learned=learned,
            is_trained=self._state.is_trained,
            pending=pending_of_rows(self._state.pending, rows),
        )
        return copied

    def with_actions(self, num_actions: int, warm: Warm | None = None) -> RowByRowPolicy:
        check_integer("num_actions", num_actions, minimum=self.num_actions)
        copied = copy.copy(self)
        copied._set_num_actions(num_actions)

        def grow(policy: Policy) -> Policy:
            return policy.with_actions(num_actions, warm)

        grown = [self._ask_alone(row, grow) for row in range(self.batch_size)]
        learned = tuple(policy._state.learned for policy in grown)
        for policy in grown:
            del policy._state
        copied._policies = tuple(grown)
        copied._state = PolicyState(
            rng=copy.deepcopy(self._state.rng),
            learned=learned,
            is_trained=self._state.is_trained,
            pending=pad_pending(self._state.pending, num_actions),
        )
        return copied

    def _initial(self) -> tuple[Any, ...]:
        return tuple(policy._initial() for policy in self._policies)

    def _ask_alone(self, row: int, question: Callable[[Policy], Answer]) -> Answer:
        """Returns what the policy of a row answers.

        It holds what the row has learned, and the generator of all rows. It is not a copy, so
        attributes that a user's class sets outside of its state stay set, as without this class.
        """
        policy = self._policies[row]
        rng, learned, is_trained, pending = self._state
        own = pending_of_rows(pending, np.array([row]))
        policy._state = PolicyState(rng, learned[row], is_trained, own)
        try:
            return question(policy)
        finally:
            del policy._state

    def _ask(self, question: Callable[[Policy, Nest], Nest], batch: Nest) -> Nest:
        """Returns what each policy answers, in one nest of arrays [B, ...].

        Args:
            question: takes a policy and its row of the batch.
            batch: a nest of arrays [B, ...].
        """
        answers = []
        for row in range(self.batch_size):
            part = _take_row(batch, row)
            answers.append(self._ask_alone(row, functools.partial(_answer, question, part)))
        return map_structure(lambda *rows: np.concatenate(rows), *answers)

    def _check_choice(self, time_step: TimeStep, action: Any) -> tuple[TimeStep, Nest]:
        """Returns a time step and the actions of all rows."""
        self._check_batch("time_step", time_step, TimeStep)
        return time_step, _check_length("action", action, self.batch_size)

    def check_feedback(self, action: Any, reward: Any) -> tuple[Nest, Nest]:
        actions = _check_length("action", action, self.batch_size)
        rewards = _check_length("reward", reward, self.batch_size)
        checked: tuple[Nest, Nest] = self._ask(
            lambda policy, row: policy.check_feedback(*row), (actions, rewards)
        )
        return checked

    def _learn_from(self, learned: Any, trajectory: Trajectory, rows: Mask | None) -> Any:
        after = list(learned)
        for row in range(self.batch_size) if rows is None else np.flatnonzero(rows).tolist():
            seen = _take_row(trajectory, row)
            after[row] = self._ask_alone(row, functools.partial(_teach, seen))
        return tuple(after)

    def _state_key(self) -> dict[str, int | None]:
        key = self._ask_alone(0, lambda policy: policy._state_key())
        return {**key, "batch_size": self.batch_size}


def _check_policies(policies: Any) -> Policy:
    """Returns the first of several policies of one row that are made alike."""
    if not (isinstance(policies, Sequence) and policies):
        raise TypeError(f"policies is {short_repr(policies)}; expected a policy for each row")
    first: Policy = policies[0]
    for policy in policies:
        if not isinstance(policy, Policy) or isinstance(policy, BestArmPolicy):
            expected = "a Policy that is not a BestArmPolicy"
            raise TypeError(f"policies has {short_repr(policy)}; expected {expected}")
        found = (type(policy), policy.batch_size, policy.num_actions)
        if found != (type(first), 1, first.num_actions):
            problem = f"policies has {type(policy).__name__} with {policy._state_key()}"
            expected = f"{type(first).__name__} with batch_size 1, num_actions {first.num_actions}"
            raise ValueError(f"{problem}; expected {expected}")
        if policy.encoding != first.encoding:
            expected = "policies that have learned from one table, or from none"
            raise ValueError(f"policies differ in their encoding; expected {expected}")
    return first


def _take_row(nest: Nest, row: int) -> Nest:
    """Returns one row of a nest, as a batch of one; a leaf may be None."""
    return map_structure(lambda leaf: None if leaf is None else leaf[row : row + 1], nest)


def _answer(question: Callable[[Policy, Nest], Nest], part: Nest, policy: Policy) -> Nest:
    """Returns what a policy answers of its row."""
    return question(policy, part)


def _teach(trajectory: Trajectory, policy: Policy) -> Any:
    """Returns what a policy has learned after a trajectory.

    It is called as a driver calls it, as a class may override `__call__` or `learn`.
    """
    policy(trajectory)
    return policy._state.learned


def _check_length(name: str, values: Any, length: int) -> Nest:
    """Returns an array, or the arrays of a dict, if they have so many rows."""
    nest = values if isinstance(values, dict) else np.asarray(values)
    for array in map(np.asarray, flatten(nest)):
        if array.shape[:1] != (length,):
            raise ValueError(f"{name} has shape {array.shape}; expected {length} rows")
    return nest
