"""Nothing in a folder of results is lost, mixed up or believed without being checked."""

import json
import os
import pickle
import re
import shutil
import sys
import types

import numpy as np
import pytest

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")

from bandit_envs import __version__
from bandit_envs.base import saving
from bandit_envs.studies import load
from bandit_envs.studies.results.assignment import FORMAT
from bandit_envs.studies.results.packs import Pack
from bandit_envs.studies.results.records import MAGIC
from bandit_envs.studies.results.results import Results
from bandit_envs.studies.results.task_folder import MAX_SHARE, PROGRESS
from tests.command_line import (
    TINY,
    content,
    finished_tasks,
    forget_tasks,
    rows,
    run,
    sweep,
    tables,
    write,
)
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


def flipped(content):
    """Returns a content with another bit in its numbers."""
    place = content.index(b"NUMPY", content.index(b"reward.mean.npy")) + 140
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


@pytest.fixture
def unpacked(results):
    """The same, before its results are packed: all are in the file of one worker."""
    forget_tasks(results, ())
    return results


def records_file(results):
    (file,) = (results / "tasks").glob("*.records")
    return file


def places_of(results):
    """Where the records of tasks are: found by their magic, with the end of the file."""
    content = records_file(results).read_bytes()
    starts = [match.start() for match in re.finditer(re.escape(MAGIC), content)]
    return [*starts, len(content)]


def done_again(results):
    """Which tasks are done when the study runs again."""
    before = finished_tasks(results)
    assert sweep(results.parent, TINY).code == 0
    assert finished_tasks(results) == list(range(20))
    return sorted(set(range(20)) - set(before))


def test_a_file_that_ends_at_any_byte_has_the_records_before_it(whole, unpacked):
    file = records_file(unpacked)
    content = file.read_bytes()
    starts = places_of(unpacked)
    first, second = starts[:2]
    cuts = {0, 1, first + 7, first + 8, first + 23, first + 24, first + 40, second - 1, second}
    study = parse(TINY)
    for cut in sorted({*cuts, second + 1, starts[7] + 100, len(content) - 1, len(content)}):
        file.write_bytes(content[:cut])
        found = Results(unpacked, study)
        found.load()
        whole_records = sum(end <= cut for end in starts[1:])
        assert len(found.missing()) == 20 - whole_records
        assert sum(pair.runs for pair in found.pairs()) == whole_records
    file.write_bytes(content[: starts[7] + 100])
    assert done_again(unpacked) == list(range(7, 20))
    assert tables(unpacked) == tables(whole / "results")


@pytest.mark.parametrize("place", [12, 30, 130])
def test_a_damaged_record_is_recognised_and_its_task_done_again(whole, unpacked, place):
    file = records_file(unpacked)
    content = bytearray(file.read_bytes())
    starts = places_of(unpacked)
    content[starts[7] + place] ^= 1
    file.write_bytes(content)
    repeated = done_again(unpacked)
    assert repeated == ([7] if place > 24 else list(range(7, 20)))  # after a wrong length, all
    assert tables(unpacked) == tables(whole / "results")


def test_results_of_another_study_are_left_out(whole, unpacked):
    other = whole / "other" / "tasks" / "results-1.npz"
    for file in (unpacked / "tasks").iterdir():
        file.unlink()
    shutil.copy(other, unpacked / "tasks")
    found = Results(unpacked, parse(TINY))
    found.load()
    assert len(found.missing()) == 20


def check_damage(pack, found):
    assert found.code in (1, 2)
    assert f"{pack} is damaged" in found.err
    assert "without this file, the same command repeats its tasks" in found.err


def test_a_damaged_pack_is_told_with_what_to_do(whole, results):
    pack = results / "tasks" / "results-1.npz"
    sound = pack.read_bytes()
    for damaged in (sound[:-9], b"", flipped(sound)):
        pack.write_bytes(damaged)
        check_damage(pack, run("report", results))
    check_damage(pack, sweep(results.parent, TINY))
    pack.unlink()
    assert sweep(results.parent, TINY).code == 0
    assert tables(results) == tables(whole / "results")


