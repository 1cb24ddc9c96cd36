"""Estimated propensities, beside those of scikit-learn's regression of the same rows."""

import dataclasses
import warnings

import numpy as np
import pytest

from bandit_envs.evaluations import evaluate, learn
from bandit_envs.logged import (
    BanditLog,
    DirectMethodLearner,
    DoublyRobust,
    DoublyRobustLearner,
    InversePropensityScoring,
    SelfNormalizedIPS,
    estimate_propensities,
    from_frame,
    read_log,
    scan_log,
    write_log,
)
from bandit_envs.logged.propensities.calibration import Calibration
from bandit_envs.logged.propensities.estimation import cross_fitted_table
from bandit_envs.logged.propensities.left_out import LevelCounts
from bandit_envs.logged.propensities.multinomial import fit_multinomial
from bandit_envs.logged.replay import ReplayEnvironment
from tests.cases import for_each
from tests.logged.known_logs import ACTION, CONTEXT, POLICY, PREDICTED, REWARD

IN_SAMPLE = [
    0.688724959,
    0.453860491,
    0.508371532,
    0.224186693,
    0.767711645,
    0.380900155,
    0.522741341,
    0.426311990,
]
NEAR = {"abs": 1e-9}


def lacking(x=CONTEXT, action=ACTION, reward=REWARD):
    """A log without propensities."""
    return BanditLog(x, action, reward, None, 3)


def sixteen():
    """Rows, and the same with other contexts and actions."""
    action = np.concatenate([ACTION, (ACTION + 1) % 3])
    return lacking(np.concatenate([CONTEXT, -CONTEXT]), action, np.tile(REWARD, 2))


