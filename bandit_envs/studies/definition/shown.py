"""What figures and tables show of the quantities that a study measures."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Floats
from bandit_envs.metrics import QUANTITIES, Quantity


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShownQuantity:
    """A quantity, and how panels of figures and tables show it."""

    quantity: Quantity

    axis: str = ""
    """The title of the panel's axis; "" if there is no panel."""

    heading: str = ""
    """The heading of the column of the summary, of the last step; "" for no column."""

    decimals: int = 3
    """The smallest number of decimals in the summary."""

    limits: tuple[float, float] | None = None
    """The limits of the panel's axis; None to fit the curves."""

    quantiles: tuple[float, ...] = ()
    """The quantiles over runs that the summary has beside the mean."""

    def texts(self, *numbers: float, error: float) -> list[str]:
        """Returns numbers as the summary writes them: with two digits of their error, if any."""
        decimals = self.decimals
        if 1e-9 < error < 1.0:
            decimals = max(decimals, 1 - math.floor(math.log10(error)))
        rounded = [round(number, decimals) + 0.0 for number in numbers]  # 0, where it would be -0
        return [f"{number:.{decimals}f}" for number in rounded]

    def shown_runs(self, sums: ArrayLike, steps: Iterable[int]) -> Floats:
        """Returns what quantiles over runs are taken of: that of each run, or shares of all steps.

        Between two steps, a quantity of 0 or 1 in each step has few values, and quantiles of them
        say little.
        """
        at = [*steps]
        if self.shows_share(sums, at):
            return np.asarray(np.asarray(sums, np.float64) / np.array(at)[:, np.newaxis])
        return self.quantity.of_runs(sums, at)

    def shows_share(self, sums: ArrayLike, steps: Iterable[int]) -> bool:
        """Whether sums [n, B] of the first `steps` [n] are of a quantity of 0 or 1 in each step."""
        if self.quantity.kind != "per_step" or self.quantity.is_share:
            return self.quantity.is_share
        amounts = np.diff(np.asarray(sums, np.float64), axis=0, prepend=0)
        most = np.diff(np.array([*steps]), prepend=0)[:, np.newaxis]
        is_count = (amounts == np.rint(amounts)) & (amounts >= 0.0) & (amounts <= most)
        return amounts.size > 0 and bool(is_count.all())


SHOWN = {
    "reward": ShownQuantity(quantity=QUANTITIES["reward"], axis="Average reward", heading="reward"),
    "percent_optimal": ShownQuantity(
        quantity=QUANTITIES["percent_optimal"],
        axis="% Optimal action",
        heading="% optimal",
        decimals=1,
        limits=(0, 100),
    ),
    "regret": ShownQuantity(quantity=QUANTITIES["regret"], axis="Average regret"),
    "mean_reward": ShownQuantity(quantity=QUANTITIES["mean_reward"], heading="mean reward"),
    "mean_percent_optimal": ShownQuantity(quantity=QUANTITIES["mean_percent_optimal"]),
    "pareto_regret": ShownQuantity(
        quantity=QUANTITIES["pareto_regret"], axis="Average Pareto regret"
    ),
    "violations": ShownQuantity(
        quantity=QUANTITIES["violations"], axis="Share of violations", heading="violations"
    ),
    "cumulative_regret": ShownQuantity(
        quantity=QUANTITIES["cumulative_regret"],
        axis="Cumulative regret",
        heading="regret",
        decimals=1,
    ),
    "cumulative_pareto_regret": ShownQuantity(
        quantity=QUANTITIES["cumulative_pareto_regret"],
        axis="Cumulative Pareto regret",
        heading="Pareto regret",
        decimals=1,
    ),
    "mean_violations": ShownQuantity(quantity=QUANTITIES["mean_violations"]),
    "knapsack_regret": ShownQuantity(
        quantity=QUANTITIES["knapsack_regret"],
        axis="Regret with the budget",
        heading="regret with the budget",
        decimals=1,
    ),
    "simple_regret": ShownQuantity(
        quantity=QUANTITIES["simple_regret"],
        axis="Simple regret",
        heading="simple regret",
        decimals=4,
    ),
    "error": ShownQuantity(
        quantity=QUANTITIES["error"], axis="Probability of error", heading="errors"
    ),
    "stopping_time": ShownQuantity(
        quantity=QUANTITIES["stopping_time"],
        axis="Steps until the stop",
        heading="steps until the stop",
        decimals=0,
        quantiles=(0.05, 0.5, 0.95),
    ),
    "stopped": ShownQuantity(
        quantity=QUANTITIES["stopped"],
        axis="% Stopped",
        heading="% stopped",
        decimals=1,
        limits=(0, 100),
    ),
    "bias": ShownQuantity(
        quantity=QUANTITIES["bias"],
        axis="Bias of the best action's mean",
        heading="bias of the mean",
        decimals=4,
    ),
    "coverage": ShownQuantity(
        quantity=QUANTITIES["coverage"],
        axis="% Intervals hold",
        heading="% intervals hold",
        decimals=1,
        limits=(0, 100),
    ),
    "suffix_failure": ShownQuantity(
        quantity=QUANTITIES["suffix_failure"],
        axis="Suffix failure frequency",
        heading="suffix failures",
    ),
    "minimal_fraction": ShownQuantity(
        quantity=QUANTITIES["minimal_fraction"],
        axis="Minimal fraction, times K",
        heading="minimal fraction",
    ),
    "greedy": ShownQuantity(quantity=QUANTITIES["greedy"], axis="% Greedy choices"),
    "mean_greedy": ShownQuantity(
        quantity=QUANTITIES["mean_greedy"], heading="% greedy", decimals=1
    ),
}
"""How all quantities are shown, by name."""
