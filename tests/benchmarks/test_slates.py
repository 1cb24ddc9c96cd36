"""What slates of 5 out of 100 items cost, beside their random numbers and TF-Agents' classes."""

import importlib

import numpy as np
import pytest

from bandit_envs import (
    CascadeBandit,
    ExplicitPositionalBiasRankingEnvironment,
    PositionBasedBandit,
    RankingPyEnvironment,
)
from bandit_envs.environments import ClickModel, FeedbackModel
from bandit_envs.rewards import LogisticReward
from bandit_envs.sampling import Normal
from tests.benchmarks.pairing import paired_ratio

B, ITEMS, SLOTS, DIM = 1000, 100, 5, 5
LOOKS = np.arange(1.0, SLOTS + 1) ** -1.3
ATTRACTIONS = np.linspace(0.0, 1.0, ITEMS)
MATRIX = np.random.default_rng(0).normal(size=(DIM, DIM)) / DIM
SIZES = ITEMS, SLOTS, MATRIX
MODELS = {
    "ghosts": (FeedbackModel.CASCADING, ClickModel.GHOST_ACTIONS),
    "ghosts, score vectors": (FeedbackModel.SCORE_VECTOR, ClickModel.GHOST_ACTIONS),
    "distances": (FeedbackModel.CASCADING, ClickModel.DISTANCE_BASED, False, 0.5),
}


def contexts(rng):
    return (
        rng.standard_normal((B, DIM), np.float32),
        rng.standard_normal((B, ITEMS, DIM), np.float32),
    )


def uniforms(rng):
    return rng.random((B, SLOTS))


def ghosts(rng):
    return contexts(rng), rng.standard_normal((B, SLOTS + DIM)), rng.random(B)


def ranking(model):
    return RankingPyEnvironment(
        Normal(DIM), Normal(DIM), *SIZES, *MODELS[model], batch_size=B, seed=0
    )


def biased():
    relevance = LogisticReward(np.full(2 * DIM, 0.2))
    arguments = Normal(DIM), Normal(DIM), relevance, ITEMS, LOOKS, B
    return ExplicitPositionalBiasRankingEnvironment(*arguments, seed=0)


# A step without context takes about 13 us for 5,000 numbers (the cascade draws only one a row), 11
# to check the slates, 5 as every step does, and 8 to look the attractions up and find the clicks.
ENVIRONMENTS = {
    "ghosts": (lambda: ranking("ghosts"), ghosts, 3.0),
    "ghosts, score vectors": (lambda: ranking("ghosts, score vectors"), ghosts, 3.0),
    "distances": (lambda: ranking("distances"), contexts, 3.0),
    "positional bias": (biased, lambda rng: (contexts(rng), uniforms(rng)), 3.0),
    "cascade": (lambda: CascadeBandit(ATTRACTIONS, SLOTS, B, seed=0), uniforms, 3.5),
    "position based": (lambda: PositionBasedBandit(ATTRACTIONS, LOOKS, B, seed=0), uniforms, 3.5),
}
"""An environment, the random numbers of its step, and a bound."""


def stepping(env):
    """Returns a function that takes a step of `env`."""
    env.reset()
    keys = np.random.default_rng(0).random((env.batch_size, ITEMS))
    slates = keys.argsort(axis=1)[:, :SLOTS].astype(np.int32)
    return lambda: env.step(slates)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_a_step_costs_little_more_than_its_random_numbers(expect, name):
    make, draw, bound = ENVIRONMENTS[name]
    rng, has_contexts = np.random.default_rng(0), draw is not uniforms
    rounds, number = (100, 2) if has_contexts else (2000, 3)
    ratio = paired_ratio(stepping(make()), lambda: draw(rng), rounds, number)
    expect(f"{name} step, batch 1000 / its random numbers", ratio, bound)


def vector():
    return np.random.normal(size=DIM).astype(np.float32)


def relevance(user, item):
    return 1.0 / (1.0 + np.exp(-0.2 * (user.sum() + item.sum())))


@pytest.mark.parametrize("name", [*MODELS, "positional bias"])
def test_a_step_costs_a_twentieth_of_tf_agents(expect, name):
    pytest.importorskip("tf_agents")
    theirs = importlib.import_module("tf_agents.bandits.environments.ranking_environment")
    if name in MODELS:
        ours, sizes = ranking(name), (*SIZES, *MODELS[name])
        reference = theirs.RankingPyEnvironment(vector, vector, *sizes, batch_size=B)
    else:
        ours, sizes = biased(), (ITEMS, LOOKS, B)
        reference = theirs.ExplicitPositionalBiasRankingEnvironment(
            vector, vector, relevance, *sizes
        )
    ratio = paired_ratio(stepping(ours), stepping(reference), rounds=8, number=1)
    expect(f"{name} step, batch 1000 / TF-Agents'", ratio, 1 / 20)
