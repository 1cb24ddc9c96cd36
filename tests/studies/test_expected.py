"""Expected values of a study are held against what was measured."""

import sys

import numpy as np
import pytest

pytest.importorskip("joblib")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")
pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")

from bandit_envs.metrics import MetricResult, Statistics
from bandit_envs.studies.results.expected import check_expected_values, compare_with_expected
from bandit_envs.studies.results.results import PairResult
from bandit_envs.studies.running.tasks import run_task
from tests.cases import for_each
from tests.command_line import rows, run, sweep
from tests.studies.test_study import study

TWO = ("greedy", "ucb:c=2")


def statistics(*values):
    return Statistics.from_values(np.array(values, float)[:, np.newaxis] * np.ones(3))


def compared(*expected, measured=((9.0, 11.0), (19.0, 21.0)), **values):
    """Compares with policies of these rewards in each of three steps; standard errors are 1."""
    one = study(policies=TWO, steps=3, expected=[{"source": "exact", **e} for e in expected])
    check_expected_values(one)
    pairs = []
    for (environment, policy), rewards in zip(one.pairs(), measured):
        sums = statistics(*np.cumsum(rewards))
        result = MetricResult(statistics(*rewards), sums, (), np.array([1, 2]))
        pairs.append(PairResult(environment, policy, len(rewards), {"reward": result}))
    return compare_with_expected(one, pairs)


def verdicts(*expected, **values):
    return [row.verdict for row in compared(*expected, **values)]


@for_each(
    ("expected", "verdict"),
    [
        ({"value": 10}, "met"),
        ({"value": 14}, "met"),
        ({"value": 14.1}, "missed"),
        ({"value": 5.9}, "missed"),
        ({"value": 14.1, "tolerance": 0.2}, "met"),
        ({"value": 15, "standard_error": 1}, "met"),
        ({"value": 16, "standard_error": 1}, "missed"),
        ({"value": 15, "standard_deviation": 2}, "met"),
        ({"value": 15, "standard_deviation": 1}, "missed"),
        ({"at_most": 6}, "met"),
        ({"at_most": 5.9}, "missed"),
        ({"value": 10, "step": 1}, "met"),
        ({"value": 10, "step": 4}, "not measured"),
        ({"value": 10, "metric": "regret"}, "not measured"),
    ],
)
def test_a_mean_may_be_off_by_the_tolerance_and_four_standard_errors(expected, verdict):
    assert verdicts({"policy": "greedy", "metric": "reward", **expected}) == [verdict]


def test_rounding_misses_no_value_and_makes_no_order():
    above = 0.3 + 1e-15
    one = {"policy": "greedy", "metric": "reward"}
    measured = [(0.3, 0.3), (above, above)]
    assert verdicts({**one, "at_most": 0.3}, measured=measured[::-1]) == ["met"]
    assert verdicts({**one, "value": 0.3}, measured=measured[::-1]) == ["met"]
    assert verdicts({**one, "policy": [*TWO]}, measured=measured) == ["undecided"]
    assert verdicts({**one, "policy": [*TWO]}, measured=measured[::-1]) == ["undecided"]


def test_a_mean_may_be_of_the_last_steps_only():
    item = {"policy": "greedy", "metric": "reward", "source": "exact", "since": 1, "value": 4.0}
    one = study(policies=["greedy"], runs=4, steps=3, expected=[item])
    assert one.kept == (1, 3)
    (task,) = (task for task in one.tasks() if task.block == 0)
    result = run_task(task)
    first, last = result["reward"].curves
    lasting = Statistics.from_values((last - first) / 2.0)
    (row,) = compare_with_expected(
        one, [PairResult(task.environment, task.policy, task.runs, result)]
    )
    assert row.metric == "reward after 1"
    mean, error = map(float, row.measured.split(" ±"))
    assert mean == pytest.approx(float(lasting.mean), abs=error / 10)
    assert error == pytest.approx(float(lasting.standard_error), rel=0.05)


