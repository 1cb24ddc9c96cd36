"""Thompson sampling: the best action of a model that is drawn from what is believed."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from bandit_envs.arrays import Floats, Mask, Rng
from bandit_envs.base.checks import MAX_PARAMETER, check_number
from bandit_envs.policies.draws import (
    argmax_random_ties,
    hope_for_best,
    largest_values,
    uniform,
)
from bandit_envs.policies.models.value_model import ValueModel
from bandit_envs.policies.policy import Actions
from bandit_envs.policies.rules.rule import Predictions, Rule


@dataclasses.dataclass(frozen=True)
class ThompsonSampling(Rule):
    """Draws what the model predicts from its posterior, and chooses the largest draw.

        argmax_a  v(a),    v ~ posterior of f(x, .)

    Of an ensemble, one model is drawn for each row: then the probability of an action is the share
    of the models that it is best for.

    Args:
        alpha: how far to explore: it multiplies the standard deviations of the posterior. Models
            whose rewards have noise of another standard deviation than 1 want about that.

    Source: Thompson (1933); Agrawal & Goyal, Thompson Sampling for Contextual Bandits with Linear
    Payoffs (2013), algorithm 1.

    >>> ThompsonSampling()
    ThompsonSampling(alpha=1.0)
    """

    alpha: float = 1.0

    needs: ClassVar[str] = "draw"

    def __post_init__(self) -> None:
        check_number("alpha", self.alpha, 0.0, MAX_PARAMETER)

    def check(self, model: ValueModel) -> None:
        super().check(model)
        if self.alpha != 1.0 and not model.draws_are_scaled:
            name = type(model).__name__
            raise ValueError(
                f"alpha is {self.alpha}; expected 1, as draws of a {name} have no scale"
            )

    def knows_probabilities(self, model: ValueModel) -> bool:
        return "members" in model.abilities()

    def select(self, rng: Rng, seen: Predictions, available: Mask | None) -> Actions:
        if self.knows_probabilities(seen.model):
            return super().select(rng, seen, available)
        drawn = hope_for_best(seen.draw(rng, self.alpha), available)
        return argmax_random_ties(rng, drawn, available)

    def rank(self, rng: Rng, seen: Predictions) -> Floats:
        return seen.draw(rng, self.alpha)

    def probabilities(self, seen: Predictions, available: Mask | None) -> Floats:
        members = seen.members()
        table = np.zeros(seen.shape)
        for values in members:
            found = values if available is None else np.where(available, values, -np.inf)
            _, largest = largest_values(found)
            table += uniform(found == largest)
        return table / len(members)
