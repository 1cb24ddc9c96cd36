"""Off-policy estimators: what another policy would have earned, from logged data.

With logged actions a_i, rewards r_i and propensities p_i, the policy's probabilities pi, predicted
rewards q and weights w_i = pi(a_i | x_i) / p_i, every estimator is of the form

    value = mean(c) + mean(u) / mean(v)

where v = 1 unless the estimator normalises itself. So standard errors and intervals are computed
in one place, and those of ratios account for their denominators.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs.base.arrays import NUMBERS
from bandit_envs.base.checks import check_integer, check_number
from bandit_envs.base.state import Seed, generator
from bandit_envs.logged.log import BanditLog

LARGE_WEIGHT = 100.0
SMALL_SAMPLE = 100.0
TOLERANCE = 1e-6
BLOCK = 2048

Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Estimate:
    """An estimated value with its uncertainty, and what the weights say of the data.

    Fields:
        value: the estimate.
        standard_error: its standard error; of a ratio, by the delta method.
        effective_sample_size: (sum w)^2 / sum w^2.
        max_weight: the largest weight before any clipping.
        share_of_large_weights: the share of rows whose weight exceeds 100.
        bias: the estimated difference to the estimator with unchanged weights.
        terms: arrays [n]: c + u of the module's formula; or c, u and v, or u and v, of estimators
            that normalise themselves.
    """

    value: float
    standard_error: float
    effective_sample_size: float
    max_weight: float
    share_of_large_weights: float
    bias: float
    terms: tuple[Floats, ...] = dataclasses.field(repr=False, compare=False)

    def interval(
        self,
        confidence: float = 0.95,
        method: str = "normal",
        *,
        resamples: int = 1000,
        seed: Seed = 0,
    ) -> tuple[float, float]:
        """Returns the lower and the upper end of a confidence interval.

        Args:
            confidence: above 0 and below 1.
            method: "normal"; "bootstrap", percentiles of resampled estimates; or "bernstein", the
                empirical Bernstein bound (Maurer & Pontil, 2009) with the observed range.
            resamples: number of resamples of the bootstrap.
            seed: of the bootstrap.
        """
        level = check_number("confidence", confidence, 0.0, 1.0)
        if not 0.0 < level < 1.0:
            raise ValueError(f"confidence is {level:g}; expected a number above 0 and below 1")
        size = len(self.terms[0])
        if method == "bootstrap":
            values = self._resampled(check_integer("resamples", resamples, minimum=2), seed)
            low, high = np.quantile(values, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
            return float(low), float(high)
        if method == "normal":
            radius = statistics.NormalDist().inv_cdf((1.0 + level) / 2.0) * self.standard_error
        elif method == "bernstein":
            means = np.array([term.mean() for term in self.terms])
            influence = _influence(self.terms, means)
            log_term = math.log(4.0 / (1.0 - level))
            spread = math.sqrt(2.0 * influence.var(ddof=1) * log_term / size)
            radius = spread + 7.0 * float(np.ptp(influence)) * log_term / (3.0 * (size - 1))
        else:
            raise ValueError(f"method is {method!r}; expected normal, bootstrap or bernstein")
        return self.value - radius, self.value + radius

    def _resampled(self, resamples: int, seed: Seed) -> Floats:
        rng, size, values = generator(seed), len(self.terms[0]), np.empty(resamples)
        for index in range(resamples):
            drawn = rng.integers(size, size=size, dtype=np.int32)
            values[index] = _combined([float(term.take(drawn).mean()) for term in self.terms])
        return values


class Estimator:
    """Estimates the value of a policy from its action probabilities on a log.

    Estimators differ in how they change the weights w, in whether they use predicted rewards q, and
    in whether they normalise themselves by the mean weight.
    """

    needs_predictions: ClassVar[bool] = False
    """Whether `estimate` needs predicted rewards."""

    self_normalised: ClassVar[bool] = False
    """Whether the sum of weighted rewards is divided by the sum of weights."""

    def estimate(
        self, log: BanditLog, probabilities: ArrayLike, predicted_rewards: ArrayLike | None = None
    ) -> Estimate:
        """Estimates the mean reward that a policy would have earned.

        Args:
            log: n logged decisions.
            probabilities: [n, K], the policy's probabilities of all actions.
            predicted_rewards: [n, K], for estimators with a reward model.

        Raises:
            TypeError, ValueError: an argument does not fit the log.

        Warns:
            UserWarning: the effective sample size is below 100, or the policy takes an action that
                was never logged.
        """
        size, num_actions = len(log), log.num_actions
        if size < 2:
            raise ValueError(f"log has {size} rows; expected at least two")
        chances = _table("probabilities", probabilities, (size, num_actions))
        predicted = None
        if self.needs_predictions:
            if predicted_rewards is None:
                raise ValueError(f"{type(self).__name__} needs predicted_rewards")
            predicted = _table("predicted_rewards", predicted_rewards, (size, num_actions))
        count = 1 + self.self_normalised * (1 + self.needs_predictions)
        terms = tuple(np.empty(size) for _ in range(count))
        sums, largest = np.zeros(4), 0.0  # of w, w^2, [w > 100] and (w - changed w) residual
        offsets = np.arange(min(size, BLOCK)) * num_actions
        # Blocks of rows stay in the processor's cache until all is done with them.
        for start in range(0, size, BLOCK):
            rows = slice(start, start + BLOCK)
            block = _checked_block(chances[rows], start)
            flat = log.action[rows] + offsets[: len(block)]
            probability = block.take(flat)
            weights = probability / log.propensity[rows]
            residual = log.reward[rows]
            changed = self._weights(weights, probability)
            if predicted is None:
                u = changed * residual
            else:
                guess = np.asarray(predicted[rows], np.float64)
                direct = np.einsum("nk,nk->n", block, guess)
                residual = residual - guess.take(flat)
                u = changed * residual
                if self.self_normalised:
                    terms[0][rows] = direct
                else:
                    u += direct
            if self.self_normalised:
                terms[-2][rows], terms[-1][rows] = u, changed
            else:
                terms[0][rows] = u
            many = np.count_nonzero(weights > LARGE_WEIGHT)
            lost = 0.0 if changed is weights else (weights - changed) @ residual
            sums += np.array([weights.sum(), weights @ weights, many, lost])
            largest = max(largest, float(weights.max()))
        means = np.array([term.mean() for term in terms])
        if not np.isfinite(means).all():
            row = int(np.argmin(np.isfinite(terms[0])))
            found = None if predicted is None else predicted[row]
            raise ValueError(f"predicted_rewards of row {row} are {found}; expected finite numbers")
        effective = float(sums[0] ** 2 / max(sums[1], 1e-300))
        _warn(log, chances, effective)
        variance = 0.0
        for start in range(0, size, BLOCK):
            influence = _influence(tuple(term[start : start + BLOCK] for term in terms), means)
            variance += float(influence @ influence) / (size - 1)
        return Estimate(
            _combined(means),
            math.sqrt(variance / size),
            effective,
            largest,
            float(sums[2]) / size,
            float(sums[3]) / size,
            terms,
        )

    def _weights(self, weights: Floats, probability: Floats) -> Floats:
        """Returns the weights [n] to use, given w and the probability of the logged action."""
        return weights


class ReplayMethod(Estimator):
    """The mean reward of the rows whose action a deterministic policy would have taken.

    It is unbiased if the logging policy was uniform.

    Source: Li et al., Unbiased offline evaluation of contextual-bandit-based news article
    recommendation algorithms (2011).
    """

    self_normalised = True

    def _weights(self, weights: Floats, probability: Floats) -> Floats:
        if not np.isin(probability, (0.0, 1.0)).all():
            raise ValueError("probabilities are not all 0 or 1; expected a deterministic policy")
        return probability


class InversePropensityScoring(Estimator):
    """mean(min(w, max_weight) r).

    Source: Horvitz & Thompson (1952); Strehl et al., Learning from logged implicit exploration data
    (2010), for clipped weights.
    """

    def __init__(self, max_weight: float = math.inf) -> None:
        self._max_weight = _parameter("max_weight", max_weight)

    def _weights(self, weights: Floats, probability: Floats) -> Floats:
        return weights if math.isinf(self._max_weight) else np.minimum(weights, self._max_weight)


class SelfNormalizedIPS(Estimator):
    """sum(w r) / sum(w).

    Source: Swaminathan & Joachims, The self-normalized estimator for counterfactual learning
    (2015).
    """

    self_normalised = True


class DirectMethod(Estimator):
    """mean(sum_a pi(a | x) q(x, a)): the predictions alone.

    Source: Beygelzimer & Langford, The offset tree (2009).
    """

    needs_predictions = True

    def _weights(self, weights: Floats, probability: Floats) -> Floats:
        return np.zeros_like(weights)


class DoublyRobust(InversePropensityScoring):
    """mean(sum_a pi(a | x) q(x, a) + min(w, max_weight) (r - q)).

    Source: Dudik, Langford & Li, Doubly robust policy evaluation and learning (2011).
    """

    needs_predictions = True


class SelfNormalizedDR(DirectMethod):
    """mean(sum_a pi(a | x) q(x, a)) + sum(w (r - q)) / sum(w).

    Source: Kallus & Uehara, Intrinsically efficient, stable, and bounded off-policy evaluation for
    reinforcement learning (2019).
    """

    self_normalised = True

    def _weights(self, weights: Floats, probability: Floats) -> Floats:
        return weights


class SwitchDR(DirectMethod):
    """Doubly robust, but with predictions alone where w > threshold.

    Source: Wang, Agarwal & Dudik, Optimal and adaptive off-policy evaluation in contextual bandits
    (2017).
    """

    def __init__(self, threshold: float = math.inf) -> None:
        self._threshold = _parameter("threshold", threshold)

    def _weights(self, weights: Floats, probability: Floats) -> Floats:
        return np.where(weights <= self._threshold, weights, 0.0)


class DRWithOptimisticShrinkage(DirectMethod):
    """Doubly robust with the weights shrinkage w / (w^2 + shrinkage).

    Shrinkage 0 is the direct method, infinity is `DoublyRobust`.

    Source: Su et al., Doubly robust off-policy evaluation with shrinkage (2020).
    """

    def __init__(self, shrinkage: float = math.inf) -> None:
        self._shrinkage = _parameter("shrinkage", shrinkage)

    def _weights(self, weights: Floats, probability: Floats) -> Floats:
        if math.isinf(self._shrinkage):
            return weights
        bottom = weights**2 + self._shrinkage
        return np.asarray(self._shrinkage * weights / np.where(bottom > 0.0, bottom, 1.0))


class SubGaussianIPS(Estimator):
    """Inverse propensity scoring with the weights w / (1 - shrinkage + shrinkage w).

    Source: Metelli, Russo & Restelli, Subgaussian and differentiable importance sampling for
    off-policy evaluation and learning (2021).
    """

    def __init__(self, shrinkage: float = 0.0) -> None:
        self._shrinkage = check_number("shrinkage", shrinkage, 0.0, 1.0)

    def _weights(self, weights: Floats, probability: Floats) -> Floats:
        bottom = 1.0 - self._shrinkage + self._shrinkage * weights
        return np.asarray(weights / np.where(bottom > 0.0, bottom, 1.0))


class SubGaussianDR(SubGaussianIPS):
    """Doubly robust with the weights of `SubGaussianIPS`.

    Source: as for `SubGaussianIPS`.
    """

    needs_predictions = True


def tuned(
    estimators: Sequence[Estimator],
    log: BanditLog,
    probabilities: ArrayLike,
    predicted_rewards: ArrayLike | None = None,
) -> tuple[Estimator, Estimate]:
    """Returns the estimator with the smallest estimated mean squared error, and its estimate.

    The error is the squared standard error plus the square of the bias that the changed weights
    cause, which is estimated by the mean of (w - changed w) times the reward or residual.

    Source: Su et al. (2020), section 5; the tuning classes of the Open Bandit Pipeline.
    """
    if not estimators:
        raise ValueError("estimators is empty; expected at least one")
    estimates = [each.estimate(log, probabilities, predicted_rewards) for each in estimators]
    errors = [estimate.standard_error**2 + estimate.bias**2 for estimate in estimates]
    best = int(np.argmin(errors))
    return estimators[best], estimates[best]


def _combined(means: Sequence[float] | Floats) -> float:
    """Returns the value that the means of the terms stand for."""
    if len(means) == 1:
        return float(means[0])
    *c, u, v = means
    return float(sum(c) + (u / v if v else 0.0))


def _influence(terms: tuple[Floats, ...], means: Floats) -> Floats:
    """Returns the influence of every row on the value, given the means of all rows."""
    if len(terms) == 1:
        return np.asarray(terms[0] - means[0])
    *c, u, v = terms
    mean = means[-1] or 1.0
    influence = u - means[-2] / mean * v
    influence /= mean
    return influence + (c[0] - means[0]) if c else np.asarray(influence)


def _table(name: str, value: ArrayLike, shape: tuple[int, int]) -> NDArray[Any]:
    table = np.asarray(value)
    if table.shape != shape:
        raise ValueError(f"{name} has shape {table.shape}; expected {shape}")
    if table.dtype.kind not in NUMBERS:
        raise TypeError(f"{name} is {table.dtype}; expected numbers")
    return table


def _checked_block(chances: NDArray[Any], start: int) -> Floats:
    """Returns rows of probabilities as float64."""
    block = np.ascontiguousarray(chances, np.float64)
    sums = block @ np.ones(block.shape[1])  # much faster than sum(axis=1), and NaN if any is
    if not (block.min() >= 0.0 and sums.min() >= 1.0 - TOLERANCE and sums.max() <= 1.0 + TOLERANCE):
        row = int((~(np.abs(sums - 1.0) <= TOLERANCE) | (block < 0.0).any(axis=1)).argmax())
        raise ValueError(
            f"probabilities of row {start + row} are {block[row]}; expected a sum of 1"
        )
    return block


def _parameter(name: str, value: float) -> float:
    return value if value == math.inf else check_number(name, value, 0.0)


def _warn(log: BanditLog, chances: NDArray[Any], effective: float) -> None:
    unlogged = np.flatnonzero(np.bincount(log.action, minlength=log.num_actions) == 0)
    unlogged = unlogged[(chances[:, unlogged] > 0.0).any(axis=0)]
    if unlogged.size:
        warnings.warn(
            f"the policy takes actions that were never logged: {unlogged[:10].tolist()}; "
            "the log cannot tell their value",
            stacklevel=3,
        )
    if effective < SMALL_SAMPLE:
        warnings.warn(
            f"the effective sample size is {effective:.1f} of {len(log)} rows; "
            "the estimate is unreliable",
            stacklevel=3,
        )
