"""What logs, estimators and formats refuse, and what their errors name."""

import itertools
import json

import numpy as np
import pytest

from bandit_envs import (
    CascadeBandit,
    DelayedRewards,
    EpsilonGreedyPolicy,
    KArmedTestbed,
    RandomPolicy,
    RandomSlatePolicy,
    StepDriver,
)
from bandit_envs.logged import (
    BanditLog,
    DoublyRobust,
    DRWithOptimisticShrinkage,
    InversePropensityScoring,
    LogRecorder,
    ReplayMethod,
    RewardRegression,
    SlateIndependentIPS,
    SlateProbabilities,
    SlateStandardIPS,
    SubGaussianIPS,
    SwitchDR,
    concatenate,
    from_obp,
    probabilities_of,
    read_dsjson,
    to_obp,
    write_dsjson,
    write_log,
)
from bandit_envs.logged.replay import MatchedRows, ReplayEnvironment
from bandit_envs.trajectories import restart
from tests.cases import for_each
from tests.logged.logs import ACTION, PREDICTED, PROBABILITIES, PROPENSITY, REWARD, small_log
from tests.policies.shared import SharedAverages


def log_with(column, value):
    good = {"observation": np.ones((6, 1)), "action": ACTION, "reward": REWARD}
    return BanditLog(**{**good, "propensity": PROPENSITY, column: value}, num_actions=3)


@for_each(
    ("column", "value", "error", "message"),
    [
        ("action", [0, 1, -1, 0, 1, 2], ValueError, "action is -1 in row 2"),
        ("action", [None] * 6, TypeError, "action"),
        ("reward", [0, 1, 0, np.nan, 1, 2], ValueError, "reward.*row 3"),
        ("reward", [0, 1, 0, np.inf, 1, 2], ValueError, "reward.*row 3"),
        ("reward", [0, 1, 1e300, 0, 1, 2], ValueError, r"reward is 1e\+300 in row 2"),
        ("reward", [None] * 6, TypeError, "reward"),
        ("propensity", [0.5, 0.0, 1, 1, 1, 1], ValueError, "propensity.*row 1"),
        ("propensity", [0.5, 1, 1e-155, 1, 1, 1], ValueError, "propensity is 1e-155 in row 2"),
        ("propensity", [0.5, 0.1, 1, 1, 1, 1.1], ValueError, "propensity.*row 5"),
        ("propensity", [0.5, 0.1], ValueError, "propensity has shape"),
        ("propensity", [None] * 6, TypeError, "propensity"),
        ("observation", np.full((6, 1), np.nan), ValueError, "observation.*row 0"),
        ("observation", np.ones((5, 1)), ValueError, "observation has shape"),
        ("observation", np.array([None] * 6), TypeError, "observation"),
        ("action_probabilities", np.ones((6, 3)), ValueError, "action_probabilities.*row 0"),
        ("available", np.zeros((6, 3), bool), ValueError, "action.*row 0.*available"),
        ("expected_rewards", np.full((6, 3), np.nan), ValueError, "expected_rewards.*row 0"),
        ("step", [[0]] * 6, ValueError, "step has shape"),
    ],
)
def test_a_log_refuses_a_column_and_names_it_and_the_first_bad_row(column, value, error, message):
    with pytest.raises(error, match=message):
        log_with(column, value)


def estimate(probabilities=PROBABILITIES, predicted=PREDICTED):
    return DoublyRobust().estimate(small_log(), probabilities, predicted)


def estimate_slates(reward=((1, 0), (0, 1)), propensity=0.5, probabilities=0.5):
    given = []
    for value in (propensity, probabilities):
        table = np.full((2, 2), value) if isinstance(value, float) else value
        given.append(SlateProbabilities(slot=table))
    return SlateIndependentIPS().estimate(reward, *given)


def one_row_log():
    return small_log()[:1]


