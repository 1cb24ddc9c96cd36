"""A log in files of Vowpal Wabbit's dsjson, in batches."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bandit_envs.arrays import Indices, Mask
from bandit_envs.logged.files.dsjson.decisions import Decisions
from bandit_envs.logged.files.dsjson.json_features import FeatureWriter
from bandit_envs.logged.files.dsjson.line_layout import (
    DsjsonLayout,
    LayoutSearch,
)
from bandit_envs.logged.files.dsjson.lines import (
    DsjsonLine,
    errors_of_line,
    is_skipped,
    read_decision,
    read_documents,
)
from bandit_envs.logged.files.log_files import DSJSON_SUFFIXES
from bandit_envs.logged.files.scan import BATCH_ROWS, Scan, times_of_batches
from bandit_envs.logged.log import BanditLog
from bandit_envs.nests import Nest
from bandit_envs.tables.cells import as_times, seconds_of
from bandit_envs.tables.encoding import TableEncoding
from bandit_envs.tables.folders import find_parts
from bandit_envs.tables.parts import FilePart, Parts
from bandit_envs.tables.times import TimesOfRows

BATCH_NUMBERS = 2**22
"""The most features of a batch, with those of padding."""

TIME = "Timestamp"
"""The field of the times."""


def read_dsjson(path: str | os.PathLike[str]) -> BanditLog:
    """Reads Vowpal Wabbit's dsjson, whatever the name of the file is.

    It is what `read_log` does of a file whose name ends in .dsjson or .json.

    Lines may have any number of actions. If these have features, the log is one of items: its
    observation is a dict of `global` [n, G], `per_arm` [n, K, P] and, if numbers of actions differ,
    `mask` [n, K]; `_tag` is the name of an item. Without features, `_tag` is the name of an action,
    and `available` says which ones a line has. Features are named by their paths, such as
    "user^age", in `log.encoding`: texts are levels of a column, and each word of `_text` a number.

    Lines keep their order. Those of `_skipLearn`, whose action was never shown, are left out. Lines
    of which the logger dropped a share, `pdrop`, count as more decisions, `log.weight`.

    Raises:
        ValueError: a line is not a decision, has a field of another kind of decision, such as
            `_outcomes` of several slots, or does not fit the others; the message names the file,
            the line and the field.

    Warns:
        UserWarning: lines are left out, or have no outcome, or features have too many texts.
    """
    return DsjsonScan.open(find_parts(Path(path), DSJSON_SUFFIXES)).read()


@dataclasses.dataclass(frozen=True)
class DsjsonScan(Scan):
    """A log in files of dsjson. `open` reads them once, to find what lines have in common.

    Args:
        parts: the files, in order.
        layout: what their lines have in common.
        batch_rows: the most rows of a batch.
        time: the column of times: `Timestamp`, or one that `to_frame` names.
        kept: the decisions, if they take little memory; else every loop reads the files. It is not
            saved or sent with the scan.
        has_dates: whether batches have the Timestamps as their `time`.
    """

    parts: Parts[FilePart]
    layout: DsjsonLayout
    batch_rows: int = BATCH_ROWS
    time: str | None = None
    kept: Decisions | None = dataclasses.field(default=None, repr=False, compare=False)
    has_dates: bool = False

    @classmethod
    def open(
        cls, parts: Parts[FilePart], batch_rows: int = BATCH_ROWS, time: str | None = None
    ) -> DsjsonScan:
        """Returns the log in some files, which are read once."""
        search = LayoutSearch()
        layout = search.read(parts)
        scan = cls(parts, layout, batch_rows, time, search.kept())
        return scan.limit(batch_rows, BATCH_NUMBERS)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "kept": None}

    def scan_part(self, number: int) -> Iterator[BanditLog]:
        if not self.has_dates:
            yield from self._scan_part(number)
            return
        part = self.parts.found[number]
        times, place = _read_times(part)
        is_missing = np.isnat(times)
        if is_missing.any():
            found = f"{TIME} in {place(int(is_missing.argmax()))} is no date"
            raise ValueError(f"{found}; expected one, as in 2024-12-31T23:59:30Z")
        seconds = seconds_of(times)
        first = 0
        for batch in self._scan_part(number):
            yield dataclasses.replace(batch, time=seconds[first : first + len(batch)])
            first += len(batch)

    def _scan_part(self, number: int) -> Iterator[BanditLog]:
        """Yields the batches of a part without their dates."""
        part = self.parts.found[number]
        kept = self.kept
        with part.reading():
            if kept is not None:
                maker = RowMaker(self.layout, kept)
                first, stop = self.layout.stops[number : number + 2]
                for start in range(first, stop, self.batch_rows):
                    yield maker.make(start, min(stop, start + self.batch_rows))
                return
            decisions = Decisions()
            maker = RowMaker(self.layout, decisions)
            lines = _decisions_of(part)
            while self._add_batch(decisions, lines):
                yield maker.make(0, len(decisions))
                decisions.drop()

    def _add_batch(self, decisions: Decisions, lines: Iterator[DsjsonLine]) -> bool:
        """Adds the decisions of a batch; returns whether there was one."""
        are_numbers = bool(self.layout.numbers)
        for line in itertools.islice(lines, self.batch_rows):
            with errors_of_line(line.number):
                decisions.add(line, are_numbers)
        return len(decisions) > 0

    def limit(self, rows: int, numbers: int) -> DsjsonScan:
        encoding = self.layout.encoding
        width = 1
        if encoding is not None:
            of_items = len(encoding.of_items().labels())
            width = max(len(encoding.labels()), self.layout.num_actions * of_items)
        width = max(width, self.layout.num_actions, 1)
        return self._replace(batch_rows=max(1, min(self.batch_rows, rows, numbers // width)))

    @property
    def num_bytes(self) -> int:
        """How much memory its rows take, at most; their text is often longer."""
        return 8 * self.layout.stops[-1] * self.layout.row_numbers

    @property
    def features(self) -> Sequence[str]:  # type: ignore[override]
        return () if self.layout.encoding is None else self.layout.encoding.names

    @property
    def doubts(self) -> Sequence[str]:  # type: ignore[override]
        return self.layout.doubts(self.name)

    def remarks(self) -> list[str]:
        return [*super().remarks(), *self.doubts]

    def _scan_times(self, name: str) -> Iterator[TimesOfRows]:
        if name != TIME:
            yield from times_of_batches(self, name, self.name, {})
            return
        yield from map(_read_times, self.parts.found)

    def with_dates(self, name: str) -> DsjsonScan:
        return super().with_dates("" if name == TIME else name)._replace(has_dates=True)


def _read_times(part: FilePart) -> TimesOfRows:
    """Returns when the decisions in a file were made."""
    lines = []
    texts = []
    with part.reading():
        for line, document in _documents_of(part):
            with errors_of_line(line):
                texts.append(document[TIME])
            lines.append(line)
    place = functools.partial(_place_in_file, part.name, lines)
    return TimesOfRows(as_times(np.array(texts, np.object_)), place)


def _place_in_file(name: str, lines: Sequence[int], row: int) -> str:
    """Says where a decision is in a file."""
    return f"line {lines[row]} of {name}"


def _documents_of(part: FilePart) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields the documents of the decisions of a file, with the numbers of their lines."""
    for number, _, document in read_documents(part.file):
        with errors_of_line(number):
            skipped = is_skipped(document)
        if not skipped:
            yield number, document


