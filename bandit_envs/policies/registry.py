"""The registry of policies: from here the command, studies and docs know them.

A policy is one file, one entry here and one test of its rule. A user's own class needs no entry:
`module:Class` stands wherever an id does.
"""

from __future__ import annotations

import dataclasses

from bandit_envs import policies
from bandit_envs.base.registry import Entry


@dataclasses.dataclass(frozen=True)
class PolicyEntry(Entry):
    """A policy."""

    what, kind = "policy", policies.Policy

    @property
    def supplied(self) -> frozenset[str]:
        return frozenset({"num_actions", "num_slots", "batch_size", "observation_spec", "seed"})


POLICIES = {
    entry.id: entry
    for entry in (
        PolicyEntry("random", "random", policies.RandomPolicy),
        PolicyEntry("greedy", "greedy", policies.EpsilonGreedyPolicy, {"epsilon": 0.0}),
        PolicyEntry("epsilon_greedy", "ε-greedy", policies.EpsilonGreedyPolicy),
        PolicyEntry("ucb", "UCB", policies.UCBPolicy),
        PolicyEntry("gradient", "gradient bandit", policies.GradientBanditPolicy),
        PolicyEntry("thompson", "Thompson sampling", policies.GaussianThompsonSamplingPolicy),
        PolicyEntry("beta_greedy", "Beta greedy", policies.BetaGreedyPolicy),
        PolicyEntry("beta_thompson", "Beta Thompson sampling", policies.BetaThompsonSamplingPolicy),
        PolicyEntry("kl_ucb", "KL-UCB", policies.KLUCBPolicy),
        PolicyEntry("ucb1_tuned", "UCB1-tuned", policies.UCB1TunedPolicy),
        PolicyEntry("moss", "MOSS", policies.MOSSPolicy),
        PolicyEntry("explore_then_commit", "explore-then-commit", policies.ExploreThenCommitPolicy),
        PolicyEntry(
            "decaying_epsilon_greedy", "decaying ε-greedy", policies.DecayingEpsilonGreedyPolicy
        ),
        PolicyEntry("discounted_ucb", "discounted UCB", policies.DiscountedUCBPolicy),
        PolicyEntry("sliding_window_ucb", "sliding-window UCB", policies.SlidingWindowUCBPolicy),
        PolicyEntry("exp3", "Exp3", policies.Exp3Policy),
        PolicyEntry("exp3_s", "Exp3.S", policies.Exp3SPolicy),
        PolicyEntry("tsallis_inf", "Tsallis-INF", policies.TsallisINFPolicy),
        PolicyEntry(
            "tsallis_inf_rv",
            "Tsallis-INF, reduced variance",
            policies.ReducedVarianceTsallisINFPolicy,
        ),
        PolicyEntry("bayes_ucb", "Bayes-UCB", policies.BayesUCBPolicy),
        PolicyEntry("imed", "IMED", policies.IMEDPolicy),
        PolicyEntry(
            "discounted_thompson",
            "discounted Thompson sampling",
            policies.DiscountedThompsonSamplingPolicy,
        ),
        PolicyEntry("boltzmann", "Boltzmann", policies.BoltzmannPolicy),
        PolicyEntry(
            "successive_elimination", "successive elimination", policies.SuccessiveEliminationPolicy
        ),
        PolicyEntry("lin_ucb", "LinUCB", policies.LinUCBPolicy),
        PolicyEntry(
            "linear_thompson", "linear Thompson sampling", policies.LinearThompsonSamplingPolicy
        ),
        PolicyEntry("linear_epsilon_greedy", "linear ε-greedy", policies.LinearEpsilonGreedyPolicy),
        PolicyEntry("disjoint_lin_ucb", "disjoint LinUCB", policies.DisjointLinUCBPolicy),
        PolicyEntry(
            "disjoint_linear_thompson",
            "disjoint linear Thompson sampling",
            policies.DisjointLinearThompsonSamplingPolicy,
        ),
        PolicyEntry(
            "disjoint_linear_epsilon_greedy",
            "disjoint linear ε-greedy",
            policies.DisjointLinearEpsilonGreedyPolicy,
        ),
        PolicyEntry(
            "logistic_thompson",
            "logistic Thompson sampling",
            policies.LogisticThompsonSamplingPolicy,
        ),
        PolicyEntry("random_slate", "random slates", policies.RandomSlatePolicy),
        PolicyEntry("cascade_ucb", "CascadeUCB", policies.CascadeUCBPolicy),
        PolicyEntry("pbm_ucb", "PBM-UCB", policies.PBMUCBPolicy),
        PolicyEntry("top_k_lin_ucb", "top-k LinUCB", policies.TopKLinUCBPolicy),
    )
}
"""All policies of the package, by id."""
