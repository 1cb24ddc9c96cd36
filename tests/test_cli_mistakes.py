"""What the command says to mistakes: one line, exit code 2, and nothing is overwritten."""

import subprocess
import sys
from pathlib import Path

import pytest

from bandit_envs.cli import main
from tests.command_line import SMALL, content, run_testbed

pytest.importorskip("joblib")
pytest.importorskip("filelock")
pytest.importorskip("rich")
pytest.importorskip("matplotlib")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--policy", "thomson"], "policy is 'thomson'; expected one of random, greedy, "),
        (["--policy", ""], "policy is ''; expected one of random, greedy, "),
        (["--policy", "ucb:d=2"], "policy ucb got 'd'; expected c"),
        (["--policy", "random:c=2"], "policy random got 'c'; expected no parameters"),
        (["--policy", "greedy:epsilon=0.1"], "got 'epsilon'; expected initial_value, step_size"),
        (["--policy", "ucb"], "policy ucb got no c; expected one"),
        (["--policy", "ucb:"], "policy is 'ucb:'; expected name:key=value,key=value"),
        (["--policy", "ucb:c"], "policy is 'ucb:c'; expected name:key=value,key=value"),
        (["--policy", "ucb:c=2,c=3"], "policy ucb got c twice; expected it once"),
        (["--policy", "ucb:c=two"], "c is 'two'; expected a number, true, false or none"),
        (["--policy", "ucb:c=0"], "c is 0; expected more than 0"),
        (["--policy", "ucb:c=none"], "c is None; expected a number"),
        (["--policy", "ucb:c=inf"], "c is inf; expected a finite number"),
        (["--policy", "epsilon_greedy:epsilon=2"], "epsilon is 2; expected a number from 0 to 1"),
        (["--policy", "epsilon_greedy:epsilon=true"], "epsilon is True; expected a number"),
        (["--policy", "greedy:step_size=0"], "step_size is 0; expected more than 0"),
        (["--policy", "gradient:step_size=1,baseline=1"], "baseline is 1.0; expected True or Fal"),
        (["--policy", "lin_ucb"], "policy lin_ucb"),
        (["--policy", "greedy", "--policy", "greedy"], "policy greedy is there twice; expected"),
        (["--figure", "2.2", "--policy", "greedy"], "policy greedy is there twice; expected"),
        (["--figure", "2.7"], "choose from"),
        (["--runs", "0"], "argument --runs: '0'; expected an integer, at least 1"),
        (["--runs", "1.5"], "argument --runs: '1.5'; expected an integer, at least 1"),
        (["--steps", "-3"], "argument --steps: '-3'; expected an integer, at least 1"),
        (["--arms", "none"], "argument --arms: 'none'; expected an integer, at least 1"),
        (["--seed", "-1"], "argument --seed: '-1'; expected an integer, at least 0"),
        (["--runs"], "argument --runs: expected one argument"),
        (["--speed", "1"], "unrecognized arguments: --speed 1"),
    ],
)
def test_wrong_input_ends_with_one_line_and_no_file(tmp_path, arguments, message):
    code, folder, out, err = run_testbed(tmp_path, *arguments)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("bandit-envs")
    assert message in err
    assert not folder.exists()


def test_no_command_and_an_unknown_one_are_refused(capsys):
    for arguments in ([], ["test-bed"]):
        with pytest.raises(SystemExit, match="2"):
            main(arguments)
        assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("other", [("--seed", "1"), ("--steps", "13"), ("--policy", "random")])
def test_a_folder_of_other_results_is_left_alone(tmp_path, other):
    _, folder, _, _ = run_testbed(tmp_path, *SMALL)
    before = content(folder)
    code, _, out, err = run_testbed(tmp_path, *SMALL, *other)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert "holds something else; expected a new or empty folder" in err
    assert content(folder) == before


def test_a_folder_of_other_files_is_left_alone(tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "thesis.tex").write_text("chapter 1")
    code, folder, _, err = run_testbed(tmp_path, *SMALL)
    assert code == 2
    assert err.count("\n") == 1
    assert "holds something else; expected a new or empty folder" in err
    assert content(folder) == {folder / "thesis.tex": b"chapter 1"}


@pytest.mark.parametrize("output", ["file", "file/results"])
def test_an_output_that_cannot_be_a_folder_is_refused(tmp_path, output):
    (tmp_path / "file").write_text("not a folder")
    code, _, _, err = run_testbed(tmp_path, *SMALL, output=output)
    assert code == 2
    assert err.count("\n") == 1
    assert f"output folder {tmp_path / output}" in err
    assert "; expected a folder" in err
    assert content(tmp_path) == {tmp_path / "file": b"not a folder"}


def test_a_folder_that_may_not_be_written_is_refused(tmp_path, monkeypatch):
    def refuse(path, *arguments, **options):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "mkdir", refuse)  # for root may write anywhere
    code, folder, _, err = run_testbed(tmp_path, *SMALL)
    assert code == 2
    assert err == (
        f"bandit-envs: output folder {folder} cannot be written: Permission denied; "
        "expected a folder that can\n"
    )


@pytest.mark.parametrize("package", ["rich", "matplotlib", "joblib", "filelock", "threadpoolctl"])
def test_a_missing_package_is_named_with_what_to_install(package, tmp_path):
    code = f"""
import sys

class Missing:
    def find_spec(name, path, target=None):
        if name == {package!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing)

from bandit_envs.cli import main

sys.exit(main(sys.argv[1:]))
"""
    command = [sys.executable, "-c", code, "testbed", "--output", str(tmp_path / "results")]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 2
    assert process.stdout == ""
    assert process.stderr == (
        f"bandit-envs: {package} is not installed; expected pip install 'bandit_envs[cli]'\n"
    )
    assert not (tmp_path / "results").exists()
