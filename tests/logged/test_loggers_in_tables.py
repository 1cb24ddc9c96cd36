"""One table of several logging policies: a column says which wrote a row."""

import warnings

import numpy as np
import pytest

from bandit_envs.evaluations import evaluate, learn
from bandit_envs.logged import (
    DoublyRobust,
    DoublyRobustLearner,
    InversePropensityScoring,
    PolicyGradientLearner,
    SelfNormalizedIPS,
    balance_loggers,
    combine_estimates,
    concatenate,
    from_frame,
    read_log,
    scan_log,
    write_log,
)
from bandit_envs.logged.loggers import stratify_estimates
from tests.command_line import rows, run

pandas = pytest.importorskip("pandas")

pytestmark = pytest.mark.filterwarnings("ignore:the estimate is about")

ITEMS = np.array(["boots", "hats", "shoes"])
CHOICES = {"a": np.array([0.2, 0.3, 0.5]), "b": np.array([0.6, 0.4, 0.0])}
ROLES = {"action": "item", "reward": "paid", "propensity": "p", "features": ["country"]}


def table(size=4000, seed=0):
    """Two policies, of which one never shows shoes; shoes pay 0.6, others 0.2."""
    rng = np.random.default_rng(seed)
    logger = rng.choice(["a", "b"], size)
    item = np.where(
        logger == "a", rng.choice(3, size, p=CHOICES["a"]), rng.choice(3, size, p=CHOICES["b"])
    )
    frame = pandas.DataFrame({"country": rng.choice(["DE", "FR"], size), "logger": logger})
    frame["item"] = ITEMS[item]
    frame["paid"] = (rng.random(size) < np.where(item == 2, 0.6, 0.2)).astype(float)
    for name, chances in CHOICES.items():
        frame[f"p_{name}"] = chances[item]
    frame["p"] = np.where(logger == "a", frame["p_a"], frame["p_b"])
    return frame


def logs_of(frame, roles=ROLES):
    """Returns the log of each policy, by its name, in the encoding of all."""
    log = from_frame(frame.drop(columns="logger"), **roles)
    return {name: log[(frame["logger"] == name).to_numpy()] for name in sorted({*frame["logger"]})}


def test_both_ways_to_join_them_are_near_the_truth():
    frame = table(20_000)
    logs = logs_of(frame)
    columns = [frame.loc[frame["logger"] == name, ["p_a", "p_b"]].to_numpy() for name in logs]
    balanced = balance_loggers([*logs.values()], columns)
    policy = np.tile([0.5, 0.0, 0.5], (len(balanced), 1))
    found = InversePropensityScoring().estimate(balanced, policy)
    assert abs(found.value - 0.4) < 5 * found.standard_error
    of_boots = np.array([1.0, 0.0, 0.0])  # which both may show
    estimates = [
        InversePropensityScoring().estimate(log, np.tile(of_boots, (len(log), 1)))
        for log in logs.values()
    ]
    combined = combine_estimates(estimates)
    assert abs(combined.value - 0.2) < 5 * combined.standard_error


LOGGERS = {**ROLES, "logger": "logger", "propensity": {"a": "p_a", "b": "p_b"}}
BALANCED = {**LOGGERS, "balance": True}


def test_each_row_has_the_propensity_of_its_own_policy(tmp_path):
    frame = table(500)
    frame["p_a"] = np.where(frame["logger"] == "a", frame["p_a"], 0.77)  # others do not count
    found = from_frame(frame, **LOGGERS)
    expected = from_frame(frame.drop(columns=["logger", "p_a", "p_b"]), **ROLES)
    assert found == expected
    frame.to_csv(tmp_path / "table.csv", index=False)
    scan = scan_log(tmp_path / "table.csv", 70, **LOGGERS)
    assert concatenate([*scan]) == expected
    assert scan.balance(0, 100) is scan
    assert read_log(tmp_path / "table.csv", **LOGGERS) == expected


