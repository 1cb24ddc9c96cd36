"""The base of policies, which learns from all rows of a trajectory or from some."""

from __future__ import annotations

import abc
import copy
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Indices, Mask, Rng
from bandit_envs.base.checks import MAX_REWARD, short_repr
from bandit_envs.base.saving import decode_models
from bandit_envs.nests import Nest
from bandit_envs.policies.learned import (
    Servable,
    change_pending,
    check_layout,
    check_rows,
    layout,
    merge_rows,
    take_rows,
)
from bandit_envs.trajectories import Trajectory


class PolicyState(NamedTuple):
    """All that changes in a policy: the generator of every draw, and what the hooks learned."""

    rng: Rng
    learned: Any
    is_trained: bool  # whether anything was learned
    pending: Indices | None = None  # how many choices wait for a reward, [B, K]; None if none does


class LearningObserver(Servable):
    """Base of `Policy` that learns from trajectories, such as a driver shows to its observers.

    Its hook, `_learn`, is one of those of `Policy`.

    >>> from bandit_envs import KArmedTestbed, StepDriver, UCBPolicy
    >>> env = KArmedTestbed(k=2, seed=0)
    >>> policy = UCBPolicy(1.0, num_actions=2, seed=1)
    >>> time_step = StepDriver(env, policy, observers=[policy], num_steps=10).run()
    >>> policy.is_untrained
    False
    """

    learns_by_row: bool = True
    """Whether the arrays of `learned` are [B, ...], and each row learns from its own rewards only.

    Set it to False if rows share a model. To learn from n rows only, `_learn` then gets a
    trajectory of these n rows. Such a policy learns from one row of an environment with
    `independent_rows`, or as a part of `RowByRowPolicy`; from several rows, drivers refuse it.
    """

    log_rows: int = 1024
    """How many decisions of a log it learns at a time, if its rows share a model."""

    reward_range: tuple[float, float] = (-MAX_REWARD, MAX_REWARD)
    """The smallest and the largest reward that it takes; subclasses inherit it, and may set it."""

    can_learn: bool = False
    """Whether it learns from trajectories. Of a class: whether it defines `_learn`, or inherits it;
    an instance may say otherwise."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Sets whether a class learns."""
        super().__init_subclass__(**options)
        cls.can_learn = cls._learn is not LearningObserver._learn

    def __call__(self, trajectory: Trajectory) -> None:
        """Learns from all rows of a trajectory: see `learn`."""
        self.learn(trajectory)

    def learn(self, trajectory: Trajectory, rows: Mask | None = None) -> None:
        """Learns from the rewards [B], in `reward_range`, of the actions [B] of a trajectory.

        In each row, one choice of this action waits for its reward no longer: see `expect_rewards`.

        Args:
            trajectory: a step of every row.
            rows: [B] bool, the rows to learn from; None for all. Other rows keep what they know.

        Raises:
            TypeError, ValueError: the trajectory or `rows` do not fit, and nothing is learned.
        """
        checked = self._check_trajectory(trajectory)
        chosen = None if rows is None else check_rows(rows, self.batch_size)
        if not self.can_learn or (chosen is not None and not chosen.any()):
            return
        after = self._learn_from(self._state.learned, checked, chosen)
        rng, _, _, pending = self._state
        if pending is not None:
            pending = change_pending(pending, checked.action, chosen, by=-1)
        self._state = PolicyState(rng, after, True, pending)

    def check_feedback(self, action: Any, reward: Any) -> tuple[Nest, Nest]:
        """Returns what was done and paid in each row, as `_learn` takes it.

        Raises:
            TypeError, ValueError: the policy does not take this action, or this reward.
        """
        checked = self.action_kind.check(action)
        return checked, self._check_rewards(reward)

    def _learn(self, learned: Any, trajectory: Trajectory) -> Any:
        """Returns what the policy knows after `trajectory`: new, or `learned` updated in place."""
        return learned

    @abc.abstractmethod
    def _check_trajectory(self, trajectory: Trajectory) -> Trajectory:
        """Returns a trajectory whose actions and rewards are as `_learn` takes them."""

    def _check_rewards(self, reward: Any) -> Nest:
        """Returns what was paid as `_learn` takes it; an error if it does not fit."""
        if not self.can_learn and (isinstance(reward, dict) or np.ndim(reward) > 1):
            return reward  # vectors and nests: nothing is learned from them
        return self.action_kind.check_rewards(reward, *self.reward_range)

    def _learn_from(self, learned: Any, trajectory: Trajectory, rows: Mask | None) -> Any:
        """Returns what `_learn` makes of a trajectory, or of some of its rows."""
        if rows is None or rows.all():
            return self._call_learn(learned, trajectory)
        if not self.learns_by_row:
            return self._call_learn(learned, take_rows(trajectory, rows))
        after = self._call_learn(copy.deepcopy(learned), trajectory)
        return merge_rows(learned, after, rows)

    def _call_learn(self, learned: Any, trajectory: Trajectory) -> Any:
        """Returns what `_learn` returns.

        Raises:
            TypeError, ValueError: it is not of the layout of what `_initial` returned, or `_learn`
                adds other numbers to arrays of integers.
        """
        try:
            after = self._learn(learned, trajectory)
        except TypeError as error:
            if "Cannot cast ufunc" not in str(error):
                raise
            found = layout(self._initial())
            raise TypeError(f"_initial returned {found}, and _learn: {error}") from error
        # The first result shows what later ones are like, and a check takes time.
        if not self._state.is_trained or type(after) is not type(learned):
            self._check_learned("_learn returned", after, learned)
        return after

    def _decoded(self, content: Any) -> Any:
        return content._replace(learned=decode_models(content.learned, self._initial()))

    def _check_content(self, content: Any) -> None:
        self._check_learned("learned is", content.learned, self._initial())
        if content.pending is not None:
            check_layout("pending is", content.pending, np.zeros(self._table_shape, np.intp))
            if content.pending.min() < 0 or not self.can_count_pending:
                raise ValueError(f"pending is {short_repr(content.pending)}; expected None")

    def _check_learned(self, what: str, found: Any, initial: Any) -> None:
        """Raises TypeError or ValueError if `found` is not of the layout that `_initial` gives."""
        if self.can_learn and found is None:
            hint = "A policy that learns nothing defines no _learn"
            raise TypeError(f"{what} None; expected what the policy knows. {hint}")
        check_layout(what, found, initial)