def drawn(size, seed=0, law=1.0):
    """A log of three actions, chosen by a logistic regression, and its probabilities."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(size, 2))
    scores = law * x @ np.array([[1.0, 0.0, -1.0], [0.0, 1.0, -1.0]])
    table = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    action = (rng.random((size, 1)) > table.cumsum(axis=1)).sum(axis=1)
    return BanditLog(x, action, (action == 0) + x[:, 0], None, 3), table


@pytest.mark.filterwarnings("ignore:.*the estimate is unreliable")
@pytest.mark.filterwarnings("ignore:the mean weight")
def test_a_regression_of_all_rows_has_the_values_of_another_implementation():
    log = estimate_propensities(lacking()).log
    assert log.propensity == pytest.approx(IN_SAMPLE, **NEAR)
    ips = InversePropensityScoring().estimate(log, POLICY)
    assert ips.value == pytest.approx(0.240177902, **NEAR)
    assert ips.standard_error == pytest.approx(0.070110876, **NEAR)
    snips = SelfNormalizedIPS().estimate(log, POLICY)
    assert snips.value == pytest.approx(0.347849319, **NEAR)
    robust = DoublyRobust().estimate(log, POLICY, PREDICTED)
    assert robust.value == pytest.approx(0.456200634, **NEAR)
    twice = estimate_propensities(sixteen()).log
    value = InversePropensityScoring().estimate(twice, np.tile(POLICY, (2, 1))).value
    assert value == pytest.approx(0.248419400, **NEAR)


@pytest.mark.filterwarnings("ignore:.*the estimate is unreliable")
@pytest.mark.filterwarnings("ignore:the mean weight")
def test_cross_fitted_regressions_have_the_values_of_another_implementation():
    log = sixteen()
    fold = np.arange(16) % 2
    table = np.empty((16, 3))
    for index in (0, 1):
        model = fit_multinomial([log[fold != index]], penalty=1.0)
        table[fold == index] = model.probabilities(log[fold == index])
    p = table[np.arange(16), log.action]
    assert p[:4] == pytest.approx([0.125329591, 0.401361336, 0.235374036, 0.204603938], **NEAR)
    for propensity, expected in ((p, 0.609138207), (np.maximum(p, 0.3), 0.354554486)):
        made = dataclasses.replace(log, propensity=propensity)
        value = InversePropensityScoring().estimate(made, np.tile(POLICY, (2, 1))).value
        assert value == pytest.approx(expected, abs=2e-9)  # of a solver that stops earlier


def test_a_classifier_is_cross_fitted():
    linear_model = pytest.importorskip("sklearn.linear_model")
    model = linear_model.LogisticRegression(C=1.0, tol=1e-12, max_iter=10_000)
    table = cross_fitted_table(sixteen(), model, np.arange(16) % 2)
    found = table[np.arange(4), ACTION[:4]]
    assert found == pytest.approx([0.125329591, 0.401361336, 0.235374036, 0.204603938], abs=1e-6)
    found = estimate_propensities(drawn(600)[0], model, folds=2)
    assert "by LogisticRegression, cross-fitted in 2 folds" in found.log.estimated
    assert found.calibration.means == pytest.approx(1.0, abs=0.2)


def test_an_action_of_one_fold_alone_is_refused():
    linear_model = pytest.importorskip("sklearn.linear_model")
    log = lacking(action=np.array([0, 1, 0, 1, 0, 1, 0, 2]))
    with pytest.raises(ValueError, match="action 2 is in one fold alone"):
        estimate_propensities(log, linear_model.LogisticRegression(), folds=2)
    with pytest.raises(TypeError, match="log is of type list; expected a BanditLog"):
        estimate_propensities([log], linear_model.LogisticRegression())


@pytest.mark.parametrize("size", [1, 40, 3000])
def test_batches_give_what_the_whole_log_gives(size):
    log, _ = drawn(200)
    whole = estimate_propensities(log)
    found = estimate_propensities([log[start : start + size] for start in range(0, 200, size)])
    batches = list(found.log)
    assert np.concatenate([each.propensity for each in batches]) == pytest.approx(
        whole.log.propensity, abs=1e-12
    )
    assert found.calibration.means == pytest.approx(whole.calibration.means, abs=1e-12)
    assert str(found) == str(whole)


def test_a_right_model_finds_the_propensities():
    log, table = drawn(20_000)
    found = estimate_propensities(log)
    assert np.abs(found.log.action_probabilities - table).max() < 0.05
    assert found.calibration.find_problems() == []
    assert found.calibration.rows == 20_000


def test_a_wrong_model_is_told_by_the_action():
    log, table = drawn(20_000)
    wrong = np.full_like(table, 1 / 3)
    wrong[:, 0] = 0.5
    propensity = wrong[np.arange(20_000), log.action]
    calibration = Calibration.from_log(dataclasses.replace(log, propensity=propensity), 0, 1e-3)
    (text,) = [each for each in calibration.find_problems() if "of action 0 is" in each]
    assert "farther from 1 than chance explains" in text


def test_later_tables_say_where_the_model_is_wrong():
    log, _ = drawn(20_000)
    curved = dataclasses.replace(log, observation=np.exp(2.0 * log.observation))
    found = estimate_propensities(curved)
    far = [found.calibration.name_action(action) for action in found.calibration.find_far()]
    assert far
    assert f"their model is wrong where it predicts {', '.join(far)}" in found.log.estimated
    assert "wrong" not in estimate_propensities(log).log.estimated


def test_low_propensities_are_raised_and_counted():
    log, _ = drawn(2000, law=3.0)
    found = estimate_propensities(log, min_propensity=0.2)
    assert found.log.propensity.min() == 0.2
    raised = int((found.log.propensity == 0.2).sum())
    assert found.calibration.raised == raised > 0
    assert f"{raised} of 2000 were below 0.2, and raised to it" in found.log.estimated
    assert f"{raised} of 2000 propensities were below 0.2" in str(found)


def test_a_log_without_propensities_is_refused_by_all_that_weigh():
    log, table = drawn(300)
    assert "no propensities" in repr(log)
    for use in (
        lambda: InversePropensityScoring().estimate(log, table),
        lambda: DoublyRobustLearner().fit(log),
        lambda: ReplayEnvironment(log),
    ):
        with pytest.raises(ValueError, match=r"no propensities; estimate_propensities\(log\)"):
            use()
    with pytest.raises(ValueError, match="the log has no propensities; estimate_propensities"):
        evaluate(log, "random")
    assert DirectMethodLearner().fit(log).num_actions == 3


@pytest.mark.parametrize("suffix", [".npz", ".csv", ".parquet"])
def test_tables_and_files_say_that_propensities_were_estimated(suffix, tmp_path):
    if suffix != ".npz":
        pytest.importorskip("pandas")
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    log = estimate_propensities(drawn(600)[0]).log
    write_log(tmp_path / f"log{suffix}", log)
    assert read_log(tmp_path / f"log{suffix}") == log
    found = evaluate(tmp_path / f"log{suffix}", "random", "snips")
    note = "propensities were estimated by a logistic regression"
    assert note in found.title
    assert note in found.rows[1].warnings


def test_rows_that_a_policy_has_seen_are_known_with_other_estimates(tmp_path):
    log, _ = drawn(900)
    found = learn(estimate_propensities(log[:600]), "doubly_robust", train=1)
    found.write(tmp_path / "policy.npz")
    (_, row) = evaluate(estimate_propensities(log), tmp_path / "policy.npz", "ips").rows
    assert row.rows == 300


def test_too_many_weights_are_refused():
    x = np.random.default_rng(0).normal(size=(1100, 100))
    log = BanditLog(x, np.arange(1100) % 50, np.ones(1100), None)
    with pytest.raises(
        ValueError, match="50 actions and 100 features need 5050 weights, more than"
    ):
        estimate_propensities(log)


def test_features_without_unique_weights_are_refused_with_advice(monkeypatch):
    def refuse(*_):
        raise np.linalg.LinAlgError("Singular matrix")  # which depends on rounding

    monkeypatch.setattr(np.linalg, "solve", refuse)
    log = BanditLog(np.ones((60, 1)), np.arange(60) % 3, np.ones(60))
    with pytest.raises(ValueError, match="give a larger penalty"):
        estimate_propensities(log, penalty=0.0)


def shop(size=4000, seed=0):
    """A table whose actions depend on the country alone; other columns tell nothing more."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    country = rng.choice(["DE", "FR", "IT"], size)
    is_boots = rng.random(size) < np.where(country == "DE", 0.7, 0.4)
    frame = pandas.DataFrame({"age": rng.integers(18, 80, size), "country": country})
    frame["price"] = rng.normal(size=size)
    frame["user"] = [f"user {row}" for row in range(size)]
    frame["browser"] = np.where(rng.random(size) < 0.3, None, "firefox")  # with gaps
    frame["item"] = np.where(is_boots, "boots", "hats")
    frame["paid"] = rng.random(size)
    return frame


