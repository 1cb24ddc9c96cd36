"""What a release needs: all files of the package, jobs for all checks, and public names."""

import ast
import importlib
import inspect
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import types
from configparser import ConfigParser
from fnmatch import fnmatch
from pathlib import Path

import pytest

import bandit_envs
from tests.conftest import spread_cases

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "bandit_envs"


def text(path):
    return (ROOT / path).read_text(encoding="utf-8")


def test_the_wheel_has_every_file_of_the_package():
    setup_cfg = ConfigParser()
    setup_cfg.read(ROOT / "setup.cfg")
    patterns = setup_cfg["options.package_data"]["bandit_envs"].split()
    for file in PACKAGE.rglob("*"):
        if file.is_file() and file.suffix != ".py" and "__pycache__" not in file.parts:
            name = file.relative_to(PACKAGE).as_posix()
            assert any(fnmatch(name, pattern) for pattern in patterns), name


def jobs():
    """Returns the Pythons of each job of .ci/run, by its name."""
    listed = re.search(r"^jobs=\((.*?)\n\)", text(".ci/run"), re.MULTILINE | re.DOTALL)[1]
    return {name: rest.split() for name, rest in re.findall(r'"(\w+) ([^"]+)"', listed)}


def test_slow_tests_have_their_mark_in_their_files_by_which_the_job_finds_them():
    tests = ROOT / "tests"
    marked = [path for path in tests.rglob("*.py") if "mark.slow" in path.read_text("utf-8")]
    helpers = [path.relative_to(tests) for path in marked if not path.name.startswith("test_")]
    assert {path.parts[0] for path in helpers} <= {"evaluations", "studies"}  # collected as a whole


def test_a_job_may_run_a_few_cases_of_each_quick_test_spread_over_all_of_them():
    def items(function, count, file="test_a.py", marks=()):
        mark = dict.fromkeys(marks, True).get
        return [
            types.SimpleNamespace(
                nodeid=f"{file}::Test{number}::{function}",
                function=function,
                get_closest_marker=mark,
            )
            for number in range(count)
        ]

    first = items("first", 7)
    second = items("second", 7)
    others = [*items("third", 1), *items("slow", 9, marks=["slow"])]
    found = spread_cases([*first, *second, *others], at_most=3)
    assert found == [first[0], first[3], first[6], second[1], second[4], *others]
    found = spread_cases([*first, *second, *others], at_most=1)
    assert found == [first[0], second[1], *others]
    assert spread_cases([*first, *others], at_most=7) == [*first, *others]
    elsewhere = items("first", 1, file="test_b.py")
    assert spread_cases([*first, *elsewhere], at_most=1) == [first[0], *elsewhere]


def test_the_workflow_has_every_job_with_the_pythons_that_it_needs():
    workflow = text(".github/workflows/ci.yml")
    listed = re.findall(r'job: (\S+), python: "(\S+)"', workflow)
    found = {name: versions.split(r"\n") for name, versions in listed}
    by_the_week = jobs().keys() - found.keys()
    assert all(f"run: .ci/run {name}\n" in workflow for name in by_the_week)
    assert found == {name: jobs()[name] for name in found}


def test_contributing_has_every_job_once():
    table = text("CONTRIBUTING.md").partition("| job | runs |")[2].partition("\n\n")[0]
    named = [name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row[:30])]
    assert sorted(named) == sorted(jobs().keys() - {"notebooks"})


def test_at_most_twelve_jobs_run_at_each_change():
    assert len(jobs().keys() - {"notebooks"}) <= 12


def test_the_policies_of_version_0_1_that_stay_are_imported_from_where_it_had_them():
    names = """
    EpsilonGreedyPolicy GaussianThompsonSamplingPolicy GradientBanditPolicy LinUCBPolicy
    LinearThompsonSamplingPolicy Policy RandomPolicy UCBPolicy argmax_random_ties
    """
    assert [name for name in names.split() if not hasattr(bandit_envs.policies, name)] == []


CONTRACT = """
from bandit_envs import RandomPolicy
from bandit_envs.testing import PolicyContract


class TestMine(PolicyContract):
    def make_policy(self, env, seed):
        return RandomPolicy(**RandomPolicy.arguments_for(env), seed=seed)
"""


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["mine", "."])
def test_the_contract_of_a_policy_runs_inside_a_clone_with_nothing_but_pytest(folder, tmp_path):
    for name in ("setup.cfg", "pyproject.toml", "tests/__init__.py", "tests/conftest.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    below = tmp_path / folder
    below.mkdir(exist_ok=True)
    (below / "test_mine.py").write_text(CONTRACT)
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "test_mine.py"],
        cwd=below,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    assert " passed" in found.stdout


PACKAGES = [
    found.name
    for found in pkgutil.walk_packages(bandit_envs.__path__, "bandit_envs.")
    if found.ispkg and not found.name.startswith(("bandit_envs.adapters", "bandit_envs.cli"))
]


@pytest.mark.parametrize("package", ["bandit_envs", *PACKAGES])
def test_a_star_imports_what_a_package_hands_on_and_no_modules(package):
    module = importlib.import_module(package)
    imported = {}
    exec(f"from {package} import *", imported)
    del imported["__builtins__"]
    handed_on = getattr(module, "__all__", None)
    if handed_on is None:
        names = ast.parse(inspect.getsource(module)).body
        assert not any(isinstance(node, ast.ImportFrom) for node in names)
        return
    assert sorted(imported) == sorted(set(handed_on))
    assert not any(isinstance(value, types.ModuleType) for value in imported.values())
