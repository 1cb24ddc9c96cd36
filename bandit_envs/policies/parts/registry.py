"""Models and rules of contextual policies by name, as users write them."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from bandit_envs.base.checks import check_bool
from bandit_envs.names.notation import parse_choice
from bandit_envs.names.registry import Entry, signature
from bandit_envs.names.users_models import find_users
from bandit_envs.nests import Nest
from bandit_envs.policies.models.feature_readers import shows_items
from bandit_envs.policies.models.inputs import InputReader
from bandit_envs.policies.models.maps import Interactions
from bandit_envs.policies.models.value_model import Model
from bandit_envs.policies.rules.rule import Rule

__all__ = [
    "MODELS",
    "RULES",
    "Columns",
    "complete",
    "make_linear",
    "make_model",
    "make_rule",
    "name_pairs",
    "parameters_of",
]

MOST_PRODUCTS = 1000
"""With more products of the columns of contexts and items, linear models would be slow and large.

They keep a square matrix of all features.
"""

INTERACTIONS = inspect.Parameter(
    "interactions", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=bool
)
"""The parameter of linear models in texts: whether they learn from `Interactions`."""


class Columns(NamedTuple):
    """What is known of the columns that a model is built for.

    Fields:
        have_names: whether features are columns of a table; else they are arrays.
        num_products: how many products there are of a number of the context and one of an item; 0
            if actions are no items.
    """

    have_names: bool = False
    num_products: int = 0

    @classmethod
    def of(cls, observation_spec: Nest, have_names: bool) -> Columns:
        """Returns what is known of the columns of observations."""
        if not (have_names and shows_items(observation_spec)):
            return cls(have_names)
        sizes = InputReader(observation_spec).sizes(num_rows=1)
        return cls(have_names, sizes.context_dim * (sizes.action_dim or 0))

    @property
    def need_products(self) -> bool:
        """Whether linear models would rank items alike in every context, and need not."""
        return self.have_names and 0 < self.num_products <= MOST_PRODUCTS


ARRAYS = Columns()


class ModelPart(Entry):
    """A class of models."""

    what = "model"
    kinds = (Model,)

    def _all_parameters(self) -> Mapping[str, inspect.Parameter]:
        return parameters_of(self.make)


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


def make_model(text: str, columns: Columns = ARRAYS) -> Model:
    """Returns the model that a text names, such as "ridge:gamma=0.99" or "module:Class".

    Args:
        text: as users write it.
        columns: that it is for: see `complete`.

    Raises:
        ValueError: there is no such model, or it does not take these parameters.
    """
    model: Model = _make(ModelPart, text, MODELS, columns)
    return model


def make_rule(text: str) -> Rule:
    """Returns the rule that a text names, such as 'mixed:rule="softmax",epsilon=0.05'.

    Raises:
        ValueError: there is no such rule, or it does not take these parameters.
    """
    rule: Rule = _make(RulePart, text, RULES)
    return rule


def parameters_of(make: Any) -> Mapping[str, inspect.Parameter]:
    """Returns the parameters of a class of models, or of a function that returns one.

    Those of a linear model are followed by `interactions`.
    """
    known = signature(make).parameters
    is_linear = isinstance(make, type) and issubclass(make, Model) and make.is_linear
    return {**known, INTERACTIONS.name: INTERACTIONS} if is_linear else known


def make_linear(make: Any, arguments: Mapping[str, Any]) -> Model:
    """Returns a model of arguments that `parameters_of` knows."""
    given = dict(arguments)
    is_asked = False
    if INTERACTIONS.name in given and INTERACTIONS.name not in signature(make).parameters:
        is_asked = check_bool(INTERACTIONS.name, given.pop(INTERACTIONS.name))
    model: Model = make(**given)
    return Interactions(model) if is_asked else model


def complete(
    parameters: Mapping[str, inspect.Parameter], arguments: Mapping[str, Any], columns: Columns
) -> dict[str, Any]:
    """Returns the arguments of a policy or a model for features with names, or without.

    Columns of tables have no constant. So a model of such features has an intercept, unless its
    arguments say otherwise, and so has a model inside it. A linear model of items learns from
    products of the columns of contexts and items, too: else it ranks items alike in every context.
    A model of arrays has what its arguments say.

    >>> from bandit_envs.policies.models import Ridge
    >>> complete(parameters_of(Ridge), {"gamma": 0.9}, Columns(have_names=True))
    {'gamma': 0.9, 'intercept': True}

    Args:
        parameters: of the policy or the model.
        arguments: that a user has given.
        columns: of the features.
    """
    found = dict(arguments)
    if not columns.have_names:
        return found
    for name, parameter in parameters.items():
        is_wanted = name == "intercept" and parameter.default is False
        is_wanted |= parameter is INTERACTIONS and columns.need_products
        if is_wanted:
            found.setdefault(name, True)
        elif name not in found and isinstance(parameter.default, Model):
            found[name] = _completed(parameter.default, columns)
    return found


def _completed(model: Model, columns: Columns) -> Model:
    """Returns a model inside another one, the default of a parameter, for some columns."""
    if not dataclasses.is_dataclass(model):
        return model
    known = signature(type(model)).parameters
    completed: Model = dataclasses.replace(model, **complete(known, {}, columns))
    return completed


def _make(kind: type[Any], text: str, table: Mapping[str, Any], columns: Columns = ARRAYS) -> Any:
    """Returns an instance of an entry, whose parameters may name other models and rules."""
    name, parameters = parse_choice(kind.what, text, table)
    entry = find_users(kind, name) if ":" in name else kind.find(name, table)
    values = complete(entry.parameters(), entry.check(parameters), columns)
    if isinstance(values.get("model"), str):
        inner = columns._replace(num_products=0)  # the outer model decides what it is given
        values["model"] = make_model(values["model"], inner)
    if isinstance(values.get("rule"), str):
        values["rule"] = make_rule(values["rule"])
    return make_linear(entry.make, values)
