"""Policies that the command learns from logs, and estimates of them."""

import re

import numpy as np
import pytest

from bandit_envs import ArraySpec, RandomPolicy, StepDriver
from bandit_envs.environments.logistic_context import LogisticContextBandit
from bandit_envs.logged import (
    DirectMethodLearner,
    DoublyRobustLearner,
    LogRecorder,
    PolicyGradientLearner,
    SelfNormalizedIPS,
    probabilities_of,
    write_log,
)
from bandit_envs.logged.policy_files import read_policy, write_policy
from bandit_envs.policies.linear_scores import LinearGreedyPolicy
from tests.command_line import rows, run

for package in ("joblib", "filelock", "matplotlib", "rich"):
    pytest.importorskip(package)

SPEC = ArraySpec((2,), np.float64)


@pytest.fixture(scope="module")
def log():
    env = LogisticContextBandit(3, 2, batch_size=200, seed=0)
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
    return outcome, rows(folder / "out" / "estimates.csv")


@pytest.mark.parametrize(
    ("spec", "learner"),
    [
        ("direct_method", DirectMethodLearner()),
        ("doubly_robust", DoublyRobustLearner()),
        ("policy_gradient:num_steps=20", PolicyGradientLearner(num_steps=20)),
    ],
)
def test_a_learned_policy_is_evaluated_on_the_rows_that_it_has_not_seen(folder, log, spec, learner):
    outcome = learn(folder, "--learner", spec, "--train-fraction", "0.75")
    assert outcome.code == 0, outcome.err
    assert "from the first 1500 rows" in outcome.out
    found, (row, random) = evaluate(folder, "--policy", folder / "policy.npz", "--policy", "random")
    rest = log[1500:]
    table = probabilities_of(learner.fit(log[:1500]), rest)
    expected = SelfNormalizedIPS().estimate(rest, table)
    assert (int(row["rows"]), int(random["rows"])) == (500, 2000)
    assert float(row["value"]) == pytest.approx(expected.value)
    assert float(row["truth"]) > float(random["truth"]) + 0.05
    assert "Learned from the first 1500 rows" in found.out


def test_a_learned_policy_is_evaluated_on_all_rows_of_another_log(folder, log):
    assert learn(folder).code == 0
    write_log(folder / "later.npz", log[300:])
    _, (row,) = evaluate(folder, "--policy", folder / "policy.npz", log="later.npz")
    assert int(row["rows"]) == 1700


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
        (["--train-fraction", "0"], "policy.npz", "train-fraction is 0; expected at least one row"),
        ([], "policy.pkl", "output is .*policy.pkl; expected a name that ends in .npz"),
    ],
)
def test_mistakes_end_with_one_line_and_no_file(folder, arguments, output, message):
    code, out, err = learn(folder, *arguments, output=output)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert re.search(message, err)
    assert not (folder / output).exists()


def test_a_file_gives_back_the_policy_and_is_checked(folder):
    weights = np.arange(6.0).reshape(2, 3)
    file = folder / "policy.npz"
    write_policy(file, LinearGreedyPolicy(weights, observation_spec=SPEC), 7, "a log")
    saved = read_policy(file)
    assert (saved.kind, saved.rows_learned, saved.log) == ("linear_greedy", 7, "a log")
    assert np.array_equal(saved.make(SPEC).get_state().content.learned, weights)
    with pytest.raises(ValueError, match="weights has shape"):
        saved.make(ArraySpec((5,), np.float64))
    with pytest.raises(TypeError, match="policy is a RandomPolicy"):
        write_policy(file, RandomPolicy(3))
    with pytest.raises(ValueError, match="does not hold a learned policy"):
        read_policy(folder / "log.npz")
