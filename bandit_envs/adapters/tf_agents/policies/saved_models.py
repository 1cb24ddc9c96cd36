"""Policies that TF-Agents' `PolicySaver` saves, and has saved."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import os

import tensorflow as tf
import tensorflow_probability as tfp
from tf_agents.policies import policy_saver, tf_policy
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as ts

from bandit_envs.adapters.tf_agents.policies.probability_tables import TableFunction, find_table
from bandit_envs.base.checks import short_repr
from bandit_envs.nests import Nest


class SavedModelPolicy(tf_policy.TFPolicy):
    """A policy that a `PolicySaver` has saved, as a `TFPolicy`.

    Args:
        model: the SavedModel.
        specs: of time steps, actions, policy states and infos, by the names of the arguments of
            `TFPolicy`.
    """

    def __init__(self, model: tf.Module, specs: dict[str, Nest]) -> None:
        super().__init__(**specs)
        self._model = model

    def _action(
        self, time_step: ts.TimeStep, policy_state: Nest, seed: int | None
    ) -> policy_step.PolicyStep:
        return self._model.action(time_step, policy_state)

    def _distribution(self, time_step: ts.TimeStep, policy_state: Nest) -> policy_step.PolicyStep:
        found = self._model.distribution(time_step, policy_state)
        fields = policy_step.PolicyStep._fields
        if getattr(found, "_fields", None) != fields:  # a SavedModel has a class of its own
            raise NotImplementedError("the policy was saved without its distribution")
        return policy_step.PolicyStep(*found)


class PolicyWithDistribution(tf_policy.TFPolicy):
    """A policy that draws its actions from a table of their probabilities; see `with_distribution`.

    Args:
        policy: the policy whose probabilities they are.
        table: its probabilities.
    """

    def __init__(self, policy: tf_policy.TFPolicy, table: TableFunction) -> None:
        super().__init__(policy.time_step_spec, policy.action_spec)
        self._described = policy
        self._table = table

    def _variables(self) -> list[tf.Variable]:
        return list(self._described.variables())

    def _distribution(self, time_step: ts.TimeStep, policy_state: Nest) -> policy_step.PolicyStep:
        table = self._table.tensor(time_step)
        chosen = tfp.distributions.Categorical(probs=table, dtype=self.action_spec.dtype)
        return policy_step.PolicyStep(chosen, policy_state)


def with_distribution(policy: tf_policy.TFPolicy) -> PolicyWithDistribution:
    """Returns a policy of TF-Agents whose probabilities a `PolicySaver` saves.

    TF-Agents saves the actions of ε-greedy policies and of mixtures, which have no distribution. So
    what is loaded draws as it likes and does not know its probabilities.

        PolicySaver(with_distribution(agent.collect_policy)).save(folder)

    Args:
        policy: a `TFPolicy` whose probabilities are known.

    Raises:
        TypeError: it is something else, such as an agent.
        ValueError: it draws by itself, as Thompson sampling does, or shows slates.
    """
    if not isinstance(policy, tf_policy.TFPolicy):
        expected = "expected a TFPolicy, such as agent.collect_policy"
        raise TypeError(f"policy is {short_repr(policy)}; {expected}")
    table = find_table(policy)
    if table is None:
        found = f"policy {type(policy).__name__} draws by itself, or shows slates"
        raise ValueError(f"{found}; expected one whose probabilities are known")
    return PolicyWithDistribution(policy, table)


def load_policy(folder: str | os.PathLike[str]) -> SavedModelPolicy:
    """Returns the policy that a `PolicySaver` has saved in a folder."""
    path = os.fspath(folder)
    specs_file = os.path.join(path, policy_saver.POLICY_SPECS_PBTXT)
    if not tf.io.gfile.exists(specs_file):
        found = f"{short_repr(path)} has no {policy_saver.POLICY_SPECS_PBTXT}"
        raise FileNotFoundError(f"{found}; expected the folder of a PolicySaver")
    saved = tensor_spec.from_pbtxt_file(specs_file)
    specs = policy_saver.specs_from_collect_data_spec(saved)
    names = ("time_step_spec", "action_spec", "policy_state_spec", "info_spec")
    tensors = {name: tensor_spec.from_spec(specs[name]) for name in names}
    return SavedModelPolicy(tf.saved_model.load(path), tensors)
