"""What the command estimates from logs."""

import dataclasses
import re
import signal
import sys

import numpy as np
import pytest

from bandit_envs import (
    ArraySpec,
    EpsilonGreedyPolicy,
    LinUCBPolicy,
    RandomPolicy,
    StepDriver,
    Trajectory,
    UCBPolicy,
)
from bandit_envs.environments import logistic_context
from bandit_envs.evaluations import logs
from bandit_envs.evaluations.passes import LogObserver, PassesHere
from bandit_envs.logged import (
    BanditLog,
    DoublyRobust,
    InversePropensityScoring,
    LogRecorder,
    RewardRegression,
    SelfNormalizedIPS,
    probabilities_of,
    to_frame,
    write_log,
)
from bandit_envs.logged.estimators import estimate_logged
from bandit_envs.trajectories import restart, termination
from tests.cases import for_each
from tests.command_line import rows, run
from tests.logged.items import long_frame

pytest.importorskip("joblib")
pytest.importorskip("filelock")
pytest.importorskip("rich")
matplotlib_figure = pytest.importorskip("matplotlib.figure")

pytestmark = pytest.mark.filterwarnings("ignore:.*the estimate is unreliable")

MINE = "tests.studies.mine"
HYBRID = "contextual:model=hybrid_ridge,rule=upper_bound"
FILES = ["estimates.csv", "estimates.png", "evaluation.html", "weights.png"]


@pytest.fixture(scope="module")
def recorded():
    """A log of users who share a problem, with the true means."""
    env = logistic_context(3, 2, batch_size=20, seed=0)
    policy = EpsilonGreedyPolicy(0.5, num_actions=3, batch_size=20, seed=1)
    recorder = LogRecorder(3, env)
    StepDriver(env, policy, [policy, recorder], 60, emit_log_probability=True).run()
    return recorder.log()


@pytest.fixture
def table(recorded):
    """The same log as a table of a user's, without rows and steps."""
    return recorded.drop("row", "step", "expected_rewards")


@pytest.fixture
def evaluate(tmp_path):
    """Evaluates policies on a log and returns the outcome and the rows of their table."""

    def evaluate(log, *arguments):
        file = log
        if isinstance(log, BanditLog):
            file = tmp_path / "log.npz"
            write_log(file, log)
        output = tmp_path / "out"
        outcome = run("evaluate", file, *arguments, "--output", output, "--overwrite")
        assert outcome.code == 0, outcome.err
        assert sorted(path.name for path in output.iterdir()) == FILES
        logged, *others = rows(output / "estimates.csv")
        assert logged["policy"] == "logged"
        return outcome, others

    return evaluate


def teach(policy, log):
    """Lets a policy learn from a log, batch by batch."""
    size = policy.batch_size
    for start in range(0, len(log), size):
        part = log[start : start + size]
        after = termination(part.observation, part.reward, np.float64)
        before = restart(part.observation, size)
        policy.learn(Trajectory.from_transition(before, part.action, after))
    return policy


def test_the_truth_is_shown_if_the_log_has_expected_rewards(evaluate, recorded, table):
    outcome, found = evaluate(recorded, "--policy", "random")
    truth = recorded.expected_rewards.mean()
    assert [float(row["truth"]) for row in found] == [pytest.approx(truth)]
    assert re.search(rf"random +dr +{truth:.4f}", outcome.out)
    outcome, found = evaluate(table, "--policy", "random")
    assert [row["truth"] for row in found] == [""]
    assert " truth " not in outcome.out


def test_every_policy_meets_every_estimator(evaluate, recorded):
    probabilities = np.full((1200, 3), 1 / 3)
    predicted = RewardRegression().predict(recorded)
    named = ("--estimator", "ips", "--estimator", "snips", "--estimator", "dr")
    outcome, found = evaluate(recorded, "--policy", "random", "--confidence", "0.9", *named)
    estimators = {
        "ips": InversePropensityScoring(),
        "snips": SelfNormalizedIPS(),
        "dr": DoublyRobust(),
    }
    assert [row["estimator"] for row in found] == list(estimators)
    for row in found:
        estimate = estimators[row["estimator"]].estimate(recorded, probabilities, predicted)
        low, high = estimate.interval(0.9)
        assert float(row["value"]) == pytest.approx(estimate.value)
        assert float(row["low"]) == pytest.approx(low)
        assert float(row["high"]) == pytest.approx(high)
        effective = float(row["effective_sample_size"])
        assert effective == pytest.approx(estimate.effective_sample_size)
        assert f"{estimate.value:.4f} (" in outcome.out
    assert "90% interval" in outcome.out
    assert "frozen" not in outcome.out