def test_a_balanced_log_is_that_of_balance_loggers_in_the_order_of_the_table():
    frame = table(500)
    found = from_frame(frame, **BALANCED)
    logs = logs_of(frame)
    columns = [frame.loc[frame["logger"] == name, ["p_a", "p_b"]].to_numpy() for name in logs]
    expected = balance_loggers([*logs.values()], columns)
    order = np.argsort(frame["logger"].to_numpy(), kind="stable")
    np.testing.assert_allclose(found.propensity[order], expected.propensity, rtol=1e-12)
    np.testing.assert_array_equal(found.action[order], expected.action)
    np.testing.assert_array_equal(found.own_propensity, frame["p"])
    np.testing.assert_array_equal(found.own_propensity[order], expected.own_propensity)
    assert not found.estimated


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("num_actions", [None, 3])
def test_batches_of_files_have_the_propensities_of_the_whole_table(tmp_path, suffix, num_actions):
    frame = table(500)
    frame["item"] = np.searchsorted(ITEMS, frame["item"])
    frame = frame.sort_values("logger", kind="stable")  # so that parts have other shares
    for number, rows_of_file in enumerate((slice(0, 180), slice(180, 500))):
        path = tmp_path / f"part-{number}.{suffix}"
        if suffix == "csv":
            frame[rows_of_file].to_csv(path, index=False)
        else:
            pytest.importorskip("pyarrow")
            frame[rows_of_file].to_parquet(path, index=False)
    batches = list(scan_log(tmp_path, 70, num_actions=num_actions, **BALANCED))
    expected = from_frame(frame, num_actions=num_actions, **BALANCED)
    assert max(map(len, batches)) == 70
    assert concatenate(batches) == expected
    assert read_log(tmp_path, num_actions=num_actions, **BALANCED) == expected


def test_rows_that_miss_values_count_for_no_logger(tmp_path):
    frame = table(500)
    frame.loc[frame["logger"] == "b", "paid"] = np.where(np.arange(500) % 2, 1.0, np.nan)[
        frame["logger"] == "b"
    ]
    frame.loc[3, "logger"] = None
    frame.to_csv(tmp_path / "table.csv", index=False)
    with pytest.raises(ValueError, match=r"'paid' 137, .*'logger' 1, first in line 5"):
        list(scan_log(tmp_path / "table.csv", 90, **BALANCED))
    found = read_log(tmp_path / "table.csv", drop_missing=True, **BALANCED)
    assert found == from_frame(frame.dropna(), **BALANCED)
    assert found == from_frame(frame, drop_missing=True, **BALANCED)


def test_names_of_loggers_that_look_like_numbers_are_texts(tmp_path):
    frame = table(200)
    frame["logger"] = frame["logger"].map({"a": "007", "b": "7"})
    frame.to_csv(tmp_path / "table.csv", index=False)
    roles = {**BALANCED, "propensity": {"007": "p_a", "7": "p_b"}}
    assert read_log(tmp_path / "table.csv", **roles) == from_frame(frame, **roles)


