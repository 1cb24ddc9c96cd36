"""What chooses and learns in a policy made of an agent or a policy of TF-Agents."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import tensorflow as tf
from tf_agents.agents import tf_agent
from tf_agents.bandits.agents import mixture_agent, ranking_agent
from tf_agents.bandits.policies import mixture_policy
from tf_agents.policies import py_policy, tf_policy
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory as tf_trajectory

from bandit_envs.adapters.tf_agents.policies.choosers import SeededChooser
from bandit_envs.adapters.tf_agents.policies.compiled import (
    CompiledFunction,
    as_policy_takes_it,
    batch_shape,
    batched,
    chosen_items,
)
from bandit_envs.adapters.tf_agents.policies.infos import (
    ChoiceInfos,
    emits_info,
    step_without_exploration,
)
from bandit_envs.adapters.tf_agents.policies.mixtures import ResponsibleAgents
from bandit_envs.adapters.tf_agents.policies.probability_tables import find_table
from bandit_envs.adapters.tf_agents.policies.saved_models import SavedModelPolicy
from bandit_envs.adapters.tf_agents.policies.variables import AgentVariables, Values
from bandit_envs.adapters.tf_agents.trackable_draws import TrackableDraws, first_state
from bandit_envs.adapters.tf_agents.users import kind_of_tf_agents_actions
from bandit_envs.arrays import Array, Floats, Rng
from bandit_envs.base.actions import ActionKind
from bandit_envs.base.checks import short_repr
from bandit_envs.nests import Nest
from bandit_envs.trajectories import StepType, Trajectory

Self = TypeVar("Self", bound="TFPolicyModel")

PREDICTED = ("predicted_rewards_optimistic", "predicted_rewards_mean")
"""Fields of the info of TF-Agents' policies, with a number for each action."""


class TFPolicyModel:
    """Chooses by a `TFPolicy`. It does not change: what was learned is an argument of each method.

    Args:
        policy: chooses the actions.
        agent: keeps the variables; by default, the policy.
        train: trains the agent once, on anything; None if it does not learn.
        draws: where training draws from; its state is the first of what is known.
    """

    def __init__(
        self,
        policy: tf_policy.TFPolicy,
        agent: tf.Module | None = None,
        train: Callable[[], object] | None = None,
        draws: TrackableDraws | None = None,
    ) -> None:
        self._policy = policy
        self.action_kind = _kind_of(policy)  #: what an action is
        self.reward_spec: Nest = policy.time_step_spec.reward  #: what it learns from
        others = () if draws is None else (draws.state,)
        self._variables = AgentVariables(policy if agent is None else agent, train, others)
        self._table = find_table(policy)
        self._choose = None
        self._scores: CompiledFunction | None = None  # before they are first asked for
        _check_masks(policy, draws=self._table is None)
        if self._table is None:
            self._choose = SeededChooser(policy)
        self.knows_probabilities = self._table is not None  #: of actions
        # Predictions are noise where a policy explores. A SavedModel does not say whether it does.
        self._may_predict_noise = isinstance(policy, SavedModelPolicy) and self._table is None
        #: whether it tells more than probabilities
        self.emits_info = emits_info(policy) and not self._may_predict_noise
        self._infos: ChoiceInfos | None = None  # before they are first asked for

    def __deepcopy__(self: Self, memo: dict[int, object]) -> Self:
        return self

    def initial(self, key: int) -> Values:
        """Returns what is known before the first training, whose draws come from a key."""
        return tuple(value.copy() for value in self._variables.initial)

    def probabilities(self, learned: Values, observation: Nest) -> Floats:
        """Returns the probabilities of all actions, given the observation [n, ...]: [n, K]."""
        if self._table is None:
            raise NotImplementedError(f"{type(self._policy).__name__} knows no probabilities")
        with self._variables.set_to(learned):
            return self._table(observation)

    def scores(self, learned: Values, observation: Nest) -> Floats:
        """Returns the rewards that the policy's info predicts for all actions: [n, K].

        Upper bounds come first, then means: what `emit_policy_info` of the agent asks for.
        """
        if self._may_predict_noise:
            problem = "a SavedModel that draws may predict at random where it explores"
            raise NotImplementedError(f"{problem}; expected its agent, or one that draws nothing")
        if self._scores is None:
            found = [name for name in PREDICTED if getattr(self._policy.info_spec, name, ()) != ()]
            if not found:
                asked = f'emit_policy_info=("{PREDICTED[-1]}",) of its agent'
                name = type(self._policy).__name__
                raise NotImplementedError(f"{name} has no scores; give {asked}")
            predicted = functools.partial(self._predicted, found[0])
            self._scores = CompiledFunction(predicted, self._policy)
        with self._variables.set_to(learned):
            return np.asarray(self._scores(observation).numpy(), np.float64)

    def _predicted(self, name: str, time_step: ts.TimeStep) -> tf.Tensor:
        """Returns a field of what the policy tells of all actions."""
        return getattr(step_without_exploration(self._policy, time_step).info, name)

    def act(self, rng: Rng, learned: Values, observation: Nest) -> tuple[Array, Nest]:
        """Returns the actions that the policy draws by itself, and its info.

        Args:
            rng: from which it draws.
            learned: the values of its variables.
            observation: [n, ...].
        """
        assert self._choose is not None  # else its probabilities are known
        with self._variables.set_to(learned):
            action, info = self._choose(rng, observation)
        return action, tf.nest.map_structure(np.asarray, info)

    def info_of(
        self, rng: Rng, learned: Values, observation: Nest, action: Array, table: Floats
    ) -> Nest:
        """Returns the info of actions [n], given the probabilities of all of them, [n, K]."""
        if self._infos is None:
            self._infos = ChoiceInfos(self._policy)
        with self._variables.set_to(learned):
            return self._infos(rng, observation, action, table)


