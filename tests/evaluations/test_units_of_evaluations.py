"""Evaluations of logs whose rows belong to units: tables, training, segments, workers, command."""

import re

import numpy as np
import pytest

from bandit_envs.evaluations import evaluate, learn
from bandit_envs.logged import BanditLog, from_frame, read_log, scan_log
from bandit_envs.logged.rows.units import as_units, slices_of_units

pandas = pytest.importorskip("pandas")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def table_of_users(size=6000, users=700, seed=0):
    """Decisions of users who like all actions, or none."""
    rng = np.random.default_rng(seed)
    user = rng.integers(0, users, size)
    likes = rng.normal(size=users)
    action = rng.integers(0, 2, size)
    return pandas.DataFrame(
        {
            "user": [f"user-{number}" for number in user],
            "number": user,
            "age": 20.0 + user % 50,
            "country": np.array(["DE", "FR"])[user % 2],
            "action": np.array(["hats", "shoes"])[action],
            "reward": likes[user] + 0.2 * action + rng.normal(size=size),
            "propensity": 0.5,
        }
    )


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    file = tmp_path_factory.mktemp("units") / "log.csv"
    table_of_users().to_csv(file, index=False)
    return file


def scan(path, **options):
    return scan_log(path, 1000, features=["age", "country"], **options)


def test_intervals_are_by_units(path):
    by_rows = evaluate(scan(path), "random", "snips").rows
    by_units = evaluate(scan(path, unit="user"), "random", "snips").rows
    assert [row.value for row in by_units] == pytest.approx([row.value for row in by_rows])
    errors = [row.standard_error for row in by_units]
    assert np.all(np.array(errors) > 1.8 * np.array([row.standard_error for row in by_rows]))
    sizes = [row.effective_sample_size for row in by_units]
    assert max(sizes) < 800


def test_integers_and_texts_are_units_alike(path):
    texts = evaluate(scan(path, unit="user"), "random", "ips").rows[1]
    numbers = evaluate(scan(path, unit="number"), "random", "ips").rows[1]
    assert numbers.standard_error == pytest.approx(texts.standard_error, rel=0.1)


def test_segments_are_by_units(path):
    found = evaluate(scan(path, unit="user"), "random", "ips", by="country")
    log = next(iter(scan_log(path, 10**6, features=["age", "country"], unit="user")))
    part = log[log.observation[:, 1] == 1.0]
    expected = evaluate(part, "random", "ips").rows[1]
    assert found.segments["DE"][1].low == pytest.approx(expected.low, rel=1e-9)


@pytest.mark.parametrize("train", [0.5, 0.25])
def test_learning_keeps_a_unit_together(path, train):
    log = next(iter(scan_log(path, 10**6, features=["age", "country"], unit="user")))
    is_first = slices_of_units(log.unit) < round(4096 * train)
    learned = learn(log, "direct_method", train=train)
    assert learned.learned_from.size == is_first.sum()
    again = learn(log[is_first], "direct_method", train=1.0)
    assert learned.learned_from.identify() == again.learned_from.identify()
    found = evaluate(log, "lin_ucb", "snips", train=train)
    assert found.rows[1].rows == (~is_first).sum()
    rest = evaluate(log[~is_first], found.policies["lin_ucb"], "snips", train=None)
    assert found.rows[1].value == pytest.approx(rest.rows[1].value, rel=1e-9)
    assert found.rows[1].low == pytest.approx(rest.rows[1].low, rel=1e-9)
    note = f"Learned from the {is_first.sum()} rows of some of the units, and frozen then: lin_ucb."
    assert note in found.notes


def test_what_was_learned_from_some_units_is_evaluated_on_others(path, tmp_path):
    learned = learn(scan(path, unit="user"), "direct_method")
    learned.write(tmp_path / "policy.npz")
    found = evaluate(scan(path, unit="user"), str(tmp_path / "policy.npz"), "snips")
    assert found.rows[1].rows == 6000 - learned.learned_from.size
    assert not found.rows[1].warnings


def test_workers_find_the_same(path):
    one = evaluate(scan(path, unit="user"), ["random", "lin_ucb"], ["dr"])
    more = evaluate(
        scan(path, unit="user"), ["random", "lin_ucb"], ["dr"], workers=2, backend="threading"
    )
    for row, other in zip(one.rows, more.rows, strict=True):
        assert row[3:7] == pytest.approx(other[3:7], rel=1e-9)


def test_all_rows_of_untrained_policies_are_evaluated(path):
    found = evaluate(scan(path, unit="user"), "random", "snips")
    assert {row.rows for row in found.rows} == {6000}


def test_a_column_that_repeats_as_units_do_is_told_once(path):
    features = ["age", "country", "number"]
    title = evaluate(scan_log(path, features=features), "random", "ips").title
    assert title.count("column 'number' repeats as users do") == 1
    assert "'age' repeats" not in title
    title = evaluate(scan_log(path, features=features[:2], unit="user"), "random", "ips").title
    assert "repeats as" not in title
    assert "is not used" not in title
    assert title.count("rows of one unit belong together: errors and intervals are by units") == 1


def test_a_column_that_is_called_as_units_are_is_told_once(path):
    title = evaluate(scan(path), "random", "ips").title
    assert title.count("column 'user' is not used; --unit user, or unit='user'") == 1


