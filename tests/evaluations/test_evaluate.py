"""What `evaluate` estimates from logs."""

import dataclasses
import math
import sys
import warnings

import numpy as np
import pytest

from bandit_envs import (
    ArraySpec,
    ContextualPolicy,
    EpsilonGreedyPolicy,
    LinUCBPolicy,
    RandomPolicy,
    UCBPolicy,
)
from bandit_envs.evaluations import evaluate, learn
from bandit_envs.evaluations.estimate_rows import EstimateRow
from bandit_envs.evaluations.logs import LogError
from bandit_envs.evaluations.passes import LogObserver
from bandit_envs.logged import (
    BanditLog,
    DirectMethodLearner,
    DoublyRobust,
    InversePropensityScoring,
    KernelIPS,
    MarginalizedIPS,
    RewardRegression,
    SelfNormalizedIPS,
    SlateStandardIPS,
    learn_from_log,
    probabilities_of,
    read_policy,
    scan_log,
    write_log,
    write_policy,
)
from bandit_envs.logged.estimators import estimate_logged, gain_over
from bandit_envs.metrics.holm import holm
from bandit_envs.policies.models import Ridge
from bandit_envs.policies.rules import Greedy
from tests.cases import for_each
from tests.evaluations.logs import KINDS_OF_LOG, Batches, Unread, record_log, split_log, write_parts

pytestmark = pytest.mark.filterwarnings("ignore:.*the estimate is unreliable")

TEXTS = ["random", "ucb:c=1", "lin_ucb"]
CONTEXT = ArraySpec((2,), np.float64)


@pytest.fixture(scope="module")
def log():
    return record_log()


@pytest.fixture(scope="module")
def table(log):
    """The same log without rows and steps."""
    return log.drop("row", "step", "expected_rewards")


@pytest.fixture(scope="module")
def of_a_file(log, tmp_path_factory):
    """A file of the log, and what is found in it."""
    file = tmp_path_factory.mktemp("file") / "log.npz"
    write_log(file, log)
    return file, evaluate(file, TEXTS, ["ips", "dr"])


@pytest.fixture
def folder(log, tmp_path):
    return write_parts(tmp_path / "parts", log)


def evaluate_kinds(log, is_over_learner, **options):
    """Evaluates policies that learn in all ways that there are."""
    policies = {
        "text": "lin_ucb",
        "counted": "thompson:prior_std=1",
        "object": EpsilonGreedyPolicy(0.2, num_actions=3, batch_size=20),
        "learner": DirectMethodLearner(),
    }
    if is_over_learner:
        options |= {"baseline": "learner", "all_rows": True}
    return evaluate(log, policies, ["dr", "snips"], **options)


def check_same_rows(found, expected, rel):
    """Checks that the rows of two evaluations are the same, up to rounding."""
    assert len(found.rows) == len(expected.rows)
    for row, same in zip(found.rows, expected.rows, strict=True):
        for value, other in zip(row, same, strict=True):
            is_number = isinstance(value, float)
            assert value == (pytest.approx(other, rel=rel, nan_ok=True) if is_number else other)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"train": 0.25, "confidence": 0.9},
        {"until": "step=15", "workers": 2},
        {"train": None},
    ],
    ids=str,
)
def test_the_library_writes_the_table_of_the_command(log, folder, tmp_path, options):
    for package in ("joblib", "filelock", "matplotlib", "rich"):
        pytest.importorskip(package)
    from tests.command_line import run  # noqa: PLC0415 - needs packages of the command

    texts = TEXTS if not options else TEXTS[:2]
    names = {"until": "train"}
    words = ["evaluate", folder, "--output", tmp_path / "command"]
    for key, value in options.items():
        words += [f"--{names.get(key, key)}", "none" if value is None else value]
    if "workers" in options:
        words[-1] = "threading:2"
        options = {**options, "backend": "threading"}
    for text in texts:
        words += ["--policy", text]
    for estimator in ("dr", "switch_dr:threshold=10"):
        words += ["--estimator", estimator]
    outcome = run(*words)
    assert outcome.code == 0, outcome.err
    found = evaluate(folder, texts, ["dr", "switch_dr:threshold=10"], **options)
    found.write(tmp_path / "library")
    for name in ("estimates.csv", "estimates.png", "weights.png"):
        written = (tmp_path / "library" / name).read_bytes()
        assert written == (tmp_path / "command" / name).read_bytes()
    for line in (*found.title.splitlines(), *found.notes):
        assert line in outcome.out


