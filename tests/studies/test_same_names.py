"""Classes of one name in several modules are told apart wherever they are shown."""

import sys

import pytest

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")

from bandit_envs.studies import run as run_study
from bandit_envs.studies.definition.study import Study
from bandit_envs.studies.showing.study_figures import draw_study
from tests.command_line import rows, run, sweep

MODULE = """
from bandit_envs import EpsilonGreedyPolicy, KArmedTestbed

class Mine(EpsilonGreedyPolicy):
    def __init__(self, epsilon=0.1, **options):
        super().__init__(epsilon, **options)

class Own(Mine):
    pass

class Arms(KArmedTestbed):
    def __init__(self, batch_size=1, seed=None):
        super().__init__(3, batch_size=batch_size, seed=seed)
"""
STUDY = """
title = "Homework"
runs = 5
steps = 20
panels = ["reward"]
environment = ["anna:Arms", "ben:Arms"]
policy = ["anna:Mine", "ben:Mine", "ben:Mine:epsilon=0.5", "ben:Own"]

[[expected]]
policy = ["anna:Mine", "ben:Own"]
metric = "reward"
source = "exact: by nobody"
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """Makes a folder with two modules the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("anna", "ben"):
        (tmp_path / f"{name}.py").write_text(MODULE)
    yield
    for name in ("anna", "ben"):
        sys.modules.pop(name, None)


@pytest.fixture
def found(tmp_path):
    """What has finished of the study."""
    return run_study(Study.from_toml(write(tmp_path)), tmp_path / "results")


def write(folder):
    """Writes the study to a file, which it returns."""
    file = folder / "homework.toml"
    file.write_text(STUDY)
    return file


def test_tables_of_the_command_tell_them_apart(tmp_path):
    code, out, _ = sweep(tmp_path, STUDY)
    assert code in (0, 1)  # as the expected order may not be met
    for environment in ("anna:Arms", "ben:Arms"):
        for policy in ("anna:Mine", "ben:Mine", "ben:Mine, ε=0.5", "Own"):
            assert out.count(f" {policy}, {environment} ") == 1
    out = run("report", tmp_path / "results", "--baseline", "ben:Mine").out
    assert "Differences to ben:Mine" in " ".join(out.split())
    labels = [row["policy"] for row in rows(tmp_path / "results" / "comparison.csv")]
    assert labels == [f"anna:Mine < Own in {arms}" for arms in ("anna:Arms", "ben:Arms")]


def test_figures_and_latex_tell_them_apart(found):
    figure = draw_study(found.study, found.pairs)
    (legend,) = figure.legends or [axis.get_legend() for axis in figure.axes if axis.get_legend()]
    names = ["anna:Mine", "ben:Mine", "ben:Mine, ε=0.5", "Own"]
    assert [text.get_text() for text in legend.get_texts()] == names
    titles = {axis.get_title(loc="left") + axis.get_title() for axis in figure.axes}
    assert titles == {"anna:Arms", "ben:Arms"}
    latex = found.to_latex(["mean_reward"])
    assert latex.count("anna:Mine") == latex.count("ben:Mine &") == 1
    assert latex.count("anna:Arms") == latex.count("ben:Arms") == 1


def test_a_page_tells_them_apart(found, tmp_path):
    pytest.importorskip("matplotlib")
    found.write_page(tmp_path / "study.html")
    page = (tmp_path / "study.html").read_text(encoding="utf-8")
    for name in ("anna:Mine", "ben:Mine", "anna:Arms", "ben:Arms"):
        assert name in page


def test_a_name_that_no_other_class_has_is_shown_without_its_module():
    values = {"title": "One", "runs": 1, "steps": 1}
    policies = ["anna:Mine", "anna:Mine:epsilon=0.5", "ben:Own"]
    one = Study.from_dict({**values, "environment": ["anna:Arms"], "policy": policies})
    assert [one.policy_label(each) for each in one.policy] == ["Mine", "Mine, ε=0.5", "Own"]
    assert one.environment_label(one.environment[0]) == "Arms"


def test_a_class_named_as_one_of_this_package_has_its_module(tmp_path):
    (tmp_path / "ben.py").write_text(MODULE.replace("Mine", "UCB"))
    values = {"title": "Two", "runs": 1, "steps": 1, "environment": ["testbed"]}
    two = Study.from_dict({**values, "policy": ["ucb:c=1", "ben:UCB"]})
    assert [two.policy_label(each) for each in two.policy] == ["UCB, c=1", "ben:UCB"]
    own = two.shown(labels={"ben:UCB": "Ben's"})
    assert own.policy_label(own.policy[1]) == "Ben's"
