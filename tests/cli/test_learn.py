"""Policies that the command learns from logs, and estimates of them."""

import dataclasses
import re

import numpy as np
import pytest

from bandit_envs import (
    ArraySpec,
    ContextualPolicy,
    RandomPolicy,
    StepDriver,
    load_state,
    save_state,
)
from bandit_envs.environments import logistic_context
from bandit_envs.logged import (
    DirectMethodLearner,
    DoublyRobust,
    DoublyRobustLearner,
    DRWithOptimisticShrinkage,
    IPSLearner,
    LogRecorder,
    PolicyGradientLearner,
    SelfNormalizedIPS,
    probabilities_of,
    write_log,
)
from bandit_envs.logged.learners.policy_files import read_policy, write_policy
from bandit_envs.policies.models import LinearScores
from bandit_envs.policies.parts.written_parts import WrittenPart
from bandit_envs.policies.rules import Greedy
from bandit_envs.policies.scikit_learn.named_estimators import make_estimator
from tests.command_line import rows, run

pytestmark = pytest.mark.filterwarnings("ignore:.*the estimate is unreliable")

for package in ("joblib", "filelock", "matplotlib", "rich"):
    pytest.importorskip(package)

SPEC = ArraySpec((2,), np.float64)


@pytest.fixture(scope="module")
def log():
    env = logistic_context(3, 2, batch_size=200, seed=0)
    recorder = LogRecorder(3, env)
    policy = RandomPolicy(3, 200, seed=1)
    StepDriver(env, policy, [recorder], 10, emit_log_probability=True).run()
    return recorder.log().drop("row", "step")


@pytest.fixture
def folder(log, tmp_path):
    write_log(tmp_path / "log.npz", log)
    return tmp_path


def learn(folder, *arguments, output="policy.npz"):
    return run("learn", folder / "log.npz", *arguments, "--output", folder / output)


def evaluate(folder, *arguments, log="log.npz"):
    output = ("--estimator", "snips", "--output", folder / "out", "--overwrite")
    outcome = run("evaluate", folder / log, *arguments, *output)
    assert outcome.code == 0, outcome.err
    return outcome, rows(folder / "out" / "estimates.csv")[1:]  # after the logged policy


@pytest.mark.parametrize(
    ("spec", "learner"),
    [
        ("direct_method", DirectMethodLearner()),
        ("doubly_robust", DoublyRobustLearner()),
        (
            "policy_gradient:objective=dr,num_steps=20",
            PolicyGradientLearner(DoublyRobust(), num_steps=20),
        ),
        (
            'policy_gradient:objective="dr_os:shrinkage=10",num_steps=20,variance_penalty=0.1',
            PolicyGradientLearner(
                DRWithOptimisticShrinkage(10.0), num_steps=20, variance_penalty=0.1
            ),
        ),
    ],
)
def test_a_learned_policy_is_evaluated_on_the_rows_that_it_has_not_seen(folder, log, spec, learner):
    outcome = learn(folder, "--learner", spec, "--train", "0.75")
    assert outcome.code == 0, outcome.err
    assert "from the first 1500 rows" in outcome.out
    found, (row, random) = evaluate(folder, "--policy", folder / "policy.npz", "--policy", "random")
    rest = log[1500:]
    table = probabilities_of(learner.fit(log[:1500]), rest)
    expected = SelfNormalizedIPS().estimate(rest, table)
    assert (int(row["rows"]), int(random["rows"])) == (500, 500)
    assert float(row["value"]) == pytest.approx(expected.value)
    assert float(row["truth"]) > float(random["truth"]) + 0.05
    assert "Learned from the first 1500 rows" in found.out


@pytest.mark.parametrize(
    ("learner", "says"),
    [("policy_gradient:num_steps=2", "keeps all 1000 rows in memory, "), ("doubly_robust", "")],
)
def test_a_learner_that_keeps_a_large_log_in_memory_says_so(folder, monkeypatch, learner, says):
    monkeypatch.setattr("bandit_envs.evaluations.logs.IN_MEMORY", 1000)
    outcome = learn(folder, "--learner", learner)
    assert outcome.code == 0
    assert says in outcome.err
    assert bool(outcome.err) == bool(says)


