"""Off-policy estimators that replace the largest weights by quantiles of a Pareto distribution."""

from __future__ import annotations

from typing import ClassVar

from bandit_envs.arrays import Floats
from bandit_envs.logged.estimators.single_actions import Estimator


class ParetoSmoothedIPS(Estimator):
    """Inverse propensity scoring with Pareto-smoothed importance weights (PSIS).

    A generalised Pareto distribution is fitted to the largest min(n / 5, 3 sqrt(n)) weights, which
    its quantiles replace. They are at most the largest weight. In short logs with heavy tails, that
    makes the error of the value smaller. It is biased a little, and its interval has all of that of
    `InversePropensityScoring`.

    The sums of a log keep the rows with the 10,000 largest weights, so smoothing is that of the
    whole log up to 1.1e7 rows; beyond, it is of these rows.

    Source: Vehtari et al., Pareto smoothed importance sampling (2024).
    """

    smooths_weights: ClassVar[bool] = True

    def _change(self, weights: Floats, probability: Floats) -> Floats:
        return weights


class ParetoSmoothedSNIPS(ParetoSmoothedIPS):
    """Self-normalised inverse propensity scoring with the weights of `ParetoSmoothedIPS`."""

    self_normalized = True


class ParetoSmoothedDR(ParetoSmoothedIPS):
    """Doubly robust with the weights of `ParetoSmoothedIPS`.

    It is biased as the predictions are, where weights become smaller.
    """

    needs_predictions = True
