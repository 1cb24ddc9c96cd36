"""Models with networks of PyTorch meet every rule that they can serve."""

import itertools

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from bandit_envs import ContextualPolicy, StationaryStochasticPerArmPyEnvironment
from bandit_envs.adapters.torch import Dropout, Ensemble, GradientNetwork, Network, NeuralLinear
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.policies import rules
from bandit_envs.rewards import LogisticReward
from bandit_envs.sampling import Normal
from bandit_envs.testing import PolicyContract
from tests.adapters.test_torch import Squares

OWN_NETWORK = Network(
    Squares,
    optimizer=torch.optim.Adam,
    train_every=3,
    train_steps=2,
    learning_rate_decay=0.5,
    memory_size=12,
)

MODELS = (
    Network(width=6),
    OWN_NETWORK,
    GradientNetwork(width=6),
    NeuralLinear(width=6, train_every=2, train_steps=2),
    Ensemble(width=6, row_probability=0.5),
    Dropout(Squares),
)

RULES = (
    rules.Greedy(),
    rules.EpsilonGreedy(0.5, decay=0.99, smallest_epsilon=0.1),
    rules.UpperBound(),
    rules.UpperQuantile(),
    rules.ThompsonSampling(),
    rules.Softmax(0.1),
    rules.SquareCB(),
    rules.EliminationSquareCB(),
    rules.OptimisticRegCB(),
    rules.EliminationRegCB(),
    rules.AdaptiveGreedy(window=8),
    rules.Mixed(rules.FirstPulls(rules.Softmax()), 0.1),
)


def can_serve(model, rule):
    try:
        rule.check(model)
    except TypeError:
        return False
    return True


PAIRS = [pair for pair in itertools.product(MODELS, RULES) if can_serve(*pair)]

FAST = [
    (OWN_NETWORK, rules.SquareCB(), True),
    (GradientNetwork(width=6), rules.FirstPulls(rules.OptimisticRegCB()), False),
    (Ensemble(width=6), rules.Mixed(rules.UpperQuantile(), 0.1), True),
]


def failures(contract):
    """Returns the tests of a contract that fail, and why."""
    found = {}
    for name in dir(contract):
        if name.startswith("test_"):
            try:
                getattr(contract(), name)()
            except Exception as error:  # what a model raises is a failure, too
                found[name] = error
    return found


def contract_of(model, rule, has_items):
    """Returns the contract of a pair, in an environment with features of actions or without."""

    class Pair(PolicyContract):
        rounding = 1e-4
        num_choices = 2000
        num_steps = 10

        def make_environment(self, batch_size, seed):
            sizes = {"batch_size": batch_size, "seed": seed}
            if not has_items:
                return ENVIRONMENTS["logistic_context"].make(num_actions=4, **sizes)
            clicks = LogisticReward(np.linspace(-2.0, 2.0, 5))
            return StationaryStochasticPerArmPyEnvironment(Normal(2), Normal(3), 4, clicks, **sizes)

        def make_policy(self, env, seed):
            return ContextualPolicy(model, rule, **ContextualPolicy.arguments_for(env), seed=seed)

    return Pair


def name_of(part):
    return type(part).__name__ if isinstance(part, (Network, rules.Rule)) else None


@pytest.mark.parametrize(("model", "rule", "has_items"), FAST, ids=name_of)
def test_a_pair_passes_the_contract(model, rule, has_items):
    assert failures(contract_of(model, rule, has_items)) == {}


@pytest.mark.slow
@pytest.mark.parametrize(("model", "rule"), PAIRS, ids=name_of)
def test_every_pair_passes_the_contract(model, rule):
    """With features of actions or without, so that each model and each rule meets both."""
    has_items = (MODELS.index(model) + RULES.index(rule)) % 2 == 0
    assert failures(contract_of(model, rule, has_items)) == {}


def test_what_has_no_draws_or_bounds_serves_the_rules_that_need_predictions_only():
    served = {name_of(model): 0 for model in MODELS}
    for model, _ in PAIRS:
        served[name_of(model)] += 1
    assert served["Ensemble"] == len(RULES)
    assert served["GradientNetwork"] == served["NeuralLinear"] == len(RULES) - 1
    assert served["Dropout"] == len(RULES) - 5
