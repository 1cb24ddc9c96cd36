"""On a cluster, results are what they are on one machine, and failures are seen."""

import pytest

from tests.command_line import (
    CONTEXTUAL,
    TESTBED,
    TINY,
    finish,
    start,
    sweep,
    tables,
    task_files,
    wait_for,
    write,
)
from tests.studies.test_run import POISON

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")

pytestmark = pytest.mark.slow
TWO_WORKERS = ("--workers", "2", "--backend")


@pytest.fixture(params=["dask", "ray"])
def cluster(request):
    """The name of a backend that is installed."""
    pytest.importorskip({"dask": "distributed", "ray": "ray"}[request.param])
    return request.param


@pytest.mark.parametrize("study", [CONTEXTUAL, TESTBED], ids=["contextual", "testbed"])
def test_results_on_a_cluster_are_byte_identical(tmp_path, cluster, study):
    output = tmp_path / cluster
    arguments = ("sweep", write(tmp_path, study), "--output", output, *TWO_WORKERS, cluster)
    code, _, err = finish(start(*arguments))
    assert code == 0, err
    assert sweep(tmp_path, study).code == 0
    assert tables(output) == tables(tmp_path / "results")


def test_a_task_that_kills_its_workers_ends_the_run(tmp_path, cluster):
    (tmp_path / "sitecustomize.py").write_text(POISON)
    output = tmp_path / "results"
    arguments = ("sweep", write(tmp_path, TINY), "--output", output, *TWO_WORKERS, cluster)
    code, _, err = finish(start(*arguments, path=[tmp_path]))
    assert code == 1
    assert "Traceback" not in err
    assert err.count("stopped: ") == 1
    assert len(task_files(output)) < 20
    assert finish(start(*arguments)).code == 0
    assert sweep(tmp_path, TINY, output="undisturbed").code == 0
    assert tables(output) == tables(tmp_path / "undisturbed")


def test_an_address_joins_a_cluster_that_is_running(tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    ) as running:
        address = ("--address", running.scheduler_address)
        assert sweep(tmp_path, TINY, "--backend", "dask", *address).code == 0
        assert running.scheduler.transition_counter > 0
    assert sweep(tmp_path, TINY, output="alone").code == 0
    assert tables(tmp_path / "results") == tables(tmp_path / "alone")


def test_an_address_at_which_nothing_answers_is_refused(tmp_path):
    pytest.importorskip("distributed")
    code, _, err = sweep(tmp_path, TINY, "--backend", "dask", "--address", "tcp://127.0.0.1:9")
    assert code == 2
    assert "127.0.0.1:9" in err
    assert not (tmp_path / "results").exists()


def test_progress_is_seen_before_all_is_done(tmp_path, cluster):
    study = TINY.replace("steps = 5", "steps = 4000").replace("runs = 4", "runs = 12")
    output = tmp_path / "results"
    process = start("sweep", write(tmp_path, study), "--output", output, *TWO_WORKERS, cluster)
    wait_for(lambda: task_files(output), process)
    assert len(task_files(output)) < 60
    process.kill()
    process.communicate()