@pytest.mark.parametrize("kind", ["log", "batches", "iterable", "path", "scan", "later rows"])
def test_a_log_may_be_in_memory_in_batches_or_in_files(log, of_a_file, kind):
    file, expected = of_a_file
    given = {
        "log": log,
        "batches": split_log(log),
        "iterable": Batches(split_log(log)),
        "path": str(file),
        "scan": scan_log(file, batch_rows=100),
        "later rows": scan_log(file, time="step").split("0")[1],
    }[kind]
    check_same_rows(evaluate(given, TEXTS, ["ips", "dr"]), expected, rel=1e-12)


def test_several_policies_and_estimators_in_one_pass_equal_single_ones(log):
    estimators = {"DR": DoublyRobust(), "SNIPS": SelfNormalizedIPS()}
    options = {"all_rows": True}
    found = evaluate(log, TEXTS, estimators, **options)
    single = [
        evaluate(log, text, {name: estimator}, **options).rows[1]
        for text in TEXTS
        for name, estimator in estimators.items()
    ]
    for row, expected in zip(found.rows[1:], single, strict=True):
        assert row._replace(p_value=expected.p_value) == expected  # which others correct


def test_estimates_are_those_of_the_estimators(log):
    policies = ["random", "ucb:c=1"]
    found = evaluate(log, policies, [DoublyRobust()], confidence=0.9, all_rows=True)
    uniform = np.full((1200, 3), 1 / 3)
    estimate = DoublyRobust().estimate(log, uniform, RewardRegression().predict(log))
    rest = log[600:]
    ucb = learn_from_log(UCBPolicy(1.0, num_actions=3, batch_size=20), log[:600])
    predicted = RewardRegression().predict(rest)
    learned = DoublyRobust().estimate(rest, probabilities_of(ucb, rest), predicted)
    assert found.rows[0].value == pytest.approx(log.reward.mean())
    for row, expected in zip(found.rows[1:], (estimate, learned), strict=True):
        assert row.value == pytest.approx(expected.value)
        assert (row.low, row.high) == pytest.approx(expected.interval(0.9))
    assert found.rows[1].truth == pytest.approx(log.expected_rewards.mean())


def test_gains_are_over_the_logged_policy_on_the_same_rows(log):
    found = evaluate(log, ["random", "ucb:c=1"], ["snips", "dr"])
    rest = log[600:]
    logged = estimate_logged(rest)
    first, *others = found.rows
    assert (first.policy, first.estimator, first.gain_rows) == ("logged", "mean", 0)
    assert (first.value, first.standard_error) == pytest.approx(
        (rest.reward.mean(), rest.reward.std(ddof=1) / math.sqrt(600))
    )
    assert first.truth == pytest.approx(rest.expected_rewards[np.arange(600), rest.action].mean())
    assert math.isnan(first.gain)
    ucb = learn_from_log(UCBPolicy(1.0, num_actions=3, batch_size=20), log[:600])
    predicted = RewardRegression().predict(rest)
    tables = (np.full((600, 3), 1 / 3), probabilities_of(ucb, rest))
    expected = [
        gain_over(estimator.estimate(rest, table, predicted), logged)
        for table in tables
        for estimator in (SelfNormalizedIPS(), DoublyRobust())
    ]
    for row, gain in zip(others, expected, strict=True):
        assert (row.gain, row.gain_standard_error) == pytest.approx(
            (gain.value, gain.standard_error)
        )
        assert (row.gain_low, row.gain_high) == pytest.approx(gain.interval())
        assert row.gain == pytest.approx(row.value - first.value)
        assert row.gain_rows == row.rows == 600


