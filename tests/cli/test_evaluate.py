"""What the command estimates from logs, and the logs that it makes."""

import re
import sys

import numpy as np
import pytest

from bandit_envs import (
    ArraySpec,
    DisjointLinUCBPolicy,
    EpsilonGreedyPolicy,
    RandomPolicy,
    StepDriver,
    Trajectory,
    UCBPolicy,
)
from bandit_envs.environments.logistic_context import LogisticContextBandit
from bandit_envs.logged import (
    BanditLog,
    DoublyRobust,
    InversePropensityScoring,
    LogRecorder,
    RewardRegression,
    SelfNormalizedIPS,
    probabilities_of,
    read_log,
    to_frame,
    write_log,
)
from bandit_envs.trajectories import restart, termination
from tests.command_line import rows, run

evaluation = pytest.importorskip("bandit_envs.cli.evaluate")
pytest.importorskip("joblib")
pytest.importorskip("filelock")
pytest.importorskip("rich")
matplotlib_figure = pytest.importorskip("matplotlib.figure")

MINE = "tests.studies.mine"
FILES = ["estimates.csv", "estimates.png", "weights.png"]


@pytest.fixture(scope="module")
def recorded():
    """A log of users who share a problem, with the true means."""
    env = LogisticContextBandit(3, 2, batch_size=20, seed=0)
    policy = EpsilonGreedyPolicy(0.5, num_actions=3, batch_size=20, seed=1)
    recorder = LogRecorder(3, env)
    StepDriver(env, policy, [policy, recorder], 60, emit_log_probability=True).run()
    return recorder.log()


@pytest.fixture
def table(recorded):
    """The same log as a table of a user's, without rows and steps."""
    columns = recorded.action, recorded.reward, recorded.propensity
    return BanditLog(recorded.observation, *columns, 3)


@pytest.fixture(autouse=True)
def no_figures(monkeypatch):
    """Draws nothing, to save time; the one test of figures restores them."""
    for name in ("estimates_figure", "weights_figure"):
        monkeypatch.setattr(evaluation, name, lambda *arguments: b"")


@pytest.fixture
def evaluate(tmp_path):
    """Evaluates policies on a log and returns the outcome and the rows of its table."""

    def evaluate(log, *arguments):
        write_log(tmp_path / "log.npz", log)
        outcome = run(
            "evaluate",
            tmp_path / "log.npz",
            *arguments,
            "--output",
            tmp_path / "out",
            "--overwrite",
        )
        assert outcome.code == 0, outcome.err
        assert sorted(path.name for path in (tmp_path / "out").iterdir()) == FILES
        return outcome, rows(tmp_path / "out" / "estimates.csv")

    return evaluate


def test_the_truth_is_shown_if_the_log_has_expected_rewards(evaluate, recorded, table):
    outcome, found = evaluate(recorded, "--policy", "random")
    truth = recorded.expected_rewards.mean()
    assert [float(row["truth"]) for row in found] == [pytest.approx(truth)] * 3
    assert re.search(rf"truth +{truth:.4f}", outcome.out)
    outcome, found = evaluate(table, "--policy", "random")
    assert [row["truth"] for row in found] == [""] * 3
    assert "  truth" not in outcome.out


def taught(policy, log):
    """Lets a policy learn from a log, batch by batch."""
    size = policy.batch_size
    for start in range(0, len(log), size):
        part = log[start : start + size]
        after = termination(part.observation, part.reward, np.float64)
        before = restart(part.observation, size)
        policy(Trajectory.from_transition(before, part.action, after))
    return policy


def test_every_policy_meets_every_estimator(evaluate, recorded):
    chances, predicted = np.full((1200, 3), 1 / 3), RewardRegression().predict(recorded)
    outcome, table = evaluate(recorded, "--policy", "random", "--confidence", "0.9")
    expected = {"ips": InversePropensityScoring(), "snips": SelfNormalizedIPS()}
    expected["dr"] = DoublyRobust()
    assert [row["estimator"] for row in table] == list(expected)
    for row, estimator in zip(table, expected.values()):
        estimate = estimator.estimate(recorded, chances, predicted)
        numbers = estimate.value, *estimate.normal_interval(0.9), estimate.effective_sample_size
        names = "value", "low", "high", "effective_sample_size"
        assert [float(row[name]) for name in names] == pytest.approx(numbers)
        assert f"{estimate.value:.4f} (" in outcome.out
    assert "90% interval" in outcome.out
    assert "frozen" not in outcome.out