@pytest.mark.filterwarnings("ignore::UserWarning")
@for_each(
    ("call", "error", "message"),
    [
        (lambda: estimate(np.full((6, 2), 0.5)), ValueError, "probabilities has shape"),
        (lambda: estimate(np.full((6, 3), 0.5)), ValueError, "probabilities.*row 0"),
        (lambda: estimate(np.full((6, 3), np.nan)), ValueError, "probabilities.*row 0"),
        (lambda: estimate([[1.5, -0.5, 0.0]] * 6), ValueError, "probabilities.*row 0"),
        (lambda: estimate(predicted=None), ValueError, "DoublyRobust needs predicted_rewards"),
        (lambda: estimate(predicted=np.ones((6, 2))), ValueError, "predicted_rewards has shape"),
        (lambda: estimate(predicted=np.full((6, 3), np.nan)), ValueError, "predicted_rewards"),
        (
            lambda: ReplayMethod().estimate(small_log(), PROBABILITIES),
            ValueError,
            "deterministic",
        ),
        (
            lambda: InversePropensityScoring().estimate(one_row_log(), PROBABILITIES[:1]),
            ValueError,
            "log has 1 rows",
        ),
        (lambda: estimate().normal_interval(0.0), ValueError, "confidence is 0"),
        (lambda: estimate().bernstein_interval(1.0), ValueError, "confidence is 1"),
        (lambda: estimate().bootstrap_interval(1.0), ValueError, "confidence is 1"),
        (lambda: InversePropensityScoring(-1.0), ValueError, "max_weight is -1"),
        (lambda: SwitchDR(float("nan")), ValueError, "threshold is nan"),
        (lambda: SubGaussianIPS(1.5), ValueError, "shrinkage is 1.5"),
        (lambda: DRWithOptimisticShrinkage("1"), TypeError, "shrinkage"),
        (lambda: RewardRegression().predict(one_row_log()), ValueError, "log has 1 rows"),
        (lambda: probabilities_of(RandomPolicy(4), small_log()), ValueError, "4 actions"),
        (lambda: estimate_slates([1.0, 0.0]), ValueError, "reward"),
        (lambda: estimate_slates([[1.0, 0.0]]), ValueError, r"propensity\.slot"),
        (lambda: estimate_slates([[1.0, np.nan], [0, 0]]), ValueError, "reward is nan in row 0"),
        (
            lambda: estimate_slates(propensity=[[0.5, 0.5], [0.0, 0.5]]),
            ValueError,
            r"propensity\.slot is 0.0 in row 1",
        ),
        (
            lambda: estimate_slates(propensity=[[0.5, 0.5], [1e-155, 0.5]]),
            ValueError,
            "the weight is .* in row 1",
        ),
        (lambda: estimate_slates(propensity=[[0.5, 0.5], [1.5, 0.5]]), ValueError, "row 1"),
        (lambda: estimate_slates(propensity=[0.5, 0.5]), ValueError, r"propensity\.slot"),
        (lambda: estimate_slates(propensity=[["a", "b"]] * 2), TypeError, r"propensity\.slot"),
        (lambda: estimate_slates(propensity=None), ValueError, r"propensity\.slot is None"),
        (lambda: estimate_slates(probabilities=None), ValueError, r"probabilities\.slot is None"),
        (lambda: SlateStandardIPS().estimate([[1.0]], (), None), TypeError, "propensity is"),
    ],
)
def test_estimators_refuse_what_they_cannot_weigh(call, error, message):
    with pytest.raises(error, match=message):
        call()


@for_each(
    ("call", "message"),
    [
        (lambda: small_log(step=ACTION).drop("steps"), "steps"),
        (lambda: small_log().drop("action"), "action"),
        (lambda: concatenate([small_log(), small_log(step=ACTION)]), "columns"),
        (lambda: concatenate([]), "logs is empty"),
        (lambda: ReplayEnvironment(small_log()[:0]), "log is"),
        (lambda: from_obp({**to_obp(small_log()), "position": ACTION[:5]}), "position has shape"),
        (
            lambda: from_obp({**to_obp(small_log()), "position": [-1] * 6}),
            "position is -1 in row 0",
        ),
        (
            lambda: from_obp({**to_obp(small_log()), "action_context": np.ones((4, 2))}),
            r"action_context has shape \(4, 2\); expected \(3, d\)",
        ),
        (lambda: from_obp({**to_obp(small_log()), "pi_b": np.ones((6, 3))}), "pi_b has shape"),
        (
            lambda: from_obp({**to_obp(small_log()), "pi_b": np.full((6, 3, 2), 1 / 3)}),
            "there is no position",
        ),
        (
            lambda: from_obp(
                {**to_obp(small_log()), "pi_b": np.full((6, 3, 2), 1 / 3), "position": ACTION}
            ),
            "position is 2 in a row; expected less than 2, as pi_b has",
        ),
        (lambda: from_obp({**to_obp(small_log()), "scores": 1}), "unknown .*'scores'"),
        (lambda: from_obp({"action": ACTION}), "no .*'pscore'"),
        (lambda: LogRecorder(3).log(), "nothing was recorded"),
    ],
)
def test_logs_that_do_not_fit_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("write", [to_obp, lambda log: write_dsjson("log.json", log)])
@for_each(
    ("log", "message"),
    [
        (small_log(row=ACTION), r"no row; use log.drop"),
        (small_log(step=ACTION), r"no step; use log.drop"),
        (log_with("observation", (np.ones((6, 1)),)), "observation"),
    ],
)
def test_formats_name_the_column_that_they_cannot_hold(write, log, message):
    with pytest.raises(ValueError, match=message):
        write(log)


