"""Rules that change how another rule chooses."""

from __future__ import annotations

import dataclasses
from typing import Any

from bandit_envs.arrays import Floats, Mask
from bandit_envs.base.checks import short_repr
from bandit_envs.policies.models.value_model import ValueModel
from bandit_envs.policies.policy import Actions
from bandit_envs.policies.rules.rule import Predictions, Rule


@dataclasses.dataclass(frozen=True)
class RuleAround(Rule):
    """A rule around another rule, which needs and keeps what that one does.

    A subclass says how to choose.

    Args:
        rule: the other rule.
    """

    rule: Rule

    def __post_init__(self) -> None:
        if not isinstance(self.rule, Rule):
            expected = "a Rule, such as bandit_envs.policies.rules has"
            raise TypeError(f"rule is {short_repr(self.rule)}; expected {expected}")

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

    def scores(self, seen: Predictions) -> Floats:
        return self.rule.scores(seen)

    def initial(self, num_rows: int, num_actions: int) -> Any:
        return self.rule.initial(num_rows, num_actions)

    def after(self, seen: Predictions, available: Mask | None, action: Actions) -> Any:
        return self.rule.after(seen, available, action)
