"""All that is shown of an evaluation, as plain values in a file."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.base.saving import atomic_write, check_format
from bandit_envs.evaluations.estimate_rows import EstimateRow
from bandit_envs.evaluations.showing.weight_histogram import EDGES, WeightHistogram

FORMAT = 1
"""Raised whenever the layout of the file changes."""

REPORT = "evaluation.json"
"""The file in a folder of results."""


class PolicyWeights(NamedTuple):
    """What the weights of a policy say of the log."""

    policy: str
    histogram: WeightHistogram
    mean: float  # whose expectation is 1
    mean_error: float  # its standard error
    effective_rows: float
    expected_rows: float | None  # effective, before actions were drawn; None if it is not known
    pareto_k: float  # of the weights; above 0.5 their variance is infinite


@dataclasses.dataclass(frozen=True)
class Report:
    """All that is shown of an evaluation.

    Args:
        log: names it.
        title: describes the log, in lines.
        notes: sentences that say what policies have learned from, and what is left out.
        confidence: the probability that an interval holds.
        baseline: the name of the policy that gains are over.
        by: the column of the segments; None for none.
        rows: of the table.
        segments: the rows of the table of each.
        weights: of each policy.
    """

    log: str
    title: str
    notes: Sequence[str]
    confidence: float
    baseline: str
    by: str | None
    rows: Sequence[EstimateRow]
    segments: Mapping[str, Sequence[EstimateRow]]
    weights: Sequence[PolicyWeights]

    def write(self, folder: Path) -> None:
        """Writes the report to a folder of results."""
        values = dataclasses.asdict(self)
        values["format"] = FORMAT
        values["rows"] = [row._asdict() for row in self.rows]
        values["segments"] = {
            name: [row._asdict() for row in rows] for name, rows in self.segments.items()
        }
        values["weights"] = [_plain_weights(each) for each in self.weights]
        atomic_write(folder / REPORT, [json.dumps(values, indent=1).encode()])

    @classmethod
    def read(cls, folder: Path) -> Report:
        """Returns the report in a folder of results; ValueError if it has no valid one."""
        file = folder / REPORT
        try:
            values = json.loads(file.read_bytes())
            check_format("it", "an evaluation", values.pop("format"), FORMAT)
            values["rows"] = [_read_row(row) for row in values["rows"]]
            values["segments"] = {
                name: [_read_row(row) for row in rows] for name, rows in values["segments"].items()
            }
            values["weights"] = [_read_weights(each) for each in values["weights"]]
            return cls(**values)._check()
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{file} has no report of an evaluation: {error}") from error

    def _check(self) -> Report:
        """Returns the report; ValueError if a text or a number is something else."""
        texts = [self.log, self.title, self.baseline, *self.notes, *self.segments]
        texts += [] if self.by is None else [self.by]
        numbers = [self.confidence]
        for weights in self.weights:
            policy, _, *others = weights
            texts.append(policy)
            numbers += [number for number in others if number is not None]
        if not all(isinstance(text, str) for text in texts):
            raise ValueError(f"texts are {texts}")
        if not all(isinstance(number, (int, float)) for number in numbers):
            raise ValueError(f"numbers are {numbers}")
        return self


def _plain_weights(weights: PolicyWeights) -> dict[str, Any]:
    """Returns what weights say, as plain values."""
    histogram = weights.histogram
    counts = histogram.counts.tolist()
    plain = {"counts": counts, "zeros": histogram.zeros, "largest": histogram.largest}
    return {**weights._asdict(), "histogram": plain}


def _read_weights(values: Mapping[str, Any]) -> PolicyWeights:
    """Returns what weights say; ValueError or TypeError if the values are something else."""
    plain = values["histogram"]
    counts = np.array(plain["counts"], np.int64)
    if counts.shape != (len(EDGES) - 1,):
        raise ValueError(f"counts has shape {counts.shape}; expected ({len(EDGES) - 1},)")
    histogram = WeightHistogram(counts, int(plain["zeros"]), float(plain["largest"]))
    return PolicyWeights(**{**values, "histogram": histogram})


def _read_row(values: Mapping[str, Any]) -> EstimateRow:
    """Returns a row; ValueError or TypeError if the values are something else."""
    row = EstimateRow(**values)
    for name, value in values.items():
        expected = str if isinstance(value, str) else (int, float)
        is_text = name in ("policy", "estimator", "warnings")
        if not isinstance(value, expected) or isinstance(value, str) != is_text:
            raise ValueError(f"{name} is {value!r}")
    return row
