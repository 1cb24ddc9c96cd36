"""Contextual policies: a model of rewards, and a rule that chooses by what it predicts."""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Mask, Rng, check_array
from bandit_envs.base.bandit_py_environment import available_actions
from bandit_envs.base.checks import check_bool, check_integer, short_repr
from bandit_envs.nests import Nest, flatten, map_structure
from bandit_envs.policies.draws import largest_random_ties
from bandit_envs.policies.learned import Warm, add_actions
from bandit_envs.policies.models.constant_feature import MOST_ROWS, has_constant
from bandit_envs.policies.models.inputs import InputReader
from bandit_envs.policies.models.value_model import Model, ValueModel
from bandit_envs.policies.policy import Actions, Policy
from bandit_envs.policies.rules.rule import Predictions, Rule
from bandit_envs.policies.scikit_learn.model import ScikitLearnModel
from bandit_envs.seeding import Seed, generator
from bandit_envs.specs import SlateSpec
from bandit_envs.trajectories import TimeStep, Trajectory

MAX_SEED = 2**63


class LearnedParts(NamedTuple):
    """What a contextual policy has learned.

    Fields:
        model: what its model has learned.
        rule: what its rule keeps.
        num_rewards: from how many rewards; [B], if rows are problems of their own.
    """

    model: Any
    rule: Any
    num_rewards: Any


def lacks_constant(policy: Policy, observation: Nest) -> bool:
    """Returns whether the model of a policy needs a constant feature, and some rows have none.

    Args:
        policy: which may have no model.
        observation: of n rows, of which the first are looked at.
    """
    if not isinstance(policy, ContextualPolicy) or not policy.model.needs_constant:
        return False
    rows = map_structure(operator.itemgetter(slice(MOST_ROWS)), observation)
    features = policy.features_of(rows)
    num_rows = math.prod(features.shape[:-1])  # -1 cannot tell it of rows without features
    return not has_constant(features.reshape(num_rows, features.shape[-1]))