def test_gains_over_the_logged_policy_are_shown_beside_values(evaluate, recorded):
    specs = ["--policy", "random", "--policy", "ucb:c=1"]
    outcome, found = evaluate(recorded, *specs, "--estimator", "snips")
    logged = estimate_logged(recorded[600:])
    assert f"{logged.value:.4f} (" in outcome.out
    for row in found:
        gain = float(row["gain"])
        assert gain == pytest.approx(float(row["value"]) - logged.value)
        assert f"{gain:+.4f} ({float(row['gain_low']):+.4f} to " in outcome.out
    assert "p: of a gain of 0, corrected by Holm for 2 comparisons" in outcome.out
    assert " than the logged policy; the highest gain is that of " in outcome.out.splitlines()[0]
    assert outcome.out.index("The log: ") > outcome.out.index("p: of a gain")
    outcome, found = evaluate(recorded, *specs, "--estimator", "snips", "--baseline", "random")
    assert [row["gain_rows"] for row in found] == ["0", "600"]
    assert "gain over random" in outcome.out
    assert "Holm" not in outcome.out
    outcome, _ = evaluate(recorded, *specs[:2], "--baseline", "random")
    assert "gain over" not in outcome.out


def test_a_wrong_result_of_a_hook_is_named_with_its_line(recorded, tmp_path, monkeypatch):
    write_log(tmp_path / "log.npz", recorded)
    lines = [
        "import bandit_envs",
        "class Lost(bandit_envs.Policy):",
        "    def _probabilities(self, learned, time_step):",
        "        return None",
    ]
    (tmp_path / "lost.py").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    outcome = run("evaluate", "log.npz", "--policy", "lost:Lost", "--output", "out")
    assert outcome.code == 2
    assert re.search(r"_probabilities returned None; .* \(.*lost\.py:3\)$", outcome.err.strip())


def test_what_the_log_has_earned_fails_no_gate(recorded, tmp_path):
    write_log(tmp_path / "log.npz", recorded)
    arguments = ["evaluate", tmp_path / "log.npz", "--policy", f"{MINE}:Always:action=1"]
    outcome = run(*arguments, "--output", tmp_path / "out", "--fail-below", "100")
    assert outcome.code == 1
    assert "logged:" not in outcome.err


def test_an_interval_below_a_bound_fails(recorded, tmp_path):
    write_log(tmp_path / "log.npz", recorded)
    arguments = ["evaluate", tmp_path / "log.npz", "--policy", "random", "--estimator", "snips"]
    output = ["--output", tmp_path / "out", "--overwrite"]
    assert run(*arguments, *output, "--fail-below", "-100").code == 0
    outcome = run(*arguments, *output, "--fail-below", "100")
    assert outcome.code == 1
    assert "random: the interval of snips begins at" in outcome.err


def test_a_policy_that_learns_is_frozen_after_half_of_the_log(evaluate, recorded):
    specs = ["--policy", "ucb:c=1", "--policy", "lin_ucb", "--policy", "random"]
    outcome, found = evaluate(recorded, *specs, "--estimator", "ips")
    first = recorded[:600]
    rest = recorded[600:]
    spec = ArraySpec((2,), np.float64)
    learners = (
        UCBPolicy(1.0, num_actions=3, batch_size=20),
        LinUCBPolicy(num_actions=3, observation_spec=spec, batch_size=20),
    )
    expected = [(rest, teach(policy, first)) for policy in learners]
    expected.append((rest, RandomPolicy(3, 20)))
    assert "first 600 rows" in outcome.out
    for row, (part, policy) in zip(found, expected, strict=True):
        estimate = InversePropensityScoring().estimate(part, probabilities_of(policy, part))
        assert int(row["rows"]) == len(part)
        assert float(row["value"]) == pytest.approx(estimate.value)


def test_a_users_policy_without_learn_is_evaluated_on_all_rows(evaluate, table):
    specs = ["--policy", f"{MINE}:Always:action=1"]
    _, found = evaluate(table, *specs, "--estimator", "snips")
    assert [int(row["rows"]) for row in found] == [1200]
    # The policy does not know its probabilities, so its choices are counted.
    chosen = np.tile([0.0, 1.0, 0.0], (1200, 1))
    assert float(found[0]["value"]) == SelfNormalizedIPS().estimate(table, chosen).value


