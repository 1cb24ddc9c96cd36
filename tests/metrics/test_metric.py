"""What every metric keeps, and statistics that merge."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bandit_envs import AverageRewardMetric
from bandit_envs.base.saving import encode_state
from bandit_envs.metrics import Metric, MetricResult, Statistics, compare, kept_steps
from bandit_envs.metrics.statistics import is_kept
from bandit_envs.testing import assert_identical
from bandit_envs.trajectories import Trajectory, restart, termination
from tests.cases import for_each


def show(metric, rewards):
    """Shows a metric rewards [T, B], step by step."""
    for reward in rewards:
        before = restart(np.ones((len(reward), 1), np.float32), len(reward))
        after = termination(before.observation, reward, np.float64)
        metric(Trajectory.from_transition(before, np.zeros(len(reward), np.int32), after))


def average_reward(rewards):
    metric = AverageRewardMetric()
    show(metric, rewards)
    return metric.result()


def assert_close(left, right, scale=1.0):
    """Compares statistics with a relative tolerance of 1e-12, zeros by the scale of the values."""
    assert left.count == right.count
    np.testing.assert_allclose(left.mean, right.mean, rtol=1e-12, atol=1e-12 * scale)
    np.testing.assert_allclose(
        left.squared_deviation, right.squared_deviation, rtol=1e-12, atol=1e-12 * scale**2
    )


@pytest.fixture
def rewards():
    """Rewards of 30 steps and 12 rows."""
    return np.random.default_rng(0).normal(3.0, 2.0, (30, 12))


def test_statistics_of_numbers_are_numbers_that_round_takes():
    sums = np.array([[1.0, 3.0], [3.0, 5.5], [3.0, 6.0]])
    last = Statistics.from_values(sums).at(-1)
    for each in (last, last.merge(last), Statistics.from_values(sums[:, 1])):
        assert round(each.mean, 2) == 4.83
        assert round(each.standard_error, 9) == pytest.approx(each.standard_error, abs=1e-9)
        assert [round(end, 9) for end in each.interval()] == pytest.approx(each.interval())
    assert round(Statistics.from_values(sums[:, 0] > 2.0).wilson_interval()[1], 2) == 0.94
    assert str(round(Statistics.from_values(sums[:1, 0]).standard_error, 2)) == "nan"
    assert Statistics.from_values(sums).mean.shape == (2,)


def test_each_step_has_the_mean_and_standard_error_over_rows(rewards):
    per_step = average_reward(rewards).per_step
    np.testing.assert_allclose(per_step.mean, rewards.mean(axis=1), rtol=1e-12)
    standard_error = rewards.std(axis=1, ddof=1) / np.sqrt(12)
    np.testing.assert_allclose(per_step.standard_error, standard_error, rtol=1e-12)


def test_totals_have_the_mean_and_standard_error_over_rows(rewards):
    totals = rewards.cumsum(axis=0)
    cumulative = average_reward(rewards).cumulative
    np.testing.assert_allclose(cumulative.mean, totals.mean(axis=1), rtol=1e-12)
    standard_error = totals.std(axis=1, ddof=1) / np.sqrt(12)
    np.testing.assert_allclose(cumulative.standard_error, standard_error, rtol=1e-12)


def test_the_mean_over_all_steps_has_the_standard_error_of_row_means(rewards):
    row_means = rewards.mean(axis=0)
    mean = average_reward(rewards).mean
    assert mean.mean == pytest.approx(row_means.mean(), rel=1e-12)
    assert mean.standard_error == pytest.approx(row_means.std(ddof=1) / np.sqrt(12), rel=1e-12)


def test_the_totals_of_rows_are_kept(rewards):
    np.testing.assert_allclose(average_reward(rewards).totals, rewards.sum(axis=0), rtol=1e-12)


@for_each(
    ("count", "confidence", "quantile"),
    [(2, 0.95, 12.7062), (3, 0.99, 9.92484), (10, 0.95, 2.26216), (10**6, 0.95, 1.95997)],
)
def test_intervals_have_the_quantiles_of_student(count, confidence, quantile):
    statistics = Statistics(count, np.array([1.0, 5.0]), np.full(2, count * (count - 1.0)))
    low, high = statistics.interval(confidence)
    np.testing.assert_allclose(high - [1.0, 5.0], quantile, rtol=1e-5)
    np.testing.assert_allclose([1.0, 5.0] - low, quantile, rtol=1e-5)


@pytest.mark.parametrize("confidence", [0.0, 1.0])
def test_an_interval_that_holds_nothing_or_everything_is_refused(confidence):
    statistics = Statistics.from_values(np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match=r"confidence is .; expected a number above 0 and below 1"):
        statistics.interval(confidence)


def test_differences_of_runs_are_paired(rewards):
    other = rewards + 0.5 + 0.01 * np.random.default_rng(1).normal(size=rewards.shape)
    results = [{"reward": average_reward(values)} for values in (other, rewards)]
    found = compare(*results)["mean_reward"]
    differences = (other - rewards).mean(axis=0)
    assert found.count == 12
    assert found.mean == pytest.approx(differences.mean(), rel=1e-12)
    assert found.standard_error == pytest.approx(differences.std(ddof=1) / np.sqrt(12), rel=1e-9)
    assert compare(results[0], {}) == {}
    with pytest.raises(ValueError, match="5 runs"):
        compare(results[0], {"reward": average_reward(rewards[:, :5])})


def test_one_row_has_no_standard_error():
    result = average_reward([[1.0], [2.0]])
    np.testing.assert_array_equal(result.cumulative.mean, [1.0, 3.0])
    assert np.all(np.isnan(result.per_step.standard_error))


def test_small_rewards_are_summed_in_double_precision():
    metric = AverageRewardMetric()
    before = restart(np.ones((2, 1), np.float32), 2)
    after = termination(before.observation, np.full(2, 0.1, np.float32))
    for _ in range(5000):
        metric(Trajectory.from_transition(before, np.zeros(2, np.int32), after))
    total = metric.result().cumulative.mean[-1]
    assert total == pytest.approx(5000 * float(np.float32(0.1)), rel=1e-12)


VALUES = st.integers(2, 12).flatmap(
    lambda rows: arrays(
        np.float64,
        st.tuples(st.integers(1, 4), st.just(rows)),
        elements=st.integers(-(10**9), 10**9).map(lambda n: n / 1000),
    )
)


@given(VALUES, st.data())
def test_any_split_of_the_rows_merges_to_the_whole(values, data):
    rows = values.shape[1]
    cuts = sorted(data.draw(st.sets(st.integers(1, rows - 1))))
    parts = [average_reward(part) for part in np.split(values, cuts, axis=1)]
    merged = parts[0]
    for part in parts[1:]:
        merged = merged.merge(part)
    whole = average_reward(values)
    scale = np.abs(values).sum(axis=0).max()
    assert_close(merged.per_step, whole.per_step, scale)
    assert_close(merged.cumulative, whole.cumulative, scale)
    np.testing.assert_array_equal(merged.totals, whole.totals)


@given(VALUES)
def test_statistics_of_values_are_those_of_numpy(values):
    statistics = Statistics.from_values(values.T)
    scale = np.abs(values).max()
    assert statistics.count == values.shape[1]
    np.testing.assert_allclose(statistics.mean, values.mean(axis=1), rtol=1e-12, atol=1e-12 * scale)
    np.testing.assert_allclose(
        statistics.standard_error**2 * values.shape[1],
        values.var(axis=1, ddof=1),
        rtol=1e-9,
        atol=1e-12 * scale**2,
    )


def test_merging_is_the_same_in_either_order(rewards):
    left, right = average_reward(rewards[:, :5]), average_reward(rewards[:, 5:])
    assert_close(left.merge(right).cumulative, right.merge(left).cumulative)


def test_a_result_travels_between_processes(rewards):
    result = average_reward(rewards)
    received = pickle.loads(pickle.dumps(result))
    assert isinstance(received, MetricResult)
    np.testing.assert_array_equal(received.per_step.mean, result.per_step.mean)
    np.testing.assert_array_equal(
        received.cumulative.squared_deviation, result.cumulative.squared_deviation
    )


def test_results_of_different_lengths_do_not_merge(rewards):
    with pytest.raises(ValueError, match="29"):
        average_reward(rewards).merge(average_reward(rewards[1:]))


def test_a_metric_that_has_seen_nothing_merges_with_another(rewards):
    nothing, whole = AverageRewardMetric().result(), average_reward(rewards)
    assert nothing.merge(nothing).per_step.count == 0
    empty = Statistics(0, np.zeros(30), np.zeros(30))
    for merged in (whole.per_step.merge(empty), empty.merge(whole.per_step)):
        np.testing.assert_array_equal(merged.mean, whole.per_step.mean)
        assert merged.count == whole.per_step.count


def test_rows_taken_as_one_value_keep_the_mean_and_lose_the_error(rewards):
    result = average_reward(rewards)
    one = result.as_one_value()
    assert one.per_step.count == one.cumulative.count == 1
    np.testing.assert_array_equal(one.cumulative.mean, result.cumulative.mean)
    assert np.isnan(one.mean.standard_error)
    assert one.totals == [pytest.approx(result.totals.mean())]


def test_a_metric_saved_within_a_run_continues_from_there(rewards):
    metric = AverageRewardMetric()
    show(metric, rewards[:10])
    state = pickle.loads(pickle.dumps(metric.get_state()))
    show(metric, rewards[10:])
    again = AverageRewardMetric()
    for _ in range(2):
        again.set_state(state)
        show(again, rewards[10:])
        assert_identical(again.result(), metric.result())


class Halved(Metric):
    """A metric of one's own."""

    def _values(self, trajectory):
        return trajectory.reward / 2


