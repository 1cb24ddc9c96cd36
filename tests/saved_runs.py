"""Everything that has a state, under a name, and whole runs of it; for the tests of saving."""

import functools
import sys
from pathlib import Path

import numpy as np

from bandit_envs import (
    AverageRewardMetric,
    ContextualPolicy,
    EpsilonGreedyPolicy,
    GaussianThompsonSamplingPolicy,
    GradientBanditPolicy,
    KArmedTestbed,
    LinearThompsonSamplingPolicy,
    LinUCBPolicy,
    OptimalActionMetric,
    RandomPolicy,
    RegretMetric,
    StationaryStochasticPerArmPyEnvironment,
    StepDriver,
    UCBPolicy,
    load_state,
    save_state,
    wrappers,
)
from bandit_envs.policies.models import Ridge
from bandit_envs.policies.rules import EpsilonGreedy
from bandit_envs.rewards import LinearReward, LogisticReward
from bandit_envs.sampling import Catalog, Integers, Normal, Uniform
from tests.wrappers.examples import RewardSoFar

B, K = 3, 4


def testbed(seed, **options):
    return KArmedTestbed(K, batch_size=B, seed=seed, **options)


def per_arm(seed, **options):
    model = LinearReward(np.linspace(-1.0, 1.0, 5), 0.5)
    return StationaryStochasticPerArmPyEnvironment(
        Normal(2), Uniform(3, -1.0, 1.0), K, model, None, B, seed=seed, **options
    )


def recommender(seed, **options):
    items = Catalog(np.random.default_rng(0).normal(size=(9, 3)).astype(np.float32))
    model = LogisticReward(np.linspace(-1.0, 1.0, 5))
    return StationaryStochasticPerArmPyEnvironment(
        Integers(2, 0, 7), items, K, model, Integers(1, 1, K + 1), B, seed=seed, **options
    )


ENVIRONMENTS = {
    "testbed": testbed,
    "testbed of float64 that drifts": functools.partial(testbed, dtype=np.float64, drift_std=0.1),
    "testbed with a horizon": functools.partial(testbed, horizon=7),
    "per-arm": per_arm,
    "per-arm with a horizon": functools.partial(per_arm, horizon=7),
    "per-arm with a catalog, clicks and numbers of actions": recommender,
    "affine reward": lambda seed: wrappers.AffineReward(testbed(seed), 2.0, 1.0),
    "clipped reward": lambda seed: wrappers.ClipReward(per_arm(seed), (-1.0, 1.0)),
    "rescaled reward": lambda seed: wrappers.RescaleReward(recommender(seed), (-1.0, 1.0)),
    "action mask": lambda seed: wrappers.AddActionMask(recommender(seed)),
    "transformed observation": lambda seed: wrappers.TransformObservation(
        testbed(seed), np.negative, testbed(0).observation_spec()
    ),
    "wrapper that remembers, in a wrapper": lambda seed: wrappers.AffineReward(
        RewardSoFar(testbed(seed, horizon=7)), 0.5
    ),
}
POLICIES = {
    "random": RandomPolicy,
    "epsilon-greedy": functools.partial(EpsilonGreedyPolicy, 0.3),
    "ucb": functools.partial(UCBPolicy, 2.0),
    "gradient": functools.partial(GradientBanditPolicy, 0.1),
    "thompson": GaussianThompsonSamplingPolicy,
    "lin-ucb": LinUCBPolicy,
    "linear thompson": functools.partial(LinearThompsonSamplingPolicy, gamma=0.9),
    "linear epsilon-greedy": functools.partial(ContextualPolicy, Ridge(), EpsilonGreedy(0.3)),
}
RUNS = [(environment, "random") for environment in ENVIRONMENTS]
RUNS += [
    (environment, policy)
    for environment, policies in (("testbed", list(POLICIES)[1:5]), ("per-arm", list(POLICIES)[5:]))
    for policy in policies
]


def make_run(environment, policy, seed):
    """Returns a driver and all that it drives, new."""
    env = ENVIRONMENTS[environment](seed)
    linear = policy.startswith("lin")
    sizes = {"observation_spec": env.observation_spec()} if linear else {"num_actions": K}
    learner = POLICIES[policy](**sizes, batch_size=B, seed=seed + 1)
    metrics = [AverageRewardMetric()]
    if environment not in ("clipped reward", "wrapper that remembers, in a wrapper"):
        metrics += [OptimalActionMetric(env), RegretMetric(env)]
    return StepDriver(env, learner, [learner, *metrics], num_steps=11)


def continue_run(environment, policy, before, after):
    """Loads a run's state from a file, runs on, and saves the state to another file."""
    driver = make_run(environment, policy, seed=99)
    driver.set_state(load_state(before))
    driver.run()
    save_state(after, driver.get_state())


REFERENCE = Path(__file__).parent / "reference"


def reference_states():
    """Returns the states of two runs, and a generator of each kind."""
    runs, generators = {}, {}
    for environment, policy in (("testbed", "ucb"), ("per-arm", "lin-ucb")):
        driver = make_run(environment, policy, seed=3)
        driver.run()
        runs[policy] = driver.get_state()
    for kind in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"):
        generators[kind] = np.random.Generator(getattr(np.random, kind)(3))
        generators[kind].random(5, np.float32)
    return {"runs": runs, "generators": generators}


def write_reference():
    """Writes the reference file of this NumPy; to be run after a change of format or policies.

    NumPy 1.26 goes first: others write what they read from its file, as their sums may differ in
    the last bit.
    """
    version = ".".join(np.__version__.split(".")[:2])
    first = version == "1.26"
    states = reference_states() if first else load_state(REFERENCE / "states_numpy_1.26.npz")
    save_state(REFERENCE / f"states_numpy_{version}.npz", states)


if __name__ == "__main__":
    for arguments in zip(*[iter(sys.argv[1:])] * 4):
        continue_run(*arguments)
    if len(sys.argv) == 1:
        write_reference()
