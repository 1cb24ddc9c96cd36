"""Learners: policies from logged data, and files that hold these policies."""

from bandit_envs.logged.learners.direct_method import DirectMethodLearner
from bandit_envs.logged.learners.doubly_robust import DoublyRobustLearner
from bandit_envs.logged.learners.ips_learner import IPSLearner
from bandit_envs.logged.learners.log_learning import learn_from_log
from bandit_envs.logged.learners.model_learner import ModelLearner
from bandit_envs.logged.learners.policy_files import read_policy, write_policy
from bandit_envs.logged.learners.policy_gradient import PolicyGradientLearner
from bandit_envs.logged.learners.saved_policy import SavedPolicy
from bandit_envs.logged.learners.warm_start import warm_start

__all__ = [
    "DirectMethodLearner",
    "DoublyRobustLearner",
    "IPSLearner",
    "ModelLearner",
    "PolicyGradientLearner",
    "SavedPolicy",
    "learn_from_log",
    "read_policy",
    "warm_start",
    "write_policy",
]
