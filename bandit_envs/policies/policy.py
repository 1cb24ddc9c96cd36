"""What every policy shares: it chooses from a time step and learns as an observer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Floats, Mask, Rng, check_array
from bandit_envs.base.bandit_py_environment import available_actions
from bandit_envs.base.checks import check_bool, check_integer, short_repr
from bandit_envs.base.kind_of_actions import kind_of
from bandit_envs.base.made_with import made_with
from bandit_envs.nests import Nest
from bandit_envs.policies.beliefs import Beliefs
from bandit_envs.policies.draws import available_only, draw_indices, row_sums
from bandit_envs.policies.learning_observer import LearningObserver, PolicyState
from bandit_envs.rendering import Knowledge
from bandit_envs.seeding import Seed, draw_the_same, generator
from bandit_envs.trajectories import TimeStep, Trajectory

if TYPE_CHECKING:
    from bandit_envs.tables.encoding import TableEncoding

Actions: TypeAlias = NDArray[np.integer[Any]]


class BatchOptions(TypedDict, total=False):
    """The keyword arguments of `Policy` except for `num_actions`, which subclasses pass on."""

    batch_size: int
    seed: Seed
    count_pending: bool


class PolicyOptions(BatchOptions):
    """The keyword arguments of `Policy`, which subclasses pass on."""

    num_actions: int


class PolicyStep(NamedTuple):
    """What a policy does in a step, and what a trajectory tells of it as its `policy_info`."""

    action: Nest
    info: Nest


class Policy(LearningObserver):
    """Chooses an action for every row; called with a trajectory, it learns from it.

    A policy is an observer: a driver trains it if it is among the observers, and only evaluates it
    otherwise. A subclass implements `_select` or `_probabilities`, and if it learns, the others:

        _initial()                          -> learned    before the first trajectory
        _learn(learned, trajectory)         -> learned    new, or updated in place
        _select(rng, learned, time_step)    -> [B]        default: drawn from the probabilities
        _probabilities(learned, time_step)  -> [B, K]     default: unknown
        _with_pending(learned, pending)     -> learned    what it then chooses by; default: asks it

    Only `_learn` may write into the arrays of `learned`, whose shapes and dtypes stay those of
    `_initial`. A class without `_learn` is a fixed policy. The base class restricts probabilities
    to the actions that the observation makes available; `_select` asks `_available` for them.

    Where an action is not one integer, `_select` returns what `action_kind` says. One hook takes
    the place of `_probabilities`, if probabilities are known:

        _probability_of(learned, time_step, action)  -> [B]; densities of numbers,
                                                        `SlateProbabilities` of slates

    Args:
        num_actions: the number of actions, K. Actions are integers from 0 to K - 1.
        batch_size: the number of rows, B.
        seed: whatever `numpy.random.default_rng` takes, or a RandomState; None for fresh entropy.
        action_spec: the nest of specs of one row's action, or an `ActionKind`, in place of
            `num_actions`.
        count_pending: whether it counts choices whose rewards come later, if it can: see
            `expect_rewards`.

    >>> from bandit_envs import KArmedTestbed
    >>> class FirstActionPolicy(Policy):
    ...     def _select(self, rng, learned, time_step):
    ...         return np.zeros(self.batch_size, int)
    >>> FirstActionPolicy(num_actions=4).action(KArmedTestbed(k=4).reset())
    array([0], dtype=int32)
    """

    encoding: TableEncoding | None = None
    """How the table that it has learned from names actions and features; None if it is not known.

    It is set where a policy learns from a log, and shows other logs to it in the same way."""

    reads_items: bool = False
    """Whether it tells items apart by their numbers, which a log of items then shows it, `item`
    [B, K] of the observation."""

    knows_probabilities: bool = False
    """Whether it tells how probable the actions are that it chooses: see `info_of`. Of a class:
    whether it defines `_probabilities` or `_probability_of`; an instance may say otherwise."""

    emits_info: bool = False
    """Whether drivers show what it tells of its choices beside their probabilities: see
    `policy_step`."""

    _choosing_hooks: ClassVar[tuple[str, ...]] = ("_select",)
    """The hooks on which choices depend. A class that defines one knows no probabilities, unless it
    defines them, too."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Sees which hooks a class defines.

        Its choices and its probabilities must agree. So a class that defines the hook of one does
        not inherit that of the other.
        """
        super().__init_subclass__(**options)
        told = vars(cls).keys() & {"_probabilities", "_probability_of"}
        chosen = vars(cls).keys() & {*cls._choosing_hooks}
        if told or chosen:
            cls.knows_probabilities = bool(told)
        if "_probabilities" in told and not chosen:
            cls._select = Policy._select  # type: ignore[method-assign]
        if chosen and "_probabilities" not in told:
            cls._probabilities = Policy._probabilities  # type: ignore[method-assign]
        if (chosen or told) and "_probability_of" not in told:
            cls._probability_of = Policy._probability_of  # type: ignore[method-assign]

    def __init__(
        self,
        num_actions: int | None = None,
        batch_size: int = 1,
        seed: Seed = None,
        *,
        action_spec: Nest | None = None,
        count_pending: bool = True,
    ) -> None:
        is_counting = check_bool("count_pending", count_pending)
        self._count_pending = is_counting or not self.can_count_pending
        self.action_kind = kind_of(num_actions, action_spec)  #: what an action is
        is_single = self.action_kind.is_single
        self.can_count_pending = self.can_count_pending and is_counting and is_single
        if not is_single and type(self)._probability_of is Policy._probability_of:
            self.knows_probabilities = False  # `_probabilities` is of single actions
        self.num_actions = self.action_kind.num_actions  #: K; 0 if actions have no numbers
        self._check_numbered()
        self._set_batch_size(batch_size)
        self._state = PolicyState(generator(seed), self._initial(), False)

    def __repr__(self) -> str:
        return made_with(self)

    @classmethod
    def arguments_for(cls, env: Any) -> dict[str, Any]:
        """Returns the arguments of the constructor that make a policy fit `env`."""
        return {"num_actions": env.num_actions, "batch_size": env.batch_size}

    def draws_like(self, other: Any) -> bool:
        """Returns whether its generator was made from the same seed as another one, not shared."""
        return draw_the_same(self._state.rng, other)

    def action(self, time_step: TimeStep) -> Nest:
        """Chooses an action for every row of `time_step`: [B], or as `action_kind` says."""
        self._check_batch("time_step", time_step, TimeStep)
        return self._choose(self._state.rng, time_step)

    def policy_step(self, time_step: TimeStep) -> PolicyStep:
        """Chooses as `action` does; returns the action, and what a trajectory tells of it.

        By default, this is `info_of` the action. A policy with `emits_info` tells more.
        """
        action = self.action(time_step)
        return PolicyStep(action, self.info_of(time_step, action))

    def probabilities(self, time_step: TimeStep) -> Floats:
        """Returns the probability with which `action` chooses each action, if known: [B, K].

        Only actions that are single integers have such a table; `info_of` tells of all kinds.
        """
        self._check_batch("time_step", time_step, TimeStep)
        self._require_table()
        return self._available_table(self._chosen_by(), time_step).copy()

    def probability_of(self, time_step: TimeStep, action: Any) -> Floats:
        """Returns the probability with which `action` chooses actions [B, ...], if known: [B].

        Of numbers, it is the density. If an action is one integer, this is the entry of the action
        in `probabilities(time_step)`.
        """
        return self.action_kind.probability(self._told(time_step, action))

    def info_of(self, time_step: TimeStep, action: Any) -> Nest:
        """Returns what a trajectory tells of the choice of actions [B, ...], if it is known.

        This is the log probability, or density, in a `PolicyInfo`; of slates, it is their
        `SlateProbabilities`.
        """
        return self.action_kind.info(self._told(time_step, action))

    def estimated_probabilities(self, time_step: TimeStep, samples: int, rng: Rng) -> Floats:
        """Returns the frequencies of actions in `samples` choices, which `rng` draws: [B, K].

        The estimate of a probability p has the standard error sqrt(p (1 - p) / samples).
        """
        self._check_batch("time_step", time_step, TimeStep)
        self._require_table()
        if not isinstance(rng, np.random.Generator):
            raise TypeError(f"rng is {short_repr(rng)}; expected a numpy.random.Generator")
        counts = np.zeros(self._table_shape)
        rows = np.arange(self.batch_size)
        for _ in range(check_integer("samples", samples, minimum=1)):
            chosen = self.action_kind.check(self._choose(rng, time_step))
            counts[rows, chosen] += 1.0
        return counts / samples

    def scores(self, time_step: TimeStep) -> Floats:
        """Returns the numbers by which a policy with a model orders the actions: [B, K].

        They are the indices of a rule that has one, such as upper bounds, and otherwise the
        predicted rewards; -inf where an action is not available. Nothing is drawn.
        """
        self._check_batch("time_step", time_step, TimeStep)
        scores = np.array(self._scores_of(self._chosen_by(), time_step), np.float64)
        available = self._available(time_step.observation)
        return scores if available is None else np.where(available, scores, -np.inf)

    def describe(self, row: int = 0, time_step: TimeStep | None = None) -> Knowledge:
        """Returns what the policy knows of each action in one row, if it can tell that.

        `render` of an environment shows it beside the true means.

        Args:
            row: of the batch, from 0.
            time_step: whose `scores` a policy with a model tells; others do not need it.
        """
        index = check_integer("row", row, 0, self.batch_size - 1)
        name = type(self).__name__
        if time_step is not None and type(self)._describe is Policy._describe:
            return Knowledge(name, values=None, scores=self.scores(time_step)[index])
        return self._describe(self._state.learned).of_row(name, index)

    def _scores_of(self, learned: Any, time_step: TimeStep) -> Floats:
        """Returns the scores of all actions, available or not: [B, K]."""
        raise NotImplementedError(f"{type(self).__name__} has no scores; policies with a model do")

    def _describe(self, learned: Any) -> Beliefs:
        """Returns what is known of every action in every row."""
        raise NotImplementedError(f"{type(self).__name__} does not tell what it knows of actions")

    def _select(self, rng: Rng, learned: Any, time_step: TimeStep) -> Nest:
        """Returns an available action for every row: [B], or as `action_kind` says."""
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

    def _probability_of(self, learned: Any, time_step: TimeStep, action: Any) -> Any:
        """Returns the probabilities of actions that fit `action_kind`, as that says: [B]."""
        if not self.action_kind.is_single:
            name = type(self).__name__
            raise NotImplementedError(f"{name} does not know the probabilities of its actions")
        return self._available_table(learned, time_step).take(self._row_offsets + action)

    def _available(self, observation: Nest) -> Mask | None:
        """Returns which actions are available: [B, K], at least one a row; None if all are."""
        if not isinstance(observation, dict):
            return None
        return self._check_mask(observation)

    def _check_numbered(self) -> None:
        """Raises ValueError if a hook returns tables [B, K], and actions have no numbers."""
        is_table = type(self)._probabilities is not Policy._probabilities
        is_table |= type(self)._describe is not Policy._describe
        if is_table and not self.num_actions:
            spec = short_repr(self.action_kind.spec)
            expected = f"expected integers from 0, as {type(self).__name__} has a table of them"
            raise ValueError(f"action_spec is {spec}; {expected}{self.action_kind.remedy}")

    def _require_table(self) -> None:
        """Raises NotImplementedError if its actions have no table of probabilities."""
        hint = "; info_of() tells how probable an action is" if self.knows_probabilities else ""
        self.action_kind.require_table(type(self).__name__, hint)

    def _told(self, time_step: TimeStep, action: Any) -> Any:
        """Returns how probable actions [B, ...] are, in the form that `action_kind` says."""
        asked = self.action_kind.asked(action)
        self._check_batch("time_step", time_step, TimeStep)
        told = self._probability_of(self._chosen_by(), time_step, asked)
        return self.action_kind.check_probability(told)

    def _available_table(self, learned: Any, time_step: TimeStep) -> Floats:
        """Returns the probabilities of the available actions. The array may be part of `learned`.

        Raises:
            ValueError: they are not probabilities.
        """
        table = self._probabilities(learned, time_step)
        self._check_table("_probabilities", table)
        restricted = self._restricted(table, time_step.observation)
        sums = row_sums(restricted)
        if len(sums) == 1:  # as in a service
            are_one = abs(sums.item() - 1.0) < 1e-5
        else:
            are_one = bool((np.abs(sums - 1.0) < 1e-5).all())
        if are_one and table.item(table.argmin()) >= 0.0:  # NaN is the smallest
            return restricted
        expected = "probabilities, which sum to 1 in each row"
        raise ValueError(f"_probabilities returned {short_repr(table)}; expected {expected}")

    def _restricted(self, probabilities: Floats, observation: Nest) -> Floats:
        """Returns `probabilities` [B, K], given that an available action is chosen."""
        return available_only(probabilities, self._available(observation))

    def _check_mask(self, observation: Nest) -> Mask | None:
        mask = available_actions(observation, self.num_actions)
        if mask is None or (mask.shape == self._table_shape and mask.any(axis=1).all()):
            return mask
        expected = f"expected shape {self._table_shape} and at least one action in each row"
        raise ValueError(f"observation makes actions {short_repr(mask)} available; {expected}")

    def _chosen_by(self) -> Any:
        """Returns what was learned, with the choices that are pending."""
        _, learned, _, pending = self._state
        return learned if pending is None else self._with_pending(learned, pending)

    def _choose(self, rng: Rng, time_step: TimeStep) -> Nest:
        """Returns what `_select` chose; the environment refuses actions that it does not have.

        Raises:
            TypeError, ValueError: `_select` returned no actions, or too few or too many.
        """
        return self.action_kind.chosen(self._select(rng, self._chosen_by(), time_step))

    def _check_table(self, hook: str, table: Any) -> None:
        """Raises ValueError if a `hook` returned no array [B, K]."""
        if not isinstance(table, np.ndarray):
            expected = f"an array of shape {self._table_shape}"
            raise ValueError(f"{hook} returned {short_repr(table)}; expected {expected}")
        if table.shape != self._table_shape:
            raise ValueError(f"{hook} returned shape {table.shape}; expected {self._table_shape}")

    def _check_trajectory(self, trajectory: Trajectory) -> Trajectory:
        self._check_batch("trajectory", trajectory, Trajectory)
        action, reward = self.check_feedback(trajectory.action, trajectory.reward)
        return trajectory._replace(action=action, reward=reward)

    def _check_batch(self, name: str, value: Any, kind: type[Any]) -> None:
        if getattr(value, "_fields", None) != kind._fields:  # TF-Agents' classes have the same
            raise TypeError(f"{name} is {short_repr(value)}; expected a {kind.__name__}")
        shape = np.shape(value.step_type)
        expected = (self.batch_size,)
        if shape != expected:
            raise ValueError(f"{name} has shape {shape}; expected {expected}")

    def _state_key(self) -> dict[str, int | None]:
        sizes = {"num_actions": self.num_actions, "batch_size": self.batch_size}
        return {**super()._state_key(), **sizes}


def chosen_by(policy: Policy) -> Any:
    """Returns what a policy chooses by: what it has learned, with the choices that are pending."""
    return policy._chosen_by()
