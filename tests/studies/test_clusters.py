"""On a cluster, results are what they are on one machine, and failures are seen.

The blocks of the documentation about clusters run on this machine, with fewer workers. In place of
Slurm's commands, there are scripts that run a job in the background.
"""

import contextlib
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import (
    TINY,
    finish,
    finished_tasks,
    line_of,
    start,
    sweep,
    tables,
    wait_for,
    write,
)
from tests.studies.test_run import POISON

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")

pytestmark = pytest.mark.slow
LONGER = TINY.replace("steps = 5", "steps = 1500")
"""A study that still has most of its 20 tasks to run once a process is found and killed."""
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "colab/docs/studies_clusters.md").read_text("utf-8").replace("\\\n", " ")
BLOCKS = dict(re.findall(r"<!-- cluster: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.DOTALL))
SLURM = {
    "sbatch": 'cp "$1" "job-$$"; setsid sh "job-$$" >"log-$$" 2>&1 & echo "Submitted batch job $!"',
    "scancel": 'kill -- "-$1"',
}
"""What stands in for Slurm's commands: a job is a process group, and its number is its id.

Like Slurm's, `sbatch` keeps a copy of the script, which the caller deletes afterwards.
"""


@pytest.fixture(params=["dask", "ray"])
def cluster(request):
    """The name of a backend that is installed."""
    pytest.importorskip({"dask": "distributed", "ray": "ray"}[request.param])
    return request.param


def test_a_task_that_kills_its_workers_ends_the_run(tmp_path, monkeypatch, cluster):
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "1")  # by default, 3
    (tmp_path / "sitecustomize.py").write_text(POISON)
    output = tmp_path / "results"
    arguments = ("sweep", write(tmp_path, TINY), "--output", output, "--workers", f"{cluster}:2")
    code, _, err = finish(start(*arguments, path=[tmp_path]))
    assert code == 1
    assert "bandit_envs/studies" not in err  # the cluster's own processes may write what they like
    (line,) = [line for line in err.splitlines() if line.startswith("stopped: ")]
    assert line.endswith(f"; this resumes it: {line_of(*arguments)}")
    assert "have died" in line
    assert len(finished_tasks(output)) < 20
    assert sweep(tmp_path, TINY).code == 0
    assert sweep(tmp_path, TINY, output="undisturbed").code == 0
    assert tables(output) == tables(tmp_path / "undisturbed")


@pytest.mark.parametrize("in_flight", [1, 1000])
def test_an_address_joins_a_cluster_that_is_running(tmp_path, monkeypatch, in_flight):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr("bandit_envs.running.dask_cluster.IN_FLIGHT", in_flight)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    ) as running:
        workers = ("--workers", f"dask:{running.scheduler_address}")
        assert sweep(tmp_path, TINY, *workers).code == 0
        assert running.scheduler.transition_counter > 0
    assert sweep(tmp_path, TINY, output="alone").code == 0
    assert tables(tmp_path / "results") == tables(tmp_path / "alone")


def test_an_address_at_which_nothing_answers_is_refused(tmp_path):
    dask = pytest.importorskip("dask")
    pytest.importorskip("distributed")
    with dask.config.set({"distributed.comm.timeouts.connect": "2s"}):  # by default, 30 s
        code, _, err = sweep(tmp_path, TINY, "--workers", "dask:tcp://127.0.0.1:9")
    assert code == 2
    assert "127.0.0.1:9" in err
    assert not (tmp_path / "results").exists()


NO_WORKERS = """
import os
import sys

if "--multiprocessing-fork" in sys.orig_argv:
    os._exit(3)
"""


def test_workers_that_die_while_they_start_end_the_run_with_one_line(tmp_path):
    pytest.importorskip("distributed")
    (tmp_path / "sitecustomize.py").write_text(NO_WORKERS)
    options = ("--output", tmp_path / "results", "--workers", "dask:2")
    code, out, err = finish(start("sweep", write(tmp_path, TINY), *options, path=[tmp_path]))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "Dask has not started: " in err
    assert not (tmp_path / "results").exists()


def processes_of(command, name):
    """Returns the processes below a command whose first word has a name in it."""
    psutil = pytest.importorskip("psutil")
    processes = psutil.Process(command.pid).children(recursive=True)
    return [each for each in processes if name in " ".join(each.cmdline()[:1])]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The tables of `LONGER` after a run that nothing stops."""
    folder = tmp_path_factory.mktemp("undisturbed")
    assert sweep(folder, LONGER).code == 0
    return tables(folder / "results")


def resumed(tmp_path):
    """Returns the tables of `LONGER` after a run that goes on with what is there."""
    assert sweep(tmp_path, LONGER).code == 0
    return tables(tmp_path / "results")


def test_ray_repeats_the_tasks_of_a_dead_worker(tmp_path, undisturbed):
    pytest.importorskip("ray")
    output = tmp_path / "results"
    command = start("sweep", write(tmp_path, LONGER), "--output", output, "--workers", "ray:2")
    name = "ray::run_bundle"
    wait_for(lambda: finished_tasks(output) and processes_of(command, name), command)
    processes_of(command, name)[0].kill()
    code, _, err = finish(command)
    assert code == 0
    assert "Traceback" not in err
    assert len(finished_tasks(output)) == 20
    assert resumed(tmp_path) == undisturbed


def test_where_the_head_of_ray_dies_one_line_says_so(tmp_path, undisturbed):
    pytest.importorskip("ray")
    output = tmp_path / "results"
    arguments = ("sweep", write(tmp_path, LONGER), "--output", output, "--workers", "ray:2")
    command = start(*arguments)
    wait_for(lambda: finished_tasks(output), command)
    (head,) = processes_of(command, "gcs_server")
    head.kill()
    code, _, err = finish(command)
    assert code == 1
    assert "Traceback" not in err
    (line,) = [line for line in err.splitlines() if line.startswith("stopped: ")]
    assert line == f"stopped: Ray has lost its head; this resumes it: {line_of(*arguments)}"
    assert resumed(tmp_path) == undisturbed


@pytest.fixture
def port():
    """A port that is free, below those that Ray's workers take."""
    for number in range(6500, 10_000):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", number)):
            return number
    raise AssertionError("no port is free")


