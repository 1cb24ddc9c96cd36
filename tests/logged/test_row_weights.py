"""Rows that stand for several decisions each, as where a logger dropped the others at random."""

import dataclasses
import itertools
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from bandit_envs.evaluations import evaluate
from bandit_envs.logged import (
    BanditLog,
    DirectMethodLearner,
    DoublyRobust,
    InversePropensityScoring,
    IPSLearner,
    PolicyGradientLearner,
    ReplayMethod,
    RewardRegression,
    SelfNormalizedDR,
    SelfNormalizedIPS,
    SwitchDR,
    balance_loggers,
    estimate_propensities,
    from_frame,
    learn_from_log,
    probabilities_of,
    read_dsjson,
    read_log,
    write_log,
)
from bandit_envs.logged.estimators.gains import (
    estimate_logged,
    gain_over,
    logged_terms,
    subtract_terms,
)
from bandit_envs.logged.estimators.kernel_estimators import KernelIPS, find_moved
from bandit_envs.logged.loggers import stratify_estimates
from bandit_envs.logged.replay import ReplayEnvironment
from bandit_envs.logged.summary import LogSummary
from bandit_envs.policies import RandomPolicy, UCBPolicy
from tests.cases import for_each

ITEMS = Path(__file__).parent / "items"
EXPECTED = json.loads((ITEMS / "expected.json").read_text())
SIZE = 4000


def make_log(weight=None, seed=0):
    """A log whose rewards and probabilities depend on one feature."""
    rng = np.random.default_rng(seed)
    context = rng.normal(size=(SIZE, 1))
    chance = np.column_stack([0.3 + 0.4 * (context[:, 0] > 0), 0.7 - 0.4 * (context[:, 0] > 0)])
    action = (rng.random(SIZE) > chance[:, 0]).astype(int)
    reward = rng.normal(size=SIZE) + action * context[:, 0]
    propensity = chance[np.arange(SIZE), action]
    return BanditLog(
        context, action, reward, propensity, action_probabilities=chance, weight=weight
    )


def tables_of(log):
    """The probabilities of some policies in a log of items."""
    mask = log.observation.get("mask", np.ones(log.item.shape, bool))
    price = log.observation["per_arm"][..., 0]
    uniform = mask / mask.sum(axis=1, keepdims=True)
    cheapest = np.eye(mask.shape[1])[np.where(mask, price, np.inf).argmin(axis=1)]
    softmax = np.exp(-price) * mask
    softmax /= softmax.sum(axis=1, keepdims=True)
    constant_b = (log.item == log.encoding.items.index("b")).astype(float)
    lacks = ~constant_b.any(axis=1)
    constant_b[lacks] = uniform[lacks]
    return {
        "uniform": uniform,
        "cheapest": cheapest,
        "softmax": softmax,
        "constant_b": constant_b,
    }


@pytest.fixture(autouse=True)
def _few_rows():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


@for_each("policy", ["uniform", "cheapest", "softmax", "constant_b"])
def test_estimates_of_a_log_of_items_are_those_by_hand(policy):
    log = read_dsjson(ITEMS / "decisions.dsjson")
    table = tables_of(log)[policy]
    expected = EXPECTED["values"][policy]
    value = InversePropensityScoring().estimate(log, table).value
    assert value == pytest.approx(expected["IPS"], abs=1e-9)
    value = SelfNormalizedIPS().estimate(log, table).value
    assert value == pytest.approx(expected["SNIPS"], abs=1e-9)
    value = DoublyRobust().estimate(log, table, RewardRegression().predict(log)).value
    assert value == pytest.approx(expected["DR_cross_fitted"], abs=1e-9)


@for_each(
    ("policy", "file"),
    itertools.product(["uniform", "cheapest", "softmax", "constant_b"], ["pdrop", "passed"]),
)
def test_lines_that_a_logger_kept_of_several_count_for_those(file, policy):
    log = read_dsjson(ITEMS / f"{file}.dsjson")
    if file == "passed":
        log = log[[0, 1, 3, 4, 5]]  # the third is skipped in the other file
    table = tables_of(log)[policy]
    ips = InversePropensityScoring().estimate(log, table).value
    snips = SelfNormalizedIPS().estimate(log, table).value
    assert [ips, snips] == pytest.approx(EXPECTED["pdrop.dsjson"][policy], abs=1e-9)


