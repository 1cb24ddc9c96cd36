"""What every policy shares: it chooses from a time step and learns as an observer."""

from __future__ import annotations

import abc
import copy
from typing import Any, NamedTuple, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Array, Floats, Indices, Mask, Rng, as_numbers, check_array
from bandit_envs.base.bandit_py_environment import available_actions
from bandit_envs.base.checks import (
    MAX_REWARD,
    check_bool,
    check_indices,
    check_integer,
    check_rewards,
    short_repr,
)
from bandit_envs.base.made_with import made_with
from bandit_envs.base.state import Stateful, decode_models
from bandit_envs.nests import Nest
from bandit_envs.policies.beliefs import Beliefs
from bandit_envs.policies.draws import available_only, draw_indices, row_sums
from bandit_envs.policies.learned import (
    Warm,
    add_actions,
    add_pending,
    check_layout,
    check_warm,
    end_pending,
    layout,
    merge_rows,
    pad_pending,
    pending_of_rows,
    repeat_rows,
    take_rows,
)
from bandit_envs.rendering import Knowledge
from bandit_envs.seeding import Seed, generator
from bandit_envs.tables.encoding import TableEncoding
from bandit_envs.trajectories import PolicyInfo, TimeStep, Trajectory

Actions: TypeAlias = NDArray[np.integer[Any]]


class BatchOptions(TypedDict, total=False):
    """The keyword arguments of `Policy` except for `num_actions`, which subclasses pass on."""

    batch_size: int
    seed: Seed
    count_pending: bool


class PolicyOptions(BatchOptions):
    """The keyword arguments of `Policy`, which subclasses pass on."""

    num_actions: int


class PolicyState(NamedTuple):
    """All that changes in a policy: the generator of every draw, and what the hooks learned."""

    rng: Rng
    learned: Any
    is_trained: bool  # whether anything was learned
    pending: Indices | None = None  # how many choices wait for a reward, [B, K]; None if none does


