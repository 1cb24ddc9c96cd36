"""Policies of a fixed budget, held to rules written out with loops, one row at a time."""

import math
from functools import partial

import numpy as np
import pytest

from bandit_envs.policies import (
    SequentialHalvingPolicy,
    SuccessiveRejectsPolicy,
    UCBEPolicy,
    UniformAllocationPolicy,
)
from tests.cases import for_each
from tests.policies.rows import B, assert_follows


def uniform_allocation(row, budget):
    """Yields the actions of which the next one is; at the end, returns the recommendation."""
    num_actions = len(row.seen)
    for _ in range(budget):
        fewest = min(map(len, row.seen))
        yield [a for a in range(num_actions) if len(row.seen[a]) == fewest]
    return row.best(range(num_actions))[0]


def ucb_e(row, budget, a):
    def index(action):
        seen = row.seen[action]
        return row.mean(action) + math.sqrt(a / len(seen)) if seen else math.inf

    for _ in range(budget):
        indices = [index(action) for action in range(len(row.seen))]
        yield [b for b in range(len(row.seen)) if indices[b] >= max(indices) - 1e-12]
    return row.best(range(len(row.seen)))[0]


def in_turn(row, actions, each):
    """Yields actions until each of some has been chosen `each` times more."""
    left = dict.fromkeys(actions, each)
    while any(left.values()):
        fewest = min(len(row.seen[a]) for a in actions)
        before = len(row.order)
        yield [a for a in actions if len(row.seen[a]) == fewest]
        left[row.order[before]] -= 1


def successive_rejects(row, budget):
    num_actions = len(row.seen)
    active = list(range(num_actions))
    scale = 0.5 + sum(1 / i for i in range(2, num_actions + 1))
    before = 0
    for k in range(1, num_actions):
        n = math.ceil((budget - num_actions) / (scale * (num_actions + 1 - k)))
        yield from in_turn(row, active, n - before)
        active = row.best(active, len(active) - 1)
        before = n
    return active[0]


def sequential_halving(row, budget, reuse=True):
    num_actions = len(row.seen)
    active = list(range(num_actions))
    rounds = math.ceil(math.log2(num_actions))
    for _ in range(rounds):
        each = budget // (len(active) * rounds)
        yield from in_turn(row, active, each)

        def mean(action, each=each):
            seen = row.seen[action] if reuse else row.seen[action][-each:]
            return sum(seen) / len(seen)

        active = row.best(active, math.ceil(len(active) / 2), mean)
    return active[0]


RULES = {
    "uniform": (UniformAllocationPolicy, uniform_allocation, {"budget": 23}),
    "ucb_e": (UCBEPolicy, ucb_e, {"budget": 40, "a": 0.5}),
    "rejects": (SuccessiveRejectsPolicy, successive_rejects, {"budget": 60}),
    "rejects, several at once": (SuccessiveRejectsPolicy, successive_rejects, {"budget": 9}),
    "halving": (SequentialHalvingPolicy, sequential_halving, {"budget": 60}),
    "halving of the paper": (
        SequentialHalvingPolicy,
        sequential_halving,
        {"budget": 60, "reuse": False},
    ),
}


@pytest.mark.parametrize("num_actions", [2, 3, 5])
@pytest.mark.parametrize("name", RULES)
def test_choices_and_recommendation_are_those_of_the_rule(name, num_actions):
    make, rule, parameters = RULES[name]
    size = parameters["budget"] + 1, B, num_actions
    rewards = np.random.default_rng(3).integers(0, 2, size).astype(float)
    policy = make(**parameters, num_actions=num_actions, batch_size=B, seed=0)
    assert_follows(policy, partial(rule, **parameters), rewards)
    assert policy.has_stopped
    assert policy.steps.max() <= parameters["budget"]


@for_each(
    ("make", "budget"),
    [
        (UniformAllocationPolicy, 4),
        (UCBEPolicy, 4),
        (SuccessiveRejectsPolicy, 5),
        (SequentialHalvingPolicy, 14),
    ],
)
def test_a_budget_that_leaves_an_action_unseen_is_refused(make, budget):
    options = {"a": 1.0} if make is UCBEPolicy else {}
    with pytest.raises(ValueError, match=f"budget is {budget}; expected at least {budget + 1}"):
        make(budget, num_actions=5, **options)
    make(budget + 1, num_actions=5, **options)
