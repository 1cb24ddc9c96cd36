"""Sentences that differ in what they have measured alone become one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

NUMBER = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf"

MEASURED = re.compile(
    rf"(?<=\bsize is )(?:{NUMBER})\b|(?<=\bmean weight is )(?:{NUMBER})\b"
    rf"|(?<=\bPareto k is )(?:{NUMBER})\b|(?<=\bestimate is about )(?:{NUMBER})\b"
    r"|(?<=\buniformly in )\d+\b|(?<=\bof )\d+(?= rows\b)|(?<=\bthere are only )\d+(?= rows\b)"
)
"""The numbers that a sentence has measured. All others, such as those of actions, are names."""


class MergedText(NamedTuple):
    """A sentence that is said of some of several things.

    Fields:
        text: the sentence. Where it differs in a number, it has the ends of the range.
        places: of the things that it is said of.
    """

    text: str
    places: list[int]


def merge_texts(texts: Sequence[str]) -> list[MergedText]:
    """Returns each sentence once, and once those that differ in numbers alone.

    Sentences with quotes have names of users, in which no number is changed.

    Args:
        texts: a sentence for each thing; "" for none.

    >>> merge_texts(["the mean weight is 0.7", "", "the mean weight is 0.5"])
    [MergedText(text='the mean weight is 0.5 to 0.7', places=[0, 2])]
    """
    groups: dict[str, list[int]] = {}
    for place, text in enumerate(texts):
        if text:
            groups.setdefault(text if _has_names(text) else MEASURED.sub("#", text), []).append(
                place
            )
    return [MergedText(_merge([texts[each] for each in own]), own) for own in groups.values()]


def say_of_each(names: Sequence[str], text: str, before: str = "") -> str:
    """Returns a sentence of a text that lacks its subject, such as "is linear", and some names.

    Args:
        names: the subject.
        text: what is said of each of them.
        before: how the sentence begins, before its subject.

    >>> say_of_each(["a"], "is linear"), say_of_each(["a", "b", "c"], "is linear")
    ('a is linear', 'Each of a, b and c is linear')
    >>> say_of_each(["a", "b"], "is linear", before="So ")
    'So each of a and b is linear'
    """
    *others, last = dict.fromkeys(names)
    each = "each" if before else "Each"
    subject = f"{each} of {', '.join(others)} and {last}" if others else last
    return f"{before}{subject} {text}"


def _has_names(text: str) -> bool:
    """Whether a sentence may have names of users."""
    return "'" in text or '"' in text


def _merge(texts: Sequence[str]) -> str:
    """Returns a sentence for several that differ in numbers alone."""
    if len(set(texts)) == 1:
        return texts[0]
    ranges = iter([_range_of(column) for column in zip(*map(MEASURED.findall, texts))])
    return MEASURED.sub(lambda found: next(ranges), texts[0])


def _range_of(numbers: Sequence[str]) -> str:
    """Returns the ends of the range of some numbers, or the one that all are."""
    low = min(numbers, key=float)
    high = max(numbers, key=float)
    return low if float(low) == float(high) else f"{low} to {high}"
