"""Texts of charts, which are cut in axes and legends, and whole beside a point.

Plotly takes no part of them for a tag, and characters that are not printable are shown as codes.
"""

from __future__ import annotations

import html
import textwrap
from collections import Counter
from collections.abc import Iterable

from bandit_envs.names.visible import visible_lines

NAME = 40
"""Axes and legends show at most about so many letters of a text."""

TITLE = 90
"""Titles above panels show at most so many letters."""


def cut(text: str, letters: int = NAME) -> str:
    """Returns the beginning and the end of a text that has more than so many letters."""
    shown = visible_lines(text)
    if len(shown) > letters:
        last = letters // 3
        shown = f"{shown[: letters - last - 1]}…{shown[-last:]}"
    return html.escape(shown, quote=False)


def cut_apart(names: Iterable[str]) -> dict[str, str]:
    """Returns names with their cut texts, in which a number tells equal ones apart."""
    met: Counter[str] = Counter()
    shown = {}
    for name in dict.fromkeys(names):
        short = cut(name)
        met[short] += 1
        shown[name] = f"{short} ({met[short]})" if met[short] > 1 else short
    return shown


def whole(text: str) -> str:
    """Returns a text in lines that fit beside a point."""
    lines = [textwrap.wrap(line, 2 * NAME) for line in visible_lines(text).split("\n")]
    return "<br>".join(html.escape(line, quote=False) for found in lines for line in found)
