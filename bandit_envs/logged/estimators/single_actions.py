"""Off-policy estimators: what another policy would have earned, from logged data."""

from __future__ import annotations

import abc
import dataclasses
import math
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import check_number
from bandit_envs.logged.estimators.estimate import Estimate
from bandit_envs.logged.estimators.sums.ratio_sums import compared_columns, free_columns
from bandit_envs.logged.estimators.sums.unlogged_actions import ActionSums
from bandit_envs.logged.estimators.terms import Terms
from bandit_envs.logged.estimators.weighed_rows import WeighedRows, expect_squares, weigh_rows
from bandit_envs.logged.features import have_no_names
from bandit_envs.logged.log import BanditLog

OTHER_ROWS = "the logging policies seem to have met other contexts, or other times; do not balance"
SMALLEST = 1e-200  # replaces a shrinkage of 0, to avoid a division by zero


@dataclasses.dataclass(frozen=True)
class Estimator(abc.ABC):
    """Estimates the value of a policy from its action probabilities on a log.

    With logged actions a_i, rewards r_i and propensities p_i, the policy's probabilities pi,
    predicted rewards q and weights w_i = pi(a_i | x_i) / p_i, every estimator is of the form

        value = mean(sum_a pi(a | x_i) q(x_i, a)) + mean(v_i (r_i - q(x_i, a_i))) / mean(n_i)

    where v_i is w_i, or w_i changed; q is 0 for estimators without a reward model; and n_i is v_i
    for self-normalised estimators, and 1 for the others.

    A subclass says how it changes the weights w, in `_change`; whether it uses predicted rewards
    q, `needs_predictions`; whether it divides by the mean of the changed weights,
    `self_normalized`; and whether it is refused where weights differ, `needs_equal_weights`.
    """

    needs_predictions: ClassVar[bool] = False
    self_normalized: ClassVar[bool] = False
    needs_equal_weights: ClassVar[bool] = False

    def estimate(
        self, log: BanditLog, probabilities: ArrayLike, predicted_rewards: ArrayLike | None = None
    ) -> Estimate:
        """Estimates the mean reward that a policy would have earned.

        Args:
            log: n logged decisions, at least two.
            probabilities: [n, K], the policy's probabilities of all actions.
            predicted_rewards: [n, K], for estimators with a reward model.

        Warns:
            UserWarning: the expected effective sample size is below 200; that of these rows is, or
                weights have a heavy tail, if the log has not all probabilities of the logging
                policy; the mean weight is not near 1; the policy takes an action that was never
                logged; changed weights bias the estimate; or all rows say the same.
        """
        terms = self.terms(log, probabilities, predicted_rewards)
        return terms.sums().estimate([terms], stacklevel=3)

    def terms(
        self, log: BanditLog, probabilities: ArrayLike, predicted_rewards: ArrayLike | None = None
    ) -> Terms:
        """Returns what each row adds to the estimate; `terms.sums()` of parts of a log merge.

        Args:
            log: any number of logged decisions.
            probabilities: [n, K], as for `estimate`.
            predicted_rewards: [n, K], as for `estimate`.

        >>> log = BanditLog(np.ones((900, 1)), [0, 1, 1] * 300, [1, 0, 1] * 300, [0.5] * 900)
        >>> policy = np.full((900, 2), 0.5)
        >>> ips = InversePropensityScoring()
        >>> first = ips.terms(log[:300], policy[:300]).sums()
        >>> rest = ips.terms(log[300:], policy[300:]).sums(first_row=300)
        >>> round(first.merge(rest).estimate().value, 4)
        0.6667
        """
        if self.needs_predictions and predicted_rewards is None:
            raise ValueError(f"{type(self).__name__} needs predicted_rewards")
        predicted = predicted_rewards if self.needs_predictions else None
        rows = weigh_rows(log, probabilities, predicted)
        changed = self._change(rows.weights, rows.probability)
        weighted = changed * rows.residual
        weights = rows.weights[np.newaxis]  # of one slot
        actions = None
        if not have_no_names(log):  # else a number is a place, where another item may be
            table = np.asarray(probabilities)
            actions = ActionSums.from_rows(log.action, table, log.action_names)
        left_out = None
        unchanged = None
        if not self.self_normalized:
            left_out = rows.weights * rows.residual - weighted
        elif changed is not rows.weights:
            unchanged = np.vstack([rows.direct, rows.weights * rows.residual, rows.weights])
        return Terms(
            direct=rows.direct,
            weighted=weighted,
            weights=weights,
            normaliser=changed if self.self_normalized else None,
            left_out=left_out,
            actions=actions,
            estimator=repr(self),
            expected_squares=expect_squares(log, np.asarray(probabilities)),
            unchanged=unchanged,
            compared=_compare_own(log, rows),
            assumption=OTHER_ROWS,
            needs_equal_weights=self.needs_equal_weights,
            counts=self._counts_of(log),
            unit=log.unit,
        )

    def _counts_of(self, log: BanditLog) -> Floats | None:
        """Returns how many decisions each row stands for; ValueError if that cannot be used."""
        if log.weight is not None and self.needs_equal_weights:
            expected = "an estimator that takes them, such as snips"
            raise ValueError(f"rows of log have weights; expected {expected}")
        return log.weight

    @property
    def reads_contexts(self) -> bool:
        """Whether it needs the observations: for predictions, or if its class defines `terms`."""
        return self.needs_predictions or type(self).terms is not Estimator.terms

    @property
    def is_differentiable(self) -> bool:
        """Whether learners can climb it: it knows how changed weights follow w, with no jump."""
        return type(self)._derivative is not Estimator._derivative

    def differentiate(self, rows: WeighedRows) -> tuple[Floats, Floats]:
        """Returns the weights that are used, and their derivatives by w: two [n]."""
        changed = self._change(rows.weights, rows.probability)
        return changed, self._derivative(rows.weights)

    @abc.abstractmethod
    def _change(self, weights: Floats, probability: Floats) -> Floats:
        """Returns the weights [n] to use, given w and the probability of the logged action."""

    def _derivative(self, weights: Floats) -> Floats:
        """Returns the derivatives of what `_change` returns by w: [n]."""
        raise NotImplementedError(f"{type(self).__name__} does not know its derivative")


