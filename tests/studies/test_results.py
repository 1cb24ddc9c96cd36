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

from bandit_envs.base import saving
from bandit_envs.studies.results import Results
from tests.command_line import TINY, content, run, sweep, tables, task_files, write
from tests.studies.test_study import parse


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder with all results of `TINY`, and beside it, those of another study."""
    folder = tmp_path_factory.mktemp("whole")
    assert sweep(folder, TINY).code == 0
    other = TINY.replace("steps = 5", "steps = 5\nseed = 1")
    assert sweep(folder, other, output="other").code == 0
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


def with_a_flipped_bit_in_its_numbers(content, _):
    position = content.index(b"NUMPY", content.index(b"reward.npy")) + 140
    return content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :]


def with_a_foreign_header(content, _):
    buffer = io.BytesIO()
    np.savez(buffer, header=np.frombuffer(b'{"a": 2}', np.uint8), reward=np.zeros((2, 2, 5)))
    return buffer.getvalue()


def of_another_task(content, results):
    return task_files(results)[1].read_bytes()


def of_another_study(content, results):
    return (results.parent / "other").read_bytes()


def with_a_pickle_inside(content, results):
    buffer = io.BytesIO()
    bomb = np.array([Bomb(results / "mark")], object)
    np.savez(buffer, header=np.frombuffer(b"{}", np.uint8), reward=bomb)
    return buffer.getvalue()


def pickled(content, results):
    return pickle.dumps(Bomb(results / "mark"))


@pytest.mark.parametrize(
    "damage",
    [
        *(truncated, empty, with_a_flipped_bit_in_its_numbers, with_a_foreign_header),
        *(of_another_task, of_another_study, pickled, with_a_pickle_inside),
    ],
)
def test_a_damaged_or_foreign_file_is_recognised_and_its_task_done_again(whole, results, damage):
    file = task_files(results)[7]
    shutil.copy(whole / "other" / "tasks" / file.name, results.parent / "other")
    before = {other: other.stat().st_mtime_ns for other in task_files(results) if other != file}
    file.write_bytes(damage(file.read_bytes(), results))
    found = Results(results, parse(TINY))
    found.load()
    assert len(found.missing()) == 1
    assert sweep(results.parent, TINY).code == 0
    assert not (results / "mark").exists()
    assert {other: other.stat().st_mtime_ns for other in before} == before
    assert tables(results) == tables(whole / "results")


def test_each_file_is_read_once(results, monkeypatch):
    read = []
    read_archive = saving.read_archive

    def note(path):
        read.append(path)
        return read_archive(path)

    monkeypatch.setattr(saving, "read_archive", note)
    assert run("report", results).code == 0
    assert sorted(read) == task_files(results)
    read.clear()
    assert sweep(results.parent, TINY).code == 0
    assert sorted(read) == task_files(results)


def test_what_was_left_half_written_is_removed(whole, results):
    for folder in (results, results / "tasks"):
        (folder / f".{32 * '0'}.part").write_bytes(b"half")
        (folder / ".movie.part").write_bytes(b"somebody else's")
    assert sweep(results.parent, TINY).code == 0
    assert {file.name for file in results.rglob(".*.part")} == {".movie.part"}
    assert tables(results) == tables(whole / "results")


@pytest.mark.parametrize(
    ("package", "version", "word"),
    [("numpy", "0.9", "numpy"), ("bandit_envs", "0.0.9", "bandit_envs"), ("results", 1, "older")],
)
def test_a_folder_of_another_version_is_refused_and_says_so(results, package, version, word):
    config = json.loads((results / "config.json").read_text())
    config["versions"][package] = version
    (results / "config.json").write_text(json.dumps(config))
    before = content(results)
    study = write(results.parent, TINY)
    commands = [("sweep", study, "--output", results), ("report", results)]
    for arguments in commands if package == "results" else commands[:1]:
        code, _, err = run(*arguments)
        assert code == 2
        assert err.count("\n") == 1
        assert word in err
        assert ("--output" in err) == (arguments[0] == "sweep")
    assert content(results) == before


def test_what_a_study_only_shows_may_change(results):
    before = content(results / "tasks")
    text = TINY.replace("Tiny", "Other").replace("panels", 'log_axes = ["x"]\npanels')
    assert sweep(results.parent, text).code == 0
    assert content(results / "tasks") == before


@pytest.mark.parametrize(
    "change", [("steps = 5", "steps = 6"), ("runs = 4", "runs = 8"), ("0.25", "0.3")]
)
def test_a_folder_of_another_study_is_refused(results, change):
    before = content(results)
    code, _, err = sweep(results.parent, TINY.replace(*change))
    assert code == 2
    assert "another folder" in err
    assert err.count("\n") == 1
    assert content(results) == before


def test_a_folder_of_another_study_is_overwritten_on_demand(results):
    changed = TINY.replace("runs = 4", "runs = 3")
    assert "--overwrite" in sweep(results.parent, changed).err
    assert sweep(results.parent, changed, "--overwrite").code == 0
    sweep(results.parent, changed, output="new")
    assert tables(results) == tables(results.parent / "new")
    before = {file: file.stat().st_mtime_ns for file in task_files(results)}
    assert len(before) == 15
    assert sweep(results.parent, changed, "--overwrite").code == 0
    assert {file: file.stat().st_mtime_ns for file in task_files(results)} == before


@pytest.mark.parametrize("options", [(), ("--overwrite",)])
@pytest.mark.parametrize("name", ["thesis.tex", "config.json"])
def test_a_folder_of_other_files_is_left_alone(tmp_path, name, options):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / name).write_text("chapter 1")
    code, _, err = sweep(tmp_path, TINY, *options)
    assert code == 2
    assert "another folder" in err
    assert [file.name for file in (tmp_path / "results").iterdir()] == [name]


@pytest.mark.parametrize(
    "config",
    [
        *(b"", b"[]", b"{}", b"\xff", 100_000 * b"[", b'{"study": 1, "versions": {}}'),
        *(
            b'{"study": 1, "versions": {"results": 2}}',
            b'{"study": {}, "versions": {"results": []}}',
        ),
        b'{"study": {"title": 1, "environment": [5], "policy": []}, "versions": {"results": 2}}',
    ],
)
def test_a_config_that_is_none_is_refused(results, config):
    (results / "config.json").write_bytes(config)
    for code, _, err in (sweep(results.parent, TINY), run("report", results)):
        assert code == 2
        assert err.count("\n") == 1


def test_two_runs_in_one_folder_at_once_are_refused(tmp_path):
    with Results(tmp_path / "results", parse(TINY)).lock():
        code, _, err = sweep(tmp_path, TINY)
        assert code == 2
        assert "in use by another run" in err
        assert err.count("\n") == 1
    assert sweep(tmp_path, TINY).code == 0


def test_the_folder_is_free_again_after_a_run_that_failed(tmp_path):
    results = Results(tmp_path / "results", parse(TINY))
    with pytest.raises(ZeroDivisionError), results.lock():
        raise ZeroDivisionError
    with results.lock():
        pass


def test_a_run_that_ends_before_it_has_written_its_config_is_resumed(tmp_path, monkeypatch):
    def fail(path, content):
        raise OSError(path)

    results = Results(tmp_path / "results", parse(TINY))
    with monkeypatch.context() as patch:
        patch.setattr(saving, "atomic_write", fail)
        with pytest.raises(OSError, match="config"), results.lock():
            pass
    assert results.conflict() == ""


@pytest.mark.parametrize("output", ["file", "file/results"])
def test_a_folder_that_cannot_be_made_is_refused_before_anything_runs(tmp_path, output):
    (tmp_path / "file").write_text("not a folder")
    code, out, err = sweep(tmp_path, TINY, output=output)
    assert (code, out) == (2, "")
    assert f"output folder {tmp_path / output}" in err
    assert err.count("\n") == 1
    assert (tmp_path / "file").read_text() == "not a folder"


def test_where_a_class_of_ones_own_changes_its_results_are_older(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    module = tmp_path / "changing.py"
    module.write_text("from tests.studies.mine import Always\nclass Mine(Always): pass\n")
    study = TINY.replace('"random"', '"changing:Mine"')
    assert sweep(tmp_path, study).code == 0
    assert sweep(tmp_path, study).code == 0
    module.write_text(module.read_text() + "# changed\n")
    code, _, err = sweep(tmp_path, study)
    assert code == 2
    assert "changing" in err
