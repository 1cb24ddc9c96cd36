"""How a study runs: its tasks, the workers that run them, and what restarts from where."""

from bandit_envs.studies.running.run import TasksFailedError, run

__all__ = [
    "TasksFailedError",
    "run",
]