def test_predictions_are_made_for_the_rows_that_are_evaluated(evaluate, recorded):
    _, (row,) = evaluate(recorded, "--policy", "ucb:c=1", "--estimator", "dr")
    rest = recorded[600:]
    policy = teach(UCBPolicy(1.0, num_actions=3, batch_size=20), recorded[:600])
    predicted = RewardRegression().predict(rest)
    estimate = DoublyRobust().estimate(rest, probabilities_of(policy, rest), predicted)
    assert float(row["value"]) == pytest.approx(estimate.value)


@pytest.mark.parametrize(
    ("spec", "policy"),
    [
        ("ucb:c=1", UCBPolicy(1.0, num_actions=3)),
        (
            "lin_ucb",
            LinUCBPolicy(num_actions=3, observation_spec=ArraySpec((2,), np.float64)),
        ),
        ("epsilon_greedy:epsilon=0.2", EpsilonGreedyPolicy(0.2, num_actions=3)),
    ],
)
def test_a_users_table_is_one_problem(evaluate, table, spec, policy):
    _, (row,) = evaluate(table, "--policy", spec, "--estimator", "snips")
    probabilities = probabilities_of(teach(policy, table[:600]), table[600:])
    estimate = SelfNormalizedIPS().estimate(table[600:], probabilities)
    assert float(row["value"]) == pytest.approx(estimate.value)


def test_replay_takes_a_deterministic_policy_and_a_uniform_log(evaluate, table):
    uniform = dataclasses.replace(table, propensity=np.full(len(table), 1 / table.num_actions))
    options = ("--policy", f"{MINE}:Always:action=1", "--estimator", "replay")
    _, (row,) = evaluate(uniform.drop("action_probabilities"), *options)
    assert float(row["value"]) == pytest.approx(table.reward[table.action == 1].mean())


def test_replay_refuses_a_log_that_is_not_uniform(tmp_path, table):
    propensity = np.where(np.arange(len(table)) % 2, 0.25, 0.5)
    log = dataclasses.replace(table, propensity=propensity).drop("action_probabilities")
    write_log(tmp_path / "log.npz", log)
    options = ("--policy", f"{MINE}:Always:action=1", "--estimator", "replay")
    outcome = run("evaluate", tmp_path / "log.npz", *options, "--output", tmp_path / "out")
    assert outcome.code == 2
    assert "with different propensities" in " ".join(outcome.err.split())


def test_warnings_are_shown_and_written(evaluate, table):
    outcome, (row,) = evaluate(table[:50], "--policy", "random", "--estimator", "ips")
    assert "effective sample size" in row["warnings"]
    assert f"] {row['warnings']}" in outcome.out


def test_figures_show_dots_intervals_the_logged_mean_and_weights(evaluate, recorded, monkeypatch):
    figures = []
    savefig = matplotlib_figure.Figure.savefig

    def keep(figure, *arguments, **options):
        figures.append(figure)
        if len(figures) <= 2:  # the page has the same figures again
            savefig(figure, *arguments, **options)

    monkeypatch.undo()
    monkeypatch.setattr(matplotlib_figure.Figure, "savefig", keep)
    _, found = evaluate(recorded, "--policy", "random", "--policy", f"{MINE}:Always")
    values, gains = figures[0].axes
    lines = {line.get_label(): line for line in values.lines}
    assert set(lines["logged mean"].get_xdata()) == {recorded.reward.mean()}
    for axis, name in ((values, "value"), (gains, "gain")):
        dots = {float(x) for container in axis.containers for x in container[0].get_xdata()}
        assert dots == {float(row[name]) for row in found}
    shares = [sum(patch.get_height() for patch in axis.patches) for axis in figures[1].axes]
    assert shares == pytest.approx([1.0, np.mean(recorded.action == 0)])


NAMES = ["--action", "arm", "--reward", "clicked", "--propensity", "chance"]
FEATURES = ["--features", "age,visits"]


def as_users_frame(log):
    """The log as a data frame with names of a user's."""
    pytest.importorskip("pandas")
    names = {
        "observation[0]": "age",
        "observation[1]": "visits",
        "action": "arm",
        "reward": "clicked",
        "propensity": "chance",
    }
    return to_frame(log).rename(columns=names)


