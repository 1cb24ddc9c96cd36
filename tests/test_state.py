import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandit_envs.base.state import Stateful
from bandit_envs.seeding import generator, split_seed
from bandit_envs.testing import assert_identical


class Walk(Stateful):
    """A random walk that changes its state in place."""

    def __init__(self, seed):
        self._state = {"rng": generator(seed), "position": np.zeros(2)}

    def step(self):
        self._state["position"] += self._state["rng"].normal(size=2)
        return self._state["position"].copy()


def test_a_token_is_a_copy_of_the_state():
    walk = Walk(0)
    token = walk.get_state()
    before = copy.deepcopy(token)
    walk.step()
    assert_identical(token, before)


@given(st.integers(0, 2**64), st.integers(0, 5))
def test_a_token_replays_as_often_as_it_is_used(seed, num_steps):
    walk, other = Walk(seed), Walk(seed + 1)
    for _ in range(num_steps):
        walk.step()
    token = pickle.loads(pickle.dumps(walk.get_state()))
    expected = [walk.step() for _ in range(3)]
    for again in (walk, other, other):
        again.set_state(token)
        assert_identical([again.step() for _ in range(3)], expected)


@pytest.mark.parametrize("seed", [7, np.int64(7), [7, 8], np.array([7, 8]), None])
def test_a_seed_is_what_numpy_takes(seed):
    numbers = generator(seed).random(3)
    if seed is not None:
        assert_identical(numbers, np.random.default_rng(seed).random(3))


def test_no_seed_is_fresh_entropy():
    assert generator(None).random() != generator(None).random()


def test_a_seed_sequence_and_a_bit_generator_give_their_stream():
    expected = np.random.default_rng(7).random(3)
    assert_identical(generator(np.random.SeedSequence(7)).random(3), expected)
    assert_identical(generator(np.random.PCG64(7)).random(3), expected)
    philox = np.random.Generator(np.random.Philox(7)).random(3)
    assert_identical(generator(np.random.Philox(7)).random(3), philox)


def test_a_generator_is_returned_as_it_is():
    rng = np.random.default_rng(7)
    assert generator(rng) is rng


def test_the_stream_of_a_random_state_is_shared():
    legacy, twin = np.random.RandomState(7), np.random.RandomState(7)
    rng = generator(legacy)
    assert rng.random() == twin.random_sample()
    assert legacy.random_sample() == twin.random_sample()


@pytest.mark.parametrize("seed", [1.5, object(), {}])
def test_what_is_no_seed_is_refused(seed):
    with pytest.raises(TypeError) as error:
        generator(seed)
    assert str(error.value).startswith(f"seed is {seed!r}; expected a")


@pytest.mark.parametrize("seed", [-1, [3, -1]])
def test_a_negative_seed_is_refused(seed):
    with pytest.raises(ValueError) as error:
        generator(seed)
    assert str(error.value) == (
        f"seed is {seed!r}; expected a non-negative integer or a NumPy source of randomness"
    )


SOURCES = [
    7,
    [7, 8],
    np.random.SeedSequence(7, spawn_key=(3,)),
    np.random.PCG64(7),
    np.random.default_rng(7),
    np.random.RandomState(7),
]


@pytest.mark.parametrize("seed", SOURCES, ids=lambda seed: type(seed).__name__)
def test_a_seed_is_split_without_changing_it(seed):
    def draws():
        return [generator(part).random(3) for part in split_seed(seed)]

    before = copy.deepcopy(seed)
    constants, rest = draws()
    assert not np.array_equal(constants, rest)
    assert_identical(draws(), [constants, rest])
    assert_identical(generator(copy.deepcopy(seed)).random(3), generator(before).random(3))
    if isinstance(seed, np.random.SeedSequence):
        assert seed.n_children_spawned == 0


def test_a_seed_is_split_into_what_a_sequence_spawns():
    expected = [generator(part).random() for part in np.random.SeedSequence(7).spawn(2)]
    for seed in (7, np.random.SeedSequence(7)):
        assert [generator(part).random() for part in split_seed(seed)] == expected


def test_the_position_of_a_generator_counts_when_it_is_split():
    rng = np.random.default_rng(7)
    first = split_seed(rng)[0].random()
    rng.random()
    assert split_seed(rng)[0].random() != first
