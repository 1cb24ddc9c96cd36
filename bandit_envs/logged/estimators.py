"""Off-policy estimators: what another policy would have earned, from logged data.

With logged actions a_i, rewards r_i and propensities p_i, the policy's probabilities pi, predicted
rewards q and weights w_i = pi(a_i | x_i) / p_i, every estimator is of the form

    value = mean(c) + mean(u) / mean(v)

where v = 1 unless the estimator normalises itself.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs.arrays import Floats, as_numbers, check_array
from bandit_envs.base.checks import check_number, short_repr
from bandit_envs.logged.estimates import BLOCK, Estimate
from bandit_envs.logged.log import BanditLog, check_distributions, check_each, column
from bandit_envs.trajectories import SlateProbabilities


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
        chances, predicted = _table("probabilities", probabilities, log), None
        if self.needs_predictions:
            if predicted_rewards is None:
                raise ValueError(f"{type(self).__name__} needs predicted_rewards")
            predicted = _table("predicted_rewards", predicted_rewards, log)
        terms = np.empty((1 + self.self_normalised * (1 + self.needs_predictions), size))
        weights, lost = np.empty((1, size)), 0.0
        for start in range(0, size, BLOCK):  # blocks of rows stay in the processor's cache
            rows = slice(start, start + BLOCK)
            block = np.ascontiguousarray(chances[rows], np.float64)
            check_distributions("probabilities", block, start)
            places = log.action[rows] + np.arange(0, block.size, num_actions)
            probability, residual, direct = block.take(places), log.reward[rows], []
            if predicted is not None:
                guess = np.ascontiguousarray(predicted[rows], np.float64)
                mean = np.einsum("nk,nk->n", block, guess)
                check_each("predicted_rewards", mean, np.isfinite(mean), "finite numbers", start)
                residual = residual - guess.take(places)
                direct = [mean]
            weights[0, rows] = old = probability / log.propensity[rows]
            new = self._weights(old, probability)
            lost += float((old - new) @ residual)
            gain = new * residual
            terms[:, rows] = [*direct, gain, new] if self.self_normalised else [sum(direct, gain)]
        never = np.flatnonzero(np.bincount(log.action, minlength=num_actions) == 0)
        never = never[chances[:, never].any(axis=0)]
        if never.size:
            found = f"the policy takes actions that were never logged: {never[:10].tolist()}"
            warnings.warn(f"{found}; the log cannot tell their value", stacklevel=2)
        return Estimate.of(terms, weights, 0.0 if self.self_normalised else lost)

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
    """Averages weighted rewards: mean(min(w, max_weight) r).

    Source: Horvitz & Thompson (1952); Strehl et al., Learning from logged exploration data (2010).
    """

    max_weight: float = math.inf

    def _weights(self, weights: Floats, probability: Floats) -> Floats:
        return np.minimum(weights, self.max_weight)


class SelfNormalizedIPS(Estimator):
    """Divides by the sum of the weights: sum(w r) / sum(w).

    Source: Swaminathan & Joachims, The self-normalized estimator (2015).
    """

    self_normalised = True


class DirectMethod(Estimator):
    """Averages the predictions alone: mean(sum_a pi(a | x) q(x, a)).

    Source: Beygelzimer & Langford, The offset tree (2009).
    """

    needs_predictions = True

    def _weights(self, weights: Floats, probability: Floats) -> Floats:
        return np.zeros_like(weights)


class DoublyRobust(InversePropensityScoring):
    """Corrects predictions: mean(sum_a pi(a | x) q(x, a) + min(w, max_weight) (r - q)).

    Source: Dudik, Langford & Li, Doubly robust policy evaluation and learning (2011).
    """

    needs_predictions = True


class SelfNormalizedDR(SelfNormalizedIPS):
    """Divides corrections by weights: mean(sum_a pi(a | x) q(x, a)) + sum(w (r - q)) / sum(w).

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
        return np.asarray(weights / (1.0 + weights**2 / max(self.shrinkage, 1e-200)))


