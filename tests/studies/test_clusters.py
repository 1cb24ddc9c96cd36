"""On a cluster, results are what they are on one machine, and failures are seen."""

import re
import sys

import pytest

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")

from tests.experiments.sweeps import (
    CONTEXTUAL,
    TESTBED,
    TINY,
    finish,
    run,
    start,
    sweep,
    tables,
    task_files,
    wait_for,
    write,
)
from tests.experiments.test_engine import POISON

TWO_WORKERS = ("--workers", "2", "--backend")


@pytest.fixture(params=["dask", "ray"])
def cluster(request):
    """The name of a backend that is installed."""
    pytest.importorskip({"dask": "distributed", "ray": "ray"}[request.param])
    return request.param


@pytest.mark.slow
@pytest.mark.parametrize("study", [CONTEXTUAL, TESTBED], ids=["contextual", "testbed"])
def test_results_on_a_cluster_are_byte_identical(tmp_path, cluster, study):
    output = tmp_path / cluster
    arguments = ("sweep", write(tmp_path, study), "--output", output, *TWO_WORKERS, cluster)
    code, _, err = finish(start(*arguments))
    assert code == 0, err
    assert sweep(tmp_path, study, "--workers", "1").code == 0
    assert tables(output) == tables(tmp_path / "results")


@pytest.mark.slow
def test_a_task_that_kills_its_workers_ends_the_run(tmp_path, cluster):
    (tmp_path / "sitecustomize.py").write_text(POISON)
    output = tmp_path / "results"
    arguments = ("sweep", write(tmp_path, TINY), "--output", output, *TWO_WORKERS, cluster)
    code, _, err = finish(start(*arguments, path=[tmp_path]))
    assert code == 1
    assert "Traceback" not in err
    reason = {"dask": "KilledWorker: Attempted to run task", "ray": "The actor died unexpectedly"}
    assert re.search(f"stopped: .*{reason[cluster]}", err)
    assert 0 < len(task_files(output)) < 20
    assert finish(start(*arguments)).code == 0
    assert sweep(tmp_path, TINY, "--workers", "1", output="undisturbed").code == 0
    assert tables(output) == tables(tmp_path / "undisturbed")


def test_an_address_joins_a_cluster_that_is_running(tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    ) as running:
        address = ("--address", running.scheduler_address)
        assert sweep(tmp_path, TINY, "--backend", "dask", *address).code == 0
        assert running.scheduler.transition_counter > 0
    assert sweep(tmp_path, TINY, "--workers", "1", output="alone").code == 0
    assert tables(tmp_path / "results") == tables(tmp_path / "alone")


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_an_address_is_refused_where_there_is_no_cluster(tmp_path, backend):
    code, _, err = sweep(tmp_path, TINY, "--backend", backend, "--address", "somewhere:1")
    assert code == 2
    assert err.endswith(f"address is somewhere:1; expected none, as {backend} has no cluster\n")
    assert not (tmp_path / "results").exists()


def test_an_address_at_which_nothing_answers_is_refused(tmp_path):
    pytest.importorskip("ray")
    code, _, err = sweep(tmp_path, TINY, "--backend", "ray", "--address", "127.0.0.1:9")
    assert code == 2
    assert "nothing answers at address 127.0.0.1:9: " in err
    assert err.count("\n") == 1


@pytest.mark.slow
def test_progress_is_seen_before_all_is_done(tmp_path, cluster):
    study = TINY.replace("steps = 5", "steps = 4000").replace("runs = 4", "runs = 12")
    output = tmp_path / "results"
    process = start("sweep", write(tmp_path, study), "--output", output, *TWO_WORKERS, cluster)
    # Tables are written by the process that shows the progress, of what it has been told of.
    wait_for((output / "summary.csv").exists, process)
    assert len(task_files(output)) < 60
    process.kill()
    process.communicate()


@pytest.mark.parametrize(("backend", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_a_backend_that_is_not_installed_is_named_with_what_to_install(
    tmp_path, monkeypatch, backend, package
):
    monkeypatch.setitem(sys.modules, package, None)
    code, _, err = run("sweep", write(tmp_path, TINY), "--backend", backend)
    assert code == 2
    assert err.endswith(
        f"{package} is not installed; expected pip install 'bandit_envs[{backend}]'\n"
    )