@pytest.fixture
def with_scikit_learn():
    pytest.importorskip("sklearn")
    pytest.importorskip("skops")


def test_a_policy_with_a_classifier_is_learned_and_evaluated(folder, log, with_scikit_learn):
    spec = 'ips:classifier="LogisticRegression(C=10)"'
    assert learn(folder, "--learner", spec).code == 0
    _, (row,) = evaluate(folder, "--policy", folder / "policy.npz")
    learner = IPSLearner(make_estimator("LogisticRegression(C=10)"))
    table = probabilities_of(learner.fit(log[:1000]), log[1000:])
    assert float(row["value"]) == SelfNormalizedIPS().estimate(log[1000:], table).value


def test_a_users_own_regressor_is_read_only_if_it_is_named(folder, with_scikit_learn):
    nearest = "tests.logged.test_scikit_learn_learners:Nearest"
    assert learn(folder, "--learner", f'direct_method:regressor="{nearest}"').code == 0
    policy = str(folder / "policy.npz")
    code, _, err = run("evaluate", folder / "log.npz", "--policy", policy)
    assert (code, "with an estimator of that class" in " ".join(err.split())) == (2, True)
    _, (row,) = evaluate(folder, "--policy", f"{policy}:{nearest}")
    assert int(row["rows"]) == 1000


def test_a_learned_policy_is_evaluated_on_all_rows_of_another_log(folder, log):
    assert learn(folder).code == 0
    write_log(folder / "later.npz", log[300:])
    outcome, (row,) = evaluate(folder, "--policy", folder / "policy.npz", log="later.npz")
    assert int(row["rows"]) == 1700
    assert "the policy has learned from another log; if it has rows" in row["warnings"]
    assert "the policy has learned from another log; if it has rows" in outcome.out


@pytest.mark.parametrize("parts", [1, 3])
def test_a_policy_written_in_python_is_evaluated_on_other_rows(folder, log, parts):
    seen = [log[rows] for rows in np.array_split(np.arange(600), parts)]
    policy = DirectMethodLearner().fit_batches(seen)
    write_policy(folder / "policy.npz", policy, seen if parts > 1 else seen[0])
    outcome, (row,) = evaluate(folder, "--policy", folder / "policy.npz")
    assert int(row["rows"]) == 1400
    assert "estimates are too high" not in outcome.out


def test_a_policy_of_an_unknown_log_is_evaluated_on_all_rows_with_a_notice(folder, log):
    write_policy(folder / "policy.npz", DirectMethodLearner().fit(log[:600]))
    outcome, (row,) = evaluate(folder, "--policy", folder / "policy.npz")
    assert int(row["rows"]) == 2000
    assert "the policy has learned from a log that is not known; if it has" in row["warnings"]
    assert "the policy has learned from a log that is not known; if it has" in outcome.out


def test_a_log_whose_first_rows_differ_in_one_decision_is_another_log(folder, log):
    assert learn(folder).code == 0
    action = log.action.copy()
    action[0] = (action[0] + 1) % 3  # the summary in words is the same
    write_log(folder / "log.npz", dataclasses.replace(log, action=action))
    outcome, (row,) = evaluate(folder, "--policy", folder / "policy.npz")
    assert int(row["rows"]) == 2000
    assert "has learned from another log" in outcome.out


def test_late_rewards_do_not_make_another_log(folder, log):
    assert learn(folder).code == 0
    reward = log.reward.copy()
    reward[:2] += 1.0
    write_log(folder / "log.npz", dataclasses.replace(log, reward=reward))
    outcome, (row,) = evaluate(folder, "--policy", folder / "policy.npz")
    assert int(row["rows"]) == 1000
    assert "another log" not in outcome.out