def test_three_loggers_that_all_take_the_action_have_a_propensity_of_1():
    frame = pandas.DataFrame({"logger": ["a"] + ["b"] * 2 + ["c"] * 7, "p": [1.0] * 10})
    frame["item"] = [0, 1] * 5
    frame["paid"] = 1.0
    roles = {
        "action": "item",
        "reward": "paid",
        "logger": "logger",
        "features": (),
        "balance": True,
    }
    log = from_frame(frame, propensity=dict.fromkeys("abc", "p"), **roles)
    assert log.propensity == pytest.approx(np.ones(10), abs=1e-15)
    frame["p"] = 0.0
    with pytest.raises(ValueError, match="expected above 0, as 'a' took the action"):
        from_frame(frame, propensity=dict.fromkeys("abc", "p"), **roles)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"propensity": {"a": "p_a"}}, "column 'logger' is 'b' in .*; expected one of 'a'"),
        ({"propensity": {"a": "p_a", "b": "p_b", "c": "p"}}, "propensity has 'c', of which column"),
        ({"propensity": {"a": "p_a", "b": "p_c"}}, "has no column 'p_c'"),
        ({"propensity": {"a": "p_a", "b": "country"}, "features": ()}, "expected a number"),
        ({"propensity": {"a": "p_a", "b": "country"}}, "column 'country' has two roles"),
        ({"propensity": {"a": "p_a", "b": "paid"}}, "column 'paid' has two roles"),
        ({"logger": "item"}, "column 'item' has two roles"),
        ({"propensity": "p"}, "propensity is 'p'; expected a dict"),
        ({"propensity": {}}, "propensity is {}; expected a dict"),
        ({"logger": None, "balance": False}, "expected logger, the column that says"),
        ({"logger": None, "propensity": "p"}, "balance is True, and logger is None"),
        (
            {"action": "p", "num_actions": 0, "features": ()},
            "balance is True, and actions are real numbers",
        ),
    ],
    ids=range(12),
)
def test_columns_that_cannot_be_those_of_loggers_are_refused(changes, message, tmp_path):
    table(50).to_csv(tmp_path / "table.csv", index=False)
    for read, source in ((from_frame, table(50)), (read_log, tmp_path / "table.csv")):
        with pytest.raises(ValueError, match=message) as caught:
            read(source, **{**BALANCED, **changes})
        assert "\n" not in str(caught.value)


def test_a_log_that_was_written_has_no_loggers(tmp_path):
    write_log(tmp_path / "log.csv", from_frame(table(50), **BALANCED))
    with pytest.raises(ValueError, match="write_log wrote"):
        scan_log(tmp_path / "log.csv", logger="logger", propensity={"a": "p_a"})


def followed(size, seed=0):
    """One policy follows another, in a season that pays more; the item has no effect."""
    rng = np.random.default_rng(seed)
    late = np.arange(size) >= size // 2
    item = (rng.random(size) < np.where(late, 0.8, 0.2)).astype(int)
    frame = pandas.DataFrame({"item": item, "month": late + 3})
    frame["logger"] = np.where(late, "new", "old")
    frame["paid"] = (rng.random(size) < np.where(late, 0.6, 0.2)).astype(float)
    frame["p_old"] = np.where(item, 0.2, 0.8)
    frame["p_new"] = np.where(item, 0.8, 0.2)
    return frame


FOLLOWED = {
    "action": "item",
    "reward": "paid",
    "features": "month",
    "logger": "logger",
    "propensity": {"old": "p_old", "new": "p_new"},
}
ALWAYS = [InversePropensityScoring(), SelfNormalizedIPS(), DoublyRobust()]
DIFFERENT = "met other contexts, or other times"


@pytest.mark.parametrize("estimator", ALWAYS)
def test_policies_that_followed_each_other_are_estimated_rightly_unless_balanced(estimator):
    frame = followed(20_000)
    found = {}
    for balance in (False, True):
        log = from_frame(frame, **FOLLOWED, balance=balance)
        policy = np.tile([0.0, 1.0], (len(log), 1))
        found[balance] = estimator.terms(log, policy, np.zeros((len(log), 2))).sums()
    right = found[False].estimate()
    assert abs(right.value - 0.4) < 4 * right.standard_error
    assert right.interval()[0] < 0.4 < right.interval()[1]
    assert not found[False].find_problems()
    (problem,) = found[True].find_problems()
    assert DIFFERENT in problem
    assert "too high" in problem


@pytest.mark.parametrize("estimator", ALWAYS)
def test_policies_that_took_turns_may_be_balanced(estimator):
    frame = table(20_000)
    log = from_frame(frame, **BALANCED)
    sums = estimator.terms(log, np.tile([0.5, 0.5, 0.0], (20_000, 1)), np.zeros((20_000, 3))).sums()
    assert not sums.find_problems()


def estimates_of(frame, roles):
    logs = logs_of(frame, roles)
    return [
        SelfNormalizedIPS().estimate(
            log, np.tile([0.0, 1.0, 0.0][: log.num_actions], (len(log), 1))
        )
        for log in logs.values()
    ]


