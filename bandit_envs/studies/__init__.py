"""Studies: many runs of policies in environments, their results on disk, tables and figures.

Experimental: these names may change in any minor version.

`Study` says what is run, `run` runs it, and `load` returns what has finished: a `LoadedStudy` has
tables, differences between policies, and figures. The command `bandit-envs` uses the same.

A study file becomes a `Study` (`definition.study`). `running.run` sends its tasks in bundles to
workers (`running.workers`), which run them (`running.tasks`) and append what they find to files
(`results.records`). `results.results` merges these, and `showing.study_figures` draws them.

>>> from bandit_envs.studies import Study
>>> values = {"title": "Optimism", "runs": 20, "steps": 50}
>>> choices = {"environment": ["testbed:k=5"], "policy": ["greedy", "ucb:c=1"]}
>>> Study.from_dict({**values, **choices}).num_tasks
2
"""

from bandit_envs.studies.definition import Study
from bandit_envs.studies.loaded import LoadedStudy, load
from bandit_envs.studies.running import TasksFailedError, run

__all__ = [
    "LoadedStudy",
    "Study",
    "TasksFailedError",
    "load",
    "run",
]
