import json
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from bandit_envs import (
    CascadeBandit,
    EpsilonGreedyPolicy,
    KArmedTestbed,
    RandomPolicy,
    RandomSlatePolicy,
    StepDriver,
)
from bandit_envs.datasets import load_open_bandit
from bandit_envs.logged import (
    BanditLog,
    LogRecorder,
    RewardRegression,
    from_frame,
    from_obp,
    read_dsjson,
    read_log,
    to_frame,
    to_obp,
    write_dsjson,
    write_log,
)
from bandit_envs.nests import map_structure
from bandit_envs.trajectories import restart
from tests.datasets.test_files import DECISIONS, ITEMS
from tests.logged.logs import drawn, logs, small_log

anywhere = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
FILES = [".npz", ".csv", ".parquet"]
WRITERS_AND_READERS = {".json": (write_dsjson, read_dsjson)}


def needs(suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")


@pytest.mark.parametrize("suffix", FILES)
@given(log=logs())
@anywhere
def test_a_file_gives_back_the_log(suffix, log, tmp_path):
    needs(suffix)
    path = tmp_path / f"log{suffix}"
    write_log(path, log)
    assert read_log(path) == log


@given(log=logs())
def test_a_frame_gives_back_the_log(log):
    pytest.importorskip("pandas")
    assert from_frame(to_frame(log)) == log


def test_a_users_frame_becomes_a_log():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [1, 2], "arm": [0, 1], "paid": [1.0, 0.0], "p": [0.5, 0.5]})
    log = from_frame(frame, action="arm", reward="paid", propensity="p", features=["age"])
    assert log == BanditLog(np.array([[1], [2]]), [0, 1], [1.0, 0.0], [0.5, 0.5])
    with pytest.raises(ValueError, match="'prob'"):
        from_frame(frame, action="arm", reward="paid", propensity="prob", features=["age"])
    with pytest.raises(ValueError, match="features"):
        from_frame(frame)


@given(log=logs(["array"], ["action_probabilities", "expected_rewards"]))
def test_a_feedback_dict_gives_back_the_log(log):
    feedback = to_obp(log)
    assert feedback["n_rounds"] == len(log)
    assert from_obp(feedback) == log


@given(log=logs(["array", "items"], ["action_probabilities"]))
@anywhere
def test_dsjson_gives_back_the_log(log, tmp_path):
    write_dsjson(tmp_path / "log.json", log)
    assert read_dsjson(tmp_path / "log.json") == in_float64(log)


def in_float64(log):
    """The log as a file of text holds it."""
    observation = map_structure(lambda leaf: leaf.astype(np.float64), log.observation)
    return BanditLog(observation, num_actions=log.num_actions, **log.columns())


def test_what_a_format_cannot_hold_is_refused_by_name(tmp_path):
    full = small_log(available=np.ones((6, 3), bool), step=np.arange(6))
    for write in (to_obp, lambda log: write_dsjson(tmp_path / "log", log)):
        with pytest.raises(ValueError, match="available"):
            write(full)
        with pytest.raises(ValueError, match="step"):
            write(full.drop("available"))
        with pytest.raises(ValueError, match="observation"):
            write(BanditLog((np.ones((6, 1)),), full.action, full.reward, full.propensity))
    for key, value in (("position", [0, 1, 0, 0, 0, 0]), ("action_context", np.ones((3, 2)))):
        with pytest.raises(ValueError, match=key):
            from_obp({**to_obp(small_log()), key: value})
    for slots in (np.ones((6, 3)), np.full((6, 3, 2), 1 / 3)):
        with pytest.raises(ValueError, match="axis"):
            from_obp({**to_obp(small_log()), "pi_b": slots})
    with pytest.raises(ValueError, match="pscore"):
        from_obp({key: value for key, value in to_obp(small_log()).items() if key != "pscore"})
    with pytest.raises(ValueError, match="path"):
        write_log(tmp_path / "log.pkl", small_log())
    named = restart(np.ones((6, 1)), 6)._replace(reward=np.ones(6))
    log = BanditLog(named, [0, 1] * 3, np.ones(6), np.full(6, 0.5))
    with pytest.raises(TypeError, match="observation"):
        write_log(tmp_path / "log.csv", log)


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


