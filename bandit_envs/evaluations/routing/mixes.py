"""Single models and their mixes at random: what routers must beat."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.rounding import merge_ties, subtract


@dataclasses.dataclass(frozen=True)
class Mix:
    """One model, or two models of which each request gets one at random.

    Args:
        first: the number of the cheaper model.
        second: the number of the dearer model; the same for one model.
        share: of the requests that the dearer model gets.
        slope: how much the score grows with the cost from the first to the second; 0 for one model.
    """

    first: int
    second: int
    share: float
    slope: float

    def of(self, table: Floats) -> Floats:
        """Returns what the mix is expected to get on each request, of a table [n, K]: [n]."""
        one = table[:, self.first]
        return np.asarray(one + self.share * (table[:, self.second] - one))


class Frontier:
    """The best mixes of single models: the upper convex hull of their costs and scores.

    Its vertices lead from the cheapest model to the one with the best score. A mix of two
    neighbours has any cost between theirs.

    Args:
        scores: [n, K], of K models on n requests.
        costs: [n, K].

    >>> found = Frontier(np.array([[0.0, 0.2, 1.0]]), np.array([[1.0, 2.0, 3.0]]))
    >>> found.vertices, found.score(2.0)
    ([0, 2], 0.5)
    """

    def __init__(self, scores: Floats, costs: Floats) -> None:
        self._scores = scores
        self._costs = costs
        self.score_means = merge_ties(scores.mean(axis=0))  #: of the models, [K]
        self.cost_means = merge_ties(costs.mean(axis=0))  #: of the models, [K]
        #: The numbers of the models that the best mixes are made of, from cheap to dear.
        self.vertices = find_vertices(self.score_means, self.cost_means)

    @property
    def slopes(self) -> Floats:
        """How much the score grows with the cost, from each vertex to the next one."""
        score = np.diff(self.score_means[self.vertices])
        return np.asarray(score / np.diff(self.cost_means[self.vertices]))

    def mix(self, cost: float) -> Mix:
        """Returns the best mix of a cost. It is the cheapest or the best model beyond the ends."""
        at = self.cost_means[self.vertices]
        place = int(np.searchsorted(at, cost))
        if place in (0, len(at)):
            model = self.vertices[min(place, len(at) - 1)]
            return Mix(model, model, 0.0, 0.0)
        share = (cost - at[place - 1]) / (at[place] - at[place - 1])
        first = self.vertices[place - 1]
        second = self.vertices[place]
        return Mix(first, second, float(share), float(self.slopes[place - 1]))

    def score(self, cost: float) -> float:
        """Returns the score of the best mix of a cost."""
        return float(self.mix(cost).of(self.score_means[np.newaxis])[0])

    def gains(self, scores: Floats, costs: Floats) -> Floats:
        """Returns by how much a router exceeds the mix with the same cost, on each request: [n].

        The mix depends on mean costs, which are those of a sample. So each request counts with

            score - mix score - slope (cost - mix cost)

        whose mean is the gain, and whose variance includes that of the mean costs, by the delta
        method.

        Args:
            scores: of the router on the same requests.
            costs: of the router on the same requests.
        """
        mix = self.mix(float(costs.mean()))
        gained = subtract(scores, mix.of(self._scores))
        spent = subtract(costs, mix.of(self._costs))
        return subtract(gained, mix.slope * spent)


def find_vertices(scores: Floats, costs: Floats) -> list[int]:
    """Returns the models that the best mixes are made of, from cheap to dear.

    Args:
        scores: the mean scores, [K].
        costs: the mean costs, [K].
    """
    found: list[int] = []
    for model in np.lexsort((-scores, costs)):
        if found and scores[model] <= scores[found[-1]]:
            continue  # it costs as much or more, and is no better
        while len(found) > 1 and _is_below(scores, costs, [*found[-2:], model]):
            found.pop()
        found.append(int(model))
    return found


def _is_below(scores: Floats, costs: Floats, models: Sequence[int]) -> bool:
    """Whether the second of three models is on or below the line from the first to the third."""
    first, second, third = models
    rise = (scores[second] - scores[first]) * (costs[third] - costs[first])
    return bool(rise <= (scores[third] - scores[first]) * (costs[second] - costs[first]))
