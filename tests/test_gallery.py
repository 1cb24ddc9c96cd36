"""Figures of the gallery are reproduced."""

import re
import sys

import pytest

pytest.importorskip("joblib")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")
pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")

from bandit_envs.names.notation import parse_toml
from bandit_envs.studies.definition.study import Study
from bandit_envs.studies.results.expected import compare_with_expected
from tests.command_line import example_text, gallery, rows, run, sweep


def test_the_gallery_is_listed_and_misspelt_names_are_corrected():
    code, out, _ = run("reproduce")
    assert code == 0
    assert "  sutton-barto-2.2: Sutton & Barto, Figure 2.2: " in out
    code, _, err = run("reproduce", "sutton-barto-22")
    assert code == 2
    assert "did you mean sutton-barto-2.2?" in err


GALLERY = sorted(file.name.removesuffix(".toml") for file in gallery().iterdir())
RUNS = {
    "lattimore-szepesvari-6.1": 2000,
    "garivier-cappe-2011": 100,
    "garivier-moulines-2011": 300,
    "krishnamurthy-2024": 2000,  # with few runs, rare plays do not happen
    "wheel": 2,
    "lin-ucb-alpha": 2,
    "riquelme-2018-wheel": 2,
    "riquelme-2018-data": 2,
    "tf-agents": 2,
    "tf-agents-ranking": 2,
}
STEPS = {
    "auer-2002": 200,
    "badanidiyuru-2018": 400,
    "garivier-cappe-2011": 1000,
    "garivier-kaufmann-2016": 400,
    "late-rewards": 500,
    "lin-ucb-alpha": 50,
    "zimmert-seldin-2021": 1000,
}
"""Fewer steps for figures that would take long, as steps cost more than runs.

Values that are expected of later steps are not compared: tests of the policies have such values.
"""

ALIKE = ("audibert-bubeck-2010-5", "audibert-bubeck-2010-7")
"""Figures with the policies of other figures, other means and more steps: they are not run here."""

NEEDED = {
    "tf-agents": "tf_agents",
    "tf-agents-ranking": "tf_agents",
    "riquelme-2018-data": "sklearn",
    "riquelme-2018-wheel": "torch",
}
"""The packages that figures need, by the names of the figures."""

DECIDED = ("lattimore-szepesvari-6.1", "garivier-moulines-2011")  # by so many runs


@pytest.mark.parametrize("name", GALLERY)
def test_a_figure_of_the_gallery_has_expected_values_that_fit_it(name):
    if name in NEEDED:
        pytest.importorskip(NEEDED[name])
    values = parse_toml(example_text(name))
    rows = compare_with_expected(Study.from_dict(values), ())
    assert len(rows) >= len(values["expected"]) > 0
    assert {row.verdict for row in rows} == {"not measured"}


def smaller_text(name, runs, steps):
    """Returns the text of a smaller figure, with what is expected of its steps."""
    text = re.sub("(?m)^runs = .*", f"runs = {runs}", example_text(name))
    text = re.sub("(?m)^steps = .*", f"steps = {steps}", text)
    lines = []
    for line in text.splitlines():
        if line.startswith("  { "):
            (expected,) = parse_toml(f"all = [{line}]")["all"]
            if expected.get("step", steps + 1) > steps:
                continue
        lines.append(line)
    return "\n".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize("name", STEPS)
def test_a_long_figure_of_the_gallery_is_run_with_fewer_steps(tmp_path, name):
    text = smaller_text(name, RUNS.get(name, 10), steps=STEPS[name])
    assert sweep(tmp_path, text).code == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in GALLERY if name not in {*STEPS, *ALIKE}])
def test_a_figure_of_the_gallery_is_reproduced_with_fewer_runs(tmp_path, name):
    if name in NEEDED:
        pytest.importorskip(NEEDED[name])
    options = ("--runs", RUNS.get(name, 100), "--output", tmp_path / "results")
    outcome = run("reproduce", name, *options)
    assert outcome.code == 0, outcome.out
    if name in DECIDED:
        verdicts = {row["verdict"] for row in rows(tmp_path / "results" / "comparison.csv")}
        assert verdicts == {"met"}


def test_a_figure_of_few_runs_is_not_compared(tmp_path):
    code, out, _ = run("reproduce", "sutton-barto-2.4", "--runs", 5, "--output", tmp_path)
    assert code == 0
    assert "Not compared with what was published: standard errors of fewer than 50 runs" in out
    assert not (tmp_path / "comparison.csv").exists()
