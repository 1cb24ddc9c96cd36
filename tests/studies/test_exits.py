"""A task whose user's class tries to end the process has failed, and the others go on."""

import re
import signal
import threading

import numpy as np
import pytest

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")

from bandit_envs.names.users_code import ExitError, describe, exits_as_errors
from bandit_envs.studies import TasksFailedError
from bandit_envs.studies.running.run import run as run_study
from tests.command_line import finished_tasks, run, sweep, tables
from tests.studies.mine import ENDS, EndingArms, SilentError
from tests.studies.test_study import parse

MINE = "tests.studies.mine"
WHAT = {
    "exit": "SystemExit: 0",
    "exit_with_text": "SystemExit: enough",
    "generator_exit": "GeneratorExit",
    "interrupt": "KeyboardInterrupt",
    "silent": "SilentError: (its text cannot be shown: ExitError)",
}


def ending(policies, environment="testbed:k=2"):
    """Returns a study of policies, of which some end."""
    names = ", ".join(f"'{policy}'" for policy in ["random", *policies, "greedy"])
    return f"""
title = "Ending"
runs = 3
steps = 40
environment = ['{environment}']
policy = [{names}]
"""


def check_failed(output, number, total, what):
    """Raises AssertionError unless some tasks have failed, and the others finished."""
    code, _, err = output
    assert code == 1
    assert f"{number} of {total} tasks failed" in err
    failed = [line for line in err.splitlines() if line.startswith("failed: ")]
    assert len(failed) == number
    for line in failed:
        assert what in line
        assert re.search(r"mine\.py:\d+\)$", line)
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("hook", "how"),
    [*(("learn", how) for how in ENDS), ("select", "exit"), ("select", "generator_exit")],
)
def test_a_policy_that_ends_the_process_has_failed(tmp_path, hook, how):
    study = ending([f'{MINE}:Ending:how="{how}",hook="{hook}"'])
    found = sweep(tmp_path, study, "--workers", "threading:1")
    check_failed(found, 1, 3, WHAT[how])
    table = tables(tmp_path / "results")["summary.csv"].decode()
    assert "random" in table
    assert "greedy" in table
    assert "Ending" not in table


@pytest.mark.parametrize(
    ("hook", "how"),
    [
        *(("draw_rewards", how) for how in ("exit", "interrupt")),
        *(("next_state", how) for how in ("exit_with_text", "generator_exit", "silent")),
    ],
)
def test_an_environment_that_ends_the_process_has_failed(tmp_path, hook, how):
    environment = f'{MINE}:EndingArms:how="{how}",hook="{hook}"'
    found = sweep(tmp_path, ending([], environment), "--workers", "threading:1")
    check_failed(found, 6, 6, WHAT[how])
    assert finished_tasks(tmp_path / "results") == []


@pytest.mark.parametrize(
    ("backend", "workers", "how"),
    [
        ("threading", 2, "exit"),
        ("loky", 1, "exit"),
        pytest.param("threading", 2, "interrupt", marks=pytest.mark.slow),
        pytest.param("loky", 2, "interrupt", marks=pytest.mark.slow),
    ],
)
def test_it_has_failed_wherever_it_runs(tmp_path, backend, workers, how):
    study = ending([f'{MINE}:Ending:how="{how}",hook="learn"'])
    found = sweep(tmp_path, study, "--workers", f"{backend}:{workers}")
    check_failed(found, 1, 3, WHAT[how])


@pytest.mark.parametrize("how", ENDS)
def test_a_policy_that_ends_at_once_is_left_out_and_named(tmp_path, how):
    code, out, _ = sweep(tmp_path, ending([f'{MINE}:Ending:how="{how}",hook="init"']))
    assert code == 1
    assert "(failed)" in out
    (line,) = [line for line in out.splitlines() if line.startswith("Failed: ")]
    assert WHAT[how] in line
    assert re.search(r"mine\.py:\d+\)$", line)


@pytest.mark.parametrize("how", ENDS)
def test_an_environment_that_ends_at_once_is_refused_with_one_line(tmp_path, how):
    study = ending([], f'{MINE}:EndingArms:how="{how}",hook="init"')
    code, out, err = sweep(tmp_path, study)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert WHAT[how] in err
    assert re.search(r"mine\.py:\d+\)$", err.strip())
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("how", ["exit", "interrupt"])
def test_the_command_fails_where_a_policy_is_missing(tmp_path, how):
    policy = f'{MINE}:Ending:how="{how}",hook="learn"'
    options = ("--runs", "3", "--steps", "40", "--workers", "1", "--output", tmp_path / "results")
    found = run("run", "testbed:k=2", "--policy", policy, "--policy", "random", *options)
    check_failed(found, 1, 2, WHAT[how])


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_in_python_an_ordinary_error_says_what_has_failed(tmp_path, backend):
    study = parse(ending([f'{MINE}:Ending:how="exit",hook="learn"']))
    message = r"1 task has failed, such as .*Ending.* SystemExit: 0 \(.*mine\.py:\d+\)"
    with pytest.raises(TasksFailedError, match=message):
        run_study(study, tmp_path, backend=backend)


def test_other_commands_say_in_one_line_what_has_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(EndingArms, "render", lambda *arguments: np.zeros((9, 16, 3), np.uint8))
    arms = f'{MINE}:EndingArms:how="exit",hook="next_state"'
    rest = ("--policy", "random", "--steps", "40", "--output")
    recorded = (*rest, tmp_path / "results", "--runs", "1", "--record", tmp_path / "log.npz")
    commands = [("watch", arms, *rest, tmp_path / "x.gif"), ("run", arms, *recorded)]
    for arguments in commands:
        code, out, err = run(*arguments)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert re.search(r"SystemExit: 0 \(.*mine\.py:\d+\)$", err)
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_stays_ctrl_c():
    def wait():
        signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), exits_as_errors(), exits_as_errors():
        wait()
    assert signal.getsignal(signal.SIGINT) is before


def test_a_class_that_exits_upon_ctrl_c_is_interrupted_all_the_same():
    def wait():
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise SystemExit(0) from None

    with pytest.raises(KeyboardInterrupt), exits_as_errors():
        wait()


def test_in_a_thread_every_interrupt_is_of_the_users_class():
    caught = []

    def work():
        try:
            with exits_as_errors():
                raise KeyboardInterrupt
        except ExitError as error:
            caught.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert caught == ["KeyboardInterrupt"]


def test_what_is_an_error_already_stays_as_it_is():
    for error in (StopIteration(3), ValueError("x"), SilentError()):
        with pytest.raises(type(error)) as found, exits_as_errors():
            raise error
        assert found.value is error
    assert describe(SilentError()).startswith("SilentError: ")
