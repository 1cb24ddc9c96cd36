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

LARGE_WEIGHT, SMALL_SAMPLE, FAR, TOLERANCE, BLOCK = 100.0, 100.0, 4.0, 1e-6, 2048

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
        terms: [m, n], the rows' c + u; or c, u and v, or u and v, of an estimator that normalises
            itself.
    """

    value: float
    standard_error: float
    effective_sample_size: float
    max_weight: float
    share_of_large_weights: float
    bias: float
    terms: Floats = dataclasses.field(repr=False, compare=False)

    def interval(
        self,
        confidence: float = 0.95,
        method: str = "normal",
        resamples: int = 1000,
        seed: Seed = 0,
    ) -> tuple[float, float]:
        """Returns the lower and the upper end of a confidence interval.

        Args:
            confidence: above 0 and below 1.
            method: "normal"; "bootstrap", percentiles of resampled estimates; or "bernstein", the
                empirical Bernstein bound (Maurer & Pontil, 2009) with the observed range.
            resamples: how many the bootstrap draws.
            seed: of the bootstrap.
        """
        level = check_number("confidence", confidence, 0.0, 1.0)
        if not 0.0 < level < 1.0:
            raise ValueError(f"confidence is {level:g}; expected a number above 0 and below 1")
        size = self.terms.shape[1]
        if method == "bootstrap":
            rng, values = generator(seed), []
            for _ in range(check_integer("resamples", resamples, minimum=2)):
                rows = rng.integers(size, size=size, dtype=np.int32)
                values.append(_value(np.array([term.take(rows).mean() for term in self.terms])))
            low, high = np.quantile(values, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
            return float(low), float(high)
        if method == "normal":
            radius = statistics.NormalDist().inv_cdf((1.0 + level) / 2.0) * self.standard_error
        elif method == "bernstein":
            spread = float(np.ptp(_slope(self.terms.mean(axis=1)) @ self.terms))
            log_term = math.log(4.0 / (1.0 - level))
            radius = self.standard_error * math.sqrt(2.0 * log_term)
            radius += 7.0 * spread * log_term / (3.0 * (size - 1))
        else:
            raise ValueError(f"method is {method!r}; expected normal, bootstrap or bernstein")
        return self.value - radius, self.value + radius


@dataclasses.dataclass(frozen=True)
class Estimator:
    """Estimates the value of a policy from its action probabilities on a log.

    Estimators differ in how they change the weights w, in whether they use predicted rewards q
    (`needs_predictions`), and in whether they divide by the mean weight (`self_normalised`).
    """

    needs_predictions: ClassVar[bool] = False
    self_normalised: ClassVar[bool] = False
    _largest: ClassVar[float] = math.inf

    def __post_init__(self) -> None:
        """Checks the parameter of a subclass: a number from 0 to `_largest`."""
        for name, value in vars(self).items():
            if not value == self._largest == math.inf:
                check_number(name, value, 0.0, self._largest)

    def estimate(
        self, log: BanditLog, probabilities: ArrayLike, predicted_rewards: ArrayLike | None = None
    ) -> Estimate:
        """Estimates the mean reward that a policy would have earned.

        Args:
            log: n logged decisions, at least two.
            probabilities: [n, K], the policy's probabilities of all actions.
            predicted_rewards: [n, K], for estimators with a reward model.

        Warns:
            UserWarning: the effective sample size is below 100, the mean weight is not near 1, or
                the policy takes an action that was never logged.
        """
        size, num_actions = len(log), log.num_actions
        if size < 2:
            raise ValueError(f"log has {size} rows; expected at least two")
        chances, predicted = _table("probabilities", probabilities, log), None
        if self.needs_predictions:
            if predicted_rewards is None:
                raise ValueError(f"{type(self).__name__} needs predicted_rewards")
            predicted = _table("predicted_rewards", predicted_rewards, log)
        terms = np.empty((1 + self.self_normalised * (1 + self.needs_predictions), size))
        sums, largest = np.zeros(4), 0.0  # of w, w^2, [w > 100] and (w - changed w) residual
        offsets = np.arange(min(size, BLOCK)) * num_actions
        # Blocks of rows stay in the processor's cache until all is done with them.
        for start in range(0, size, BLOCK):
            rows = slice(start, start + BLOCK)
            block = _checked_block(chances[rows], start)
            flat = log.action[rows] + offsets[: len(block)]
            probability = block.take(flat)
            weights = probability / log.propensity[rows]
            changed, residual = self._weights(weights, probability), log.reward[rows]
            if predicted is not None:
                guess = np.asarray(predicted[rows], np.float64)
                terms[0, rows] = np.einsum("nk,nk->n", block, guess)
                residual = residual - guess.take(flat)
            if self.self_normalised:
                terms[-2, rows], terms[-1, rows] = changed * residual, changed
            elif predicted is not None:
                terms[0, rows] += changed * residual
            else:
                terms[0, rows] = changed * residual
            many = np.count_nonzero(weights > LARGE_WEIGHT)
            kept = changed is weights or self.self_normalised
            lost = 0.0 if kept else (weights - changed) @ residual
            sums += np.array([weights.sum(), weights @ weights, many, lost])
            largest = max(largest, float(weights.max()))
        means = terms.mean(axis=1)
        if not np.isfinite(means).all():
            row = int(np.isfinite(terms).all(axis=0).argmin())
            raise ValueError(f"predicted_rewards of row {row} are not all finite")
        effective = float(sums[0] ** 2 / max(sums[1], 1e-300))
        _warn(log, chances)
        mean = sums[0] / size
        deviation = math.sqrt(max(sums[1] / size - mean**2, 0.0))
        warn_of_weights(effective, size, mean, deviation)
        slope, variance = _slope(means), 0.0
        for start in range(0, size, BLOCK):
            influence = slope @ (terms[:, start : start + BLOCK] - means[:, np.newaxis])
            variance += float(influence @ influence) / (size - 1)
        error, (_, _, many, lost) = math.sqrt(variance / size), sums / size
        return Estimate(_value(means), error, effective, largest, float(many), float(lost), terms)

    def _weights(self, weights: Floats, probability: Floats) -> Floats:
        """Returns the weights [n] to use, given w and the probability of the logged action."""
        return weights


class ReplayMethod(Estimator):
    """The mean reward of the rows whose action a deterministic policy would have taken.

    It is unbiased if the logging policy was uniform.

    Source: Li et al., Unbiased offline evaluation of news article recommendation (2011).
    """

    self_normalised = True

    def _weights(self, weights: Floats, probability: Floats) -> Floats:
        if not np.isin(probability, (0.0, 1.0)).all():
            raise ValueError("probabilities are not all 0 or 1; expected a deterministic policy")
        return probability


@dataclasses.dataclass(frozen=True)
class InversePropensityScoring(Estimator):
    """mean(min(w, max_weight) r).

    Source: Horvitz & Thompson (1952); Strehl et al., Learning from logged exploration data (2010).
    """

    max_weight: float = math.inf

    def _weights(self, weights: Floats, probability: Floats) -> Floats:
        return weights if math.isinf(self.max_weight) else np.minimum(weights, self.max_weight)


class SelfNormalizedIPS(Estimator):
    """sum(w r) / sum(w).

    Source: Swaminathan & Joachims, The self-normalized estimator (2015).
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


