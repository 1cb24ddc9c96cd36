"""The page of a study: what is in it."""

import html
import re
import shutil
import sys
from types import SimpleNamespace

import pytest

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("rich")
pytest.importorskip("matplotlib")
pytest.importorskip("scipy")
pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")

from bandit_envs.metrics import QUANTITIES
from bandit_envs.names.notation import parse_toml
from bandit_envs.showing.tables import p_text
from bandit_envs.studies import Study, load, run
from bandit_envs.studies.definition import study as study_module
from bandit_envs.studies.definition.study_file import study_text
from bandit_envs.studies.showing.ranked_policies import choose_lines, rank_policies
from tests import command_line
from tests.command_line import example_text, gallery

VALUES = {
    "title": "Greed & <optimism>",
    "runs": 20,
    "steps": 60,
    "environment": ["testbed:k=3", "testbed:k=5"],
    "policy": ["greedy", {"name": "ucb", "c": [1, 2], "label": "UCB ({c})", "color": "tab:red"}],
    "panels": ["reward", "percent_optimal"],
    "expected": [
        {"metric": "reward", "policy": "greedy", "value": 1.0, "tolerance": 9.0, "source": "exact"}
    ],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    run(Study.from_dict(VALUES), folder)
    return folder


@pytest.fixture(scope="module")
def page(folder):
    """The file of the page that the command writes."""
    pytest.importorskip("plotly", reason="plotly is not installed")
    outcome = command_line.run("show", folder)
    lines = [*load(folder).headline(), f"Page: {folder / 'study.html'}", ""]
    assert outcome == (0, "\n".join(lines), "")
    return folder / "study.html"


def test_a_page_has_all_that_it_needs_in_itself(page):
    text = page.read_text("utf-8")
    assert re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"http[^\"]*", text) == []
    assert text.count('"showSendToCloud": false') == 1
    assert "<h1>Greed &amp; &lt;optimism&gt;</h1>" in text
    sentences = load(page.parent).headline()
    assert len(sentences) == 2
    parts = [*map(html.escape, sentences), "20 runs of 60 steps", "<h2>Results"]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    for part in ("Expected values", "UCB (2)", "k-armed testbed, k=5"):
        assert part in text


@pytest.mark.filterwarnings("ignore:The BCa", "ignore:Degrees of freedom", "ignore:invalid value")
def test_a_page_has_the_p_values_of_differences(page):
    text = page.read_text("utf-8")
    assert "<h2>Differences to greedy on the same problems</h2>" in text
    rows = re.findall(r"<tr>(.*?)</tr>", text.partition("Differences to greedy")[2])[1:5]
    found = load(page.parent).differences(resamples=1)
    for row, label in zip(rows, ["UCB (1)", "UCB (2)"] * 2):
        assert f"<td>{label}</td>" in row
    means = found[found.quantity == "mean_reward"].p_t_holm
    assert [re.findall(r">([^<>]+)</td>", row)[3] for row in rows] == list(map(p_text, means))
    assert "corrected by Holm for the number of policies in an environment" in text


def test_a_page_has_the_text_of_the_study(page):
    text = study_text(load(page.parent).study)
    assert Study.from_dict(parse_toml(text)) == load(page.parent).study
    assert "policy = [&quot;greedy&quot;, &quot;ucb:c=1&quot;" in page.read_text("utf-8")


def test_the_text_of_a_study_has_a_line_for_each_policy_and_label():
    policies = [f"epsilon_greedy:epsilon=0.{digit}" for digit in range(1, 9)]
    labels = {policy: f"greedy ({number})" for number, policy in enumerate(policies)}
    study = Study.from_dict({**VALUES, "policy": policies, "labels": labels, "expected": []})
    text = study_text(study)
    assert Study.from_dict(parse_toml(text)) == study
    lines = text.splitlines()
    for policy, label in labels.items():
        assert f'  "{policy}",' in lines
        assert f'"{policy}" = "{label}"' in lines


@pytest.mark.parametrize(
    "name",
    [
        file.stem
        for file in sorted(gallery().iterdir())
        if file.suffix == ".toml" and not file.stem.startswith("riquelme")  # it needs data sets
    ],
)
def test_the_text_of_a_study_makes_the_same_study(name, monkeypatch):
    if name.startswith("tf-agents"):
        pytest.importorskip("tf_agents")
    monkeypatch.setattr(study_module, "find_unknown_metrics", lambda *choices: {})  # runs nothing
    study = Study.from_dict(parse_toml(example_text(name)))
    assert Study.from_dict(parse_toml(study_text(study))) == study