def test_batches_of_rows_are_cut_by_steps(path):
    log = next(iter(scan_log(path, 10**6, features=["age"], unit="user")))
    columns = {**log.columns(), "row": np.arange(len(log)) % 2}
    batches = BanditLog(log.observation, num_actions=2, **columns)
    found = evaluate(batches, "lin_ucb", "ips")
    assert found.rows[1].rows == 3000
    assert "Learned from the first 3000 rows, and frozen then: lin_ucb." in found.notes


def test_what_was_learned_from_the_first_rows_is_evaluated_on_the_others(path, tmp_path):
    learned = learn(scan(path), "direct_method", train=0.25)
    learned.write(tmp_path / "policy.npz")
    found = evaluate(scan(path, unit="user"), str(tmp_path / "policy.npz"), "snips")
    assert found.rows[1].rows == 4500
    assert not found.rows[1].warnings
    assert found.rows[0].value == pytest.approx(table_of_users()["reward"][1500:].mean())
    assert "Learned from the first 1500 rows, and frozen then: " in "\n".join(found.notes)


@pytest.mark.parametrize("options", [{}, {"train": 0.5}])
def test_learning_from_units_beside_what_was_learned_from_the_first_rows_is_refused(
    path, tmp_path, options
):
    learn(scan(path), "direct_method", train=0.25).write(tmp_path / "policy.npz")
    policies = {"early": str(tmp_path / "policy.npz"), "online": "lin_ucb"}
    problem = r"policy early has learned from the first 1500 rows .* expected a cut by time"
    with pytest.raises(ValueError, match=problem):
        evaluate(scan(path, unit="user"), policies, "snips", **options)


def test_numbers_have_intervals_by_units():
    rng = np.random.default_rng(0)
    price = rng.uniform(0.0, 2.0, 500)
    columns = (np.ones((500, 1)), price, price * (2.0 - price), np.full(500, 0.5), 0)
    log = BanditLog(*columns, unit=np.arange(500))
    rows = np.repeat(np.arange(500), 10)
    policy = "gaussian:std=0.01,coefficients=[1.0]"
    once = evaluate(log, policy, "kernel_snips:bandwidth=0.3").rows[1]
    often = evaluate(log[rows], policy, "kernel_snips:bandwidth=0.3").rows[1]
    assert often.standard_error == pytest.approx(once.standard_error, rel=0.05)
    assert often.gain_standard_error == pytest.approx(once.gain_standard_error, rel=0.05)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_decisions_among_items_have_units_and_times(tmp_path, suffix):
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "call": np.repeat(np.arange(300), 2),
            "who": [f"user-{row // 2 % 40}" for row in range(600)],
            "day": np.repeat(pandas.date_range("2025-01-01", periods=300, freq="4h"), 2),
            "name": rng.permuted(np.tile(["hats", "shoes"], (300, 1)), axis=1).ravel(),
            "price": rng.random(600),
            "chosen": [0, 1] * 300,
            "reward": 1.0,
            "propensity": 0.5,
        }
    )
    file = tmp_path / f"log{suffix}"
    frame.to_csv(file, index=False) if suffix == ".csv" else frame.to_parquet(file)
    roles = {"decision": "call", "item": "name", "item_features": "price"}
    log = read_log(file, unit="who", time="day", **roles)
    assert log.unit.tolist() == as_units([f"user-{row % 40}" for row in range(300)]).tolist()
    scan = scan_log(file, 100, unit="who", time="day", **roles)
    found = evaluate(scan, "random", "snips", by="month")
    assert list(found.segments) == ["2025-01", "2025-02"]
    assert found.summary.slices is not None


def test_learning_from_a_part_of_one_unit_is_refused():
    columns = (np.ones((50, 1)), np.arange(50) % 2, np.ones(50), np.full(50, 0.5))
    log = BanditLog(*columns, unit=np.zeros(50, int))
    with pytest.raises(
        ValueError, match=r"50 rows, too few .* as the rows of a unit stay together"
    ):
        evaluate(log, "lin_ucb", "ips")


def test_integers_of_frames_with_gaps_are_units():
    frame = table_of_users(50)
    numbers = from_frame(frame, features=["age"], unit="number").unit
    found = from_frame(frame.astype({"number": "Int64"}), features=["age"], unit="number").unit
    assert found.tolist() == numbers.tolist() == frame["number"].tolist()


@pytest.mark.parametrize("kind", ["Int64", "float64"])
def test_integers_among_which_one_is_missing_are_units(tmp_path, kind):
    pytest.importorskip("pyarrow")
    frame = table_of_users(50).astype({"number": kind})
    expected = frame["number"].tolist()[1:]
    frame.loc[0, "number"] = None
    frame.to_parquet(tmp_path / "log.parquet")
    roles = {"features": ["age"], "unit": "number", "drop_missing": True}
    assert from_frame(frame, **roles).unit.tolist() == expected
    assert read_log(tmp_path / "log.parquet", **roles).unit.tolist() == expected


@pytest.mark.parametrize("cell", [0.5, True, 2.0**53])
def test_units_are_integers_or_texts(path, cell):
    frame = table_of_users(50)
    frame["user"] = [cell] * 50
    with pytest.raises(ValueError, match=re.escape("expected an integer or a text")):
        from_frame(frame, features=["age"], unit="user")
