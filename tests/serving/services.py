"""Services for tests, which do not wait for the disk: no test cuts the power."""

import numpy as np

from bandit_envs import ArraySpec, ContextualPolicy, EpsilonGreedyPolicy
from bandit_envs.policies.models import Interactions, Ridge
from bandit_envs.policies.rules import EpsilonGreedy
from bandit_envs.serving import DecisionService

NAMES = ["red", "green", "blue"]
FEATURES = {"age": "number", "country": ["DE", "FR"]}
CONTEXT = {"age": 0.5, "country": "FR"}
ITEM_FEATURES = {"price": "number", "kind": ["news", "sport"]}
ITEMS = {
    "offer-1": {"price": 0.5, "kind": "news"},
    "offer-2": {"price": 1.5, "kind": "sport"},
    "offer-3": {"price": 1.0, "kind": "news"},
}
UNLESS_GIVEN = {"seed": 1, "synchronous": "off"}


def arms(num_actions=3):
    """A policy without contexts."""
    return EpsilonGreedyPolicy(0.2, num_actions=num_actions, seed=0)


def contextual(rule=None, model=None, width=3):
    """A policy of three actions for contexts of some features."""
    return ContextualPolicy(
        model or Ridge(),
        rule or EpsilonGreedy(0.3),
        observation_spec=ArraySpec((width,), np.float64),
        num_actions=3,
        seed=0,
    )


def of_items(rule=None, model=None, widths=(3, 3)):
    """A policy of items, for contexts and items of some features."""
    global_dim, arm_dim = widths
    spec = {
        "global": ArraySpec((global_dim,), np.float64),
        "per_arm": ArraySpec((1, arm_dim), np.float64),
    }
    model = model or Interactions(Ridge(intercept=True))
    return ContextualPolicy(model, rule or EpsilonGreedy(0.3), observation_spec=spec, seed=0)


def open_arms(folder, **options):
    """A service without contexts."""
    options = {**UNLESS_GIVEN, **options}
    return DecisionService(folder / "shop.sqlite", arms(), NAMES, **options)


def open_shop(folder, policy=None, **options):
    """A service with contexts."""
    options = {"features": FEATURES, **UNLESS_GIVEN, **options}
    return DecisionService(folder / "shop.sqlite", policy or contextual(), NAMES, **options)


def open_offers(folder, policy=None, **options):
    """A service of items."""
    options = {
        "features": FEATURES,
        "item_features": ITEM_FEATURES,
        **UNLESS_GIVEN,
        **options,
    }
    return DecisionService(folder / "shop.sqlite", policy or of_items(), **options)
