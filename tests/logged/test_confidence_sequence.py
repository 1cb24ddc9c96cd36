"""Confidence sequences: the published formula, and what they promise."""

import dataclasses

import numpy as np
import pytest

from bandit_envs.base.saving import load_state, save_state
from bandit_envs.logged import BanditLog, DRConfidenceSequence, IPSConfidenceSequence
from tests.cases import for_each

VALUES = np.array([0.2, 0.7, 1.0, 0.4, 0.9, 0.6, 0.8, 0.3, 1.0, 0.5])
WEIGHTS = np.array([2.0, 0.5, 0.0, 2.5, 1.0, 0.25, 1.5, 0.0, 1.5, 0.75])
REWARDS = np.array([0.5, 1.0, 0.2, 0.6, 0.9, 0.0, 0.4, 1.0, 0.7, 0.3])


def log_of(weights, rewards):
    """A log whose action 0 has these weights under the probabilities that are returned with it."""
    size = len(weights)
    probability = weights / 4.0
    log = BanditLog(np.ones((size, 1)), np.zeros(size, int), rewards, np.full(size, 0.25), 2)
    return log, np.column_stack([probability, 1.0 - probability])


def two_armed_logs(rng, runs, size):
    """Logs of a logger (0.3, 0.7), of a policy (0.8, 0.2) on Bernoulli arms with means 0.6, 0.3."""
    for _ in range(runs):
        action = (rng.random(size) < 0.7).astype(int)
        reward = rng.random(size) < np.where(action == 0, 0.6, 0.3)
        propensity = np.where(action == 0, 0.3, 0.7)
        log = BanditLog(np.ones((size, 1)), action, reward.astype(float), propensity, 2)
        yield log, np.tile([0.8, 0.2], (size, 1))


# The expected numbers are those of the sources' formula by an independent implementation.


def test_weights_of_one_give_the_empirical_bernstein_sequence():
    sequence = IPSConfidenceSequence()

    sequence.update(*log_of(np.ones(300), np.tile(VALUES, 30)))

    assert sequence.interval == pytest.approx((0.584811102, 0.695481546), abs=1e-9)


@pytest.mark.parametrize(("times", "lower"), [(10, 0.399896574), (100, 0.514003349)])
def test_lower_ends_of_weighted_rewards_are_those_of_the_formula(times, lower):
    sequence = IPSConfidenceSequence()

    bounds = sequence.update(*log_of(np.tile(WEIGHTS, times), np.tile(REWARDS, times)))

    assert bounds.lower[-1] >= lower
    assert bounds.lower[-1] == pytest.approx(lower, abs=3e-3)  # the largest of all so far


def test_the_interval_is_the_range_of_rewards_before_any_row():
    assert IPSConfidenceSequence(low=-1.0, high=3.0).interval == (-1.0, 3.0)


def test_weights_may_be_given_themselves_and_large_ones_announced():
    log, probabilities = log_of(np.tile(WEIGHTS, 20), np.tile(REWARDS, 20))
    whole = IPSConfidenceSequence().update(log, probabilities)
    bounds = IPSConfidenceSequence().add(np.tile(WEIGHTS, 20), np.tile(REWARDS, 20))
    np.testing.assert_array_equal(bounds.lower, whole.lower)
    np.testing.assert_array_equal(bounds.upper, whole.upper)
    rare = np.where(np.arange(500) % 10 == 0, 10.0, 0.0)
    rewards = np.tile(VALUES, 50)
    widths = []
    for usual in (1.0, 10.0):
        sequence = IPSConfidenceSequence(usual_weight=usual)
        sequence.add(rare, rewards)
        low, high = sequence.interval
        widths.append(high - low)
    assert widths[1] < 0.9 * widths[0]


def test_one_row_at_a_time_gives_the_same_numbers_as_all_at_once():
    log, probabilities = log_of(np.tile(WEIGHTS, 20), np.tile(REWARDS, 20))
    whole = IPSConfidenceSequence().update(log, probabilities)
    sequence = IPSConfidenceSequence()

    rows = [sequence.update(log[i : i + 1], probabilities[i : i + 1]) for i in range(len(log))]

    np.testing.assert_array_equal(np.concatenate([row.lower for row in rows]), whole.lower)
    np.testing.assert_array_equal(np.concatenate([row.upper for row in rows]), whole.upper)


def test_a_saved_sequence_goes_on_in_a_new_object(tmp_path):
    log, probabilities = log_of(np.tile(WEIGHTS, 20), np.tile(REWARDS, 20))
    whole = IPSConfidenceSequence().update(log, probabilities)
    sequence = IPSConfidenceSequence()
    sequence.update(log[:70], probabilities[:70])
    save_state(tmp_path / "state.npz", sequence.get_state())

    resumed = IPSConfidenceSequence()
    resumed.set_state(load_state(tmp_path / "state.npz"))
    rest = resumed.update(log[70:], probabilities[70:])

    np.testing.assert_array_equal(rest.lower, whole.lower[70:])
    np.testing.assert_array_equal(rest.upper, whole.upper[70:])


