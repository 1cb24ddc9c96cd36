"""A policy whose rows share a model has one for each run where each run is a problem of its own."""

import json

import numpy as np
import pytest

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")

from bandit_envs.policies import RowByRowPolicy
from bandit_envs.studies import load, run
from bandit_envs.studies.definition.rows_in_turn import (
    describe_row_by_row,
    find_row_by_row,
    read_row_by_row,
)
from bandit_envs.studies.running.tasks import make_pair, run_task
from bandit_envs.testing import assert_identical
from tests import command_line
from tests.cases import for_each
from tests.studies.test_study import study

SHARED = "tests.policies.shared:SharedAverages"
NEWS = "tests.studies.mine:OwnNews"
USERS = "logistic_context:num_actions=3,context_dim=3,batch_size=4"


def regrets(environment, policy, runs, steps, seed=0):
    """Returns the regret of each run."""
    one = study([environment], [policy], runs=runs, steps=steps, seed=seed, quantiles=[0.1, 0.9])
    return np.concatenate([run_task(task)["regret"].curves[-1] for task in one.tasks()])


def assert_same_means(left, right):
    """Requires the means of independent runs to be the same within errors."""
    error = np.sqrt(left.var() / len(left) + right.var() / len(right))
    assert abs(left.mean() - right.mean()) < 3.0 * error


@pytest.mark.parametrize("policy", ["linear_epsilon_greedy", SHARED])
def test_a_policy_whose_rows_share_a_model_has_the_regret_of_its_twin_that_learns_by_row(policy):
    by_row = regrets("testbed:k=5", "epsilon_greedy:epsilon=0.1", 30, 80)
    assert_same_means(regrets("testbed:k=5", f"{policy}:epsilon=0.1", 30, 80), by_row)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["lin_ucb:alpha=1", "tests.policies.shared:SharedWeights"])
def test_a_policy_learns_the_weights_of_each_row_as_it_learns_them_alone(policy):
    together = regrets(NEWS, policy, 10, 100)
    alone = np.concatenate([regrets(NEWS, policy, 1, 100, seed) for seed in range(1, 11)])
    assert_same_means(together, alone)
    assert together.mean() < 0.5 * regrets(NEWS, "random", 10, 100).mean()


def test_all_policies_meet_the_same_problems():
    one = study(["testbed:k=4"], [SHARED, "ucb:c=2"], runs=6)
    shared, by_row = one.tasks()
    env, policy = make_pair(shared, 0, 6)
    assert isinstance(policy, RowByRowPolicy)
    assert_identical(env.get_state(), make_pair(by_row, 0, 6)[0].get_state())


def test_runs_repeat_and_are_not_alike():
    first = regrets("testbed:k=4", SHARED, 8, 40)
    assert_identical(regrets("testbed:k=4", SHARED, 8, 40), first)
    assert len(np.unique(first)) > 6


def test_each_run_has_a_seed_of_its_own():
    (task,) = study(["testbed:k=4"], ["tests.policies.shared:Preferring"], runs=20).tasks()
    _, policy = make_pair(task, 0, 20)
    assert len({each["first"] for each in policy.get_state().content.learned}) > 15


@pytest.mark.parametrize(
    ("environments", "values", "line"),
    [
        (["testbed:k=4"], {}, "A model for each run, of its own problem: SharedAverages"),
        (["testbed:k=4", USERS], {}, "of its own problem: SharedAverages, k-armed testbed, k=4"),
        (["testbed:k=4"], {"runs": 1}, None),
        ([USERS], {}, None),
    ],
)
def test_a_line_says_which_policies_have_a_model_for_each_run(environments, values, line):
    one = study(environments, ["ucb:c=2", SHARED], **{"runs": 4, **values})
    found = describe_row_by_row(one, find_row_by_row(one))
    assert found == "" if line is None else line in found


def test_arrays_that_runs_would_share_are_refused_with_the_line_of_their_class():
    message = r"policy tests\.policies\.shared:Unsaid in .*Unsaid.learns_by_row is True.*shared\.py"
    with pytest.raises(ValueError, match=message):
        study(["testbed:k=4"], ["tests.policies.shared:Unsaid"], runs=4)


@for_each("value", [None, 3, [1, "a"], [["testbed:k=4"]], [["testbed:k=4", 2]]])
def test_what_is_no_pair_in_a_file_is_left_out(value):
    assert read_row_by_row(value) == []


def test_the_command_and_pages_say_it(tmp_path):
    code, out, _ = command_line.run(
        *("run", "testbed:k=3", "--policy", SHARED, "--policy", "greedy"),
        *("--runs", "3", "--steps", "5", "--workers", "1", "--output", tmp_path),
    )
    line = "A model for each run, of its own problem: SharedAverages"
    assert code == 0
    assert line in out
    assert line in command_line.run("report", tmp_path).out
    assert load(tmp_path).notes == [line]
    load(tmp_path).write_page(tmp_path / "page.html")
    assert line in (tmp_path / "page.html").read_text("utf-8")


def test_a_wrapper_that_does_not_tell_of_its_independent_rows_is_refused_before_anything_runs():
    silent = "tests.studies.mine:Silent:batch_size=3"
    study([silent], ["ucb:c=2"])
    message = r"SharedAverages.learns_by_row is False.*independent_rows is True"
    with pytest.raises(ValueError, match=message):
        study([silent], [SHARED])


@pytest.mark.slow
def test_two_workers_find_what_one_finds(tmp_path):
    one = study(["testbed:k=3"], [SHARED, "greedy"], runs=8, steps=20)
    found = [run(one, tmp_path / str(workers), workers=workers) for workers in (1, 2)]
    tables = [(each.folder / "runs.csv").read_bytes() for each in found if not each.write_tables()]
    assert tables[0] == tables[1]
    assert json.loads((tmp_path / "1" / "config.json").read_text())["study"]["policy"][0] == SHARED