def test_the_state_of_another_metric_is_refused_and_nothing_changes(rewards):
    metric, other = AverageRewardMetric(), Halved()
    show(metric, rewards)
    show(other, rewards)
    state = metric.get_state()
    for bad in ((), other.get_state(), state._replace(content=None)):
        with pytest.raises((TypeError, ValueError), match="state "):
            metric.set_state(bad)
        assert_identical(metric.get_state(), state, "the state after a refusal")


@for_each(
    ("reward", "error"),
    [
        ([1.0, np.nan], ValueError),
        ([1.0, np.inf], ValueError),
        ([1.0, 1e200], ValueError),
        (["1", "2"], TypeError),
        ([1j, 2.0], TypeError),
        (None, TypeError),
        ([[1.0, 2.0], [3.0, 4.0]], ValueError),
        ({"clicks": [1, 2]}, TypeError),
    ],
)
def test_rewards_that_are_not_one_finite_number_a_row_are_refused(reward, error):
    metric = AverageRewardMetric()
    show(metric, [[1.0, 2.0]])
    state = metric.get_state()
    before = restart(np.ones((2, 1)), 2)
    step = Trajectory.from_transition(before, [0, 0], termination(before.observation, [0, 0]))
    with pytest.raises(error, match="reward"):
        metric(step._replace(reward=reward))
    assert_identical(metric.get_state(), state, "the state after a refusal")


