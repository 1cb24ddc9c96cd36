"""Policies that TF-Agents' `PolicySaver` has saved."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import os

import tensorflow as tf
from tf_agents.policies import policy_saver, tf_policy
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as ts

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
        if not isinstance(found, policy_step.PolicyStep):
            raise NotImplementedError("the policy was saved without its distribution")
        return found


def load_policy(folder: str | os.PathLike[str]) -> SavedModelPolicy:
    """Returns the policy that a `PolicySaver` has saved in a folder."""
    path = os.fspath(folder)
    saved = tensor_spec.from_pbtxt_file(os.path.join(path, policy_saver.POLICY_SPECS_PBTXT))
    specs = policy_saver.specs_from_collect_data_spec(saved)
    names = ("time_step_spec", "action_spec", "policy_state_spec", "info_spec")
    tensors = {name: tensor_spec.from_spec(specs[name]) for name in names}
    return SavedModelPolicy(tf.saved_model.load(path), tensors)
