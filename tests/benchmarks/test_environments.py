"""What a step of each environment costs, beside its random numbers and a step of the testbed."""

import copy

import numpy as np
import pytest

from bandit_envs import RatingsBandit
from bandit_envs.environments.registry import ENVIRONMENTS
from tests.benchmarks.pairing import Ratio, fastest, paired_ratio

RATINGS = np.random.default_rng(0).integers(0, 6, (25_000, 20))

SMALLER = {
    "per_arm": {"global_dim": 5, "arm_dim": 5, "max_num_actions": 5},
    "neural_context": {"dim": 5},
}
"""Arguments of the environments whose default observations take gigabytes."""

COPYING = {"ratings", "per_arm_ratings", "digits", "wine", "breast_cancer"}
"""Environments that look up rows of features: the copy of an observation counts as a draw."""

SLATES = {"cascade", "position_based", "ranking", "positional_bias"}
NAMES = [name for name in ENVIRONMENTS if name not in SLATES]

# Of 1.6 that all others keep. For Bernoulli arms, a bare loop of the calls of NumPy that a step
# needs costs 1.6 times its uniform numbers, see below.
LARGE = {
    "bernoulli": 2.0,
    "beta_bernoulli": 2.6,  # the means of the rows differ
    "piecewise_bernoulli": 2.0,
    "constrained_adversary": 2.0,
    "rotting": 2.0,  # the pulls of all arms are copied
    "rising": 2.0,
    "restless_markov": 3.4,  # looks up a bound and stores a state, 8 bytes each, for every arm
    "ratings": 3.2,  # multiplies the features of users and items
    "per_arm_ratings": 5.0,  # different items for each user: each takes six passes
}

# Of 2 that all others keep, in overheads of the testbed: 8 microseconds, in which 16 passes over a
# thousand numbers fit.
SMALL = {
    "corrupted_k_armed": 2.3,  # draws of two laws and a choice between them
    "logistic_context": 3.2,  # a product with the weights, and hyperbolic tangents
    "per_arm": 4.6,  # copies the features of the items that were chosen
    "neural_context": 13.0,  # scales every vector of features to length 1
    "stationary_stochastic": 3.6,  # the product with the weights takes 6 microseconds
    "structured": 7.5,  # four products, and 70 calls of Python functions
    "wheel": 3.3,  # 25 passes: roots, sines, cosines, quadrants, means and noise
    "drifting_linear": 4.4,  # the product, and rotating the weights takes 3
    "piecewise_linear": 4.0,
    "restless_markov": 2.4,
    "ratings": 2.6,
    "per_arm_ratings": 48.0,  # a shuffle for each user, of 20 cards
    "digits": 2.4,
    "breast_cancer": 2.2,
}


def made(name, batch_size):
    """Returns an environment, and a function that takes a step of it."""
    if name == "ratings":
        env = RatingsBandit(RATINGS, 5, batch_size, seed=0)
    else:
        arguments = SMALLER.get(name, {})
        try:
            env = ENVIRONMENTS[name].make(batch_size=batch_size, seed=0, **arguments)
        except ModuleNotFoundError as error:
            pytest.skip(f"{error.name} is not installed")
    env.reset()
    rng = np.random.default_rng(0)
    action = rng.integers(env.num_actions, size=batch_size, dtype=np.int32)
    return env, lambda: env.step(action)


def drawing(name, env, step, steps):
    """Returns a function that draws the random numbers of some steps again, by the same calls."""
    calls = []
    env.seed(recording(calls)(np.random.PCG64(0)))
    for _ in range(steps):
        step()
    env.seed(0)
    rng = np.random.default_rng(0)
    bound = [(getattr(rng, method), args, kwargs) for method, args, kwargs in calls]
    copied = [env.current_time_step().observation] * steps if name in COPYING else []
    kept = []

    def draw():
        drawn = [method(*args, **kwargs) for method, args, kwargs in bound]
        kept[:] = drawn, [copy.deepcopy([each]) for each in copied]  # as an environment keeps them

    return draw


def recording(calls):
    """Returns a class of generators that append their calls to a list."""

    def recorded(name):
        method = getattr(np.random.Generator, name)

        def call(self, *args, **kwargs):
            before = len(calls)
            drawn = method(self, *args, **kwargs)
            calls[before:] = [(name, args, kwargs)]  # not those that it made itself
            return drawn

        return call

    names = [name for name in vars(np.random.Generator) if not name.startswith("_")]
    methods = {name: recorded(name) for name in names if name != "bit_generator"}
    return type("Recording", (np.random.Generator,), methods)


@pytest.mark.parametrize("name", NAMES)
def test_a_step_of_a_large_batch_costs_little_more_than_its_random_numbers(expect, name):
    env, step = made(name, 20_000)
    if name == "adversarial":
        pytest.skip("draws nothing")
    draw = drawing(name, env, step, 1)
    ratio = paired_ratio(step, draw, rounds=60, number=2)
    expect(f"{name} step, batch 20000 / its random numbers", ratio, LARGE.get(name, 1.6))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "testbed"])
def test_the_overhead_of_a_step_beside_that_of_the_testbed(expect, name):
    """The cost of steps without their random numbers, in steps of the testbed without theirs."""
    steps = 5
    functions = []
    for each in (name, "testbed"):
        env, step = made(each, 1000)
        functions += [repeated(step, steps), drawing(each, env, step, steps)]
    step, draw, testbed, noise = fastest(functions, rounds=400, number=1)
    ratio = (step - draw) / (testbed - noise)
    title = f"{name} overhead, batch 1000 / the testbed's"
    expect(title, Ratio.exactly(ratio), SMALL.get(name, 2.0))


def repeated(function, times):
    def call():
        for _ in range(times):
            function()

    return call


MEANS, WEIGHTS = np.linspace(0.1, 0.9, 10), np.ones((15, 5), np.float32)
NOISE = np.array(0.1, np.float32)


def checked(action):
    """Converts and checks actions of five arms, as every step does."""
    indices = action.astype(np.intp)
    assert indices.view(np.uintp).item(indices.view(np.uintp).argmax()) < len(MEANS)
    return indices


def bernoulli(rng, size, action):
    indices = checked(action)
    return (rng.random(size) < MEANS.take(indices)).astype(np.float32)


def stationary_stochastic(rng, size, action):
    places = np.arange(0, size * 5, 5)
    means = rng.standard_normal((size, 15), np.float32).dot(WEIGHTS)
    rewards = rng.standard_normal(size, np.float32)
    rewards *= NOISE
    rewards += means.take(places + checked(action), mode="wrap")
    assert not np.isnan(rewards.item(rewards.argmax()))
    return rewards


@pytest.mark.parametrize(("bare", "size"), [(bernoulli, 20_000), (stationary_stochastic, 1000)])
def test_what_a_bare_loop_of_the_same_calls_costs(expect, bare, size):
    env, step = made(bare.__name__, size)
    draw = drawing(bare.__name__, env, step, 1)
    rng = np.random.default_rng(0)
    action = rng.integers(5, size=size, dtype=np.int32)
    bare(rng, size, action)
    functions = step, draw, lambda: bare(rng, size, action)
    taken, drawn, looped = fastest(functions, 400, 5)
    for title, ratio, bound in [
        ("step / bare loop", taken / looped, 1.25),
        ("bare loop / its random numbers", looped / drawn, 1.8),
    ]:
        expect(f"{bare.__name__}, batch {size}, {title}", Ratio.exactly(ratio), bound)