def test_a_pack_is_read_by_numpy(results):
    pack = np.load(results / "tasks" / "results-1.npz")
    assert pack["task"].tolist() == list(range(20))
    assert pack["position"].tolist() == [position for position in range(5) for _ in range(4)]
    assert pack["block"].tolist() == 5 * [0, 1, 2, 3]
    assert pack["steps"].tolist() == [1, 2, 3, 4, 5]
    assert pack["reward.mean"].shape == pack["reward.sum_mean"].shape == (20, 5)
    means = pack["reward.totals"].reshape(5, 4).mean(axis=1) / 5
    found = [float(row["mean_reward"]) for row in rows(results / "summary.csv")]
    np.testing.assert_allclose(means, found, rtol=1e-9)


def test_few_files_are_left(results):
    names = {file.name for file in results.rglob("*") if file.is_file()}
    shown = {"curves.npy", "runs.csv", "summary.csv", "figure.png"}
    assert names == {"config.json", ".lock", ".study.json", "results-1.npz", *shown}


def test_a_kill_after_packing_leaves_nothing_twice(whole, results):
    forgotten = results.parent / "copy"
    shutil.copytree(results, forgotten)
    forget_tasks(forgotten, range(5))
    shutil.copy(records_file(forgotten), results / "tasks")
    assert run("report", results).code == 0
    assert sweep(results.parent, TINY).code == 0
    assert tables(results) == tables(whole / "results")
    assert [file.name for file in (results / "tasks").glob("[!.]*")] == ["results-1.npz"]


def test_each_array_is_read_once(results, monkeypatch):
    read = []
    read_slice = Pack.read_slice

    def note(pack, task, columns):
        read.extend((task, column.name) for column in columns)
        return read_slice(pack, task, columns)

    monkeypatch.setattr(Pack, "read_slice", note)
    assert run("report", results).code == 0
    once = [*read]
    assert len(once) == len(set(once)) > 0
    assert sweep(results.parent, TINY).code == 0
    assert read == 2 * once


@pytest.fixture
def large(monkeypatch):
    """Takes all results for large ones, which are read when they are shown."""
    monkeypatch.setattr("bandit_envs.studies.results.results.AT_ONCE", 0)


def test_large_results_make_the_same_tables_figures_and_texts(results, unpacked, large, whole):
    expected = run("report", whole / "results")
    found = run("report", unpacked)
    assert found.out.replace(str(unpacked), "") == expected.out.replace(str(whole / "results"), "")
    assert tables(unpacked) == tables(whole / "results")
    assert sweep(unpacked.parent, TINY).code == 0
    assert tables(unpacked) == tables(whole / "results")
    figures = [folder / "figure.png" for folder in (unpacked, whole / "results")]
    assert figures[0].read_bytes() == figures[1].read_bytes()


@pytest.mark.parametrize("options", [(), ("--panels", "reward,regret")])
def test_large_results_with_quantiles_make_the_same_tables(tmp_path, monkeypatch, options):
    quantiles = TINY.replace("steps = 5", "steps = 5\nquantiles = [0.1, 0.9]")
    assert sweep(tmp_path, quantiles).code == 0
    expected = run("report", tmp_path / "results", *options).out
    before = tables(tmp_path / "results")
    monkeypatch.setattr("bandit_envs.studies.results.results.AT_ONCE", 0)
    assert run("report", tmp_path / "results", *options).out == expected
    assert tables(tmp_path / "results") == before


def test_large_results_are_read_when_they_are_asked_for_and_only_then(results, large, monkeypatch):
    read = []
    read_slice = Pack.read_slice

    def note(pack, task, columns):
        read.append((task, columns[0].name))
        return read_slice(pack, task, columns)

    monkeypatch.setattr(Pack, "read_slice", note)
    pairs = load(results).pairs
    assert read == []
    _ = pairs[1].result["reward"]
    assert read == [(task, "reward.mean") for task in range(4, 8)]