@pytest.mark.parametrize("suffix", [*FILES, ".json"])
def test_damaged_files_are_refused_by_name(suffix, tmp_path):
    needs(suffix)
    path = tmp_path / f"log{suffix}"
    write, read = WRITERS_AND_READERS.get(suffix, (write_log, read_log))
    write(path, small_log())
    content = path.read_bytes()
    for bad in (
        b"",
        content[:20],
        content[: len(content) // 2 - 9],
        b"\x00" * 50,
        b"a,b\n1,2\n",
        b"{}\n",
        b"x | y\n",
    ):
        path.write_bytes(bad)
        with pytest.raises(ValueError, match=f"log{suffix}"):
            read(path)


@pytest.mark.parametrize(
    ("old", "new", "column"),
    [
        (",0.25", ",0.0", "propensity"),
        (",0.25", ",nan", "propensity"),
        (",0.25", ",much", "propensity"),
        ('"propensity"', '"p"', "propensity"),
        ('"action"', '"a"', "action"),
        ("\n2,1.0,0.1,10.0,11.0", "", "rows"),
    ],
)
def test_wrong_columns_are_refused_by_name(old, new, column, tmp_path):
    path = tmp_path / "log.csv"
    write_log(path, small_log())
    layout, table = path.read_text().split("\n", 1)
    assert old in table
    path.write_text(f"{layout}\n{table.replace(old, new)}")
    with pytest.raises(ValueError, match=rf"log\.csv.*{column}"):
        read_log(path)


@pytest.mark.parametrize("suffix", [*FILES, ".json"])
def test_a_propensity_of_0_in_a_file_is_refused(suffix, tmp_path):
    needs(suffix)
    path, log = tmp_path / f"log{suffix}", small_log()
    log.propensity.setflags(write=True)
    log.propensity[2] = 0.0
    write, read = WRITERS_AND_READERS.get(suffix, (write_log, read_log))
    write(path, log)
    with pytest.raises(ValueError, match=rf"log\{suffix}.*propensity.*row 2"):
        read(path)


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


@pytest.mark.parametrize("to_files", [False, True])
def test_a_run_is_recorded(to_files, tmp_path):
    env = KArmedTestbed(3, batch_size=4, seed=0, drift_std=0.1)
    policy = EpsilonGreedyPolicy(0.3, num_actions=3, batch_size=4, seed=1)
    options = {"folder": tmp_path / "log"} if to_files else {}
    recorder = LogRecorder(3, env, chunk_rows=50, **options)
    means = [env.reset() and env.expected_rewards()]
    taken = []
    driver = StepDriver(
        env,
        policy,
        [policy, recorder, taken.append, lambda _: means.append(env.expected_rewards())],
        30,
        emit_log_probability=True,
    )
    driver.run()
    log = recorder.log()
    assert np.array_equal(log.expected_rewards, np.concatenate(means[:-1]))
    assert np.array_equal(log.action, np.concatenate([each.action for each in taken]))
    assert np.array_equal(log.reward, np.concatenate([each.reward for each in taken]))
    assert set(log.propensity.round(6)) <= {0.1, 0.8, 0.4, 0.333333, 0.45}
    assert log.columns()["step"].tolist() == np.arange(30).repeat(4).tolist()
    assert log.columns()["row"].tolist() == list(range(4)) * 30
    if to_files:
        assert len(list((tmp_path / "log").iterdir())) > 1
        with pytest.raises(ValueError, match="folder"):
            LogRecorder(3, **options)


def test_a_long_run_of_one_row_is_recorded_whole():
    env = KArmedTestbed(3, batch_size=1, seed=0)
    policy, recorder, taken = RandomPolicy(3, 1, seed=1), LogRecorder(3), []
    StepDriver(env, policy, [recorder, taken.append], 2500, emit_log_probability=True).run()
    log = recorder.log()
    assert np.array_equal(log.reward, np.concatenate([each.reward for each in taken]))
    assert np.array_equal(log.step, np.arange(2500))
    assert recorder.log() == log


def test_runs_without_probabilities_are_refused():
    env, policy = (
        KArmedTestbed(3, batch_size=4, seed=0),
        EpsilonGreedyPolicy(0.3, num_actions=3, batch_size=4, seed=1),
    )
    with pytest.raises(ValueError, match="emit_log_probability"):
        StepDriver(env, policy, [LogRecorder(3)]).run()
    with pytest.raises(ValueError, match="recorded"):
        LogRecorder(3).log()


def test_a_frame_of_a_log_may_be_filtered():
    pytest.importorskip("pandas")
    log = drawn(np.random.default_rng(0), 30)
    frame = to_frame(log)
    assert from_frame(frame[frame.reward > 0.5]) == log[log.reward > 0.5]


@pytest.mark.parametrize(
    ("column", "value", "row"), [("age", np.nan, 1), ("paid", np.nan, 1), ("p", 0.0, 1)]
)
def test_what_is_wrong_in_a_frame_is_named_as_the_user_names_it(column, value, row):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"age": [1.0, 2.0], "arm": [0, 1], "paid": [1.0, 0.0], "p": [0.5, 0.5]}
    )
    frame.loc[row, column] = value
    with pytest.raises(ValueError, match=rf"(?s)(?=.*'{column}')(?=.*row {row})"):
        from_frame(frame, action="arm", reward="paid", propensity="p", features=["age"])


