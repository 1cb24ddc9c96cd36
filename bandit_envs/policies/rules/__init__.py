"""Rules that choose by what a model predicts: the other part of a `ContextualPolicy`."""

from bandit_envs.policies.rules.adaptive_greedy import AdaptiveGreedy
from bandit_envs.policies.rules.first_pulls import FirstPulls
from bandit_envs.policies.rules.greedy import EpsilonGreedy, Greedy
from bandit_envs.policies.rules.inverse_gap import inverse_gap_probabilities
from bandit_envs.policies.rules.mixed import Mixed
from bandit_envs.policies.rules.reg_cb import EliminationRegCB, OptimisticRegCB
from bandit_envs.policies.rules.rule import IndexRule, Predictions, Rule
from bandit_envs.policies.rules.softmax import Softmax
from bandit_envs.policies.rules.square_cb import EliminationSquareCB, SquareCB
from bandit_envs.policies.rules.thompson_sampling import ThompsonSampling
from bandit_envs.policies.rules.upper_bound import UpperBound, UpperQuantile

__all__ = [
    "AdaptiveGreedy",
    "EliminationRegCB",
    "EliminationSquareCB",
    "EpsilonGreedy",
    "FirstPulls",
    "Greedy",
    "IndexRule",
    "Mixed",
    "OptimisticRegCB",
    "Predictions",
    "Rule",
    "Softmax",
    "SquareCB",
    "ThompsonSampling",
    "UpperBound",
    "UpperQuantile",
    "inverse_gap_probabilities",
]
