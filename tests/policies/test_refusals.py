"""Arguments that policies refuse, by name."""

import numpy as np
import pytest

from bandit_envs import policies
from bandit_envs.specs import ArraySpec
from tests.cases import for_each

ITEMS = {
    "observation_spec": {
        "global": ArraySpec((2,), np.float32),
        "per_arm": ArraySpec((3, 4), np.float32),
    }
}
GOOD = {
    policies.RandomPolicy: {"num_actions": 3},
    policies.EpsilonGreedyPolicy: {"num_actions": 3, "epsilon": 0.1},
    policies.DecayingEpsilonGreedyPolicy: {"num_actions": 3, "c": 1.0, "d": 0.5},
    policies.GradientBanditPolicy: {"num_actions": 3, "step_size": 0.1},
    policies.BoltzmannPolicy: {"num_actions": 3, "temperature": 1.0},
    policies.UCBPolicy: {"num_actions": 3, "c": 1.0},
    policies.KLUCBPolicy: {"num_actions": 3},
    policies.MOSSPolicy: {"num_actions": 3},
    policies.DiscountedUCBPolicy: {"num_actions": 3, "gamma": 0.9},
    policies.SlidingWindowUCBPolicy: {"num_actions": 3, "window": 5},
    policies.ExploreThenCommitPolicy: {"num_actions": 3, "m": 2},
    policies.SuccessiveEliminationPolicy: {"num_actions": 3, "delta": 0.1},
    policies.Exp3Policy: {"num_actions": 3, "gamma": 0.1},
    policies.Exp3SPolicy: {"num_actions": 3, "gamma": 0.1, "alpha": 0.1},
    policies.GaussianThompsonSamplingPolicy: {"num_actions": 3},
    policies.BetaThompsonSamplingPolicy: {"num_actions": 3},
    policies.DiscountedThompsonSamplingPolicy: {"num_actions": 3, "gamma": 0.9},
    policies.LinUCBPolicy: ITEMS,
    policies.LinearThompsonSamplingPolicy: ITEMS,
    policies.RandomSlatePolicy: {"num_actions": 3, "num_slots": 2},
    policies.CascadeUCBPolicy: {"num_actions": 3, "num_slots": 2},
    policies.PBMUCBPolicy: {"num_actions": 3, "num_slots": 2, "observation_probs": [1.0, 0.5]},
}
"""Arguments of policies with which nothing is wrong."""