def test_a_policy_that_learns_is_frozen_after_half_of_the_log(evaluate, recorded):
    specs = ["--policy", "ucb:c=1", "--policy", "disjoint_lin_ucb", "--policy", "random"]
    outcome, table = evaluate(recorded, *specs, "--estimator", "ips")
    spec = ArraySpec((2,), np.float64)
    policies = (
        UCBPolicy(1.0, num_actions=3, batch_size=20),
        DisjointLinUCBPolicy(num_actions=3, observation_spec=spec, batch_size=20),
        RandomPolicy(3, 20),
    )
    assert "first 600 rows" in outcome.out
    parts = [recorded[600:], recorded[600:], recorded]  # a policy that cannot learn has seen none
    for row, policy, part in zip(table, policies, parts, strict=True):
        chances = probabilities_of(taught(policy, recorded[:600]), part)
        estimate = InversePropensityScoring().estimate(part, chances)
        assert int(row["rows"]) == len(part)
        assert float(row["value"]) == pytest.approx(estimate.value)


@pytest.mark.parametrize("beside", [[], ["--policy", "ucb:c=1"]])
def test_a_users_policy_without_learn_is_evaluated_on_all_rows(evaluate, table, beside):
    specs = ["--policy", f"{MINE}:Always:action=1", *beside]
    outcome, (row, *others) = evaluate(table, *specs, "--estimator", "snips")
    assert (int(row["rows"]), [int(other["rows"]) for other in others]) == (
        1200,
        [600] * len(others),
    )
    assert ("the other policies on all 1200" in outcome.out) == bool(beside)


def test_predictions_are_made_for_the_rows_that_are_evaluated(evaluate, recorded):
    _, (row,) = evaluate(recorded, "--policy", "ucb:c=1", "--estimator", "dr")
    rest = recorded[600:]
    policy = taught(UCBPolicy(1.0, num_actions=3, batch_size=20), recorded[:600])
    predicted = RewardRegression().predict(rest)
    estimate = DoublyRobust().estimate(rest, probabilities_of(policy, rest), predicted)
    assert float(row["value"]) == pytest.approx(estimate.value)


@pytest.mark.parametrize("spec", ["ucb:c=1", "disjoint_lin_ucb", "epsilon_greedy:epsilon=0.2"])
def test_a_users_table_is_one_problem(evaluate, table, spec):
    _, (row,) = evaluate(table, "--policy", spec, "--estimator", "snips")
    features = {"observation_spec": ArraySpec((2,), np.float64)}
    policy = {
        "ucb:c=1": lambda: UCBPolicy(1.0, num_actions=3),
        "disjoint_lin_ucb": lambda: DisjointLinUCBPolicy(num_actions=3, **features),
        "epsilon_greedy:epsilon=0.2": lambda: EpsilonGreedyPolicy(0.2, num_actions=3),
    }[spec]()
    chances = probabilities_of(taught(policy, table[:600]), table[600:])
    estimate = SelfNormalizedIPS().estimate(table[600:], chances)
    assert float(row["value"]) == pytest.approx(estimate.value)


def test_replay_needs_a_deterministic_policy(evaluate, table, tmp_path):
    _, (row,) = evaluate(table, "--policy", f"{MINE}:Always:action=1", "--estimator", "replay")
    assert float(row["value"]) == pytest.approx(table.reward[table.action == 1].mean())
    code, _, err = run(
        *("evaluate", tmp_path / "log.npz", "--policy", "random", "--estimator", "replay"),
        *("--output", tmp_path / "other"),
    )
    assert (code, err.count("\n")) == (2, 1)
    assert "policy random: probabilities" in err


def test_a_policy_without_probabilities_is_counted(evaluate, table):
    _, (row,) = evaluate(table, "--policy", f"{MINE}:Always:action=1", "--estimator", "snips")
    chosen = np.tile([0.0, 1.0, 0.0], (1200, 1))
    assert float(row["value"]) == SelfNormalizedIPS().estimate(table, chosen).value


