"""The reference: a page for each room of public names, written as the site is built.

A page has a table of the names that a room hands on, with what is promised of each, and the entries
of those that no room below it has. autodoc fills the entries from docstrings.
"""

import ast
import functools
import inspect
import re
import shutil
from collections.abc import Iterable
from typing import Any

from colab.pages.docstrings import as_rest, mark_code
from colab.pages.markdown import first_sentence
from colab.pages.places import DOCS
from colab.pages.public import Name, file_of, package

FOLDER = DOCS / "api"

NOT_CALLED = ("Protocol", "Exception", "Error", "Enum")
"""Ends of names of bases whose classes are shown without a signature."""

WITH_INHERITED = "bandit_envs.testing"
"""A room whose classes show what they inherit, too: it is what users call and override."""


def write_pages(app: Any) -> None:
    """Writes the pages of all rooms, and the page that leads to them."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    names = sorted(package().names(), key=lambda each: each.name.lower())
    texts = {
        room: ast.get_docstring(package().trees[room]) or ""
        for room in sorted({each.room for each in names})
    }
    write("index", index_of(texts))
    for room, text in texts.items():
        write(room, page_of(room, text, [each for each in names if room in each.sources]))


def write(title: str, lines: list[str]) -> None:
    """Writes a page."""
    (FOLDER / f"{title}.rst").write_text("\n".join([*lines, ""]), encoding="utf-8")


def index_of(texts: dict[str, str]) -> list[str]:
    """Returns the page that leads to all rooms, by their docstrings."""
    rows = [(f":doc:`{room}`", mark_code(first_sentence(text))) for room, text in texts.items()]
    return [
        *headline("Reference"),
        "What each public class and function takes, returns and refuses, by the module to import",
        "it from. A name that is in no table of these pages is internal.",
        "",
        *table(("module", "what it holds"), rows),
        ".. toctree::",
        "   :hidden:",
        "",
        *(f"   {room.removeprefix('bandit_envs.')} <{room}>" for room in texts),
    ]


def page_of(room: str, text: str, names: list[Name]) -> list[str]:
    """Returns the page of a room: a table of all of its names, and the entries of its own."""
    rows = [(f"``{each.path}``", *facts_of(each)) for each in names]
    lines = [*headline(room), f".. py:module:: {room}", "", as_rest(text), ""]
    lines += table(("name", "stability", "what it is"), rows)
    for each in names:
        if each.room == room:
            lines += [*entry_of(each), ""]
    return lines


def headline(text: str) -> list[str]:
    """Returns the title of a page."""
    return [text, "=" * len(text), ""]


def table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Returns a table."""
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for first, *others in [heads, *rows]:
        lines += [f"   * - {first}", *(f"     - {cell}" for cell in others)]
    return [*lines, ""]


def facts_of(name: Name) -> tuple[str, str]:
    """Returns what is promised of a name, and what it is."""
    stability = "experimental" if name.is_experimental else "stable"
    return stability, mark_code(first_sentence(name.text))


def entry_of(name: Name) -> list[str]:
    """Returns the entry of a name, for autodoc to fill."""
    if name.kind == "data":  # whose text only its own module knows
        text = as_rest(name.text).splitlines()
        head = [f".. py:data:: {name.name}", f"   :module: {name.source}", ""]
        return [*head, *(f"   {line}" for line in text)]
    lines = [f".. auto{name.kind}:: {name.path}"]
    if name.kind == "class":
        hooks = hooks_of(name.text)
        lines += [f"   :private-members: {', '.join(hooks)}"] if hooks else []
        if name.room == WITH_INHERITED:
            lines += ["   :inherited-members:", "   :undoc-members:"]
    return lines


def hooks_of(text: str) -> list[str]:
    """Returns the methods that a docstring names although they start with an underscore.

    >>> hooks_of("Implement `_draw`.\\n\\n    _learn(state) -> state")
    ['_draw', '_learn']
    """
    return sorted(set(re.findall(r"(?:`|^ +)(_[a-z]\w+)", text, re.MULTILINE)))


def mark_up(app: Any, what: str, name: str, found: Any, *rest: Any) -> None:
    """Lets autodoc read a docstring as Google's sections of reStructuredText."""
    lines: list[str] = rest[-1]
    lines[:] = as_rest("\n".join(lines)).splitlines()


def shorten(app: Any, what: str, name: str, found: Any, *rest: Any) -> tuple[str, str] | None:
    """Leaves out the types of further options, and the calls that nobody makes."""
    _, call, result = rest
    if call is None:
        return None
    if inspect.isclass(found) and any(base.__name__.endswith(NOT_CALLED) for base in found.__mro__):
        return "", ""
    return re.sub(r"(\*\*\w+): \S*Unpack\[[^\]]*\]", r"\1", call), result or ""


def skip(app: Any, what: str, name: str, found: Any, *_: Any) -> bool | None:
    """Skips fields of named tuples that say their place alone."""
    is_bare = str(getattr(found, "__doc__", "")).startswith("Alias for field number")
    return True if is_bare else None


def name_bases(app: Any, name: str, found: Any, options: Any, bases: list[Any]) -> None:
    """Names the nearest bases that have an entry, in place of those that have none."""
    bases[:] = documented_bases(found) or [object]


def documented_bases(found: type) -> list[type]:
    """Returns the nearest bases of a class that have an entry."""
    bases: dict[type, None] = {}
    for base in found.__bases__:
        is_known = f"{base.__module__}.{base.__qualname__}" in homes()
        bases.update(dict.fromkeys([base] if is_known else documented_bases(base)))
    return list(bases)


@functools.cache
def homes() -> set[str]:
    """Returns the dotted names of all that has an entry, by the modules that define it."""
    return {f"{each.home}.{each.name}" for each in package().names()}


@functools.cache
def sources() -> dict[str, str]:
    """Returns the files of all that has an entry, by its dotted name."""
    return {each.path: file_of(each.home) for each in package().names()}


def setup(app: Any) -> dict[str, bool]:
    """Connects the hooks; the docstring is marked up ahead of napoleon."""
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-process-docstring", mark_up, priority=400)
    app.connect("autodoc-process-signature", shorten)
    app.connect("autodoc-process-bases", name_bases)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
