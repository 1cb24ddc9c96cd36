"""What an evaluation has found, as a table, figures and files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from bandit_envs.base.extras import import_extra
from bandit_envs.base.saving import atomic_write
from bandit_envs.evaluations.candidates import Candidate
from bandit_envs.evaluations.estimate_rows import (
    EstimateRow,
    Evaluated,
    make_tables,
    sign_of_gain,
)
from bandit_envs.evaluations.policy_sums import FEWEST, Found, Key
from bandit_envs.evaluations.segments import order_names
from bandit_envs.evaluations.showing.estimate_tables import latex_of_estimates
from bandit_envs.evaluations.showing.headline import say_who_gains
from bandit_envs.logged.summary import ItemRow, LogSummary
from bandit_envs.names.visible import visible
from bandit_envs.policies import Policy
from bandit_envs.showing.merged_texts import merge_texts, say_of_each
from bandit_envs.showing.tables import csv_table
from bandit_envs.tables.errors import name_some

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

ESTIMATES = "estimates.csv"
"""The file of the table."""

PAGE = "evaluation.html"
"""The file of the page."""

ITEMS = "items.csv"
"""The file of the items of the log."""

Remarks: TypeAlias = Mapping[Key, Mapping[str, Sequence[str]]]
"""Reasons to distrust estimates, by segment, policy and estimator."""

SEGMENTS = "segments.csv"
"""The file of the tables of the segments."""

SIGNS = {1: "gains in", -1: "loses in"}
"""The verb of a sentence about segments, by the sign of the gains in them."""


class Evaluation:
    """What policies would have earned, estimated from a log; `evaluate` returns one.

    Args:
        candidates: the policies.
        found: their sums, and those of the policy that made the log, of all rows and by segment.
        summary: what the log holds.
        log: names the log.
        title: describes the log, with what is left out of it.
        confidence: the probability that an interval holds.
        baseline: the name of the policy that gains are over.
        by: the column of the segments; None for none.
        remarks: more reasons to distrust estimates, by segment, policy and estimator.
        others: a sentence that says which other estimators there are; "" if a user named some.
        learned_units: whether policies have learned from the rows of some units.
        is_over_time: whether segments are weeks, months and so on.
    """

    def __init__(
        self,
        *,
        candidates: Sequence[Candidate],
        found: Found,
        summary: LogSummary,
        log: str,
        title: str,
        confidence: float,
        baseline: str,
        by: str | None,
        remarks: Remarks,
        others: str = "",
        learned_units: bool = False,
        is_over_time: bool = False,
    ) -> None:
        self.is_over_time = is_over_time  #: whether segments are weeks, months and so on
        self._others = others
        self._learned_units = learned_units
        self._candidates = candidates
        self._evaluated = _evaluated_in(None, candidates, found, remarks)
        self.summary = summary  #: what the log holds
        self.log = log  #: names the log
        self.title = title  #: describes the log, with what is left out of it
        self.confidence = confidence  #: the probability that an interval holds
        self.baseline = baseline  #: the name of the policy that gains are over
        self.by = by  #: the column of the segments; None for none
        #: The rows of `estimates`, as an `EstimateRow` each. The first is the logged policy's.
        self.rows: Sequence[EstimateRow] = make_tables([self._evaluated], confidence)[0]
        names = order_names([*{name for name, _ in found if name is not None}])
        every = [_evaluated_in(name, candidates, found, remarks) for name in names]
        parts = [[each for each in part if each.size >= FEWEST] for part in every]
        #: The rows of each segment, by its value of the column. P-values are corrected for the
        #: numbers of policies and segments.
        self.segments: Mapping[str, Sequence[EstimateRow]] = dict(
            zip(names, make_tables(parts, confidence))
        )

    def __repr__(self) -> str:
        sizes = f"policies={len(self._candidates)}, estimates={len(self.rows) - 1}"
        return f"Evaluation({sizes}, log_rows={self.summary.size})"

    @property
    def estimates(self) -> DataFrame:
        """The table with the columns of `EstimateRow`. Needs pandas.

        It has a row for each policy and estimator, after one of the policy that made the log.
        """
        frame = import_extra("pandas", "logged").DataFrame(self.rows, columns=EstimateRow._fields)
        found: DataFrame = frame
        return found

    @property
    def segment_estimates(self) -> DataFrame:
        """The tables of all segments, one below the other. Needs pandas.

        The first column has the segment, and is named as the column that the log was cut by.
        """
        headings, rows = self._segment_table()
        frame = import_extra("pandas", "logged").DataFrame(rows, columns=headings)
        found: DataFrame = frame
        return found

    @property
    def items(self) -> DataFrame:
        """What the log says of each item, of those most offered first. Needs pandas.

        The columns are the item; in how many rows it was offered and chosen; and the means of the
        propensities and of the rewards of the rows where it was chosen. A log that does not number
        items has no rows.
        """
        rows = self.summary.item_rows()
        frame = import_extra("pandas", "logged").DataFrame(rows, columns=ItemRow._fields)
        found: DataFrame = frame
        return found

    @property
    def all_rows(self) -> list[EstimateRow]:
        """The rows of the table and of all segments."""
        return [*self.rows, *(row for rows in self.segments.values() for row in rows)]

    @property
    def policies(self) -> dict[str, Policy]:
        """The policies as they were evaluated, by name: those that learn have learned."""
        return {each.name: each.policy for each in self._candidates}

    @property
    def notes(self) -> list[str]:
        """Sentences that say from which rows policies have learned, and if estimates may be wrong.

        The last says which other estimators there are, if `evaluate` was given none.
        """
        return [
            *self._notes_of_parts(),
            *self._notes_of_policies(),
            *self._notes_of_segments(),
            *([self._others] if self._others else []),
        ]

    def headline(self) -> str:
        """Returns which policies are better than the baseline, in one sentence, or two.

        It is "" if no policy is compared with the baseline.
        """
        return say_who_gains(self.rows, self.baseline, self.confidence)

    def plot(self) -> Figure:
        """Returns a figure of the estimates and the gains, with their intervals."""
        import_extra("matplotlib", "cli")
        from bandit_envs.evaluations.showing.estimate_figures import draw_estimates  # noqa: PLC0415

        return draw_estimates(self.rows, self.baseline)

    def plot_weights(self) -> Figure:
        """Returns a figure of the weights of the rows, by policy."""
        import_extra("matplotlib", "cli")
        from bandit_envs.evaluations.showing.estimate_figures import (  # noqa: PLC0415
            draw_weights,
            weights_of,
        )

        return draw_weights(weights_of(self._evaluated[1:]))

    def to_latex(self) -> str:
        """Returns the estimates and gains as a table of LaTeX, which needs the package booktabs.

        Numbers are rounded to two digits of their standard error. If the log was cut, the rows of
        each segment follow.
        """
        return latex_of_estimates(self)

    def write_page(self, file: str | os.PathLike[str]) -> None:
        """Writes a page of HTML with the tables, figures and warnings, to hand on.

        The page needs no server and no network. Its charts need Plotly, of the extra `show`;
        without it, there are pictures.
        """
        import_extra("matplotlib", "cli")
        from bandit_envs.evaluations.showing.evaluation_page import page_of  # noqa: PLC0415

        page = page_of(self, self._evaluated[1:])
        atomic_write(Path(file), [page.encode()])

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Writes the table, the figures and the page to a folder, as the command does.

        The files are `estimates.csv`, `estimates.png`, `weights.png` and `evaluation.html`; if the
        log was cut, `segments.csv`; and if it numbers items, `items.csv`. Older ones are replaced.
        """
        import_extra("matplotlib", "cli")
        from bandit_envs.showing.plots import to_image  # noqa: PLC0415

        figures = {"estimates.png": self.plot(), "weights.png": self.plot_weights()}
        images = {name: to_image(figure) for name, figure in figures.items()}
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        (path / PAGE).unlink(missing_ok=True)  # no page is older than the numbers beside it
        atomic_write(path / ESTIMATES, [csv_table(EstimateRow._fields, self.rows)])
        items = self.summary.item_rows()
        tables = {
            SEGMENTS: csv_table(*self._segment_table()) if self.by is not None else None,
            ITEMS: csv_table(ItemRow._fields, items) if items else None,
        }
        for name, table in tables.items():
            if table is None:
                (path / name).unlink(missing_ok=True)
            else:
                atomic_write(path / name, [table])
        for name, image in images.items():
            atomic_write(path / name, [image])
        self.write_page(path / PAGE)

    def _segment_table(self) -> tuple[list[str], list[list[object]]]:
        """Returns the headings and the rows of the tables of all segments, one below the other."""
        rows = [[name, *row] for name, rows in self.segments.items() for row in rows]
        return [self.by or "segment", *EstimateRow._fields], rows

    def _notes_of_parts(self) -> Iterator[str]:
        """Yields which policies have learned from which rows of the log, and who meets others."""
        size = self.summary.size
        starts = sorted({each.start for each in self._candidates})
        for start in starts:
            names = [each.name for each in self._candidates if each.start == start]
            if start:
                of = f"the {start} rows of some of the units" if self._learned_units else ""
                learned = f"Learned from {of or f'the first {start} rows'}, and frozen then"
                yield f"{learned}: {', '.join(names)}."
        rows = {row.rows for row in self.rows}
        if rows == {size}:
            return
        if len(rows) == 1:
            evaluated = "All policies are evaluated on the"
            if starts[-1]:
                others = f"other {rows.pop()} of {size} rows, from which no policy has learned"
                yield f"{evaluated} {others}."
            else:
                last = "" if self._learned_units else "last "
                found = f"{evaluated} {last}{rows.pop()} of {size} rows"
                yield f"{found}; others are left to learning."
            return
        yield "Each policy is evaluated on the rows from which it has not learned itself."
        yield f"Gains are of the rows from which neither it nor {self.baseline} has learned."

    def _notes_of_policies(self) -> Iterator[str]:
        """Yields what policies lack, and what was chosen for them; one sentence for equal ones."""
        remarks = [(each.name, text) for each in self._candidates for text in each.remarks]
        for merged in merge_texts([text for _, text in remarks]):
            names = [remarks[place][0] for place in merged.places]
            yield f"{say_of_each(names, merged.text)}."

    def _notes_of_segments(self) -> Iterator[str]:
        """Yields where policies gain and lose, and which segments have too few rows."""
        by = visible(self.by or "")
        found: dict[tuple[str, str], dict[int, list[str]]] = {}
        for name, rows in self.segments.items():
            for row in rows:
                if row.gain_rows:
                    places = found.setdefault((row.policy, row.estimator), {})
                    places.setdefault(sign_of_gain(row, self.confidence), []).append(name)
        alike: dict[tuple[str, str], list[str]] = {}
        for (policy, estimator), places in found.items():
            parts = [f"{SIGNS[sign]} {name_some(places[sign])}" for sign in SIGNS if sign in places]
            where = " and ".join(parts) or "has no certain gain or loss"
            alike.setdefault((where, estimator), []).append(policy)
        for (where, estimator), policies in alike.items():
            said = say_of_each(policies, where, before=f"By {by}, ")
            yield f"{said}, by {estimator} and corrected p-values."
        short = [name for name, rows in self.segments.items() if not rows]
        if short:
            names = ", ".join(map(visible, short))
            yield f"Of one row, and so without estimates: {by} {names}."


def _evaluated_in(
    name: str | None, candidates: Sequence[Candidate], found: Found, remarks: Remarks
) -> list[Evaluated]:
    """Returns the policies that have rows in a segment, or at all; first the one of the log."""
    evaluated = []
    for place, policy in enumerate([None, *candidates]):
        if (name, place) in found:
            more = remarks.get((name, place), {})
            evaluated.append(Evaluated(policy, found[name, place], more))
    return evaluated