@pytest.mark.parametrize("name", ["clicks.csv", "clicks.parquet"])
def test_options_name_the_columns_of_any_table(evaluate, table, tmp_path, name):
    pytest.importorskip("pyarrow")
    frame = as_users_frame(table)
    file = tmp_path / name
    frame.to_csv(file) if file.suffix == ".csv" else frame.to_parquet(file)
    options = ("--policy", "lin_ucb:intercept=true", "--estimator", "dr")
    _, (row,) = evaluate(file, *NAMES, *FEATURES, *options)
    _, (expected,) = evaluate(table, *options)
    assert float(row["value"]) == pytest.approx(float(expected["value"]))


def test_a_table_needs_no_features(evaluate, table, tmp_path):
    as_users_frame(table).to_csv(tmp_path / "clicks.csv")
    _, found = evaluate(tmp_path / "clicks.csv", *NAMES, "--features", "", "--policy", "ucb:c=1")
    assert [row["estimator"] for row in found] == ["dr"]


def test_rows_that_miss_values_are_counted_and_left_out_on_demand(evaluate, table, tmp_path):
    frame = as_users_frame(table)
    frame["note"] = None
    frame.loc[[3, 7], "age"] = None
    frame.loc[[7, 9], "arm"] = None
    file = tmp_path / "clicks.csv"
    frame.to_csv(file)
    options = (*NAMES, *FEATURES, "--policy", "random", "--estimator", "ips")
    code, _, err = run("evaluate", file, *options, "--output", tmp_path / "other")
    assert code == 2
    assert "'arm' 2, first in line 9 of clicks.csv; 'age' 2, first in line 5" in err
    assert not (tmp_path / "other").exists()
    outcome, (row,) = evaluate(file, *options, "--drop-missing")
    assert "3 of 1200 rows miss values, and are left out" in outcome.out
    rest = table[np.delete(np.arange(1200), [3, 7, 9])]
    estimate = InversePropensityScoring().estimate(rest, np.full((1197, 3), 1 / 3))
    assert (int(row["rows"]), float(row["value"])) == (1197, pytest.approx(estimate.value))


SPECS = ["random", "ucb:c=1", "lin_ucb", f"{MINE}:Always:action=1"]
POLICIES = [item for spec in SPECS for item in ("--policy", spec)]


@pytest.fixture
def parts(recorded, tmp_path):
    """The log in a folder, whose parts do not end with complete batches."""
    folder = tmp_path / "parts"
    folder.mkdir()
    for part, rows_of_part in enumerate(np.array_split(np.arange(1200), 7)):
        write_log(folder / f"{part}.npz", recorded[rows_of_part])
    return folder


def check_same_estimates(found, expected, rel):
    """Checks that two tables are of the same estimates."""
    for row, same in zip(found, expected, strict=True):
        for name in ("policy", "estimator", "rows", "warnings"):
            assert row[name] == same[name]
        for name in ("value", "low", "standard_error", "effective_sample_size", "truth"):
            assert float(row[name]) == pytest.approx(float(same[name]), rel=rel)


def test_a_log_in_a_folder_has_the_estimates_of_one_file(evaluate, recorded, parts, monkeypatch):
    _, expected = evaluate(recorded, *POLICIES)
    for limits in ({}, {"IN_MEMORY": 0, "BATCH_NUMBERS": 99}):
        for name, limit in limits.items():
            monkeypatch.setattr(f"bandit_envs.evaluations.logs.{name}", limit)
        _, found = evaluate(parts, *POLICIES)
        check_same_estimates(found, expected, rel=1e-9)


def test_what_is_left_out_of_a_folder_is_named(parts, tmp_path):
    output = ("--output", tmp_path / "results", "--policy", "random", "--overwrite")
    (parts / "notes.txt").write_text("")
    code, _, err = run("evaluate", parts, *output)
    assert (code, err.count("\n")) == (2, 1)
    assert "has notes.txt, which cannot be read" in err
    code, out, _ = run("evaluate", parts / "*.NPZ", *output)
    assert code == 0
    assert "files left out: 1 (notes.txt)" in out
    code, _, err = run("evaluate", *parts.glob("*.npz"), *output)
    assert code == 2
    assert 'one log is read: a file, a folder, or a pattern in quotes, as "clicks/*.csv"' in err