def test_warnings_are_shown_and_written(evaluate, table):
    outcome, (row,) = evaluate(table[:50], "--policy", "random", "--estimator", "ips")
    assert "effective sample size" in row["warnings"]
    assert f"[1] {row['warnings']}" in outcome.out


def test_figures_show_dots_intervals_the_logged_mean_and_weights(evaluate, recorded, monkeypatch):
    figures, savefig = [], matplotlib_figure.Figure.savefig

    def keep(figure, *arguments, **options):
        figures.append(figure)
        return savefig(figure, *arguments, **options)

    monkeypatch.undo()
    monkeypatch.setattr(matplotlib_figure.Figure, "savefig", keep)
    _, table = evaluate(recorded, "--policy", "random", "--policy", f"{MINE}:Always")
    (estimates,), weights = figures[0].axes, figures[1].axes
    lines = {line.get_label(): line for line in estimates.lines}
    assert set(lines["logged mean"].get_xdata()) == {recorded.reward.mean()}
    dots = {float(x) for container in estimates.containers for x in container[0].get_xdata()}
    assert dots == {float(row["value"]) for row in table}
    shares = [sum(patch.get_height() for patch in axis.patches) for axis in weights]
    assert shares == pytest.approx([1.0, np.mean(recorded.action == 0)])


def write_table(table, file):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = to_frame(table).rename(columns={"observation[0]": "age", "observation[1]": "visits"})
    frame = frame.rename(columns={"action": "arm", "reward": "clicked", "propensity": "chance"})
    pandas.DataFrame(frame).to_csv(file) if file.suffix == ".csv" else frame.to_parquet(file)


NAMES = ["--action", "arm", "--reward", "clicked", "--propensity", "chance"]
NAMES += ["--features", "age,visits"]


@pytest.mark.parametrize("name", ["clicks.csv", "clicks.parquet"])
def test_options_name_the_columns_of_any_table(evaluate, table, tmp_path, name):
    write_table(table, tmp_path / name)
    arguments = ("--policy", "disjoint_lin_ucb", "--estimator", "dr")
    output = ("--output", tmp_path / "other")
    assert run("evaluate", tmp_path / name, *NAMES, *arguments, *output).code == 0
    _, expected = evaluate(table, *arguments)
    (row,) = rows(tmp_path / "other" / "estimates.csv")
    assert float(row["value"]) == pytest.approx(float(expected[0]["value"]))


def test_a_table_needs_no_features(table, tmp_path):
    write_table(table, tmp_path / "clicks.csv")
    names = (*NAMES[:-1], "", "--output", tmp_path / "other")
    assert run("evaluate", tmp_path / "clicks.csv", *names, "--policy", "ucb:c=1").code == 0
    assert [row["estimator"] for row in rows(tmp_path / "other" / FILES[0])] == [
        "ips",
        "snips",
        "dr",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--policy", "thomson"], "did you mean thompson"),
        (["--policy", "mine/yours.py:Always"], "did you mean mine.yours:Always"),
        (["--policy", "lin_ucb"], "policy lin_ucb: observation_spec"),
        (["--policy", f"{MINE}:Always:action=9"], "policy .*Always:action=9: "),
        (["--policy", "random", "--estimator", "ipw"], "did you mean ips"),
        (["--policy", "random", "--estimator", "ips:max_weight=-1"], "max_weight is -1"),
        (["--policy", "random", "--estimator", f"{MINE}:Always:num_actions=3"], "Estimator"),
        (["--policy", "random", "--confidence", "1"], "confidence is 1"),
    ],
)
def test_mistakes_end_with_one_line_and_no_file(table, tmp_path, arguments, message):
    write_log(tmp_path / "log.npz", table)
    code, out, err = run("evaluate", tmp_path / "log.npz", *arguments, "--output", tmp_path / "out")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert re.search(message, err)
    assert not (tmp_path / "out").exists()


def test_a_table_without_names_of_columns_is_refused_with_advice(tmp_path):
    (tmp_path / "clicks.csv").write_text("a,b\n1,2\n")
    code, _, err = run("evaluate", tmp_path / "clicks.csv", "--policy", "random")
    assert (code, err.count("\n")) == (2, 1)
    assert "--features" in err
    assert run("evaluate", tmp_path / "nowhere.npz", "--policy", "random").code == 2