class SelfNormalizedDR(SelfNormalizedIPS):
    """mean(sum_a pi(a | x) q(x, a)) + sum(w (r - q)) / sum(w).

    Source: Kallus & Uehara, Intrinsically efficient off-policy evaluation (2019).
    """

    needs_predictions = True


@dataclasses.dataclass(frozen=True)
class SwitchDR(Estimator):
    """Doubly robust, but with predictions alone where w > threshold.

    Source: Wang, Agarwal & Dudik, Optimal and adaptive off-policy evaluation (2017).
    """

    needs_predictions = True
    threshold: float = math.inf

    def _weights(self, weights: Floats, probability: Floats) -> Floats:
        return np.where(weights <= self.threshold, weights, 0.0)


@dataclasses.dataclass(frozen=True)
class DRWithOptimisticShrinkage(Estimator):
    """Doubly robust with the weights shrinkage w / (w^2 + shrinkage).

    Shrinkage 0 is the direct method, infinity is `DoublyRobust`.

    Source: Su et al., Doubly robust off-policy evaluation with shrinkage (2020).
    """

    needs_predictions = True
    shrinkage: float = math.inf

    def _weights(self, weights: Floats, probability: Floats) -> Floats:
        if self.shrinkage in (0.0, math.inf):
            return weights if self.shrinkage else np.zeros_like(weights)
        return np.asarray(self.shrinkage * weights / (weights**2 + self.shrinkage))


