"""Tables of outcomes in files: wide and long, numbers and texts."""

import os

import numpy as np
import pytest

from bandit_envs import OutcomeTableBandit, datasets
from bandit_envs.environments.registry import ENVIRONMENTS

pandas = pytest.importorskip("pandas")
pytest.importorskip("sklearn")

WIDE = [
    "prompt,length,small,large,small_cost,large_cost",
    "add one and two,15,1,1,0.1,0.9",
    "prove the theorem,17,0,1,0.2,1.1",
    "write a poem,12,0.5,0.25,0.3,1.2",
]
LONG = [
    "id,length,model,score,dollars",
    "a,15,small,1,0.1",
    "a,15,large,1,0.9",
    "b,17,small,0,0.2",
]


def write(path, lines):
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_wide_table_has_a_column_for_each_action(tmp_path):
    table = datasets.read_outcomes(
        write(tmp_path / "wide.csv", WIDE), "length", ["small", "large"], "{}_cost"
    )
    assert table.contexts.tolist() == [[15], [17], [12]]
    assert table.rewards.tolist() == [[1, 1], [0, 1], [0.5, 0.25]]
    assert table.costs.tolist() == [[0.1, 0.9], [0.2, 1.1], [0.3, 1.2]]
    assert table.actions == ["small", "large"]


def test_a_long_table_may_lack_outcomes(tmp_path):
    table = datasets.read_outcomes(
        write(tmp_path / "long.csv", LONG),
        "length",
        "score",
        "dollars",
        example="id",
        action="model",
    )
    assert table.actions == ["large", "small"]
    assert table.rewards.tolist() == [[1, 1], [0, 0]]
    assert table.costs.tolist() == [[0.9, 0.1], [0, 0.2]]
    assert table.available.tolist() == [[True, True], [False, True]]
    env = OutcomeTableBandit(*table[:3], available=table.available)
    assert env.reset().observation["mask"].any()


def test_parquet_is_read_as_csv_is(tmp_path):
    pytest.importorskip("pyarrow")
    path = write(tmp_path / "wide.csv", WIDE)
    pandas.read_csv(path).to_parquet(tmp_path / "wide.parquet")
    for expected, found in zip(
        datasets.read_outcomes(path, "prompt", ["small", "large"], "{}_cost"),
        datasets.read_outcomes(tmp_path / "wide.parquet", "prompt", ["small", "large"], "{}_cost"),
    ):
        assert np.array_equal(expected, found)


def test_texts_become_features(tmp_path):
    path = write(tmp_path / "wide.csv", WIDE)
    hashed = datasets.read_outcomes(path, "prompt", ["small", "large"]).contexts
    assert hashed.shape == (3, 64)
    assert np.linalg.norm(hashed, axis=1) == pytest.approx(1.0)

    def lengths(texts):
        return [[len(text)] for text in texts]

    own = datasets.read_outcomes(path, "prompt", ["small", "large"], text_features=lengths)
    assert own.contexts.tolist() == [[15], [17], [12]]


def test_the_command_reads_a_table(tmp_path):
    path = write(tmp_path / "wide.csv", WIDE)
    env = ENVIRONMENTS["outcomes"].make(
        path=str(path),
        features="length",
        reward="small,large",
        cost="small_cost,large_cost",
        price=1.0,
        batch_size=3,
    )
    env.reset()
    assert sorted(env.expected_rewards()[:, 0]) == pytest.approx([-0.2, 0.2, 0.9])


def test_the_command_reads_a_file_again_once_it_has_changed(tmp_path):
    arguments = {"path": str(tmp_path / "wide.csv"), "features": "length", "reward": "small,large"}
    best = []
    for lines in (WIDE, [line.replace("0.5", "0.75") for line in WIDE]):
        path = write(tmp_path / "wide.csv", lines)
        os.utime(path, ns=(0, len(best)))
        env = ENVIRONMENTS["outcomes"].make(**arguments, batch_size=3)
        env.reset()
        best.append(sorted(env.optimal_reward()))
    assert best == [[0.5, 1, 1], [0.75, 1, 1]]


def test_a_price_needs_costs(tmp_path):
    path = write(tmp_path / "wide.csv", WIDE)
    with pytest.raises(ValueError, match="price is 2, but cost"):
        ENVIRONMENTS["outcomes"].make(str(path), features="length", reward="small", price=2.0)