def test_rewards_of_another_range_move_and_stretch_the_intervals():
    log, probabilities = log_of(np.tile(WEIGHTS, 20), np.tile(REWARDS, 20))
    unit = IPSConfidenceSequence().update(log, probabilities)
    stretched, _ = log_of(np.tile(WEIGHTS, 20), 10.0 * np.tile(REWARDS, 20) - 5.0)

    bounds = IPSConfidenceSequence(low=-5.0, high=5.0).update(stretched, probabilities)

    np.testing.assert_allclose(bounds.lower, 10.0 * unit.lower - 5.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(bounds.upper, 10.0 * unit.upper - 5.0, rtol=0, atol=1e-12)


def test_predictions_of_the_mean_make_the_interval_narrower():
    rng = np.random.default_rng(0)
    log, probabilities = next(two_armed_logs(rng, 1, 5000))
    noisy = rng.uniform(-0.05, 0.05, log.reward.shape)
    rewards = np.where(log.action == 0, 0.6, 0.3) + noisy
    log = BanditLog(log.observation, log.action, rewards, log.propensity, 2)
    predicted = np.tile([0.6, 0.3], (len(log), 1))

    by_weights = IPSConfidenceSequence().update(log, probabilities)
    by_predictions = DRConfidenceSequence(3.0).update(log, probabilities, predicted)

    width = by_predictions.upper[-1] - by_predictions.lower[-1]
    assert width < 0.5 * (by_weights.upper[-1] - by_weights.lower[-1])


@pytest.mark.slow
def test_nearly_all_sequences_contain_the_value_at_every_time():
    rng = np.random.default_rng(1)
    value = 0.8 * 0.6 + 0.2 * 0.3
    predicted = np.tile([0.5, 0.5], (1000, 1))
    missed = np.zeros(2)
    for log, probabilities in two_armed_logs(rng, 400, 1000):
        all_bounds = [
            IPSConfidenceSequence().update(log, probabilities),
            DRConfidenceSequence(8.0 / 3.0).update(log, probabilities, predicted),
        ]
        for kind, bounds in enumerate(all_bounds):
            missed[kind] += bounds.lower.max() > value or bounds.upper.min() < value

    assert (missed <= 20).all()  # 5 % of 400 runs


def update_ips(rewards=0.5, **arguments):
    IPSConfidenceSequence(**arguments).update(*log_of(np.ones(2), np.full(2, rewards)))


def update_dr(predicted=0.5, weight=1.0, max_weight=2.0):
    sequence = DRConfidenceSequence(max_weight)
    sequence.update(*log_of(np.full(2, weight), np.full(2, 0.5)), np.full((2, 2), predicted))


@for_each(
    ("call", "arguments", "message"),
    [
        (update_ips, {"rewards": 1.5}, "reward is 1.5 in row 0; expected 0 to 1"),
        (update_ips, {"confidence": 1.0}, "confidence is 1"),
        (update_ips, {"low": 1.0, "high": 1.0}, "expected low < high"),
        (update_dr, {"predicted": -0.5}, "predicted_rewards is -0.5"),
        (update_dr, {"weight": 3.0}, "weight is 3.0 in row 0; expected at most max_weight, 2"),
        (update_dr, {"max_weight": 0.0}, "max_weight is 0"),
    ],
)
def test_what_breaks_the_promise_is_refused(call, arguments, message):
    with pytest.raises(ValueError, match=message):
        call(**arguments)


def test_a_refused_row_leaves_the_sequence_as_it_was():
    sequence = IPSConfidenceSequence()
    sequence.update(*log_of(np.ones(300), np.tile(VALUES, 30)))
    before = sequence.interval

    with pytest.raises(ValueError, match="reward"):
        sequence.update(*log_of(np.ones(1), np.full(1, 2.0)))

    assert sequence.interval == before


@pytest.mark.parametrize(
    "sequence", [IPSConfidenceSequence(), DRConfidenceSequence(max_weight=9.0)]
)
def test_propensities_of_a_mixture_are_refused(sequence):
    log, policy = log_of(WEIGHTS, REWARDS)
    mixed = dataclasses.replace(log, own_propensity=log.propensity)
    predicted = [] if isinstance(sequence, IPSConfidenceSequence) else [np.zeros((10, 2))]
    with pytest.raises(ValueError, match="of a mixture of logging policies; expected each row's"):
        sequence.update(mixed, policy, *predicted)
    assert sequence.interval == (0.0, 1.0)
