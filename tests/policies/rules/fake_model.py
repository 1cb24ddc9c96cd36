"""A model that predicts what it is told, for tests of rules."""

import dataclasses
from typing import Any

import numpy as np

from bandit_envs.policies.models import ValueModel
from bandit_envs.policies.rules import Predictions
from bandit_envs.trajectories import restart
from tests.policies.contextual_parts import make_policy


@dataclasses.dataclass(frozen=True)
class Told(ValueModel):
    """Predicts the same table in each step, and has learned nothing but the number of rewards."""

    table: Any  # [B, K]
    widths: Any = 0.0
    can_have_rows = True

    def initial(self, sizes, rng):
        return np.zeros(sizes.num_rows)

    def learn(self, learned, rows):
        return learned + 1.0

    def means(self, learned, inputs):
        return np.array(self.table, float)

    def interval(self, learned, inputs, radius):
        return self.table - radius * self.widths, self.table + radius * self.widths

    def draw(self, rng, learned, inputs, scale):
        return self.table + scale * self.widths * rng.standard_normal(np.shape(self.table))


@dataclasses.dataclass(frozen=True)
class Scored(Told):
    """Has scores that order actions otherwise than its means do."""

    def scores(self, learned, inputs):
        return -self.means(learned, inputs)


@dataclasses.dataclass(frozen=True)
class Members(Told):
    """Is an ensemble of three."""

    others: Any = ()

    def members(self, learned, inputs):
        return np.array(self.others, float)


@dataclasses.dataclass(frozen=True)
class Quantiles(Told):
    """Knows quantiles: the level times the width above the table."""

    def quantile(self, learned, inputs, level):
        return self.table + level * self.widths


def seen_by(rule, model, num_rewards=0.0, independent_rows=False):
    """Returns what a rule is shown of a model's table, after so many rewards."""
    size, num_actions = np.shape(model.table)
    number = np.full(size, num_rewards) if independent_rows else num_rewards
    state = rule.initial(size if independent_rows else 1, num_actions)
    return Predictions(model, np.zeros(1), None, number, state, (size, num_actions))


def probabilities(rule, model, available=None, num_rewards=0.0):
    """Returns the probabilities of a rule: [B, K]. With models for each row, they are the same."""
    table = rule.probabilities(seen_by(rule, model, num_rewards), available)
    by_row = rule.probabilities(seen_by(rule, model, num_rewards, True), available)
    np.testing.assert_allclose(by_row, table, rtol=1e-12, atol=1e-300)
    return table


def shares(rule, model, available=None, num_rewards=0.0, choices=4000):
    """Returns how often a rule chooses each action: [B, K]. It chooses for 100 copies at once."""
    size, num_actions = np.shape(model.table)
    copies = 100
    tables = {
        field.name: np.tile(getattr(model, field.name), (copies, 1))
        for field in dataclasses.fields(model)
        if np.ndim(getattr(model, field.name)) == 2
    }
    seen = seen_by(rule, dataclasses.replace(model, **tables), num_rewards)
    mask = None if available is None else np.tile(available, (copies, 1))
    rng = np.random.default_rng(0)
    counts = np.zeros((copies * size, num_actions))
    for _ in range(choices // copies):
        counts[np.arange(copies * size), rule.select(rng, seen, mask)] += 1.0
    return counts.reshape(copies, size, num_actions).sum(axis=0) / choices


def policy_of(rule, table, **options):
    """Returns a policy whose model predicts a table [B, K], and a time step to ask about."""
    size, num_actions = np.shape(table)
    policy = make_policy(
        Told(np.asarray(table)), rule, batch_size=size, num_actions=num_actions, **options
    )
    return policy, restart(np.zeros((size, 7)), size)
