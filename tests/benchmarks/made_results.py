"""Folders of results, made without running their studies."""

from bandit_envs.metrics import MetricResult, Statistics, kept_steps
from bandit_envs.studies import Study
from bandit_envs.studies.results.results import Results
from bandit_envs.studies.running.workers import WorkerFile


def many_policies(environments, policies):
    """A study of 1,000 steps of so many environments and policies."""
    return Study.from_dict(
        {
            "title": "Many policies",
            "environment": [{"name": "testbed", "k": list(range(2, 2 + environments))}],
            "policy": [
                {
                    "name": "epsilon_greedy",
                    "epsilon": [place / policies for place in range(policies)],
                }
            ],
            "runs": 2,
            "steps": 1000,
        }
    )


def write_results(folder, study, rng):
    """Writes results of all tasks of a study, as its workers do; they are drawn by chance."""
    results = Results(folder, study)
    with results.lock(), WorkerFile(results.files.path, results.files.digest) as file:
        for task in study.tasks():
            values = rng.normal(size=(task.runs, task.steps))
            sums = values.cumsum(axis=1)
            found = MetricResult(
                Statistics.from_values(values),
                Statistics.from_values(sums),
                sums[:, -1],
                kept_steps(task.steps),
            )
            file.save(task, dict.fromkeys(task.metrics, found))
    return results
