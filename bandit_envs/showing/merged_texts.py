"""Sentences that differ only in measured numbers become one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

MEASURED = re.compile(
    r"(?<![\w.=-])(?:-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf)\b"  # a number, not a part of a word
    r"(?![^\[]*\])"  # that is not between brackets
)
"""The measured numbers of a sentence: all but those in lists, words and values such as `c=2`."""


class MergedText(NamedTuple):
    """A sentence about some of several things.

    Fields:
        text: the sentence. A number that differs is replaced by the ends of its range.
        places: of the things that the sentence is about.
    """

    text: str
    places: list[int]


def merge_texts(texts: Sequence[str]) -> list[MergedText]:
    """Returns each sentence once; those that differ only in measured numbers become one.

    A sentence with quotes has names of users. It is merged only with equal sentences.

    Args:
        texts: a sentence for each thing; "" for none.

    >>> merge_texts(["the mean weight is 0.7", "", "the mean weight is 0.5"])
    [MergedText(text='the mean weight is 0.5 to 0.7', places=[0, 2])]
    """
    groups: dict[str, list[int]] = {}
    for place, text in enumerate(texts):
        if text:
            pattern = text if _has_names(text) else MEASURED.sub("#", text)
            groups.setdefault(pattern, []).append(place)
    return [MergedText(_merge([texts[each] for each in own]), own) for own in groups.values()]


def say_of_each(names: Sequence[str], text: str, before: str = "") -> str:
    """Returns a sentence whose subject is a list of names, and whose rest is `text`.

    Args:
        names: the subject.
        text: the rest, such as "is linear".
        before: what stands before the subject.

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
    """Returns whether a sentence may have names of users."""
    return "'" in text or '"' in text


def _merge(texts: Sequence[str]) -> str:
    """Returns one sentence for several that differ only in measured numbers."""
    if len(set(texts)) == 1:
        return texts[0]
    columns = zip(*map(MEASURED.findall, texts))
    ranges = map(_range_of, columns)
    return MEASURED.sub(lambda found: next(ranges), texts[0])


def _range_of(numbers: Sequence[str]) -> str:
    """Returns the ends of the range of some numbers; one number if all are equal."""
    low = min(numbers, key=float)
    high = max(numbers, key=float)
    return low if float(low) == float(high) else f"{low} to {high}"