@dataclasses.dataclass(frozen=True)
class SubGaussianIPS(Estimator):
    """Inverse propensity scoring with the weights w / (1 - shrinkage + shrinkage w).

    Source: Metelli, Russo & Restelli, Subgaussian and differentiable importance sampling (2021).
    """

    shrinkage: float = 0.0
    _largest = 1.0

    def _weights(self, weights: Floats, probability: Floats) -> Floats:
        bottom = 1.0 - self.shrinkage + self.shrinkage * weights
        return np.asarray(weights / np.where(bottom > 0.0, bottom, 1.0))


class SubGaussianDR(SubGaussianIPS):
    """Doubly robust with the weights of `SubGaussianIPS`; its source has it too."""

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
    estimates = [each.estimate(log, probabilities, predicted_rewards) for each in estimators]
    errors = [estimate.standard_error**2 + estimate.bias**2 for estimate in estimates]
    best = int(np.argmin(errors))
    return estimators[best], estimates[best]


def _value(means: Floats) -> float:
    """Returns the value that the means of the terms stand for."""
    if len(means) == 1:
        return float(means[0])
    return float(means[:-2].sum() + (means[-2] / means[-1] if means[-1] else 0.0))


def _slope(means: Floats) -> Floats:
    """Returns the derivative of the value with respect to the means of the terms: [m]."""
    slope, mean = np.ones(len(means)), means[-1] or 1.0
    if len(means) > 1:
        slope[-2:] = 1.0 / mean, -means[-2] / mean**2
    return slope


def _table(name: str, value: ArrayLike, log: BanditLog) -> NDArray[Any]:
    table, shape = np.asarray(value), (len(log), log.num_actions)
    if table.shape != shape:
        raise ValueError(f"{name} has shape {table.shape}; expected {shape}")
    if table.dtype.kind not in NUMBERS:
        raise TypeError(f"{name} is {table.dtype}; expected numbers")
    return table


def _checked_block(chances: NDArray[Any], start: int) -> Floats:
    """Returns rows of probabilities as float64."""
    block = np.ascontiguousarray(chances, np.float64)
    sums = block @ np.ones(block.shape[1])  # much faster than sum(axis=1), and NaN if any is
    if not (block.min() >= 0.0 and np.abs(sums - 1.0).max() <= TOLERANCE):
        row = int((~(np.abs(sums - 1.0) <= TOLERANCE) | (block < 0.0).any(axis=1)).argmax())
        found = f"probabilities of row {start + row} are {block[row]}"
        raise ValueError(f"{found}; expected a sum of 1")
    return block


def warn_of_weights(effective: float, size: int, mean: float, deviation: float) -> None:
    """Warns of a small effective sample, and of a mean weight that is not near 1."""
    if effective < SMALL_SAMPLE:
        found = f"the effective sample size is {effective:.1f} of {size} rows"
        warnings.warn(f"{found}; the estimate is unreliable", stacklevel=3)
    error = deviation / math.sqrt(size)
    if abs(mean - 1.0) > FAR * error + TOLERANCE:
        found = f"the mean weight is {mean:.4g}, more than {FAR:g} standard errors from 1"
        warnings.warn(
            f"{found}; propensities may be wrong, or what the policy does was never logged",
            stacklevel=3,
        )


def _warn(log: BanditLog, chances: NDArray[Any]) -> None:
    unlogged = np.flatnonzero(np.bincount(log.action, minlength=log.num_actions) == 0)
    unlogged = unlogged[(chances[:, unlogged] > 0.0).any(axis=0)]
    if unlogged.size:
        found = f"the policy takes actions that were never logged: {unlogged[:10].tolist()}"
        warnings.warn(f"{found}; the log cannot tell their value", stacklevel=3)
