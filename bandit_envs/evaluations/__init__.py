"""Evaluations: what policies would have earned, and what they learn, from logs of any size.

Experimental: these names may change in any minor version.

`evaluate` estimates the values of several policies by several estimators in one pass over a log, of
single actions, numbers or slates. `learn` learns a policy from a log. Both use workers or a cluster
if asked. The command `bandit-envs` uses the same.

>>> import numpy as np
>>> from bandit_envs.evaluations import evaluate
>>> from bandit_envs.logged import BanditLog
>>> log = BanditLog(np.ones((900, 1)), [0, 1, 1] * 300, [1, 0, 1] * 300, [0.5] * 900)
>>> found = evaluate(log, ["random", "ucb:c=1"], ["ips", "dr"])
>>> [(row.policy, row.estimator, round(row.value, 2)) for row in found.rows[:3]]
[('logged', 'mean', 0.67), ('random', 'ips', 0.67), ('random', 'dr', 0.75)]
"""

from bandit_envs.evaluations.evaluating import evaluate
from bandit_envs.evaluations.evaluation import Evaluation
from bandit_envs.evaluations.learning import Learned, learn

__all__ = [
    "Evaluation",
    "Learned",
    "evaluate",
    "learn",
]
