"""Models and rules of contextual policies by name, as users write them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from bandit_envs.names.notation import parse_choice
from bandit_envs.names.registry import Entry, signature
from bandit_envs.names.users_models import find_users
from bandit_envs.policies.models.value_model import Model
from bandit_envs.policies.rules.rule import Rule

__all__ = [
    "MODELS",
    "RULES",
    "complete",
    "make_model",
    "make_rule",
    "name_pairs",
]


class ModelPart(Entry):
    """A class of models."""

    what = "model"
    kinds = (Model,)


class RulePart(Entry):
    """A class of rules."""

    what = "rule"
    kinds = (Rule,)


MODELS: dict[str, ModelPart] = ModelPart.table(
    ("ridge", "linear ridge regression", "bandit_envs.policies.models:Ridge"),
    ("logistic", "logistic regression", "bandit_envs.policies.models:Logistic"),
    ("bayesian_ridge", "Bayesian ridge regression", "bandit_envs.policies.models:BayesianRidge"),
    ("hybrid_ridge", "hybrid ridge regression", "bandit_envs.policies.models:HybridRidge"),
    ("fourier", "GP by Fourier features", "bandit_envs.policies.models:FourierFeatures"),
    ("interactions", "products", "bandit_envs.policies.models:Interactions"),
    ("linear_scores", "fixed linear scores", "bandit_envs.policies.models:LinearScores"),
    ("estimators", "scikit-learn", "bandit_envs.policies.scikit_learn:Estimators"),
    ("network", "network", "bandit_envs.adapters.torch:Network"),
    ("gradient_network", "network with gradients", "bandit_envs.adapters.torch:GradientNetwork"),
    ("neural_linear", "neural linear model", "bandit_envs.adapters.torch:NeuralLinear"),
    ("ensemble", "ensemble of networks", "bandit_envs.adapters.torch:Ensemble"),
    ("dropout", "network with dropout", "bandit_envs.adapters.torch:Dropout"),
)
"""All models of the package that a text can name, by id."""

FITTED: dict[str, ModelPart] = ModelPart.table(
    (
        "fitted_classifier",
        "fitted classifier",
        "bandit_envs.policies.scikit_learn:FittedClassifier",
    ),
    ("network_scores", "network of scores", "bandit_envs.adapters.torch:NetworkScores"),
    (
        "fitted_regressions",
        "fitted regressions",
        "bandit_envs.policies.scikit_learn:FittedRegressions",
    ),
)
"""All others, which a learner makes."""

RULES: dict[str, RulePart] = RulePart.table(
    ("greedy", "greedy", "bandit_envs.policies.rules:Greedy"),
    ("epsilon_greedy", "ε-greedy", "bandit_envs.policies.rules:EpsilonGreedy"),
    ("upper_bound", "UCB", "bandit_envs.policies.rules:UpperBound"),
    ("upper_quantile", "upper quantile", "bandit_envs.policies.rules:UpperQuantile"),
    ("thompson_sampling", "Thompson sampling", "bandit_envs.policies.rules:ThompsonSampling"),
    ("softmax", "softmax", "bandit_envs.policies.rules:Softmax"),
    ("square_cb", "SquareCB", "bandit_envs.policies.rules:SquareCB"),
    (
        "elimination_square_cb",
        "SquareCB by elimination",
        "bandit_envs.policies.rules:EliminationSquareCB",
    ),
    ("optimistic_reg_cb", "optimistic RegCB", "bandit_envs.policies.rules:OptimisticRegCB"),
    ("elimination_reg_cb", "RegCB by elimination", "bandit_envs.policies.rules:EliminationRegCB"),
    ("adaptive_greedy", "adaptive greedy", "bandit_envs.policies.rules:AdaptiveGreedy"),
    ("first_pulls", "first pulls", "bandit_envs.policies.rules:FirstPulls"),
    ("mixed", "mixed with uniform choice", "bandit_envs.policies.rules:Mixed"),
)
"""All rules of the package, by id."""


def name_pairs(text: str) -> list[str]:
    """Returns how a policy is written of which a text names the model and the rule by some words.

    >>> name_pairs("logistic_thompson")
    ['contextual:model=logistic,rule=thompson_sampling']
    """
    model = _find_by_words(text, MODELS)
    rule = _find_by_words(text, RULES)
    return [] if model is None or rule is None else [f"contextual:model={model},rule={rule}"]


def _find_by_words(text: str, table: Mapping[str, Entry]) -> str | None:
    """Returns the id of the entry whose id and title share most words with a text, if one does."""
    words = set(text.lower().split("_"))
    shared = {
        name: len(words.intersection(re.split(r"[\W_]+", f"{name} {entry.title}".lower())))
        for name, entry in table.items()
    }
    most = max(shared, key=lambda name: (shared[name], -len(name)))
    return most if shared[most] else None


def make_model(text: str, names_features: bool = False) -> Model:
    """Returns the model that a text names, such as "ridge:gamma=0.99" or "module:Class".

    Args:
        text: as users write it.
        names_features: whether it is for features with names: see `complete`.

    Raises:
        ValueError: there is no such model, or it does not take these parameters.
    """
    model: Model = _make(ModelPart, text, MODELS, names_features)
    return model


def make_rule(text: str) -> Rule:
    """Returns the rule that a text names, such as 'mixed:rule="softmax",epsilon=0.05'.

    Raises:
        ValueError: there is no such rule, or it does not take these parameters.
    """
    rule: Rule = _make(RulePart, text, RULES)
    return rule


def complete(make: Any, arguments: Mapping[str, Any], names_features: bool) -> dict[str, Any]:
    """Returns the arguments of a policy or a model for features with names, or without.

    Columns of tables have no constant. So a model of such features has an intercept, unless its
    arguments say otherwise, and so has a model inside it. A model of arrays has what its arguments
    say.

    >>> from bandit_envs.policies.models import Ridge
    >>> complete(Ridge, {"gamma": 0.9}, names_features=True)
    {'gamma': 0.9, 'intercept': True}

    Args:
        make: the class of the policy or the model, or a function that returns one.
        arguments: that a user has given.
        names_features: whether features are columns with names.
    """
    found = dict(arguments)
    if not names_features:
        return found
    for name, parameter in signature(make).parameters.items():
        if name == "intercept" and parameter.default is False:
            found.setdefault(name, True)
        elif name not in found and isinstance(parameter.default, Model):
            found[name] = _completed(parameter.default)
    return found


def _completed(model: Model) -> Model:
    """Returns a model that is the default of a parameter, for features with names."""
    if not dataclasses.is_dataclass(model):
        return model
    completed: Model = dataclasses.replace(model, **complete(type(model), {}, True))
    return completed


def _make(
    kind: type[Any], text: str, table: Mapping[str, Any], names_features: bool = False
) -> Any:
    """Returns an instance of an entry, whose parameters may name other models and rules."""
    name, parameters = parse_choice(kind.what, text, table)
    entry = find_users(kind, name) if ":" in name else kind.find(name, table)
    values = complete(entry.make, entry.check(parameters), names_features)
    if isinstance(values.get("model"), str):
        values["model"] = make_model(values["model"], names_features)
    if isinstance(values.get("rule"), str):
        values["rule"] = make_rule(values["rule"])
    return entry.make(**values)