@pytest.fixture
def on_this_machine(tmp_path, monkeypatch, port):
    """Returns a function that starts a command of the page, changed to run on this machine.

    What was started is ended after the test.
    """
    (tmp_path / "shared").mkdir()
    write(tmp_path, TINY)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))  # where Ray keeps its token
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "2")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    folders = str(tmp_path), str(Path(sys.executable).parent), os.environ["PATH"]
    monkeypatch.setenv("PATH", os.pathsep.join(folders))
    changes = {
        "bandit-envs": f"{sys.executable} -m bandit_envs",
        "/shared": str(tmp_path / "shared"),
        "SCHEDULER": "127.0.0.1",
        "HEAD": "127.0.0.1",
        "--nworkers 8": "--nworkers 2",
        "8786": str(port),
        "6379": str(port),
    }
    with contextlib.ExitStack() as stack:

        def start(line, **given):
            for old, new in {**changes, **given}.items():
                line = line.replace(old, new)
            command = ["bash", "-c", f"exec {line}"]
            streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            process = subprocess.Popen(command, cwd=tmp_path, **streams)
            stack.callback(end, process)
            return process

        yield start


def listens(port):
    """Whether a server answers at a port of this machine."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
        return True
    return False


def end(process):
    """Ends a process of the test, and what it has started, as Ctrl-C does."""
    process.terminate()
    try:
        process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def test_where_the_scheduler_dies_one_line_says_so(
    tmp_path, monkeypatch, on_this_machine, port, undisturbed
):
    pytest.importorskip("distributed")
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "5s")  # by default, 30 s
    scheduler, workers, _ = BLOCKS["dask"].splitlines()
    running = on_this_machine(scheduler)
    wait_for(lambda: listens(port), running)
    on_this_machine(workers)
    output = tmp_path / "results"
    address = ("--workers", f"dask:tcp://127.0.0.1:{port}")
    arguments = ("sweep", write(tmp_path, LONGER), "--output", output, *address)
    command = start(*arguments)
    wait_for(lambda: finished_tasks(output), command)
    running.kill()
    code, _, err = finish(command)
    assert code == 1
    assert "Traceback" not in err
    (line,) = [line for line in err.splitlines() if line.startswith("stopped: ")]
    assert line.startswith("stopped: Dask has lost its scheduler")
    assert line.endswith(f"; this resumes it: {line_of(*arguments)}")
    assert resumed(tmp_path) == undisturbed


def study_of_the_page(tmp_path):
    """Returns the tables that the page's study has left, and those of a run without a cluster."""
    assert sweep(tmp_path, TINY, output="alone").code == 0
    return tables(tmp_path / "shared" / "study"), tables(tmp_path / "alone")


@pytest.mark.parametrize("name", ["dask", "ray", "slurm-node"])
def test_the_commands_of_the_page_about_studies_run(tmp_path, on_this_machine, port, name):
    if name != "slurm-node":
        pytest.importorskip({"dask": "distributed", "ray": "ray"}[name])
    if name == "ray":
        assert on_this_machine("ray get-auth-token --generate").wait(60) == 0
    *servers, command = BLOCKS[name].splitlines()
    started = []
    for server in servers:
        started.append(on_this_machine(server))
        wait_for(lambda: listens(port), started[0])
    assert on_this_machine(command).wait(200) == 0
    assert all(server.poll() is None for server in started)  # they go on
    on_cluster, alone = study_of_the_page(tmp_path)
    assert on_cluster == alone


def test_the_script_of_the_page_submits_workers_to_slurm(tmp_path, on_this_machine):
    pytest.importorskip("dask_jobqueue")
    for name, command in SLURM.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{command}\n")
        (tmp_path / name).chmod(0o755)
    script = tmp_path / "cluster.py"
    script.write_text(BLOCKS["slurm"].replace("=8", "=1").replace("jobs=10", "jobs=2"))
    cluster = on_this_machine(f"{sys.executable} {script.name}")
    address = cluster.stdout.readline().strip()
    command = on_this_machine(BLOCKS["slurm-study"].strip(), ADDRESS=address)
    assert command.wait(200) == 0
    on_cluster, alone = study_of_the_page(tmp_path)
    assert on_cluster == alone
    assert len(list(tmp_path.glob("job-*"))) == 2
    cluster.communicate("\n", timeout=60)
    assert cluster.returncode == 0