class AgentModel(TFPolicyModel):
    """Chooses and learns by a `TFAgent` of bandits.

    Args:
        agent: chooses by its `collect_policy`.

    Raises:
        ValueError: the agent learns from more than a trajectory of this package tells.
    """

    def __init__(self, agent: tf_agent.TFAgent) -> None:
        self._agent = agent
        self._info_spec = agent.collect_policy.info_spec
        self._is_ranking = isinstance(agent, ranking_agent.RankingAgent)
        self._draws = TrackableDraws(seed=0)
        if agent.train_sequence_length not in {None, 1}:
            found = f"agent has train_sequence_length {agent.train_sequence_length}"
            raise ValueError(f"{found}; expected an agent of bandits, which learns from one step")
        self._check_infos()
        self._responsible_agents = None
        self._told_spec: Nest = ()
        if isinstance(agent, mixture_agent.MixtureAgent):
            self._responsible_agents = ResponsibleAgents(agent.collect_policy, self._draws)
            self._told_spec = self._info_spec
        elif getattr(self._info_spec, "log_probability", ()) != ():
            self._told_spec = tf.TensorSpec([], tf.float32)

        super().__init__(agent.collect_policy, agent, self._train_on_nothing, self._draws)
        self._training: CompiledFunction | None = None  # before it is first used

    def initial(self, key: int) -> Values:
        """Returns what is known before the first training, whose draws come from a key."""
        _, *others = super().initial(key)
        return (first_state(key), *others)

    def train(self, learned: Values, trajectory: Trajectory) -> Values:
        """Returns what is known after a trajectory of n rows."""
        spec = self._policy.action_spec
        action = tf.convert_to_tensor(trajectory.action, spec.dtype)
        reward = tf.nest.map_structure(_to_tensor, self.reward_spec, trajectory.reward)
        if self._training is None:
            self._training = self._compile_training()
        with self._variables.set_to(learned):
            told = self._told(learned, trajectory)  # may draw from what training draws from
            values = self._training(trajectory.observation, action, reward, told)
            return self._variables.note(values)

    def _compile_training(self) -> CompiledFunction:
        """Returns what trains the agent, and returns the values of its variables."""

        def train(
            time_step: ts.TimeStep, action: tf.Tensor, reward: Nest, told: Nest
        ) -> list[tf.Tensor]:
            self._agent.train(self._experience(time_step.observation, action, reward, told))
            return self._variables.tensors()

        specs = (self._policy.action_spec, self.reward_spec, self._told_spec)
        redirected = self._draws.redirect(train)
        return CompiledFunction(redirected, self._policy, *map(batched, specs))

    def _train_on_nothing(self) -> None:
        """Trains the agent on two rows in which everything is 0, as if it had never been trained.

        Some agents train a network, and make variables for it, in their first steps only; the
        counter of steps may be that of TensorFlow, which other agents count up.
        """

        def zeros(spec: tf.TensorSpec) -> tf.Tensor:
            return tf.zeros([2, *spec.shape], spec.dtype)

        steps = self._agent.time_step_spec
        specs = (steps.observation, self._agent.action_spec, steps.reward, self._told_spec)
        self._agent.train_step_counter.assign(0)
        self._agent.train(self._experience(*tf.nest.map_structure(zeros, specs)))

    def _check_infos(self) -> None:
        """Raises ValueError if the agent learns from what only TF-Agents' own drivers tell."""
        agent = self._agent
        spec = self._info_spec
        if isinstance(agent, mixture_agent.MixtureAgent):
            spec = spec[mixture_policy.SUBPOLICY_INFO]
            if not kind_of_tf_agents_actions(agent.action_spec).is_single:
                found = f"agent is a {type(agent).__name__} of agents that choose slates"
                raise ValueError(f"{found}; expected a mixture of agents that choose one action")
        if spec and not hasattr(spec, "log_probability"):
            found = f"agent is a {type(agent).__name__}, which learns from {spec}"
            raise ValueError(f"{found}; expected one that learns from actions and rewards")

    def _told(self, learned: Values, trajectory: Trajectory) -> Nest:
        """Returns what the agent learns of its choices, beside the actions: [n, ...]."""
        if self._responsible_agents is not None:
            told = self._responsible_agents(trajectory.observation, trajectory.action)
            return tf.nest.map_structure(_to_tensor, self._told_spec, told)
        if self._told_spec == ():
            return ()
        told = getattr(trajectory.policy_info, "log_probability", ())
        if not len(told):
            table = self.probabilities(learned, trajectory.observation)
            told = np.log(table[np.arange(len(table)), trajectory.action])
        return tf.cast(told, tf.float32)

    def _experience(
        self, observation: Nest, action: tf.Tensor, reward: Nest, told: Nest
    ) -> tf_trajectory.Trajectory:
        """Returns what the agent trains on, tensors [n, 1, ...], given tensors [n, ...]."""
        size = batch_shape(action)
        experience = tf_trajectory.Trajectory(
            step_type=tf.fill(size, StepType.FIRST),
            observation=observation,
            action=action,
            policy_info=self._info(observation, action, told),
            next_step_type=tf.fill(size, StepType.LAST),
            reward=reward,
            discount=tf.zeros(size),
        )
        if self._is_ranking:
            experience = _with_shown_items(experience)
        return tf.nest.map_structure(lambda leaf: leaf[:, tf.newaxis], experience)

    def _info(self, observation: Nest, action: tf.Tensor, told: Nest) -> Nest:
        """Returns what the agent learns of its choice: zeros for what none learns from."""
        if not self._info_spec:
            return self._info_spec
        if self._responsible_agents is not None:
            parts = told[mixture_policy.SUBPOLICY_INFO]
            return {**told, mixture_policy.SUBPOLICY_INFO: _of_items(parts, observation, action)}
        size = batch_shape(action)
        info = tf.nest.map_structure(
            lambda spec: tf.zeros(tf.concat([size, spec.shape], axis=0), spec.dtype),
            self._info_spec,
        )
        if self._told_spec != ():
            info = info._replace(log_probability=told)
        return _of_items(info, observation, action)