@for_each("since", [0, 3])
def test_the_last_steps_are_steps_of_the_study(since):
    item = {"policy": "greedy", "metric": "reward", "source": "exact", "since": since, "value": 4}
    one = study(policies=["greedy"], steps=3, expected=[item])
    with pytest.raises(ValueError, match="expected: since"):
        next(one.tasks())


def test_a_sum_over_steps_is_not_one_of_the_last_steps():
    with pytest.raises(ValueError, match="expected: metric"):
        compared({"policy": "greedy", "metric": "cumulative_regret", "since": 1, "value": 4})


def test_an_order_is_that_of_the_means():
    expected = {"policy": [*TWO], "metric": "reward"}
    for second, verdict in ((20, "met"), (9, "undecided"), (4, "missed")):
        assert verdicts(expected, measured=[(9, 11), (second - 1, second + 1)]) == [verdict]


def test_what_was_measured_is_shown_with_the_standard_errors_that_decide():
    one = {"policy": "greedy", "metric": "reward", "value": 10}
    (row,) = compared(one)
    assert row.measured == "10.0 ±1.0"
    (row,) = compared(one | {"standard_deviation": 3})
    assert row.measured == "10.0 ±2.1 (given)"
    (row,) = compared(one | {"standard_error": 1234, "value": 98765})
    assert row.expected == "98800 ±1200"
    (row,) = compared({"policy": [*TWO], "metric": "reward"})
    assert row.measured == "10.0 ±1.0 < 20.0 ±1.0"


def test_a_standard_error_of_0_is_shown():
    one = {"policy": "greedy", "metric": "reward", "value": 10}
    (row,) = compared(one, measured=[(10.0, 10.0)])
    assert row.measured == "10 ±0.0"


def test_what_has_not_run_is_not_measured():
    expected = {"policy": "ucb:c=2", "metric": "reward", "value": 20}
    assert verdicts(expected, measured=[(9.0, 11.0)]) == ["not measured"]


@for_each(
    ("change", "message"),
    [
        ({"policy": "thompson"}, "thompson"),
        ({"policy": [*TWO]}, "policy"),
        ({"environment": "wheel"}, "environment is 'wheel'"),
        ({"metric": "loss"}, "metric is 'loss'"),
        ({"source": "hearsay"}, "source is 'hearsay'"),
        ({"source": "published in a book"}, "source is 'published in a book'"),
        ({"value": "1"}, "value is '1'"),
        ({"at_most": 1}, "one value"),
        ({"worth": 1}, "unknown key 'worth'; expected metric, source"),
    ],
)
def test_an_expectation_that_does_not_fit_is_refused(change, message):
    with pytest.raises((TypeError, ValueError), match=message):
        verdicts({"policy": "greedy", "metric": "reward", "value": 1, **change})


STUDY = """
title = "A coin"
runs = 400
steps = 5
policy = ["random"]
environment = ["bernoulli:means=[0.2,0.6]"]
expected = [
  { policy = "random", metric = "mean_reward", value = VALUE, source = "exact" },
]
"""


@pytest.mark.parametrize(("value", "verdict", "code"), [(0.4, "met", 0), (0.6, "missed", 1)])
def test_a_sweep_prints_and_writes_the_comparison(tmp_path, value, verdict, code):
    outcome = sweep(tmp_path, STUDY.replace("VALUE", str(value)))
    assert outcome.code == code
    assert verdict in outcome.out
    (row,) = rows(tmp_path / "results" / "comparison.csv")
    assert (row["expected"], row["verdict"]) == (str(value), verdict)
    assert run("report", tmp_path / "results").out == outcome.out


def test_one_run_decides_nothing():
    for expected in ({"policy": "greedy", "value": 30}, {"policy": list(TWO)}):
        assert verdicts({"metric": "reward", **expected}, measured=((9.0,), (19.0,))) == [
            "undecided"
        ]