class ReplayMethod(Estimator):
    """The mean reward of the rows whose action a deterministic policy would have taken.

    It is unbiased if the logging policy was uniform; else it would be biased towards the contexts
    where the log has the policy's actions often. So a log that has them with different propensities
    is refused. `SelfNormalizedIPS` takes any log, and is the same for a uniform one.

    Source: Li et al., Unbiased offline evaluation of news article recommendation (2011).
    """

    self_normalized = True
    needs_equal_weights = True

    def _change(self, weights: Floats, probability: Floats) -> Floats:
        if not np.isin(probability, (0.0, 1.0)).all():
            raise ValueError("probabilities are not all 0 or 1; expected a deterministic policy")
        return probability


@dataclasses.dataclass(frozen=True)
class InversePropensityScoring(Estimator):
    """Averages weighted rewards: mean(min(w, max_weight) r).

    Args:
        max_weight: larger weights are cut to it, which makes the estimate too low for rewards
            above 0. By default, no weight is cut, and the estimate is unbiased.

    Source: Horvitz & Thompson (1952); Strehl et al., Learning from logged exploration data (2010).
    """

    max_weight: float = math.inf

    def __post_init__(self) -> None:
        _check_limit("max_weight", self.max_weight)

    def _change(self, weights: Floats, probability: Floats) -> Floats:
        return np.minimum(weights, self.max_weight)

    def _derivative(self, weights: Floats) -> Floats:
        return np.asarray(weights < self.max_weight, np.float64)


class SelfNormalizedIPS(Estimator):
    """Divides by the sum of the weights: sum(w r) / sum(w).

    It is biased in short logs; the bias vanishes as the log grows.

    Source: Swaminathan & Joachims, The self-normalized estimator (2015).
    """

    self_normalized = True

    def _change(self, weights: Floats, probability: Floats) -> Floats:
        return weights

    def _derivative(self, weights: Floats) -> Floats:
        return np.ones_like(weights)


class DirectMethod(Estimator):
    """Averages the predictions alone: mean(sum_a pi(a | x) q(x, a)).

    It is as biased as the predictions.

    Source: Beygelzimer & Langford, The offset tree (2009).
    """

    needs_predictions = True

    def _change(self, weights: Floats, probability: Floats) -> Floats:
        return np.zeros_like(weights)

    def _derivative(self, weights: Floats) -> Floats:
        return np.zeros_like(weights)