@pytest.mark.parametrize("all_rows", [False, True])
def test_gains_may_be_over_another_policy(log, all_rows):
    policies = {"uniform": "random", "UCB": "ucb:c=1", "learned": DirectMethodLearner()}
    options = {"baseline": "UCB", "all_rows": all_rows}
    found = evaluate(log, policies, DoublyRobust(), **options)
    logged, uniform, ucb, learned = found.rows
    assert (uniform.rows, logged.rows) == ((1200, 1200) if all_rows else (600, 600))
    rest = log[600:]
    predicted = RewardRegression().predict(rest)
    tables = (
        np.full((600, 3), 1 / 3),
        probabilities_of(
            learn_from_log(UCBPolicy(1.0, num_actions=3, batch_size=20), log[:600]), rest
        ),
        probabilities_of(DirectMethodLearner().fit(log[:600]), rest),
    )
    estimates = [DoublyRobust().estimate(rest, table, predicted) for table in tables]
    for row, estimate in ((uniform, estimates[0]), (learned, estimates[2])):
        gain = gain_over(estimate, estimates[1])
        assert (row.gain, row.gain_standard_error) == pytest.approx(
            (gain.value, gain.standard_error)
        )
        assert row.gain_rows == 600
    assert ucb.gain_rows == logged.gain_rows == 0
    assert math.isnan(ucb.p_value)


def test_what_rounding_alone_tells_apart_is_no_gain():
    rng = np.random.default_rng(0)
    rewards = rng.random(600)
    propensities = np.full(600, 0.9 / 8 + 0.1 / 8)
    for rounded in (propensities, np.nextafter(propensities, 1.0)):
        even = BanditLog(
            np.ones((600, 1)), rng.integers(8, size=600), rewards, rounded, num_actions=8
        )
        row = evaluate(even, "random", "ips").rows[1]
        assert (row.gain, row.gain_low, row.gain_high, row.p_value) == (0.0, 0.0, 0.0, 1.0)


def test_p_values_are_corrected_for_the_number_of_policies(log):
    texts = ["random", "constant:number=0", "constant:number=1"]
    found = evaluate(log, texts, ["ips", "snips"])
    for estimator in ("ips", "snips"):
        rows = [row for row in found.rows if row.estimator == estimator]
        alone = [evaluate(log, row.policy, estimator).rows[1].p_value for row in rows]
        assert [row.p_value for row in rows] == pytest.approx(holm(alone))


@pytest.mark.parametrize(
    ("kind", "backend", "is_over_learner"),
    [
        ("files", "threading", True),
        ("batches", "threading", False),
        *(
            pytest.param(kind, "threading", True, marks=pytest.mark.slow)
            for kind in ("log", "iterable")
        ),
        *(pytest.param(kind, "loky", False, marks=pytest.mark.slow) for kind in KINDS_OF_LOG),
    ],
)
def test_two_workers_find_what_one_process_finds(
    log, folder, monkeypatch, *, kind, backend, is_over_learner
):
    pytest.importorskip("joblib")
    monkeypatch.setattr("bandit_envs.evaluations.logs.BATCH_ROWS", 500)
    given = {
        "files": folder,
        "log": log,
        "batches": split_log(log),
        "iterable": Batches(split_log(log)),
    }[kind]
    found = evaluate_kinds(given, is_over_learner, workers=2, backend=backend)
    check_same_rows(found, evaluate_kinds(given, is_over_learner), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["dask", "ray"])
def test_a_cluster_finds_and_learns_what_one_process_does(folder, backend):
    pytest.importorskip({"dask": "distributed", "ray": "ray"}[backend])
    cluster = {"workers": 2, "backend": backend}
    policies = ["lin_ucb", DirectMethodLearner(), "thompson:prior_std=1"]
    found = evaluate(folder, policies, ["dr", "snips"], **cluster)
    check_same_rows(found, evaluate(folder, policies, ["dr", "snips"]), rel=1e-12)
    here, there = [
        learn(folder, "doubly_robust", **options).policy.get_state().content.learned.model
        for options in ({}, cluster)
    ]
    assert np.allclose(there, here, rtol=1e-12, atol=1e-12)


