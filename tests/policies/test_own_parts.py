"""A model of one's own meets every rule, a rule of one's own every model, under the contract."""

import ast
import inspect

import numpy as np
import pytest

from bandit_envs import ContextualPolicy, StepDriver
from bandit_envs.testing import PolicyContract
from tests.cases import for_each
from tests.contracts import failures
from tests.policies import contextual_parts
from tests.policies.contextual_parts import (
    MODELS,
    RULES,
    UsersModel,
    UsersRule,
    make_clicks,
    needs_items,
)

PAIRS = {
    **{f"user's model, {name}": (UsersModel(), rule) for name, rule in RULES.items()},
    **{f"{name}, user's rule": (model, UsersRule()) for name, model in MODELS.items()},
    "both user's": (UsersModel(), UsersRule()),
}
CASES = [
    pytest.param(pair, items, id=f"{pair}, {'items' if items else 'context'}")
    for pair, (model, _) in PAIRS.items()
    for items in (False, True)
    if items or not needs_items(model)
]
"""Pairs, each with items and with contexts, if its model takes these."""

SLOW = pytest.mark.slow
FAST = {"user's model, upper bound", "ridge, user's rule"}
MARKED_CASES = [
    pytest.param(*case.values, id=case.id, marks=[] if case.values[0] in FAST else [SLOW])
    for case in CASES
]
"""All cases; those that are not fast are marked."""


def contract_of(pair, items, independent_rows):
    """Returns the contract for a pair in an environment whose rows are clicks."""
    model, rule = PAIRS[pair]

    class Contract(PolicyContract):
        num_choices = 300
        num_steps = 8

        def make_environment(self, batch_size, seed):
            return make_clicks(items, batch_size, seed)

        def make_policy(self, env, seed):
            options = {**ContextualPolicy.arguments_for(env), "independent_rows": independent_rows}
            return ContextualPolicy(model, rule, **options, seed=seed)

    return Contract


@pytest.mark.parametrize("independent_rows", [False, True], ids=["shared", "independent rows"])
@pytest.mark.parametrize(("pair", "items"), MARKED_CASES)
def test_every_pair_passes_the_contract(pair, items, independent_rows):
    """With masks and without: the contract has tests of both."""
    assert failures(contract_of(pair, items, independent_rows)) == {}


@for_each(("part", "limit"), [(UsersModel, 40), (UsersRule, 10)])
def test_a_part_of_ones_own_takes_few_lines(part, limit):
    source = inspect.getsource(contextual_parts)
    (found,) = [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef) and node.name == part.__name__
    ]
    lines = source.splitlines()[found.lineno - 1 : found.end_lineno]
    documented = len(ast.get_docstring(found).splitlines())
    assert sum(bool(line.strip()) for line in lines) - documented <= limit


@pytest.mark.parametrize(("pair", "items"), MARKED_CASES)
def test_what_a_pair_learns_earns_more_than_chance(pair, items):
    model, rule = PAIRS[pair]
    env = make_clicks(items, 100, 0)
    policy = ContextualPolicy(model, rule, **ContextualPolicy.arguments_for(env), seed=1)
    StepDriver(env, policy, [policy], 40).run()
    means = env.expected_rewards()
    table = policy.estimated_probabilities(env.current_time_step(), 20, np.random.default_rng(0))
    assert np.sum(table * means, axis=1).mean() > means.mean() + 0.02