def test_large_results_that_move_to_a_pack_are_still_found(unpacked, large):
    before = load(unpacked).pairs
    assert sweep(unpacked.parent, TINY).code == 0
    after = load(unpacked).pairs
    for old, new in zip(before, after):
        np.testing.assert_equal(old.result["reward"].totals, new.result["reward"].totals)


def test_large_results_stay_those_that_were_loaded(whole, results, large):
    found = load(results)
    expected = [pair.result["reward"].totals for pair in load(whole / "results").pairs]
    first = found.pairs[0].result["reward"].totals
    np.testing.assert_equal(first, expected[0])
    other = TINY.replace("steps = 5", "steps = 5\nseed = 1")
    assert sweep(results.parent, other, "--overwrite").code == 0
    for pair, totals in zip(found.pairs, expected):
        np.testing.assert_equal(pair.result["reward"].totals, totals)


def test_large_results_that_are_gone_say_so(unpacked, large):
    found = load(unpacked)
    records_file(unpacked).unlink()
    with pytest.raises(ValueError, match="the result of task 0 is gone"):
        _ = found.pairs[0].result["reward"]


@pytest.mark.parametrize("damage", [lambda content: content[:-9], lambda content: b"", flipped])
def test_a_damaged_pack_of_large_results_is_told_before_it_is_shown(results, large, damage):
    path = results / "tasks" / "results-1.npz"
    path.write_bytes(damage(path.read_bytes()))
    code, _, err = run("report", results)
    assert code == 2
    assert "results-1.npz is damaged" in " ".join(err.split())


def test_what_was_left_half_written_is_removed(whole, results):
    for folder in (results, results / "tasks"):
        (folder / f".{32 * '0'}.part").write_bytes(b"half")
        (folder / ".movie.part").write_bytes(b"somebody else's")
    assert sweep(results.parent, TINY).code == 0
    assert {file.name for file in results.rglob(".*.part")} == {".movie.part"}
    assert tables(results) == tables(whole / "results")