def test_one_feature_of_a_frame_needs_no_list():
    pandas = pytest.importorskip("pandas")
    columns = {"action": [0, 1], "reward": [1.0, 0.0], "propensity": [0.5, 0.5]}
    frame = pandas.DataFrame({**columns, "income": [1.0, 2.0]})
    assert from_frame(frame, features="income") == from_frame(frame, features=["income"])


def test_features_of_a_frame_are_numbers_of_any_dtypes():
    pandas = pytest.importorskip("pandas")
    columns = {"action": [0, 1], "reward": [1.0, 0.0], "propensity": [0.5, 0.5]}
    visits = pandas.array([3, 4], dtype="Int64")
    frame = pandas.DataFrame(
        {**columns, "new": [True, False], "visits": visits, "income": [0.5, 2]}
    )
    log = from_frame(frame, features=["new", "visits", "income"])
    assert log.observation.tolist() == [[1.0, 3.0, 0.5], [0.0, 4.0, 2.0]]
    frame["town"] = ["Ulm", "Bern"]
    with pytest.raises(TypeError, match="'town'"):
        from_frame(frame, features=["income", "town"])


def test_actions_of_a_table_that_count_from_one_are_refused():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [1.0, 2.0], "arm": [1, 2], "paid": [1, 0], "p": [0.5, 0.5]})
    names = {"action": "arm", "reward": "paid", "propensity": "p", "features": ["age"]}
    with pytest.raises(ValueError, match="'arm' counts actions from 1"):
        from_frame(frame, **names)
    assert from_frame(frame, **names, num_actions=3).num_actions == 3


@pytest.mark.parametrize(
    ("actions", "row"), [(["red", "blue"], 0), ([0, "blue"], 1), ([0.0, 0.5], 1), ([0, np.inf], 1)]
)
def test_the_first_row_without_an_integer_action_is_named(actions, row):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [1.0, 2.0], "arm": actions, "paid": [1, 0], "p": [0.5, 0.5]})
    with pytest.raises(ValueError, match=rf"'arm' is {actions[row]!r} in row {row}"):
        from_frame(frame, "arm", "paid", "p", features=["age"])


def test_actions_of_a_table_may_be_whole_floating_point_numbers():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"age": [1.0, 2.0], "arm": [1.0, 0.0], "paid": [1, 0], "p": [0.5, 0.5]}
    )
    assert from_frame(frame, "arm", "paid", "p", features=["age"]).action.tolist() == [1, 0]


def test_slates_are_not_recorded_as_actions():
    policy = RandomSlatePolicy(2, num_actions=10, seed=0)
    with pytest.raises(ValueError, match="policy_info"):
        StepDriver(
            CascadeBandit(num_slots=2), policy, [LogRecorder(10)], emit_log_probability=True
        ).run()
