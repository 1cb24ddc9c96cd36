"""The replacements of TF-Agents' MovieLens environments, of which TF-Agents has no tests."""

import copy
import inspect
import pickle

import numpy as np
import pytest

pytest.importorskip("tf_agents")

import gin
import tensorflow as tf
from tf_agents.bandits.environments import movielens_per_arm_py_environment as theirs_per_arm
from tf_agents.bandits.environments import movielens_py_environment as theirs

from bandit_envs.adapters import tf_agents as adapter

USERS, MOVIES, SHELF, RANK, B = 30, 40, 8, 3, 5
RATINGS = np.random.default_rng(0).integers(0, 6, (USERS, MOVIES))
CLASSES = {
    "all movies": (adapter.MovieLensPyEnvironment, theirs.MovieLensPyEnvironment),
    "per arm": (adapter.MovieLensPerArmPyEnvironment, theirs_per_arm.MovieLensPerArmPyEnvironment),
}


@pytest.fixture
def path(tmp_path):
    """A file as u.data, but with commas."""
    users, movies = np.nonzero(RATINGS)
    lines = [f"{u + 1},{m + 1},{RATINGS[u, m]},0" for u, m in zip(users, movies)]
    file = tmp_path / "u.data"
    file.write_text("\n".join(lines) + "\n")
    return str(file)


@pytest.mark.parametrize("name", CLASSES)
def test_it_has_the_constructor_and_the_time_steps_of_tf_agents(path, name):
    ours, theirs = CLASSES[name]
    our, their = (list(inspect.signature(each).parameters.values()) for each in (ours, theirs))
    assert [(p.name, p.default) for p in our[:-1]] == [(p.name, p.default) for p in their]
    assert our[-1].name == "seed"
    ours, theirs = (each(path, RANK, B, SHELF) for each in (ours, theirs))
    assert ours.name == theirs.name
    assert ours.action_spec() == theirs.action_spec()
    assert ours.time_step_spec() == theirs.time_step_spec()
    for our, their in ((ours.reset(), theirs.reset()), [e.step([1] * B) for e in (ours, theirs)]):
        tf.nest.assert_same_structure(our, their)
        for our_leaf, their_leaf in zip(tf.nest.flatten(our), tf.nest.flatten(their)):
            assert (our_leaf.dtype, our_leaf.shape) == (their_leaf.dtype, their_leaf.shape)


def test_the_users_rate_as_with_tf_agents(path):
    ours, theirs = (each(path, RANK, USERS, SHELF) for each in CLASSES["all movies"])
    observation = ours.reset().observation
    order = [np.lexsort(np.abs(rows).T) for rows in (observation, theirs._u_hat)]
    means = ours.wrapped_env().expected_rewards()
    expected = theirs._approx_ratings_matrix
    assert means[order[0]] == pytest.approx(expected[order[1]])
    reward = ours.step([3] * USERS).reward
    assert reward[order[0]] == pytest.approx(expected[order[1], 3])


def test_the_movies_on_offer_are_rated_as_with_tf_agents(path):
    ours, theirs = (each(path, RANK, 2000, SHELF) for each in CLASSES["per arm"])
    ours.reset()
    means = np.unique(ours.wrapped_env().expected_rewards().round(2))
    expected = np.sort(theirs._approx_ratings_matrix[:USERS, :MOVIES], axis=None)
    places = np.searchsorted(expected, means).clip(1, expected.size - 1)
    gaps = np.minimum(np.abs(expected[places] - means), np.abs(expected[places - 1] - means))
    assert gaps.max() < 0.01
    assert means.max() == pytest.approx(expected.max(), abs=0.01)


@pytest.mark.parametrize("name", CLASSES)
def test_its_optima_are_those_of_the_last_step(path, name):
    env = CLASSES[name][0](path, RANK, B, SHELF, seed=0)
    env.reset()
    core = env.wrapped_env()
    best, action = core.optimal_reward(), core.optimal_action()
    assert env.step(action).reward == pytest.approx(best)
    assert env.compute_optimal_reward() == pytest.approx(best)
    assert (env.compute_optimal_action() == action).all()


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_it_survives_pickle_and_deepcopy(path, name, duplicate):
    env = CLASSES[name][0](path, RANK, B, SHELF, seed=0)
    env.reset()
    other = duplicate(env)
    for _ in range(3):
        reward, same = (each.step([1] * B).reward for each in (env, other))
        assert (reward == same).all()


def test_gin_configures_it_under_its_name(path):
    gin.parse_config(f"MovieLensPyEnvironment.batch_size = {B}\nMovieLensPyEnvironment.seed = 0")
    try:
        env = adapter.MovieLensPyEnvironment(path, RANK)
    finally:
        gin.clear_config()
    assert env.reset().is_first().shape == (B,)