@dataclasses.dataclass(frozen=True)
class SubGaussianIPS(Estimator):
    """Inverse propensity scoring with the weights w / (1 - shrinkage + shrinkage w).

    Source: Metelli, Russo & Restelli, Subgaussian and differentiable importance sampling (2021).
    """

    shrinkage: float = 0.0
    _largest = 1.0

    def _weights(self, weights: Floats, probability: Floats) -> Floats:
        bottom = 1.0 - self.shrinkage + self.shrinkage * weights
        return np.asarray(weights / np.maximum(bottom, 1e-300))


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
    found = [(each, each.estimate(log, probabilities, predicted_rewards)) for each in estimators]
    return min(found, key=lambda pair: pair[1].standard_error ** 2 + pair[1].bias ** 2)


class SlateEstimator:
    """Estimates the sum of a slate's rewards under a policy: mean(sum_s w_s r_s).

    Estimators differ in the probabilities whose ratio is the weight w_s of a slot.
    """

    _kind: ClassVar[str]

    def estimate(
        self, reward: ArrayLike, propensity: SlateProbabilities, probabilities: SlateProbabilities
    ) -> Estimate:
        """Estimates what a policy would have earned, from n logged slates.

        Args:
            reward: [n, S], of every slot.
            propensity: the probabilities with which the slates were shown, above 0.
            probabilities: those with which the policy would show them.
        """
        paid = column("reward", reward)
        check_each("reward", paid, np.isfinite(paid), "finite numbers")
        old = self._table("propensity", propensity, paid.shape)
        check_each(f"propensity.{self._kind}", old, old > 0.0, "above 0")
        weights = (self._table("probabilities", probabilities, paid.shape) / old).T
        weights = weights.reshape(-1, len(paid))
        return Estimate.of((weights * paid.T).sum(axis=0)[np.newaxis], weights)

    def _table(self, name: str, of_slates: SlateProbabilities, shape: tuple[int, ...]) -> Floats:
        if not isinstance(of_slates, SlateProbabilities):
            raise TypeError(f"{name} is {short_repr(of_slates)}; expected SlateProbabilities")
        label, given = f"{name}.{self._kind}", getattr(of_slates, self._kind)
        if given is None:
            raise ValueError(f"{label} is None; {type(self).__name__} needs it")
        expected = shape[:1] if self._kind == "slate" else shape
        table = check_array(f"{label} has", column(label, given, ndim=len(expected)), expected)
        check_each(label, table, (table >= 0.0) & (table <= 1.0), "0 to 1")
        return table


class SlateStandardIPS(SlateEstimator):
    """Weighs every slot by the ratio of the probabilities of the whole slate.

    It is unbiased whatever users do, but its variance grows fastest with the number of slots.

    Source: Li et al., Offline evaluation of ranking policies with click models (2018).
    """

    _kind = "slate"


class SlateIndependentIPS(SlateEstimator):
    """Weighs a slot by the ratio of the probabilities that it shows its item.

    It is unbiased if a slot's reward depends on its own item only, as in `PositionBasedBandit`.

    Source: as for `SlateStandardIPS`.
    """

    _kind = "slot"


class RewardInteractionIPS(SlateEstimator):
    """Weighs a slot by the ratio of the probabilities of the slots down to it.

    It is unbiased if a slot's reward depends on its own item and on those above, as in
    `CascadeBandit`.

    Source: McInerney et al., Counterfactual evaluation of slate recommendations with sequential
    reward interactions (2020), without its normalisation.
    """

    _kind = "prefix"


def _table(name: str, value: ArrayLike, log: BanditLog) -> NDArray[Any]:
    table, shape = as_numbers(f"{name} is", value), (len(log), log.num_actions)
    if table.shape != shape:
        raise ValueError(f"{name} has shape {table.shape}; expected {shape}")
    return table
