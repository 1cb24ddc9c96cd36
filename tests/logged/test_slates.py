"""Slate estimators, on a table worked out by hand and against click models that know the truth."""

import operator
from itertools import permutations

import numpy as np
import pytest

from bandit_envs import CascadeBandit, PositionBasedBandit, RandomSlatePolicy, StepDriver
from bandit_envs.logged import (
    RewardInteractionIPS,
    SlateIndependentIPS,
    SlateProbabilities,
    SlateStandardIPS,
)
from bandit_envs.nests import map_structure
from tests.statistical import is_near

K = 4
S = 3
ATTRACTIONS = np.array([0.5, 0.4, 0.3, 0.2])
LOOKS = np.array([0.9, 0.6, 0.3])
BEST = [0, 1, 2]
SLATES = np.array(list(permutations(range(K), S)))


def probabilities(action):
    """Of a policy that shows the best slate with probability 0.6, and else a random one."""
    best = SlateProbabilities.of_slates(np.broadcast_to(BEST, action.shape), action)
    return SlateProbabilities(
        slate=0.6 * best.slate + 0.4 / 24,
        slot=0.6 * best.slot + 0.4 / 4,
        prefix=0.6 * best.prefix + 0.4 * np.array([1 / 4, 1 / 12, 1 / 24]),
    )


def clicks(model, slates):
    """Returns the probability of a click on each slot of slates [m, S]."""
    attraction = ATTRACTIONS[slates]
    if model == "position":
        return LOOKS * attraction
    return attraction * np.cumprod(1 - np.insert(attraction[:, :-1], 0, 0, axis=1), axis=1)


def truth(model):
    return 0.6 * clicks(model, np.array([BEST])).sum() + 0.4 * clicks(model, SLATES).sum() / 24


def recorded(model, rows):
    env = CascadeBandit(ATTRACTIONS, S, 2000, seed=0)
    if model == "position":
        env = PositionBasedBandit(ATTRACTIONS, LOOKS, 2000, seed=0)
    policy = RandomSlatePolicy(S, num_actions=K, batch_size=2000, seed=1)
    steps = []
    StepDriver(env, policy, [steps.append], rows // 2000, emit_log_probability=True).run()
    return map_structure(lambda *leaves: np.concatenate(leaves), *steps)


def estimated(estimator, log):
    return estimator.estimate(log.reward, log.policy_info, probabilities(log.action))


def by_hand():
    old = SlateProbabilities([0.5, 0.1], [[0.5, 0.5], [0.2, 0.4]], [[0.5, 0.5], [0.2, 0.1]])
    new = SlateProbabilities([0.25, 0.2], [[0.25, 0.5], [0.4, 0.2]], [[0.25, 0.25], [0.4, 0.2]])
    return [[1, 2], [3, 4]], old, new


@pytest.mark.parametrize(
    ("estimator", "values"),
    [
        (SlateStandardIPS(), (0.5 * 3, 2 * 7)),
        (SlateIndependentIPS(), (0.5 + 2, 2 * 3 + 0.5 * 4)),
        (RewardInteractionIPS(), (0.5 + 0.5 * 2, 2 * 3 + 2 * 4)),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.filterwarnings("ignore:.*the estimate is unreliable")
def test_values_are_those_worked_out_by_hand(estimator, values):
    estimate = estimator.estimate(*by_hand())
    assert estimate.value == pytest.approx(np.mean(values), abs=1e-12)
    assert estimate.standard_error == pytest.approx(abs(values[1] - values[0]) / 2, abs=1e-12)
    assert estimate.max_weight == 2.0


UNBIASED = pytest.mark.parametrize(
    ("model", "estimator"),
    [
        ("position", SlateStandardIPS()),
        ("position", SlateIndependentIPS()),
        ("position", RewardInteractionIPS()),
        ("cascade", SlateStandardIPS()),
        ("cascade", RewardInteractionIPS()),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)


@UNBIASED
def test_estimates_of_a_long_log_are_near_the_truth(model, estimator):
    log = recorded(model, 40_000)
    estimate = estimated(estimator, log)
    assert abs(estimate.value - truth(model)) < 4 * estimate.standard_error


@UNBIASED
@pytest.mark.slow
def test_estimates_are_unbiased_and_intervals_cover_the_truth(model, estimator):
    log = recorded(model, 500 * 2000)
    known = truth(model)
    values = []
    covered = []
    for start in range(0, 500 * 2000, 2000):
        rows = slice(start, start + 2000)
        estimate = estimated(estimator, map_structure(operator.itemgetter(rows), log))
        low, high = estimate.normal_interval(0.95)
        values.append(estimate.value)
        covered.append(low <= known <= high)
    assert is_near(values, known, number=4.0)
    assert 0.92 <= np.mean(covered) <= 0.975


@pytest.mark.filterwarnings("ignore:the estimate is about")
def test_slots_weighed_one_by_one_mislead_where_users_stop_at_a_click():
    log = recorded("cascade", 100_000)
    estimate = estimated(SlateIndependentIPS(), log)
    assert abs(estimate.value - truth("cascade")) > 10 * estimate.standard_error


def test_fewer_slots_in_a_weight_make_a_narrower_interval():
    log = recorded("position", 20_000)
    errors = [
        estimated(estimator, log).standard_error
        for estimator in (SlateIndependentIPS(), RewardInteractionIPS(), SlateStandardIPS())
    ]
    assert errors == sorted(errors)


def test_the_policy_that_made_a_log_has_weights_of_one():
    log = recorded("cascade", 2000)
    known = log.policy_info
    for estimator in (SlateStandardIPS(), SlateIndependentIPS(), RewardInteractionIPS()):
        estimate = estimator.estimate(log.reward, known, known)
        assert estimate.value == pytest.approx(log.reward.sum(axis=1).mean())
        assert (estimate.max_weight, estimate.effective_sample_size) == (1.0, 2000.0)
    np.testing.assert_allclose(known.slate, 1 / 24)
    np.testing.assert_allclose(known.slot, 1 / 4)
    np.testing.assert_allclose(known.prefix, [[1 / 4, 1 / 12, 1 / 24]] * 2000)


def test_wrong_slate_propensities_are_warned_of():
    log = recorded("cascade", 2000)
    wrong = log.policy_info._replace(slot=0.5 * log.policy_info.slot)
    with pytest.warns(UserWarning, match="mean weight"):
        SlateIndependentIPS().estimate(log.reward, wrong, log.policy_info)
