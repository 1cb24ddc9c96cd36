"""Data sets of columns, frames and files."""

import numpy as np
import pytest

from bandit_envs import ClassificationBandit
from bandit_envs.datasets import from_bunch, from_columns, from_frame, read_dataset

COLUMNS = {"size": [1.0, 2.0, 3.0], "colour": ["red", "blue", "red"], "kind": ["b", "a", "b"]}


def test_text_becomes_one_hot_features():
    data = from_columns(COLUMNS, "kind")
    assert data.feature_names == ("size", "colour=blue", "colour=red")
    assert data.contexts.tolist() == [[1, 0, 1], [2, 1, 0], [3, 0, 1]]
    assert data.labels.tolist() == [1, 0, 1]
    assert data.label_names == ("a", "b")


def test_some_columns_can_be_the_features():
    assert from_columns(COLUMNS, "kind", ["size"]).contexts.tolist() == [[1], [2], [3]]


def test_standardized_features_have_mean_0_and_variance_1():
    contexts = from_columns({**COLUMNS, "same": [7, 7, 7]}, "kind").standardized().contexts
    assert contexts.mean(axis=0) == pytest.approx(0.0, abs=1e-6)
    assert contexts.std(axis=0) == pytest.approx([1.0, 1.0, 1.0, 0.0])


def test_a_missing_value_is_named():
    with pytest.raises(ValueError, match="column colour: row 1"):
        from_columns({**COLUMNS, "colour": np.array(["red", None, "red"], object)}, "kind")
    with pytest.raises(ValueError, match="column size: row 2"):
        from_columns({**COLUMNS, "size": [1.0, 2.0, np.nan]}, "kind")


def test_a_missing_column_is_named():
    with pytest.raises(ValueError, match="'weight'"):
        from_columns(COLUMNS, "kind", ["weight"])


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_frames_and_files_are_read_as_columns(tmp_path, suffix):
    pandas = pytest.importorskip("pandas")
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    frame, path = pandas.DataFrame(COLUMNS), tmp_path / f"data.{suffix}"
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    for data in (from_frame(frame, "kind"), read_dataset(path, "kind")):
        expected = from_columns(COLUMNS, "kind")
        assert (data.contexts == expected.contexts).all()
        assert data[2:] == expected[2:]


def test_a_bad_file_is_named(tmp_path):
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "data.csv"
    path.write_text("a,b\n1,2\n3,4,5\n")
    with pytest.raises(ValueError, match=r"data\.csv"):
        read_dataset(path, "b")
    pandas.DataFrame({"a": [1.0, None], "b": [0, 1]}).to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"data\.csv, column a: row 1"):
        read_dataset(path, "b")


@pytest.mark.parametrize(
    ("load", "size", "features", "largest"),
    [
        ("load_digits", 1797, 64, 0.101836),
        ("load_wine", 178, 13, 0.398876),
        ("load_breast_cancer", 569, 30, 0.627417),
    ],
)
def test_bundled_data_sets_pay_their_largest_class(load, size, features, largest):
    datasets = pytest.importorskip("sklearn.datasets")
    data = from_bunch(getattr(datasets, load)())
    assert data.contexts.shape == (size, features)
    env = ClassificationBandit(data.contexts, data.labels, batch_size=size, seed=0)
    env.reset()
    means = env.expected_rewards().mean(axis=0)  # of an epoch, for each fixed action
    assert means.max() == pytest.approx(largest, abs=1e-6)
    assert means.mean() == pytest.approx(1.0 / env.num_actions)
