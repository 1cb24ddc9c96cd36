"""A learner that climbs the estimated value of a policy."""

from __future__ import annotations

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import check_integer, check_number, check_positive
from bandit_envs.logged.estimators.single_actions import Estimator, InversePropensityScoring
from bandit_envs.logged.learners.fits.objectives import Objective
from bandit_envs.logged.learners.fits.pairs import (
    count_models,
    model_features,
    of_features,
    offered_actions,
)
from bandit_envs.logged.learners.fits.policies import policy_of
from bandit_envs.logged.learners.learner import Learner
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.log_checks import require_rows
from bandit_envs.policies.contextual import ContextualPolicy
from bandit_envs.policies.models import LinearScores
from bandit_envs.policies.rules import Softmax
from bandit_envs.rounding import spread_of
from bandit_envs.seeding import Seed


class PolicyGradientLearner(Learner):
    """Climbs the estimated value of a softmax policy with linear scores.

        pi(a | x) proportional to exp(w_a . [1, x])
        w <- w + step_size (gradient of (V(pi) - variance_penalty se(V(pi))) - penalty w)

    with one w for all items if these have features z, w . [1, x, z], and of the actions that were
    available; from w = 0, with features scaled to mean 0 and standard deviation 1 while it learns.
    V is what the objective estimates on the whole log, of rewards less the baseline, and se its
    standard error.

    Args:
        objective: an estimator, by default `InversePropensityScoring()`. It may limit or shrink
            weights, as `DRWithOptimisticShrinkage(10.0)` does. `SwitchDR` and `ReplayMethod` have
            no gradient.
        num_steps: of the ascent.
        step_size: above 0.
        penalty: of the squared weights; at least 0.
        model: of the rewards, as for `RewardRegression`, if the objective needs predictions.
        baseline: is subtracted from the rewards. Near their mean, it makes estimates by IPS vary
            less. Others hardly change, as they subtract predictions, or their own mean.
        variance_penalty: of the standard error; at least 0. It keeps the policy where the log is
            informative. With IPS, rewards less the baseline should be at most 0, as otherwise
            penalty and value both shrink where the policy leaves the log.

    Source: Swaminathan & Joachims, Batch learning from logged bandit feedback through
    counterfactual risk minimization (2015), there POEM, and The self-normalized estimator (2015);
    Su et al., Doubly robust off-policy evaluation with shrinkage (2020); Metelli, Russo & Restelli,
    Subgaussian and differentiable importance sampling (2021).

    >>> log = BanditLog(np.ones((4, 1)), [0, 1, 0, 1], [1.0, 2.0, 1.0, 2.0], [0.5] * 4)
    >>> policy = PolicyGradientLearner().fit(log)
    >>> policy.num_actions
    2
    """

    def __init__(
        self,
        objective: Estimator | None = None,
        num_steps: int = 300,
        step_size: float = 0.5,
        penalty: float = 1e-4,
        model: object = None,
        *,
        baseline: float = 0.0,
        variance_penalty: float = 0.0,
    ) -> None:
        estimator = InversePropensityScoring() if objective is None else objective
        self._objective = Objective(estimator, variance_penalty)
        self._baseline = check_number("baseline", baseline)
        self._num_steps = check_integer("num_steps", num_steps, minimum=1)
        self._step_size = check_positive("step_size", step_size)
        self._penalty = check_number("penalty", penalty, 0.0)
        self._model = model

    def _fit(self, log: BanditLog, batch_size: int, seed: Seed) -> ContextualPolicy:
        found = model_features(require_rows(log))
        offered = offered_actions(log)
        known = found if found.ndim == 2 else found[offered]
        mean = known.mean(axis=0)
        std = spread_of(known)
        std[std == 0.0] = 1.0
        ones = np.ones((*found.shape[:-1], 1))
        features = np.concatenate([ones, (found - mean) / std], axis=-1)
        climbed = self._objective.of_log(log, self._model, self._baseline)
        weights = np.zeros((count_models(log), features.shape[-1]))
        for _ in range(self._num_steps):
            _, by_score = climbed(np.where(offered, _scores(features, weights), -np.inf))
            gradient = _sum_products(by_score, features)
            weights += self._step_size * (gradient - self._penalty * weights)
        weights[:, 1:] /= std
        weights[:, 0] -= weights[:, 1:] @ mean
        rule = Softmax(temperature=1.0, cooling=1.0)
        return policy_of(of_features(LinearScores(weights), log), rule, log, batch_size, seed)


def _scores(features: Floats, weights: Floats) -> Floats:
    """Returns w . x of all actions, [n, K], of features [n, d], or of items, [n, K, d]."""
    return np.asarray(features @ weights.T if features.ndim == 2 else features @ weights[0])


def _sum_products(by_score: Floats, features: Floats) -> Floats:
    """Returns what derivatives by scores [n, K] are as those by weights."""
    if features.ndim == 2:
        return np.asarray(by_score.T @ features)
    return np.asarray(np.einsum("nk,nkd->d", by_score, features)[np.newaxis])