class DoublyRobust(InversePropensityScoring):
    """Corrects predictions: mean(sum_a pi(a | x) q(x, a) + min(w, max_weight) (r - q)).

    Without clipping, it is unbiased if the propensities or the predictions are right. With
    clipping, it is unbiased only if the predictions are.

    Args:
        max_weight: larger weights are clipped to this value, at least 0. By default, no weight is
            clipped.

    Source: Dudik, Langford & Li, Doubly robust policy evaluation and learning (2011).
    """

    needs_predictions = True


class SelfNormalizedDR(SelfNormalizedIPS):
    """Divides corrections by weights: mean(sum_a pi(a | x) q(x, a)) + sum(w (r - q)) / sum(w).

    It is biased in short logs; the bias vanishes as the log grows.

    Source: Kallus & Uehara, Intrinsically efficient off-policy evaluation (2019).
    """

    needs_predictions = True


@dataclasses.dataclass(frozen=True)
class SwitchDR(Estimator):
    """Doubly robust, but with predictions alone where w > threshold.

    There it is as biased as the predictions are. There is a warning if that is more than noise.

    Args:
        threshold: the largest weight that is used. By default, all are.

    Source: Wang, Agarwal & Dudik, Optimal and adaptive off-policy evaluation (2017).
    """

    needs_predictions = True
    threshold: float = math.inf

    def __post_init__(self) -> None:
        _check_limit("threshold", self.threshold)

    def _change(self, weights: Floats, probability: Floats) -> Floats:
        return np.where(weights <= self.threshold, weights, 0.0)


@dataclasses.dataclass(frozen=True)
class DRWithOptimisticShrinkage(Estimator):
    """Doubly robust with the weights shrinkage w / (w^2 + shrinkage).

    The smaller the weights become, the more it is biased as the predictions are. There is a warning
    if that is more than noise.

    Args:
        shrinkage: at least 0; 0 gives the direct method, infinity gives `DoublyRobust`.

    Source: Su et al., Doubly robust off-policy evaluation with shrinkage (2020).
    """

    needs_predictions = True
    shrinkage: float = math.inf

    def __post_init__(self) -> None:
        _check_limit("shrinkage", self.shrinkage)

    def _change(self, weights: Floats, probability: Floats) -> Floats:
        shrinkage = max(self.shrinkage, SMALLEST)
        return np.asarray(weights / (1.0 + weights**2 / shrinkage))

    def _derivative(self, weights: Floats) -> Floats:
        share = 1.0 / (1.0 + weights**2 / max(self.shrinkage, SMALLEST))
        return np.asarray(share * (2.0 * share - 1.0))


@dataclasses.dataclass(frozen=True)
class SubGaussianIPS(Estimator):
    """Inverse propensity scoring with the weights w / (1 - shrinkage + shrinkage w).

    It is biased towards the mean reward of the log, the more the larger the shrinkage is. There is
    a warning if that is more than noise.

    Args:
        shrinkage: from 0, which changes nothing, to 1, which makes all weights 1.

    Source: Metelli, Russo & Restelli, Subgaussian and differentiable importance sampling (2021).
    """

    shrinkage: float = 0.0

    def __post_init__(self) -> None:
        check_number("shrinkage", self.shrinkage, 0.0, 1.0)

    def _change(self, weights: Floats, probability: Floats) -> Floats:
        denominator = 1.0 - self.shrinkage + self.shrinkage * weights
        return np.divide(weights, denominator, out=np.zeros_like(weights), where=weights > 0.0)

    def _derivative(self, weights: Floats) -> Floats:
        denominator = 1.0 - self.shrinkage + self.shrinkage * weights
        slope = (1.0 - self.shrinkage) / np.maximum(denominator, SMALLEST) ** 2
        return np.asarray(slope)


class SubGaussianDR(SubGaussianIPS):
    """Doubly robust with the weights of `SubGaussianIPS`, from the same source.

    It is biased as the predictions are, where weights become smaller.
    """

    needs_predictions = True


def _compare_own(log: BanditLog, rows: WeighedRows) -> Floats | None:
    """Returns columns that compare each row's own propensity with that of a mixture: [5, n].

    They are None if the log has no other propensity.
    """
    if log.own_propensity is None:
        return None
    own = free_columns(rows.probability / log.own_propensity, rows.residual)
    return compared_columns(own, rows.weights[np.newaxis], rows.residual)


def _check_limit(name: str, value: float) -> None:
    """Raises an error if a parameter is not a number from 0 to infinity."""
    if value != math.inf:
        check_number(name, value, 0.0)
