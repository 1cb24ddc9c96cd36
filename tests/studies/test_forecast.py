"""What a dry run says of time and room, before a study runs."""

import numpy as np
import pytest

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("threadpoolctl")

from bandit_envs.studies import Study
from bandit_envs.studies.running import forecast as forecasts
from bandit_envs.studies.running.forecast import Cost, forecast
from bandit_envs.studies.running.tasks import run_task

VALUES = {
    "title": "Greed and optimism",
    "runs": 20,
    "steps": 60,
    "environment": ["testbed:k=3", "testbed:k=5"],
    "policy": ["greedy", "ucb:c=1"],
}


def study(**values):
    return Study.from_dict({**VALUES, **values})


def test_a_forecast_has_the_seconds_of_each_task_and_the_bytes_of_all():
    one = study(runs=4000, steps=50)
    tasks = list(one.tasks())
    found = forecast(one, tasks, seconds=0.05)
    assert found.seconds.shape == (len(tasks),)
    assert (found.seconds > 0.0).all()
    per_task = 3 * (4 * 50 + 2000) * 8  # metrics, statistics of steps, and totals of runs
    assert found.disk == len(tasks) * per_task
    assert found.memory == 0 or found.memory > 10**7


@pytest.mark.slow
def test_a_policy_that_takes_longer_is_forecast_to_take_longer():
    one = study(
        environment=["per_arm:batch_size=1"],
        policy=["random", "lin_ucb"],
        panels=["reward"],
        runs=2,
        steps=3000,
    )
    tasks = list(one.tasks())
    seconds = forecast(one, tasks, seconds=0.3).seconds
    of_policy = {str(task.policy): second for task, second in zip(tasks, seconds)}
    assert of_policy["lin_ucb"] > 1.5 * of_policy["random"]


def test_policies_that_are_not_tried_cost_as_those_of_their_name(monkeypatch):
    monkeypatch.setattr(forecasts, "MOST", 2)
    tried = []

    def note(task, seconds):
        tried.append(task.position)
        return Cost(0.0, 1.0 + task.position)

    monkeypatch.setattr(forecasts, "_try", note)
    one = study(policy=["greedy", "ucb:c=1", "ucb:c=2"], runs=1)
    tasks = list(one.tasks())
    seconds = forecast(one, tasks, seconds=1.0).seconds / one.steps
    assert tried == [0, 5]
    np.testing.assert_allclose(seconds, [1.0, 6.0, 6.0, 1.0, 6.0, 6.0])


def test_a_task_whose_rows_share_a_problem_costs_as_much_as_its_batches():
    one = study(environment=["per_arm:batch_size=2"], policy=["lin_ucb"], runs=128, panels=[])
    task = next(iter(one.tasks()))
    assert Cost(0.5, 0.25).of(task) == task.batches * (0.5 + 60 * 0.25) == 2 * 15.5


def test_a_policy_that_fails_is_named():
    module = "tests.studies.mine"
    one = study(
        environment=[f"{module}:Bernoulli:means=[0,1]"],
        policy=[f"{module}:Stumbling:action=1"],
        panels=["reward"],
    )
    with pytest.raises(ValueError, match=r"Stumbling:action=1 in .* no luck"):
        forecast(one, list(one.tasks()), seconds=0.1)


def test_a_trial_leaves_the_results_of_tasks_as_they_are():
    one = study()
    task = next(iter(one.tasks()))
    before = run_task(task)
    forecast(one, list(one.tasks()), seconds=0.05)
    after = run_task(task)
    for name, found in before.items():
        np.testing.assert_array_equal(found.totals, after[name].totals)
