"""The registry of environments: from here the command, studies, adapters and docs know them.

Experimental: these names may change in any minor version.
"""

from __future__ import annotations

import dataclasses
import os
import typing
from collections.abc import Sequence

from bandit_envs.base.bandit_py_environment import Options
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.environments.arms.adversarial import adversarial
from bandit_envs.environments.arms.bernoulli import BernoulliPyEnvironment, beta_bernoulli
from bandit_envs.environments.arms.k_armed_bandit import corrupted_k_armed, k_armed
from bandit_envs.environments.arms.k_armed_testbed import KArmedTestbed
from bandit_envs.environments.arms.piecewise_bernoulli import (
    constrained_adversary,
    piecewise_bernoulli,
)
from bandit_envs.environments.arms.rested import rising, rotting
from bandit_envs.environments.arms.restless_markov import RestlessMarkovBandit
from bandit_envs.environments.contexts.continuous import ContinuousBandit
from bandit_envs.environments.contexts.drifting_linear import drifting_linear
from bandit_envs.environments.contexts.logistic_clicks import logistic_context
from bandit_envs.environments.contexts.nonlinear import neural_context
from bandit_envs.environments.contexts.piecewise_linear import piecewise_linear
from bandit_envs.environments.contexts.ratings import (
    per_arm_ratings,
    ratings,
)
from bandit_envs.environments.contexts.stationary_stochastic import stationary_stochastic
from bandit_envs.environments.contexts.stationary_stochastic_per_arm import per_arm
from bandit_envs.environments.contexts.stationary_stochastic_structured import structured
from bandit_envs.environments.contexts.wheel import wheel
from bandit_envs.environments.data.classification import classification
from bandit_envs.environments.data.outcome_table import outcomes
from bandit_envs.environments.environment_entry import EnvironmentEntry, make_entry
from bandit_envs.environments.slates.click_models import CascadeBandit, PositionBasedBandit
from bandit_envs.environments.slates.positional_bias import positional_bias
from bandit_envs.environments.slates.ranking import ranking
from bandit_envs.names.notation import parse_choice
from bandit_envs.names.users_code import look_for_modules_in
from bandit_envs.wrappers import OneProblem, ScheduledActionMask

__all__ = [
    "ENVIRONMENTS",
    "EnvironmentEntry",
    "find_environment",
    "one_problem",
    "scheduled_arms",
    "scheduled_contexts",
]


def one_problem(
    environment: str = "testbed", batch_size: int = 1, **options: typing.Unpack[Options]
) -> OneProblem:
    """An environment of independent problems, whose rows are users of one: that of the first row.

    `environment` is an id with its parameters, such as `testbed:k=5`, or a `module:Class`.
    """
    title = options.pop("name", None)
    return OneProblem(_make(environment, batch_size, options), title)


def scheduled_arms(
    environment: str = "testbed",
    open_at: Sequence[float] | None = None,
    close_at: Sequence[float] | None = None,
    batch_size: int = 1,
    **options: typing.Unpack[Options],
) -> ScheduledActionMask:
    """Independent problems whose actions open and close: a step for each action, or inf.

    `environment` is an id with its parameters, such as `testbed:k=5`, or a `module:Class`.
    """
    title = options.pop("name", None)
    env = _make(environment, batch_size, options)
    if not env.independent_rows:
        found = f"environment is {environment}, whose rows are users of one problem"
        raise ValueError(f"{found}; scheduled_contexts is for these")
    return ScheduledActionMask(env, open_at, close_at, title)


def scheduled_contexts(
    environment: str = "logistic_context",
    open_at: Sequence[float] | None = None,
    close_at: Sequence[float] | None = None,
    batch_size: int = 1,
    **options: typing.Unpack[Options],
) -> ScheduledActionMask:
    """A problem of users with contexts whose actions open and close: a step for each, or inf.

    `environment` is an id with its parameters, such as `per_arm:max_num_actions=5`, or a
    `module:Class`.
    """
    title = options.pop("name", None)
    env = _make(environment, batch_size, options)
    if env.independent_rows:
        found = f"environment is {environment}, whose rows are problems of their own"
        raise ValueError(f"{found}; scheduled_arms is for these")
    return ScheduledActionMask(env, open_at, close_at, title)


def _make(text: str, batch_size: int, options: Options) -> PyEnvironment:
    """Returns the environment of an id with its parameters, or of a `module:Class`."""
    name, parameters = parse_choice("environment", text, ENVIRONMENTS)
    if ":" in name:
        look_for_modules_in(os.getcwd())
    entry = find_environment(name)
    arguments = {**entry.fixed, **entry.check(parameters)}
    env: PyEnvironment = entry.make(**arguments, batch_size=batch_size, **options)
    return env


