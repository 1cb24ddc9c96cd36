"""What Gymnasium's interface costs, beside Gymnasium's own and river's."""

import numpy as np
import pytest

pytest.importorskip("gymnasium")

import gymnasium

from tests.benchmarks.pairing import paired_ratio

ID = "bandit_envs.adapters.gymnasium:bandit_envs/KArmedTestbed-v0"
NEVER = 10**9  # steps: an episode that outlasts the measurement


def stepping(env, action):
    """Returns a function that takes a step of a Gymnasium environment."""
    env.reset(seed=0)
    return lambda: env.step(action)


def test_a_vectorized_step_is_far_cheaper_than_one_sub_environment_after_the_other(expect):
    actions = np.random.default_rng(0).integers(10, size=2000)
    ratio = paired_ratio(
        stepping(gymnasium.make_vec(ID, num_envs=2000), actions),
        stepping(gymnasium.make_vec(ID, num_envs=2000, vectorization_mode="sync"), actions),
        rounds=20,
        number=10,
    )
    expect("make_vec step, 2000 testbeds / SyncVectorEnv of them", ratio, 1 / 100)


def test_a_step_through_make_costs_about_as_much_as_that_of_river(expect):
    pytest.importorskip("river.bandit.envs")
    ratio = paired_ratio(
        stepping(gymnasium.make(ID, max_episode_steps=NEVER), 3),
        stepping(gymnasium.make("river_bandits/KArmedTestbed-v0", max_episode_steps=NEVER), 3),
        rounds=400,
        number=500,
    )
    expect("step of the testbed through make / river's through make", ratio, 1.5)
