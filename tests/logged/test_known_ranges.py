"""Intervals for known ranges of rewards, and betting: published formulas, and what they promise."""

import numpy as np
import pytest

from bandit_envs.base.saving import load_state, save_state
from bandit_envs.logged import (
    BanditLog,
    DoublyRobust,
    DRConfidenceSequence,
    InversePropensityScoring,
    IPSConfidenceSequence,
)
from bandit_envs.logged.intervals import HedgedBetting, KnownRange, betting_interval
from bandit_envs.logged.intervals.influence import InfluenceSums
from bandit_envs.logged.intervals.sequence_bounds import SeenValues, find_betting_end, place_bets
from tests.cases import for_each
from tests.logged.known_logs import short_log
from tests.logged.test_confidence_sequence import REWARDS, VALUES, WEIGHTS, log_of

LOG_TERM = np.log(40.0)  # 2.5 % on each side


def last_end(x):
    """The lower end after the last of some values, of bets for all times."""
    bets, _ = place_bets(SeenValues(), x, LOG_TERM)
    return find_betting_end(x, bets.sizes, LOG_TERM)


def test_bets_are_those_of_the_formula():
    bets, _ = place_bets(SeenValues(), VALUES, LOG_TERM)
    expected = [6.524984656, 4.964285498, 4.034572465, 3.068212311]
    assert bets.sizes[:4] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("times", "low", "high"),
    [
        (1, 0.315943042, 0.872590760),
        (10, 0.558826814, 0.719529336),
        (30, 0.591391284, 0.690824145),
    ],
)
def test_ends_by_betting_are_those_of_an_independent_program(times, low, high):
    x = np.tile(VALUES, times)
    assert last_end(x) == pytest.approx(low, abs=1e-9)
    assert 1.0 - last_end(1.0 - x) == pytest.approx(high, abs=1e-9)


def test_ends_of_weighted_rewards_by_betting_have_known_values():
    known = {1: (0.200569277, 0.897242611), 10: (0.433346231, 0.696161522)}
    for times, (low, high) in known.items():
        weights = np.tile(WEIGHTS, times)
        rewards = np.tile(REWARDS, times)
        assert last_end(weights * rewards) == pytest.approx(low, abs=1e-9)
        assert 1.0 - last_end(weights * (1.0 - rewards)) == pytest.approx(high, abs=1e-9)


def test_a_hedged_sequence_is_three_quarters_as_wide_after_100_rows():
    rows = log_of(np.ones(100), np.tile(VALUES, 10))
    widths = []
    for bound in (None, HedgedBetting()):
        sequence = IPSConfidenceSequence(bound=bound)
        bounds = sequence.update(*rows)
        widths.append(bounds.upper[-1] - bounds.lower[-1])
    assert widths[1] / widths[0] == pytest.approx(0.759, abs=0.005)


def test_a_hedged_sequence_has_the_best_end_so_far_by_interpolation():
    x = np.tile(VALUES, 10)
    bounds = IPSConfidenceSequence(bound=HedgedBetting()).update(*log_of(np.ones(100), x))
    lows = np.maximum.accumulate([last_end(x[:size]) for size in range(1, 101)])
    highs = 1.0 - np.maximum.accumulate([last_end(1.0 - x[:size]) for size in range(1, 101)])
    assert bounds.lower == pytest.approx(lows, abs=2e-5)
    assert bounds.upper == pytest.approx(highs, abs=2e-5)


CHANCES = [0.5, 0.5, 0.25, 0.75, 0.4, 0.6, 0.2, 0.8, 0.5, 0.5]
POLICY = [0.8, 0.2, 0.6, 0.4, 0.7, 0.3, 0.5, 0.5, 0.3, 0.7]
PAID = [0.9, 0.3, 0.6, 0.4, 1.0, 0.2, 0.5, 0.6, 0.1, 0.8]
OF_LOGGED = [0.7, 0.4, 0.5, 0.5, 0.8, 0.3, 0.6, 0.5, 0.3, 0.6]
OF_OTHER = [0.4, 0.7, 0.6, 0.3, 0.3, 0.8, 0.4, 0.6, 0.6, 0.4]


def predicted_log(times):
    """A log of two actions, the probabilities of a policy, and predictions."""
    logger = np.tile(np.stack([CHANCES, 1.0 - np.array(CHANCES)], axis=1), (times, 1))
    policy = np.tile(np.stack([POLICY, 1.0 - np.array(POLICY)], axis=1), (times, 1))
    predicted = np.tile(np.stack([OF_LOGGED, OF_OTHER], axis=1), (times, 1))
    size = len(logger)
    observation = np.ones((size, 1))
    rewards = np.tile(PAID, times)
    log = BanditLog(
        observation,
        np.zeros(size, int),
        rewards,
        logger[:, 0],
        2,
        action_probabilities=logger,
    )
    return log, policy, predicted


