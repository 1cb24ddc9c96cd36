"""Tables and times as plain texts."""

from __future__ import annotations

from collections.abc import Sequence

AGES = (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0), ("seconds", 1.0))


def align(table: Sequence[Sequence[str]]) -> str:
    """Returns a table as lines. The first column is of text, and the others of numbers."""
    widths = [max(len(cell) for cell in column) for column in zip(*table)]
    lines = []
    for first, *others in table:
        cells = [first.ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(others, widths[1:])]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def count(number: int, noun: str) -> str:
    """Returns a number with a noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def format_age(seconds: float) -> str:
    """Returns a duration in the largest unit of which it has at least one."""
    name, unit = next((each for each in AGES if seconds >= each[1]), AGES[-1])
    return f"{seconds / unit:.1f} {name}"
