"""Joins logs, whose columns and encodings must be the same."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from bandit_envs.arrays import Array
from bandit_envs.logged.log import BanditLog
from bandit_envs.nests import Nest, map_structure
from bandit_envs.tables.encoding import TableEncoding


def concatenate(logs: Sequence[BanditLog]) -> BanditLog:
    """Returns one log with the rows of several, in order; they must have the same columns."""
    if not logs:
        raise ValueError("logs is empty; expected at least one log")
    counts = sorted({log.num_actions for log in logs})
    if len(counts) > 1:
        raise ValueError(f"logs differ in their number of actions: {counts}")
    encoding = _join_encodings([log.encoding for log in logs])
    try:
        columns = join_nests([log.nest() for log in logs])
    except (TypeError, ValueError) as error:
        raise ValueError(f"logs differ in their columns: {_find_difference(logs)}") from error
    notes = dict.fromkeys(log.estimated for log in logs if log.estimated)
    estimated = "; ".join(notes)
    return dataclasses.replace(logs[0], encoding=encoding, estimated=estimated, **columns)


def check_encodings(batches: Iterable[BanditLog]) -> Iterator[BanditLog]:
    """Yields the batches of a log; ValueError if they give the same numbers other meanings."""
    encoding: TableEncoding | None = None
    for number, batch in enumerate(batches):
        known = [batch.encoding] if number == 0 else [encoding, batch.encoding]
        encoding = _join_encodings(known)
        yield batch


def join_nests(nests: Sequence[Nest]) -> Nest:
    """Returns one nest with the rows of several, in order."""
    return map_structure(lambda *leaves: np.concatenate(leaves), *nests)


def _join_encodings(encodings: Sequence[TableEncoding | None]) -> TableEncoding | None:
    """Returns the encoding of all of some logs; ValueError if they give numbers other meanings."""
    first = encodings[0]
    for encoding in encodings[1:]:
        if encoding == first:
            continue
        if (encoding and encoding.has_names) or (first and first.has_names):
            found = "their actions or their features have other names"
            raise ValueError(f"logs differ in their encoding: {found}; read them as one table")
        first = None
    return first


def _find_difference(logs: Sequence[BanditLog]) -> str:
    """Says which column of a log is unlike that of the first, and how."""
    first = _shapes_of_rows(logs[0])
    for log in logs[1:]:
        shapes = _shapes_of_rows(log)
        for name in first | shapes:
            known = first.get(name, "missing")
            found = shapes.get(name, "missing")
            if known != found:
                return f"{name} is {found}; expected {known}, as in the first"
    return "their observations are nested in different ways"


def _shapes_of_rows(log: BanditLog) -> dict[str, str]:
    """Returns the shapes of a row of all columns, in words."""

    def describe(leaf: Array) -> str:
        kind = "text" if leaf.dtype.kind == "U" else "numbers"
        return f"{kind} of shape {leaf.shape[1:]}"

    return {name: str(map_structure(describe, column)) for name, column in log.nest().items()}