@for_each(
    ("policies", "options", "error", "message"),
    [
        ("thomson", {}, ValueError, "did you mean thompson"),
        (["random", "random"], {}, ValueError, "policy random is listed twice"),
        ([RandomPolicy(3), RandomPolicy(3)], {}, ValueError, "name policies by the keys of a dict"),
        ([], {}, ValueError, "policies is empty"),
        ([3], {}, TypeError, "policy is of type int; expected a Policy, a Learner"),
        ("nowhere.npz", {}, OSError, "nowhere.npz"),
        ("ips", {}, ValueError, "policy is 'ips', a learner; expected a file of a policy, which"),
        ("random", {"estimators": "ipw"}, ValueError, "did you mean ips"),
        ("random", {"estimators": []}, ValueError, "estimators is empty"),
        ("random", {"estimators": ["ips", "ips"]}, ValueError, "estimator ips is listed twice"),
        ("random", {"estimators": [3]}, TypeError, "estimator is of type int"),
        ("random", {"estimators": "ips:max_weight=-1"}, ValueError, "max_weight is -1"),
        (
            "random",
            {"baseline": "ucb"},
            ValueError,
            "baseline is 'ucb'; expected one of logged, ra",
        ),
        ("random", {"baseline": None}, TypeError, "baseline is None; expected the name"),
        ({"logged": "random"}, {}, ValueError, "policy logged has the name of the policy that"),
        ("random", {"confidence": 1.0}, ValueError, "confidence is 1"),
        ("random", {"train": 0.0}, ValueError, "train is 0; expected more"),
        ("random", {"train": 2.0}, ValueError, "train is 2"),
        ("random", {"until": "day"}, ValueError, "until is 'day'; expected COLUMN=VALUE"),
        ("random", {"train": None, "until": "day=3"}, ValueError, "train is None, and until is"),
        ("random", {"workers": 0}, ValueError, "workers is 0"),
    ],
)
def test_mistakes_are_told_before_the_log_is_read(policies, options, error, message):
    with pytest.raises(error, match=message):
        evaluate(Unread(), policies, **options)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (UCBPolicy, "the class UCBPolicy"),
        (probabilities_of, "of type function"),
        (3, "of type int"),
    ],
)
def test_one_wrong_policy_or_estimator_is_named_as_in_a_list(given, found):
    for kind, arguments in (("policy", [given]), ("estimator", ["random", given])):
        for several in (given, [given], {"mine": given}):
            with pytest.raises(TypeError, match=f"{kind} is {found}; expected an? "):
                evaluate(Unread(), *arguments[:-1], several)


def test_what_estimates_from_other_logs_is_no_estimator_here(log):
    with pytest.raises(TypeError, match="estimator is of type MarginalizedIPS; expected"):
        evaluate(Unread(), "random", MarginalizedIPS())
    for made in (KernelIPS(0.1), SlateStandardIPS()):
        with pytest.raises(ValueError, match="mine is not for actions that are single actions"):
            evaluate(log, "random", {"mine": made})


def test_the_default_estimator_is_dr_if_the_log_has_10_rows_an_action(log):
    found = evaluate(log, "random", train=None)
    assert [row.estimator for row in found.rows] == ["mean", "dr"]
    assert found.notes[-1].startswith("Estimated by dr, the default for this log; others, by")
    size = 10 * log.num_actions
    named = [row.estimator for row in evaluate(log[: size - 1], "random", train=None).rows]
    assert named == ["mean", "ips", "snips"]
    assert len(evaluate(log[:size], "random", train=None).rows) == 2
    assert evaluate(log, "random", "dr", train=None).notes == found.notes[:-1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"until": 25}, "until is 25; expected a text"),
        ({"observer": print}, "observer is of type builtin_function_or_method; expected a Log"),
        ({"observer": LogObserver}, "observer is the class LogObserver; expected a LogObserver"),
    ],
    ids=str,
)
def test_arguments_of_a_wrong_type_are_named(options, message):
    for do in (learn, lambda log, **given: evaluate(log, "random", **given)):
        with pytest.raises(TypeError, match=message):
            do(Unread(), **options)


