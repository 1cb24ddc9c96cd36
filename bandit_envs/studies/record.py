"""Writes the log of a task's runs, for off-policy evaluation."""

from pathlib import Path

from bandit_envs.drivers import StepDriver
from bandit_envs.logged import BanditLog, LogRecorder, write_log
from bandit_envs.specs import SlateSpec
from bandit_envs.studies.run import make_pair
from bandit_envs.studies.study import RUNS_PER_TASK, Task
from bandit_envs.wrappers.delays import max_delay_of


def record(tasks: list[Task], path: Path) -> BanditLog:
    """Makes the log of the only task of a study.

    Raises:
        ValueError: there are several tasks, slates or delayed rewards, or the policy does not know
            the probabilities of its actions.
    """
    task = tasks[0]
    env, policy = make_pair(task, task.block, task.runs)
    if isinstance(env.action_spec(), SlateSpec) or max_delay_of(env.observation_spec()) > 0:
        raise ValueError(f"--record takes no slates or delayed rewards, as {task.environment} has")
    if len(tasks) > 1 or task.batches > 1:
        most = f"{RUNS_PER_TASK}, or 1 where rows share a problem"
        raise ValueError(f"--record takes one policy, and --runs of at most {most}")
    recorder = LogRecorder(env.num_actions, env if "regret" in task.metrics else None)
    observers = (policy, recorder)
    try:
        driver = StepDriver(env, policy, observers, task.steps, emit_log_probability=True)
    except NotImplementedError:
        text = f"policy {task.policy} does not know the probabilities of its actions"
        raise ValueError(f"{text}, which a log needs; expected another policy") from None
    driver.run()
    log = recorder.log()
    write_log(path, log)
    return log
