"""Docstrings in Google's style as Markdown."""

import inspect
import re
from typing import Any

from griffe import DocstringSectionKind as Kind

from colab.pages.markdown import item, paragraphs, prose

ITEM = re.compile(r"(?ms)^(\S[^:\n]*): (.*?)(?=^\S|\Z)")


def body(documented: Any) -> str:
    """Returns the docstring of an object."""
    if documented.docstring is None:
        return ""
    sections = documented.docstring.parse("google", warnings=False)
    return paragraphs(*(section_of(section) for section in sections))


def section_of(section: Any) -> str:
    """Returns a section of a docstring: text, or a list with a title."""
    if section.kind is Kind.text:
        return prose(section.value)
    if section.kind is Kind.parameters:
        return listed("Args", [(each.name, each.description) for each in section.value])
    if section.kind in {Kind.raises, Kind.warns}:
        items = [(str(each.annotation), each.description) for each in section.value]
        return listed(section.kind.value.capitalize(), items)
    if section.kind is Kind.returns:
        return paragraphs("**Returns**", *(prose(each.description) for each in section.value))
    if section.kind is Kind.admonition:
        return listed(section.title, ITEM.findall(section.value.contents))
    raise ValueError(f"no docstring has a section of the kind {section.kind.value}")


def listed(title: str, items: list[tuple[str, str]]) -> str:
    """Returns a list with a title."""
    lines = [item(f"`{name}`", prose(inspect.cleandoc(text))) for name, text in items]
    return paragraphs(f"**{title}**", "\n".join(lines))
