import copy
import inspect
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
        self._number = int(self.np_random.random_sample() * 10)
        return (0, {}) if return_info else 0

    def step(self, action):
        return 0, float(action == self._number), True, {}


class Unfinished(RandomizedEnv):
    """Has no spaces."""

    def reset(self, *, seed=None, return_info=False, options=None):
        super().reset(seed=seed)

    def step(self, action):
        return 0, 0.0, True, {}


@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1, np.int64(7), [1, 2]])
def test_the_stream_is_that_of_a_random_state(seed):
    env = Guess(seed=seed)
    assert isinstance(env.np_random, np.random.RandomState)
    expected = np.random.RandomState(seed).random_sample(5)
    assert env.np_random.random_sample(5).tolist() == expected.tolist()
    assert env.seed(seed) == [seed]
    assert env.np_random.random_sample(5).tolist() == expected.tolist()


def test_it_is_a_gym_environment_with_gym_s_members():
    env = Guess()
    assert isinstance(env, gym.Env)
    assert env.unwrapped is env
    assert env.reward_range == (-float("inf"), float("inf"))
    assert env.spec is None
    assert not any(env.metadata.values())
    assert env.close() is None
    assert env.close() is None
    with env as entered:
        assert entered is env


def test_reset_has_the_signature_of_gym():
    parameters = inspect.signature(RandomizedEnv.reset).parameters
    assert list(parameters) == ["self", "seed", "return_info", "options"]
    assert all(
        parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        for name in ("seed", "return_info", "options")
    )
    assert list(inspect.signature(RandomizedEnv).parameters) == ["np_random", "seed"]


def test_reset_and_step_have_to_be_implemented():
    with pytest.raises(TypeError, match="abstract"):
        RandomizedEnv()

    class Half(RandomizedEnv):
        def step(self, action):
            return 0, 0.0, True, {}

    with pytest.raises(TypeError, match="abstract"):
        Half()


@pytest.mark.parametrize("rng", [np.random.RandomState(3), np.random.default_rng(3)])
def test_a_generator_that_is_given_is_used_as_it_is(rng):
    env, other = Unfinished(rng), Unfinished(np_random=rng)
    assert env.np_random is other.np_random is rng
    assert env.np_random.uniform() != other.np_random.uniform()


@pytest.mark.parametrize("rng", [np.random.RandomState(3), np.random.default_rng(3)])
def test_seeding_keeps_the_generator_and_sets_it_back(rng):
    env = Unfinished(rng)
    numbers = []
    for seeding in (env.seed, env.seed, lambda seed: env.reset(seed=seed)):
        seeding(11)
        assert env.np_random is rng
        numbers.append(env.np_random.uniform(size=3).tolist())
    assert numbers[0] == numbers[1] == numbers[2]


def test_a_generator_is_seeded_as_numpy_does():
    env = Unfinished(np.random.default_rng())
    env.seed(42)
    assert env.np_random.normal() == np.random.default_rng(42).normal()


@pytest.mark.parametrize("rng", [np.random.RandomState(3), np.random.default_rng(3)])
def test_seeding_without_a_seed_returns_one_that_repeats_the_stream(rng):
    env = Unfinished(rng)
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
        assert env.step(int(rng.random_sample() * 10))[1] == 1.0


def test_giving_both_a_generator_and_a_seed_is_an_error_that_says_so():
    with pytest.raises(ValueError, match="np_random and seed are both given; expected at most one"):
        Guess(np.random.RandomState(0), seed=0)


@pytest.mark.parametrize("rng", [0, np.random, np.random.SeedSequence(0)])
def test_what_is_no_generator_is_refused(rng):
    with pytest.raises(
        TypeError, match=r"(?s)^np_random is .*; expected a RandomState or a Generator"
    ):
        Guess(rng)


@pytest.mark.parametrize("rng", [np.random.RandomState(3), np.random.default_rng(3)])
@pytest.mark.parametrize(
    ("seed", "error"),
    [(-1, ValueError), (1.5, TypeError), (True, TypeError), ([1, -2], ValueError)],
)
def test_a_bad_seed_is_refused_and_nothing_changes(rng, seed, error):
    env, twin = Unfinished(rng), copy.deepcopy(rng)
    for seeding in (env.seed, lambda seed: env.reset(seed=seed)):
        with pytest.raises(error, match=r"^seed is "):
            seeding(seed)
    assert rng.uniform() == twin.uniform()
    if isinstance(rng, np.random.RandomState):
        with pytest.raises(error, match=r"^seed is "):
            Guess(seed=seed)


def test_the_generator_cannot_be_exchanged():
    with pytest.raises(AttributeError):
        Guess().np_random = np.random.RandomState(0)


def test_spaces_can_be_set_and_are_asked_for_in_vain_before():
    env = Unfinished()
    for name in ("action_space", "observation_space"):
        with pytest.raises(NotImplementedError, match=f"Unfinished has no {name}"):
            getattr(env, name)
        setattr(env, name, gym.spaces.Discrete(2))
        assert getattr(env, name) == gym.spaces.Discrete(2)


def test_spaces_can_be_class_attributes():
    class Simple(Unfinished):
        action_space = gym.spaces.Discrete(4)

    assert Simple().action_space == gym.spaces.Discrete(4)


@pytest.mark.parametrize("mode", ["human", "rgb_array"])
def test_render_is_not_there_and_says_so(mode):
    with pytest.raises(NotImplementedError, match=rf"Guess has no render\('{mode}'\)"):
        Guess().render(mode)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_goes_on_with_the_same_stream(copied):
    env = Guess(seed=1)
    env.reset()
    other = copied(env)
    assert env.np_random.random_sample() == other.np_random.random_sample()