def test_estimates_that_differ_count_by_their_rows():
    frame = followed(20_000)
    frame["p"] = np.where(frame["logger"] == "old", frame["p_old"], frame["p_new"])
    roles = {**ROLES, "features": "month"}
    estimates = estimates_of(frame, roles)
    with pytest.warns(UserWarning, match=DIFFERENT):
        found = combine_estimates(estimates)
    assert found.shares == (0.5, 0.5)
    assert found == stratify_estimates(estimates)
    assert found.interval()[0] < 0.4 < found.interval()[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        combine_estimates(estimates_of(table(4000), ROLES))


def test_the_command_takes_own_propensities_and_balances_on_request(tmp_path):
    for package in ("joblib", "matplotlib", "rich"):
        pytest.importorskip(package)
    table(2000).to_csv(tmp_path / "table.csv", index=False)
    roles = ["--logger", "logger", "--action", "item", "--reward", "paid", "--features", "country"]
    options = [
        *roles,
        "--policy",
        "random",
        "--estimator",
        "ips",
        "--train",
        "none",
        "--output",
        tmp_path / "out",
    ]
    outcome = run("evaluate", tmp_path / "table.csv", *options, "--propensity", "a=p_a,b=p_b")
    assert outcome.code == 0, outcome.err
    assert "mixture" not in outcome.out
    check_value(tmp_path / "out", LOGGERS)
    options += ["--overwrite"]
    counts = table(2000)["logger"].value_counts()
    assert f"logging policies: a ({counts['a']} rows), b ({counts['b']} rows)" in outcome.out
    options += ["--propensity", "p_a"]
    outcome = run("evaluate", tmp_path / "table.csv", *options)
    assert outcome.code == 2
    assert "expected NAME=COLUMN,NAME=COLUMN" in " ".join(outcome.err.split())


def check_value(folder, roles):
    """Checks that the value of a uniform policy is that of a log in memory."""
    log = from_frame(table(2000), **roles)
    expected = InversePropensityScoring().terms(log, np.full((2000, 3), 1 / 3)).sums().main.value()
    (found,) = [row for row in rows(folder / "estimates.csv") if row["estimator"] == "ips"]
    assert float(found["value"]) == pytest.approx(expected)


def test_policies_that_learn_are_evaluated_by_the_loggers_of_the_rows_that_are_left(tmp_path):
    pytest.importorskip("joblib")
    frame = table(6000).sort_values("logger", kind="stable")  # as where one followed another
    frame.to_csv(tmp_path / "table.csv", index=False)
    scan = scan_log(tmp_path / "table.csv", 1000, **BALANCED)
    found = evaluate(scan, ["lin_ucb", "random"], ["ips"], train=0.6)
    later = frame[3600:]
    assert set(later["logger"]) == {"b"}
    expected = later["paid"] * (1 / 3) / later["p_b"]
    row = next(row for row in found.rows if row.policy == "random")
    assert (row.rows, row.value) == (2400, pytest.approx(expected.mean()))
    with pytest.raises(ValueError, match="several logging policies; expected the same rows"):
        evaluate(scan, ["lin_ucb", "random"], ["ips"], train=0.6, all_rows=True)


def test_a_learner_takes_the_loggers_of_the_rows_that_it_learns_from(tmp_path):
    pytest.importorskip("joblib")
    frame = table(3000).sort_values("logger", kind="stable")
    frame.to_csv(tmp_path / "table.csv", index=False)
    scan = scan_log(tmp_path / "table.csv", 700, **BALANCED)
    for learner in (DoublyRobustLearner(), PolicyGradientLearner(num_steps=5)):
        found = learn(scan, learner, train=0.7)
        expected = learner.fit(from_frame(frame[:2100], **BALANCED))
        np.testing.assert_allclose(found.policy.model.weights, expected.model.weights, rtol=1e-9)
