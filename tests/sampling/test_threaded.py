"""Large draws on several threads."""

import copy
import multiprocessing
import pickle

import numpy as np
import pytest

from bandit_envs import StationaryStochasticPerArmPyEnvironment
from bandit_envs.rewards import LinearReward
from bandit_envs.sampling import (
    BatchFunction,
    Catalog,
    ContextSampler,
    Integers,
    Normal,
    Threaded,
    Uniform,
)
from bandit_envs.testing import EnvironmentContract, assert_identical
from tests.statistical import is_near, is_near_std

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")

LARGE = (100, 70)
SAMPLERS = {
    "normal": Normal(50),
    "uniform": Uniform(40, -1.0, 1.0),
    "integers": Integers(30, -5, 5),
    "catalog": Catalog(np.arange(3000.0).reshape(100, 30)),
    "function": BatchFunction(lambda rng, size: rng.random((*size, 20)), 20, np.float64),
}


class TestLargeDraws(EnvironmentContract):
    num_steps = 3
    num_rewards = 100

    def make_environment(self, seed):
        return StationaryStochasticPerArmPyEnvironment(
            Normal(2),
            Threaded(Normal(50), 2),
            70,
            LinearReward(np.ones(52)),
            batch_size=30,
            seed=seed,
        )


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("size", [LARGE, (9_973, 1), (2, 5000)])
def test_the_numbers_do_not_depend_on_the_number_of_threads(name, size):
    if name == "catalog" and size == (2, 5000):
        size = (2000, 5)
    expected = Threaded(SAMPLERS[name], 1).sample(np.random.default_rng(1), size)
    assert expected.shape == (*size, *SAMPLERS[name].spec.shape)
    for threads in (3, 8, None):
        rng = np.random.default_rng(1)
        assert_identical(Threaded(SAMPLERS[name], threads).sample(rng, size), expected)
    again = Threaded(SAMPLERS[name], 2).sample(rng, size)
    assert not np.array_equal(again, expected)


def test_a_small_draw_is_the_sampler_s_own():
    rng, other = np.random.default_rng(0), np.random.default_rng(0)
    for size in [(5,), (30, 60), (1999,)]:
        assert_identical(Threaded(Normal(50)).sample(rng, size), Normal(50).sample(other, size))


def test_a_large_draw_has_the_law_of_the_sampler():
    drawn = Threaded(Normal(50, loc=2.0, scale=3.0), 2).sample(np.random.default_rng(0), (20_000,))
    assert is_near(drawn.ravel(), 2.0, std=3.0)
    assert is_near_std(drawn.ravel(), 3.0)
    assert len(np.unique(drawn[:, 0])) > 19_900  # no block is a copy of another
    items = Threaded(SAMPLERS["catalog"], 2).sample(np.random.default_rng(0), LARGE)[..., 0]
    assert all(len(set(row)) == 70 for row in items)  # no item twice in a row


def test_threads_keep_nothing_between_draws():
    sampler = Threaded(Normal(50), 2)
    before = pickle.dumps(sampler)
    expected = sampler.sample(np.random.default_rng(4), LARGE)
    assert pickle.dumps(sampler) == before
    for other in (copy.deepcopy(sampler), pickle.loads(before)):
        assert_identical(other.sample(np.random.default_rng(4), LARGE), expected)


def draw(seed):
    return Threaded(Normal(50), 3).sample(np.random.default_rng(seed), LARGE)


# A process of a fork server starts as one of "spawn" does, which takes long.
@pytest.mark.parametrize(
    "method",
    [
        pytest.param("fork", marks=pytest.mark.posix),
        pytest.param("spawn", marks=pytest.mark.slow),
    ],
)
def test_other_processes_draw_the_same(method):
    expected = draw(5)
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert_identical(pool.apply_async(draw, (5,)).get(timeout=60), expected)


class Broken(ContextSampler):
    def __init__(self, contexts):
        super().__init__(50)
        self.contexts = contexts

    def _sample(self, rng, size):
        return np.full((*size, self.contexts), np.nan, np.float32)


@pytest.mark.parametrize(
    ("contexts", "message"), [(50, "sampler returned NaN"), (49, "sampler returned shape")]
)
def test_what_a_sampler_does_wrong_is_said_of_it(contexts, message):
    with pytest.raises(ValueError, match=message):
        Threaded(Broken(contexts), 2).sample(np.random.default_rng(0), LARGE)
