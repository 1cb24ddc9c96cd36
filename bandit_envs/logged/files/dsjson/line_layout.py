"""What the lines of a log have in common, found in one pass: columns, actions and items."""

from __future__ import annotations

import array
import bisect
import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bandit_envs.base.checks import short_repr
from bandit_envs.logged.files.dsjson.decisions import Decisions
from bandit_envs.logged.files.dsjson.lines import (
    DsjsonLine,
    check_fields,
    check_keys,
    count_keys,
    errors_of_line,
    is_skipped,
    number_of,
    read_decision,
    read_documents,
)
from bandit_envs.tables.cell_counts import MAX_LEVELS
from bandit_envs.tables.encoding import TableEncoding
from bandit_envs.tables.parts import FilePart, Parts

KEPT_BYTES = 2**27
"""The most bytes of decisions that are kept, so that files are not read again."""

CHECKED_CHARACTERS = 2**20
"""After so many characters of lines, what is kept of them is measured."""


@dataclasses.dataclass(frozen=True)
class DsjsonLayout:
    """What the lines of a log have in common.

    Args:
        encoding: of the log: the columns of its features, and the names of its items or actions.
        num_actions: the number of actions, or the most items of a line.
        has_items: whether actions are items with features.
        numbers: of the actions or items, by what tells them apart in lines: their names, or their
            numbers; empty if their places do.
        stops: how many decisions come before each file, and how many there are.
        has_mask: whether lines lack actions, or have fewer items than others.
        has_weights: whether lines stand for different numbers of decisions.
        has_probabilities: whether all lines have the probabilities of all actions.
        skipped: how many lines must not be learned.
        defaults: how many lines have no outcome.
        passed: how many lines have a probability below that of the action.
        left_out: the features of too many texts.
    """

    encoding: TableEncoding | None
    num_actions: int
    has_items: bool
    numbers: Mapping[str, int]
    stops: Sequence[int]
    has_mask: bool
    has_weights: bool
    has_probabilities: bool
    skipped: int
    defaults: int
    passed: int
    left_out: Sequence[str]

    @property
    def row_numbers(self) -> int:
        """How many numbers the columns of a row have, at most."""
        encoding = TableEncoding() if self.encoding is None else self.encoding
        of_action = len(encoding.of_items().labels()) + 3  # probability, item, and whether offered
        return len(encoding.labels()) + self.num_actions * of_action + 4

    def doubts(self, name: str) -> list[str]:
        """Returns what is left out of the files of a name, and what lines lack, in words."""
        found = []
        if self.skipped:
            found.append(f"{self.skipped} lines of {name} are left out, as _skipLearn says")
        if self.defaults:
            problem = f"{self.defaults} lines of {name} have no outcome in o"
            found.append(f"{problem}; their reward is the default one")
        if self.passed:
            problem = f"{self.passed} lines of {name} have a _label_probability below p"
            found.append(f"{problem}, by the share that the logger passed on; they weigh more")
        if self.left_out:
            names = ", ".join(map(short_repr, self.left_out))
            found.append(f"features of more than {MAX_LEVELS} texts are left out: {names}")
        return found