@pytest.mark.parametrize(
    ("package", "version", "word"),
    [
        ("numpy", "0.9", f"numpy ('0.9', here {np.__version__!r})"),
        ("bandit_envs", "0.0.9", f"bandit_envs ('0.0.9', here {__version__!r})"),
        (
            "results",
            1,
            f"an older version of bandit_envs, in format 1; this version reads format {FORMAT}",
        ),
        (
            "results",
            99,
            f"a newer version of bandit_envs, in format 99; this version reads format {FORMAT}",
        ),
        ("results", "x", "does not hold results of a study"),
    ],
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


def test_tasks_that_ran_with_quantiles_merge_with_those_that_ran_without(whole, results):
    forget_tasks(results, [0])
    other = results.parent / "other"
    text = TINY.replace("steps = 5", "steps = 5\nquantiles = [0.1, 0.9]")
    assert sweep(results.parent, text, output=other).code == 0
    forget_tasks(other, range(1, 20))
    shutil.copy(records_file(other), results / "tasks" / "other.records")
    outcome = sweep(results.parent, TINY)
    assert outcome.code == 0
    assert "nothing to run" in outcome.err
    assert tables(results) == tables(whole / "results")


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


def test_a_page_stays_until_the_study_is_shown_otherwise_or_goes_on(results):
    page = results / "study.html"
    page.write_text("what is known so far")
    assert sweep(results.parent, TINY).code == 0
    assert run("report", results).code == 0
    assert page.exists()
    title = next(line for line in TINY.splitlines() if line.startswith("title"))
    assert sweep(results.parent, TINY.replace(title, 'title = "Another"')).code == 0
    assert not page.exists()
    page.write_text("what is known so far")
    forget_tasks(results, [3])
    assert sweep(results.parent, TINY.replace(title, 'title = "Another"')).code == 0
    assert not page.exists()


def test_a_folder_of_another_study_is_overwritten_on_demand(results):
    changed = TINY.replace("runs = 4", "runs = 3")
    (results / "study.html").write_text("the page of the other study")
    assert "--overwrite" in sweep(results.parent, changed).err
    assert sweep(results.parent, changed, "--overwrite").code == 0
    assert not (results / "study.html").exists()
    sweep(results.parent, changed, output="new")
    assert tables(results) == tables(results.parent / "new")
    before = content(results / "tasks")
    assert finished_tasks(results) == list(range(15))
    assert "nothing to run" in sweep(results.parent, changed, "--overwrite").err
    assert content(results / "tasks") == before


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


# Folders of others, which must not run code.

EVIL = """
import pathlib
from tests.studies.mine import Bernoulli, Stumbling
pathlib.Path({mark!r}).touch()
class Place(Bernoulli): pass
class Rule(Stumbling): pass
"""


@pytest.fixture
def evil(results, monkeypatch):
    """What an import of the module `evil`, beside the results, or a call would leave behind."""
    mark = results.parent / "mark"
    (results.parent / "evil.py").write_text(EVIL.format(mark=str(mark)))
    monkeypatch.chdir(results.parent)
    monkeypatch.syspath_prepend(str(results.parent))
    sys.modules.pop("evil", None)
    yield mark
    sys.modules.pop("evil", None)


def edit_study(results, **changes):
    """Lets a folder of results say that they are of another study."""
    config = json.loads((results / "config.json").read_text())
    config["study"].update(changes)
    config["independent_rows"]["evil:Place:means=[0.1,0.2]"] = False
    (results / "config.json").write_text(json.dumps(config))


CALLS = [
    "sklearn_softmax:estimator=\"subprocess:getoutput(cmd='touch mark')\"",
    'neural_epsilon_greedy:epsilon=0.1,network="evil:Rule"',
    "evil:Rule:action=1",
    "tests.studies.mine:Stumbling:action=1",
]


@pytest.mark.parametrize("policy", CALLS)
def test_results_of_others_are_shown_without_imports_and_calls(results, evil, policy):
    expected = {"policy": policy, "metric": "reward", "at_most": 1e9, "source": "exact"}
    edit_study(results, policy=["random", policy], expected=[expected], labels={policy: "Other"})

    loaded = load(results)
    loaded.to_latex()
    loaded.plot()
    loaded.write_tables()
    assert loaded.study.policy[1].parts()
    assert run("report", results, "--baseline", "random").code in (0, 1)
    edit_study(results, environment=["evil:Place:means=[0.1,0.2]"])
    assert load(results).num_missing > 0

    assert "evil" not in sys.modules
    assert not evil.exists()


def test_a_picture_of_an_environment_of_a_user_is_refused(results, evil):
    edit_study(results, environment=["evil:Place:means=[0.1,0.2]"], panels=["arms"])
    assert run("report", results).code == 2
    with pytest.raises(ValueError, match="panels has arms"):
        load(results)
    assert load(results, panels=["reward"]).study.panels == ("reward",)
    assert not evil.exists()


def test_an_environment_of_a_user_without_its_rows_is_refused(results, evil):
    edit_study(results, environment=["evil:Place:means=[0.3]"])
    with pytest.raises(ValueError, match="do not say what the rows of"):
        load(results)
    assert not evil.exists()


LINKS = [
    "config.json",
    "summary.csv",
    "figure.png",
    "study.html",
    "tasks",
    "tasks/results-2.npz",
    "tasks/.study.json",
]


@pytest.mark.posix
@pytest.mark.parametrize(
    ("command", "name"),
    [
        *(("report", name) for name in LINKS),
        *(("show", name) for name in ("config.json", "tasks", "study.html")),
        *(("sweep", name) for name in ("figure.png", "tasks")),
        *(("overwrite", name) for name in ("tasks", "tasks/results-2.npz")),
    ],
)
def test_no_link_in_results_of_others_leads_to_another_file(results, tmp_path, command, name):
    precious = tmp_path / "precious"
    link = results / name
    if link.exists():
        link.rename(precious)
    else:
        precious.write_bytes(b"text")
    link.symlink_to(precious)
    files = sorted(precious.iterdir()) if precious.is_dir() else [precious]
    before = [file.read_bytes() for file in files]

    if command in ("report", "show"):
        found = run(command, results)
    elif command == "sweep":
        found = sweep(tmp_path, TINY)
    else:
        found = sweep(tmp_path, TINY.replace("steps = 5", "steps = 6"), "--overwrite")
    assert found.code == 2
    assert f"{name} is a link" in " ".join(found.err.split())
    assert [file.read_bytes() for file in files] == before


@pytest.mark.posix
@pytest.mark.parametrize("name", ["config.json", "tasks/results-2.npz", "tasks/a.records"])
def test_a_pipe_in_results_of_others_is_not_waited_for(results, name):
    (results / name).unlink(missing_ok=True)
    os.mkfifo(results / name)
    with pytest.raises(ValueError, match=f"{name} is not a regular file"):
        load(results)


def change_first(**values):
    """Returns a function that changes the first value of arrays of a pack."""

    def change(arrays):
        for name, value in values.items():
            arrays[name][0] = value

    return change


def change_kind(name, function):
    """Returns a function that puts what `function` returns in place of an array of a pack."""

    def change(arrays):
        arrays[name] = function(arrays[name])

    return change


FORGED = [
    change_first(task=99),
    change_first(task=-1),
    change_first(task=1),
    change_first(runs=10**9),
    change_first(runs=-4),
    change_first(runs=3),
    change_kind("task", lambda task: task + 0.5),
    change_kind("task", lambda task: task[None]),
    change_kind("task", lambda task: task.astype(str)),
    change_kind("runs", lambda runs: runs[:1]),
    change_kind("steps", lambda steps: steps[:3]),
    change_kind("reward.mean", lambda mean: mean[:, :3]),
    change_kind("reward.mean", lambda mean: mean[1:]),
    change_kind("reward.mean", lambda mean: mean.astype(complex)),
    change_kind("reward.mean", lambda mean: mean.astype(str)),
    change_kind("reward.totals", lambda totals: totals[:, None]),
]


@pytest.mark.parametrize("change", FORGED)
def test_a_pack_whose_arrays_do_not_fit_the_study_is_refused(results, change, monkeypatch):
    path = results / "tasks" / "results-1.npz"
    with np.load(path) as archive:
        arrays = dict(archive)
    change(arrays)
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match=r"results-1\.npz is damaged"):
        _ = load(results).pairs
    monkeypatch.setattr("bandit_envs.studies.results.results.AT_ONCE", 0)
    with pytest.raises(ValueError, match=r"results-1\.npz is damaged"):
        _ = [pair.result["reward"] for pair in load(results).pairs]


