"""Policies with parameters, as users write them: `ucb:c=2`."""

from __future__ import annotations

import numpy as np

from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.names.choice import Choice
from bandit_envs.policies.policy import Policy
from bandit_envs.policies.registry import POLICIES, PolicyEntry


class PolicyChoice(Choice[PolicyEntry]):
    """A policy."""

    entry_class = PolicyEntry
    table = POLICIES

    def make(self, env: PyEnvironment, seed: int | np.random.SeedSequence) -> Policy:
        """Returns a new policy that fits `env`."""
        generator = np.random.default_rng(seed)
        policy: Policy = self.entry.make_for(env, self.parameters, generator)
        return policy
