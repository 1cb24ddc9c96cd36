"""The page of an evaluation."""

import json
import sys

import numpy as np
import pytest

from bandit_envs.evaluations import evaluate
from bandit_envs.logged import DirectMethodLearner
from tests.evaluations.logs import record_log

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def log():
    return record_log()


@pytest.fixture(autouse=True)
def no_figures(monkeypatch):
    """Draws figures, and keeps no image of them, to save time."""
    for module in ("studies.plots", "evaluations.showing.page"):
        monkeypatch.setattr(f"bandit_envs.{module}.to_image", lambda figure, *arguments: b"image")


def read_page(found, path):
    found.write_page(path / "page.html")
    return (path / "page.html").read_text("utf-8")


@pytest.fixture
def show(tmp_path):
    """Shows a folder by the command, and returns the outcome."""
    for package in ("joblib", "filelock", "rich"):
        pytest.importorskip(package)
    from tests.command_line import run  # noqa: PLC0415 - needs packages of the command

    return lambda *options: run("show", tmp_path, *options)


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
    for text in ("gain over logged", "Weights and overlap", "<h3>action: 2</h3>", *found.notes):
        assert text in page
    assert page.count("<img") == 3
    assert "http" not in page.replace("http-equiv", "")


def test_the_page_lists_each_warning_once(log, tmp_path):
    found = evaluate(log[:60], ["random", "constant:number=1"], ["ips", "snips"], train=None)
    page = read_page(found, tmp_path)
    texts = {row.warnings for row in found.rows if row.warnings}
    assert texts
    for text in texts:
        assert page.count(f"<li>{text}</li>") == 1
    assert "[1]" in page


def test_names_are_no_code_in_the_page(log, tmp_path):
    name = "<script>alert(1)</script>"
    found = evaluate(log, {name: "random"}, {"<b>": "ips"})
    page = read_page(found, tmp_path)
    assert "<script>" not in page
    assert "<b>" not in page
    assert "&lt;script&gt;" in page


@pytest.mark.parametrize("by", [None, "action"])
def test_the_command_makes_the_same_page_of_the_folder(log, tmp_path, show, by):
    found = evaluate(log, ["random", "lin_ucb"], ["ips", "snips"], baseline="random", by=by)
    found.write(tmp_path)
    outcome = show()
    assert outcome.code == 0, outcome.err
    assert f"Page: {tmp_path / 'evaluation.html'}" in outcome.out
    written = (tmp_path / "evaluation.html").read_text("utf-8")
    assert written == read_page(found, tmp_path)
    assert show("--output", tmp_path / "other.html").code == 0
    assert (tmp_path / "other.html").read_text("utf-8") == written


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--panels", "reward"], "--panels and --quantiles are of studies"),
        (["--output", "page.pdf"], "expected a file ending in .html"),
    ],
)
def test_what_an_evaluation_does_not_show_is_refused(log, tmp_path, show, options, message):
    evaluate(log, "random", "ips").write(tmp_path)
    outcome = show(*options)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert message in outcome.err


def _set(values, key, value):
    return {**values, key: value}


@pytest.mark.parametrize(
    "damage",
    [
        lambda values: [],
        lambda values: _set(values, "format", 99),
        lambda values: _set(values, "rows", [{}]),
        lambda values: _set(values, "rows", [_set(values["rows"][0], "value", "1")]),
        lambda values: _set(values, "rows", [_set(values["rows"][0], "policy", 1)]),
        lambda values: _set(values, "weights", [{"policy": "x"}]),
        lambda values: _set(values, "more", 1),
        lambda values: _set(values, "title", 1),
        lambda values: _set(values, "confidence", "high"),
        lambda values: _set(values, "weights", [_set(values["weights"][0], "mean", "1")]),
        lambda values: _set(
            values, "weights", [_set(values["weights"][0], "histogram", {"counts": [1]})]
        ),
    ],
)
def test_a_damaged_report_is_named_in_one_line(log, tmp_path, show, damage):
    evaluate(log, "random", "ips").write(tmp_path)
    file = tmp_path / "evaluation.json"
    file.write_text(json.dumps(damage(json.loads(file.read_text()))))
    outcome = show()
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert f"{file} has no report of an evaluation" in outcome.err


def test_a_page_without_matplotlib_names_the_extra(log, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=r"matplotlib is not installed; .*\[cli\]"):
        evaluate(log, "random", "ips").write_page(tmp_path / "page.html")


def test_gains_in_segments_have_a_dot_each(log):
    from bandit_envs.evaluations.showing.figures import draw_segments  # noqa: PLC0415

    found = evaluate(log, ["random", "constant:number=1"], ["ips", "snips"], by="action")
    figure = draw_segments(found.segments, "logged")
    dots = [
        sorted(float(x) for container in axis.containers for x in container[0].get_xdata())
        for axis in figure.axes
    ]
    for policy, own in zip(("random", "constant:number=1"), dots, strict=True):
        gains = [r.gain for rows in found.segments.values() for r in rows if r.policy == policy]
        assert np.allclose(own, sorted(gains))
