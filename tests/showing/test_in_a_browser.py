"""What a browser does with the pages of studies, evaluations and services."""

import importlib

import numpy as np
import pytest

pytest.importorskip("plotly", reason="plotly is not installed")
pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("matplotlib")

from bandit_envs.evaluations import evaluate
from bandit_envs.policies import BetaThompsonSamplingPolicy
from bandit_envs.serving import DecisionService
from bandit_envs.studies import Study, run
from tests.browser import wait_for, without_network
from tests.evaluations.logs import record_log

pytestmark = pytest.mark.slow

MARK = "document.body.dataset.ran='yes'"
HOSTILE = [
    f"<script>{MARK}</script>",
    f"</script><script>{MARK}</script>",
    f"</pre></title></style><img src=x onerror={MARK}>",
    f'" onmouseover="{MARK}" x="',
    f"<!--<script>--><svg onload={MARK}>",
    f'<a href="javascript:{MARK}">here</a>',
    f"&lt;img src=x onerror={MARK}&gt;",
    "x" * 200,
    f"{'x' * 199}y",
]
"""Names, each of which would run a script in a page that takes it for HTML, or is long."""

WIDTHS = """
return [...document.querySelectorAll(".js-plotly-plot .nsewdrag")].map(
    each => each.getBoundingClientRect().width
);
"""
"""How wide the plots are, in pixels."""

NUMBERS = """
return [...document.querySelectorAll("table")].map(each =>
    each.querySelector("td.number")?.getBoundingClientRect().right ?? 0
);
"""
"""Where the first number of each table ends, in pixels from the left."""

STUDY = {
    "title": "Greed",
    "runs": 20,
    "steps": 60,
    "environment": ["testbed:k=3", "testbed:k=5"],
    "policy": ["greedy", "ucb:c=1", "ucb:c=2"],
    "panels": ["reward", "percent_optimal"],
}

LINES = """
const drawn = document.querySelector(".js-plotly-plot")?._fullData ?? [];
return drawn.filter(each => each.visible === true && each.hoverinfo != "skip"
    && each.type == "scatter" && each.mode != "none").length;
"""
"""How many lines of the first chart are seen."""

CHARTS = "return document.querySelectorAll('.js-plotly-plot .main-svg .legendtext').length > 0"

HOVER = """
for (const chart of document.querySelectorAll(".js-plotly-plot"))
    for (const line of chart._fullData)
        Plotly.Fx.hover(
            chart, [{curveNumber: line.index, pointNumber: 0}], line.xaxis + line.yaxis
        );
"""

TEXTS = """
const drawn = document.querySelectorAll(".legendtext, .hovertext text, .annotation-text");
return [...drawn].map(each => each.getAttribute("data-unformatted") ?? "");
"""

NAMES = "[class^=legend][class$=toggle]"

ACTIVE = "img[src=x], svg[onload], iframe, [onmouseover], [onerror], .chart a:not(.modebar-btn)"


@pytest.fixture
def offline(browser):
    """A browser without a network."""
    with without_network(browser):
        browser.set_window_size(1200, 1000)
        yield browser


@pytest.fixture(scope="module")
def study_page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    run(Study.from_dict(STUDY), folder).write_page(folder / "page.html")
    return folder / "page.html"


def write_study(folder, names):
    """Writes the page of a study that has names in all its texts."""
    policies = [f"ucb:c={number}" for number in range(1, len(names) + 1)]
    source = f"published: {names[0]}"
    expected = {"metric": "reward", "policy": policies[0], "value": 1.0, "source": source}
    labels = dict(zip(policies, names)) | {"testbed:k=3": names[1], "testbed:k=5": names[2]}
    values = {**STUDY, "policy": policies, "labels": labels, "expected": [expected]}
    found = run(Study.from_dict({**values, "title": names[0]}), folder / "results")
    found.write_page(folder / "page.html")


def write_evaluation(folder, names):
    """Writes the page of an evaluation with names of policies, estimators, and segments."""
    policies = dict.fromkeys(names, "random")
    found = evaluate(
        record_log(), policies, dict.fromkeys(names[:2], "ips"), by="action", train=None
    )
    found.write_page(folder / "page.html")


def write_report(folder, names):
    """Writes the page of a service with names of actions, and of policies on its log."""
    rows = BetaThompsonSamplingPolicy(num_actions=len(names), seed=0)
    with DecisionService(folder / "shop.db", rows, names, samples=20, seed=0) as service:
        decisions = service.decide_many([None] * 200)
        paid = np.random.default_rng(0).random(200) < 0.5
        service.reward_many([(each.id, float(one)) for each, one in zip(decisions, paid)])
        report = service.report(dict.fromkeys(names[:2], "random"), reward_range=(0.0, 1.0))
    report.write_page(folder / "page.html")


def test_a_click_on_a_name_hides_its_lines_in_all_panels(offline, study_page):
    offline.get(study_page.as_uri())
    wait_for(offline, LINES, 4 * 3)
    names = offline.find_elements("css selector", NAMES)
    assert len(names) == 2 * 3
    actions = importlib.import_module("selenium.webdriver").ActionChains
    actions(offline).move_to_element(names[4]).click().perform()
    wait_for(offline, LINES, 4 * 2)
    assert [entry for entry in offline.get_log("browser") if entry["level"] != "INFO"] == []
    assert offline.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_a_zoom_into_a_panel_zooms_the_steps_of_all(offline, study_page):
    offline.get(study_page.as_uri())
    wait_for(offline, LINES, 4 * 3)
    offline.execute_script("Plotly.relayout('chart-0', {'xaxis.range': [10, 20]})")
    axes = "['xaxis', 'xaxis2', 'xaxis3', 'xaxis4']"
    ranges = f"const all = document.getElementById('chart-0')._fullLayout; return {axes}.map("
    wait_for(offline, f"{ranges}each => all[each].range.map(Math.round).join())", ["10,20"] * 4)


@pytest.mark.parametrize("write", [write_study, write_evaluation, write_report])
def test_no_name_runs_in_a_browser(offline, tmp_path, write):
    write(tmp_path, HOSTILE)
    offline.get((tmp_path / "page.html").as_uri())
    wait_for(offline, CHARTS, True)
    offline.execute_script(HOVER)
    assert offline.execute_script("return document.body.dataset.ran ?? 'no'") == "no"
    assert offline.find_elements("css selector", ACTIVE) == []
    assert [entry for entry in offline.get_log("browser") if entry["level"] != "INFO"] == []
    texts = offline.execute_script(TEXTS)
    assert texts
    assert [text for text in texts if "<" in text.replace("<br>", "")] == []
    assert min(offline.execute_script(WIDTHS)) > 200
    assert max(offline.execute_script(NUMBERS)) < 800


@pytest.mark.parametrize("width", [1200, 400])
@pytest.mark.parametrize("write", [write_study, write_evaluation, write_report])
def test_a_page_is_no_wider_than_its_window(offline, tmp_path, write, width):
    write(tmp_path, [f"policy {number} of a shop" for number in range(1, 4)])
    offline.set_window_size(width, 900)
    offline.get((tmp_path / "page.html").as_uri())
    wait_for(offline, CHARTS, True)
    script = "return document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert offline.execute_script(script)
    assert max(offline.execute_script(NUMBERS)) < width