class ContextualPolicy(Policy):
    """Chooses by a rule from what a model predicts. Any model of rewards goes with any rule.

    An observation with the keys `global` [B, G] and `per_arm` [B, K, P] has features of actions:
    one model predicts the reward of each action from x = [global, per_arm]. Any other observation
    is a context [B, D], or has one in its entry `observation` beside a mask: each action has a
    model of its own. Nests of arrays are flattened and joined in their order.

    With `num_slots`, actions are slates: the items with the largest indices, best first. The model
    learns from the reward of each slot.

    The rows are users of one problem, who share the models; or with `independent_rows`, problems of
    their own, with models of their own. `arguments_for` asks the environment which of both it is.

    Args:
        model: of the rewards, such as `Ridge()`.
        rule: how to choose, such as `UpperBound(alpha=1.0)`.
        observation_spec: of the environment.
        num_actions: the number of actions, K; None if the features of actions tell it.
        batch_size: the number of rows, B.
        seed: whatever `numpy.random.default_rng` takes, or a RandomState; None for fresh entropy.
        independent_rows: whether each row is a problem of its own.
        num_slots: S, the number of items in a slate, at most K; None if an action is one integer.

    Raises:
        TypeError: the rule needs what the model cannot do, or chooses no slates.
        ValueError: the model is not for such observations, or its rows cannot be problems.

    >>> from bandit_envs import ArraySpec, ContextualPolicy
    >>> from bandit_envs.policies.models import Logistic
    >>> from bandit_envs.policies.rules import Greedy
    >>> spec = ArraySpec((3,), np.float32)
    >>> policy = ContextualPolicy(Logistic(), Greedy(), observation_spec=spec, num_actions=4)
    >>> policy.model.initial_value, policy.rule
    (0.5, Greedy())
    """

    def __init__(
        self,
        model: Model,
        rule: Rule,
        *,
        observation_spec: Nest,
        num_actions: int | None = None,
        batch_size: int = 1,
        seed: Seed = None,
        independent_rows: bool = False,
        num_slots: int | None = None,
    ) -> None:
        self._set_model(_check_part("model", model, Model))
        self.rule: Rule = _check_part("rule", rule, Rule)  #: how to choose
        predictor = self._predictor
        rule.check(predictor)
        if num_actions is not None:
            num_actions = check_integer("num_actions", num_actions, minimum=1)
        self._reader = InputReader(observation_spec, num_actions)
        slates = None
        if num_slots is not None:
            rule.check_rank()
            num_items = self._reader.num_actions
            slates = SlateSpec.of(check_integer("num_slots", num_slots, 1, num_items), num_items)
        self._num_slots = num_slots
        self.learns_by_row = _check_rows(predictor, independent_rows, batch_size, num_slots)
        self.log_rows = predictor.log_rows
        known_range = predictor.reward_range
        self.reward_range = known_range if rule.reward_range is None else rule.reward_range
        # A rule counts rewards, or keeps some, for a fixed model, too.
        self.can_learn = predictor.learns or rule.keeps_state or rule.counts_rewards
        self.knows_probabilities = slates is None and rule.knows_probabilities(predictor)
        rng = generator(seed)
        self._model_seed = int(rng.integers(MAX_SEED)) if predictor.is_random else 0
        single = self._reader.num_actions if slates is None else None
        super().__init__(single, batch_size, rng, action_spec=slates)

    def __repr__(self) -> str:
        slots = "" if self._num_slots is None else f", num_slots={self._num_slots}"
        return f"{type(self).__name__}({self.model!r}, {self.rule!r}{slots})"

    @classmethod
    def arguments_for(cls, env: Any) -> dict[str, Any]:
        found = {"observation_spec": env.observation_spec(), "num_actions": env.num_actions}
        kind = env.action_kind
        if kind.is_slate:
            return {**found, "batch_size": env.batch_size, "num_slots": kind.spec.shape[0]}
        independent_rows = getattr(env, "independent_rows", False)
        return {**found, "batch_size": env.batch_size, "independent_rows": independent_rows}

    @property
    def is_as_made(self) -> bool:
        """Whether it knows what its model and its rule say at first, and nothing else."""
        known = flatten(self._state.learned)
        initial = flatten(self._initial())
        has_learned = self._state.is_trained or len(known) != len(initial)
        return not has_learned and all(map(_is_same, known, initial))

    def features_of(self, observation: Nest) -> Floats:
        """Returns the features of n rows: [n, D], or of each action, [n, K, D]."""
        return self._reader.read(observation, len(flatten(observation)[0])).features()

    def _set_model(self, model: Model) -> None:
        """Sets the model, and what is asked of it in every step."""
        self.model: Model = model  #: of the rewards
        self._predictor: ValueModel = model.predictor  # what learns and predicts
        self._maps_inputs = type(model).map_inputs is not Model.map_inputs

    def _set_num_actions(self, num_actions: int) -> None:
        if not self._reader.are_of_actions or self._predictor.has_own_weights:
            self._set_model(self.model.for_actions(num_actions))
        self._reader = self._reader.with_actions(num_actions)
        super()._set_num_actions(num_actions)

    def _knows_nothing(self) -> bool:
        return super()._knows_nothing() and self._predictor.learns

    def _add_actions(self, learned: LearnedParts, known: int) -> LearnedParts:
        initial = self._initial()
        sizes = known, self.num_actions
        model = self._predictor.add_actions(learned.model, initial.model, *sizes)
        return learned._replace(model=model, rule=add_actions(learned.rule, initial.rule, *sizes))

    def _start_warm(self, learned: LearnedParts, known: int, warm: Warm) -> LearnedParts:
        if warm != "mean" or not self._predictor.can_start_warm(self._reader.are_of_actions):
            raise NotImplementedError("the model starts no actions so")
        return learned._replace(model=self._predictor.start_warm(learned.model, known))

    def _initial(self) -> LearnedParts:
        num_rows = self.batch_size if self.learns_by_row else 1
        sizes = self.model.map_sizes(self._reader.sizes(num_rows))
        learned = self._predictor.initial(sizes, np.random.default_rng(self._model_seed))
        state = self.rule.initial(num_rows, self.num_actions)
        return LearnedParts(learned, state, np.zeros(num_rows) if self.learns_by_row else 0)

    def _learn(self, learned: LearnedParts, trajectory: Trajectory) -> LearnedParts:
        observation, action = trajectory.observation, trajectory.action
        rows = self._reader.read_chosen(observation, action, trajectory.reward, self.learns_by_row)
        state = learned.rule
        if self.rule.keeps_state:
            size = len(action)
            available = self._mask_of(observation, size)
            state = self.rule.after(self._seen(learned, observation, size), available, action)
        added = 1.0 if self.learns_by_row else len(rows.reward)
        after = self._predictor.learn(learned.model, self.model.map_rows(rows))
        return LearnedParts(after, state, learned.num_rewards + added)

    def _check_rewards(self, reward: Any) -> Any:
        rewards = super()._check_rewards(reward)
        predictor = self._predictor
        return predictor.check_rewards(rewards) if predictor.learns else rewards

    def _select(self, rng: Rng, learned: LearnedParts, time_step: TimeStep) -> Actions:
        available = self._available(time_step.observation)
        seen = self._seen(learned, time_step.observation, self.batch_size)
        seen = seen._replace(available=available)
        if self._num_slots is None:
            return self.rule.select(rng, seen, available)
        ranks = np.asarray(self.rule.rank(rng, seen))
        check_array("rank returned", ranks, seen.shape)  # no NaN
        if available is not None:
            ranks = np.where(available, ranks, -np.inf)
        num_places = max(seen.num_places, self._num_slots)
        return largest_random_ties(rng, ranks[:, :num_places], self._num_slots)

    def _probabilities(self, learned: LearnedParts, time_step: TimeStep) -> Floats:
        if not self.knows_probabilities:
            return super()._probabilities(learned, time_step)
        available = self._available(time_step.observation)
        seen = self._seen(learned, time_step.observation, self.batch_size)
        return self.rule.probabilities(seen, available)

    def _scores_of(self, learned: LearnedParts, time_step: TimeStep) -> Floats:
        seen = self._seen(learned, time_step.observation, self.batch_size)
        return seen.checked("scores", self.rule.scores(seen))

    def _seen(self, learned: LearnedParts, observation: Nest, size: int) -> Predictions:
        """Returns what the model predicts for the rows of an observation."""
        inputs = self._reader.read(observation, size, self.learns_by_row)
        if self._maps_inputs:
            inputs = self.model.map_inputs(inputs)
        num_rewards = learned.num_rewards if self.learns_by_row else float(learned.num_rewards)
        shape = (size, self.num_actions)
        return Predictions(
            model=self._predictor,
            learned=learned.model,
            inputs=inputs,
            num_rewards=num_rewards,
            state=learned.rule,
            shape=shape,
        )

    def _mask_of(self, observation: Nest, size: int) -> Mask | None:
        """Returns which actions are available in `size` rows, which may be some of the batch."""
        if size == self.batch_size:
            return self._available(observation)
        return available_actions(observation, self.num_actions)

    def _state_owner(self) -> str:
        return class_names(self)

    def _constants(self) -> Mapping[str, Any]:
        known = super()._constants()
        if self._predictor.learns:
            return known
        return {**known, "model": None}  # all that a fixed model is made of is in the state

    def _state_key(self) -> dict[str, int | None]:
        sizes = self._reader.sizes(num_rows=1)
        slots = {} if self._num_slots is None else {"num_slots": self._num_slots}
        return {
            **super()._state_key(),
            "context_dim": sizes.context_dim,
            "action_dim": sizes.action_dim,
            "independent_rows": int(self.learns_by_row),
            **slots,
        }


