"""Tables of LaTeX: what their numbers are, and that LaTeX reads them."""

import re
import shutil
import subprocess

import pytest

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("rich")
pytest.importorskip("pandas")
pytest.importorskip("scipy")

from bandit_envs.showing.latex import escape, to_latex
from bandit_envs.showing.tables import Cell, Group, NumericColumn, Table, rounded
from bandit_envs.studies import Study, load, run
from tests import command_line

VALUES = {
    "title": r"50% of a_b & $\input{x}$ ~ #1",
    "runs": 40,
    "steps": 60,
    "environment": ["testbed:k=3", "testbed:k=5"],
    "policy": ["random", "ucb:c=1", "epsilon_greedy:epsilon=0.1"],
    "labels": {"ucb:c=1": r"$\alpha$ & λ_{x}^2 <\input{y}> 5%", "testbed:k=3": "three ~ #"},
}

BASELINES = [None, "random"]
"""A table without stars, and one with them."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("latex")
    run(Study.from_dict(VALUES), folder)
    return folder


@pytest.fixture(scope="module")
def found(folder):
    return load(folder)


def rows_of(table):
    """Returns the cells of the rows below the headings of a table."""
    body = table.partition(r"\toprule")[2].partition(r"\bottomrule")[0]
    lines = [line.removesuffix(r" \\") for line in body.splitlines() if line.endswith(r"\\")]
    return [re.split(r" (?<!\\)& ", line) for line in lines]


def policy_rows(table):
    return [row for row in rows_of(table)[1:] if not row[0].startswith(r"\multicolumn")]


def number_of_columns(table):
    """Returns how many columns a tabular declares."""
    return len(re.search(r"\\begin\{tabular\}\{(.*)\}\n", table)[1])


@pytest.mark.parametrize("baseline", BASELINES)
def test_every_row_has_a_cell_for_each_column(found, baseline):
    table = found.to_latex(baseline=baseline)
    columns = number_of_columns(table)
    assert all(len(row) == columns for row in policy_rows(table))
    assert len(rows_of(table)[0]) == columns
    for width in re.findall(r"\\multicolumn\{(\d+)\}", table):
        assert int(width) == columns


@pytest.mark.parametrize("baseline", BASELINES)
def test_braces_and_environments_of_a_table_are_closed(found, baseline):
    table = found.to_latex(baseline=baseline)
    plain = re.sub(r"\\[\\{}$&%#_]", "", table)
    assert plain.count("{") == plain.count("}")
    assert plain.count("$") % 2 == 0
    assert table.count(r"\begin") == table.count(r"\end") == 2
    assert r"\input" not in table
    for sign in "%#&_":
        assert not re.search(rf"(?<!\\)\{sign}", plain.replace(" & ", "").replace("$_", ""))


@pytest.mark.parametrize("baseline", BASELINES)
def test_pdflatex_makes_pages_of_a_table(found, baseline, tmp_path):
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("needs pdflatex")
    packages = r"\usepackage{booktabs}"
    table = found.to_latex(baseline=baseline)
    text = rf"\documentclass{{article}}{packages}\begin{{document}}{table}\end{{document}}"
    (tmp_path / "table.tex").write_text(text, encoding="utf-8")
    command = [program, "-interaction=nonstopmode", "-halt-on-error", "table.tex"]
    outcome = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=120)
    if b"booktabs.sty' not" in outcome.stdout:
        pytest.skip("needs booktabs of LaTeX")
    assert outcome.returncode == 0, outcome.stdout.decode(errors="replace")[-2000:]
    assert (tmp_path / "table.pdf").stat().st_size > 5000


def test_stars_say_how_small_p_values_are(found):
    table = found.to_latex(["mean_reward"], "random")
    frame = found.differences()
    p_values = frame[frame.quantity == "mean_reward"].p_t_holm.tolist()
    cells = [cell for row in policy_rows(table) for cell in row[1:]]
    stars = [cell.partition("^{")[2].partition("}")[0].partition("\\")[0] for cell in cells]
    expected = [sum(p < level for level in (0.05, 0.01, 0.001)) * "*" for p in p_values]
    assert stars == ["", "", expected[0], expected[2], expected[1], expected[3]]
    assert "***" in expected
    assert r"*** $p < 0.001$: by a paired t-test of the difference to random" in table


def test_columns_are_environments_and_of_one_environment_quantities(found, tmp_path):
    names = ["mean_reward", "cumulative_regret"]
    table = found.to_latex(names)
    assert rows_of(table)[0] == ["policy", r"three \textasciitilde{} \#", "k-armed testbed, k=5"]
    headings = [row[0] for row in rows_of(table) if len(row) == 1]
    assert headings == [rf"\multicolumn{{3}}{{l}}{{{each}}}" for each in ("mean reward", "regret")]
    one = run(Study.from_dict({**VALUES, "environment": ["testbed:k=3"]}), tmp_path)
    narrow = one.to_latex(names)
    assert rows_of(narrow)[0] == ["policy", "mean reward", "regret"]
    wide = policy_rows(table)
    expected = [[*first[:2], second[1]] for first, second in zip(wide[:3], wide[3:])]
    assert policy_rows(narrow) == expected


def test_the_caption_defines_the_errors(found):
    caption = re.search(r"\\caption\{(.*)\}\\medskip", found.to_latex())[1]
    assert "40 runs of 60 steps" in caption
    assert (
        r"one standard error over the $n = 40$ runs: their standard deviation, with $n - 1$"
        in caption
    )


@pytest.mark.parametrize(
    ("title", "sentence"), [("", ""), ("Optimism", "Optimism. "), ("Optimism?", "Optimism? ")]
)
def test_the_caption_begins_with_the_title_as_a_sentence(folder, title, sentence):
    table = load(folder, title=title).to_latex()
    assert rf"\caption{{{sentence}40 runs of 60 steps." in table


def test_a_caption_of_quantiles_says_that_numbers_are_medians(tmp_path):
    values = {**VALUES, "runs": 5, "steps": 8, "quantiles": [0.1, 0.9]}
    table = run(Study.from_dict(values), tmp_path).to_latex(["cumulative_regret"])
    assert r"Medians over runs, with the 10\% and 90\% quantiles." in table
    assert r"\pm" not in table


def test_probabilities_have_intervals_that_the_caption_names(tmp_path):
    values = {
        "title": "The best arm",
        "runs": 30,
        "steps": 60,
        "environment": ["bernoulli:means=[0.3,0.5]"],
        "metrics": ["error"],
        "panels": ["error"],
        "policy": ["uniform_allocation:budget=60", "sequential_halving:budget=60"],
    }
    found = run(Study.from_dict(values), tmp_path)
    table = found.to_latex(["error"])
    assert "Errors: with Wilson's 95\\% interval." in table
    assert "with quantiles over runs" not in found.to_latex()
    row = found.summary.iloc[0]
    numbers = [float(each) for each in re.findall(r"\$([\d.]+)\$", policy_rows(table)[0][1])]
    assert numbers == pytest.approx([row.error, row.error_low, row.error_high], abs=0.006)


def test_numbers_have_two_digits_of_their_error():
    assert rounded(0.99, 0.0996, error=0.0996) == ["0.99", "0.10"]
    assert rounded(-0.0001, 0.04, error=0.04) == ["0.000", "0.040"]
    assert rounded(98765.4, 1234.5, error=1234.5) == ["98800", "1200"]
    assert rounded(1.0, error=0.0) is None
    assert rounded(1.0, error=float("nan")) is None


def test_what_has_not_finished_is_left_out_in_words(tmp_path):
    done = run(Study.from_dict({**VALUES, "runs": 3}), tmp_path / "results")
    command_line.forget_tasks(tmp_path / "results", [2])
    table = load(tmp_path / "results").to_latex()
    assert "Left out, as not finished: 1 of 6." in table
    expected = policy_rows(done.to_latex())
    for row in expected[2::3]:
        row[1] = ""
    assert policy_rows(table) == expected


def test_a_wrong_quantity_or_baseline_is_refused(found):
    with pytest.raises(ValueError, match="quantities has 'reward'; expected some of mean_reward"):
        found.to_latex(["reward"], "random")
    with pytest.raises(ValueError, match="baseline is nobody; expected one of random"):
        found.to_latex(baseline="nobody")


def test_one_run_has_no_error_and_nothing_to_compare(tmp_path):
    one = run(Study.from_dict({**VALUES, "runs": 1}), tmp_path)
    assert r"\pm" not in one.to_latex()
    with pytest.raises(ValueError, match="nothing has finished to compare with random"):
        one.to_latex(baseline="random")


def test_texts_of_a_table_are_escaped_where_they_come_in():
    row = (["a_b", "$5"], [Cell("1.0", ends=("0.5", "1.5"), p_value=0.2), None])
    columns = [NumericColumn("x & y", has_p=True), NumericColumn("z")]
    table = to_latex(Table(["policy", "100%"], columns, [Group("", [row])]), ["Caption."])
    assert r"policy & 100\% & x \& y & $p$ & z \\" in table
    assert r"a\_b & \$5 & $1.0$ ($0.5$ to $1.5$) & $0.2$ &  \\" in table
    assert escape(r"$\alpha\input{x}$") == (r"\$\textbackslash{}alpha\textbackslash{}input\{x\}\$")
    assert escape("β < Ω") == r"$\beta$ \textless{} $\Omega$"


def test_the_report_writes_the_table_to_a_file(folder, found, tmp_path):
    file = tmp_path / "table.tex"
    outcome = command_line.run("report", folder, "--latex", file, "--baseline", "ucb:c=1")
    assert outcome.code == 0, outcome.err
    assert file.read_text(encoding="utf-8") == found.to_latex(baseline="ucb:c=1")
    assert command_line.run("report", folder, "--latex", file).code == 0
    assert file.read_text(encoding="utf-8") == found.to_latex()


def test_the_report_refuses_a_file_that_is_not_of_latex(folder, tmp_path):
    outcome = command_line.run("report", folder, "--latex", tmp_path / "table.txt")
    assert outcome.code == 2
    assert "expected a file ending in .tex" in outcome.err