class LayoutSearch:
    """Finds what the lines of a log have in common."""

    def __init__(self) -> None:
        self._decisions = Decisions()
        self._most_bytes = KEPT_BYTES  # 0 once some decisions were dropped
        self._unmeasured = 0  # characters
        self._stops = [0]  # how many lines files have, up to each
        self._tags: dict[str, str | None] = {}  # the number of the action of each, if it has one
        self._has_tags: bool | None = None
        self._are_numbers = True
        self._most = 0
        self._fewest = math.inf
        self._weights = (math.inf, 0.0)
        self._has_probabilities = True
        self._counts = {"skipped": 0, "defaults": 0, "passed": 0}
        self._fields: set[str] = set()
        self._events = array.array("q")
        self._lines = array.array("q")

    def read(self, parts: Parts[FilePart]) -> DsjsonLayout:
        """Returns what the lines of some files have in common.

        Raises:
            ValueError: a line is not a decision, or does not fit the others.
        """
        for part in parts.found:
            with part.reading():
                for number, line, document in read_documents(part.file):
                    with errors_of_line(number):
                        self._add(number, line, document)
            self._stops.append(len(self._lines))
        if not self._lines:
            raise ValueError(f"{', '.join(part.name for part in parts.found)} has no decisions")
        self._check_events(parts)
        return self._layout()

    def kept(self) -> Decisions | None:
        """Returns the decisions that were read; None if they take too much memory."""
        return None if len(self._decisions) < len(self._lines) else self._decisions

    def _add(self, number: int, line: str, document: dict[str, Any]) -> None:
        """Adds a line."""
        if not document.keys() <= self._fields:
            check_fields(document)
            self._fields |= document.keys()
        if is_skipped(document):
            self._counts["skipped"] += 1
            return
        decision = read_decision(number, document)
        keys = len(document)
        keys += count_keys([value for key, value in document.items() if key != "c"])
        keys += self._decisions.add(decision, self._are_numbers)
        check_keys(line, keys)
        self._unmeasured += len(line)
        if self._unmeasured > CHECKED_CHARACTERS:
            self._unmeasured = 0
            if self._decisions.num_bytes > self._most_bytes:
                self._decisions.drop()
                self._most_bytes = 0
        self._add_actions(decision)
        low, high = self._weights
        self._weights = (min(low, decision.weight), max(high, decision.weight))
        self._has_probabilities &= decision.probabilities is not None
        self._counts["defaults"] += not decision.has_outcome
        self._counts["passed"] += decision.is_passed
        self._lines.append(number)
        no_event = -len(self._lines)  # of each line another
        self._events.append(no_event if decision.event is None else hash(decision.event))

    def _add_actions(self, decision: DsjsonLine) -> None:
        """Adds the actions of a line; ValueError if they have names, unlike those before."""
        has_tags = bool(decision.tags)
        if self._has_tags not in (None, has_tags):
            names = ("no names", "names")
            found = f"its actions have {names[has_tags]} in _tag"
            raise ValueError(f"{found}, and those of lines before {names[not has_tags]}")
        self._has_tags = has_tags
        self._most = max(self._most, len(decision.items))
        self._fewest = min(self._fewest, len(decision.items))
        if not self._are_numbers:
            for tag in decision.tags:
                self._tags.setdefault(tag)
            return
        numbers = [number_of(item) for item in decision.items]
        self._are_numbers = None not in numbers and len({*numbers}) == len(numbers)
        known: Sequence[str | None] = decision.tags or numbers
        for name, number in zip(known, numbers):
            if name is not None and self._tags.setdefault(name, number) != number:
                self._are_numbers = False

    def _check_events(self, parts: Parts[FilePart]) -> None:
        """Raises ValueError if a decision stands twice; equal ids have equal hashes."""
        values, first, counts = np.unique(
            np.array(self._events), return_index=True, return_counts=True
        )
        if len(values) == len(self._events):
            return
        twice = int(first[counts > 1].min())
        second = twice + 1 + self._events[twice + 1 :].index(self._events[twice])
        places = [
            f"line {self._lines[row]} of {parts.found[bisect.bisect(self._stops, row) - 1].name}"
            for row in (twice, second)
        ]
        raise ValueError(f"{places[1]} has the EventId of {places[0]}; expected another")

    def _layout(self) -> DsjsonLayout:
        """Returns what the lines have in common."""
        item_features = () if self._are_numbers else self._decisions.items.columns()
        features = self._decisions.context.columns()
        has_items = bool(item_features)
        names = self._name_actions()
        has_tags = bool(self._has_tags)
        num_actions = self._most
        numbers = {name: place for place, name in enumerate(names)}
        if names and not has_items:
            num_actions = len(names)
        if not has_tags and self._are_numbers:
            numbers = {name: int(name) for name in names}
            num_actions = 1 + max(numbers.values())
        encoding = TableEncoding(
            actions=tuple(names) if has_tags and not has_items else (),
            features=features,
            item_features=item_features,
            items=tuple(names) if has_tags and has_items else (),
        )
        return DsjsonLayout(
            encoding=encoding if encoding != TableEncoding() else None,
            num_actions=num_actions,
            has_items=has_items,
            numbers=numbers,
            stops=self._stops,
            has_mask=self._fewest < num_actions,
            has_weights=self._weights[0] != self._weights[1],
            has_probabilities=self._has_probabilities,
            left_out=[*self._decisions.context.left_out(), *self._decisions.items.left_out()],
            **self._counts,
        )

    def _name_actions(self) -> list[str]:
        """Returns what tells actions apart, in the order of their numbers, or of first sight."""
        if not self._are_numbers:
            return list(self._tags) if self._has_tags else []
        return sorted(self._tags, key=lambda tag: int(self._tags[tag] or 0))
