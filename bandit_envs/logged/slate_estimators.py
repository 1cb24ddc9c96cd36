"""Off-policy estimators for slates: several items at once, with a reward for each slot.

With the rewards r_is of S slots, every estimator is of the form

    value = mean(sum_s w_is r_is)

Estimators differ in the probabilities whose ratio is the weight w_is of a slot.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Floats, check_array
from bandit_envs.base.checks import short_repr
from bandit_envs.logged.columns import as_column, check_each, check_reward_range
from bandit_envs.logged.estimate import Estimate, Terms
from bandit_envs.trajectories import SlateProbabilities

MAX_WEIGHT = 1e40
"""The largest weight, so that no square of a weighted reward overflows."""


class SlateEstimator:
    """Estimates the sum of a slate's rewards under a policy.

    A subclass names the probabilities that it compares: a field of `SlateProbabilities`.
    """

    _field: ClassVar[str]

    def estimate(
        self, reward: ArrayLike, propensity: SlateProbabilities, probabilities: SlateProbabilities
    ) -> Estimate:
        """Estimates what a policy would have earned, from n logged slates.

        Args:
            reward: [n, S], of every slot.
            propensity: the probabilities with which the slates were shown, above 0.
            probabilities: those with which the policy would show them.

        Warns:
            UserWarning: the effective sample size is below 100, or the mean weight is not near 1.
        """
        terms = self.terms(reward, propensity, probabilities)
        return terms.sums().estimate([terms], stacklevel=3)

    def terms(
        self, reward: ArrayLike, propensity: SlateProbabilities, probabilities: SlateProbabilities
    ) -> Terms:
        """Returns what each slate adds to the estimate; `terms.sums()` of parts of a log merge.

        Args:
            reward: [n, S], as for `estimate`, of any number of slates.
            propensity: as for `estimate`.
            probabilities: as for `estimate`.
        """
        rewards = check_reward_range("reward", as_column("reward", reward))
        logged = self._read("propensity", propensity, rewards.shape)
        check_each(f"propensity.{self._field}", logged, logged > 0.0, "above 0")
        evaluated = self._read("probabilities", probabilities, rewards.shape)
        with np.errstate(over="ignore"):
            weights = evaluated / logged
        check_each("the weight", weights, weights <= MAX_WEIGHT, f"at most {MAX_WEIGHT:g}")
        slots = weights.reshape(len(rewards), -1)  # [n, S], or [n, 1] for whole slates
        weighted = (slots * rewards).sum(axis=1)
        return Terms(direct=np.zeros(len(rewards)), weighted=weighted, weights=slots.T)

    def _read(self, name: str, given: SlateProbabilities, shape: tuple[int, ...]) -> Floats:
        """Returns the probabilities that are compared: [n], or [n, S] of slots."""
        if not isinstance(given, SlateProbabilities):
            raise TypeError(f"{name} is {short_repr(given)}; expected SlateProbabilities")
        label = f"{name}.{self._field}"
        value = getattr(given, self._field)
        if value is None:
            raise ValueError(f"{label} is None; {type(self).__name__} needs it")
        expected = shape[:1] if self._field == "slate" else shape
        table = as_column(label, value, ndim=len(expected))
        check_array(f"{label} has", table, expected)
        return check_each(label, table, (table >= 0.0) & (table <= 1.0), "0 to 1")


class SlateStandardIPS(SlateEstimator):
    """Weighs every slot by the ratio of the probabilities of the whole slate.

    It is unbiased whatever users do, but its variance grows fastest with the number of slots.

    Source: Li et al., Offline evaluation of ranking policies with click models (2018).
    """

    _field = "slate"


class SlateIndependentIPS(SlateEstimator):
    """Weighs a slot by the ratio of the probabilities that it shows its item.

    It is unbiased if a slot's reward depends on its own item only, as in `PositionBasedBandit`.

    Source: as for `SlateStandardIPS`.
    """

    _field = "slot"


class RewardInteractionIPS(SlateEstimator):
    """Weighs a slot by the ratio of the probabilities of the slots down to it.

    It is unbiased if a slot's reward depends on its own item and on those above, as in
    `CascadeBandit`.

    Source: McInerney et al., Counterfactual evaluation of slate recommendations with sequential
    reward interactions (2020), without its normalisation.
    """

    _field = "prefix"
