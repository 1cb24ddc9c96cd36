"""Nothing in a folder of results is lost, mixed up or believed without being checked."""

import io
import json
import pickle
import shutil

import numpy as np
import pytest

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")

from bandit_envs.studies.results import ResultsFolder
from bandit_envs.studies.run import missing_tasks
from tests.experiments.sweeps import (
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
from tests.experiments.test_studies import parse


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder with all results of `TINY`, and beside it, those of another study."""
    folder = tmp_path_factory.mktemp("whole")
    assert sweep(folder, TINY, "--workers", "1").code == 0
    other = TINY.replace("steps = 5", "steps = 5\nseed = 1")
    assert sweep(folder, other, "--workers", "1", output="other").code == 0
    return folder


@pytest.fixture
def results(whole, tmp_path):
    """A copy of the folder with all results."""
    shutil.copytree(whole / "results", tmp_path / "results")
    return tmp_path / "results"


class Bomb:
    """Leaves a mark where it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return open, (str(self.mark), "w")


def truncated(content, _):
    return content[: len(content) // 2]


def empty(content, _):
    return b""


def without_its_end(content, _):
    return content[:-1]


def with_a_flipped_bit_in_its_numbers(content, _):
    position = content.index(b"NUMPY", content.index(b"curves.npy")) + 140
    return content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :]


def with_shorter_curves(content, _):
    assert content.count(b"'shape': (4, 5), ") == 1
    return content.replace(b"'shape': (4, 5), ", b"'shape': (4, 4), ")


def foreign_arrays(content, _):
    buffer = io.BytesIO()
    np.savez(buffer, curves=np.zeros((4, 5)))
    return buffer.getvalue()


def foreign_header(content, _):
    buffer = io.BytesIO()
    np.savez(buffer, header=np.frombuffer(b"[1, 2]", np.uint8), curves=np.zeros((4, 5)))
    return buffer.getvalue()


def of_another_task(content, results):
    return task_files(results)[1].read_bytes()


def of_another_study(content, results):
    return (results.parent / "other").read_bytes()


def pickled(content, results):
    return pickle.dumps(Bomb(results / "mark"))


def with_a_pickle_inside(content, results):
    buffer = io.BytesIO()
    bomb = np.array([Bomb(results / "mark")], object)
    np.savez(buffer, header=np.frombuffer(b"{}", np.uint8), curves=bomb)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "damage",
    [
        *(truncated, empty, without_its_end, with_a_flipped_bit_in_its_numbers),
        *(with_shorter_curves, foreign_arrays, foreign_header, of_another_task),
        *(of_another_study, pickled, with_a_pickle_inside),
    ],
)
def test_a_damaged_foreign_or_stale_file_is_recognised_and_its_task_done_again(
    whole, results, damage
):
    file = task_files(results)[7]
    shutil.copy(whole / "other" / "tasks" / file.name, results.parent / "other")
    before = {other: other.stat().st_mtime_ns for other in task_files(results) if other != file}
    file.write_bytes(damage(file.read_bytes(), results))
    assert len(missing_tasks(ResultsFolder(results, parse(TINY)))) == 1
    assert sweep(results.parent, TINY).code == 0
    assert not (results / "mark").exists()
    assert missing_tasks(ResultsFolder(results, parse(TINY))) == []
    assert {other: other.stat().st_mtime_ns for other in before} == before
    assert tables(results) == tables(whole / "results")


def test_what_was_left_half_written_is_removed(whole, results):
    for folder in (results, results / "tasks"):
        (folder / f".curves.csv.{32 * '0'}.part").write_bytes(b"half")
        (folder / ".movie.part").write_bytes(b"somebody else's")
    assert sweep(results.parent, TINY).code == 0
    assert {file.name for file in results.rglob(".*.part")} == {".movie.part"}
    assert tables(results) == tables(whole / "results")


@pytest.mark.parametrize("package", ["numpy", "bandit_envs", "results"])
def test_a_folder_of_another_version_is_refused_and_says_so(results, package):
    config = json.loads((results / "config.json").read_text())
    ours = dict(config["versions"])
    config["versions"][package] = "0.0.9"
    (results / "config.json").write_text(json.dumps(config))
    before = {file: file.read_bytes() for file in results.rglob("*") if file.is_file()}
    for arguments in (
        ("sweep", write(results.parent, TINY), "--output", results),
        ("report", results),
    ):
        code, _, err = run(*arguments)
        assert code == 2
        assert err.count("\n") == 1
        assert "was made with bandit_envs" in err
        assert f"{package} 0.0.9" in err.partition("expected")[0]
        assert f"{package} {ours[package]}" in err.partition("expected")[2]
    assert {file: file.read_bytes() for file in results.rglob("*") if file.is_file()} == before


@pytest.mark.parametrize(
    "change", [("steps = 5", "steps = 6"), ("runs = 4", "runs = 8"), ("0.25", "0.3")]
)
def test_a_folder_of_another_study_is_refused(results, change):
    code, _, err = sweep(results.parent, TINY.replace(*change))
    assert code == 2
    assert "holds something else; expected a new or empty folder" in err
    assert err.count("\n") == 1


def test_a_config_that_is_none_is_refused(results):
    for content in (b"", b"[]", b"{}", b"\xff", b'{"study": 1, "versions": {}}'):
        (results / "config.json").write_bytes(content)
        assert sweep(results.parent, TINY).code == 2
        assert run("report", results).code == 2


def test_two_runs_in_one_folder_at_once_are_refused(tmp_path):
    study = TINY.replace("steps = 5", "steps = 3000")
    output = tmp_path / "results"
    first = start("sweep", write(tmp_path, study), "--output", output, "--workers", "2")
    wait_for((output / "config.json").exists, first)
    code, _, err = sweep(tmp_path, study)
    assert code == 2
    assert err == f"bandit-envs: output folder {output} is in use by another run\n"
    assert finish(first).code == 0
    assert missing_tasks(ResultsFolder(output, parse(study))) == []
    sweep(tmp_path, study, output="undisturbed")
    assert tables(output) == tables(tmp_path / "undisturbed")


def test_the_folder_is_free_again_after_a_run_that_failed(tmp_path):
    folder = ResultsFolder(tmp_path / "results", parse(TINY))
    with pytest.raises(ZeroDivisionError), folder.opened():
        raise ZeroDivisionError
    with folder.opened():
        pass


def test_a_folder_that_cannot_be_made_is_refused_before_anything_runs(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    for output in ("file", "file/results"):
        code, out, err = sweep(tmp_path, TINY, output=output)
        assert (code, out) == (2, "")
        assert f"output folder {tmp_path / output}" in err
        assert err.count("\n") == 1
    assert (tmp_path / "file").read_text() == "not a folder"