class Policy(Stateful, abc.ABC):
    """Chooses an action for every row; called with a trajectory, it learns from it.

    A policy is an observer: a driver trains it if it is among the observers, and only evaluates it
    otherwise. A subclass implements `_select` or `_probabilities`, and if it learns, the others:

        _initial()                          -> learned    before the first trajectory
        _learn(learned, trajectory)         -> learned    new, or updated in place
        _select(rng, learned, time_step)    -> [B]        default: drawn from the probabilities
        _probabilities(learned, time_step)  -> [B, K]     default: unknown
        _with_pending(learned, pending)     -> learned    what it then chooses by; default: the same

    Only `_learn` may write into the arrays of `learned`, whose shapes and dtypes stay those of
    `_initial`. A class without `_learn` is a fixed policy. The base class restricts probabilities
    to the actions that the observation makes available; `_select` asks `_available` for them.

    Args:
        num_actions: the number of actions, K.
        batch_size: the number of rows, B.
        seed: whatever `numpy.random.default_rng` takes, or a RandomState; None for fresh entropy.
        count_pending: whether it counts choices whose rewards come later, if it can: see
            `expect_rewards`.

    >>> from bandit_envs import KArmedTestbed
    >>> class FirstActionPolicy(Policy):
    ...     def _select(self, rng, learned, time_step):
    ...         return np.zeros(self.batch_size, int)
    >>> FirstActionPolicy(num_actions=4).action(KArmedTestbed(k=4).reset())
    array([0], dtype=int32)
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

    encoding: TableEncoding | None = None
    """How the table that it has learned from names actions and features; None if it is not known.

    It is set where a policy learns from a log, and shows other logs to it in the same way."""

    can_learn: bool = False
    """Whether it learns from trajectories. Of a class: whether it defines `_learn`, or inherits it;
    an instance may say otherwise."""

    knows_probabilities: bool = False
    """Whether the probabilities of actions have a closed form. Of a class: whether it defines
    `_probabilities`; an instance may say otherwise."""

    can_count_pending: bool = False
    """Whether it counts choices whose rewards come later. Of a class: whether it defines
    `_with_pending`, or inherits it; of an instance: also whether it was asked to."""

    _action_dtype: np.dtype[Any] = np.dtype(np.int32)

    def __init_subclass__(cls, **options: Any) -> None:
        """Sees which hooks a class defines.

        Its choices and its probabilities must agree. So a class that defines one of the two hooks
        does not inherit the other.
        """
        super().__init_subclass__(**options)
        cls.can_learn = cls._learn is not Policy._learn
        cls.can_count_pending = cls._with_pending is not Policy._with_pending
        defined = vars(cls).keys() & {"_select", "_probabilities"}
        if defined:
            cls.knows_probabilities = "_probabilities" in defined
        if defined == {"_probabilities"}:
            cls._select = Policy._select  # type: ignore[method-assign]
        if defined == {"_select"}:
            cls._probabilities = Policy._probabilities  # type: ignore[method-assign]

    def __init__(
        self,
        num_actions: int,
        batch_size: int = 1,
        seed: Seed = None,
        *,
        count_pending: bool = True,
    ) -> None:
        is_counting = check_bool("count_pending", count_pending)
        self._count_pending = is_counting or not self.can_count_pending
        self.can_count_pending = self.can_count_pending and is_counting
        smallest = 1 if self._action_dtype.kind == "i" else 0
        self.num_actions = check_integer("num_actions", num_actions, smallest)  #: K
        self._set_batch_size(batch_size)
        self._state = PolicyState(generator(seed), self._initial(), False)

    def __repr__(self) -> str:
        return made_with(self)

    @property
    def is_untrained(self) -> bool:
        """Whether it can learn, and nothing was learned yet."""
        return self.can_learn and not self._state.is_trained

    @property
    def pending(self) -> Indices:
        """How many choices of each action wait for their rewards: [B, K]."""
        pending = self._state.pending
        return np.zeros(self._table_shape, np.intp) if pending is None else pending.copy()

    @classmethod
    def arguments_for(cls, env: Any) -> dict[str, Any]:
        """Returns the arguments of the constructor that make a policy fit `env`."""
        return {"num_actions": env.num_actions, "batch_size": env.batch_size}

    def action(self, time_step: TimeStep) -> NDArray[Any]:
        """Chooses an action for every row of `time_step`: [B]."""
        self._check_batch("time_step", time_step, TimeStep)
        return self._choose(self._state.rng, time_step).astype(self._action_dtype)

    def probabilities(self, time_step: TimeStep) -> Floats:
        """Returns the probability with which `action` chooses each action, if known: [B, K]."""
        return self._known_probabilities(time_step).copy()

    def probability_of(self, time_step: TimeStep, action: Any) -> Floats:
        """Returns `probabilities(time_step)[rows, action]` for actions [B]: [B]."""
        indices = check_indices(action, *self._table_shape)
        return self._known_probabilities(time_step).take(self._row_offsets + indices)

    def info_of(self, time_step: TimeStep, action: Any) -> Nest:
        """Returns what a trajectory tells of the choice of actions [B]: their log probabilities."""
        return PolicyInfo(np.log(self.probability_of(time_step, action)))

    def estimated_probabilities(self, time_step: TimeStep, samples: int, rng: Rng) -> Floats:
        """Returns the frequencies of actions in `samples` choices, which `rng` draws: [B, K].

        The estimate of a probability p has the standard error sqrt(p (1 - p) / samples).
        """
        self._check_batch("time_step", time_step, TimeStep)
        if not isinstance(rng, np.random.Generator):
            raise TypeError(f"rng is {short_repr(rng)}; expected a numpy.random.Generator")
        counts = np.zeros(self._table_shape)
        rows = np.arange(self.batch_size)
        for _ in range(check_integer("samples", samples, minimum=1)):
            chosen = check_indices(self._choose(rng, time_step), *self._table_shape)
            counts[rows, chosen] += 1.0
        return counts / samples

    def describe(self, row: int = 0) -> Knowledge:
        """Returns what the policy knows of each action in one row, if it can tell that.

        `render` of an environment draws it beside the true means.
        """
        index = check_integer("row", row, 0, self.batch_size - 1)
        return self._describe(self._state.learned).of_row(type(self).__name__, index)

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
        chosen = None if rows is None else self._check_rows(rows)
        if not self.can_learn or (chosen is not None and not chosen.any()):
            return
        after = self._learn_from(self._state.learned, checked, chosen)
        rng, _, _, pending = self._state
        if pending is not None:
            pending = end_pending(pending, checked.action, chosen)
        self._state = PolicyState(rng, after, True, pending)

    def check_feedback(self, action: Any, reward: Any) -> tuple[Array, Array]:
        """Returns what was done and paid in each row, as `_learn` takes it.

        Raises:
            TypeError, ValueError: the policy does not take this action, or this reward.
        """
        indices = check_indices(action, *self._table_shape)
        if not self.can_learn and (isinstance(reward, dict) or np.ndim(reward) > 1):
            return indices, reward  # vectors and nests: nothing is learned from them
        return indices, check_rewards(reward, self.batch_size, *self.reward_range)

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
        indices, chosen = self._check_pending(action, rows)
        after = add_pending(self.pending, indices, chosen)
        self._state = self._state._replace(pending=after)

    def stop_expecting(self, action: Any, rows: Mask | None = None) -> None:
        """Ends the wait of one choice of an action in each row: its reward never comes.

        Args:
            action: the actions whose rewards were lost, [B].
            rows: [B] bool, the rows that waited for them; None for all.

        Raises:
            TypeError: `can_count_pending` is False.
            ValueError: an argument does not fit.
        """
        indices, chosen = self._check_pending(action, rows)
        after = end_pending(self._state.pending, indices, chosen)
        self._state = self._state._replace(pending=after)

    def reset(self) -> None:
        """Forgets everything learned, and what is pending. The random generator is not reset."""
        self._state = PolicyState(self._state.rng, self._initial(), False)

    def replicate(self, batch_size: int) -> Policy:
        """Returns a copy for `batch_size` rows, whose row i knows what row i modulo B knows.

        Hooks that depend on the batch size read it from `self.batch_size` each time.
        """
        copied = copy.copy(self)
        copied._set_batch_size(batch_size)
        rng, learned, is_trained, pending = copy.deepcopy(self._state)
        if self.learns_by_row:
            learned = repeat_rows(learned, self.batch_size, copied.batch_size)
        pending = pending_of_rows(pending, np.arange(copied.batch_size) % self.batch_size)
        copied._state = PolicyState(rng, learned, is_trained, pending)
        return copied

    def with_actions(self, num_actions: int, warm: Warm | None = None) -> Policy:
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

        Hooks that depend on the number of actions read it from `self.num_actions` each time.

        Args:
            num_actions: how many actions the copy has, at least as many as this policy.
            warm: what new actions start from; None for the prior.

        Raises:
            ValueError: there are fewer actions, or a policy of this class cannot have more, or
                cannot start them so.

        >>> from bandit_envs.policies import BetaThompsonSamplingPolicy
        >>> BetaThompsonSamplingPolicy(num_actions=3).with_actions(5).num_actions
        5
        """
        known = self.num_actions
        check_integer("num_actions", num_actions, minimum=known)
        check_warm(warm)
        if num_actions == known:
            return self.replicate(self.batch_size)
        copied = copy.copy(self)
        copied._set_num_actions(num_actions)
        rng, learned, is_trained, pending = copy.deepcopy(self._state)
        if self._knows_nothing():
            learned = copied._initial()
        else:
            try:
                learned = copied._add_actions(learned, known)
            except ValueError as error:
                raise self._without_more_actions(f"it {error}") from error
        if warm is not None:
            learned = copied._start_warm(learned, known, warm)
        copied._state = PolicyState(rng, learned, is_trained, pad_pending(pending, num_actions))
        return copied

    def _initial(self) -> Any:
        """Returns what the policy knows before it has seen anything."""
        return None

    def _learn(self, learned: Any, trajectory: Trajectory) -> Any:
        """Returns what the policy knows after `trajectory`: new, or `learned` updated in place."""
        return learned

    def _with_pending(self, learned: Any, pending: Indices) -> Any:
        """Returns what to choose by, of the layout of `learned`, if choices are pending.

        Args:
            learned: must not be written to.
            pending: how many choices wait for their rewards, [B, K]; not all are 0.
        """
        return learned

    def _describe(self, learned: Any) -> Beliefs:
        """Returns what is known of every action in every row."""
        raise NotImplementedError(f"{type(self).__name__} does not tell what it knows of actions")

    def _select(self, rng: Rng, learned: Any, time_step: TimeStep) -> Actions:
        """Returns an available action for every row: [B]."""
        table = self._probabilities(learned, time_step)
        self._check_table("_probabilities", table)
        check_array("_probabilities returned", table, self._table_shape)  # no NaN
        return draw_indices(rng, self._restricted(table, time_step.observation))

    def _probabilities(self, learned: Any, time_step: TimeStep) -> Floats:
        """Returns the probability of every action: [B, K]."""
        name = type(self).__name__
        if type(self)._select is Policy._select:
            raise NotImplementedError(f"{name} defines neither _select nor _probabilities")
        raise NotImplementedError(f"{name} has no closed form; use estimated_probabilities()")

    def _knows_nothing(self) -> bool:
        """Returns whether all that it knows is what `_initial` says."""
        return self.is_untrained

    def _add_actions(self, learned: Any, known: int) -> Any:
        """Returns what is known of the first `known` actions as what is known of all.

        By default, each axis of actions gets new ones as they are at first. A class whose numbers
        depend on each other, such as probabilities, overrides it.
        """
        return add_actions(learned, self._initial(), known, self.num_actions)

    def _start_warm(self, learned: Any, known: int, warm: Warm) -> Any:
        """Returns `learned`, in which actions from `known` on start warm; updated in place."""
        raise self._without_warm(warm)

    def _without_warm(self, warm: str) -> ValueError:
        name = self._state_owner()
        return ValueError(f"warm is {warm!r}, which {name} does not support")

    def _set_num_actions(self, num_actions: int) -> None:
        """Sets what depends on the number of actions, or raises ValueError if there are no more."""
        self.num_actions = num_actions
        self._set_batch_size(self.batch_size)

    def _without_more_actions(self, reason: str) -> ValueError:
        found = f"{self._state_owner()} cannot have more than {self.num_actions} actions"
        return ValueError(f"{found}: {reason}")

    def _set_batch_size(self, batch_size: int) -> None:
        """Sets what depends on the batch size."""
        self.batch_size = check_integer("batch_size", batch_size, minimum=1)  #: B
        self._table_shape = (self.batch_size, self.num_actions)
        self._row_offsets = np.arange(self.batch_size) * self.num_actions

    def _available(self, observation: Nest) -> Mask | None:
        """Returns which actions are available: [B, K], at least one a row; None if all are."""
        if not isinstance(observation, dict):
            return None
        return self._check_mask(observation)

    def _known_probabilities(self, time_step: TimeStep) -> Floats:
        """Returns the probabilities of the available actions. The array may be part of `learned`.

        Raises:
            ValueError: they are not probabilities.
        """
        self._check_batch("time_step", time_step, TimeStep)
        table = self._probabilities(self._chosen_by(), time_step)
        self._check_table("_probabilities", table)
        restricted = self._restricted(table, time_step.observation)
        is_one = np.abs(row_sums(restricted) - 1.0) < 1e-5
        if table.min() >= 0.0 and is_one.all():
            return restricted
        expected = "probabilities, which sum to 1 in each row"
        raise ValueError(f"_probabilities returned {short_repr(table)}; expected {expected}")

    def _chosen_by(self) -> Any:
        """Returns what was learned, with the choices that are pending."""
        _, learned, _, pending = self._state
        return learned if pending is None else self._with_pending(learned, pending)

    def _check_pending(self, action: Any, rows: Mask | None) -> tuple[Indices, Mask | None]:
        """Returns the actions [B] and the rows of choices that are pending, or were.

        Raises:
            TypeError: it does not count them.
            ValueError: an argument does not fit.
        """
        if not self.can_count_pending:
            found = f"{type(self).__name__} does not count pending choices"
            raise TypeError(f"{found}; expected a policy whose can_count_pending is True")
        indices = check_indices(action, *self._table_shape)
        return indices, None if rows is None else self._check_rows(rows)

    def _restricted(self, probabilities: Floats, observation: Nest) -> Floats:
        """Returns `probabilities` [B, K], given that an available action is chosen."""
        return available_only(probabilities, self._available(observation))

    def _check_mask(self, observation: Nest) -> Mask | None:
        mask = available_actions(observation, self.num_actions)
        if mask is None or (mask.shape == self._table_shape and mask.any(axis=1).all()):
            return mask
        expected = f"expected shape {self._table_shape} and at least one action in each row"
        raise ValueError(f"observation makes actions {short_repr(mask)} available; {expected}")

    @property
    def _action_shape(self) -> tuple[int, ...]:
        """The shape of the actions of all rows."""
        return (self.batch_size,)

    def _choose(self, rng: Rng, time_step: TimeStep) -> NDArray[Any]:
        """Returns what `_select` chose; the environment refuses actions that it does not have.

        Raises:
            TypeError, ValueError: `_select` returned no integers, or too few or too many.
        """
        chosen = self._select(rng, self._chosen_by(), time_step)
        action = as_numbers("_select returned", chosen, "iu")
        if action.shape == self._action_shape:
            return action
        if self.batch_size == 1 and action.shape == self._action_shape[1:]:
            return action.reshape(self._action_shape)
        raise ValueError(f"_select returned shape {action.shape}; expected {self._action_shape}")

    def _check_table(self, hook: str, table: Any) -> None:
        """Raises ValueError if a `hook` returned no array [B, K]."""
        if not isinstance(table, np.ndarray):
            expected = f"an array of shape {self._table_shape}"
            raise ValueError(f"{hook} returned {short_repr(table)}; expected {expected}")
        if table.shape != self._table_shape:
            raise ValueError(f"{hook} returned shape {table.shape}; expected {self._table_shape}")

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

    def _check_rows(self, rows: Any) -> Mask:
        mask = np.asarray(rows)
        if mask.dtype != np.bool_ or mask.shape != (self.batch_size,):
            expected = f"{self.batch_size} booleans, or None for all rows"
            raise ValueError(f"rows is {short_repr(rows)}; expected {expected}")
        return mask

    def _check_trajectory(self, trajectory: Trajectory) -> Trajectory:
        self._check_batch("trajectory", trajectory, Trajectory)
        action, reward = self.check_feedback(trajectory.action, trajectory.reward)
        return trajectory._replace(action=action, reward=reward)

    def _state_key(self) -> dict[str, int | None]:
        return {"num_actions": self.num_actions, "batch_size": self.batch_size}

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

    def _check_batch(self, name: str, value: Any, kind: type[Any]) -> None:
        if getattr(value, "_fields", None) != kind._fields:  # TF-Agents' classes have the same
            raise TypeError(f"{name} is {short_repr(value)}; expected a {kind.__name__}")
        shape = np.shape(value.step_type)
        expected = (self.batch_size,)
        if shape != expected:
            raise ValueError(f"{name} has shape {shape}; expected {expected}")
