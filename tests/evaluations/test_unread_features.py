"""Which features of a log `evaluate` leaves unread, what becomes of them, and which it doubts."""

import dataclasses

import numpy as np
import pytest

from bandit_envs import LinUCBPolicy, RandomPolicy, UCBPolicy
from bandit_envs.evaluations import evaluate
from bandit_envs.evaluations.logs import LogError
from bandit_envs.logged import (
    InversePropensityScoring,
    estimate_propensities,
    learn_from_log,
    read_log,
    scan_log,
    write_log,
)
from bandit_envs.logged.rows.likely_outcomes import ValuesOfActions
from bandit_envs.policies.registry import POLICIES
from bandit_envs.specs import ArraySpec
from tests.evaluations.logs import record_log
from tests.evaluations.test_evaluate import check_same_rows
from tests.policies.examples import ARGUMENTS

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

pytestmark = pytest.mark.filterwarnings(
    "ignore:column 'propensity' is no feature",
    "ignore:the policy has learned from rows of this log",
)

UNREAD = "neither read nor checked"
OF_OTHER_LOGS = ("random_number", "g_optimal", "budgeted_thompson", "primal_dual")
IGNORING = [
    name
    for name, entry in POLICIES.items()
    if entry.context == "ignored" and not entry.slates and name not in OF_OTHER_LOGS
]


@pytest.fixture(scope="module")
def log():
    return record_log()


@pytest.fixture
def written(log, tmp_path):
    """A folder of two files that `write_log` wrote."""
    return write_files(tmp_path / "written", log, ".parquet")


def write_files(folder, log, suffix):
    folder.mkdir()
    write_log(folder / f"0{suffix}", log[:500])
    write_log(folder / f"1{suffix}", log[500:])
    return folder


@pytest.fixture
def table(log, tmp_path):
    """A user's table with a text, with a gap in the last row of one of the numbers."""
    frame = pandas.DataFrame(
        {
            "action": log.action,
            "reward": log.reward,
            "propensity": log.propensity,
            "age": log.observation[:, 0],
            "visits": log.observation[:, 1],
            "country": np.where(log.observation[:, 1] > 0.0, "DE", "FR"),
        }
    )
    frame.loc[len(log) - 1, "visits"] = np.nan
    frame.to_parquet(tmp_path / "table.parquet", row_group_size=300)
    return tmp_path / "table.parquet"


class OnlyNamed(RandomPolicy):
    """A user's own class, of which nobody knows what it looks at."""

    def _probabilities(self, learned, time_step):
        assert time_step.observation.shape[1] == 2
        return super()._probabilities(learned, time_step)


@dataclasses.dataclass(frozen=True)
class OnlyOld(InversePropensityScoring):
    """A user's own estimator, of what rows with a feature above 0 earn."""

    def terms(self, log, probabilities, predicted_rewards=None):
        reward = np.where(log.observation[:, 0] > 0.0, log.reward, 0.0)
        log = dataclasses.replace(log, reward=reward)
        return super().terms(log, probabilities, predicted_rewards)


@pytest.mark.parametrize("name", IGNORING)
def test_policies_that_ignore_contexts_are_evaluated_without_them(log, written, tmp_path, name):
    archives = write_files(tmp_path / "archives", log, ".npz")  # which are read as a whole
    values = ",".join(f"{key}={value}" for key, value in ARGUMENTS.get(name, {}).items())
    text = f"{name}:{values}" if values else name
    expected = evaluate(archives, text, ["ips", "snips"], train=0.3)
    found = evaluate(written, text, ["ips", "snips"], train=0.3)
    check_same_rows(found, expected, rel=1e-12)
    assert UNREAD in found.title
    assert UNREAD not in expected.title


def test_all_policies_and_estimators_decide_what_is_read(log, written):
    assert UNREAD in evaluate(written, ["random", UCBPolicy(1.0, num_actions=3)], "ips").title
    assert UNREAD not in evaluate(written, ["random", "lin_ucb"], "ips").title
    assert UNREAD not in evaluate(written, "random", ["ips", "dr"]).title


def test_values_that_nothing_needs_are_not_checked(table):
    found = evaluate(scan_log(table), ["random", "constant:number=1"], "ips")
    assert f"3 features are {UNREAD}" in found.title
    spec = ArraySpec((4,), np.float64)
    for policy in ("lin_ucb", LinUCBPolicy(num_actions=3, observation_spec=spec)):
        with pytest.raises(ValueError, match="'visits' 1, first in row 1199"):
            evaluate(scan_log(table), policy, "ips")
    with pytest.raises(ValueError, match="'visits' 1, first in row 1199"):
        evaluate(scan_log(table), "random", "dr")


