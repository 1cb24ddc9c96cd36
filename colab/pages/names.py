"""Tables of all public names, and what is promised of each."""

from collections.abc import Iterator
from pathlib import Path

from colab.pages.markdown import first_sentence, paragraphs, table
from colab.pages.public import Name, Package
from colab.pages.reference import link


def tables(_: str, page: Path) -> str:
    """Returns a table of the names to import from each module."""
    sections = []
    for source, names in _by_source(Package().names()):
        lines = []
        for each in names:
            stability = "experimental" if each.is_experimental else "stable"
            lines.append((link(each.name, page, each.home), stability, first_sentence(each.text)))
        sections.append(f"## {source}")
        sections.append(table(("name", "stability", "what it is"), lines))
    return paragraphs(*sections)


def _by_source(names: list[Name]) -> Iterator[tuple[str, list[Name]]]:
    """Yields the names to import from each module."""
    for source in dict.fromkeys(each.source for each in names):
        yield source, [each for each in names if each.source == source]