def test_a_log_is_kept_in_memory_if_what_the_files_hold_is_small(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    size = 50_000
    log = BanditLog(np.zeros((size, 20)), np.arange(size) % 2, np.ones(size), np.full(size, 0.5))
    file = tmp_path / "log.parquet"
    write_log(file, log)
    size_of_file = file.stat().st_size
    for limit, is_kept in ((2**26, True), (10 * size_of_file, False)):
        monkeypatch.setattr("bandit_envs.evaluations.logs.IN_MEMORY", limit)
        source = logs.as_source(file)
        opened = logs.open_log(source, PassesHere(LogObserver()))
        assert isinstance(opened.parts[0].batches, list) == is_kept
        assert opened.summary.size == size


@pytest.mark.parametrize(
    "backend",
    [
        "threading",
        pytest.param("loky", marks=pytest.mark.slow),
    ],
)
def test_workers_find_the_same_estimates(evaluate, parts, backend):
    options = [*POLICIES, "--policy", "thompson:prior_std=1", "--estimator", "dr"]
    _, expected = evaluate(parts, *options)
    _, found = evaluate(parts, *options, "--workers", f"{backend}:2")
    check_same_estimates(found, expected, rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--policy", f"{MINE}:Always:action=9"], "policy .*Always:action=9: "),
        (["--policy", "random", "--workers", "0"], "workers is 0"),
        (["--policy", "random", "--workers", "threading:x"], "'threading:x' names no workers"),
        (["--policy", "random", "--damage"], r"3\.npz [^;]*$"),
    ],
)
def test_mistakes_that_workers_find_end_with_one_line(parts, tmp_path, arguments, message):
    if "--damage" in arguments:
        arguments.remove("--damage")
        (parts / "3.npz").write_bytes(b"damaged")
    workers = ["--workers", "threading:2"]
    code, out, err = run("evaluate", parts, *workers, *arguments, "--output", tmp_path / "out")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert re.search(message, err)
    assert not (tmp_path / "out").exists()


def test_a_fraction_of_the_rows_trains_the_policies_that_learn(evaluate, table):
    options = ("--policy", "ucb:c=1", "--estimator", "snips", "--train")
    outcome, (row,) = evaluate(table, *options, "0.25")
    policy = teach(UCBPolicy(1.0, num_actions=3), table[:300])
    expected = SelfNormalizedIPS().estimate(table[300:], probabilities_of(policy, table[300:]))
    assert (int(row["rows"]), float(row["value"])) == (900, pytest.approx(expected.value))
    assert "first 300 rows" in outcome.out


def test_no_train_evaluates_all_policies_on_all_rows(evaluate, table):
    options = (
        "--policy",
        "ucb:c=1",
        "--policy",
        "random",
        "--estimator",
        "snips",
        "--train",
        "none",
    )
    outcome, found = evaluate(table, *options)
    assert [int(row["rows"]) for row in found] == [1200, 1200]
    assert found[0]["value"] == found[1]["value"]  # UCB knows nothing, so it draws uniformly
    assert "frozen" not in outcome.out


def as_dated_frame(log):
    """The log as a data frame with two columns of times, 40 rows a day."""
    frame = as_users_frame(log)
    day = np.datetime64("2024-01-01") + np.arange(len(log)) // 40
    frame["day"] = day.astype("datetime64[s]")
    frame["number"] = np.arange(len(log))
    return frame


@pytest.mark.parametrize("name", ["clicks.csv", "clicks.parquet"])
@pytest.mark.parametrize("limit", ["day=2024-01-11", "number=400"])
def test_policies_learn_from_the_rows_before_a_time(evaluate, table, tmp_path, name, limit):
    pytest.importorskip("pyarrow")
    frame = as_dated_frame(table)
    file = tmp_path / name
    frame.to_csv(file) if file.suffix == ".csv" else frame.to_parquet(file)
    specs = ("--policy", "ucb:c=1", "--policy", "random", "--estimator", "snips")
    outcome, (learned, fixed) = evaluate(file, *NAMES, *FEATURES, *specs, "--train", limit)
    policy = teach(UCBPolicy(1.0, num_actions=3), table[:400])
    rest = table[400:]
    expected = SelfNormalizedIPS().estimate(rest, probabilities_of(policy, rest))
    assert (int(learned["rows"]), int(fixed["rows"])) == (800, 800)
    assert float(learned["value"]) == pytest.approx(expected.value)
    assert "first 400 rows" in outcome.out


def test_a_recorded_log_is_cut_at_a_step(evaluate, recorded):
    options = ("--policy", "ucb:c=1", "--estimator", "snips", "--train", "step=15")
    _, (row,) = evaluate(recorded, *options)
    assert int(row["rows"]) == 900


