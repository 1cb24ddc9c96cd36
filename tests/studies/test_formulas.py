"""Formulas in the labels of a study: what figures and tables of LaTeX get, and what is refused."""

import importlib
import sys

import pytest

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")

from bandit_envs.showing.formulas import COMMANDS, check_formulas
from bandit_envs.showing.latex import escape
from bandit_envs.studies import Study, load, run
from tests import command_line

VALUES = {
    "title": "Greed",
    "runs": 4,
    "steps": 5,
    "environment": ["testbed:k=3"],
    "policy": ["greedy", "ucb:c=1"],
}

ATTACKS = [
    r"$\input{/etc/passwd}$",
    r"$\include{x}$",
    r"$\openin5=x$",
    r"$\read5 to \x$",
    r"$\write18{touch mark}$",
    r"$\immediate\write18{touch mark}$",
    r"$\directlua{os.execute('touch mark')}$",
    r"$\def\alpha{\input{x}}$",
    r"$\catcode`\@=0 @input{x}$",
    r"$\csname input\endcsname{x}$",
    r"$\alpha\input{x}$ and $\beta$",
    r"$\special{x}$",
    r"$\usepackage{x}$",
    r"$\href{file:x}{y}$",
    r"$\includegraphics{x}$",
    "$^^5cinput{x}$",
    r"$^^5c^^69nput{x}$",
    r"$a % b$",
    "$a & b$",
    "$#1$",
    r"$a \\ b$",
    "$\\$",
    r"$\@@input x$",
    "$}\\text{x}{$",
    "${$",
    r"$\inputα$",
    "costs $5 \\input{x} or $6",
]


@pytest.mark.parametrize("text", ATTACKS)
def test_a_formula_that_reads_or_defines_is_text_in_latex_and_refused_in_labels(text):
    assert "$" not in escape(text).replace(r"\$", "").replace(r"$\alpha$", "")
    with pytest.raises(ValueError, match="whose formula has"):
        check_formulas("label", text)


@pytest.mark.parametrize(
    "text",
    [
        r"$\varepsilon$-greedy, $\varepsilon=0.1$",
        r"$\frac{1}{\sqrt{t}}$ and $\log_{2}(t)$",
        r"UCB, $c = \sqrt{2}\,\ln t$",
        "costs $5",
        r"C:\data\input{x}",
        "50% of {this} & #1",
    ],
)
def test_formulas_of_papers_stay(text):
    assert check_formulas("label", text) == text
    if "\\" in text and "$" in text:
        assert escape(text) == text


@pytest.mark.parametrize("text", ["$\\frac{1}$", "$a_$", r"$\left( a$", "$a^b^c$", "$$"])
def test_what_matplotlib_cannot_draw_is_refused_before_anything_runs(text, tmp_path):
    pytest.importorskip("matplotlib")
    for values in (
        {"labels": {"greedy": text}},
        {"policy": [{"name": "greedy", "label": text}]},
        {"over": {text: [1.0]}},
    ):
        with pytest.raises(ValueError, match="which matplotlib cannot draw"):
            run(Study.from_dict({**VALUES, **values}), tmp_path / "results")
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("text", [r"$\input{x}$", r"$\unknown$"])
def test_other_commands_are_refused_before_anything_runs(text, tmp_path):
    study = Study.from_dict(VALUES)
    for values in ({"labels": {"greedy": text}}, {"over": {text: [1.0]}}):
        with pytest.raises(ValueError, match="whose formula has"):
            Study.from_dict({**VALUES, **values})
    with pytest.raises(ValueError, match="whose formula has"):
        study.shown(labels={"greedy": text})


def test_labels_that_are_a_formula_together_are_refused():
    labels = {"greedy": r"costs $5 \x", "testbed:k=3": "of $10", "testbed:k=4": "of $9"}
    environments = ["testbed:k=3", "testbed:k=4"]
    with pytest.raises(ValueError, match="whose formula has"):
        Study.from_dict({**VALUES, "environment": environments, "labels": labels})


def test_a_title_is_no_formula(tmp_path):
    pytest.importorskip("matplotlib")
    study = Study.from_dict({**VALUES, "title": r"$\input{/etc/passwd}$ and $\frac{$"})
    found = run(study, tmp_path / "results")
    assert found.plot().get_suptitle() == study.title
    assert r"\textbackslash{}input\{/etc/passwd\}" in found.to_latex()


def test_the_command_refuses_a_bad_label_before_anything_runs(tmp_path):
    pytest.importorskip("rich")
    file = tmp_path / "study.toml"
    label = r'label = "$\\input{x}$"'
    policies = f'[[policy]]\nname = "greedy"\n{label}\n'
    text = f'title = "T"\nruns = 2\nsteps = 3\n[[environment]]\nname = "testbed"\n{policies}'
    file.write_text(text, "utf-8")

    code, _, err = command_line.run("sweep", file, "--output", tmp_path / "results")

    assert code == 2
    assert "whose formula has \\input" in " ".join(err.split())
    assert not (tmp_path / "results").exists()


def test_a_long_label_is_not_broken_within_a_formula(tmp_path):
    pytest.importorskip("matplotlib")
    formula = r"$\alpha = \frac{ 1 }{ 1 + \sqrt{ t } }$ and some more words about it"
    labels = {"testbed:k=3": f"A long label of an environment, {formula}", "greedy": 3 * formula}
    found = run(Study.from_dict({**VALUES, "labels": labels}), tmp_path / "results")
    for width in (2.0, 8.0):
        found.plot(width=width).savefig(tmp_path / "figure.png")


def test_matplotlib_knows_all_commands_that_need_nothing():
    mathtext = pytest.importorskip("matplotlib.mathtext")
    need = {"left", "right", "frac", "dfrac", "genfrac", "binom"}
    need |= {"big", "Big", "bigg", "Bigg", "sqrt", "operatorname", "text"}
    parser = mathtext.MathTextParser("path")
    for name in sorted(COMMANDS - need):
        parser.parse(rf"$\{name}{{x}}$")


def test_without_matplotlib_the_list_of_commands_holds(monkeypatch):
    formulas = importlib.import_module("bandit_envs.showing.formulas")
    formulas._parse.cache_clear()
    monkeypatch.setitem(sys.modules, "matplotlib.cbook", None)
    monkeypatch.setitem(sys.modules, "matplotlib.mathtext", None)
    assert check_formulas("label", "$a_$") == "$a_$"
    with pytest.raises(ValueError, match="whose formula has"):
        check_formulas("label", r"$\input{x}$")
    formulas._parse.cache_clear()


def test_labels_are_checked_when_results_are_read(tmp_path):
    run(Study.from_dict(VALUES), tmp_path)
    with pytest.raises(ValueError, match="whose formula has"):
        load(tmp_path, labels={"greedy": r"$\input{x}$"})