def test_predictions_are_cut_where_weights_are_large():
    sequence = DRConfidenceSequence(1.0)
    values, _ = sequence._cut(*predicted_log(1))
    expected = [1.02, 0.54, 0.93, 0.326666667, 1.24, 0.44, 0.65, 0.5125, 0.39, 0.82]
    assert values == pytest.approx(expected, abs=1e-9)
    bets, _ = place_bets(SeenValues(), (values + 1.0) / 2.0, LOG_TERM)
    assert bets.sizes[:3] / 2.0 == pytest.approx([3.262492328, 2.308540497, 2.054769337], abs=1e-9)


@pytest.mark.parametrize(
    ("max_weight", "low", "high"),
    [
        (1.0, 0.557465412, 0.740308289),
        (0.5, 0.616423537, 0.676795580),
        (2.0, 0.444286532, 0.805433253),
    ],
)
def test_doubly_robust_ends_by_betting_are_those_of_an_independent_program(max_weight, low, high):
    sequence = DRConfidenceSequence(max_weight)
    scale = 1.0 + max_weight
    values, mirrored = sequence._cut(*predicted_log(10))
    ends = [last_end((x + max_weight) / scale) * scale - max_weight for x in (values, mirrored)]
    assert (ends[0], 1.0 - ends[1]) == pytest.approx((low, high), abs=1e-9)
    sequence = DRConfidenceSequence(max_weight, bound=HedgedBetting())
    sequence.update(*predicted_log(10))
    assert sequence.interval[0] >= low - 1e-5
    assert sequence.interval[1] <= high + 1e-5
    assert sequence.interval == pytest.approx((low, high), abs=0.02)  # the best so far


def test_a_hedged_sequence_goes_on_in_a_new_object(tmp_path):
    log, probabilities = log_of(np.tile(WEIGHTS, 20), np.tile(REWARDS, 20))
    whole = IPSConfidenceSequence(bound=HedgedBetting()).update(log, probabilities)
    first = IPSConfidenceSequence(bound=HedgedBetting())
    first.update(log[:70], probabilities[:70])
    save_state(tmp_path / "a.npz", first.get_state())
    second = IPSConfidenceSequence(bound=HedgedBetting())
    second.set_state(load_state(tmp_path / "a.npz"))
    rest = second.update(log[70:], probabilities[70:])
    assert rest.lower == pytest.approx(whole.lower[70:], abs=1e-12)
    assert rest.upper == pytest.approx(whole.upper[70:], abs=1e-12)
    for other in (None, HedgedBetting(501)):
        with pytest.raises(ValueError, match="with other arguments"):
            IPSConfidenceSequence(bound=other).set_state(second.get_state())


@pytest.mark.parametrize("bound", [None, HedgedBetting()], ids=["Bernstein", "betting"])
def test_ends_that_cross_are_warned_of(bound):
    rows = log_of(np.tile(1.5 * WEIGHTS, 300), np.tile(REWARDS, 300))  # their mean is 1.5
    with pytest.warns(UserWarning, match="have crossed"):
        IPSConfidenceSequence(bound=bound).update(*rows)


@pytest.mark.slow
def test_nearly_all_hedged_sequences_contain_the_value_at_every_time():
    rng = np.random.default_rng(0)
    missed = np.zeros(2, int)
    for _ in range(150):
        action = (rng.random(300) < 0.8).astype(int)
        reward = (rng.random(300) < np.where(action == 0, 0.6, 0.3)).astype(float)
        table = np.tile([0.2, 0.8], (300, 1))
        log = BanditLog(
            np.ones((300, 1)),
            action,
            reward,
            table[np.arange(300), action],
            2,
            action_probabilities=table,
        )
        policy = np.tile([0.7, 0.3], (300, 1))
        predicted = np.tile([0.6, 0.3], (300, 1))
        bound = HedgedBetting(201)
        bounds = [
            IPSConfidenceSequence(bound=bound).update(log, policy),
            DRConfidenceSequence(1.0, bound=bound).update(log, policy, predicted),
        ]
        value = 0.7 * 0.6 + 0.3 * 0.3
        missed += [bool(((each.lower > value) | (each.upper < value)).any()) for each in bounds]
    assert (missed <= 18).all()  # of 7.5 that are allowed on average


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_intervals_of_a_known_range_have_known_widths():
    log, policy, predicted = short_log()
    rows = {
        "ips": InversePropensityScoring().terms(log, policy).sums().influence_sums(),
        "dr": DoublyRobust().terms(log, policy, predicted).sums().influence_sums(),
    }
    known = {
        5.0: (2.400806978, 8.305256145, 7.525988795),
        12.0: (5.761936748, 18.529984959, 17.750717609),
    }
    for width, (hoeffding, of_ips, of_dr) in known.items():
        values = KnownRange(0.0, width)
        found = (
            values.hoeffding_interval(rows["ips"]),
            values.bernstein_interval(rows["ips"]),
            values.bernstein_interval(rows["dr"]),
        )
        halves = [(high - low) / 2.0 for low, high in found]
        assert halves == pytest.approx((hoeffding, of_ips, of_dr), abs=1e-9)
        assert np.mean(found[0]) == pytest.approx(rows["ips"].value)


