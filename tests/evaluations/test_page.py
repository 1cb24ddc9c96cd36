"""The page of an evaluation."""

import html
import re
import sys

import numpy as np
import pytest

from bandit_envs.evaluations import evaluate
from bandit_envs.evaluations.showing.reasons import Reasons
from bandit_envs.logged import DirectMethodLearner
from tests.evaluations.logs import record_log

pytest.importorskip("matplotlib")
pytest.importorskip("plotly")


@pytest.fixture(scope="module")
def log():
    return record_log()


@pytest.fixture(autouse=True)
def no_figures(monkeypatch):
    """Draws figures, and keeps no image of them, to save time."""
    monkeypatch.setattr("bandit_envs.showing.plots.to_image", lambda figure, *arguments: b"image")


def read_page(found, path):
    found.write_page(path / "page.html")
    return (path / "page.html").read_text("utf-8")


def test_the_page_has_estimates_gains_weights_and_notes(log, tmp_path):
    policies = {"learned": DirectMethodLearner(), "uniform": "random"}
    found = evaluate(log, policies, ["ips", "dr"], by="action")
    page = read_page(found, tmp_path)
    for row in found.rows:
        assert f"{row.value:.4f}" in page
        assert f"{row.low:.4f} to {row.high:.4f}" in page
    for row in found.rows[1:]:
        assert f"{row.gain:+.4f}" in page
        assert f"{row.gain_low:+.4f} to {row.gain_high:+.4f}" in page
    for text in (
        "gain over logged",
        "Weights and overlap",
        "<h3>action: 2</h3>",
        ">-1.00<",  # a Pareto k
        "is -1 if the weights have no tail",
        *map(html.escape, found.notes),
    ):
        assert text in page
    places = [
        page.index(html.escape(text)) for text in (found.headline(), "effective rows", found.title)
    ]
    assert places == sorted(places)
    assert page.count('class="chart"') == 3
    assert re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"http[^\"]*", page) == []


def test_a_chart_has_estimators_that_have_no_gains(log):
    from bandit_envs.evaluations.showing.estimate_charts import estimates_chart  # noqa: PLC0415

    found = evaluate(log, ["random", "constant:number=1"], ["ips", "dr"], baseline="random")
    rows = [
        row._replace(gain=float("nan"), gain_rows=0) if row.estimator == "dr" else row
        for row in found.rows
    ]
    chart = estimates_chart(rows, "random")
    assert [trace["name"] for trace in chart["data"]] == ["ips", "dr", "ips"]
    assert len(chart["layout"]["shapes"]) == 4


def test_the_page_lists_each_warning_once(log, tmp_path):
    policies = ["random", *(f"constant:number={number}" for number in range(3))]
    found = evaluate(log[:60], policies, ["ips", "snips"], train=None)
    page = read_page(found, tmp_path)
    reasons = Reasons.of(found.rows, found.segments)
    texts = {row.warnings for row in found.rows if row.warnings}
    assert 1 <= len(reasons.of_all) < len(texts)
    for text in reasons.of_all:
        assert page.count(f"] {text}</p>") == 1
    (merged,) = [text for text in reasons.of_all if " to " in text]
    number = reasons.of_all.index(merged) + 1
    own = [row for row in found.rows if reasons.number(row, is_of_segment=False) == number]
    sizes = sorted(row.effective_sample_size for row in own)
    assert f"sample size is {sizes[0]:.1f} to {sizes[-1]:.1f}; " in merged


def test_the_page_has_pictures_without_plotly(log, tmp_path, monkeypatch):
    monkeypatch.setattr("bandit_envs.showing.page.find_spec", lambda name: None)
    page = read_page(evaluate(log, {"uniform": "random"}, ["ips", "dr"], by="action"), tmp_path)
    assert page.count("<img") == 3
    assert "http" not in page.replace("http-equiv", "")
    assert "<script" not in page


def test_names_are_no_code_in_the_page(log, tmp_path):
    name = "<script>alert(1)</script>"
    found = evaluate(log, {name: "random"}, {"<b>": "ips"})
    page = read_page(found, tmp_path)
    assert name not in page
    assert "<b>" not in re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert "&lt;script&gt;" in page


def test_a_folder_of_results_has_the_same_page(log, tmp_path):
    found = evaluate(log, ["random", "lin_ucb"], ["ips", "snips"], baseline="random", by="action")
    found.write(tmp_path)
    assert (tmp_path / "evaluation.html").read_text("utf-8") == read_page(found, tmp_path)


def test_a_page_without_matplotlib_names_the_extra(log, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=r"matplotlib is not installed; .*\[cli\]"):
        evaluate(log, "random", "ips").write_page(tmp_path / "page.html")


def test_gains_in_segments_have_a_dot_each(log):
    from bandit_envs.evaluations.showing.estimate_figures import draw_segments  # noqa: PLC0415

    found = evaluate(log, ["random", "constant:number=1"], ["ips", "snips"], by="action")
    figure = draw_segments(found.segments, "logged")
    dots = [
        sorted(float(x) for container in axis.containers for x in container[0].get_xdata())
        for axis in figure.axes
    ]
    for policy, own in zip(("random", "constant:number=1"), dots, strict=True):
        gains = [r.gain for rows in found.segments.values() for r in rows if r.policy == policy]
        assert np.allclose(own, sorted(gains))