def test_names_are_texts():
    with pytest.raises(TypeError, match="policies has the key 1; expected names"):
        evaluate(Unread(), {1: "random"})
    with pytest.raises(TypeError, match="estimators has the key 1; expected names"):
        evaluate(Unread(), "random", {1: "ips"})


@pytest.mark.parametrize("given", [None, 3, DirectMethodLearner])
def test_what_is_no_learner_is_refused(given):
    with pytest.raises(TypeError, match=r"learner is .*; expected a Learner, or a text"):
        learn(Unread(), given)


def test_objects_without_names_get_short_ones(log):
    learned = learn(log)
    assert repr(learned) == (
        "Learned(ContextualPolicy(LinearScores, Greedy), learner='doubly_robust', 600 of 1200 rows)"
    )
    policies = [learned.policy, UCBPolicy(1.0, num_actions=3)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it has learned from rows of the log
        found = evaluate(log, policies, "ips", train=None)
    assert [row.policy for row in found.rows] == [
        "logged",
        "ContextualPolicy(LinearScores, Greedy)",
        "UCBPolicy(c=1.0, num_actions=3, batch_size=1)",
    ]
    assert repr(found) == "Evaluation(policies=2, estimates=2, log_rows=1200)"


@for_each(
    ("given", "error", "message"),
    [
        (3, TypeError, "log is of type int; expected a BanditLog, its batches"),
        ([3], TypeError, "log is of type int; expected a BanditLog"),
        (iter([]), TypeError, "can be passed over once only"),
        ([], LogError, "the log has no rows"),
    ],
)
def test_what_is_no_log_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        evaluate(given, "random")


@for_each(
    ("policy", "options", "message"),
    [
        (RandomPolicy(2), {}, "policy mine: policy has 2 actions; expected 3"),
        ("random", {"train": 1.0}, "train is 1, so policies would learn from all 1200 rows"),
        ("random", {"until": "step=99"}, "until is step=99, so policies would learn from all"),
        ("random", {"until": "step=0"}, "until is step=0, but no row is below"),
        ("random", {"until": "hour=0"}, "the log has no column 'hour'"),
        ("ucb:c=1", {"train": 1e-9}, "policy mine: the log has 1200 rows, too few"),
        (DirectMethodLearner(), {"train": None}, "train is None, but mine learns"),
    ],
)
def test_what_does_not_fit_the_log_is_refused(log, policy, options, message):
    with pytest.raises(ValueError, match=message):
        evaluate(log, {"mine": policy}, **options)


def test_a_log_of_real_actions_is_refused():
    prices = BanditLog(np.ones((5, 1)), np.linspace(0.1, 0.5, 5), np.ones(5), np.ones(5), 0)
    with pytest.raises(ValueError, match="policy random: it chooses no numbers"):
        evaluate(prices, "random")
    with pytest.raises(ValueError, match="actions of the log are real numbers"):
        learn(prices)


class Notebook(LogObserver):
    """Writes down what it is told."""

    def __init__(self):
        self.passes = []

    def start_pass(self, text, rows):
        self.passes.append([text, rows, 0, False])

    def read_rows(self, rows):
        self.passes[-1][2] += rows

    def end_pass(self):
        self.passes[-1][3] = True


@pytest.mark.parametrize(
    ("options", "all_rows", "size"),
    [({}, True, 1200), ({"workers": 2, "backend": "threading"}, False, 684)],
    ids=str,
)
def test_an_observer_is_told_of_all_passes(folder, options, all_rows, size):
    if options:
        pytest.importorskip("joblib")
    options = {**options, "all_rows": all_rows}  # or the files that have common rows
    observer = Notebook()
    evaluate(folder, ["random", "ucb:c=1"], "dr", observer=observer, **options)
    assert observer.passes == [
        ["reading the log", 0, 1200, True],
        ["ucb:c=1 learns", 600, 600, True],
        *[[text, size, size, True] for text in ("predicting rewards", "evaluating policies")],
    ]


def test_an_observer_is_told_of_the_end_of_a_pass_that_fails(log):
    observer = Notebook()
    with pytest.raises(ValueError, match="policy has 2 actions"):
        evaluate(log, RandomPolicy(2), "ips", observer=observer)
    assert observer.passes[-1] == ["evaluating policies", 1200, 0, True]


def test_a_policy_that_is_given_stays_as_it_is(log):
    policy = UCBPolicy(1.0, num_actions=3, batch_size=20)
    found = evaluate(log, policy, "ips")
    (_, row) = found.rows
    (_, expected) = evaluate(log, "ucb:c=1", "ips").rows
    assert row == expected._replace(policy=repr(policy))
    learned = found.policies[repr(policy)]
    assert learned is not policy
    fresh = UCBPolicy(1.0, num_actions=3, batch_size=20)
    assert np.array_equal(probabilities_of(policy, log), probabilities_of(fresh, log))
    assert not np.array_equal(
        probabilities_of(learned, log[600:]), probabilities_of(fresh, log[600:])
    )


def test_a_learner_learns_from_the_first_rows(log):
    found = evaluate(log, [DirectMethodLearner()], "snips", train=0.25)
    policy = DirectMethodLearner().fit(log[:300])
    estimate = SelfNormalizedIPS().estimate(log[300:], probabilities_of(policy, log[300:]))
    (_, row) = found.rows
    assert (row.policy, row.rows) == ("DirectMethodLearner", 900)
    assert row.value == pytest.approx(estimate.value)
    assert found.notes == [
        "Learned from the first 300 rows, and frozen then: DirectMethodLearner.",
        "All policies are evaluated on the other 900 of 1200 rows, "
        "from which no policy has learned.",
    ]


def test_a_policy_in_a_file_with_other_actions_than_the_log_is_refused(log, tmp_path):
    file = tmp_path / "policy.npz"
    other = BanditLog(log.observation, log.action, log.reward, log.propensity, 7)
    write_policy(file, DirectMethodLearner().fit(other))
    with pytest.raises(ValueError, match="policy has 7 actions; expected 3, as the log"):
        evaluate(log, file, "ips")


def test_a_policy_in_a_file_is_evaluated_on_the_rows_that_it_has_not_seen(log, tmp_path):
    file = tmp_path / "policy.npz"
    policy = DirectMethodLearner().fit(log[:500])
    write_policy(file, policy, log[:500])
    given = {"file": file, "read": read_policy(file), "beside": "random"}
    found = evaluate(split_log(log), given, "ips")
    assert [row.rows for row in found.rows] == [700] * 4
    found = evaluate(split_log(log), given, "ips", all_rows=True)
    assert [row.rows for row in found.rows] == [1200, 700, 700, 1200]
    write_policy(file, policy)
    found = evaluate(log, file, "ips")
    assert "has learned from a log that is not known" in found.rows[1].warnings
    found = evaluate(log[1:], given["read"], "ips")
    assert "has learned from another log" in found.rows[1].warnings


@pytest.mark.parametrize("rows", [{"train": 0.25}, {"until": "step=3"}])
def test_rows_that_are_left_to_learning_are_left_out_of_all_estimates(log, tmp_path, rows):
    file = tmp_path / "policy.npz"
    write_policy(file, DirectMethodLearner().fit(log[:500]), log[:500])
    later = dataclasses.replace(log, step=np.arange(len(log)) // 100, action=log.action[::-1])
    for policies in ("random", [file], ["random", file]):
        found = evaluate(later, policies, "ips", **rows)
        assert {row.rows for row in found.rows} == {900}
        assert "on the last 900 of 1200 rows; others are left to learning" in found.notes[0]
    assert {row.rows for row in evaluate(later, "random", "ips").rows} == {1200}
    with pytest.raises(ValueError, match="no policy learns from the first 300 rows"):
        evaluate(later, "random", "ips", all_rows=True, **rows)


@pytest.mark.parametrize(("learned_in", "evaluated_in"), [(1, 1), (1, 7), (4, 1)])
def test_a_policy_that_has_learned_from_rows_of_the_log_is_warned_of(log, learned_in, evaluated_in):
    policy = DirectMethodLearner().fit_batches(split_log(log[:600], learned_in))
    with pytest.warns(UserWarning, match="has learned from rows of this log") as caught:
        evaluate(split_log(log, evaluated_in), policy, "ips")
    assert [each.filename for each in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate(split_log(log[600:], evaluated_in), policy, "ips")


def test_a_policy_that_learns_on_the_way_is_not_warned_of():
    alike = BanditLog(np.ones((900, 1)), [0, 1, 1] * 300, [1, 0, 1] * 300, [0.5] * 900)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = evaluate(alike, ["ucb:c=1", DirectMethodLearner()], "ips")
    assert [row.rows for row in found.rows] == [450, 450, 450]


def test_a_policy_is_not_warned_of_if_others_leave_its_rows_out(log):
    policy = DirectMethodLearner().fit_batches(split_log(log[:600], 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate(log, [policy, "ucb:c=1"], "ips")
    for options in ({"train": 0.25}, {"all_rows": True}):
        with pytest.warns(UserWarning, match="has learned from rows of this log"):
            evaluate(log, [policy, "ucb:c=1"], "ips", **options)


@pytest.mark.parametrize("cut", [lambda log: log, split_log], ids=["log", "batches"])
def test_a_log_in_memory_is_cut_at_a_step(log, cut):
    found = evaluate(cut(log), "ucb:c=1", "ips", until="step=15")
    assert [row.rows for row in found.rows] == [900, 900]


def test_a_table_is_one_problem_and_large_batches_are_cut(table, monkeypatch):
    policy = LinUCBPolicy(num_actions=3, observation_spec=CONTEXT)
    expected = evaluate(table, {"lin_ucb": policy}, "snips")
    monkeypatch.setattr("bandit_envs.evaluations.logs.BATCH_NUMBERS", 99)
    found = evaluate(table, {"lin_ucb": policy}, "snips")
    check_same_rows(found, expected, rel=1e-12)
    learned = learn_from_log(policy, table[:600])
    estimate = SelfNormalizedIPS().estimate(table[600:], probabilities_of(learned, table[600:]))
    assert found.rows[1].value == pytest.approx(estimate.value)
    assert all(math.isnan(row.truth) for row in found.rows)


def test_features_that_a_policy_has_not_learned_from_are_refused(table, tmp_path):
    pytest.importorskip("pandas")
    values = np.column_stack([table.observation, table.action, table.reward, table.propensity])
    header = "x,y,action,reward,propensity"
    np.savetxt(tmp_path / "a.csv", values, "%g", ",", header=header, comments="")
    write_policy(tmp_path / "p.npz", DirectMethodLearner().fit(table), features=["x", "y"])
    found = evaluate(scan_log(tmp_path / "a.csv", features=["x", "y"]), tmp_path / "p.npz")
    assert found.summary.size == 1200
    with pytest.raises(ValueError, match="features is y,x; expected x,y, from which"):
        evaluate(scan_log(tmp_path / "a.csv", features=["y", "x"]), tmp_path / "p.npz")


def test_the_frame_has_the_columns_of_the_file(log):
    pandas = pytest.importorskip("pandas")
    found = evaluate(log, ["random", "ucb:c=1"], [InversePropensityScoring(), "dr"])
    frame = found.estimates
    assert isinstance(frame, pandas.DataFrame)
    assert tuple(frame.columns) == EstimateRow._fields
    assert frame["value"].tolist() == [row.value for row in found.rows]
    assert frame["estimator"].tolist()[:3] == ["mean", repr(InversePropensityScoring()), "dr"]
    assert frame["truth"].dtype == float


def test_figures_show_the_estimates_and_the_weights(log, monkeypatch):
    figure = pytest.importorskip("matplotlib.figure")
    monkeypatch.undo()  # so that figures are drawn
    found = evaluate(log, ["random", "ucb:c=1"], ["ips", "dr"])
    estimates = found.plot()
    assert isinstance(estimates, figure.Figure)
    for axis, name in zip(estimates.axes, ("value", "gain"), strict=True):
        dots = {float(x) for container in axis.containers for x in container[0].get_xdata()}
        assert dots == {getattr(row, name) for row in found.rows[1:]}
    assert len(found.plot_weights().axes) == 2


def test_cells_of_users_are_no_formulas(log, tmp_path):
    pytest.importorskip("matplotlib")
    evaluate(log, {"=1+1": "random"}, {"=2+2": "ips"}).write(tmp_path)
    (_, _, row) = (tmp_path / "estimates.csv").read_text().splitlines()
    assert row.startswith("'=1+1,'=2+2,")


@pytest.mark.parametrize(
    ("missing", "do"),
    [
        ("matplotlib", lambda log, _: evaluate(log, "random").plot()),
        ("matplotlib", lambda log, _: evaluate(log, "random").plot_weights()),
        ("matplotlib", lambda log, path: evaluate(log, "random").write(path)),
        ("joblib", lambda log, _: evaluate(log, "random", workers=2)),
        ("joblib", lambda log, _: learn(log, workers=2)),
        ("distributed", lambda log, _: evaluate(log, "random", backend="dask")),
        ("ray", lambda log, _: evaluate(log, "random", backend="ray")),
    ],
)
def test_a_missing_library_names_its_extra(log, tmp_path, monkeypatch, missing, do):
    extra = {"distributed": "dask", "ray": "ray"}.get(missing, "cli")
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ModuleNotFoundError, match=rf"{missing} is not installed; .*\[{extra}\]"):
        do(log, tmp_path / "found")
    assert not (tmp_path / "found").exists()


@for_each("backend", ["x", "multiprocessing", "sequential", None])
def test_other_backends_are_refused_before_the_log_is_read(backend):
    message = f"backend is {backend!r}; expected loky, threading, dask or ray"
    with pytest.raises(ValueError, match=message):
        evaluate(Unread(), "random", backend=backend)
    with pytest.raises(ValueError, match=message):
        learn(Unread(), backend=backend)


@pytest.mark.slow
def test_threads_take_a_policy_that_cannot_be_pickled(log):
    pytest.importorskip("joblib")
    policy = UCBPolicy(1.0, num_actions=3)
    policy.hint = lambda: None
    with pytest.raises(ValueError, match="workers cannot be sent a policy"):
        evaluate(split_log(log), policy, "ips", workers=2)
    by_threads = evaluate(split_log(log), policy, "ips", workers=2, backend="threading")
    check_same_rows(by_threads, evaluate(log, policy, "ips"), rel=1e-12)


class FailingPolicy(RandomPolicy):
    def _probabilities(self, learned, time_step):
        raise RuntimeError("boom")


@dataclasses.dataclass(frozen=True)
class FailingModel(Ridge):
    def means(self, learned, inputs):
        raise RuntimeError("boom")


@pytest.mark.parametrize("options", [{}, {"workers": 2, "backend": "threading"}], ids=str)
@pytest.mark.parametrize(
    "policy",
    [
        FailingPolicy(3),
        ContextualPolicy(FailingModel(), Greedy(), observation_spec=CONTEXT, num_actions=3),
    ],
    ids=["policy", "model"],
)
def test_an_error_of_a_policy_in_a_pass_names_the_policy(log, policy, options):
    if options:
        pytest.importorskip("joblib")
    with pytest.raises(ValueError, match=r"^policy mine: RuntimeError: boom \(.*test_evaluate"):
        evaluate(log, {"mine": policy}, "ips", train=None, **options)