def test_a_page_of_a_parameter_study_has_its_figure_and_curves_of_what_is_measured(tmp_path):
    pytest.importorskip("plotly", reason="plotly is not installed")
    run(Study.from_dict({**VALUES, "panels": [], "expected": []}), tmp_path)
    load(tmp_path).write_page(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    assert 'src="data:image/png;base64,' in text
    assert "<h2>Expected values" not in text
    assert text.count('class="chart"') == 1


def test_a_page_without_plotly_has_the_figure_and_says_what_it_lacks(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("bandit_envs.showing.page.find_spec", lambda name: None)
    outcome = command_line.run("show", folder, "--output", tmp_path / "page.html")
    assert outcome.code == 0
    assert "these need Plotly" in outcome.out
    text = (tmp_path / "page.html").read_text("utf-8")
    assert text.count('src="data:image/png;base64,') == 1
    assert "<script" not in text


def test_a_page_says_how_much_has_not_finished(folder, tmp_path):
    file = tmp_path / "page.html"
    for number, text in ((1, "1 of 6 tasks has not finished."), (6, "Nothing has finished")):
        copy = shutil.copytree(folder, tmp_path / str(number))
        command_line.forget_tasks(copy, range(number))
        load(copy).write_page(file)
        assert text in file.read_text("utf-8")


def test_a_page_ends_in_html(folder, tmp_path):
    pytest.importorskip("plotly", reason="plotly is not installed")
    code, _, err = command_line.run("show", folder, "--output", tmp_path / "page.pdf")
    assert code == 2
    assert "expected a file ending in .html" in err


def test_a_page_of_many_policies_ranks_them_and_draws_the_best(tmp_path):
    pytest.importorskip("plotly", reason="plotly is not installed")
    policies = [f"epsilon_greedy:epsilon={number / 40}" for number in range(40)]
    values = {**VALUES, "runs": 2, "steps": 200, "expected": [], "policy": policies}
    found = run(Study.from_dict(values), tmp_path)
    found.write_page(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    assert "Curves are of the 32 best by mean reward of 40 policies; the table has all." in text
    ranked = rank_policies(found.study, found.pairs)
    rows = re.findall(r"<tr><td>(.*?)</td><td", text.partition("<h2>Ranking")[2])
    labels = [found.study.policy_label(each.policy) for each in ranked]
    assert rows[:40] == labels
    drawn = set(re.findall(r'"name":"(.*?)"', text))
    escaped = [label.encode("ascii", "backslashreplace").decode() for label in labels]
    assert {label in drawn for label in escaped[:32]} == {True}
    assert {label in drawn for label in escaped[32:]} == {False}


def test_ranks_are_means_over_environments_and_ties_share_the_better_one():
    means = {"here": {"a": 3.0, "b": 1.0, "c": 3.0}, "there": {"a": 1.0, "b": 2.0, "c": 0.0}}
    pairs = [
        SimpleNamespace(environment=place, policy=policy, statistics=lambda _, m=mean: mean_of(m))
        for place, found in means.items()
        for policy, mean in found.items()
    ]
    study = SimpleNamespace(policy=["c", "b", "a", "new"], quantities={"mean_reward"})
    ranked = rank_policies(study, pairs)
    expected = [("a", [1.0, 2.0]), ("c", [1.0, 3.0]), ("b", [3.0, 1.0]), ("new", [])]
    assert [(each.policy, each.ranks) for each in ranked] == expected
    assert rank_policies(SimpleNamespace(quantities=()), pairs) == []


def test_a_line_of_several_policies_counts_as_the_best_of_them():
    means = {"a": 0.1, "b": 0.3, "c": 0.2, "d": 0.4}
    pairs = [
        SimpleNamespace(environment="here", policy=policy, statistics=lambda _, m=m: mean_of(m))
        for policy, m in means.items()
    ]
    lines = {"a and d": ["a", "d"], "b": ["b"], "c": ["c"], "new": ["new"]}
    study = SimpleNamespace(policy=[*means, "new"], quantities=QUANTITIES)
    assert choose_lines(study, pairs, lines, 4) == ([*lines], "")
    found = (["a and d", "b"], "the 2 best by mean reward of 4")
    assert choose_lines(study, pairs, lines, 2) == found
    unranked = SimpleNamespace(policy=[*means, "new"], quantities=())
    assert choose_lines(unranked, pairs, lines, 2) == (["a and d", "b"], "the 2 first of 4")


def test_rounding_gives_no_better_rank():
    means = {"a": 0.3, "b": 0.1 + 0.2, "c": 0.2}
    pairs = [
        SimpleNamespace(environment="here", policy=policy, statistics=lambda _, m=m: mean_of(m))
        for policy, m in means.items()
    ]
    study = SimpleNamespace(policy=["a", "b", "c"], quantities={"mean_reward"})
    assert [each.ranks for each in rank_policies(study, pairs)] == [[1.0], [1.0], [3.0]]


def mean_of(value):
    return SimpleNamespace(mean=value)
