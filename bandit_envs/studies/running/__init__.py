"""How a study runs: its tasks, the workers that run them, and what restarts from where."""

from bandit_envs.studies.running.run import RunObserver, TasksFailedError, run

__all__ = [
    "RunObserver",
    "TasksFailedError",
    "run",
]