def weighted_and_repeated(**columns):
    """A log whose rows count one to four times, and one that has them as often."""
    counts = np.random.default_rng(1).integers(1, 5, SIZE)
    log = dataclasses.replace(make_log(counts), **columns)
    return log, log.drop("weight")[np.repeat(np.arange(SIZE), counts)]


def estimate_of(estimator, log):
    """What a policy earns that depends on no context, by predictions that do."""
    table = np.tile([0.4, 0.6], (len(log), 1))
    predicted = np.column_stack([np.full(len(log), 0.1), log.observation[:, 0]])
    return estimator.estimate(log, table, predicted)


@pytest.mark.parametrize(
    "estimator",
    [
        InversePropensityScoring(),
        InversePropensityScoring(max_weight=1.2),
        SelfNormalizedIPS(),
        DoublyRobust(),
        SelfNormalizedDR(),
        SwitchDR(threshold=1.2),
    ],
    ids=repr,
)
def test_a_weight_counts_as_so_many_rows(estimator):
    log, repeated = weighted_and_repeated()
    found = estimate_of(estimator, log)
    expected = estimate_of(estimator, repeated)
    assert found.value == pytest.approx(expected.value, rel=1e-12)
    assert found.bias == pytest.approx(expected.bias, abs=1e-12)
    gain = gain_over(found, estimate_logged(log))
    of_repeated = gain_over(expected, estimate_logged(repeated))
    assert gain.value == pytest.approx(of_repeated.value, rel=1e-9)
    assert gain.interval()[0] < gain.value < gain.interval()[1]
    assert found.standard_error > expected.standard_error  # of rows that are independent


