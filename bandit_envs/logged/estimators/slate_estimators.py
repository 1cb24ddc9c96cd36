"""Off-policy estimators for slates: several items at once, with a reward for each slot.

Experimental: these names may change in any minor version.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Floats, check_array
from bandit_envs.base.checks import short_repr
from bandit_envs.base.slates import SlateProbabilities
from bandit_envs.logged.columns import (
    as_column,
    check_distributions,
    check_each,
    check_reward_range,
)
from bandit_envs.logged.estimators.estimate import Estimate
from bandit_envs.logged.estimators.sums.ratio_sums import compared_columns, free_columns
from bandit_envs.logged.estimators.terms import Terms
from bandit_envs.logged.rows.units import as_units

MAX_WEIGHT = 1e40
"""The largest weight, so that no square of a weighted reward overflows."""


@dataclasses.dataclass(frozen=True)
class SlateEstimator:
    """Estimates the sum of a slate's rewards under a policy.

    Experimental: it may change in any minor version.

    With the rewards r_is of S slots, every estimator is of the form

        value = mean(sum_s w_is r_is)    or, self-normalised,    sum_s mean(w_is r_is) / mean(w_is)

    Estimators differ in the probabilities whose ratio is the weight w_is of a slot. If a whole
    slate has one weight, its rewards are summed first. A subclass names the probabilities that it
    compares: a field of `SlateProbabilities`. Those of whole slates test what the others assume;
    with them, intervals contain that of a self-normalised `SlateStandardIPS`.

    Args:
        self_normalized: whether it divides by the mean of the weights of each slot. Where it is
            unbiased without, its bias vanishes as the log grows.
    """

    _field: ClassVar[str]

    self_normalized: bool = dataclasses.field(default=False, kw_only=True)

    def estimate(
        self,
        reward: ArrayLike,
        propensity: SlateProbabilities,
        probabilities: SlateProbabilities,
        *,
        unit: ArrayLike | None = None,
    ) -> Estimate:
        """Estimates what a policy would have earned, from n logged slates.

        Args:
            reward: [n, S], of every slot.
            propensity: the probabilities with which the slates were shown, above 0.
            probabilities: those with which the policy would show them.
            unit: [n], the unit of each slate, as `SlateLog.unit`; None if each is one of its own.

        Warns:
            UserWarning: the effective sample size is below 200, weights have a heavy tail, or their
                mean is not near 1; or, if probabilities of whole slates are given, the estimate
                differs from that of `SlateStandardIPS` by more than noise.
        """
        terms = self.terms(reward, propensity, probabilities, unit=unit)
        return terms.sums().estimate([terms], stacklevel=3)

    def terms(
        self,
        reward: ArrayLike,
        propensity: SlateProbabilities,
        probabilities: SlateProbabilities,
        *,
        unit: ArrayLike | None = None,
    ) -> Terms:
        """Returns what each slate adds to the estimate; `terms.sums()` of parts of a log merge.

        Args:
            reward: [n, S], as for `estimate`, of any number of slates.
            propensity: as for `estimate`.
            probabilities: as for `estimate`.
            unit: as for `estimate`.
        """
        rewards = check_reward_range("reward", as_column("reward", reward))
        slots = self.weigh(propensity, probabilities, rewards.shape)
        if self.self_normalized:
            parts = rewards if self._field != "slate" else rewards.sum(axis=1, keepdims=True)
            weighted = (slots * parts).T
        else:
            weighted = (slots * rewards).sum(axis=1)
        terms = Terms(
            direct=np.zeros(len(rewards)),
            weighted=weighted,
            weights=slots.T,
            normaliser=slots.T if self.self_normalized else None,
            estimator=repr(self),
            unit=None if unit is None else as_units(unit),
        )
        if self._field == "slate":
            return terms
        return _compare_slates(terms, rewards, propensity, probabilities)

    def weigh(
        self,
        propensity: SlateProbabilities,
        probabilities: SlateProbabilities,
        shape: tuple[int, ...],
    ) -> Floats:
        """Returns the weights of n slates of S slots: [n, S], or [n, 1] for whole slates."""
        logged = self._read("propensity", propensity, shape)
        check_each(f"propensity.{self._field}", logged, logged > 0.0, "above 0")
        evaluated = self._read("probabilities", probabilities, shape)
        with np.errstate(over="ignore"):
            weights = evaluated / logged
        check_each("the weight", weights, weights <= MAX_WEIGHT, f"at most {MAX_WEIGHT:g}")
        return weights.reshape(len(weights), -1)

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


def _compare_slates(
    terms: Terms,
    rewards: Floats,
    propensity: SlateProbabilities,
    probabilities: SlateProbabilities,
) -> Terms:
    """Returns terms with what tests their assumption, if probabilities of whole slates are known.

    Args:
        terms: of an estimator that weighs slots.
        rewards: [n, S], of every slot.
        propensity: the probabilities with which the slates were shown.
        probabilities: those with which the policy would show them.
    """
    if propensity.slate is None or probabilities.slate is None:
        return terms
    whole = SlateStandardIPS().weigh(propensity, probabilities, rewards.shape)
    free = free_columns(whole[:, 0], rewards.sum(axis=1))
    compared = compared_columns(free, terms.weights, rewards.T)
    return dataclasses.replace(terms, free=free, compared=compared)


class SlateStandardIPS(SlateEstimator):
    """Weighs every slot by the ratio of the probabilities of the whole slate.

    Experimental: it may change in any minor version.

    It is unbiased whatever users do, but its variance grows fastest with the number of slots.

    Source: Li et al., Offline evaluation of ranking policies with click models (2018); Swaminathan
    & Joachims, The self-normalized estimator (2015).
    """

    _field = "slate"


class SlateIndependentIPS(SlateEstimator):
    """Weighs a slot by the ratio of the probabilities that it shows its item.

    Experimental: it may change in any minor version.

    It is unbiased if a slot's reward depends on its own item only, as in `PositionBasedBandit`.

    Source: as for `SlateStandardIPS`.
    """

    _field = "slot"


class RewardInteractionIPS(SlateEstimator):
    """Weighs a slot by the ratio of the probabilities of the slots down to it.

    Experimental: it may change in any minor version.

    It is unbiased if a slot's reward depends on its own item and on those above, as in
    `CascadeBandit`.

    Source: McInerney et al., Counterfactual evaluation of slate recommendations with sequential
    reward interactions (2020), which is self-normalised.
    """

    _field = "prefix"


class CascadeDR:
    """Corrects predictions slot by slot, with the weights of `RewardInteractionIPS`.

    Experimental: it may change in any minor version.

        value = mean(sum_s w_is (r_is - Q_s(a_is)) + w_i,s-1 sum_a pi_s(a) Q_s(a)),    w_i0 = 1

    Q_s(a) is the predicted sum of the rewards of slot s and all below, if slot s shows the item a
    and the policy fills those below. Under the assumption of `RewardInteractionIPS` it is unbiased,
    whatever Q is.

    Source: Kiyohara et al., Doubly robust off-policy evaluation for ranking policies under the
    cascade behavior model (2022).
    """

    def estimate(
        self,
        reward: ArrayLike,
        propensity: SlateProbabilities,
        probabilities: SlateProbabilities,
        *,
        action: ArrayLike,
        slot_probabilities: ArrayLike,
        predicted_rewards: ArrayLike,
        unit: ArrayLike | None = None,
    ) -> Estimate:
        """Estimates what a policy would have earned, from n logged slates.

        Args:
            reward: [n, S], of every slot.
            propensity: the probabilities with which the slates were shown, above 0.
            probabilities: those with which the policy would show them.
            action: [n, S], the items shown, from 0 to K - 1.
            slot_probabilities: [n, S, K], pi_s(a): with which the policy fills each slot, given the
                items shown above it.
            predicted_rewards: [n, S, K], Q_s(a).
            unit: as for `SlateEstimator.estimate`.

        Warns:
            UserWarning: as `SlateEstimator.estimate`.
        """
        rewards = check_reward_range("reward", as_column("reward", reward))
        slots = RewardInteractionIPS().weigh(propensity, probabilities, rewards.shape)
        tables = as_column("slot_probabilities", slot_probabilities, ndim=3)
        check_array("slot_probabilities has", tables, (*rewards.shape, tables.shape[2]))
        flat = tables.reshape(-1, tables.shape[2])
        check_distributions("slot_probabilities", flat)
        predicted = as_column("predicted_rewards", predicted_rewards, ndim=3)
        check_array("predicted_rewards has", predicted, tables.shape)
        check_reward_range("predicted_rewards", predicted)
        items = as_column("action", action, "iu", np.int64)
        check_array("action has", items, rewards.shape)
        is_item = (items >= 0) & (items < tables.shape[2])
        check_each("action", items, is_item, f"0 to {tables.shape[2] - 1}")
        of_items = np.take_along_axis(predicted, items[:, :, np.newaxis], axis=2)[:, :, 0]
        above = np.column_stack([np.ones(len(slots)), slots[:, :-1]])
        direct = (above * (tables * predicted).sum(axis=2)).sum(axis=1)
        weighted = (slots * (rewards - of_items)).sum(axis=1)
        terms = Terms(
            direct=direct,
            weighted=weighted,
            weights=slots.T,
            unit=None if unit is None else as_units(unit),
        )
        terms = _compare_slates(terms, rewards, propensity, probabilities)
        return terms.sums().estimate([terms], stacklevel=3)


class SlateMoments(NamedTuple):
    """How often a policy shows items in slots, alone and in pairs; rows may share them.

    Experimental: it may change in any minor version.

    Fields:
        single: [n, S K] or [1, S K], the probability of item a in slot s, at s K + a.
        pairs: [n, S K, S K] or [1, S K, S K], of two items in two slots.
    """

    single: Floats
    pairs: Floats

    @classmethod
    def of_slots(cls, tables: ArrayLike) -> SlateMoments:
        """Returns those of a policy that fills its slots independently, and may repeat items.

        Args:
            tables: [n, S, K], the probability of every item in every slot.
        """
        slots = as_column("tables", tables, ndim=3)
        size, num_slots, num_items = slots.shape
        check_distributions("tables", slots.reshape(-1, num_items))
        single = slots.reshape(size, -1)
        pairs = single[:, :, np.newaxis] * single[:, np.newaxis, :]
        for slot in range(num_slots):
            place = slice(slot * num_items, (slot + 1) * num_items)
            pairs[:, place, place] = slots[:, slot, :, np.newaxis] * np.eye(num_items)
        return cls(single, pairs)

    @classmethod
    def of_slates(cls, slates: ArrayLike, probabilities: ArrayLike, num_items: int) -> SlateMoments:
        """Returns those of a policy that shows some slates with known probabilities.

        Args:
            slates: [m, S], all that it may show.
            probabilities: [n, m], of each; rows sum to 1.
            num_items: K.
        """
        indicators = _indicate(slates, num_items)
        table = as_column("probabilities", probabilities)
        check_array("probabilities has", table, (len(table), len(indicators)))
        check_distributions("probabilities", table)
        pairs = np.einsum("nm,mi,mj->nij", table, indicators, indicators, optimize=True)
        return cls(np.asarray(table @ indicators), pairs)


class PseudoInverse:
    """Weighs the reward of a whole slate by how it covers the items that the policy shows.

    Experimental: it may change in any minor version.

        value = mean(R_i theta_i^T G_i^+ s_i)

    s_i [S K] indicates the items of the slate shown; theta is its mean under the policy, and G the
    mean of s s^T under the logging policy, of which G^+ is the pseudo-inverse. It is unbiased if
    the mean reward is a sum of effects of items in slots, and the logging policy may show each item
    where the policy does. Weights may be negative.

    Source: Swaminathan et al., Off-policy evaluation for slate recommendation (2017).

    >>> tables = np.full((1, 2, 3), 1 / 3)
    >>> uniform = SlateMoments.of_slots(tables)
    >>> first = SlateMoments.of_slots(np.eye(3)[np.newaxis, [0, 1]])
    >>> slates = np.random.default_rng(0).integers(3, size=(900, 2))
    >>> reward = slates.sum(axis=1)
    >>> bool(abs(PseudoInverse().estimate(reward, slates, uniform, first).value - 1.0) < 0.3)
    True
    """

    def estimate(
        self,
        reward: ArrayLike,
        slates: ArrayLike,
        logging: SlateMoments,
        policy: SlateMoments,
        *,
        unit: ArrayLike | None = None,
    ) -> Estimate:
        """Estimates the mean reward of a slate that a policy would have earned.

        Args:
            reward: [n], of whole slates.
            slates: [n, S], the items shown.
            logging: of the logging policy.
            policy: of the policy, whose pairs are not used.
            unit: as for `SlateEstimator.estimate`.

        Warns:
            UserWarning: the effective sample size is below 200, weights have a heavy tail, or their
                mean is not near 1.
        """
        rewards = check_reward_range("reward", as_column("reward", reward, ndim=1))
        num_slots = np.shape(slates)[-1]
        width = logging.single.shape[-1]
        shown = _indicate(slates, width // num_slots)
        check_array("slates has", shown, (len(rewards), width))
        inverse = np.linalg.pinv(logging.pairs, hermitian=True)
        directions = (policy.single[:, np.newaxis] @ inverse)[:, 0]  # one row stands for all
        weights = np.asarray((directions * shown).sum(axis=1), np.float64)
        terms = Terms(
            direct=np.zeros_like(rewards),
            weighted=check_reward_range("the weighted reward", weights * rewards),
            weights=weights[np.newaxis],
            unit=None if unit is None else as_units(unit),
        )
        return terms.sums().estimate([terms], stacklevel=3)


def _indicate(slates: ArrayLike, num_items: int) -> Floats:
    """Returns which items stand in which slots of slates [m, S]: [m, S K], 0 or 1."""
    items = as_column("slates", slates, "iu", np.int64)
    is_item = (items >= 0) & (items < num_items)
    check_each("slates", items, is_item, f"0 to {num_items - 1}")
    return np.asarray(np.eye(num_items)[items].reshape(len(items), -1))
