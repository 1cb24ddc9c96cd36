"""Figures in tests of the command: not drawn, or kept."""

import importlib

import pytest


@pytest.fixture(autouse=True)
def no_figures(monkeypatch):
    """Draws no figure of a study or an evaluation in this process, to save time."""
    try:
        figures = importlib.import_module("bandit_envs.studies.showing.study_figures")
    except ModuleNotFoundError:  # of a package that tests of the command need
        return
    monkeypatch.setattr(figures, "study_figure", lambda *arguments: b"a figure")
    monkeypatch.setattr("bandit_envs.showing.plots.to_image", lambda *arguments: b"a figure")
    for name in ("draw_estimates", "draw_segments", "draw_weights"):
        for module in ("evaluation_page", "estimate_figures"):
            place = f"bandit_envs.evaluations.showing.{module}.{name}"
            monkeypatch.setattr(place, lambda *arguments: None)


@pytest.fixture
def drawn(no_figures, monkeypatch):
    """The figures that the command has drawn."""
    figures = importlib.import_module("bandit_envs.studies.showing.study_figures")
    kept = []

    def draw(study, pairs, file_format):
        kept.append(figures.draw_study(study, pairs))
        return b"a figure"

    monkeypatch.setattr(figures, "study_figure", draw)
    return kept