@pytest.mark.parametrize("reward", [np.ones((2, 3)), {"clicks": np.ones(2)}])
def test_rewards_that_are_not_numbers_are_refused_with_the_argument_that_helps(reward):
    before = restart(np.ones((2, 1)), 2)
    step = Trajectory.from_transition(before, [0, 0], termination(before.observation, [0, 0]))
    with pytest.raises((TypeError, ValueError), match="reward_fn"):
        AverageRewardMetric()(step._replace(reward=reward))


def test_a_function_makes_one_number_a_row_of_other_rewards():
    metric = AverageRewardMetric(lambda reward: reward["clicks"] - reward["costs"].sum(axis=1))
    before = restart(np.ones((2, 1)), 2)
    step = Trajectory.from_transition(before, [0, 0], termination(before.observation, [0, 0]))
    metric(step._replace(reward={"clicks": np.array([5, 7]), "costs": np.ones((2, 3))}))
    np.testing.assert_array_equal(metric.result().per_step.mean, [3.0])


def test_reset_forgets(rewards):
    metric = AverageRewardMetric()
    show(metric, rewards)
    metric.reset()
    assert metric.result().per_step.mean.shape == (0,)
    show(metric, [[1.0, 3.0, 8.0]])  # and another number of rows is welcome
    np.testing.assert_array_equal(metric.result().cumulative.mean, [4.0])


