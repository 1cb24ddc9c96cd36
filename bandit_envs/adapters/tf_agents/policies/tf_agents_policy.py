"""Agents and policies of TF-Agents as policies of this package."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf
from tf_agents.agents import tf_agent
from tf_agents.environments import py_environment, tf_environment
from tf_agents.policies import py_policy, tf_policy
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step as ts

from bandit_envs.adapters.tf_agents.baselines import AnyEnvironment
from bandit_envs.adapters.tf_agents.environment import (
    observation_spec_for_tf_agents,
    to_tf_agents_spec,
)
from bandit_envs.adapters.tf_agents.policies.models import AgentModel, PyPolicyModel, TFPolicyModel
from bandit_envs.adapters.tf_agents.policies.saved_models import load_policy
from bandit_envs.adapters.tf_agents.policies.variables import Values
from bandit_envs.adapters.tf_agents.trackable_draws import KEYS
from bandit_envs.arrays import Array, Floats, Mask, Rng
from bandit_envs.base.checks import check_rewards, short_repr
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.nests import Nest, map_structure
from bandit_envs.policies import Policy
from bandit_envs.policies.draws import draw_indices
from bandit_envs.policies.policy import PolicyStep
from bandit_envs.seeding import Seed, generator
from bandit_envs.trajectories import TimeStep, Trajectory
from bandit_envs.wrappers.delays import without_feedback

AgentOrPolicy: TypeAlias = (
    "tf_agent.TFAgent | tf_policy.TFPolicy | py_policy.PyPolicy | str | os.PathLike[str]"
)
"""What `as_policy` takes."""


class TFAgentsPolicy(Policy):
    """An agent or a policy of TF-Agents; see `as_policy`.

    Args:
        model: chooses actions; it learns, and tells probabilities, if it can.
        batch_size: B.
        seed: as in `Policy`.
    """

    learns_by_row = False

    def __init__(
        self, model: TFPolicyModel | PyPolicyModel, batch_size: int = 1, seed: Seed = None
    ) -> None:
        self._model = model
        self.can_learn = isinstance(model, AgentModel)
        self.knows_probabilities = model.knows_probabilities
        self.emits_info = model.emits_info
        rng = generator(seed)
        self._key = int(rng.integers(KEYS))  # from which training draws
        super().__init__(action_spec=model.action_kind, batch_size=batch_size, seed=rng)

    def policy_step(self, time_step: TimeStep) -> PolicyStep:
        if not self.emits_info:
            return super().policy_step(time_step)
        self._check_batch("time_step", time_step, TimeStep)
        rng, learned, *_ = self._state
        seen = time_step.observation
        if isinstance(self._model, TFPolicyModel) and self.knows_probabilities:
            table = self.probabilities(time_step)
            action = self.action_kind.chosen(draw_indices(rng, table))
            return PolicyStep(action, self._model.info_of(rng, learned, seen, action, table))
        action, info = self._act(rng, learned, seen)
        return PolicyStep(self.action_kind.chosen(action), info)

    def _set_num_actions(self, num_actions: int) -> None:
        raise self._without_more_actions("the agent of TF-Agents is made for these")

    def _constants(self) -> Mapping[str, Any]:
        return {}  # what an agent is made of changes as it learns, and is in the state

    def _initial(self) -> Values:
        return self._model.initial(self._key)

    def _learn(self, learned: Values, trajectory: Trajectory) -> Values:
        if isinstance(self._model, AgentModel):
            return self._model.train(learned, trajectory)
        return learned

    def _select(self, rng: Rng, learned: Values, time_step: TimeStep) -> Nest:
        if self.knows_probabilities:
            return super()._select(rng, learned, time_step)
        return self._act(rng, learned, time_step.observation)[0]

    def _act(self, rng: Rng, learned: Values, observation: Nest) -> tuple[Array, Nest]:
        """Returns what the model chooses and tells, if the actions are available.

        Raises:
            ValueError: an action is not one, or not an available one.
        """
        found, info = self._model.act(rng, learned, observation)
        action = self.action_kind.check(found)
        mask = self._available(observation) if self.action_kind.is_single else None
        if mask is not None:
            _check_available(mask[np.arange(self.batch_size), action], action)
        return action, info

    def _probabilities(self, learned: Values, time_step: TimeStep) -> Floats:
        if not (isinstance(self._model, TFPolicyModel) and self.knows_probabilities):
            return super()._probabilities(learned, time_step)
        table = self._model.probabilities(learned, time_step.observation)
        mask = self._available(time_step.observation)
        if mask is not None:
            _check_available((table * mask).max(axis=1) > 0.0, table.argmax(axis=1))
        return table

    def _scores_of(self, learned: Values, time_step: TimeStep) -> Floats:
        if isinstance(self._model, TFPolicyModel):
            return self._model.scores(learned, time_step.observation)
        return super()._scores_of(learned, time_step)

    def _check_rewards(self, reward: Any) -> Nest:
        if not self.can_learn:
            return reward

        def check(spec: tf.TensorSpec, rewards: Array) -> Array:
            shape = (self.batch_size, *spec.shape)
            found = np.shape(rewards)
            if found != shape:
                raise ValueError(f"reward has shape {found}; expected {shape}")
            flat = np.reshape(rewards, -1)
            return check_rewards(flat, flat.size, *self.reward_range).reshape(shape)

        return map_structure(check, self._model.reward_spec, reward)


def _check_available(is_available: Mask, action: Array) -> None:
    """Raises ValueError for the first row whose action [n] a policy must not choose there."""
    if not is_available.all():
        row = int(is_available.argmin())
        problem = f"the policy chose action {action[row]} in row {row}, where it is not available"
        raise ValueError(f"{problem}; expected one that reads the mask")


def as_policy(agent: AgentOrPolicy, batch_size: int = 1, seed: Seed = None) -> TFAgentsPolicy:
    """Returns an agent or a policy of TF-Agents as a policy of this package.

    Drivers, studies, metrics and estimators of this package take it. An agent acts by its
    `collect_policy` and learns from each step by `train`; a policy does not learn. All rows are
    users of one shared problem. Its state has the values of all variables, of optimizers too, and
    of the generator from which training draws, such as dropout. So a saved run repeats, without
    seeds of TensorFlow. From now on, use `agent` through the result only.

    Actions are drawn from the distribution of the policy, by the generator of the result, if it has
    one; the result tells their probabilities. A policy that draws by itself, such as Thompson
    sampling, gets a seed of this generator for each action. A `PyPolicy`, and a SavedModel of a
    policy that draws, draw as they like: their runs do not repeat.

    What `emit_policy_info` of the agent asks for is in the `policy_info` of trajectories, in the
    `PolicyInfo` of TF-Agents, with the log probability, if that is known. Mixtures tell nothing,
    nor do SavedModels that draw by themselves.

    A mixture of agents trains the agent that has chosen an action. A trajectory does not tell which
    one did: it is drawn, with its probability given the action.

    Args:
        agent: an agent of bandits, a `TFPolicy` or a `PyPolicy`, or the folder in which a
            `PolicySaver` has saved one. Its actions are integers from 0 on, or slates of them, and
            it has no policy state. An agent learns from rewards, observations and actions only.
        batch_size: the number of rows, B.
        seed: whatever `numpy.random.default_rng` takes; None for fresh entropy. It does not affect
            the first weights of a network: call `tf.random.set_seed` before you make the agent.

    >>> from tf_agents.bandits.agents.lin_ucb_agent import LinearUCBAgent
    >>> from bandit_envs import StepDriver
    >>> from bandit_envs.environments import per_arm
    >>> env = per_arm(batch_size=3, seed=0)
    >>> agent = LinearUCBAgent(*tensor_specs(env), accepts_per_arm_features=True)
    >>> policy = as_policy(agent, batch_size=3, seed=1)
    >>> StepDriver(env, policy, [policy], num_steps=2).run().reward.shape
    (3,)
    """
    if isinstance(agent, tf_agent.TFAgent):
        return TFAgentsPolicy(AgentModel(agent), batch_size, seed)
    if isinstance(agent, py_policy.PyPolicy):
        return TFAgentsPolicy(PyPolicyModel(agent), batch_size, seed)
    policy = load_policy(agent) if isinstance(agent, (str, os.PathLike)) else agent
    if not isinstance(policy, tf_policy.TFPolicy):
        expected = "a TFAgent, a TFPolicy, a PyPolicy or the folder of a PolicySaver"
        raise TypeError(f"agent is {short_repr(agent)}; expected {expected}")
    return TFAgentsPolicy(TFPolicyModel(policy), batch_size, seed)


def tensor_specs(env: AnyEnvironment) -> tuple[ts.TimeStep, Nest]:
    """Returns the `time_step_spec` and the `action_spec` that agents for `env` take.

    Those of an environment with `DelayedRewards` are of observations without their `feedback`:
    `as_policy(agent)` learns through `DelayedLearning`.

    Args:
        env: an environment of this package, adapted or not, or in a `TFPyEnvironment`.
    """
    if isinstance(env, (tf_environment.TFEnvironment, py_environment.PyEnvironment)):
        time_step_spec = env.time_step_spec()
        action_spec = env.action_spec()
    elif isinstance(env, PyEnvironment):
        seen = without_feedback(observation_spec_for_tf_agents(env))
        reward_spec = map_structure(to_tf_agents_spec, env.reward_spec())
        discount_spec = map_structure(to_tf_agents_spec, env.discount_spec())
        time_step_spec = ts.time_step_spec(seen, reward_spec)._replace(discount=discount_spec)
        action_spec = map_structure(to_tf_agents_spec, env.action_spec())
    else:
        expected = "expected an environment of bandit_envs, adapted or not"
        raise TypeError(f"env is {short_repr(env)}; {expected}")
    return tensor_spec.from_spec(time_step_spec), tensor_spec.from_spec(action_spec)
