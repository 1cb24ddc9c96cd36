"""The page of a study: what is in it, and what a browser does with it."""

import importlib
import re
import sys

import numpy as np
import pytest

pytest.importorskip("bokeh", reason="bokeh is not installed")
pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("rich")
pytest.importorskip("matplotlib")
pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")

from bandit_envs.base.notation import parse_toml
from bandit_envs.studies import Study, load, run
from bandit_envs.studies.definition.study_file import study_text
from bandit_envs.studies.showing import page_curves
from bandit_envs.studies.showing.shown_policies import rank_policies
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
    outcome = command_line.run("show", folder)
    assert outcome == (0, f"Page: {folder / 'study.html'}\n", "")
    return folder / "study.html"


def test_a_page_has_all_that_it_needs_in_itself(page):
    text = page.read_text("utf-8")
    assert re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"http[^\"]*", text) == []
    assert "<h1>Greed &amp; &lt;optimism&gt;</h1>" in text
    for part in ("20 runs of 60 steps", "Expected values", "UCB (2)", "k-armed testbed, k=5"):
        assert part in text


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
def test_the_text_of_a_study_makes_the_same_study(name):
    if name.startswith("tf-agents"):
        pytest.importorskip("tf_agents")
    study = Study.from_dict(parse_toml(example_text(name)))
    assert Study.from_dict(parse_toml(study_text(study))) == study


