"""Rules that choose by what a model predicts: the other part of a `ContextualPolicy`."""

from bandit_envs.policies.rules.adaptive_greedy import AdaptiveGreedy as AdaptiveGreedy
from bandit_envs.policies.rules.first_pulls import FirstPulls as FirstPulls
from bandit_envs.policies.rules.greedy import EpsilonGreedy as EpsilonGreedy
from bandit_envs.policies.rules.greedy import Greedy as Greedy
from bandit_envs.policies.rules.mixed import Mixed as Mixed
from bandit_envs.policies.rules.reg_cb import EliminationRegCB as EliminationRegCB
from bandit_envs.policies.rules.reg_cb import OptimisticRegCB as OptimisticRegCB
from bandit_envs.policies.rules.rule import IndexRule as IndexRule
from bandit_envs.policies.rules.rule import Predictions as Predictions
from bandit_envs.policies.rules.rule import Rule as Rule
from bandit_envs.policies.rules.softmax import Softmax as Softmax
from bandit_envs.policies.rules.square_cb import EliminationSquareCB as EliminationSquareCB
from bandit_envs.policies.rules.square_cb import SquareCB as SquareCB
from bandit_envs.policies.rules.thompson_sampling import ThompsonSampling as ThompsonSampling
from bandit_envs.policies.rules.upper_bound import UpperBound as UpperBound
from bandit_envs.policies.rules.upper_bound import UpperQuantile as UpperQuantile