ROLES = {"action": "item", "reward": "paid", "propensity": None}
LEFT_OUT = "column 'country' is no feature, and predicts the action"


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("by", ["regression", "classifier"])
def test_a_column_that_predicts_the_actions_and_is_no_feature_is_named(suffix, by, tmp_path):
    path = tmp_path / f"table.{suffix}"
    if suffix == "csv":
        shop().to_csv(path, index=False)
    else:
        pytest.importorskip("pyarrow")
        shop().to_parquet(path, index=False)
    model = None
    if by == "classifier":
        model = pytest.importorskip("sklearn.linear_model").LogisticRegression()
    scan = scan_log(path, 700, features="age", **ROLES)
    with pytest.warns(UserWarning, match=LEFT_OUT):
        found = estimate_propensities(scan, model)
    assert list(found.predictive) == ["country"]
    assert LEFT_OUT in str(found)
    log = found.log if by == "classifier" else next(iter(found.log))
    assert "columns that are no features predict the actions, too: 'country'" in log.estimated
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = estimate_propensities(scan_log(path, features=["age", "country"], **ROLES), model)
    assert not found.predictive
    assert "no feature" not in str(found)


@pytest.mark.parametrize("batch_rows", [100_000, 400, 150])
def test_a_time_that_predicts_the_actions_is_named(batch_rows, tmp_path):
    frame = shop()
    frame["day"] = np.arange(len(frame)) // 400
    frame["item"] = np.where(frame["day"] < 5, "boots", frame["item"])
    frame.to_csv(tmp_path / "table.csv", index=False)
    roles = {**ROLES, "features": ["age", "country"], "time": "day"}
    with pytest.warns(UserWarning, match="column 'day' is no feature"):
        estimate_propensities(scan_log(tmp_path / "table.csv", batch_rows, **roles))


def test_days_in_order_have_levels_of_their_own_however_a_log_is_read():
    day = np.repeat([3.0, 4.0, np.nan, 5.0, np.nan, 9.0], 200)
    action = np.zeros(len(day), int)
    table = np.full((len(day), 2), 0.5)
    for size in (len(day), 200, 70):
        counts = LevelCounts.of_cells(day[:size])
        for start in range(0, len(day), size):
            rows = slice(start, start + size)
            counts.add(day[rows], action[rows], table[rows])
        sizes = {level: taken.sum() for level, taken in counts.taken.items()}
        assert sizes == {3.0: 200, 4.0: 200, 5.0: 200, 9.0: 200, "absent": 400}


def test_columns_beside_a_log_in_memory_are_tested_too():
    frame = shop()
    log = from_frame(frame, features="age", **ROLES)
    with pytest.warns(UserWarning, match=LEFT_OUT):
        found = estimate_propensities(log, others=frame[["country", "price"]])
    assert list(found.predictive) == ["country"]
    with pytest.raises(ValueError, match=r"others has 'x' of shape \(2,\); expected \(4000,\)"):
        estimate_propensities(log, others={"x": [1, 2]})
    with pytest.raises(TypeError, match="log is of type list, not BanditLog"):
        estimate_propensities([log], others={"x": [1, 2]})


def test_columns_that_tell_nothing_are_hardly_ever_named():
    for seed in range(40):
        frame = shop(600, seed)
        log = from_frame(frame, features="country", **ROLES)
        others = frame[["age", "price", "user", "browser"]]
        assert not estimate_propensities(log, others=others).predictive


@for_each(
    "column",
    [
        np.arange(900) % 3,
        (np.arange(900) % 3 == 0) + np.random.default_rng(0).normal(scale=0.1, size=900),
        np.array(["2024-01-01", "2024-02-01", "2024-03-01"], "M8[D]")[np.arange(900) % 3],
        np.where(np.arange(900) % 3 == 0, None, "k"),
        np.where(np.arange(900) % 3 == 0, np.nan, 1.0),
    ],
)
def test_columns_of_all_kinds_are_tested(column):
    action = (np.arange(900) % 3 == 0).astype(int)
    log = BanditLog(np.ones((900, 1)), action, action, None, 2)
    with pytest.warns(UserWarning, match="column 'x' is no feature"):
        estimate_propensities(log, others={"x": column})