def test_columns_need_a_table():
    with pytest.raises(ValueError, match="path is empty"):
        ENVIRONMENTS["outcomes"].make(reward="small,large")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda lines: [lines[0]], "no rows"),
        (lambda lines: [*lines[:2], lines[2].replace(",0,1,", ",bad,1,")], "line 3, column small"),
        (lambda lines: [lines[0].replace("large,", "huge,"), *lines[1:]], "'large'"),
        (lambda lines: [*lines, ",1,1,1,1,1"], "'prompt' 1, first in line 5"),
        (lambda lines: [*lines, "too few,1,1"], "'small_cost' 1, first in line 5"),
        (lambda lines: [*lines, "too many,1,1,1,1,1,1"], "line 5"),
        (lambda lines: [*lines, "refund,1,1,1,-1,1"], "line 5, column small_cost is '-1"),
        (
            lambda lines: [lines[0], '"two\nlines",1,1,1,1,1', "bad,1,x,1,1,1"],
            "line 4, column small",
        ),
    ],
)
def test_bad_tables_are_told_by_line_and_column(tmp_path, edit, message):
    path = write(tmp_path / "bad.csv", edit(WIDE))
    with pytest.raises(ValueError, match=message):
        datasets.read_outcomes(path, "prompt", ["small", "large"], "{}_cost")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a,15,small,0,0.1", "line 5 has id a and model small, as line 2 has"),
        ("a,15, small,0,0.1", "line 5 has id a and model"),
        ("b,99,large,0,0.1", "line 5, column length is '99'; expected what the first line"),
        ("c,,large,1,0.1", "'length' 1, first in line 5"),
        ("c,1,,1,0.1", "'model' 1, first in line 5"),
        (",1,small,1,0.1", "'id' 1, first in line 5"),
        ("c,1,small,,0.1", "'score' 1, first in line 5"),
        ("c,1,small,1,-1", "line 5, column dollars"),
    ],
)
def test_bad_lines_of_a_long_table_are_told(tmp_path, line, message):
    path = write(tmp_path / "bad.csv", [*LONG, line])
    with pytest.raises(ValueError, match=message):
        datasets.read_outcomes(path, "length", "score", "dollars", example="id", action="model")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"reward": []}, "reward names no columns"),
        ({"reward": "small,large"}, "no column 'small,large'.*several names are a list"),
        ({"reward": ["small", "small"]}, "reward has the column 'small' twice"),
        ({"features": ["prompt", "small"]}, "'small' has two roles"),
        ({"cost": ["small_cost"]}, "cost names 1 columns; expected 2"),
        ({"action": "length"}, "both example and action"),
        ({"example": "prompt", "action": "length"}, "expected one column"),
        ({"text_features": lambda texts: [[1.0]]}, "text_features returned shape"),
    ],
)
def test_columns_that_do_not_fit_are_refused(tmp_path, arguments, message):
    path = write(tmp_path / "wide.csv", WIDE)
    columns = {"features": "prompt", "reward": ["small", "large"], **arguments}
    with pytest.raises(ValueError, match=message):
        datasets.read_outcomes(path, **columns)


def test_a_data_frame_is_a_table_too(tmp_path):
    frame = pandas.read_csv(write(tmp_path / "wide.csv", WIDE))
    table = datasets.read_outcomes(frame, "length", ["small", "large"], "{}_cost")
    assert table.rewards.tolist() == [[1, 1], [0, 1], [0.5, 0.25]]
    frame.loc[1, "length"] = np.nan
    with pytest.raises(ValueError, match=r"^1 of 3 rows miss values: 'length' 1, first in row 1"):
        datasets.read_outcomes(frame, "length", ["small", "large"])


def test_a_row_with_an_empty_reward_lacks_this_outcome(tmp_path):
    frame = pandas.read_csv(write(tmp_path / "wide.csv", WIDE))
    frame.loc[1, ["small", "small_cost"]] = np.nan
    with pytest.warns(UserWarning, match="1 of 6 outcomes are empty"):
        found = datasets.read_outcomes(frame, "length", ["small", "large"], "{}_cost")
    assert found.available.tolist() == [[True, True], [False, True], [True, True]]
    assert found.rewards[1, 0] == found.costs[1, 0] == 0.0
    frame.loc[1, "large_cost"] = np.nan
    with pytest.raises(ValueError, match="'large_cost' 1, first in row 1"):
        datasets.read_outcomes(frame, "length", ["small", "large"], "{}_cost")
    frame.loc[1, "large"] = np.nan
    with pytest.raises(ValueError, match="row 1 has no outcome"):
        datasets.read_outcomes(frame, "length", ["small", "large"])


def test_a_table_of_outcomes_may_have_no_features():
    table = pandas.DataFrame({"Ad 1": [0, 1, 0], "Ad 2": [1, 1, 0]})
    found = datasets.read_outcomes(table, reward="Ad *")
    assert found.actions == ["Ad 1", "Ad 2"]
    assert found.contexts.tolist() == [[1.0], [1.0], [1.0]]
    assert found.units.tolist() == [0, 1, 2]


def test_patterns_stand_for_columns_of_rewards():
    names = ["q", "m_a", "m_b", "m_a_cost", "m_b_cost"]
    table = pandas.DataFrame(np.arange(10.0).reshape(2, 5), columns=names)
    found = datasets.read_outcomes(table, "q", "m_*", "{}_cost")
    assert (found.actions, found.costs.tolist()) == (["m_a", "m_b"], [[3.0, 4.0], [8.0, 9.0]])


