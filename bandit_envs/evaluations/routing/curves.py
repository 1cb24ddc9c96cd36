"""The curves of score against cost over prices, as a table, a figure and files."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bandit_envs.base.extras import import_extra
from bandit_envs.base.saving import atomic_write
from bandit_envs.evaluations.routing.mixes import Frontier
from bandit_envs.evaluations.routing.points import PricePoint
from bandit_envs.evaluations.routing.router_tables import PointsTable, explain, grid_of
from bandit_envs.names.visible import visible
from bandit_envs.showing.page import Section, make_page
from bandit_envs.showing.tables import csv_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

TABLE = "prices.csv"
"""The file of the table."""

PAGE = "prices.html"
"""The file of the page."""

SEGMENTS = "segments.csv"
"""The file of the table of segments."""

NUMBERS = PricePoint._fields[: PricePoint._fields.index("shares")]
"""The columns of a table of points, but for the shares of models."""

FIGURE = "prices.png"
"""The file of the figure."""


@dataclasses.dataclass(frozen=True)
class PriceCurves:
    """What routers score and cost at several prices; `evaluate_prices` returns one."""

    models: Sequence[PricePoint]  #: each single model
    points: Sequence[PricePoint]  #: each router at each price
    at_budget: Sequence[PricePoint]  #: each router at the price that spends the budget
    best: str | None  #: the best single model where routers learned; None if all cost too much
    frontier: Frontier  #: the best mixes of single models, on the held-out requests
    budget: float | None  #: for a request; None for none
    confidence: float  #: the probability that an interval holds
    notes: Sequence[str]  #: sentences that say what was learned from, and what is left out

    def __repr__(self) -> str:
        sizes = f"models={len(self.models)}, points={len(self.points)}"
        return f"PriceCurves({sizes}, budget={self.budget})"

    @property
    def table(self) -> DataFrame:
        """All points with the columns of `PricePoint`, and what each is. Needs pandas.

        The share of each model has a column of its own, such as `share of large`.
        """
        pandas = import_extra("pandas", "datasets")
        found: DataFrame = pandas.DataFrame([*self._rows()], columns=self._columns())
        return found

    @property
    def segment_table(self) -> DataFrame:
        """The same columns for each segment of the requests, which the first one names."""
        pandas = import_extra("pandas", "datasets")
        columns = ["segment", *self._columns()]
        found: DataFrame = pandas.DataFrame([*self._segment_rows()], columns=columns)
        return found

    @property
    def segments(self) -> Mapping[str, Sequence[PricePoint]]:
        """The models, and the routers at the budget or at all prices, by segment."""
        shown = [*self.models, *(self.points if self.budget is None else self.at_budget)]
        found: dict[str, list[PricePoint]] = {}
        for point in shown:
            for part in point.segments:
                found.setdefault(part.segment, []).append(part)
        return found

    def tables(self) -> Iterator[PointsTable]:
        """Yields a table of all prices as texts, one of the budget, and one of each segment."""
        yield PointsTable("", self._grid([*self.models, *self.points]))
        if self.at_budget:
            title = f"At a budget of {self.budget:g} a request"
            yield PointsTable(title, self._grid(self.at_budget))
        for name, points in self.segments.items():
            yield PointsTable(f"In {visible(name)}", self._grid(points), is_segment=True)

    def explain(self) -> str:
        """Returns what the numbers of the tables are."""
        return explain(self.best, self.budget is not None)

    def plot(self) -> Figure:
        """Returns a figure of scores over costs, with their intervals."""
        import_extra("matplotlib", "cli")
        from bandit_envs.evaluations.routing.router_figures import draw_curves  # noqa: PLC0415

        return draw_curves(self.models, self.points, self.at_budget, self.frontier, self.budget)

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Writes tables, the figure and a page to a folder, as the command does.

        The files are `prices.csv`, `prices.png` and `prices.html`; and if the requests have
        segments, `segments.csv`. Older ones are replaced.
        """
        import_extra("matplotlib", "cli")
        from bandit_envs.showing.plots import to_image  # noqa: PLC0415

        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        atomic_write(path / TABLE, [csv_table(self._columns(), self._rows())])
        (path / SEGMENTS).unlink(missing_ok=True)
        if self.segments:
            columns = ["segment", *self._columns()]
            atomic_write(path / SEGMENTS, [csv_table(columns, self._segment_rows())])
        image = to_image(self.plot())
        atomic_write(path / FIGURE, [image])
        atomic_write(path / PAGE, [self._page(image).encode()])

    def _page(self, image: bytes) -> str:
        """Returns a page with the figure, the tables and the notes."""
        sections = []
        for title, grid, is_segment in self.tables():
            section = Section(title, table=grid, level=3 if is_segment else 2)
            if not title:
                section = section._replace(
                    title="Scores and costs",
                    lines=[self.explain()],
                    picture=lambda: image,
                    notes=self.notes,
                )
            sections.append(section)
        return make_page("Routers", [], sections)

    def _grid(self, points: Sequence[PricePoint]) -> list[list[str]]:
        """Returns the headings, and a row for each point."""
        models = [model.policy for model in self.models]
        return grid_of(points, models, self.best, self.confidence)

    def _columns(self) -> list[str]:
        """Returns the headings of the table."""
        return ["kind", *NUMBERS, *(f"share of {m.policy}" for m in self.models)]

    def _rows(self) -> Iterator[list[Any]]:
        """Yields what a point is, its name, its numbers, and the share of each model."""
        for kind, point in self._all_points():
            yield _row_of(kind, point)

    def _segment_rows(self) -> Iterator[list[Any]]:
        """Yields the segment, and the same of each point in it."""
        for kind, point in self._all_points():
            for part in point.segments:
                yield [part.segment, *_row_of(kind, part)]

    def _all_points(self) -> Iterator[tuple[str, PricePoint]]:
        """Yields each point, and what it is."""
        kinds = {"model": self.models, "price": self.points, "budget": self.at_budget}
        for kind, points in kinds.items():
            for point in points:
                yield kind, point


def _row_of(kind: str, point: PricePoint) -> list[Any]:
    """Returns what a point is, its name, its numbers, and the share of each model."""
    return [kind, *point[: len(NUMBERS)], *point.shares]
