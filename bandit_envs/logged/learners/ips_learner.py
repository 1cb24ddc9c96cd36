"""A learner that maximises the value that IPS estimates."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import check_number
from bandit_envs.logged.features import context_of, has_items
from bandit_envs.logged.learners.fits.action_sums import ridge_policy, sum_all_rewards
from bandit_envs.logged.learners.fits.policies import greedy_policy
from bandit_envs.logged.learners.learner import Learner, PassOverParts
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.log_checks import require_propensities, require_rows
from bandit_envs.policies.contextual import ContextualPolicy
from bandit_envs.policies.models import LinearScores
from bandit_envs.policies.models.value_model import NEVER
from bandit_envs.policies.scikit_learn import FittedClassifier
from bandit_envs.policies.scikit_learn.model import check_classifier, copy_estimator, fit_weighted
from bandit_envs.seeding import Seed, generator


class IPSLearner(Learner):
    """Maximises the value that IPS estimates, by regressions or as a weighted classification.

        max_pi  sum_i  (r_i - baseline) / p_i  1{pi(x_i) = a_i}

    Without a classifier, each action has a ridge regression on all rows i of

        baseline + 1{a = a_i} (r_i - baseline) / p_i

    whose mean is the expected reward, and the policy chooses the action with the largest
    prediction. Items with features share one regression, of all that were offered. An action that
    was never logged is chosen only if no other is available.

    With a classifier, the label of row i is its action, and its weight (r_i - baseline) / p_i. Rows
    of weight 0 are left out. The policy chooses the action that the classifier finds most probable;
    one that never earned more than the baseline is chosen only if no other is available. Items are
    no classes.

    Args:
        classifier: of scikit-learn, of which a copy learns. Its `fit` takes `sample_weight`. None
            for regressions.
        baseline: its value changes how much estimates vary, and not what they are on average: with
            rewards from 10 to 11, learn with a baseline of 10. With a classifier, it is at most the
            smallest reward, since weights cannot be negative.

    Raises:
        TypeError: `classifier` is not a classifier.

    Source: Zhao, Zeng, Rush & Kosorok, Estimating individualized treatment rules using outcome
    weighted learning (2012).

    >>> from sklearn.linear_model import LogisticRegression
    >>> context = np.array([[-1.0], [1.0], [-1.0], [1.0]])
    >>> log = BanditLog(context, [0, 0, 1, 1], [1.0, 0.0, 0.0, 1.0], [0.5] * 4)
    >>> policy = IPSLearner(LogisticRegression()).fit(log)
    >>> policy.num_actions
    2
    """

    def __init__(self, classifier: Any = None, baseline: float = 0.0) -> None:
        if classifier is not None:
            check_classifier(classifier)
        self._classifier = classifier
        self._baseline = check_number("baseline", baseline)

    @property
    def streams(self) -> bool:
        return self._classifier is None

    def _fit(self, log: BanditLog, batch_size: int, seed: Seed) -> ContextualPolicy:
        """Returns what `fit` does.

        Raises:
            ValueError: a reward is below the baseline, none is above it, or the classifier cannot
                learn from these rows.
        """
        if has_items(require_rows(log)):
            advice = "expected no classifier; regressions learn from items"
            raise ValueError(f"log is of items, which are no classes; {advice}")
        context = context_of(log)
        weights = self._weigh(log)
        rows = np.flatnonzero(weights)
        labels = log.action[rows]
        if (labels == labels[0]).all():  # a classifier needs two classes
            only = np.full((log.num_actions, 1 + context.shape[1]), 0.0)
            only[:, 0] = NEVER
            only[labels[0], 0] = 0.0
            return greedy_policy(LinearScores(only), log, batch_size, seed)
        rng = generator(seed)
        classifier = copy_estimator(self._classifier, rng)
        fit_weighted(classifier, context[rows], labels, weights[rows])
        return greedy_policy(FittedClassifier(classifier), log, batch_size, rng)

    def _fit_parts(self, over: PassOverParts, batch_size: int, seed: Seed) -> ContextualPolicy:
        predict = functools.partial(_constant_rewards, self._baseline)
        return ridge_policy(over(functools.partial(sum_all_rewards, predict)), batch_size, seed)

    def _weigh(self, log: BanditLog) -> Any:
        """Returns the weights of the rows: [n]."""
        smallest = log.reward.min()
        if smallest < self._baseline:
            problem = f"baseline is {self._baseline:g}, and the smallest reward {smallest:g}"
            raise ValueError(f"{problem}; expected a baseline of at most {smallest:g}")
        weights = (log.reward - self._baseline) / require_propensities(log).propensity
        if log.weight is not None:
            weights = weights * log.weight
        if not weights.any():
            expected = "rewards above the baseline"
            raise ValueError(f"log has the reward {smallest:g} in all rows; expected {expected}")
        return weights


def _constant_rewards(reward: float, log: BanditLog, first_row: int) -> Floats:
    """Returns the same reward for all actions of all rows, [n, K], whatever the rows are."""
    return np.full((len(log), log.num_actions), reward)