class Bomb:
    """Would leave a file behind when it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return open, (str(self.mark), "w")


@pytest.mark.parametrize("name", ["study", "task", "runs", "reward.mean"])
def test_a_pack_of_results_holds_no_objects(results, name):
    path = results / "tasks" / "results-1.npz"
    mark = results / "mark"
    with np.load(path) as archive:
        arrays = dict(archive)
    arrays[name] = np.array([Bomb(mark)], object)
    np.savez(path, allow_pickle=True, **arrays)

    code, _, err = run("report", results)
    assert code == 2
    assert "is damaged" in err
    path.write_bytes(pickle.dumps(Bomb(mark)))
    assert run("report", results).code == 2
    assert not mark.exists()


def test_files_of_progress_that_take_long_to_read_are_read_rarely(tmp_path, monkeypatch):
    files = Results(tmp_path, parse(TINY)).files
    files.path.mkdir(parents=True)
    pause = 1.0 / MAX_SHARE  # after a second of reading
    times = iter([0.0, 1.0, 0.9 + pause, 1.0 + pause, 1.0 + pause])
    clock = types.SimpleNamespace(monotonic=lambda: next(times))
    monkeypatch.setattr("bandit_envs.studies.results.task_folder.time", clock)
    found = []
    for steps in (1, 2, 3):
        (files.path / f"{PROGRESS}0").write_text(str(steps))
        found.append(files.steps_taken())
    assert found == [1, 1, 3]