_ENTRIES = (
    make_entry(
        "testbed", "k-armed testbed", KArmedTestbed, gymnasium_id="bandit_envs/KArmedTestbed-v0"
    ),
    make_entry(
        "bernoulli",
        "Bernoulli bandit",
        BernoulliPyEnvironment,
        gymnasium_id="bandit_envs/Bernoulli-v0",
        upstream="BernoulliPyEnvironment",
    ),
    make_entry(
        "beta_bernoulli",
        "Bernoulli bandit with random means",
        beta_bernoulli,
        gymnasium_id="bandit_envs/BetaBernoulli-v0",
        upstream="BernoulliPyEnvironment",
    ),
    make_entry("k_armed", "k-armed bandit", k_armed, gymnasium_id="bandit_envs/KArmedBandit-v0"),
    make_entry(
        "corrupted_k_armed",
        "corrupted k-armed bandit",
        corrupted_k_armed,
        gymnasium_id="bandit_envs/CorruptedKArmed-v0",
    ),
    make_entry(
        "piecewise_bernoulli",
        "piecewise Bernoulli bandit",
        piecewise_bernoulli,
        gymnasium_id="bandit_envs/PiecewiseBernoulli-v0",
        upstream="PiecewiseBernoulliPyEnvironment",
        stationary=False,
    ),
    make_entry(
        "constrained_adversary",
        "stochastically constrained adversary",
        constrained_adversary,
        gymnasium_id="bandit_envs/ConstrainedAdversary-v0",
        upstream="PiecewiseBernoulliPyEnvironment",
        stationary=False,
    ),
    make_entry(
        "logistic_context",
        "contextual bandit with clicks",
        logistic_context,
        gymnasium_id="bandit_envs/LogisticContextBandit-v0",
        upstream="StationaryStochasticPyEnvironment",
    ),
    make_entry(
        "per_arm",
        "per-arm bandit",
        per_arm,
        gymnasium_id="bandit_envs/StationaryStochasticPerArm-v0",
        upstream="StationaryStochasticPerArmPyEnvironment",
    ),
    make_entry(
        "neural_context",
        "bandit with nonlinear rewards",
        neural_context,
        gymnasium_id="bandit_envs/NeuralContextBandit-v0",
        upstream="StationaryStochasticPerArmPyEnvironment",
    ),
    make_entry(
        "stationary_stochastic",
        "stationary stochastic bandit",
        stationary_stochastic,
        gymnasium_id="bandit_envs/StationaryStochastic-v0",
        upstream="StationaryStochasticPyEnvironment",
    ),
    make_entry(
        "structured",
        "structured bandit",
        structured,
        gymnasium_id="bandit_envs/StationaryStochasticStructured-v0",
        upstream="StationaryStochasticStructuredPyEnvironment",
    ),
    make_entry(
        "wheel",
        "wheel bandit",
        wheel,
        gymnasium_id="bandit_envs/Wheel-v0",
        upstream="WheelPyEnvironment",
    ),
    make_entry(
        "drifting_linear",
        "drifting linear bandit",
        drifting_linear,
        gymnasium_id="bandit_envs/DriftingLinearBandit-v0",
        stationary=False,
    ),
    make_entry(
        "piecewise_linear",
        "piecewise linear bandit",
        piecewise_linear,
        gymnasium_id="bandit_envs/PiecewiseLinearBandit-v0",
        stationary=False,
    ),
    make_entry(
        "rotting",
        "rotting bandit",
        rotting,
        gymnasium_id="bandit_envs/RottingBandit-v0",
        stationary=False,
    ),
    make_entry(
        "rising",
        "rising bandit",
        rising,
        gymnasium_id="bandit_envs/RisingBandit-v0",
        stationary=False,
    ),
    make_entry(
        "restless_markov",
        "restless Markov bandit",
        RestlessMarkovBandit,
        gymnasium_id="bandit_envs/RestlessMarkovBandit-v0",
        stationary=False,
    ),
    make_entry(
        "adversarial",
        "adversarial bandit",
        adversarial,
        gymnasium_id="bandit_envs/AdversarialBandit-v0",
        stationary=False,
    ),
    make_entry(
        "cascade", "cascade bandit", CascadeBandit, gymnasium_id="bandit_envs/CascadeBandit-v0"
    ),
    make_entry(
        "position_based",
        "position-based bandit",
        PositionBasedBandit,
        gymnasium_id="bandit_envs/PositionBasedBandit-v0",
    ),
    make_entry(
        "ranking",
        "ranking bandit",
        ranking,
        gymnasium_id="bandit_envs/Ranking-v0",
        upstream="RankingPyEnvironment",
    ),
    make_entry(
        "positional_bias",
        "ranking with positional bias",
        positional_bias,
        gymnasium_id="bandit_envs/ExplicitPositionalBiasRankingEnvironment-v0",
        upstream="ExplicitPositionalBiasRankingEnvironment",
    ),
    make_entry("ratings", "ratings of items", ratings, gymnasium_id="bandit_envs/RatingsBandit-v0"),
    make_entry(
        "per_arm_ratings",
        "ratings of items with features",
        per_arm_ratings,
        gymnasium_id="bandit_envs/PerArmRatingsBandit-v0",
        upstream="StationaryStochasticPerArmPyEnvironment",
    ),
    make_entry(
        "continuous",
        "continuous bandit",
        ContinuousBandit,
        gymnasium_id="bandit_envs/ContinuousBandit-v0",
    ),
    make_entry(
        "classification",
        "classification",
        classification,
        gymnasium_id="bandit_envs/ClassificationBandit-v0",
    ),
    make_entry("outcomes", "table of outcomes", outcomes, gymnasium_id="bandit_envs/Outcomes-v0"),
    make_entry(
        "one_problem",
        "one problem",
        one_problem,
        gymnasium_id="bandit_envs/OneProblem-v0",
        stationary=None,
    ),
    dataclasses.replace(
        make_entry(
            "scheduled_arms",
            "arms that open and close",
            scheduled_arms,
            gymnasium_id="bandit_envs/ScheduledArms-v0",
            stationary=None,
        ),
        independent_rows=True,
    ),
    dataclasses.replace(
        make_entry(
            "scheduled_contexts",
            "contexts, with actions that open and close",
            scheduled_contexts,
            gymnasium_id="bandit_envs/ScheduledContexts-v0",
            stationary=None,
        ),
        has_context=True,
    ),
)

ENVIRONMENTS = {entry.id: entry for entry in _ENTRIES}
"""All environments of the package, by id."""


def find_environment(name: str) -> EnvironmentEntry:
    """Returns the entry of an id or of a user's `module:Class`, or raises ValueError."""
    return EnvironmentEntry.find(name, ENVIRONMENTS)
