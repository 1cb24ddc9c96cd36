import dataclasses
import json
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from bandit_envs import load_state, save_state
from bandit_envs.datasets import load_open_bandit, read_dataset
from bandit_envs.logged import (
    BanditLog,
    InversePropensityScoring,
    RewardRegression,
    concatenate,
    from_frame,
    from_obp,
    read_dsjson,
    read_log,
    scan_log,
    to_frame,
    to_obp,
    write_dsjson,
    write_log,
)
from bandit_envs.nests import map_structure
from tests.datasets.test_published import DECISIONS, ITEMS
from tests.logged.logs import logs, small_log

anywhere = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
SUFFIXES = [".npz", ".csv", ".parquet"]
WRITE_AND_READ = dict.fromkeys(SUFFIXES, (write_log, read_log))
WRITE_AND_READ[".json"] = (write_dsjson, read_dsjson)


NEEDED = {".csv": "pandas", ".parquet": "pyarrow"}


def needs(suffix):
    """Skips a test without the package that a format needs."""
    if suffix in NEEDED:
        pytest.importorskip(NEEDED[suffix])


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(log=logs())
@anywhere
def test_a_file_gives_back_the_log(suffix, log, tmp_path):
    needs(suffix)
    path = tmp_path / f"log{suffix}"
    write_log(path, log)
    assert read_log(path) == log


@pytest.mark.parametrize(
    ("observation", "suffixes"),
    [
        (np.array(["a\0b", "\0", "c", "", "d\0", "\0e"]), [".npz", ".parquet"]),
        (np.arange(6, dtype=">i4"), SUFFIXES),
        (np.arange(6, dtype=">f8"), SUFFIXES),
        (np.arange(6, dtype=np.float16), SUFFIXES),
        (np.arange(6, dtype=np.longdouble), [".npz"]),
        ({"a": np.ones((6, 1)), "a[0]": np.zeros(6)}, [".npz"]),
    ],
    ids=["NUL", ">i4", ">f8", "float16", "longdouble", "one name"],
)
def test_unusual_arrays_come_back_from_the_files_that_hold_them(observation, suffixes, tmp_path):
    small = small_log()
    log = BanditLog(observation, small.action, small.reward, small.propensity)
    for suffix in suffixes:
        needs(suffix)
        write_log(tmp_path / f"log{suffix}", log)
        assert read_log(tmp_path / f"log{suffix}") == log


def test_a_folder_holds_the_rows_of_its_files_in_the_order_of_their_names(tmp_path):
    needs(".csv")
    log = small_log()
    for name, rows in (("2.csv", [4, 5]), ("0.npz", [0, 1]), ("1.npz", [2, 3]), (".3.npz", [0])):
        write_log(tmp_path / name, log[rows])
    assert read_log(tmp_path) == log
    assert read_log(tmp_path) == concatenate([log[:3], log[3:]])


@given(log=logs(["array"], ["action_probabilities", "expected_rewards", "embedding"]))
def test_a_feedback_dict_gives_back_the_log(log):
    feedback = to_obp(log)
    assert feedback["n_rounds"] == len(log)
    assert from_obp(feedback) == log


def test_feedback_with_embeddings_of_actions_becomes_a_log_with_those_of_its_rows():
    embeddings = {
        "action_context": np.ones((3, 2)),
        "action_embed": np.ones((6, 2), int),
        "p_e_a": np.full((3, 2, 2), 0.5),
        "q_x_e": np.ones((6, 2, 2)),
    }
    log = dataclasses.replace(small_log(), embedding=np.ones((6, 2), int))
    assert from_obp({**to_obp(small_log()), **embeddings}) == log
    assert from_obp(to_obp(log)) == log


