"""Tables, lists and docstrings as Markdown."""

import re
import textwrap
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


def item(head: str, text: str) -> str:
    """Returns an item of a list, whose text may have several paragraphs."""
    return f"- {head}: {textwrap.indent(text.strip(), '  ').strip()}"


def prose(text: str) -> str:
    """Returns the text of a docstring, with blocks of code of what is indented and of doctests."""
    blocks: list[tuple[str, str]] = []
    for block in filter(None, re.split(r"\n\s*\n", text.strip("\n"))):
        kind = kind_of(block)
        if blocks and kind and blocks[-1][0] == kind:
            blocks[-1] = (kind, f"{blocks[-1][1]}\n\n{block}")
        else:
            blocks.append((kind, block))
    texts = [fence(kind, textwrap.dedent(block)) if kind else block for kind, block in blocks]
    return paragraphs(*texts)


def kind_of(block: str) -> str:
    """Returns the language of a block of a docstring, or "" if it is a paragraph or a list."""
    if block.startswith(">>> "):
        return "python"
    return "text" if all(line.startswith("    ") for line in block.splitlines()) else ""


def first_sentence(text: str) -> str:
    """Returns the first sentence of a docstring."""
    paragraph = " ".join(text.partition("\n\n")[0].split())
    return re.split(r"(?<=[.?!]) (?=[A-Z`])", paragraph)[0]
