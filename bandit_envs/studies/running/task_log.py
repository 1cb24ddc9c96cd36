"""Writes the log of a task's runs, for off-policy evaluation."""

from pathlib import Path

from bandit_envs.drivers import StepDriver
from bandit_envs.logged import LogRecorder, scan_log, write_log
from bandit_envs.logged.files.log_files import WRITTEN_SUFFIXES, check_suffix
from bandit_envs.logged.recorder import remove_parts
from bandit_envs.logged.summary import LogSummary
from bandit_envs.names.users_code import name_in_errors
from bandit_envs.studies.definition.study import RUNS_PER_TASK
from bandit_envs.studies.definition.task import Task
from bandit_envs.studies.running.tasks import make_pair
from bandit_envs.wrappers.delays import max_delay_of

KNOW_MEANS = {"regret", "one_step_regret"}
"""Metrics of environments that know the means of their actions, which a log then has."""


def write_task_log(tasks: list[Task], path: Path) -> LogSummary:
    """Makes the log of the only task of a study, and returns what it holds.

    A path without a suffix is a folder, to which parts of the log are written while the task runs.
    So a log of any length takes little memory. A log that is in the folder is replaced.

    Raises:
        ValueError: there are several tasks, slates or delayed rewards, or the policy does not know
            the probabilities of its actions.
    """
    task = tasks[0]
    subject = f"policy {task.policy} in environment {task.environment}"
    with name_in_errors(subject, *task.modules):
        env, policy = make_pair(task, task.block, task.runs)
    if env.action_kind.is_slate or max_delay_of(env.observation_spec()) > 0:
        raise ValueError(f"--record takes no slates or delayed rewards, as {task.environment} has")
    if len(tasks) > 1 or task.batches > 1:
        most = f"{RUNS_PER_TASK}, or 1 where rows share a problem"
        raise ValueError(f"--record takes one policy, and --runs of at most {most}")
    if not policy.knows_probabilities:
        text = f"policy {task.policy} does not know the probabilities of its actions"
        raise ValueError(f"{text}, which a log needs; expected another policy")
    is_folder = path.suffix == ""
    if is_folder:
        remove_parts(path)
    else:
        check_suffix(path, WRITTEN_SUFFIXES)
    has_table = not KNOW_MEANS.isdisjoint(task.metrics) and policy.action_kind.is_single
    recorder = LogRecorder(
        env=env if has_table else None,
        folder=path if is_folder else None,
        action_kind=policy.action_kind,
    )
    observers = (policy, recorder)
    driver = StepDriver(env, policy, observers, task.steps, emit_log_probability=True)
    with name_in_errors(subject, *task.modules):
        driver.run()
    if is_folder:
        recorder.flush()
        return LogSummary.from_batches(scan_log(path))
    log = recorder.log()
    write_log(path, log)
    return LogSummary.from_batches([log])
