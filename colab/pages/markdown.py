"""Tables and blocks of code as Markdown."""

import re
from collections.abc import Iterable, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a table."""
    lines = [" | ".join(heads), " | ".join("---" for _ in heads)]
    for row in rows:
        lines.append(" | ".join(cell.replace("|", r"\|") for cell in row))
    return "\n".join(f"| {line} |" for line in lines)


def paragraphs(*texts: str) -> str:
    """Returns texts with an empty line between them, without those that are empty."""
    return "\n\n".join(filter(None, texts))


def fence(language: str, text: str) -> str:
    """Returns a block of code."""
    return f"```{language}\n{text}\n```"


def anchor(heading: str) -> str:
    """Returns the anchor that GitHub gives a heading.

    >>> anchor("Late rewards, Figure 2.1: ε-greedy")
    'late-rewards-figure-21-ε-greedy'
    """
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def first_sentence(text: str) -> str:
    """Returns the first sentence of a docstring."""
    paragraph = " ".join(text.partition("\n\n")[0].split())
    return re.split(r"(?<=[.?!]) (?=[A-Z`])", paragraph)[0]