def test_the_mean_of_no_steps_is_refused():
    result = AverageRewardMetric().result()
    with pytest.raises(ValueError, match="no steps"):
        _ = result.mean


def test_another_number_of_rows_is_refused_and_nothing_changes(rewards):
    metric = AverageRewardMetric()
    show(metric, rewards)
    before = metric.result()
    with pytest.raises(ValueError, match="trajectory has 3 rows"):
        show(metric, [[1.0, 2.0, 3.0]])
    np.testing.assert_array_equal(metric.result().cumulative.mean, before.cumulative.mean)


def test_a_metric_of_ones_own_is_one_method(rewards):
    metric = Halved()
    show(metric, rewards)
    np.testing.assert_allclose(metric.result().per_step.mean, rewards.mean(axis=1) / 2)


@pytest.mark.slow
def test_after_ten_thousand_steps_fewer_are_kept_and_sums_stay_exact():
    rewards = np.random.default_rng(3).normal(size=(20_507, 2))
    metric = AverageRewardMetric()
    show(metric, rewards)
    result = metric.result()
    steps = result.steps
    expected = [*range(1, 10_001), *range(10_010, 20_001, 10)]
    assert steps.tolist() == [*expected, *range(20_020, 20_507, 20), 20_507]
    sums = rewards.cumsum(axis=0)
    np.testing.assert_allclose(result.per_step.mean, rewards[steps - 1].mean(axis=1), atol=1e-12)
    np.testing.assert_allclose(result.cumulative.mean, sums[steps - 1].mean(axis=1), atol=1e-9)
    np.testing.assert_allclose(result.totals, sums[-1], atol=1e-9)
    assert result.mean.mean == pytest.approx(rewards.mean(), abs=1e-12)
    one = result.as_one_value()
    assert one.merge(one).steps.tolist() == steps.tolist()
    assert len(save_size(metric)) <= 32 * len(steps) + 1_200


def save_size(metric):
    """Returns what a file of the metric's state holds."""
    return encode_state(metric.get_state())


@pytest.mark.parametrize("every", [None, 1, 7, 25_000])
def test_the_kept_steps_of_a_longer_run_are_those_of_a_shorter_one_but_for_its_last(every):
    longer = kept_steps(100_000, every)
    for num_steps in (0, 1, 5, 9_999, 10_000, 10_001, 20_000, 20_001, 99_999):
        steps = kept_steps(num_steps, every)
        assert steps[-1:].tolist() == ([num_steps] if num_steps else []), num_steps
        np.testing.assert_array_equal(steps[:-1], longer[longer < num_steps], str(num_steps))
        if num_steps and is_kept(num_steps, every):
            assert num_steps in longer, num_steps


def test_a_metric_keeps_every_so_many_steps_and_the_last_one(rewards):
    metric = AverageRewardMetric(every=7)
    show(metric, rewards[:10])
    assert metric.result().steps.tolist() == [7, 10]
    again = AverageRewardMetric(every=7)
    again.set_state(metric.get_state())
    show(again, rewards[10:])
    found = again.result()
    assert found.steps.tolist() == [7, 14, 21, 28, 30]
    whole = average_reward(rewards)
    np.testing.assert_array_equal(found.cumulative.mean, whole.cumulative.mean[found.steps - 1])
    np.testing.assert_array_equal(found.totals, whole.totals)
    with pytest.raises(ValueError, match="every"):
        AverageRewardMetric(every=0)
    with pytest.raises(ValueError, match="every"):
        AverageRewardMetric().set_state(metric.get_state())


def test_results_of_other_kept_steps_do_not_merge(rewards):
    metric = AverageRewardMetric(every=7)
    show(metric, rewards)
    with pytest.raises(ValueError, match="other keeps 5 steps; expected 30"):
        average_reward(rewards).merge(metric.result())
