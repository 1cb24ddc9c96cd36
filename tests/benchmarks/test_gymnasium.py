"""What Gymnasium's interface costs, beside Gymnasium's own and river's."""

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

ID = "bandit_envs.adapters.gymnasium:bandit_envs/KArmedTestbed-v0"
NEVER = 10**9  # steps: an episode that outlasts the measurement


def stepping(env, action):
    """Returns a function that takes a step of a Gymnasium environment."""
    env.reset(seed=0)
    return lambda: env.step(action)


def test_a_vectorized_step_beside_one_environment_after_the_other(compare, one_round):
    size = 20 if one_round else 2000
    actions = np.random.default_rng(0).integers(10, size=size)
    compare(
        "make_vec step, 2000 testbeds / SyncVectorEnv of them",
        stepping(gymnasium.make_vec(ID, num_envs=size), actions),
        stepping(gymnasium.make_vec(ID, num_envs=size, vectorization_mode="sync"), actions),
        rounds=20,
        number=10,
    )


def test_a_step_through_make_beside_that_of_river(compare):
    pytest.importorskip("river.bandit.envs")
    compare(
        "step of the testbed through make / river's through make",
        stepping(gymnasium.make(ID, max_episode_steps=NEVER), 3),
        stepping(gymnasium.make("river_bandits/KArmedTestbed-v0", max_episode_steps=NEVER), 3),
        rounds=100,
        number=500,
    )
