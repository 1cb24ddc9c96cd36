"""The registry of policies: from here the command, studies and docs know them.

A policy is one file, one entry here and one test of its rule. A user's own class needs no entry:
`module:Class` stands wherever an id does.
"""

import dataclasses

from bandit_envs import policies
from bandit_envs.base.registry import Entry


@dataclasses.dataclass(frozen=True)
class PolicyEntry(Entry):
    """A policy."""

    what, kinds = "policy", (policies.Policy,)

    @property
    def supplied(self) -> frozenset[str]:
        return frozenset({"num_actions", "num_slots", "batch_size", "observation_spec", "seed"})


POLICIES = PolicyEntry.table(
    ("random", "random", policies.RandomPolicy),
    ("greedy", "greedy", policies.EpsilonGreedyPolicy, {"epsilon": 0.0}),
    ("epsilon_greedy", "ε-greedy", policies.EpsilonGreedyPolicy),
    ("ucb", "UCB", policies.UCBPolicy),
    ("gradient", "gradient bandit", policies.GradientBanditPolicy),
    ("thompson", "Thompson sampling", policies.GaussianThompsonSamplingPolicy),
    ("beta_greedy", "Beta greedy", policies.BetaGreedyPolicy),
    ("beta_thompson", "Beta Thompson sampling", policies.BetaThompsonSamplingPolicy),
    ("kl_ucb", "KL-UCB", policies.KLUCBPolicy),
    ("ucb1_tuned", "UCB1-tuned", policies.UCB1TunedPolicy),
    ("moss", "MOSS", policies.MOSSPolicy),
    ("explore_then_commit", "explore-then-commit", policies.ExploreThenCommitPolicy),
    ("decaying_epsilon_greedy", "decaying ε-greedy", policies.DecayingEpsilonGreedyPolicy),
    ("discounted_ucb", "discounted UCB", policies.DiscountedUCBPolicy),
    ("sliding_window_ucb", "sliding-window UCB", policies.SlidingWindowUCBPolicy),
    ("exp3", "Exp3", policies.Exp3Policy),
    ("exp3_s", "Exp3.S", policies.Exp3SPolicy),
    ("tsallis_inf", "Tsallis-INF", policies.TsallisINFPolicy),
    ("tsallis_inf_rv", "Tsallis-INF, reduced variance", policies.ReducedVarianceTsallisINFPolicy),
    ("bayes_ucb", "Bayes-UCB", policies.BayesUCBPolicy),
    ("imed", "IMED", policies.IMEDPolicy),
    (
        "discounted_thompson",
        "discounted Thompson sampling",
        policies.DiscountedThompsonSamplingPolicy,
    ),
    ("boltzmann", "Boltzmann", policies.BoltzmannPolicy),
    ("successive_elimination", "successive elimination", policies.SuccessiveEliminationPolicy),
    ("lin_ucb", "LinUCB", policies.LinUCBPolicy),
    ("linear_thompson", "linear Thompson sampling", policies.LinearThompsonSamplingPolicy),
    ("linear_epsilon_greedy", "linear ε-greedy", policies.LinearEpsilonGreedyPolicy),
    ("disjoint_lin_ucb", "disjoint LinUCB", policies.DisjointLinUCBPolicy),
    (
        "disjoint_linear_thompson",
        "disjoint linear Thompson sampling",
        policies.DisjointLinearThompsonSamplingPolicy,
    ),
    (
        "disjoint_linear_epsilon_greedy",
        "disjoint linear ε-greedy",
        policies.DisjointLinearEpsilonGreedyPolicy,
    ),
    ("logistic_thompson", "logistic Thompson sampling", policies.LogisticThompsonSamplingPolicy),
    ("random_slate", "random slates", policies.RandomSlatePolicy),
    ("cascade_ucb", "CascadeUCB", policies.CascadeUCBPolicy),
    ("pbm_ucb", "PBM-UCB", policies.PBMUCBPolicy),
    ("top_k_lin_ucb", "top-k LinUCB", policies.TopKLinUCBPolicy),
)
"""All policies of the package, by id."""
