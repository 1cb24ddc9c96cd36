"""What the command says to mistakes: one line, exit code 2, and nothing is overwritten."""

import re
import sys
from pathlib import Path

import pytest

from tests.cases import for_each
from tests.command_line import SMALL, TINY, run, run_testbed, sweep, write

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")

MINE = "tests.studies.mine"
ONE = ("--policy", "random", "--runs", "2", "--steps", "5", "--workers", "1")
HYBRID = "contextual:model=hybrid_ridge,rule=upper_bound"


@for_each(
    ("arguments", "message"),
    [
        (["run", "testbed", "--policy", "thomson"], "did you mean thompson"),
        (["run", "testbed", "--policy", "ucb:c=0"], "policy ucb:c=0 .*: c is 0"),
        (["run", "testbed", "--policy", "greedy", "--policy", "greedy"], "greedy is listed twice"),
        (["reproduce", "--runs", "many"], "--runs: invalid int value: 'many'; .* --help"),
        (["report"], "required: DIR; bandit-envs report --help"),
        (["reproduce", "sutton-barto-2.2", "--runs", "0"], "runs is 0"),
        (["run", "testbed", "--panels", "regrets"], "did you mean regret?"),
        (["reproduce", "lattimore"], "did you mean lattimore-szepesvari-6.1?"),
        (["run", "testbed", "--workers", "0"], "workers is 0"),
        (
            ["run", "testbed", "--workers", "loky:somewhere:1"],
            "'loky:somewhere:1' names no workers; expected a number",
        ),
        (["run", "testbed:k=0"], "environment testbed:k=0: k is 0"),
        (["run", "wheel", "--policy", HYBRID], "no features of actions"),
        (["run", "k_armed", "--policy", "kl_ucb"], "from 0 to 1; .*RescaleReward"),
        (["run", "testbed", "--polcy", "greedy"], "did you mean --policy?"),
        (["learn", "t.csv", "--output", "p.npz", "--logger", "by"], "learn --help all shows all"),
        (["run", "testbed", "--quantiles", "0.1", "2"], "quantiles is 2"),
        (["evaluate", "log.npz", "--fail-below", "nan"], "--fail-below: invalid bound"),
        (
            ["evaluate", "t.csv", "--by", "a", "--by", "b", "--policy", "random"],
            "--by is given twice; expected one",
        ),
        (
            ["learn", "t.csv", "--output", "p.npz", "--features", "a", "--features", "b"],
            "--features is given twice; expected one",
        ),
        (["report", ".", "--latex", "no/t.tex"], "is no folder .*no"),
        (["run", "testbed", *ONE, "--record", "no/log.npz"], "record is .*there is no folder"),
        (
            ["run", "testbed", *ONE, "--record", "out/log", "--output", "out"],
            "record is out/log, in the folder of the results",
        ),
        (["run", "per_arm:noise=1"], "'noise'; expected .*noise_std"),
        (["run", f"{MINE}:Always"], "not a subclass of BanditPyEnvironment or Wrapper"),
        (["run", f"{MINE}:Bernoulli:means=0.5"], "environment .*means=0.5: "),
        (["run", "testbed", "--policy", "greedy", "ucb:c=1"], "did you mean --policy ucb:c=1?"),
        (["run", "testbed", "k=5"], "follow a colon, as in ID:k=5"),
        (["run", "testbed", "--policy", f"{MINE}:Always:action=99"], "in environment testbed: "),
        (["run", "testbed", "--policy", "\x1b[31m"], "policy is"),
        (["run", "testbed", "--policy", f"{MINE}:Failing"], r"mine\.py:\d+"),
        (["run", f"cascade:attractions=[0{300 * ',0.1'}],num_slots=999"], r": num_slots is 999"),
        (
            ["report", "nowhere", "--figure", "paper.doc"],
            r"figure is paper\.doc; expected .*\.pdf$",
        ),
        (["report", "nowhere"], "folder nowhere holds no results of a study$"),
        (["show", "nowhere"], "there is no folder nowhere$"),
        (["show", "."], "holds no results of a study$"),
        (["sweep", "nowhere.toml"], "nowhere.toml: No such file"),
        (["sweep", "."], "directory"),
        ([], "COMMAND"),
        (["test-bed"], "test-bed"),
        (["run"], "ENV"),
        (["reproduce", "sutton-barto-2.7"], "did you mean sutton-barto-2"),
        (["reproduce", "--speed", "1"], "--speed"),
        (["run", "testbed", "--workers", "mpi:3"], "--workers: 'mpi:3'"),
    ],
)
def test_wrong_input_ends_with_one_line_and_no_file(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parents[2]), *sys.path])
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("bandit-envs")
    assert err[:-1].isprintable()
    assert len(err) < 1500
    assert re.search(message, err)
    assert list(tmp_path.iterdir()) == []


