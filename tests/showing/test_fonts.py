"""Fonts for letters that matplotlib's own font lacks."""

import warnings

import pytest

pytest.importorskip("matplotlib")

from matplotlib import font_manager
from matplotlib.figure import Figure

from bandit_envs.showing import fonts
from bandit_envs.showing.fonts import fonts_for
from bandit_envs.showing.plots import to_image

IN_ANOTHER = "\N{LATIN SMALL LETTER D WITH PALATAL HOOK}"
"""A letter that a font of matplotlib has, and its first one lacks."""

IN_NONE = "\u4e2d\u6587"
"""Letters that no font of matplotlib has: Chinese, in Chinese."""


@pytest.fixture(autouse=True)
def fonts_of_matplotlib(monkeypatch):
    """Takes away the fonts of this system, and what was warned of before."""
    own = [entry for entry in font_manager.fontManager.ttflist if "mpl-data" in entry.fname]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", own)
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [])
    for function in (fonts._find_families, fonts._warn_of):
        function.cache_clear()


def draw(text):
    """Returns the families of a text of a figure, which is drawn and written."""
    with fonts_for([text]):
        figure = Figure()
        title = figure.suptitle(text)
    to_image(figure)
    return title.get_fontfamily()


def test_a_letter_that_another_font_has_is_drawn_by_it():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        usual = draw("ε-greedy ±")
        assert draw(f"x{IN_ANOTHER}") == [*usual, "STIXGeneral"]


def test_letters_that_no_font_has_are_warned_of_once():
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        draw(IN_NONE)
        draw(IN_NONE)
    assert [str(each.message) for each in warned] == [
        f"figures have boxes for {IN_NONE[0]} {IN_NONE[1]}, which no font of this system has;"
        " install one, such as Noto Sans CJK"
    ]
