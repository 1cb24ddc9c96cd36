"""Softmax of predictions."""

from __future__ import annotations

import dataclasses

import numpy as np

from bandit_envs.arrays import Floats, Mask
from bandit_envs.base.checks import MAX_PARAMETER, MIN_STD, check_positive
from bandit_envs.policies.draws import softmax
from bandit_envs.policies.rules.rule import Predictions, Rule

COLDEST = 1e-3
"""The least share of its first temperature to which a softmax cools."""


@dataclasses.dataclass(frozen=True)
class Softmax(Rule):
    """Draws actions from a softmax of their scores.

        pi(a) = exp(s(a) / temperature_n) / sum_b exp(s(b) / temperature_n)
        temperature_n = temperature * cooling^n    after n rewards

    The score s is the predicted reward, and for classifiers and logistic models the log-odds. The
    temperature stays above a thousandth of the first one.

    Args:
        temperature: above 0; the lower it is, the greedier the policy.
        cooling: by how much each reward multiplies the temperature, above 0 and at most 1.

    Source: Sutton & Barto, 2nd ed., section 13.1; Cortes, Adapting Multi-Armed Bandits Policies to
    Contextual Bandits Scenarios (2018), there SoftmaxExplorer, whose multiplier is 1 / temperature.

    >>> Softmax(temperature=0.1)
    Softmax(temperature=0.1, cooling=0.9996)
    """

    temperature: float = 1.0
    cooling: float = 0.9996

    def __post_init__(self) -> None:
        check_positive("temperature", self.temperature, MIN_STD, MAX_PARAMETER)
        check_positive("cooling", self.cooling, maximum=1.0)

    @property
    def counts_rewards(self) -> bool:
        """Whether the temperature cools."""
        return self.cooling < 1.0

    def probabilities(self, seen: Predictions, available: Mask | None) -> Floats:
        scores = seen.scores()
        if available is not None:  # so that the largest available one does not become 0
            scores = np.where(available, scores, -np.inf)
        share = self.cooling**seen.num_rewards
        if isinstance(share, np.ndarray):
            return softmax(scores, 1.0 / (self.temperature * np.maximum(share, COLDEST)))
        return softmax(scores, 1.0 / (self.temperature * max(share, COLDEST)))
