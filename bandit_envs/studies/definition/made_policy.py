"""The policy that a study makes for an environment."""

from __future__ import annotations

import copy

import numpy as np

from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.environments.environment_choice import EnvironmentChoice
from bandit_envs.policies import Policy, RowByRowPolicy
from bandit_envs.policies.policy_choice import PolicyChoice
from bandit_envs.policies.row_by_row import pools_problems


def make_policy(
    environment: EnvironmentChoice,
    policy: PolicyChoice,
    env: PyEnvironment,
    env_seed: np.random.SeedSequence,
    seed: np.random.SeedSequence,
) -> Policy:
    """Returns a policy that fits `env`: one for each row where it must not learn from all.

    Args:
        environment: what `env` was made of.
        policy: what to make.
        env: the environment that the policy will act in.
        env_seed: of `env`.
        seed: of the policy.
    """
    made = policy.make(env, seed)
    if not (environment.entry.independent_rows and pools_problems(env, made)):
        return made
    alone = environment.make(1, copy.deepcopy(env_seed))
    policies = [policy.make(alone, each) for each in copy.deepcopy(seed).spawn(made.batch_size)]
    return RowByRowPolicy(policies, np.random.default_rng(seed))
