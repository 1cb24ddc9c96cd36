"""A rule mixed with uniform choice, so that no action becomes improbable."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from bandit_envs.arrays import Floats, Mask, Rng
from bandit_envs.base.checks import check_number
from bandit_envs.policies.draws import available_only, explore, uniform
from bandit_envs.policies.models.value_model import ValueModel
from bandit_envs.policies.policy import Actions
from bandit_envs.policies.rules.rule import Predictions, Rule, check_rule


@dataclasses.dataclass(frozen=True)
class Mixed(Rule):
    """Chooses by a rule, or with the probability `share` any available action.

        p(a) = (1 - share) p_rule(a) + share / K

    So the probability of each of K available actions is at least share / K, as estimates from a log
    want it.

    Args:
        rule: how to choose otherwise.
        share: from 0 to 1.

    Source: Langford & Zhang, The Epoch-Greedy Algorithm for Multi-armed Bandits with Side
    Information (2008), for uniform exploration that estimates can use.

    >>> from bandit_envs.policies.rules import Softmax
    >>> Mixed(Softmax(), share=0.05).share
    0.05
    """

    rule: Rule
    share: float = 0.1

    def __post_init__(self) -> None:
        check_rule("rule", self.rule)
        check_number("share", self.share, 0.0, 1.0)

    @property
    def needs(self) -> str:  # type: ignore[override]
        """What the rule needs."""
        return self.rule.needs

    @property
    def reward_range(self) -> tuple[float, float] | None:  # type: ignore[override]
        """The rewards that the rule takes."""
        return self.rule.reward_range

    @property
    def keeps_state(self) -> bool:
        """Whether the rule does."""
        return self.rule.keeps_state

    @property
    def counts_rewards(self) -> bool:
        """Whether it matters to the rule."""
        return self.rule.counts_rewards

    def check(self, model: ValueModel) -> None:
        self.rule.check(model)

    def knows_probabilities(self, model: ValueModel) -> bool:
        return self.rule.knows_probabilities(model)

    def initial(self, num_rows: int, num_actions: int) -> Any:
        return self.rule.initial(num_rows, num_actions)

    def after(self, seen: Predictions, available: Mask | None, action: Actions) -> Any:
        return self.rule.after(seen, available, action)

    def select(self, rng: Rng, seen: Predictions, available: Mask | None) -> Actions:
        chosen = self.rule.select(rng, seen, available)
        if self.share == 0.0:
            return chosen
        return explore(rng, chosen, self.share, available, seen.shape[1])

    def probabilities(self, seen: Predictions, available: Mask | None) -> Floats:
        table = available_only(self.rule.probabilities(seen, available), available)
        any_action = 1.0 / seen.shape[1] if available is None else uniform(available)
        return np.asarray((1.0 - self.share) * table + self.share * any_action)