class PyPolicyModel:
    """Chooses by a `PyPolicy`, which keeps what it has and draws as it likes.

    Args:
        policy: chooses the actions.
    """

    knows_probabilities = False

    def __init__(self, policy: py_policy.PyPolicy) -> None:
        self._policy = policy
        self.emits_info = emits_info(policy)
        self.action_kind = _kind_of(policy)
        self.reward_spec: Nest = policy.time_step_spec.reward
        self._observation_spec: Nest = policy.time_step_spec.observation

    def initial(self, key: int) -> Values:
        """Returns nothing: what the policy knows is its own."""
        return ()

    def act(self, rng: Rng, learned: Values, observation: Nest) -> tuple[Array, Nest]:
        """Returns the actions that the policy chooses, and the info, given the observation."""
        size = len(tf.nest.flatten(observation)[0])
        taken = as_policy_takes_it(self._observation_spec, observation)
        time_step = ts.restart(taken, batch_size=size, reward_spec=self.reward_spec)
        state = self._policy.get_initial_state(size)
        step = self._policy.action(time_step, state)
        return np.asarray(step.action), tf.nest.map_structure(np.asarray, step.info)


def _kind_of(policy: tf_policy.TFPolicy | py_policy.PyPolicy) -> ActionKind:
    """Returns what an action of a policy is: one integer from 0 on, or several of them.

    Raises:
        ValueError: the policy is recurrent, or its actions are something else.
    """
    name = type(policy).__name__
    if tf.nest.flatten(policy.policy_state_spec):
        found = f"{name} is recurrent: its policy state is {short_repr(policy.policy_state_spec)}"
        raise ValueError(f"{found}; expected a policy without a state")
    kind = kind_of_tf_agents_actions(policy.action_spec)
    if not kind.num_actions or len(kind.spec.shape) > 1:
        expected = "integers from 0 on, or slates of them"
        found = f"{name} has the action_spec {short_repr(policy.action_spec)}"
        raise ValueError(f"{found}; expected {expected}{kind.remedy}")
    return kind