@pytest.mark.parametrize(
    "estimator",
    [
        InversePropensityScoring(),
        SelfNormalizedIPS(),
        DoublyRobust(),
        SelfNormalizedDR(),
    ],
    ids=repr,
)
def test_rows_of_a_unit_that_have_weights_are_as_good_as_repeated_ones(estimator):
    log, repeated = weighted_and_repeated(unit=np.arange(SIZE) // 4)
    found = estimate_of(estimator, log)
    expected = estimate_of(estimator, repeated)
    assert found.value == pytest.approx(expected.value, rel=1e-12)
    assert found.standard_error == pytest.approx(expected.standard_error, rel=1e-9)
    assert found.interval() == pytest.approx(expected.interval(), rel=1e-9)
    weights = expected.sums.weights.mean_weight()
    assert found.sums.weights.mean_weight() == pytest.approx(weights, rel=1e-5)
    gain = gain_over(found, estimate_logged(log))
    of_repeated = gain_over(expected, estimate_logged(repeated))
    assert gain.standard_error == pytest.approx(of_repeated.standard_error, rel=1e-9)


def test_sums_of_parts_merge_where_one_has_no_reward():
    log = make_log(np.linspace(1.0, 2.0, SIZE))
    log = dataclasses.replace(log, reward=np.where(np.arange(SIZE) < 100, 0.0, log.reward))
    table = np.tile([0.4, 0.6], (SIZE, 1))
    first = SelfNormalizedIPS().terms(log[:100], table[:100])
    rest = SelfNormalizedIPS().terms(log[100:], table[100:])
    gains = [
        subtract_terms(terms, logged_terms(part))
        for terms, part in ((first, log[:100]), (rest, log[100:]))
    ]
    merged = gains[0].sums().merge(gains[1].sums(100)).estimate()
    whole = gain_over(SelfNormalizedIPS().estimate(log, table), estimate_logged(log))
    assert merged.value == pytest.approx(whole.value)
    assert merged.interval() == pytest.approx(whole.interval())


@pytest.mark.parametrize("estimator", [InversePropensityScoring(), DoublyRobust()], ids=repr)
def test_weights_that_are_all_equal_change_no_interval(estimator):
    table = np.tile([0.4, 0.6], (SIZE, 1))
    predicted = np.zeros((SIZE, 2))
    found = estimator.estimate(make_log(np.full(SIZE, 3.0)), table, predicted)
    expected = estimator.estimate(make_log(), table, predicted)
    assert found.value == pytest.approx(expected.value)
    assert found.standard_error == pytest.approx(expected.standard_error)
    assert found.effective_sample_size == pytest.approx(expected.effective_sample_size)
    assert found.interval() == pytest.approx(expected.interval())


def test_intervals_hold_the_truth_where_a_logger_drops_rows_by_their_rewards():
    held = 0
    table = np.tile([0.4, 0.6], (SIZE, 1))
    truth = 0.0  # the mean of the feature
    for seed in range(60):
        log = make_log(seed=seed)
        share = np.where(log.reward > 0.5, 1.0, 0.25)
        is_kept = np.random.default_rng(seed).random(SIZE) < share
        kept = dataclasses.replace(log, weight=1.0 / share)[is_kept]
        low, high = InversePropensityScoring().estimate(kept, table[is_kept]).interval()
        held += low <= truth <= high
    assert held >= 53  # 57 on average; fewer have a probability of 0.03


def test_regressions_count_rows_by_their_weights():
    counts = np.random.default_rng(1).integers(1, 5, SIZE)
    log = make_log(counts)
    repeated = log.drop("weight")[np.repeat(np.arange(SIZE), counts)]
    learned = DirectMethodLearner().fit(log)
    expected = DirectMethodLearner().fit(repeated)
    np.testing.assert_allclose(learned.model.weights, expected.model.weights)


def test_scikit_learns_rows_by_their_weights():
    linear_model = pytest.importorskip("sklearn.linear_model")
    counts = np.random.default_rng(1).integers(1, 5, SIZE)
    log = make_log(counts)
    positive = dataclasses.replace(log, reward=np.abs(log.reward))
    repeat = np.repeat(np.arange(SIZE), counts)
    for learner in (
        DirectMethodLearner(linear_model.LinearRegression()),
        IPSLearner(linear_model.LogisticRegression()),
    ):
        found = learner.fit(positive, seed=0)
        expected = learner.fit(positive.drop("weight")[repeat], seed=0)
        observation = np.linspace(-2, 2, 9)[:, np.newaxis]
        shown = BanditLog(observation, [0] * 9, [0.0] * 9, [0.5] * 9, 2)
        assert (probabilities_of(found, shown) == probabilities_of(expected, shown)).all()


def test_what_cannot_count_rows_refuses_weights_or_warns():
    log = make_log(np.ones(SIZE))
    table = np.tile([1.0, 0.0], (SIZE, 1))
    with pytest.raises(ValueError, match="rows of log have weights; expected an estimator that"):
        ReplayMethod().estimate(log, table)
    with pytest.raises(ValueError, match="rows of log have weights, which a replay does not take"):
        ReplayEnvironment(log)
    with pytest.raises(ValueError, match="which a policy gradient does not take"):
        PolicyGradientLearner().fit(log)
    with pytest.raises(ValueError, match="which an estimate of propensities does not take"):
        estimate_propensities(log)
    with pytest.raises(ValueError, match="which a mixture of loggers does not take"):
        balance_loggers([log], [np.ones((SIZE, 1))])
    with pytest.warns(UserWarning, match="the policy learns each row once, whatever its"):
        learn_from_log(UCBPolicy(0.1, num_actions=2), log)


def test_a_mean_weight_is_tested_and_told_by_counted_rows():
    log = make_log(np.where(np.arange(SIZE) % 2, 1.0, 9.0))
    wrong = dataclasses.replace(log, propensity=log.propensity / 2, action_probabilities=None)
    table = np.tile([0.4, 0.6], (SIZE, 1))
    with pytest.warns(UserWarning, match=r"the mean weight is (1.9|2)"):
        InversePropensityScoring().estimate(wrong, table)


def test_an_evaluation_counts_rows_by_their_weights():
    log = make_log(np.where(np.arange(SIZE) % 2, 1.0, 9.0))
    table = evaluate(log, [RandomPolicy(num_actions=2)], ["ips", "dr"], train=None)
    logged, ips, _ = table.rows
    assert logged.value == pytest.approx(np.average(log.reward, weights=log.weight))
    expected = InversePropensityScoring().estimate(log, np.full((SIZE, 2), 0.5))
    assert ips.value == pytest.approx(expected.value)
    title = str(LogSummary.from_batches([log[:1000], log[1000:]]))
    assert f"mean reward {logged.value:.4g}" in title
    assert "rows with weights" in title


@pytest.mark.parametrize("suffix", ["npz", "csv", "parquet"])
def test_files_hold_weights(suffix, tmp_path):
    pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    log = make_log(np.linspace(1.0, 2.0, SIZE))
    write_log(tmp_path / f"log.{suffix}", log)
    assert read_log(tmp_path / f"log.{suffix}") == log


def test_a_mixture_of_loggers_has_rows_that_count_alike(tmp_path):
    pandas = pytest.importorskip("pandas")
    columns = {"action": [0, 1], "reward": [1.0, 0.0], "propensity": [0.5, 0.5], "by": ["a", "a"]}
    frame = pandas.DataFrame({**columns, "kept": [1.0, 4.0]})
    with pytest.raises(ValueError, match="balance is True, and weight 'kept'; expected rows that"):
        from_frame(frame, propensity={"a": "propensity"}, logger="by", balance=True, weight="kept")


def test_logs_of_several_loggers_count_by_the_decisions_for_which_their_rows_stand():
    repeated = np.arange(SIZE) % 4 + 1
    kept = make_log(1.0 * repeated)
    other = make_log(seed=1)
    estimates = [
        InversePropensityScoring().estimate(log, np.full((len(log), 2), 0.5))
        for log in (kept, make_log()[np.repeat(np.arange(SIZE), repeated)], other)
    ]
    found = stratify_estimates([estimates[0], estimates[2]])
    expected = stratify_estimates(estimates[1:])
    assert found.shares == pytest.approx(expected.shares)
    assert found.value == pytest.approx(expected.value)


@pytest.mark.parametrize("is_self_normalized", [False, True])
def test_kernels_count_rows_by_their_weights(is_self_normalized):
    rng = np.random.default_rng(0)
    unit = np.arange(SIZE) // 2
    price = rng.uniform(0.0, 2.0, SIZE)
    count = np.arange(SIZE) % 3 + 1
    repeated = np.repeat(np.arange(SIZE), count)
    kernel = KernelIPS(0.5, self_normalized=is_self_normalized)
    columns = price * (2.0 - price), np.full(SIZE, 0.5), price, np.ones(SIZE)
    once = dataclasses.replace(kernel.terms(*columns, unit=unit), counts=1.0 * count)
    often = kernel.terms(*[column[repeated] for column in columns], unit=unit[repeated]).sums()
    assert once.sums().bias() == pytest.approx(often.bias())
    assert find_moved(once.sums(), 0.5) == find_moved(often, 0.5)
    alone = kernel.terms(*columns)
    alike = dataclasses.replace(alone, counts=np.ones(SIZE))
    assert find_moved(alike.sums(), 0.5) == find_moved(alone.sums(), 0.5)


def test_a_bias_of_changed_weights_is_told_where_rows_have_weights():
    log = dataclasses.replace(make_log(np.ones(SIZE)), reward=np.ones(SIZE))
    with pytest.warns(UserWarning, match="too low: its weights leave out that much"):
        InversePropensityScoring(max_weight=1.1).estimate(log, np.tile([0.1, 0.9], (SIZE, 1)))


def test_a_column_of_a_table_has_the_weights(tmp_path):
    pandas = pytest.importorskip("pandas")
    columns = {"age": [1.0, 2.0], "action": [0, 1], "reward": [1.0, 0.0], "propensity": [0.5, 0.5]}
    frame = pandas.DataFrame({**columns, "kept": [1.0, 4.0]})
    frame.to_csv(tmp_path / "log.csv", index=False)
    for log in (
        from_frame(frame, weight="kept", num_actions=2),
        read_log(tmp_path / "log.csv", weight="kept", num_actions=2),
    ):
        assert log.weight.tolist() == [1.0, 4.0]
        assert log.encoding.names == ["age"]


@pytest.mark.parametrize("weight", [[0.0] * SIZE, [-1.0] * SIZE, [np.inf] * SIZE])
def test_weights_are_above_0(weight):
    with pytest.raises(ValueError, match="weight is"):
        make_log(weight)


def test_a_table_of_items_has_weights(tmp_path):
    pandas = pytest.importorskip("pandas")
    columns = {"d": [1, 1, 2, 2], "id": ["a", "b", "b", "c"], "price": [1.0, 2.0, 2.0, 3.0]}
    told = {"chosen": [1, 0, 0, 1], "reward": [1.0, 0.0, 0.0, 0.0], "p": [0.5] * 4}
    frame = pandas.DataFrame({**columns, **told, "kept": [1.0, 1.0, 4.0, 4.0]})
    frame.to_csv(tmp_path / "log.csv", index=False)
    roles = {"decision": "d", "item": "id", "propensity": "p", "weight": "kept"}
    log = read_log(tmp_path / "log.csv", **roles)
    assert log.weight.tolist() == [1.0, 4.0]
    assert log.encoding.of_items().names == ["price"]