REFUSED = [
    (policies.RandomPolicy, "num_actions", 0, ValueError),
    (policies.RandomPolicy, "num_actions", 2.0, TypeError),
    (policies.RandomPolicy, "num_actions", 2**70, ValueError),
    (policies.RandomPolicy, "batch_size", -1, ValueError),
    (policies.RandomPolicy, "seed", 1.5, TypeError),
    (policies.RandomPolicy, "seed", -1, ValueError),
    (policies.EpsilonGreedyPolicy, "epsilon", -0.1, ValueError),
    (policies.EpsilonGreedyPolicy, "epsilon", 1.1, ValueError),
    (policies.EpsilonGreedyPolicy, "epsilon", float("nan"), ValueError),
    (policies.EpsilonGreedyPolicy, "epsilon", "0.1", TypeError),
    (policies.EpsilonGreedyPolicy, "epsilon", True, TypeError),
    (policies.EpsilonGreedyPolicy, "step_size", 0.0, ValueError),
    (policies.EpsilonGreedyPolicy, "step_size", 1.5, ValueError),
    (policies.EpsilonGreedyPolicy, "initial_value", 1e308, ValueError),
    (policies.EpsilonGreedyPolicy, "initial_value", None, TypeError),
    (policies.DecayingEpsilonGreedyPolicy, "c", 0.0, ValueError),
    (policies.DecayingEpsilonGreedyPolicy, "d", 1.1, ValueError),
    (policies.GradientBanditPolicy, "step_size", 0.0, ValueError),
    (policies.GradientBanditPolicy, "step_size", 1e308, ValueError),
    (policies.GradientBanditPolicy, "step_size", "x", TypeError),
    (policies.GradientBanditPolicy, "baseline", 1, TypeError),
    (policies.BoltzmannPolicy, "temperature", 0.0, ValueError),
    (policies.UCBPolicy, "c", 0.0, ValueError),
    (policies.UCBPolicy, "c", -2.0, ValueError),
    (policies.UCBPolicy, "c", float("inf"), ValueError),
    (policies.UCBPolicy, "c", 1e308, ValueError),
    (policies.UCBPolicy, "c", "2", TypeError),
    (policies.KLUCBPolicy, "c", -1.0, ValueError),
    (policies.MOSSPolicy, "horizon", 0, ValueError),
    (policies.MOSSPolicy, "horizon", 1.5, TypeError),
    (policies.DiscountedUCBPolicy, "gamma", 0.0, ValueError),
    (policies.DiscountedUCBPolicy, "xi", 0.0, ValueError),
    (policies.SlidingWindowUCBPolicy, "window", 0, ValueError),
    (policies.ExploreThenCommitPolicy, "m", 0, ValueError),
    (policies.SuccessiveEliminationPolicy, "delta", 1.5, ValueError),
    (policies.Exp3Policy, "gamma", 1.5, ValueError),
    (policies.Exp3SPolicy, "alpha", "0", TypeError),
    (policies.GaussianThompsonSamplingPolicy, "prior_std", 0.0, ValueError),
    (policies.GaussianThompsonSamplingPolicy, "prior_std", 1e200, ValueError),
    (policies.GaussianThompsonSamplingPolicy, "reward_std", -1.0, ValueError),
    (policies.GaussianThompsonSamplingPolicy, "reward_std", 1e-200, ValueError),
    (policies.GaussianThompsonSamplingPolicy, "reward_std", None, TypeError),
    (policies.GaussianThompsonSamplingPolicy, "prior_mean", float("nan"), ValueError),
    (policies.BetaThompsonSamplingPolicy, "prior_successes", 0.0, ValueError),
    (policies.BetaThompsonSamplingPolicy, "prior_failures", "1", TypeError),
    (policies.DiscountedThompsonSamplingPolicy, "gamma", 1.5, ValueError),
    (policies.LinUCBPolicy, "alpha", -1.0, ValueError),
    (policies.LinUCBPolicy, "alpha", 1e308, ValueError),
    (policies.LinUCBPolicy, "gamma", 1.5, ValueError),
    (policies.LinUCBPolicy, "gamma", -0.1, ValueError),
    (policies.LinUCBPolicy, "gamma", "1", TypeError),
    (policies.LinUCBPolicy, "tikhonov_weight", 0, ValueError),
    (policies.LinUCBPolicy, "tikhonov_weight", 5e-324, ValueError),
    (policies.LinUCBPolicy, "tikhonov_weight", np.inf, ValueError),
    (policies.LinUCBPolicy, "tikhonov_weight", None, TypeError),
    (policies.LinearThompsonSamplingPolicy, "alpha", -1.0, ValueError),
    (policies.RandomSlatePolicy, "num_slots", 4, ValueError),
    (policies.RandomSlatePolicy, "num_slots", 0, ValueError),
    (policies.CascadeUCBPolicy, "c", -1.0, ValueError),
    (policies.PBMUCBPolicy, "observation_probs", [1.0], ValueError),
    (policies.PBMUCBPolicy, "observation_probs", [1.0, 0.0], ValueError),
]
"""A policy, the name of an argument, what is wrong for it, and the error."""


@for_each(("policy_class", "name", "wrong", "error"), REFUSED)
def test_wrong_arguments_are_refused_by_name(policy_class, name, wrong, error):
    policy_class(**GOOD[policy_class])
    with pytest.raises(error, match=f"{name} is "):
        policy_class(**{**GOOD[policy_class], name: wrong})


def test_a_prior_of_0_successes_is_refused():
    pytest.importorskip("scipy")
    policies.BayesUCBPolicy(num_actions=3)
    with pytest.raises(ValueError, match="prior_successes is "):
        policies.BayesUCBPolicy(num_actions=3, prior_successes=0.0)
