"""Data sets of columns, frames and files."""

import socket

import numpy as np
import pytest

from bandit_envs import ClassificationBandit, datasets
from bandit_envs.datasets import Dataset, read_dataset
from bandit_envs.environments.registry import ENVIRONMENTS
from tests.command_line import rows, run

pandas = pytest.importorskip("pandas")
COLUMNS = {"size": [1.0, 2.0, 3.0], "colour": ["red", "blue", "red"], "kind": ["b", "a", "b"]}


def test_text_becomes_one_hot_features():
    data = read_dataset(pandas.DataFrame(COLUMNS), "kind")
    assert data.contexts.tolist() == [[1, 0, 1], [2, 1, 0], [3, 0, 1]]
    assert data.labels.tolist() == [1, 0, 1]


def test_text_with_a_value_for_almost_every_row_warns():
    names = {"kind": [0, 1] * 60, "text": [f"note {row}" for row in range(120)]}
    with pytest.warns(UserWarning, match="column text becomes 120 features"):
        assert read_dataset(pandas.DataFrame(names), "kind").contexts.shape == (120, 120)
    fewer = {**names, "text": 2 * names["text"][:60], "number": range(120)}
    read_dataset(pandas.DataFrame(fewer), "kind")


def test_some_columns_can_be_the_features():
    for features in ("size", ["size"]):
        data = read_dataset(pandas.DataFrame(COLUMNS), "kind", features)
        assert data.contexts.tolist() == [[1], [2], [3]]


def test_standardized_features_have_mean_0_and_variance_1():
    frame = pandas.DataFrame({**COLUMNS, "same": [7, 7, 7]})
    contexts = read_dataset(frame, "kind").standardized().contexts
    assert contexts.mean(axis=0) == pytest.approx(0.0, abs=1e-6)
    assert contexts.std(axis=0) == pytest.approx([1.0, 1.0, 1.0, 0.0])


@pytest.mark.parametrize("constant", [0.1, 0.25, 1 / 3])
def test_standardized_constants_are_0(constant):
    varied = np.arange(1000.0)
    table = np.column_stack([np.full(1000, constant), varied]).astype(np.float32)
    contexts = Dataset(table, np.zeros(1000, np.intp)).standardized().contexts
    assert contexts.dtype == np.float32
    assert not contexts[:, 0].any()
    assert contexts[:, 1].std() == pytest.approx(1.0, abs=1e-5)


def test_categories_of_pandas_are_text():
    frame = pandas.DataFrame(COLUMNS).astype({"colour": "category", "kind": "category"})
    data = read_dataset(frame, "kind")
    assert data.contexts.tolist() == [[1, 0, 1], [2, 1, 0], [3, 0, 1]]
    assert data.labels.tolist() == [1, 0, 1]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_are_read_as_frames_are(tmp_path, suffix):
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    frame, path = pandas.DataFrame(COLUMNS), tmp_path / f"data.{suffix}"
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    data = read_dataset(path, "kind")
    expected = read_dataset(frame, "kind")
    assert (data.contexts == expected.contexts).all()
    assert (data.labels == expected.labels).all()


def test_what_is_missing_in_a_column_that_is_not_used_does_not_matter(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a,b,c\n1,0,\n2,1,x\n")
    for features in ("a", ["a"]):
        assert read_dataset(path, "b", features).contexts.tolist() == [[1], [2]]


@pytest.mark.parametrize("kind", ["arrays", "frame", "csv", "parquet"])
def test_a_bandit_is_made_of_it(tmp_path, kind):
    contexts, labels = np.arange(12.0).reshape(6, 2), np.array([0, 1, 2, 0, 1, 2])
    if kind == "arrays":
        data = contexts, labels
    else:
        frame = pandas.DataFrame({"a": contexts[:, 0], "b": contexts[:, 1], "label": labels})
        data, path = read_dataset(frame, "label"), tmp_path / f"data.{kind}"
        if kind == "csv":
            frame.to_csv(path, index=False)
        elif kind == "parquet":
            pytest.importorskip("pyarrow")
            frame.to_parquet(path)
        data = data if kind == "frame" else read_dataset(path, "label")
    env = ClassificationBandit(*data, batch_size=6, seed=0)
    order = env.reset().observation[:, 0] // 2
    assert (env.optimal_action() == order % 3).all()


@pytest.mark.parametrize(
    ("load", "size", "features", "largest"),
    [
        ("load_digits", 1797, 64, 0.101836),
        ("load_wine", 178, 13, 0.398876),
        ("load_breast_cancer", 569, 30, 0.627417),
    ],
)
def test_bundled_data_sets_pay_their_largest_class(load, size, features, largest):
    pytest.importorskip("sklearn")
    data = getattr(datasets, load)()
    assert data.contexts.shape == (size, features)
    env = ClassificationBandit(data.contexts, data.labels, batch_size=size, seed=0)
    env.reset()
    means = env.expected_rewards().mean(axis=0)  # of an epoch, for each fixed action
    assert means.max() == pytest.approx(largest, abs=1e-6)
    assert means.mean() == pytest.approx(1.0 / env.num_actions)


@pytest.mark.parametrize(
    ("data", "num_features", "num_actions"),
    [("digits", 64, 10), ("wine", 13, 3), ("breast_cancer", 30, 2)],
)
def test_the_bandit_of_a_data_set_has_standardized_features_and_a_constant(
    data, num_features, num_actions
):
    pytest.importorskip("sklearn")
    env = ENVIRONMENTS["classification"].make(data, batch_size=10_000, seed=0)
    contexts = env.reset().observation
    assert contexts.shape == (10_000, num_features + 1)
    assert env.num_actions == num_actions
    np.testing.assert_array_equal(contexts[:, -1], 1.0)
    assert contexts[:, :-1].mean(axis=0) == pytest.approx(np.zeros(num_features), abs=0.1)
    is_constant = contexts[:, :-1].std(axis=0) == 0.0  # as some pixels are
    deviations = contexts[:, :-1].std(axis=0)[~is_constant]
    assert deviations == pytest.approx(np.ones(len(deviations)), abs=0.15)
    np.testing.assert_array_equal(env.step(env.optimal_action()).reward, 1.0)


def test_a_data_set_that_is_not_one_of_three_is_refused():
    with pytest.raises(ValueError, match="data is 'iris'; expected one of digits, wine, breast"):
        ENVIRONMENTS["classification"].make(data="iris")


def test_the_command_runs_digits_without_a_network(tmp_path, monkeypatch):
    for package in ("sklearn", "joblib", "rich", "filelock"):
        pytest.importorskip(package)

    def no_network(*arguments):
        raise OSError("there is no network")

    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    monkeypatch.setattr(socket.socket, "connect", no_network)
    policies = "--policy", "lin_ucb", "--policy", "random"
    size = "--runs", 2, "--steps", 60, "--workers", 1
    assert (
        run("run", "classification:data=digits", *policies, *size, "--output", tmp_path).code == 0
    )
    lin_ucb, uniform = (float(row["mean_reward"]) for row in rows(tmp_path / "summary.csv"))
    assert lin_ucb > uniform + 0.3