def test_rows_that_a_policy_has_seen_are_left_out_of_a_log_that_has_grown(folder, log):
    write_log(folder / "log.npz", log[:1200])
    assert learn(folder, "--train", "1").code == 0
    write_log(folder / "log.npz", log)
    outcome, (row,) = evaluate(folder, "--policy", folder / "policy.npz")
    assert int(row["rows"]) == 800
    assert "another log" not in outcome.out


def test_a_policy_learns_from_the_rows_before_a_time(folder, log):
    write_log(folder / "log.npz", dataclasses.replace(log, step=np.arange(2000) // 100))
    outcome = learn(folder, "--train", "step=13")
    assert "first 1300 rows" in outcome.out, outcome.err
    assert read_policy(folder / "policy.npz").rows_learned == 1300


def test_the_folder_of_a_policy_is_made(folder):
    assert learn(folder, output="new/policy.npz").code == 0
    assert read_policy(folder / "new" / "policy.npz").rows_learned == 1000


def test_a_policy_is_replaced_only_on_demand(folder):
    assert learn(folder).code == 0
    before = (folder / "policy.npz").read_bytes()
    code, _, err = learn(folder, "--learner", "direct_method")
    assert (code, "--overwrite" in err) == (2, True)
    assert (folder / "policy.npz").read_bytes() == before
    assert learn(folder, "--learner", "direct_method", "--overwrite").code == 0


@pytest.mark.parametrize(
    ("arguments", "output", "message"),
    [
        (["--learner", "doubly_robus"], "policy.npz", "did you mean doubly_robust"),
        (["--learner", "policy_gradient:num_steps=0"], "policy.npz", "num_steps is 0"),
        (["--train", "0"], "policy.npz", "train is 0"),
        ([], "policy.pkl", "output is .*policy.pkl; expected a name that ends in .npz"),
    ],
)
def test_mistakes_end_with_one_line_and_no_file(folder, arguments, output, message):
    code, out, err = learn(folder, *arguments, output=output)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert re.search(message, err)
    assert not (folder / output).exists()


def greedy(weights):
    """A policy of two actions by linear scores."""
    return ContextualPolicy(LinearScores(weights), Greedy(), observation_spec=SPEC, num_actions=2)


def test_a_file_gives_back_the_policy_and_is_checked(folder):
    weights = np.arange(6.0).reshape(2, 3)
    file = folder / "policy.npz"
    write_policy(file, greedy(weights), features=["x", "y"])
    saved = read_policy(file)
    assert (saved.rule, saved.rows_learned, saved.log) == (Greedy(), 0, "")
    assert saved.features == ["x", "y"]
    assert np.array_equal(saved.make(SPEC).get_state().content.learned.model, weights)
    with pytest.raises(ValueError, match="has the context_dim 5; expected 2"):
        saved.make(ArraySpec((5,), np.float64))
    with pytest.raises(TypeError, match="policy is a RandomPolicy"):
        write_policy(file, RandomPolicy(3))
    with pytest.raises(ValueError, match="does not hold a learned policy"):
        read_policy(folder / "log.npz")


KEY = "bandit_envs.policy"
NOT_A_POLICY = {
    "array": np.zeros(3),
    "number": 3,
    "nothing": None,
    "text": "policy",
    "list": [1, 2],
    "other key": {"state": 1},
    "no content": {KEY: None},
    "empty content": {KEY: {}},
}
BAD_FIELDS = [
    ("kind", "linear_greedy"),
    ("model", "linear_scores"),
    ("model", WrittenPart("linear_greedy", {})),
    ("model", WrittenPart(["linear_scores"], {})),
    ("model", WrittenPart("fitted_classifier", {})),
    ("model", WrittenPart("linear_scores", [1])),
    ("model", WrittenPart("linear_scores", {"weights": "x"})),
    ("model", WrittenPart("linear_scores", {"weights": np.zeros((2, 9))})),
    ("model", WrittenPart("linear_scores", {"weights": np.full((2, 3), np.nan)})),
    ("model", WrittenPart("linear_scores", {"weights": np.zeros((2, 3)), "batch_size": 2})),
    ("rule", WrittenPart("ridge", {})),
    ("sizes", {}),
    ("sizes", {"num_actions": 10**30}),
    ("learned", "x"),
    ("learned", np.zeros(3)),
    ("rows_learned", "many"),
    ("rows_learned", -1),
    ("rows_learned", np.zeros(3)),
    ("log", 3),
    ("features", 3),
    ("features", [1]),
]
BYTES = [b"", b"PK\x03\x04", b"a,b\n1,2\n", b"{}", b"\x80\x04K\x01.", bytes(100)]


def not_policies(folder):
    """Writes files that hold no policy, and yields their paths."""
    file = folder / "own.npz"
    write_policy(file, greedy(np.zeros((2, 3))))
    content = load_state(file)[KEY]
    for number, each in enumerate(NOT_A_POLICY.values()):
        save_state(folder / f"foreign-{number}.npz", each)
        yield folder / f"foreign-{number}.npz"
    for number, (name, value) in enumerate(BAD_FIELDS):
        save_state(folder / f"field-{number}.npz", {KEY: {**content, name: value}})
        yield folder / f"field-{number}.npz"
    for number, each in enumerate([*BYTES, file.read_bytes()[:-200]]):
        (folder / f"bytes-{number}.npz").write_bytes(each)
        yield folder / f"bytes-{number}.npz"
    (folder / "folder.npz").mkdir()
    yield folder / "folder.npz"
    yield folder / "nothing.npz"


def test_a_file_that_holds_no_policy_or_log_is_named_in_one_line(folder):
    for path in not_policies(folder):
        output = ("--output", folder / "out", "--overwrite")
        commands = [("evaluate", folder / "log.npz", "--policy", path, *output)]
        if (
            not path.name.startswith("field-") or path.name == "field-0.npz"
        ):  # all are refused alike as logs
            commands.append(("evaluate", path, "--policy", "random", *output))
            commands.append(("learn", path, "--output", folder / "learned.npz"))
        for command in commands:
            code, out, err = run(*command)
            assert (code, out, err.count("\n")) == (2, "", 1), (path, err)
            assert path.name in err


def test_a_policy_is_evaluated_on_the_features_that_it_has_learned_from(folder, log):
    pytest.importorskip("pandas")
    frame = {
        "x": log.observation[:, 0],
        "y": log.observation[:, 1],
        "action": log.action,
        "reward": log.reward,
        "propensity": log.propensity,
    }
    table = folder / "table.csv"
    header = ",".join(frame)
    np.savetxt(table, np.column_stack(list(frame.values())), "%g", ",", header=header, comments="")
    file = folder / "policy.npz"
    assert run("learn", table, "--features", "x,y", "--output", file).code == 0
    options = ("--policy", file, "--output", folder / "out", "--overwrite")
    assert run("evaluate", table, "--features", "x,y", *options).code == 0
    first = [float(row["value"]) for row in rows(folder / "out" / "estimates.csv")]
    assert run("evaluate", table, "--features", "y,x", *options).code == 0
    again = [float(row["value"]) for row in rows(folder / "out" / "estimates.csv")]
    assert again == pytest.approx(first, abs=1e-12)
    outcome = run("evaluate", table, "--features", "y", *options)
    assert outcome.code == 2
    assert "there is no column 'x'; it has ['y']" in outcome.err


def test_the_name_of_a_policy_is_no_formula_of_a_spreadsheet(folder, log, monkeypatch):
    monkeypatch.chdir(folder)
    write_policy("=1+2.npz", DirectMethodLearner().fit(log[:600]), log[:600])
    _, (row,) = evaluate(folder, "--policy", "=1+2.npz")
    assert row["policy"] == "'=1+2.npz"
