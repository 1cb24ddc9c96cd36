"""What a service needs of a policy: choices that wait for rewards, and copies of other sizes."""

from __future__ import annotations

import abc
import copy
from typing import Any, TypeVar

import numpy as np

from bandit_envs.arrays import Indices, Mask
from bandit_envs.base.actions import ActionKind
from bandit_envs.base.checks import check_integer
from bandit_envs.base.state import Stateful
from bandit_envs.policies.learned.layout import check_layout
from bandit_envs.policies.learned.more_actions import StartsWarm, Warm, add_actions, check_warm
from bandit_envs.policies.learned.pending import change_pending, pad_pending, pending_of_rows
from bandit_envs.policies.learned.rows import check_rows, repeat_rows

Self = TypeVar("Self", bound="Servable")


class Servable(Stateful, abc.ABC):
    """Base of policies: choices may wait for rewards, and copies have more rows or actions.

    What was learned changes by that, and says how: see `bandit_envs.policies.learned`. Hooks that
    depend on the number of rows or actions read it from `self.batch_size` and `self.num_actions`
    each time. If what was learned cannot say how, a class overrides these:

        _with_pending(learned, pending)  -> learned    what to choose by while choices wait
        _add_actions(learned, known)     -> learned    of `known` actions, as of all
        _set_num_actions(num_actions)                  sets what depends on K

    >>> from bandit_envs import UCBPolicy
    >>> policy = UCBPolicy(1.0, num_actions=2)
    >>> policy.expect_rewards([0])
    >>> policy.with_actions(3).pending
    array([[1, 0, 0]])
    """

    action_kind: ActionKind
    num_actions: int
    batch_size: int
    learns_by_row: bool
    reward_range: tuple[float, float]
    can_learn: bool

    can_count_pending: bool = False
    """Whether it counts choices whose rewards come later. Of a class: whether it says so, or
    defines `_with_pending`; of an instance: also whether it was asked to, and whether an action is
    one integer."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Sees whether a class says how it counts pending choices."""
        super().__init_subclass__(**options)
        if "_with_pending" in vars(cls):
            cls.can_count_pending = True

    @property
    def is_untrained(self) -> bool:
        """Whether it can learn, and nothing was learned yet."""
        return self.can_learn and not self._state.is_trained

    @property
    def pending(self) -> Indices:
        """How many choices of each action wait for their rewards: [B, K]."""
        pending = self._state.pending
        return np.zeros(self._table_shape, np.intp) if pending is None else pending.copy()

    def expect_rewards(self, action: Any, rows: Mask | None = None) -> None:
        """Counts choices as pending: their rewards come later, through `learn`.

        Bounds and shares count a pending choice as one whose reward is known, and mean rewards do
        not. So a rule without randomness goes on to other actions before it has seen the reward,
        and does not choose one for all rows and steps until then. An action that waits for its
        first reward counts as if it had paid the largest reward of `reward_range`, or if that has
        no bound, as much as the best action.

        Args:
            action: the actions that were chosen, [B].
            rows: [B] bool, the rows that chose them; None for all.

        Raises:
            TypeError: `can_count_pending` is False.
            ValueError: an argument does not fit.
        """
        self._change_pending(action, rows, by=1)

    def stop_expecting(self, action: Any, rows: Mask | None = None) -> None:
        """Ends the wait of one choice of an action in each row: its reward never comes.

        Args:
            action: the actions whose rewards were lost, [B].
            rows: [B] bool, the rows that waited for them; None for all.

        Raises:
            TypeError: `can_count_pending` is False.
            ValueError: an argument does not fit.
        """
        self._change_pending(action, rows, by=-1)

    def reset(self) -> None:
        """Forgets everything learned, and what is pending. The random generator is not reset."""
        self._state = self._state._replace(learned=self._initial(), is_trained=False, pending=None)

    def replicate(self: Self, batch_size: int) -> Self:
        """Returns a copy for `batch_size` rows, whose row i knows what row i modulo B knows."""
        copied = copy.copy(self)
        copied._set_batch_size(batch_size)
        state = copy.deepcopy(self._state)
        learned = state.learned
        if self.learns_by_row:
            learned = repeat_rows(learned, self.batch_size, copied.batch_size)
        pending = pending_of_rows(state.pending, np.arange(copied.batch_size) % self.batch_size)
        copied._state = state._replace(learned=learned, pending=pending)
        return copied

    def with_actions(self: Self, num_actions: int, warm: Warm | None = None) -> Self:
        """Returns a copy for more actions. It knows of the first ones what this policy knows.

        New actions come behind those that there are, and start from the prior, as all actions did
        once. Or they start warm, if the policy has a prior of single actions:

            "mean"             the mean of this prior is that of the actions with rewards; its
                               weight stays. For linear models, these are the means of weights.
            "empirical_bayes"  a prior with the mean and the spread of the actions with rewards,
                               which counts as rewards do from then on. For Beta and normal
                               posteriors, of two actions with rewards or more.

        Of a policy that forgets, this prior is forgotten, too. To retire an action, mask it: it
        keeps its number, and what is known of it. Names of actions are the caller's: `encoding`
        stays as it is. A test for the best action goes on if it had stopped.

        Args:
            num_actions: how many actions the copy has, at least as many as this policy.
            warm: what new actions start from; None for the prior.

        Raises:
            ValueError: there are fewer actions, or a policy of this class cannot have more, or
                cannot start them so.
        """
        known = self.num_actions
        check_integer("num_actions", num_actions, minimum=known)
        check_warm(warm)
        if num_actions == known:
            return self.replicate(self.batch_size)
        copied = copy.copy(self)
        copied._set_num_actions(num_actions)
        state = copy.deepcopy(self._state)
        if self._knows_nothing():
            learned = copied._initial()
        else:
            try:
                learned = copied._add_actions(state.learned, known)
            except ValueError as error:
                raise self._without_more_actions(f"it {error}") from error
        if warm is not None:
            try:
                learned = copied._start_warm(learned, known, warm)
            except NotImplementedError as error:
                found = f"warm is {warm!r}, which {self._state_owner()} does not support"
                raise ValueError(found) from error
        pending = pad_pending(state.pending, num_actions)
        copied._state = state._replace(learned=learned, pending=pending)
        return copied

    def for_items(self: Self, num_items: int) -> Self:
        """Returns a policy that knows the same, and chooses among so many items.

        What it knows must be of features of items, and of no single action: then the number of
        items does not matter. It is the policy itself if it chooses among so many.

        Args:
            num_items: how many items a row has at most, K.

        Raises:
            ValueError: what it knows depends on the number of actions.
        """
        if num_items == self.num_actions:
            return self
        copied = copy.copy(self)
        copied._set_num_actions(check_integer("num_items", num_items, minimum=1))
        try:
            check_layout("it knows", self._state.learned, copied._initial())
        except (TypeError, ValueError) as error:
            found = f"policy has {self.num_actions} actions"
            raise ValueError(f"{found}; expected {num_items}, as {error}") from error
        learned = copy.deepcopy(self._state)
        copied._state = learned._replace(pending=None)
        return copied

    def _initial(self) -> Any:
        """Returns what the policy knows before it has seen anything."""
        return None

    def _with_pending(self, learned: Any, pending: Indices) -> Any:
        """Returns what to choose by, of the layout of `learned`, if choices are pending.

        By default, `learned` has a method `with_pending` that tells it.

        Args:
            learned: must not be written to.
            pending: how many choices wait for their rewards, [B, K]; not all are 0.
        """
        return learned.with_pending(pending, self.reward_range)

    def _knows_nothing(self) -> bool:
        """Returns whether all that it knows is what `_initial` says."""
        return self.is_untrained

    def _add_actions(self, learned: Any, known: int) -> Any:
        """Returns what is known of the first `known` actions as what is known of all.

        By default, each axis of actions gets new ones as they are at first; numbers that depend on
        each other, such as probabilities, follow by the method `make_consistent` of their class.
        """
        return add_actions(learned, self._initial(), known, self.num_actions)

    def _start_warm(self, learned: Any, known: int, warm: Warm) -> Any:
        """Returns `learned`, in which actions from `known` on start warm; updated in place.

        Raises:
            NotImplementedError: they cannot.
        """
        if not isinstance(learned, StartsWarm):
            raise NotImplementedError(f"{type(learned).__name__} starts no actions warm")
        learned.start_warm(known, warm)
        return learned

    def _set_num_actions(self, num_actions: int) -> None:
        """Sets what depends on the number of actions, or raises ValueError if there are no more."""
        try:
            self.action_kind = self.action_kind.with_actions(num_actions)
        except ValueError as error:
            raise self._without_more_actions(str(error)) from None
        self.num_actions = num_actions
        self._set_batch_size(self.batch_size)

    def _without_more_actions(self, reason: str) -> ValueError:
        found = f"{self._state_owner()} cannot have more than {self.num_actions} actions"
        return ValueError(f"{found}: {reason}")

    def _set_batch_size(self, batch_size: int) -> None:
        """Sets what depends on the batch size."""
        self.action_kind = self.action_kind.for_rows(batch_size)
        self.batch_size = self.action_kind.batch_size  #: B
        self._table_shape = (self.batch_size, self.num_actions)
        self._row_offsets = np.arange(self.batch_size) * self.num_actions

    def _change_pending(self, action: Any, rows: Mask | None, by: int) -> None:
        """Adds `by` to how many choices of an action are pending in each of some rows."""
        if not self.can_count_pending:
            found = f"{type(self).__name__} does not count pending choices"
            raise TypeError(f"{found}; expected a policy whose can_count_pending is True")
        indices = self.action_kind.check(action)
        chosen = None if rows is None else check_rows(rows, self.batch_size)
        after = change_pending(self.pending, indices, chosen, by)
        self._state = self._state._replace(pending=after)
