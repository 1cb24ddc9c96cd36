"""Distributions of arms: draws have the moments that they state, in every shape of parameters."""

import numpy as np
import pytest

from bandit_envs import rewards
from bandit_envs.rewards import as_distribution
from tests.cases import for_each
from tests.statistical import has_probabilities, is_near

N = 100_000

DISTRIBUTIONS = {
    "normal": (rewards.NormalReward([1.0, -2.0], [0.5, 2.0]), [1.0, -2.0], [0.25, 4.0]),
    "one std for all": (rewards.NormalReward([1.0, -2.0]), [1.0, -2.0], [1.0, 1.0]),
    "bernoulli": (rewards.Bernoulli([0.0, 0.3, 1.0]), [0.0, 0.3, 1.0], [0.0, 0.21, 0.0]),
    "beta": (rewards.Beta([2.0, 0.5], [3.0, 0.5]), [0.4, 0.5], [0.04, 0.125]),
    "exponential": (rewards.Exponential([0.5, 3.0]), [0.5, 3.0], [0.25, 9.0]),
    "gamma": (rewards.Gamma([2.0, 0.5], [3.0, 1.0]), [6.0, 0.5], [18.0, 0.5]),
    "poisson": (rewards.Poisson([0.2, 40.0]), [0.2, 40.0], [0.2, 40.0]),
    "uniform": (rewards.UniformReward([0.0, -1.0], [1.0, 5.0]), [0.5, 2.0], [1 / 12, 3.0]),
    "discrete": (
        rewards.Discrete([-1.0, 0.0, 4.0], [[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]]),
        [0.5, 0.0],
        [4.25, 0.0],
    ),
    "corrupted": (
        rewards.Corrupted(rewards.NormalReward([0.0, 1.0]), 0.25, rewards.NormalReward(8.0, 2.0)),
        [2.0, 2.75],
        [13.75, 0.75 + 1.0 + 0.1875 * 49],
    ),
    "mixed": (
        as_distribution(
            "arms",
            [rewards.NormalReward(3.0), rewards.Bernoulli(0.5), rewards.NormalReward(-1.0, 2.0)],
        ),
        [3.0, 0.5, -1.0],
        [1.0, 0.25, 4.0],
    ),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_draws_have_the_mean_and_the_variance_of_the_formulas(name):
    arms, means, variances = DISTRIBUTIONS[name]
    assert np.allclose(arms.mean, means)
    assert np.allclose(arms.std**2, variances)
    rng = np.random.default_rng(0)
    for arm, (mean, variance) in enumerate(zip(means, variances)):
        draws = np.asarray(arms.draw(rng, np.full(N, arm)), float)
        assert draws.shape == (N,)
        assert is_near(draws, mean, np.sqrt(variance))
        assert is_near((draws - mean) ** 2, variance)
        low, high = arms.support
        assert low <= draws.min()
        assert draws.max() <= high


@for_each(
    "arms",
    [
        rewards.NormalReward([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], 0.0),
        rewards.NormalReward([[1, 2], [3, 4], [5, 6]], [0.0, 0.0]),
        rewards.UniformReward([[1, 2], [3, 4], [5, 6]], [[1, 2], [3, 4], [5, 6]]),
        rewards.Discrete(np.arange(1.0, 7.0), np.eye(6).reshape(3, 2, 6)),
        rewards.Corrupted(
            rewards.NormalReward(np.zeros(2), 0.0),
            1.0,
            rewards.NormalReward([[1, 2], [3, 4], [5, 6]], 0),
        ),
    ],
)
def test_parameters_may_differ_from_row_to_row(arms):
    assert arms.mean.tolist() == [[1, 2], [3, 4], [5, 6]]
    draws = arms.draw(np.random.default_rng(0), np.array([1, 0, 1]))
    assert draws.tolist() == [2, 3, 6]


def test_discrete_rewards_come_with_their_probabilities():
    arms = rewards.Discrete([1.0, 2.0, 5.0], [0.2, 0.0, 0.8])
    draws = arms.draw(np.random.default_rng(0), np.zeros(N, int))
    values, counts = np.unique(draws, return_counts=True)
    assert values.tolist() == [1.0, 5.0]
    assert has_probabilities(counts, [0.2, 0.8])


def test_a_proportion_of_rewards_is_corrupted():
    normal = rewards.NormalReward(np.zeros(3))
    arms = rewards.Corrupted(normal, [0.0, 0.05, 1.0], rewards.NormalReward(1000.0))
    rng = np.random.default_rng(0)
    is_replaced = np.stack([arms.draw(rng, np.full(N, arm)) > 500 for arm in range(3)], axis=1)
    assert is_near(is_replaced, [0.0, 0.05, 1.0])


def test_distributions_of_scipy_are_accepted_as_they_are():
    stats = pytest.importorskip("scipy.stats")
    frozen = [stats.norm(1.0, 2.0), stats.gamma(3.0), rewards.Bernoulli(0.5), stats.poisson(4.0)]
    arms = as_distribution("arms", frozen)
    assert np.allclose(arms.mean, [1.0, 3.0, 0.5, 4.0])
    assert np.allclose(arms.std, [2.0, np.sqrt(3.0), 0.5, 2.0])
    table = as_distribution("arms", stats.norm([[0.0, 5.0], [10.0, 15.0]], 1e-9))
    assert np.allclose(table.draw(np.random.default_rng(0), np.array([1, 0])), [5.0, 10.0])
    columns = as_distribution("arms", stats.norm([0.0, 5.0], 1e-9))
    assert np.allclose(columns.draw(np.random.default_rng(0), np.array([1, 0, 1])), [5.0, 0.0, 5.0])
    draws = [arms.draw(np.random.default_rng(seed), np.arange(N) % 4) for seed in (0, 0, 1)]
    assert np.array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])
    assert is_near(draws[0].reshape(-1, 4), arms.mean, arms.std)


def test_mixed_arms_draw_only_what_is_chosen():
    arms = as_distribution("arms", [rewards.NormalReward(0.0), rewards.Poisson(3.0)])
    rng, alone = np.random.default_rng(0), np.random.default_rng(0)
    drawn = arms.draw(rng, np.ones(5, int))
    assert drawn.tolist() == alone.poisson(3.0, 5).tolist()
    assert rng.random() == alone.random()


def test_the_spec_has_the_bounds_of_all_arms():
    arms = as_distribution("arms", [rewards.UniformReward(-1.0, 2.0), rewards.Beta(1.0, 1.0)])
    assert arms.spec.minimum == -1.0
    assert arms.spec.maximum == 2.0
    assert type(rewards.NormalReward(0.0).spec) is not type(arms.spec)


def test_arrays_that_a_distribution_is_made_of_stay_the_callers():
    class Constant(rewards.RewardDistribution):
        def draw(self, rng, action, row=None):
            return self.mean.take(action)

    mean = np.array([1.0, 2.0])
    arms = Constant(mean, 0.0)
    mean[0] = 9.0
    assert arms.mean.tolist() == [1.0, 2.0]