def test_a_page_of_a_parameter_study_has_its_figure_and_curves_of_what_is_measured(tmp_path):
    run(Study.from_dict({**VALUES, "panels": [], "expected": []}), tmp_path)
    load(tmp_path).write_page(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    assert 'src="data:image/png;base64,' in text
    assert "Expected values" not in text
    assert text.count('class="curves"') == 2 * 3


def test_a_page_of_nothing_says_so(tmp_path):
    run(Study.from_dict(VALUES), tmp_path)
    command_line.forget_tasks(tmp_path, range(99))
    load(tmp_path).write_page(tmp_path / "page.html")
    assert "Nothing has finished" in (tmp_path / "page.html").read_text("utf-8")


def ticked(text):
    """The policies whose boxes are ticked in a page, and all that have boxes."""
    boxes = re.findall(r'<input type="checkbox"([^>]*)><i [^>]*></i>([^<]*)', text)
    return [name for options, name in boxes if "checked" in options], [name for _, name in boxes]


def test_a_page_of_many_policies_draws_the_best_and_has_the_others_to_tick(tmp_path):
    policies = [f"epsilon_greedy:epsilon={number / 125}" for number in range(120)]
    values = {**VALUES, "runs": 200, "expected": [], "policy": policies}
    found = run(Study.from_dict(values), tmp_path)
    found.write_page(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    at_first, all_boxes = ticked(text)
    assert (len(at_first), len(all_boxes)) == (20, 100)
    assert "the 20 of 120 policies of the highest mean reward" in text
    ranked = rank_policies(found.study, found.pairs)
    labels = [found.study.policy_label(policy) for policy in ranked]
    assert set(labels[:20]) == set(at_first)
    assert set(labels[:100]) == set(all_boxes)


def test_policies_are_ranked_by_their_mean_rank(tmp_path):
    values = {**VALUES, "runs": 400, "policy": ["random", "ucb:c=1", "epsilon_greedy:epsilon=0.5"]}
    found = run(Study.from_dict({**values, "expected": []}), tmp_path)
    names = [policy.name for policy in rank_policies(found.study, found.pairs)]
    assert names == ["ucb", "epsilon_greedy", "random"]
    without_rewards = Study.from_dict(
        {**values, "expected": [], "metrics": ["regret"], "panels": ["regret"]}
    )
    assert rank_policies(without_rewards, []) == list(without_rewards.policy)


def test_a_page_of_many_curves_has_fewer_points_of_each(folder, tmp_path, monkeypatch):
    load(folder).write_page(tmp_path / "all.html")
    monkeypatch.setattr(page_curves, "ALL_POINTS", 0)
    load(folder).write_page(tmp_path / "few.html")
    sizes = [(tmp_path / f"{name}.html").stat().st_size for name in ("all", "few")]
    assert sizes[0] > sizes[1]


def test_writing_a_page_tells_how_far_it_is(folder, tmp_path):
    seen = {}

    def track(text, pairs):
        for pair in pairs:
            seen[text] = seen.get(text, 0) + 1
            yield pair

    load(folder).write_page(tmp_path / "page.html", track)
    assert seen == {"k-armed testbed, k=3": 3, "k-armed testbed, k=5": 3, "table": 6}


def test_a_page_ends_in_html_and_shows_other_panels(folder, tmp_path):
    code, _, err = command_line.run("show", folder, "--output", tmp_path / "page.pdf")
    assert code == 2
    assert "expected a file ending in .html" in err
    file = tmp_path / "page.html"
    assert command_line.run("show", folder, "--panels", "regret", "--output", file).code == 0
    assert file.read_text("utf-8").count('class="curves"') == 2


def test_a_page_of_quantiles_takes_a_study_that_was_run_with_them(folder, tmp_path):
    file = tmp_path / "page.html"
    code, _, err = command_line.run("show", folder, "--quantiles", 0.1, 0.9, "--output", file)
    assert code == 2
    assert "nothing that was run with --quantiles" in err
    assert not file.exists()


DEEP = """
function deep(root, selector) {
  const found = [...root.querySelectorAll(selector)];
  for (const each of root.querySelectorAll("*")) {
    if (each.shadowRoot) { found.push(...deep(each.shadowRoot, selector)); }
  }
  return found;
}
"""
COLUMN = f"""{DEEP}
return deep(document, ".slick-row").map(row =>
    [row.getBoundingClientRect().top, row.children[arguments[0]].textContent])
    .sort((a, b) => a[0] - b[0]).map(pair => pair[1]).slice(0, 6);
"""
HEADER = f"""{DEEP}
return deep(document, ".slick-header-column").filter(each =>
    each.textContent.trim() == arguments[0])[0];
"""
SOURCES = """
const drawn = Bokeh.documents.flatMap(each => each.roots()).filter(each => each.x_range);
const sources = drawn.map(each =>
    each.renderers.find(one => one.glyph.type == "MultiLine").data_source);
"""
DRAWN = f"""{SOURCES}
return sources.map(each => [...each.get_column("name")]);
"""
RANGE = """
const drawn = Bokeh.documents.flatMap(each => each.roots()).filter(each => each.x_range)[0];
return [drawn.x_range.start, drawn.x_range.end];
"""
PLACE = """
const drawn = Bokeh.documents.flatMap(each => each.roots()).filter(each => each.x_range)[0];
const view = Bokeh.index.find_one_by_id?.(drawn.id) ?? Bokeh.index[drawn.id];
const line = drawn.renderers.find(each => each.glyph.type == "MultiLine");
const at = 30;
const frame = view.frame;
const box = view.el.getBoundingClientRect();
return [box.left + frame.x_scale.compute(line.data_source.get_column("xs")[0][at]),
        box.top + frame.y_scale.compute(line.data_source.get_column("ys")[0][at])];
"""
TIPS = f"""{DEEP}
return deep(document, ".bk-tooltip, .bk-Tooltip").map(each =>
    (each.shadowRoot ?? each).textContent);
"""


@pytest.fixture(scope="module")
def opened(browser, page):
    """A browser that shows the page, without a network."""
    browser.execute_cdp_cmd("Network.enable", {})
    offline = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", offline)
    browser.set_window_size(1200, 1000)
    browser.get(page.as_uri())
    wait = importlib.import_module("selenium.webdriver.support.ui").WebDriverWait
    wait(browser, 20).until(lambda shown: len(shown.execute_script(COLUMN, 1)) == 6)
    yield browser
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", {**offline, "offline": False})


@pytest.mark.slow
def test_a_browser_shows_the_page_without_errors_or_requests(opened):
    severe = [entry for entry in opened.get_log("browser") if entry["level"] != "INFO"]
    assert severe == []
    assert opened.execute_script("return performance.getEntriesByType('resource').length") == 0


@pytest.mark.slow
def test_a_click_on_a_heading_sorts_the_table(opened):
    before = [float(text) for text in opened.execute_script(COLUMN, 2)]
    assert before != sorted(before)
    opened.execute_script(HEADER, "reward").click()
    after = [float(text) for text in opened.execute_script(COLUMN, 2)]
    assert after == sorted(before)


@pytest.mark.slow
def test_policies_are_switched_off_and_on(opened):
    by_css = "css selector"
    names = ["greedy", "UCB (1)", "UCB (2)"]
    assert opened.execute_script(DRAWN) == 4 * [names]
    opened.find_element(by_css, '[data-policy="1"]').click()
    assert opened.execute_script(DRAWN) == 4 * [["greedy", "UCB (2)"]]
    opened.find_element(by_css, "#none").click()
    assert opened.execute_script(DRAWN) == 4 * [[]]
    opened.find_element(by_css, "#all").click()
    assert opened.execute_script(DRAWN) == 4 * [names]


@pytest.mark.slow
def test_a_drag_zooms_all_figures_and_a_line_tells_its_values(opened):
    actions = importlib.import_module("selenium.webdriver").ActionChains
    opened.execute_script("document.querySelector('.curves').scrollIntoView({block: 'center'})")
    x, y = map(round, opened.execute_script(PLACE))
    move = actions(opened)
    move.w3c_actions.pointer_action.move_to_location(x, y)
    move.perform()
    wait = importlib.import_module("selenium.webdriver.support.ui").WebDriverWait
    wait(opened, 10).until(lambda shown: "greedy" in "".join(shown.execute_script(TIPS)))
    tip = re.sub(r"\s+", " ", "".join(opened.execute_script(TIPS)))
    assert re.search(r"step: ?31 ?Average reward: ?-?\d\.\d+ \(-?\d\.\d+ to -?\d\.\d+\)", tip)
    before = opened.execute_script(RANGE)
    drag = actions(opened)
    pointer = drag.w3c_actions.pointer_action
    pointer.move_to_location(x - 100, y - 40)
    pointer.pointer_down()
    pointer.move_to_location(x + 100, y + 40)
    pointer.pointer_up()
    drag.perform()
    after = opened.execute_script(RANGE)
    assert np.diff(after) < 0.8 * np.diff(before)


MARK = "document.body.dataset.ran='yes'"
HOSTILE = [
    f"<script>{MARK}</script>",
    f"</script><script>{MARK}</script>",
    f"</pre></title></style><img src=x onerror={MARK}>",
    f'" onmouseover="{MARK}" x="',
    f"<!--<script>--><svg onload={MARK}>",
    f"</div><iframe srcdoc='<script>parent.{MARK}</script>'></iframe>",
    f'{{{{constructor.constructor("{MARK}")()}}}} #{{{MARK}}}',
    f"&lt;img src=x onerror={MARK}&gt;",
]
"""Texts of a study, each of which would run a script in a page that takes it for HTML."""

ACTIVE = f"""{DEEP}
return deep(document, "img[src=x], svg[onload], iframe, [onmouseover], [onerror]").length;
"""


def hostile_study(text):
    """A study whose title, labels and sources are a text."""
    source = f"published: {text}"
    expected = {"metric": "reward", "policy": "greedy", "value": 1.0, "source": source}
    labels = {"greedy": text, "testbed:k=3": text, "testbed:k=5": f"{text} 5"}
    values = {**VALUES, "title": text, "labels": labels, "expected": [expected]}
    return Study.from_dict({**values, "policy": ["greedy", "random"]})


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_of_a_study_runs_in_a_browser(browser, text, tmp_path):
    run(hostile_study(text), tmp_path)
    load(tmp_path).write_page(tmp_path / "page.html")
    browser.set_window_size(1200, 1000)
    browser.get((tmp_path / "page.html").as_uri())
    wait = importlib.import_module("selenium.webdriver.support.ui").WebDriverWait
    wait(browser, 20).until(lambda shown: len(shown.execute_script(COLUMN, 1)) == 4)
    actions = importlib.import_module("selenium.webdriver").ActionChains
    browser.execute_script("document.querySelector('.curves').scrollIntoView({block: 'center'})")
    x, y = map(round, browser.execute_script(PLACE))
    move = actions(browser)
    move.w3c_actions.pointer_action.move_to_location(x, y)
    move.perform()
    wait(browser, 10).until(lambda shown: "policy" in "".join(shown.execute_script(TIPS)))

    assert browser.execute_script("return document.body.dataset.ran ?? 'no'") == "no"
    assert browser.execute_script(ACTIVE) == 0
    assert browser.execute_script("return document.querySelector('h1').textContent") == text
    severe = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert severe == []