def _is_same(found: Any, initial: Any) -> bool:
    """Returns whether two leaves of what is known are one, or arrays of the same numbers."""
    if isinstance(found, ScikitLearnModel) and isinstance(initial, ScikitLearnModel):
        return found.estimator is initial.estimator
    if isinstance(found, (np.ndarray, np.generic, int, float)):
        return np.array_equal(found, initial)
    return found is initial


def _check_part(name: str, part: Any, kind: type[Any]) -> Any:
    """Returns a model or a rule; TypeError if it is something else."""
    if not isinstance(part, kind):
        expected = f"a {kind.__name__}, such as bandit_envs.policies.{name}s has"
        raise TypeError(f"{name} is {short_repr(part)}; expected {expected}")
    return part


def _check_rows(
    model: ValueModel, independent_rows: bool, batch_size: int, num_slots: int | None
) -> bool:
    """Returns whether each row has models of its own; ValueError if the model cannot have them."""
    independent_rows = check_bool("independent_rows", independent_rows)
    if not independent_rows or (model.can_have_rows and num_slots is None):
        return independent_rows
    if batch_size == 1:  # one problem: its models are those of its only row
        return False
    found = f"independent_rows is True, and batch_size {batch_size}"
    name = f"a {type(model).__name__}" if num_slots is None else "what learns from slates"
    raise ValueError(f"{found}; {name} is one model for all rows: give each row its own policy")


def class_names(policy: ContextualPolicy) -> str:
    """Returns the class of a policy with those of its parts: ContextualPolicy(Ridge, Greedy)."""
    return f"{type(policy).__name__}({_name_of(policy.model)}, {_name_of(policy.rule)})"


def _name_of(part: Any) -> str:
    """Returns the class of a model or a rule, with those of its parts."""
    parts = []
    if dataclasses.is_dataclass(part):
        values = [getattr(part, field.name) for field in dataclasses.fields(part)]
        parts = [_name_of(each) for each in values if isinstance(each, (Model, Rule))]
    name = type(part).__name__
    return f"{name}({', '.join(parts)})" if parts else name