def test_a_feedback_of_obp_has_no_actions_that_rows_lack():
    with pytest.raises(ValueError, match=r"no available; use log.drop"):
        to_obp(small_log(available=np.ones((6, 3), bool)))


SAME_NAMES = [
    {"a": np.ones((6, 1)), "a[0]": np.ones(6)},
    {"a": {"b": np.ones(6)}, "a.b": np.ones(6)},
    {"x": [np.ones(6), np.ones(6)], "x.1": np.ones(6)},
    {1: np.ones(6), "1": np.ones(6)},
]


@for_each(("observation", "suffix"), itertools.product(SAME_NAMES, [".csv", ".parquet"]))
def test_columns_that_would_have_one_name_in_a_table_are_refused(observation, suffix, tmp_path):
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match="two columns have the name 'observation"):
        write_log(tmp_path / f"log{suffix}", log_with("observation", observation))
    assert list(tmp_path.iterdir()) == []


NOT_HELD = [
    (restart(np.ones((6, 1)), 6)._replace(reward=np.ones(6)), "log.csv", TypeError, "TimeStep"),
    (np.array(["a\0b"] * 6), "log.csv", ValueError, "observation has a string with NUL"),
    (np.ones((6, 1)), "log.pkl", ValueError, "path is .*log.pkl"),
]
if np.dtype(np.longdouble).itemsize > 8:  # it is float64 on some systems
    LONG = np.ones((6, 1), np.longdouble)
    NOT_HELD += [
        (LONG, "log.csv", TypeError, r"expected.*64 bits; \.npz files"),
        (LONG, "log.parquet", TypeError, f"observation is {LONG.dtype}"),
    ]


@for_each(("observation", "name", "error", "message"), NOT_HELD)
def test_files_name_what_they_cannot_hold(observation, name, error, message, tmp_path):
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    with pytest.raises(error, match=message):
        write_log(tmp_path / name, log_with("observation", observation))


DECISION = {
    "_label_cost": -1.0,
    "_label_probability": 0.8,
    "_label_Action": 2,
    "a": [2, 1],
    "p": [0.8, 0.2],
    "c": {"User": {"age": 3}, "_multi": [{"A": {"f": 1}}, {"A": {"f": 2}}]},
}


@for_each(
    ("key", "value", "message"),
    [
        ("a", [2, 0], "an id in a is 0"),
        ("a", [2, -1], "an id in a is -1"),
        ("a", [2, 3], "an id in a is 3"),
        ("a", [2, True], "an id in a is True"),
        ("a", [2, 2], "different ids"),
        ("p", [0.8], "as many values"),
        ("_label_probability", 0.9, "_label_probability is 0.9, and p has 0.8"),
        ("_label_probability", True, "_label_probability is True"),
        ("_label_Action", True, "_label_Action is True"),
        ("_label_Action", 3, "_label_Action is 3"),
    ],
)
def test_a_decision_of_dsjson_that_contradicts_itself_is_refused(key, value, message, tmp_path):
    path = tmp_path / "log.json"
    path.write_text(json.dumps(DECISION) + "\n" + json.dumps({**DECISION, key: value}) + "\n")
    with pytest.raises(ValueError, match=rf"log\.json .*line 2: .*{message}"):
        read_dsjson(path)


@pytest.mark.parametrize(
    ("env", "policy", "emit_log_probability", "message"),
    [
        (KArmedTestbed(3), EpsilonGreedyPolicy(0.3, num_actions=3), False, "emit_log_probability"),
        (CascadeBandit(num_slots=2), RandomSlatePolicy(2, num_actions=10), True, "policy_info"),
        (DelayedRewards(KArmedTestbed(3), 1), RandomPolicy(3), True, "delayed"),
    ],
)
def test_runs_that_cannot_be_logged_are_refused(env, policy, emit_log_probability, message):
    recorder = LogRecorder(policy.num_actions)
    driver = StepDriver(env, policy, [recorder], 2, emit_log_probability=emit_log_probability)
    with pytest.raises(ValueError, match=message):
        driver.run()


def test_rows_that_share_a_model_cannot_learn_from_matches():
    policy = SharedAverages(num_actions=3, batch_size=3)
    with pytest.raises(ValueError, match=r"learns_by_row is False.*independent_rows is True"):
        MatchedRows(ReplayEnvironment(small_log(), 3), policy)