@pytest.mark.parametrize(("package", "name"), [("pandas", "x.csv"), ("pyarrow", "x.parquet")])
def test_a_missing_package_is_named_with_the_extra(monkeypatch, tmp_path, package, name):
    monkeypatch.setitem(sys.modules, package, None)
    code, _, err = run("evaluate", tmp_path / name, "--policy", "random", *NAMES)
    assert (code, err.count("\n")) == (2, 1)
    assert f"{package} is not installed" in err
    assert '".[logged]"' in err


RUN = ["run", "logistic_context:batch_size=5,num_actions=3", "--steps", "8", "--workers", "1"]


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
def test_a_run_becomes_a_log(tmp_path, suffix):
    policy = ("--policy", "disjoint_linear_epsilon_greedy:epsilon=0.3")
    outputs = ("--record", tmp_path / f"log{suffix}", "--output", tmp_path / "results")
    assert run(*RUN, *policy, *outputs).code == 0
    log = read_log(tmp_path / f"log{suffix}")
    assert (len(log), log.num_actions) == (40, 3)
    assert log.expected_rewards.shape == (40, 3)
    (row,) = rows(tmp_path / "results" / "runs.csv")
    assert log.reward.mean() == pytest.approx(float(row["mean_reward"]))


@pytest.mark.parametrize(
    ("policies", "message"),
    [
        (["disjoint_linear_thompson"], "probabilities"),
        (["random", "greedy"], "one policy"),
        ([], "one policy"),
    ],
)
def test_a_run_that_cannot_become_a_log_does_not_start(tmp_path, policies, message):
    given = [item for policy in policies for item in ("--policy", policy)]
    outputs = ("--record", tmp_path / "log.npz", "--output", tmp_path / "results")
    code, out, err = run(*RUN, *given, *outputs)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("policy", [None, "cascade_ucb", "random_slate"])
def test_slates_are_not_recorded(tmp_path, policy):
    given = ("--policy", policy) if policy else ()
    outputs = ("--record", tmp_path / "log.npz", "--output", tmp_path / "results")
    code, out, err = run("run", "cascade", "--steps", "5", *given, *outputs)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "cascade" in err
    assert "slate" in err
    assert list(tmp_path.iterdir()) == []


def test_a_log_is_replaced_only_on_demand(tmp_path):
    policy, path = ("--policy", "random"), tmp_path / "log.npz"
    outputs = ("--record", path, "--output", tmp_path / "results")
    assert run(*RUN, *policy, *outputs).code == 0
    before = path.read_bytes()
    code, _, err = run(*RUN, *policy, "--seed", "1", *outputs)
    assert code == 2
    assert "--overwrite" in err
    assert path.read_bytes() == before
    assert run(*RUN, *policy, "--seed", "1", *outputs, "--overwrite").code == 0
    assert path.read_bytes() != before


def test_estimates_are_replaced_only_on_demand(table, tmp_path):
    write_log(tmp_path / "log.npz", table)
    command = ["evaluate", tmp_path / "log.npz", "--estimator", "ips", "--output", tmp_path / "out"]
    assert run(*command, "--policy", "random").code == 0
    before = (tmp_path / "out" / "estimates.csv").read_bytes()
    code, _, err = run(*command, "--policy", "ucb:c=1")
    assert (code, err.count("\n")) == (2, 1)
    assert "--overwrite" in err
    assert (tmp_path / "out" / "estimates.csv").read_bytes() == before
    assert run(*command, "--policy", "ucb:c=1", "--overwrite").code == 0
    assert (tmp_path / "out" / "estimates.csv").read_bytes() != before


def test_estimates_without_a_folder_of_theirs_get_a_new_one(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_log("log.npz", table)
    for more in ([], ["--overwrite"], []):
        command = "evaluate", "log.npz", "--policy", "random", "--estimator", "ips", *more
        assert run(*command).code == 0
    folders = sorted(path.name for path in (tmp_path / "results").iterdir())
    assert folders == ["log-estimates", "log-estimates-2"]