@for_each(
    ("limit", "message"),
    [
        ("day=2024-01-11", "day is 2024-01-02 in line 1022 of clicks.csv, after .* sort the log"),
        ("number=-1", "number=-1, but no row is below"),
        ("number=1e9", "learn from all 1200 rows"),
        ("number=soon", "number is 0 in the first row, and cannot be compared with 'soon'"),
        ("hour=3", "no column 'hour'"),
        ("number", "expected a share such as 0.5, COLUMN=VALUE, or none"),
    ],
)
def test_a_time_that_cuts_no_log_in_two_is_refused(table, tmp_path, limit, message):
    frame = as_dated_frame(table)
    frame.loc[1020, "day"] = np.datetime64("2024-01-02")
    frame.to_csv(tmp_path / "clicks.csv")
    options = (*NAMES, *FEATURES, "--policy", "random", "--train", limit)
    code, out, err = run(
        "evaluate", tmp_path / "clicks.csv", *options, "--output", tmp_path / "out"
    )
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert re.search(message, err)
    assert not (tmp_path / "out").exists()


@for_each(
    ("arguments", "message"),
    [
        (["--policy", "thomson"], "did you mean thompson"),
        (["--policy", "random", "--policy", "random"], "policy random is listed twice"),
        (["--policy", "mine/yours.py:Always"], "did you mean mine.yours:Always"),
        (["--policy", "constant:shoes"], "policy is 'constant:shoes'; .*: 'shoes' has no key"),
        (["--policy", HYBRID], "policy contextual:.*hybrid_ridge.*: observation_spec"),
        (["--policy", f"{MINE}:Always:action=9"], "policy .*Always:action=9: "),
        (["--policy", "random", "--estimator", "ipw"], "did you mean ips"),
        (["--policy", "random", "--estimator", "ips:max_weight=-1"], "max_weight is -1"),
        (["--policy", "random", "--estimator", f"{MINE}:Always:num_actions=3"], "Estimator"),
        (["--policy", "random", "--estimator", "replay"], "policy random: estimator replay: prob"),
        (["--policy", "random", "--confidence", "1"], "confidence is 1"),
        (["--policy", "random", "--train", "1"], "learn from all 1200 rows"),
        (["--policy", "ucb:c=1", "--train", "1e-9"], "too few to learn from a part"),
        (["--policy", "random", "--train", "0"], "train is 0"),
        (["--policy", "random", "--train", "-1"], "train is -1"),
        (
            ["--policy", "random", "--baseline", "x"],
            "baseline is 'x'; expected one of logged, rand",
        ),
        (["--policy", "random", "--drop-missing"], "drop_missing is for a table of your own"),
        (["--policy", "random", "--reward", "profit"], "reward is for a table of your own"),
        (["--policy", "random", "--num-actions", "9"], "num_actions is for a table of your own"),
        (
            ["--policy", "random", "--propensity", "p", "--propensity", "estimate"],
            "--propensity names p and estimate; expected one of them",
        ),
    ],
)
def test_mistakes_end_with_one_line_and_no_file(table, tmp_path, arguments, message):
    write_log(tmp_path / "log.npz", table)
    code, out, err = run("evaluate", tmp_path / "log.npz", *arguments, "--output", tmp_path / "out")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert re.search(message, err)
    assert not (tmp_path / "out").exists()


def test_an_interrupted_evaluation_writes_nothing(table, tmp_path, monkeypatch):
    def interrupt(*arguments):
        signal.raise_signal(signal.SIGINT)

    write_log(tmp_path / "log.npz", table)
    monkeypatch.setattr("bandit_envs.evaluations.evaluating.open_log", interrupt)
    output = ("--output", tmp_path / "out")
    outcome = run("evaluate", tmp_path / "log.npz", "--policy", "random", *output)
    assert outcome == (130, "", "interrupted: nothing was written\n")
    assert not (tmp_path / "out").exists()


def test_too_little_memory_ends_with_one_line(table, tmp_path, monkeypatch):
    def fail(*arguments):
        raise MemoryError("Unable to allocate 8 TiB")

    write_log(tmp_path / "log.npz", table)
    monkeypatch.setattr("bandit_envs.evaluations.evaluating.open_log", fail)
    code, out, err = run("evaluate", tmp_path / "log.npz", "--policy", "random")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "the memory is full: " in err
    assert "Unable to allocate 8 TiB" in err


def test_a_table_of_which_every_row_misses_a_value_has_no_rows(tmp_path):
    pytest.importorskip("pandas")
    (tmp_path / "a.csv").write_text("x,action,reward,propensity\n,0,1,0.5\n,1,0,0.5\n")
    options = ("--features", "x", "--drop-missing", "--policy", "random")
    code, _, err = run("evaluate", tmp_path / "a.csv", *options)
    assert (code, "has no rows without missing values" in err) == (2, True)