def test_ranges_of_rows_follow_from_those_of_rewards_and_weights():
    assert KnownRange.of_weighted_rewards(0.0, 2.0, 5.0) == KnownRange(0.0, 10.0)
    assert KnownRange.of_weighted_rewards(-1.0, 2.0, 5.0) == KnownRange(-5.0, 10.0)
    assert KnownRange.of_corrections(0.0, 2.0, 5.0) == KnownRange(-10.0, 12.0)
    rng = np.random.default_rng(0)
    weight = 5.0 * rng.random(10_000)
    share, reward, predicted, other = rng.uniform(-1.0, 2.0, (4, 10_000))
    share = (share + 1.0) / 3.0
    values = share * predicted + (1.0 - share) * other + weight * (reward - predicted)
    bounds = KnownRange.of_corrections(-1.0, 2.0, 5.0)
    assert bounds.low <= values.min() < values.max() <= bounds.high


def test_betting_for_one_look_is_narrower_than_for_all_times():
    x = np.tile(VALUES, 10)
    low, high = betting_interval(np.ones(100), x)
    assert last_end(x) < low < x.mean() < high < 1.0 - last_end(1.0 - x)
    scaled = betting_interval(np.ones(100), 3.0 * x - 1.0, low=-1.0, high=2.0)
    assert scaled == pytest.approx((3.0 * low - 1.0, 3.0 * high - 1.0), abs=1e-9)


def test_betting_intervals_of_weighted_clicks_hold():
    rng = np.random.default_rng(0)
    missed = 0
    for _ in range(200):
        is_rare = rng.random(400) < 0.05
        weights = np.where(is_rare, 0.8 / 0.05, 0.2 / 0.95)
        rewards = (rng.random(400) < np.where(is_rare, 0.4, 0.1)).astype(float)
        low, high = betting_interval(weights, rewards)
        missed += not low <= 0.8 * 0.4 + 0.2 * 0.1 <= high
    assert missed <= 20  # of 10 that are allowed on average


@for_each(
    ("call", "message"),
    [
        (lambda: KnownRange(1.0, 1.0), "low is 1, high 1; expected low < high"),
        (lambda: KnownRange.of_corrections(0.0, 1.0, 0.0), "max_weight is 0"),
        (lambda: betting_interval([-1.0], [0.5]), "weights"),
        (lambda: betting_interval([1.0], [1.5]), "rewards"),
        (lambda: betting_interval([1.0, 1.0], [1.0]), "rewards have shape"),
        (lambda: betting_interval([np.inf], [0.5]), "weights is inf in row 0"),
        (
            lambda: betting_interval([1.0], [0.5], -1e308, 1e308),
            "low is -1e.308; expected at least",
        ),
        (lambda: IPSConfidenceSequence(low=-1e308), "low is -1e.308; expected at least"),
        (lambda: KnownRange.of_weighted_rewards(5.0, 1.0, 5.0), "low is 5, high 1"),
        (lambda: KnownRange.of_corrections(1.0, 0.0, 5.0), "low is 1, high 0"),
        (lambda: HedgedBetting(100), "means is 100; expected at least 101"),
    ],
)
def test_what_no_interval_is_made_for_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("method", ["hoeffding_interval", "bernstein_interval"])
def test_rows_that_cannot_all_be_in_the_range_are_refused(method):
    rng = np.random.default_rng(0)
    inside = InfluenceSums.from_values(rng.integers(0, 2, 500).astype(float))
    getattr(KnownRange(0.0, 1.0), method)(inside)
    too_high = InfluenceSums.from_values(np.full(500, 1.2))
    too_wide = InfluenceSums.from_values(rng.integers(0, 2, 500) * 3.0 - 1.0)  # of mean 0.5
    for rows in (too_high, too_wide):
        with pytest.raises(ValueError, match="expected rows from 0 to 1, as low and high say"):
            getattr(KnownRange(0.0, 1.0), method)(rows)


@pytest.mark.parametrize(
    ("method", "fewest"), [("hoeffding_interval", 1), ("bernstein_interval", 2)]
)
def test_too_few_rows_for_an_interval_are_refused(method, fewest):
    rows = InfluenceSums.from_values(np.zeros(fewest - 1))
    with pytest.raises(ValueError, match=f"rows; expected at least {fewest}"):
        getattr(KnownRange(0.0, 1.0), method)(rows)


def test_the_fewest_means_of_a_hedged_sequence_are_enough_for_its_ends():
    x = np.tile(VALUES, 10)
    few = IPSConfidenceSequence(bound=HedgedBetting(101)).update(*log_of(np.ones(100), x))
    many = IPSConfidenceSequence(bound=HedgedBetting(5_001)).update(*log_of(np.ones(100), x))
    assert few.lower == pytest.approx(many.lower, abs=1e-3)
    assert few.upper == pytest.approx(many.upper, abs=1e-3)
