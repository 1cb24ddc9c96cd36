import copy
import pickle

import numpy as np
import pytest

pytest.importorskip("gym")

import gym

from bandit_envs.adapters.gym import RandomizedEnv


class Guess(RandomizedEnv):
    """Draws a number, and pays 1 if it is the action."""

    def __init__(self, np_random=None, seed=None):
        super().__init__(np_random, seed)
        self.action_space = gym.spaces.Discrete(10)
        self.observation_space = gym.spaces.Discrete(1)

    def reset(self, *, seed=None, return_info=False, options=None):
        super().reset(seed=seed)
        self._number = int(self.np_random.uniform() * 10)
        return (0, {}) if return_info else 0

    def step(self, action):
        return 0, float(action == self._number), True, {}


class Overriding(RandomizedEnv):
    """Overrides the properties, as a class of Concepts does."""

    @property
    def action_space(self):
        return gym.spaces.Discrete(3)


def test_spaces_are_properties_that_a_subclass_overrides_or_sets():
    assert Overriding().action_space.n == 3
    assert Guess().action_space.n == 10
    for name in ("action_space", "observation_space"):
        assert isinstance(getattr(RandomizedEnv, name), property)
        with pytest.raises(NotImplementedError, match=f"RandomizedEnv has no {name}"):
            getattr(RandomizedEnv(), name)
    assert RandomizedEnv.reset.__isabstractmethod__


both_kinds = pytest.mark.parametrize("rng", [np.random.RandomState(3), np.random.default_rng(3)])


@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1, np.int64(7), [1, 2]])
def test_the_stream_is_that_of_a_random_state(seed):
    env = Guess(seed=seed)
    assert isinstance(env.np_random, np.random.RandomState)
    expected = np.random.RandomState(seed).random_sample(5)
    assert env.np_random.random_sample(5).tolist() == expected.tolist()
    assert env.seed(seed) == [seed]
    assert env.np_random.random_sample(5).tolist() == expected.tolist()


@both_kinds
def test_a_generator_that_is_given_stays_the_same_object_and_is_shared(rng):
    env, other = Guess(rng), Guess(np_random=rng)
    assert env.np_random is other.np_random is rng
    numbers = []
    for seeding in (env.seed, other.seed, lambda seed: env.reset(seed=seed)):
        seeding(11)
        assert env.np_random is rng
        if len(numbers) < 2:
            numbers.append(rng.uniform(size=3).tolist())
    assert numbers[0] == numbers[1]
    with pytest.raises(AttributeError):
        env.np_random = np.random.RandomState(0)


@both_kinds
def test_seeding_without_a_seed_returns_one_that_repeats_the_stream(rng):
    env = Guess(rng)
    (seed,) = env.seed()
    assert type(seed) is int
    numbers = env.np_random.uniform(size=3).tolist()
    assert env.seed() != [seed]
    env.seed(seed)
    assert env.np_random.uniform(size=3).tolist() == numbers


def test_reset_without_a_seed_goes_on_with_the_stream():
    env, rng = Guess(seed=5), np.random.RandomState(5)
    for _ in range(5):
        env.reset()
        assert env.step(int(rng.uniform() * 10))[1] == 1.0


def test_what_is_no_generator_is_refused():
    with pytest.raises(ValueError, match="np_random and seed"):
        Guess(np.random.RandomState(0), seed=0)
    for rng in (0, np.random, np.random.SeedSequence(0)):
        with pytest.raises(TypeError, match="np_random"):
            Guess(rng)


@both_kinds
@pytest.mark.parametrize(
    ("seed", "error"),
    [(-1, ValueError), (1.5, TypeError), ([1, -2], ValueError)],
)
def test_a_bad_seed_is_refused_and_nothing_changes(rng, seed, error):
    env, twin = Guess(rng), copy.deepcopy(rng)
    for seeding in (env.seed, lambda seed: env.reset(seed=seed)):
        with pytest.raises(error, match="seed"):
            seeding(seed)
    assert rng.uniform() == twin.uniform()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_goes_on_with_the_same_stream(copied):
    env = Guess(seed=1)
    env.reset()
    other = copied(env)
    assert env.np_random.random_sample() == other.np_random.random_sample()


def test_it_is_a_gym_environment_that_tf_agents_runs():
    assert isinstance(Guess(), gym.Env)
    gym_wrapper = pytest.importorskip("tf_agents.environments.gym_wrapper")
    utils = pytest.importorskip("tf_agents.environments.utils")

    utils.validate_py_environment(gym_wrapper.GymWrapper(Guess(seed=0)), episodes=3)
    assert gym_wrapper.GymWrapper(Guess()).seed(9) == [9]