def test_a_table_without_names_of_columns_is_refused_with_advice(tmp_path):
    pytest.importorskip("pandas")
    (tmp_path / "clicks.csv").write_text("a,b\n1,2\n")
    code, _, err = run("evaluate", tmp_path / "clicks.csv", "--policy", "random")
    assert (code, err.count("\n")) == (2, 1)
    assert "--features" in err
    assert run("evaluate", tmp_path / "nowhere.npz", "--policy", "random").code == 2


@pytest.mark.parametrize(("package", "name"), [("pandas", "x.csv"), ("pyarrow", "x.parquet")])
def test_a_missing_package_is_named_with_the_extra(monkeypatch, tmp_path, package, name):
    if package == "pyarrow":
        pytest.importorskip("pandas")  # which is looked for first
    monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / name).touch()
    code, _, err = run("evaluate", tmp_path / name, "--policy", "random", *NAMES, *FEATURES)
    assert (code, err.count("\n")) == (2, 1)
    assert f'{package} is not installed; in a checkout: pip install ".[logged]"' in err


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


def test_a_page_is_replaced_with_the_numbers_beside_it(table, tmp_path, monkeypatch):
    write_log(tmp_path / "log.npz", table)
    out = tmp_path / "out"
    command = ["evaluate", tmp_path / "log.npz", "--estimator", "ips", "--output", out]
    page = out / "evaluation.html"
    assert run(*command, "--policy", "constant:number=0").code == 0
    assert "the page of its estimates is evaluation.html" in run("show", out).err
    assert "constant:number=0" in page.read_text("utf-8")
    assert run(*command, "--policy", "constant:number=1", "--overwrite").code == 0
    assert "constant:number=0" not in page.read_text("utf-8")
    assert "constant:number=1" in page.read_text("utf-8")

    def fail(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr("bandit_envs.evaluations.showing.evaluation_page.page_of", fail)
    assert run(*command, "--policy", "random", "--overwrite").code == 2
    assert {row["policy"] for row in rows(out / "estimates.csv")} == {"logged", "random"}
    assert not page.exists()


def test_estimates_without_a_folder_of_theirs_get_a_new_one(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_log("log.npz", table)
    for more in ([], ["--overwrite"], []):
        command = "evaluate", "log.npz", "--policy", "random", "--estimator", "ips", *more
        assert run(*command).code == 0
    folders = sorted(path.name for path in (tmp_path / "results").iterdir())
    assert folders == ["log-estimates", "log-estimates-2"]


def test_propensities_are_estimated_for_a_table_that_lacks_them(table, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(table.observation, columns=["age", "visits"])
    frame["day"] = np.arange(len(table)) // 20
    frame["item"] = np.array(["hats", "shoes", "boots"])[table.action]
    frame["paid"] = table.reward
    frame.to_csv(tmp_path / "a.csv", index=False)
    roles = ("--action", "item", "--reward", "paid", "--output", tmp_path / "out", "--overwrite")
    command = ("evaluate", tmp_path / "a.csv", *roles, "--policy", "random", "--policy", "ucb:c=1")
    limit = ("--train", "day=5", "--features", "age,visits")
    code, out, _ = run(*command, "--propensity", "estimate", *limit)
    assert code == 0
    assert "mean of 1/p (expected 1)" in out
    assert "\nshoes" in out
    assert "[1] propensities were estimated by a logistic regression" in out
    pytest.importorskip("sklearn")
    code, out, _ = run(*command, "--propensity", "estimate:LogisticRegression(C=10)")
    assert code == 0
    assert "propensities were estimated by LogisticRegression, cross-fitted in 3 folds" in out


def write_named_actions(table, path):
    """Writes the log with names of actions, and returns the options that read it."""
    pandas = pytest.importorskip("pandas")
    items = np.array(["hats", "shoes", "boots"])[table.action]
    frame = pandas.DataFrame({"item": items, "paid": table.reward, "p": table.propensity})
    frame["age"] = table.observation[:, 0]
    frame.to_csv(path, index=False)
    return "--action", "item", "--reward", "paid", "--propensity", "p", "--estimator", "ips"


def test_a_parameter_may_be_the_name_of_an_action(table, tmp_path):
    roles = write_named_actions(table, tmp_path / "a.csv")
    by_name = ("--policy", "constant:number=shoes", "--policy", "constant:number=2")
    code, out, _ = run("evaluate", tmp_path / "a.csv", *roles, *by_name)
    assert code == 0
    values = [line.split()[1:] for line in out.splitlines() if " ips " in line]
    assert values[0] == values[1]
    code, _, err = run("evaluate", tmp_path / "a.csv", *roles, "--policy", "constant:number=tie")
    assert code == 2
    assert "number is 'tie'; expected the number of an action, or its name: 'boots', 'hats'" in err


def test_gains_are_over_a_policy_as_the_user_wrote_it(table, tmp_path):
    roles = write_named_actions(table, tmp_path / "a.csv")
    policies = ("--policy", "constant:number=shoes", "--policy", "lin_ucb:alpha=1")
    for baseline in ("constant:number=shoes", 'constant:number="shoes"', "lin_ucb:alpha=1.0"):
        options = (*roles, *policies, "--baseline", baseline, "--overwrite")
        code, out, _ = run("evaluate", tmp_path / "a.csv", *options, "--output", tmp_path / "out")
        assert code == 0
        assert "\n constant:number=shoes " in out
        assert "gain over constant" in out or "gain over lin_ucb:alpha=1 " in out


def test_a_table_without_propensities_is_told_how_to_estimate_them(tmp_path):
    pytest.importorskip("pandas")
    (tmp_path / "a.csv").write_text("item,paid,age\nhats,1,30\n")
    roles = ("--action", "item", "--reward", "paid")
    for features in ((), ("--features", "age")):
        command = ("evaluate", tmp_path / "a.csv", *roles, *features, "--policy", "random")
        code, _, err = run(*command)
        assert code == 2
        assert "--propensity estimate" in err


def test_propensities_of_items_are_not_estimated(tmp_path):
    long_frame().drop(columns="propensity").to_csv(tmp_path / "a.csv", index=False)
    roles = ("--decision", "decision", "--item", "item", "--features", "hour")
    command = ("evaluate", tmp_path / "a.csv", *roles, "--policy", "random")
    code, _, err = run(*command)
    assert code == 2
    assert err.endswith("--propensity names it\n")
    code, _, err = run(*command, "--propensity", "estimate")
    assert code == 2
    assert "--propensity is estimate, and actions are items; expected the column of" in err


def test_a_classifier_of_propensities_says_which_rows_are_left_out(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"action": rng.integers(0, 2, 400), "reward": 1.0, "age": 1.0 * 30})
    frame.loc[5, "age"] = np.nan
    frame.to_csv(tmp_path / "a.csv", index=False)
    model = ("--propensity", "estimate:LogisticRegression(C=1)", "--drop-missing")
    code, out, _ = run("evaluate", tmp_path / "a.csv", *model, "--policy", "random")
    assert code == 0
    assert "1 of 400 rows miss values, and are left out" in out


def test_tables_of_many_segments_are_in_files_and_notes_sum_them_up(table, tmp_path, monkeypatch):
    monkeypatch.setattr("bandit_envs.cli.printed_tables.MAX_ROWS", 12)
    count = len(table)
    log = dataclasses.replace(table, step=np.arange(count) * 6 // count)
    write_log(tmp_path / "log.npz", log)
    arguments = ("evaluate", tmp_path / "log.npz", "--policy", "random", "--estimator", "snips")
    outcome = run(*arguments, "--by", "step", "--output", tmp_path / "few")
    assert outcome.code == 0, outcome.err
    assert "step: 5" in outcome.out
    outcome = run(*arguments, "--estimator", "ips", "--by", "step", "--output", tmp_path / "many")
    assert outcome.code == 0, outcome.err
    assert "step: 5" not in outcome.out
    assert "segments.csv and evaluation.html have the tables of all values of step" in outcome.out
    assert "By step, random" in outcome.out
    assert len(outcome.out.splitlines()) < 40
    assert len(rows(tmp_path / "many" / "segments.csv")) == 18


def test_a_table_with_a_row_for_each_candidate_is_evaluated(tmp_path):
    long_frame().to_csv(tmp_path / "log.csv", index=False)
    output = tmp_path / "out"
    columns = ["--decision", "decision", "--item", "item", "--features", "hour"]
    what = ["--policy", "random", "--estimator", "snips", "--train", "none"]
    outcome = run("evaluate", tmp_path / "log.csv", *columns, *what, "--output", output)
    assert "features: hour; of items: price, kind (3 levels)" in outcome.out
    assert "Items offered most (6 of 6)" in outcome.out
    found = rows(output / "estimates.csv")[1]
    assert float(found["value"]) == pytest.approx(1.179487179, abs=1e-9)
