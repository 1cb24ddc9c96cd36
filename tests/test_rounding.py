"""What is a difference, and what is rounding: in one helper, and wherever it decides."""

import numpy as np
import pytest

from bandit_envs.arrays import read_only
from bandit_envs.evaluations.routing.mixes import Frontier
from bandit_envs.logged import (
    BanditLog,
    DoublyRobust,
    InversePropensityScoring,
    PolicyGradientLearner,
    SelfNormalizedDR,
    combine_estimates,
)
from bandit_envs.logged.estimators.gains import estimate_logged, gain_over, p_value_of
from bandit_envs.logged.estimators.kernel_estimators import NumberSums
from bandit_envs.logged.intervals.tails import TailSums
from bandit_envs.metrics import MetricResult, Statistics, compare
from bandit_envs.rounding import is_constant, is_rounding, merge_ties, spread_of, subtract
from bandit_envs.trajectories import restart

CONSTANTS = [0.0, 0.1, 0.25, 0.3, 1 / 3, 0.7, -12.1, 1e-200, 1e6 / 3]
FEW = pytest.mark.filterwarnings(
    "ignore:all rows say the same", "ignore:.*the estimate is unreliable"
)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("constant", CONSTANTS)
def test_equal_numbers_have_no_spread(constant, dtype):
    values = np.full((30_000, 2), constant, dtype)
    assert is_constant(values).all()
    assert spread_of(values, axis=None) == 0.0
    values[7, 1] += max(abs(constant), 1e-6) * 1e-4
    assert is_constant(values).tolist() == [True, False]
    assert spread_of(values)[1] == values.std(axis=0)[1]


def test_what_is_small_beside_zero_is_no_rounding():
    assert not is_constant(np.array([0.0, 1e-100]))
    assert not is_rounding(np.inf, np.inf)
    assert not is_rounding(np.nan, 1.0)


def test_differences_by_rounding_are_none_and_ties_stay_ties():
    found = subtract([0.1 + 0.2, 1.0, np.inf], [0.3, 0.5, 5.0])
    assert found.tolist() == [0.0, 0.5, np.inf]
    values = read_only(np.array([2.0, 0.3, 0.1 + 0.2, 2.0 + 1e-9]))
    assert merge_ties(values).tolist() == [2.0, 0.3, 0.3, 2.0 + 1e-9]
    assert merge_ties(values, sizes=np.full(4, 1e4)).tolist() == [2.0, 0.3, 0.3, 2.0]


@pytest.mark.parametrize("constant", CONSTANTS[1:6])
def test_a_learner_does_not_scale_a_constant_feature_by_rounding(constant):
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    action = rng.integers(0, 2, 300)
    features = np.column_stack([x, np.full(300, constant)])
    log = BanditLog(features, action, (action == (x > 0)) * 1.0, np.full(300, 0.5), num_actions=2)
    policy = PolicyGradientLearner(num_steps=30).fit(log, batch_size=300)
    table = policy.probabilities(restart(features.astype(np.float32), 300))
    features[:, 1] += 1e-3
    moved = policy.probabilities(restart(features.astype(np.float32), 300))
    assert moved == pytest.approx(table, abs=0.01)


@FEW
@pytest.mark.parametrize("constant", CONSTANTS[1:5])
def test_estimates_of_equal_rewards_are_not_combined_by_rounding(constant):
    table = np.full((999, 2), 0.5)
    action = np.arange(999) % 2
    rewards = (np.full(999, constant), np.random.default_rng(0).random(999))
    logs = [BanditLog(np.ones((999, 1)), action, reward, np.full(999, 0.5)) for reward in rewards]
    estimates = [InversePropensityScoring().estimate(log, table) for log in logs]
    with pytest.raises(ValueError, match="estimate 0 has no variance"):
        combine_estimates(estimates)


@FEW
@pytest.mark.parametrize("estimator", [DoublyRobust(), SelfNormalizedDR()])
@pytest.mark.parametrize("seed", range(5))
def test_policies_that_earn_the_same_have_no_gain(estimator, seed):
    rng = np.random.default_rng(seed)
    for constant in (0.1, 1 / 3, 12.1):
        predicted = np.full((200, 2), constant)
        action = rng.integers(0, 2, 200)
        log = BanditLog(np.ones((200, 1)), action, predicted[:, 0], np.full(200, 0.5))
        tables = [np.stack([share, 1.0 - share], axis=1) for share in rng.random((2, 200))]
        first, second = (estimator.estimate(log, table, predicted) for table in tables)
        for other in (second, estimate_logged(log)):
            gain = gain_over(first, other)
            assert gain.value == 0.0
            assert p_value_of(gain) == pytest.approx(1.0)


def test_weights_that_are_equal_but_for_rounding_have_no_tail():
    weights = np.full(5000, 1.2)
    weights[:3] = np.nextafter(1.2, 2.0)
    assert TailSums.from_values(weights).shape() == -1.0


@pytest.mark.parametrize("constant", [0.1, 0.3, 0.7])
def test_a_router_that_is_a_mix_gains_nothing_over_it(constant):
    costs = np.tile([constant, 3.0 * constant], (300, 1))
    scores = np.tile([constant, 2.0 * constant], (300, 1))
    model = np.random.default_rng(0).integers(0, 2, 300)
    rows = np.arange(300)
    gains = Frontier(scores, costs).gains(scores[rows, model], costs[rows, model])
    assert not gains.any()


@pytest.mark.parametrize("constant", CONSTANTS[1:6])
def test_a_bandwidth_does_not_follow_from_equal_actions(constant):
    with pytest.raises(ValueError, match="all actions of the log are the same"):
        NumberSums.from_actions(np.full(300, constant)).bandwidth()


def test_runs_that_earn_the_same_in_another_order_do_not_differ():
    results = []
    for arms in ([0.13, 0.29, 0.37], [0.37, 0.29, 0.13]):
        sums = np.tile(arms, 400).cumsum()[:, np.newaxis] * np.ones(5)
        result = Statistics.from_values(sums[-1:].T)
        results.append({"regret": MetricResult(result, result, sums[-1], np.array([1200]))})
    (difference,) = compare(*results).values()
    assert results[0]["regret"].totals[0] != results[1]["regret"].totals[0]
    assert (float(difference.mean), float(difference.standard_error)) == (0.0, 0.0)
