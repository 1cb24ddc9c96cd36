"""The curves of score against cost over prices, as a table, a figure and files."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bandit_envs.base.extras import import_extra
from bandit_envs.base.saving import atomic_write
from bandit_envs.evaluations.routing.mixes import Frontier
from bandit_envs.evaluations.routing.points import PricePoint
from bandit_envs.showing.tables import csv_rows, text_cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

TABLE = "prices.csv"
"""The file of the table."""

FIGURE = "prices.png"
"""The file of the figure."""


@dataclasses.dataclass(frozen=True)
class PriceCurves:
    """What routers score and cost at several prices; `evaluate_prices` returns one."""

    models: Sequence[PricePoint]  #: each single model
    points: Sequence[PricePoint]  #: each router at each price
    at_budget: Sequence[PricePoint]  #: each router at the price that spends the budget
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

    def plot(self) -> Figure:
        """Returns a figure of scores over costs, with their intervals."""
        import_extra("matplotlib", "cli")
        from bandit_envs.evaluations.routing.router_figures import draw_curves  # noqa: PLC0415

        return draw_curves(self.models, self.points, self.at_budget, self.frontier, self.budget)

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Writes the table and the figure to a folder, as the command does; replaces older ones."""
        import_extra("matplotlib", "cli")
        from bandit_envs.showing.plots import to_image  # noqa: PLC0415

        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        lines = [[kind, text_cell(name), *cells] for kind, name, *cells in self._rows()]
        cells = [["" if cell != cell else cell for cell in line] for line in lines]  # NaN
        atomic_write(path / TABLE, [csv_rows([self._columns(), *cells])])
        atomic_write(path / FIGURE, [to_image(self.plot())])

    def _columns(self) -> list[str]:
        """Returns the headings of the table."""
        return ["kind", *PricePoint._fields[:-1], *(f"share of {m.policy}" for m in self.models)]

    def _rows(self) -> Iterator[list[Any]]:
        """Yields what each point is, its name, and its numbers."""
        kinds = {"model": self.models, "price": self.points, "budget": self.at_budget}
        for kind, points in kinds.items():
            for point in points:
                yield [kind, *point[:-1], *point.shares]