@for_each(
    ("text", "message"),
    [
        ("runs = ", "Invalid value"),
        ("title = 'a'\ntitle = 'b'", "Cannot overwrite a value"),
        ("", "'title'"),
        (TINY.replace("runs = 4", "run = 5"), "'run'"),
        (TINY.replace("runs = 4", 'runs = "4"'), "runs is '4'"),
        (
            "title = 'a'\npolicy = ['greedy']\n[[environment]]\nname = 'testbed'\nruns = 4",
            "write runs above",
        ),
        (TINY + "quantiles = [0.1, 0.9]", "write quantiles above"),
        (TINY + "seed = 3", "write seed above"),
        (TINY + "[[expected]]\nmetric = 'reward'\nseed = 3", "write seed"),
        ("expected = ['reward']\n" + TINY, "a table is 'reward'"),
        (TINY + "[[policy]]\nname = 'ucb:c=1'", "name is 'ucb'"),
        (TINY + "x = " + 3000 * "[" + 3000 * "]", ""),
    ],
)
def test_a_study_that_is_invalid_ends_with_one_line_and_no_file(tmp_path, text, message):
    for arguments in ((), ("--dry-run",)):
        code, out, err = sweep(tmp_path, text, *arguments)
        assert (code, out) == (2, "")
        assert "study.toml: " in err
        assert message in err
        assert err.count("\n") == 1
        assert len(err) < 1500
        assert not (tmp_path / "results").exists()


def test_a_study_that_is_no_text_ends_with_one_line(tmp_path):
    (tmp_path / "latin-1.toml").write_bytes("title = 'ü'".encode("latin-1"))
    code, out, err = run("sweep", tmp_path / "latin-1.toml")
    assert (code, out) == (2, "")
    assert "can't decode byte" in err
    assert err.count("\n") == 1


def test_no_log_is_recorded_for_results_that_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("run", "testbed", *ONE, "--output", "out").code == 0
    outcome = run("run", "testbed:k=3", *ONE, "--output", "out", "--record", "log.npz")
    assert outcome.code == 2
    assert "holds results of other arguments: environment; expected" in outcome.err
    assert not Path("log.npz").exists()


def test_an_error_names_the_file_that_was_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("run", "testbed", *ONE, "--output", "out").code == 0
    for command in (
        ["report", "out", "--figure", "no/f.png"],
        ["show", "out", "--output", "no/p.html"],
    ):
        outcome = run(*command)
        assert (outcome.code, f"{command[-1]}: No such file" in outcome.err) == (2, True)


def test_a_folder_that_may_not_be_written_is_refused(tmp_path, monkeypatch):
    def refuse(path, *arguments, **options):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "mkdir", refuse)  # for root may write anywhere
    code, _, err = run_testbed(tmp_path, *SMALL)
    assert code == 2
    assert f"output folder {tmp_path / 'results'} cannot be written: " in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("package", "extra"),
    [("rich", "cli"), ("threadpoolctl", "cli"), ("distributed", "dask"), ("ray", "ray")],
)
def test_a_missing_package_is_named_with_what_to_install(tmp_path, monkeypatch, package, extra):
    monkeypatch.setitem(sys.modules, package, None)
    if package == "rich":  # which is imported with the command
        for module in ("rich.console", "bandit_envs.cli.console", "bandit_envs.cli.studies"):
            monkeypatch.delitem(sys.modules, module, raising=False)
    workers = "1" if extra == "cli" else extra
    options = ("--output", tmp_path / "results", "--workers", workers)
    code, out, err = run("sweep", write(tmp_path, TINY), *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f'{package} is not installed; in a checkout: pip install ".[{extra}]"' in err
    assert not (tmp_path / "results").exists()
