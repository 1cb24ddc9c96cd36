"""Texts of users and of files, as terminals and messages show them."""

from __future__ import annotations

from collections.abc import Iterable


def visible(text: str) -> str:
    r"""Returns a text as one line, in which `repr`'s escapes stand for what is not printable.

    Whatever a file says passes it before it is printed: a terminal would obey controls, and marks
    of direction would turn the rest of the line around.

    >>> visible("red\x1b]0;mine\n")
    'red\\x1b]0;mine\\n'
    """
    signs = (
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )
    return text if text.isprintable() else "".join(signs)


def visible_lines(text: str) -> str:
    """Returns a text of several lines, each as `visible` has it."""
    return "\n".join(map(visible, text.split("\n")))


def name_alike(names: Iterable[str]) -> str | None:
    """Returns a sentence on two names that differ in case or white space alone; None without any.

    >>> name_alike(["a", "b", "B "])
    "'b' and 'B ' differ in case or white space alone"
    """
    known: dict[str, str] = {}
    for name in names:
        first = known.setdefault("".join(name.split()).casefold(), name)
        if first != name:
            return f"{first!r} and {name!r} differ in case or white space alone"
    return None