def test_patterns_stand_for_columns_that_describe_requests():
    names = ["q0", "q1", "a", "b", "c", "d"]
    table = pandas.DataFrame(np.arange(12.0).reshape(2, 6), columns=names)
    wide = table.assign(**{"Unnamed: 0": [1.0, 2.0], "Unnamed q": 0.0})
    read = datasets.read_outcomes
    assert read(wide, "*q*", ["a", "b"]).features == ["q0", "q1", "Unnamed q"]
    assert read(wide, "Unnamed*", ["a", "b"]).features == ["Unnamed q"]
    assert read(wide, ["Unnamed: 0", "q*"], ["a", "b"]).features == ["Unnamed: 0", "q0", "q1"]
    long = table.assign(qid=[1, 1], queue=["x", "y"], q0=1.0, q1=1.0)
    assert read(long, "q*", "a", "b", example="qid", action="queue").features == ["q0", "q1"]


def test_columns_may_be_named_by_integers():
    table = pandas.DataFrame(np.arange(12.0).reshape(2, 6))
    found = datasets.read_outcomes(table, [0, 1], [2, 3], [4, 5])
    assert (found.features, found.actions) == (["0", "1"], ["2", "3"])
    assert found.contexts.tolist() == [[0.0, 1.0], [6.0, 7.0]]
    with pytest.raises(ValueError, match="it has no column 9; it has"):
        datasets.read_outcomes(table, [0, 9], [2, 3])


def test_numbers_in_a_column_of_objects_are_numbers():
    numbers = {"size": [0.5, 2.0], "small": [0.0, 1.0], "large": [1.0, 1.0]}
    table = pandas.DataFrame(numbers).astype({"size": object})
    found = datasets.read_outcomes(table, "size", ["small", "large"])
    assert (found.features, found.contexts.tolist()) == (["size"], [[0.5], [2.0]])
    table.loc[1, "size"] = None
    with pytest.raises(ValueError, match="'size' 1, first in row 1"):
        datasets.read_outcomes(table, "size", ["small", "large"])


def test_lines_with_missing_values_are_dropped_on_request_and_counted():
    table = pandas.DataFrame({"size": [1.0, 2.0, 3.0], "a": [0.0, None, 1.0], "b": 1.0})
    with pytest.warns(UserWarning, match="1 of 3 rows miss values, and are left out"):
        found = datasets.read_outcomes(table, "size", ["a", "b"], drop_missing=True)
    assert found.rewards.tolist() == [[0.0, 1.0], [1.0, 1.0]]


def test_lines_with_equal_features_are_one_example_unless_a_column_tells_them_apart():
    texts = ["a poem", "a sum", "a poem"]
    table = pandas.DataFrame({"id": ["x", "y", "z"], "text": texts, "a": 0.0, "b": 1.0})
    make = {"text_features": lambda texts: np.ones((len(texts), 1))}
    found = datasets.read_outcomes(table, "text", ["a", "b"], **make)
    assert found.units.tolist() == [0, 1, 0]  # by the texts, not by what is made of them
    named = datasets.read_outcomes(table, "text", ["a", "b"], example="id", **make)
    assert named.units.tolist() == [0, 1, 2]


def test_an_example_that_an_environment_would_not_use_is_refused(tmp_path):
    path = write(tmp_path / "wide.csv", WIDE)
    with pytest.raises(ValueError, match="example is 'prompt', which has no effect"):
        ENVIRONMENTS["outcomes"].make(
            path=str(path), features="length", reward="small,large", example="prompt"
        )


def test_units_and_segments_are_columns_of_wide_and_of_long_tables():
    wide = pandas.DataFrame(
        {
            "x": [1.0, 2.0, 3.0],
            "a": [0, 1, 1],
            "b": [1, 1, 0],
            "user": ["u", "v", "u"],
            "year": [2024.0, 2023.0, 2024.0],
        }
    )
    found = datasets.read_outcomes(wide, "x", ["a", "b"], unit="user", by="year")
    assert found.units.tolist() == [0, 1, 0]
    assert found.segments.tolist() == ["2024", "2023", "2024"]
    with pytest.raises(ValueError, match="no column"):  # patterns do not stand for them
        datasets.read_outcomes(wide, "*r", ["a", "b"], unit="user", by="year")
    long = wide.assign(id=[7, 8, 9]).melt(["id", "x", "user", "year"], ["a", "b"], "model", "score")
    columns = {"example": "id", "action": "model", "unit": "user", "by": "year"}
    again = datasets.read_outcomes(long, "x", "score", **columns)
    assert again.units.tolist() == [0, 1, 0]
    assert again.segments.tolist() == ["2024", "2023", "2024"]
    long.loc[4, "user"] = "w"
    with pytest.raises(ValueError, match="column user is 'w'; expected what the first line"):
        datasets.read_outcomes(long, "x", "score", **columns)
    with pytest.raises(ValueError, match="the column x has numbers that are not whole"):
        datasets.read_outcomes(wide.assign(x=0.5), "x", ["a", "b"], by="x")
