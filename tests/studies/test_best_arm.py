"""Studies of policies that look for the best action."""

import importlib

import numpy as np
import pytest

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("matplotlib")
pytest.importorskip("pandas")

from bandit_envs.metrics import Statistics
from bandit_envs.studies import run
from bandit_envs.studies.definition.study import Study

VALUES = {
    "title": "Budgets",
    "environment": ["bernoulli:means=[0.5,0.4,0.3]"],
    "policy": ["uniform_allocation:budget=6", "uniform_allocation:budget=30"],
    "runs": 400,
    "steps": 50,
    "metrics": ["simple_regret", "error", "stopping_time", "stopped"],
    "panels": ["error", "stopped", "stopping_time", "simple_regret"],
}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    return run(Study.from_dict(VALUES), tmp_path_factory.mktemp("best_arm"))


def test_tables_have_errors_with_wilsons_interval_and_steps_with_quantiles(loaded):
    for row, runs in zip(loaded.summary.itertuples(), loaded.runs.groupby("policy", sort=False)):
        errors = runs[1].error.to_numpy()
        assert row.error == pytest.approx(errors.mean())
        interval = Statistics.from_values(errors).wilson_interval()
        np.testing.assert_allclose([row.error_low, row.error_high], interval, rtol=1e-9)
        budget = 6 if "=6" in row.policy else 30
        assert row.stopping_time == row.stopping_time_q05 == row.stopping_time_q95 == budget
        assert row.stopped == 100.0


def test_a_longer_study_of_rows_that_have_stopped_finds_the_same(loaded, tmp_path):
    longer = run(Study.from_dict({**VALUES, "steps": 90}), tmp_path)
    shown = [name for name in loaded.summary if name != "step"]
    importlib.import_module("pandas").testing.assert_frame_equal(
        longer.summary[shown], loaded.summary[shown]
    )
    assert len(longer.curves) == 2 * 90


def test_the_figure_shows_all_four(loaded):
    labels = [axis.get_ylabel() for axis in loaded.plot().axes]
    assert labels == ["Probability of error", "% Stopped", "Steps until the stop", "Simple regret"]


def test_other_metrics_are_those_of_all_steps_with_the_recommended_action_at_the_end(tmp_path):
    values = {**VALUES, "metrics": ["percent_optimal", "error"], "panels": ["error"]}
    summary = run(Study.from_dict(values), tmp_path).summary
    np.testing.assert_allclose(summary.percent_optimal, 100.0 * (1.0 - summary.error))


def test_a_policy_that_recommends_nothing_has_no_errors():
    with pytest.raises(ValueError, match="UCBPolicy recommends no action"):
        Study.from_dict({**VALUES, "policy": ["ucb:c=1"]})
    mixed = {**VALUES, "policy": ["uniform_allocation:budget=6", "ucb:c=1"], "panels": ["reward"]}
    del mixed["metrics"]
    assert Study.from_dict(mixed).metrics == ("reward", "percent_optimal", "regret")


@pytest.mark.slow
def test_a_study_shows_the_bias_at_the_stop_and_how_often_intervals_hold(tmp_path):
    values = {
        **VALUES,
        "environment": ["bernoulli:means=[0.8,0.5,0.2]"],
        "policy": ["track_and_stop:delta=0.1"],
        "steps": 1000,  # all runs have stopped by then
        "metrics": ["bias", "coverage"],
        "panels": ["coverage"],
    }
    found = run(Study.from_dict(values), tmp_path)
    (row,) = found.summary.itertuples()
    assert row.bias > 0.01
    assert row.coverage > 95.0
    assert [axis.get_ylabel() for axis in found.plot().axes] == ["% Intervals hold"]
