"""Counts and times as plain texts."""

from __future__ import annotations

AGES = (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0), ("seconds", 1.0))


def count(number: int, noun: str) -> str:
    """Returns a number with a noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def format_age(seconds: float) -> str:
    """Returns a duration in the largest unit of which it has at least one."""
    name, unit = next((each for each in AGES if seconds >= each[1]), AGES[-1])
    return f"{seconds / unit:.1f} {name}"