def _decisions_of(part: FilePart) -> Iterator[DsjsonLine]:
    """Yields the decisions of a file."""
    for number, document in _documents_of(part):
        with errors_of_line(number):
            decision = read_decision(number, document)
        yield decision


class RowMaker:
    """Makes rows of a log of decisions in lines.

    Args:
        layout: of the log.
        decisions: which may be dropped, and others added.
    """

    def __init__(self, layout: DsjsonLayout, decisions: Decisions) -> None:
        self._layout = layout
        self._decisions = decisions
        encoding = TableEncoding() if layout.encoding is None else layout.encoding
        self._context = FeatureWriter(decisions.context, encoding.features)
        self._items = FeatureWriter(decisions.items, encoding.item_features)
        self._labels = (encoding.labels(), encoding.of_items().labels())

    def make(self, start: int, stop: int) -> BanditLog:
        """Returns the log of some of the decisions, from `start` to `stop`."""
        layout = self._layout
        decisions = self._decisions
        stops = np.array(decisions.stops[start : stop + 1])
        first = int(stops[0])
        last = int(stops[-1])
        shape = (stop - start, layout.num_actions)
        rows = np.repeat(np.arange(shape[0]), np.diff(stops))
        columns = np.arange(first, last) - stops[rows]
        known = columns
        if layout.numbers:
            known = decisions.number_actions(layout.numbers, first, last)
        action = np.array(decisions.actions[start:stop])
        if not layout.has_items:
            action = known[stops[:-1] - first + action]
            columns = known
        offered = np.zeros(shape, np.bool_)
        offered[rows, columns] = True
        mask = offered if layout.has_mask else None
        item = None
        if layout.has_items and layout.numbers:
            item = np.full(shape, -1)
            item[rows, columns] = known
        probabilities = None
        if layout.has_probabilities:
            probabilities = np.zeros(shape)
            probabilities[rows, columns] = decisions.probabilities[first:last]
        return BanditLog(
            observation=self._observe(start, stop, rows * layout.num_actions + columns, mask),
            action=action,
            reward=0.0 - np.array(decisions.costs[start:stop]),
            propensity=np.array(decisions.propensities[start:stop]),
            num_actions=layout.num_actions,
            action_probabilities=probabilities,
            available=None if layout.has_items else mask,
            item=item,
            weight=np.array(decisions.weights[start:stop]) if layout.has_weights else None,
            encoding=layout.encoding,
        )

    def _observe(self, start: int, stop: int, places: Indices, mask: Mask | None) -> Nest:
        """Returns the observation of some decisions.

        Args:
            start: the first of them.
            stop: the first one behind them.
            places: of their items, in a table of all actions.
            mask: which ones are offered, if they differ.
        """
        num_actions = self._layout.num_actions
        size = stop - start
        context = self._context.write(start, np.arange(size), size)
        tables = [context]
        if self._layout.has_items:
            first = self._decisions.stops[start]
            items = self._items.write(first, places, size * num_actions)
            tables.append(items.reshape(size, num_actions, -1))
        for table, names in zip(tables, self._labels):
            is_bad = ~np.isfinite(table)
            if is_bad.any():
                row, *_, column = np.argwhere(is_bad)[0].tolist()
                found = f"the feature {names[column]!r} is {table[is_bad][0]}"
                line = self._decisions.lines[start + row]
                raise ValueError(f"line {line}: {found}; expected a finite number")
        if not self._layout.has_items:
            return context
        observation: dict[str, Nest] = {"global": context, "per_arm": tables[1]}
        return observation if mask is None else {**observation, "mask": mask}
