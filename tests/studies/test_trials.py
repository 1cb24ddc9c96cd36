"""A class of a user that fails is named, with its line, and does not stop the others."""

import importlib
import re
import sys
from pathlib import Path

import pytest

from bandit_envs.studies import Study, TasksFailedError, load, run
from bandit_envs.studies.definition.study_file import study_text
from tests.command_line import run as run_command

pytest.importorskip("threadpoolctl")

CLASSES = {
    "forgets_to_return": """
import numpy as np
from bandit_envs import Policy

class MyPolicy(Policy):
    def _initial(self):
        return np.zeros((self.batch_size, self.num_actions))

    def _select(self, rng, learned, time_step):
        return np.zeros(self.batch_size, int)

    def _learn(self, learned, trajectory):
        learned += 1
""",
    "shares_its_rows": """
import numpy as np
from bandit_envs import Policy

class MyPolicy(Policy):
    def _initial(self):
        return np.zeros(10)

    def _select(self, rng, learned, time_step):
        return np.zeros(self.batch_size, int)

    def _learn(self, learned, trajectory):
        return learned
""",
    "has_no_syntax": "def broken(:\n",
    "passes_on": """
from bandit_envs import BernoulliPyEnvironment, DelayedRewards, UCBPolicy

class Inner(BernoulliPyEnvironment):
    def __init__(self, high=0.9, **options):
        super().__init__([0.1, high], **options)

class Late(DelayedRewards):
    independent_rows = True

    def __init__(self, delay=1, **options):
        super().__init__(Inner(**options), delay)

class MyPolicy(UCBPolicy):
    def __init__(self, **options):
        super().__init__(c=1.0, **options)
""",
}
"""Modules of users; the lines count from that of the first import, 2."""

WHERE = {
    "forgets_to_return": r"policy forgets_to_return:MyPolicy in .*_learn returned None.*"
    r"forgets_to_return\.py:12\)$",
    "shares_its_rows": r"policy shares_its_rows:MyPolicy in .*learns_by_row.*"
    r"shares_its_rows\.py:5\)$",
    "has_no_syntax": r"'has_no_syntax:MyPolicy', which cannot be used: invalid syntax",
}
"""What is said of them, and where their code ran, or else is."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the modules, in which the process is."""
    monkeypatch.chdir(tmp_path)
    for name, text in CLASSES.items():
        (tmp_path / f"{name}.py").write_text(text, "utf-8")
        sys.modules.pop(name, None)
    importlib.invalidate_caches()
    yield tmp_path
    for name in CLASSES:
        sys.modules.pop(name, None)
    if sys.path[0] == str(tmp_path):
        del sys.path[0]


def study_of(policies, environment="bernoulli"):
    values = {"title": "", "runs": 3, "steps": 5}
    return Study.from_dict({**values, "environment": [environment], "policy": policies})


@pytest.mark.parametrize("name", WHERE)
def test_a_class_that_fails_alone_is_refused_with_its_module_and_line(folder, name):
    with pytest.raises(ValueError, match=WHERE[name]):
        study_of([f"{name}:MyPolicy"])


def test_classes_that_fail_do_not_stop_the_others(folder):
    names = [f"{name}:MyPolicy" for name in CLASSES]
    found = study_of([*names, "random"])
    assert [str(policy) for policy in found.policy] == ["passes_on:MyPolicy", "random"]
    assert found.failed.keys() == {f"{name}:MyPolicy" for name in WHERE}
    with pytest.raises(TasksFailedError, match="a policy was left out"):
        run(found, folder / "results", backend="threading")


def test_the_row_of_a_class_that_fails_says_so(folder):
    policies = [each for name in CLASSES for each in ("--policy", f"{name}:MyPolicy")]
    options = ("--runs", "3", "--steps", "5", "--workers", "1", "--output", folder / "results")
    code, out, _ = run_command("run", "bernoulli", *policies, *options)
    assert code == 1
    for name in WHERE:
        assert f"{name}:MyPolicy (failed)" in out
    assert "passes_on:MyPolicy " in out
    assert "_learn returned None" in out


def test_ctrl_c_in_a_class_of_a_user_names_it_with_its_line(folder):
    text = "raise_signal(SIGINT)"
    code = CLASSES["forgets_to_return"].replace("learned += 1", text)
    Path("hangs.py").write_text(f"from signal import SIGINT, raise_signal\n{code}", "utf-8")
    policies = ("--policy", "hangs:MyPolicy", "--policy", "random")
    outcome = run_command("run", "bernoulli", *policies, "--output", folder / "results")
    assert outcome.code == 130
    assert re.match(r"interrupted in policy hangs:MyPolicy \(.*hangs\.py:14\): ", outcome.err)


def test_pages_and_tables_for_papers_name_a_class_that_fails(folder):
    study = study_of(["forgets_to_return:MyPolicy", "random"])
    with pytest.raises(TasksFailedError):
        run(study, folder / "results", backend="threading")
    found = load(folder / "results")
    found.write_page(folder / "study.html")
    page = (folder / "study.html").read_text()
    assert "forgets_to_return:MyPolicy (failed)" in page
    assert "Failed: policy forgets_to_return:MyPolicy in environment bernoulli: " in page
    left_out = r"Left out, as they failed: forgets\_to\_return:MyPolicy."
    assert left_out in found.to_latex()


def test_a_study_file_of_what_is_left_runs_without_the_class_that_fails(folder):
    study = study_of(["forgets_to_return:MyPolicy", "random"])
    (folder / "left.toml").write_text(study_text(study))
    left = Study.from_toml(folder / "left.toml")
    assert left.failed == {}
    assert left.policy == study.policy
    assert Study.from_dict(study.to_dict()).failed == {}


def test_what_the_options_of_a_class_pass_on_can_be_named(folder):
    found = study_of(["random"], "passes_on:Late:delay=2,high=0.5")
    assert found.environment[0].parameters == {"delay": 2, "high": 0.5}
    env = found.environment[0].make(4, 0)
    env.reset()
    assert env.expected_rewards().tolist() == 4 * [[pytest.approx(0.1), 0.5]]


def test_what_the_options_of_a_class_do_not_take_is_refused(folder):
    with pytest.raises(ValueError, match=r"unexpected keyword argument 'hihg' \(.*\.py:\d+\)"):
        study_of(["random"], "passes_on:Late:hihg=0.5")
    with pytest.raises(ValueError, match="has no parameter 'seed'"):
        study_of(["random"], "passes_on:Late:seed=1")
    with pytest.raises(ValueError, match="has no parameter 'hihg'"):
        study_of(["random"], "bernoulli:hihg=0.5")