def _check_masks(policy: tf_policy.TFPolicy, draws: bool) -> None:
    """Raises ValueError if a policy does not see which actions it may choose.

    A SavedModel does not say whether it does.

    Args:
        policy: the policy.
        draws: whether it draws its actions by itself.
    """
    if isinstance(policy, mixture_policy.MixturePolicy):
        for part in policy._policies:
            _check_masks(part, draws)
        return
    spec = policy.time_step_spec.observation
    if isinstance(policy, SavedModelPolicy) or not (isinstance(spec, dict) and "mask" in spec):
        return
    name = type(policy).__name__
    if "per_arm" in spec:
        found = f"{name} reads no mask of items, and its observation has one"
        raise ValueError(f"{found}; expected num_actions in its place, as TF-Agents has it")
    if draws and policy.observation_and_action_constraint_splitter is None:
        found = f"{name} draws by itself, and its observation has a mask"
        raise ValueError(f"{found}; expected an observation_and_action_constraint_splitter")


def _of_items(info: Nest, observation: Nest, action: tf.Tensor) -> Nest:
    """Returns an info with the features of the items that were chosen, if it has such."""
    if not tf.nest.flatten(getattr(info, "chosen_arm_features", ())):
        return info
    return info._replace(chosen_arm_features=chosen_items(observation, action))


def _to_tensor(spec: tf.TensorSpec, leaf: Array) -> tf.Tensor:
    return tf.convert_to_tensor(leaf, spec.dtype)


def _with_shown_items(experience: tf_trajectory.Trajectory) -> tf_trajectory.Trajectory:
    """Returns the experience as a `RankingAgent` takes it: with the items shown, in order."""
    items = chosen_items(experience.observation, experience.action)
    observation = {**experience.observation, "per_arm": items}
    return experience._replace(observation=observation, action=(), policy_info=())