def real_feedback(file):
    """The feedback that OBP's OpenBanditDataset makes of a file."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(file, index_col=0).sort_values("timestamp")
    users = frame.loc[:, frame.columns.str.contains("user_feature")]
    items = pandas.read_csv(file.with_name("item_context.csv"), index_col=0)
    codes = {
        name: items[name].astype("category").cat.codes
        for name in ("item_id", "item_feature_1", "item_feature_2", "item_feature_3")
    }
    item_context = pandas.DataFrame({**codes, "item_feature_0": items["item_feature_0"]})
    return {
        "n_rounds": len(frame),
        "n_actions": int(frame["item_id"].max() + 1),
        "action": frame["item_id"].to_numpy(),
        "position": np.unique(frame["position"], return_inverse=True)[1],
        "reward": frame["click"].to_numpy(),
        "pscore": frame["propensity_score"].to_numpy(),
        "context": pandas.get_dummies(users, drop_first=True).to_numpy(),
        "action_context": item_context.to_numpy(),
    }


def write_decisions(folder, size):
    """Writes decisions of the Open Bandit Dataset at three positions, and three items."""
    rng = np.random.default_rng(0)
    affinities = ",".join(f"user-item_affinity_{item}" for item in range(3))
    header = f",timestamp,item_id,position,click,propensity_score,user_feature_0,{affinities}"
    lines = [header]
    for row in range(size):
        place = rng.integers(3)
        chances = np.array([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2], [0.1, 0.1, 0.8]])[place]
        item = rng.choice(3, p=chances)
        click = int(rng.random() < 0.2 + 0.2 * (item == place))
        user = "abc"[rng.integers(3)]
        lines.append(
            f"{row},2019-11-24 00:{row:05},{item},{place + 1},{click},{chances[item]},{user},0,1,2"
        )
    (folder / "all.csv").write_text("\n".join(lines))
    items = ["0,0,0.5,x,y,z", "1,1,0.7,x,w,z", "2,2,-1.5,v,y,z"]
    header = ",item_id,item_feature_0,item_feature_1,item_feature_2,item_feature_3"
    (folder / "item_context.csv").write_text("\n".join([header, *items]))
    return folder / "all.csv"


def test_real_feedback_of_obp_has_the_decisions_and_positions_of_the_file(tmp_path):
    file = write_decisions(tmp_path, 3000)
    feedback = real_feedback(file)
    log = from_obp(feedback)
    ours = BanditLog(**load_open_bandit(file))
    for name in ("action", "reward", "propensity", "num_actions"):
        assert np.array_equal(getattr(log, name), getattr(ours, name)), name
    assert log.observation["per_arm"].shape == (3000, 3, 5)
    position = log.observation["global"][:, -3:]
    assert (position == ours.observation["global"][:, -3:]).all()
    assert (position.argmax(axis=1) == feedback["position"]).all()
    # A policy that shows each item at its own position earns 0.4.
    for each in (log, ours):
        estimate = InversePropensityScoring().estimate(each, each.observation["global"][:, -3:])
        assert abs(estimate.value - 0.4) < 4 * estimate.standard_error
        assert estimate.value == InversePropensityScoring().estimate(ours, position).value


def test_probabilities_of_all_positions_are_those_of_the_position_of_the_row():
    by_position = np.random.default_rng(0).dirichlet(np.ones(3), (6, 2)).transpose(0, 2, 1)
    positions = np.array([0, 1, 1, 0, 1, 0])
    feedback = {**to_obp(small_log()), "pi_b": by_position, "position": positions}
    log = from_obp(feedback)
    assert np.array_equal(log.action_probabilities[2], by_position[2, :, 1])
    assert log.observation[:, 2:].tolist() == np.eye(2)[positions].tolist()
    assert from_obp({**to_obp(small_log()), "position": np.ones(6, int)}) == small_log()
    with pytest.raises(TypeError, match=r"feedback is a tuple; .* is_timeseries_split"):
        from_obp((feedback, feedback))


@given(log=logs(["array", "items"], ["action_probabilities"]))
@anywhere
def test_dsjson_gives_back_the_log(log, tmp_path):
    write_dsjson(tmp_path / "log.json", log)
    observation = map_structure(lambda leaf: leaf.astype(np.float64), log.observation)
    in_float64 = BanditLog(observation, num_actions=log.num_actions, **log.columns())
    assert read_dsjson(tmp_path / "log.json") == in_float64


def test_dsjson_of_the_service_is_read(tmp_path):
    line = {
        "_label_cost": -1.0,
        "_label_probability": 0.8,
        "_label_Action": 2,
        "_labelIndex": 1,
        "Timestamp": "2020-01-01",
        "a": [2, 1],
        "c": {"User": {"age": 3, "team": "red"}, "_multi": [{"A": {"f": 1}}, {"A": {"f": 2}}]},
        "p": [0.8, 0.2],
    }
    path = tmp_path / "log.json"
    path.write_text(json.dumps(line) + "\n")
    log = read_dsjson(path)
    assert (log.action[0], log.reward[0], log.propensity[0]) == (1, 1.0, 0.8)
    assert log.action_probabilities.tolist() == [[0.2, 0.8]]
    assert log.observation["global"].tolist() == [[3.0, 1.0]]
    assert log.observation["per_arm"].tolist() == [[[1.0], [2.0]]]


def test_the_open_bandit_dataset_becomes_a_log(tmp_path):
    pytest.importorskip("pandas")
    path = tmp_path / "all.csv"
    path.write_text(DECISIONS)
    log = BanditLog(**load_open_bandit(path))
    assert (log.num_actions, log.action.tolist(), log.reward.tolist()) == (2, [1, 0], [0.0, 1.0])
    assert log.propensity.tolist() == [0.5, 0.25]
    (tmp_path / "item_context.csv").write_text(ITEMS)
    log = BanditLog(**load_open_bandit(path))
    assert RewardRegression(folds=2).predict(log).shape == (2, 2)


@pytest.mark.parametrize("suffix", WRITE_AND_READ)
def test_damaged_files_are_refused_by_name(suffix, tmp_path):
    needs(suffix)
    write, read = WRITE_AND_READ[suffix]
    path = tmp_path / f"log{suffix}"
    write(path, small_log())
    content = path.read_bytes()
    beginnings = [b"", content[:20], content[: len(content) // 2 - 9]]
    for damaged in (*beginnings, b"\x00" * 50, b"a,b\n1,2\n", b"{}\n", b"x | y\n"):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=f"log{suffix}"):
            read(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (",0.25", ",0.0", "propensity is 0.0 in line 4"),
        (",0.25", ",nan", "propensity"),
        (",0.25", ",much", "propensity"),
        ('"propensity"', '"p"', "propensity"),
        ('"action"', '"a"', "action"),
        ("\n2,1.0,0.1,10.0,11.0", "", "rows"),
    ],
)
def test_wrong_columns_are_refused_by_name(old, new, message, tmp_path):
    needs(".csv")
    path = tmp_path / "log.csv"
    write_log(path, small_log())
    layout, table = path.read_text().split("\n", 1)
    assert old in table
    path.write_text(f"{layout}\n{table.replace(old, new)}")
    with pytest.raises(ValueError, match=rf"log\.csv.*{message}"):
        read_log(path)


class Bomb:
    def __reduce__(self):
        return pytest.fail, ("a file ran code",)


def test_nothing_in_a_file_is_executed(tmp_path):
    path = tmp_path / "log.npz"
    np.savez(path, action=np.array([Bomb()], object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"log\.npz"):
        read_log(path)
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ValueError, match=r"log\.npz"):
        read_log(path)


@pytest.mark.parametrize(
    "observation",
    ["pytest.fail('ran')", "__import__('pytest').fail('ran')", "(" * 9999, "-" * 9999 + "1"],
)
def test_nothing_in_the_layout_of_a_table_is_executed(observation, tmp_path):
    with pytest.raises(ValueError, match=r"log\.csv"):
        read_log(with_layout(tmp_path, observation=observation))


@pytest.mark.parametrize("shape", [[10**9, 10**9], [10**20], [-1]])
@pytest.mark.parametrize("dtype", ["<f8", "<U1"])
def test_a_layout_with_a_huge_row_is_refused_at_once(dtype, shape, tmp_path):
    path = with_layout(tmp_path, arrays={"observation": [dtype, shape]})
    with pytest.raises(ValueError, match=r"log\.csv"):
        read_log(path)


def with_layout(folder, **changes):
    """A log in CSV whose layout an editor has changed."""
    pytest.importorskip("pandas")
    path = folder / "log.csv"
    write_log(path, small_log())
    first, table = path.read_text("utf-8").split("\n", 1)
    layout = json.loads(first.removeprefix("# "))
    arrays = {**layout["arrays"], **changes.pop("arrays", {})}
    layout = {**layout, "arrays": arrays, **changes}
    path.write_text(f"# {json.dumps(layout)}\n{table}", "utf-8")
    return path


NEWER = "a log of a newer version of bandit_envs, in format 2; this version reads format 1"


def read_newer_csv(folder):
    read_log(with_layout(folder, format=2))


def scan_newer_csv(folder):
    list(scan_log(with_layout(folder, format=2)))


def read_newer_parquet(folder):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = folder / "log.parquet"
    write_log(path, small_log())
    table = parquet.read_table(path)
    layout = json.loads(table.schema.metadata[b"bandit_envs.log"])
    metadata = {"bandit_envs.log": json.dumps({**layout, "format": 2})}
    parquet.write_table(table.replace_schema_metadata(metadata), path)
    read_log(path)


def read_newer_archive(folder):
    path = folder / "log.npz"
    write_log(path, small_log())
    content = load_state(path)
    content["bandit_envs.log"]["format"] = 2
    save_state(path, content)
    read_log(path)


def take_newer_frame(_):
    pytest.importorskip("pandas")
    frame = to_frame(small_log())
    frame.attrs["bandit_envs.log"]["format"] = 2
    from_frame(frame)


@pytest.mark.parametrize(
    "read",
    [read_newer_csv, scan_newer_csv, read_newer_parquet, read_newer_archive, take_newer_frame],
)
def test_a_log_of_a_newer_version_is_refused_with_the_formats(read, tmp_path):
    with pytest.raises(ValueError, match=NEWER):
        read(tmp_path)


def test_a_table_without_a_format_is_read_as_version_0_2_wrote_it(tmp_path):
    path = with_layout(tmp_path)
    text = path.read_text("utf-8")
    path.write_text(text.replace('"format": 1, ', "", 1), "utf-8")
    assert path.read_text("utf-8") != text
    assert read_log(path) == small_log()


def test_an_archive_with_a_column_that_logs_do_not_have_is_refused(tmp_path):
    path = tmp_path / "log.npz"
    write_log(path, small_log())
    content = load_state(path)
    content["bandit_envs.log"]["colour"] = np.zeros(3)
    save_state(path, content)
    with pytest.raises(ValueError, match=r"log\.npz.*a column 'colour', which logs do not have"):
        read_log(path)


def test_a_type_of_parquet_that_holds_a_pickle_is_not_unpickled(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "log.parquet"
    write_log(path, small_log())
    table = parquet.read_table(path)
    extension = {
        "ARROW:extension:name": "arrow.py_extension_type",
        "ARROW:extension:metadata": pickle.dumps(Bomb()),
    }
    fields = [field.with_metadata(extension) for field in table.schema]
    schema = pyarrow.schema(fields, metadata=table.schema.metadata)
    parquet.write_table(pyarrow.table(table.columns, schema=schema), path)

    assert np.array_equal(read_log(path).reward, small_log().reward)
    assert len(read_dataset(path, label="action").labels) == len(small_log())


def test_a_damaged_page_of_parquet_is_no_other_number(tmp_path):
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    size = 500
    propensity = np.full(size, 0.5)
    log = BanditLog(rng.normal(size=(size, 3)), np.arange(size) % 2, rng.random(size), propensity)
    file = tmp_path / "log.parquet"
    write_log(file, log)
    content = file.read_bytes()
    footer = int.from_bytes(content[-8:-4], "little")
    refused = 0
    for _ in range(60):
        damaged = bytearray(content)
        damaged[rng.integers(len(content) - footer - 8)] ^= 1 << rng.integers(8)
        file.write_bytes(damaged)
        for read in (read_log, lambda path: concatenate(list(scan_log(path)))):
            try:
                found = read(file)
            except ValueError:
                refused += 1
            else:
                np.testing.assert_array_equal(found.observation, log.observation)
                np.testing.assert_array_equal(found.reward, log.reward)
    assert refused > 100
