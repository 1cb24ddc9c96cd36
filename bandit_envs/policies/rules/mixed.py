"""A rule mixed with uniform choice, so that no action becomes improbable."""

from __future__ import annotations

import dataclasses

import numpy as np

from bandit_envs.arrays import Floats, Mask, Rng
from bandit_envs.base.checks import check_number
from bandit_envs.policies.draws import available_only, explore, uniform
from bandit_envs.policies.policy import Actions
from bandit_envs.policies.rules.rule import Predictions
from bandit_envs.policies.rules.rule_around import RuleAround


@dataclasses.dataclass(frozen=True)
class Mixed(RuleAround):
    """Chooses by a rule, or with the probability `epsilon` any available action.

        p(a) = (1 - epsilon) p_rule(a) + epsilon / K

    So the probability of each of K available actions is at least epsilon / K, as estimates from a
    log want it.

    Args:
        rule: how to choose otherwise.
        epsilon: from 0 to 1.

    Source: Langford & Zhang, The Epoch-Greedy Algorithm for Multi-armed Bandits with Side
    Information (2008), for uniform exploration that estimates can use.

    >>> from bandit_envs.policies.rules import Softmax
    >>> Mixed(Softmax(), epsilon=0.05).epsilon
    0.05
    """

    epsilon: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("epsilon", self.epsilon, 0.0, 1.0)

    def select(self, rng: Rng, seen: Predictions, available: Mask | None) -> Actions:
        chosen = self.rule.select(rng, seen, available)
        if self.epsilon == 0.0:
            return chosen
        return explore(rng, chosen, self.epsilon, available, seen.shape[1])

    def probabilities(self, seen: Predictions, available: Mask | None) -> Floats:
        table = available_only(self.rule.probabilities(seen, available), available)
        any_action = 1.0 / seen.shape[1] if available is None else uniform(available)
        return np.asarray((1.0 - self.epsilon) * table + self.epsilon * any_action)