def test_all_columns_decide_which_rows_are_left_out(table):
    found = evaluate(scan_log(table, drop_missing=True), "random", "ips", train=None)
    assert found.rows[0].rows == 1199
    assert UNREAD not in found.title


def test_segments_read_their_column_alone(table):
    found = evaluate(scan_log(table), "random", "ips", by="country")
    assert f"2 features are {UNREAD}" in found.title
    assert list(found.segments) == ["DE", "FR"]
    whole = read_log(table, features=["age", "country"])
    check_same_rows(found, evaluate(whole, "random", "ips", by="country"), rel=1e-12)
    for name, rows in found.segments.items():
        expected = evaluate(whole, "random", "ips", by="country").segments[name]
        assert [row.value for row in rows] == pytest.approx([row.value for row in expected])


def test_segments_by_a_column_of_decisions_read_no_feature(log, written):
    found = evaluate(written, "random", "ips", by="action")
    assert UNREAD in found.title
    assert list(found.segments) == ["0", "1", "2"]


def test_users_classes_see_all_features(log, written):
    policy = OnlyNamed(num_actions=3)
    assert UNREAD not in evaluate(written, policy, "ips", train=None).title
    found = evaluate(written, "random", {"old": OnlyOld()}, train=None)
    assert UNREAD not in found.title
    expected = evaluate(log, "random", {"old": OnlyOld()}, train=None)
    check_same_rows(found, expected, rel=1e-9)


def test_policies_that_have_learned_from_a_table_find_its_columns(log, table):
    policy = learn_from_log(UCBPolicy(1.0, num_actions=3), read_log(table, features="age"))
    found = evaluate(scan_log(table, features=["age"]), policy, "ips", train=None)
    assert UNREAD not in found.title
    with pytest.raises(ValueError, match="no column 'age'"):
        evaluate(scan_log(table, features=["country"]), policy, "ips", train=None)


def test_estimated_propensities_need_all_features(table):
    scan = scan_log(table, propensity=None, features=["age", "country"])
    assert UNREAD not in evaluate(estimate_propensities(scan), "random", "ips").title


def test_observations_that_say_which_actions_are_available_are_read(log, tmp_path):
    mask = np.ones((len(log), 3), bool)
    mask[np.arange(len(log)), (log.action + 1) % 3] = False
    seen = {"observation": log.observation, "mask": mask}
    masked = dataclasses.replace(log, observation=seen, expected_rewards=None)
    write_log(tmp_path / "masked.parquet", masked)
    found = evaluate(tmp_path / "masked.parquet", "random", "ips")
    assert UNREAD not in found.title
    check_same_rows(found, evaluate(masked, "random", "ips"), rel=1e-12)


def test_damaged_files_are_named(written):
    (written / "1.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(LogError, match=r"1\.parquet"):
        evaluate(written, "random", "ips")


def test_workers_read_no_other_columns_either(written):
    pytest.importorskip("joblib")
    options = {"workers": 2, "backend": "threading"}
    found = evaluate(written, "random", "ips", **options)
    assert UNREAD in found.title
    check_same_rows(found, evaluate(written, "random", "ips"), rel=1e-12)


def test_other_files_are_read_as_a_whole(log, tmp_path):
    for name in ("log.csv", "log.npz"):
        write_log(tmp_path / name, log)
        assert UNREAD not in evaluate(tmp_path / name, "random", "ips").title


@pytest.mark.parametrize("batch_rows", [7, 200])
@pytest.mark.parametrize(
    ("size", "told"), [(200, ["cost", "kind"]), (20, ["cost", "kind"]), (19, [])]
)
def test_features_that_follow_from_the_action_are_told(tmp_path, batch_rows, size, told):
    rows = np.arange(size)
    table = pandas.DataFrame(
        {
            "cost": np.where(rows % 2, 0.8, 0.1),
            "kind": np.where(rows % 2, "sent", "shown"),
            "seen": np.where(rows == size - 1, 2, rows % 2),  # another value in the last row
            "same": 1.0,
            "action": rows % 2,
            "reward": rows % 3,
            "propensity": 0.5,
        }
    )
    table.to_csv(tmp_path / "log.csv", index=False)
    title = evaluate(scan_log(tmp_path / "log.csv", batch_rows), "random", "ips").title
    lines = [line for line in title.splitlines() if "has one value for each action" in line]
    assert [line.split("'")[1] for line in lines] == told


def test_of_very_many_actions_no_values_are_kept():
    found = ValuesOfActions.from_rows(np.array([0, 1]), np.array([[1.0], [2.0]]), 10**9)
    assert found.values is None
