"""Policies that have learned from a log before they meet an environment.

Experimental: these names may change in any minor version.
"""

from __future__ import annotations

from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.logged.files import scan_log
from bandit_envs.logged.learners.log_learning import learn_from_log
from bandit_envs.logged.learners.policy_files import SUFFIX, read_policy
from bandit_envs.names.notation import parse_choice
from bandit_envs.policies import Policy
from bandit_envs.policies.registry import POLICIES, PolicyEntry
from bandit_envs.seeding import Seed


def warm_start(
    policy: str, log: str | None = None, *, env: PyEnvironment, seed: Seed = None
) -> Policy:
    """Learns from a log first, and then goes on in the environment.

    Experimental: it may change in any minor version.

        pi_1 = learn(pi_0, (x_i, a_i, r_i) of the log),    pi_(t + 1) = learn(pi_t, (x_t, a_t, r_t))

    It learns as `learn_from_log` does. Where rows are problems of their own, each learns the whole
    log. The log must be of the problem that the environment is, whatever its seed.
    `reset` forgets the log, too.

    Args:
        policy: with its parameters, such as "lin_ucb:alpha=0.5", or "module:Class"; or a file that
            `write_policy` wrote, which ends in .npz.
        log: a file or a folder that `write_log` or a `LogRecorder` wrote; None if the policy is a
            file, and has learned enough.
        env: the environment, whose actions and observations are those of the log.
        seed: of the policy's draws.

    Raises:
        ValueError: the policy does not learn, or is not for this log or environment.

    Source: Zhang, Agarwal, Daume, Langford & Negahban, Warm-starting contextual bandits: robustly
    combining supervised and bandit feedback (2019), the simplest of its ways: a logged row counts
    as one online does.
    """
    if policy.endswith(SUFFIX):
        saved = read_policy(policy)
        cold = saved.make(env.observation_spec(), env.batch_size or 1, seed)
    else:
        name, parameters = parse_choice("policy", policy, POLICIES)
        entry = PolicyEntry.find(name, POLICIES)
        cold = entry.make_for(env, entry.check(parameters), seed)
    if log is None:
        if policy.endswith(SUFFIX):
            return cold
        raise ValueError(f"log is None; expected a log from which {policy} learns")
    if not cold.can_learn:
        raise ValueError(f"policy is {policy}, which does not learn; expected one that does")
    if not cold.learns_by_row:
        return learn_from_log(cold, scan_log(log))
    return learn_from_log(cold.replicate(1), scan_log(log)).replicate(cold.batch_size)
