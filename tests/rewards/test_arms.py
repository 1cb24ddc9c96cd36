"""Laws of arms: their draws have the moments that they state, in every shape of parameters."""

import numpy as np
import pytest

from bandit_envs import rewards
from bandit_envs.rewards import as_distribution

N = 100_000

LAWS = {
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


@pytest.mark.parametrize("name", LAWS)
def test_draws_have_the_mean_and_the_variance_of_the_formulas(name):
    law, means, variances = LAWS[name]
    assert np.allclose(law.mean, means)
    assert np.allclose(law.std**2, variances)
    rng = np.random.default_rng(0)
    for arm, (mean, variance) in enumerate(zip(means, variances)):
        draws = np.asarray(law.draw(rng, np.full(N, arm)), float)
        assert draws.shape == (N,)
        fourth = ((draws - mean) ** 4).mean()
        assert abs(draws.mean() - mean) <= 5 * np.sqrt(variance / N) + 1e-7
        assert abs(draws.var() - variance) <= 5 * np.sqrt(fourth / N) + 1e-7
        low, high = law.support
        assert low <= draws.min()
        assert draws.max() <= high


@pytest.mark.parametrize(
    "law",
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
def test_parameters_may_differ_from_row_to_row(law):
    assert law.mean.tolist() == [[1, 2], [3, 4], [5, 6]]
    draws = law.draw(np.random.default_rng(0), np.array([1, 0, 1]))
    assert draws.tolist() == [2, 3, 6]


def test_discrete_rewards_come_with_their_probabilities():
    law = rewards.Discrete([1.0, 2.0, 5.0], [0.2, 0.0, 0.8])
    draws = law.draw(np.random.default_rng(0), np.zeros(N, int))
    values, counts = np.unique(draws, return_counts=True)
    assert values.tolist() == [1.0, 5.0]
    assert abs(counts[0] / N - 0.2) < 5 * np.sqrt(0.16 / N)


def test_a_proportion_of_rewards_is_corrupted():
    law = rewards.Corrupted(
        rewards.NormalReward(np.zeros(3)), [0.0, 0.05, 1.0], rewards.NormalReward(1000.0)
    )
    rng = np.random.default_rng(0)
    shares = [np.mean(law.draw(rng, np.full(N, arm)) > 500) for arm in range(3)]
    assert shares[::2] == [0.0, 1.0]
    assert abs(shares[1] - 0.05) < 5 * np.sqrt(0.05 * 0.95 / N)


def test_laws_of_scipy_are_accepted_as_they_are():
    stats = pytest.importorskip("scipy.stats")
    frozen = [stats.norm(1.0, 2.0), stats.gamma(3.0), rewards.Bernoulli(0.5), stats.poisson(4.0)]
    law = as_distribution("arms", frozen)
    assert np.allclose(law.mean, [1.0, 3.0, 0.5, 4.0])
    assert np.allclose(law.std, [2.0, np.sqrt(3.0), 0.5, 2.0])
    table = as_distribution("arms", stats.norm([[0.0, 5.0], [10.0, 15.0]], 1e-9))
    assert np.allclose(table.draw(np.random.default_rng(0), np.array([1, 0])), [5.0, 10.0])
    columns = as_distribution("arms", stats.norm([0.0, 5.0], 1e-9))
    assert np.allclose(columns.draw(np.random.default_rng(0), np.array([1, 0, 1])), [5.0, 0.0, 5.0])
    draws = [law.draw(np.random.default_rng(seed), np.arange(N) % 4) for seed in (0, 0, 1)]
    assert np.array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])
    errors = draws[0].reshape(-1, 4).mean(axis=0) - law.mean
    assert (abs(errors) < 5 * law.std / np.sqrt(N / 4)).all()


def test_mixed_arms_draw_only_what_is_chosen():
    law = as_distribution("arms", [rewards.NormalReward(0.0), rewards.Poisson(3.0)])
    rng, alone = np.random.default_rng(0), np.random.default_rng(0)
    drawn = law.draw(rng, np.ones(5, int))
    assert drawn.tolist() == alone.poisson(3.0, 5).tolist()
    assert rng.random() == alone.random()


def test_the_spec_has_the_bounds_of_all_arms():
    law = as_distribution("arms", [rewards.UniformReward(-1.0, 2.0), rewards.Beta(1.0, 1.0)])
    assert law.spec.minimum == -1.0
    assert law.spec.maximum == 2.0
    assert type(rewards.NormalReward(0.0).spec) is not type(law.spec)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: rewards.NormalReward(0.0, -1.0), "std"),
        (lambda: rewards.NormalReward(np.nan), "mean"),
        (lambda: rewards.NormalReward("0"), "mean"),
        (lambda: rewards.NormalReward([[0.0], [0.0, 1.0]]), "mean"),
        (lambda: rewards.NormalReward(1e38), "mean"),
        (lambda: rewards.Bernoulli([0.5, 1.1]), "probability"),
        (lambda: rewards.Beta(0.0, 1.0), "alpha"),
        (lambda: rewards.Exponential(-1.0), "scale"),
        (lambda: rewards.Gamma(1.0, -1.0), "scale"),
        (lambda: rewards.Poisson(-1.0), "rate"),
        (lambda: rewards.UniformReward(1.0, [0.0, 2.0]), "high"),
        (lambda: rewards.Discrete([1.0, 2.0], [0.5, 0.6]), "probabilities"),
        (lambda: rewards.Discrete([1.0, 2.0], [-0.5, 1.5]), "probabilities"),
        (lambda: rewards.Discrete([1.0, 2.0], [1.0]), "probabilities"),
        (
            lambda: rewards.Corrupted(rewards.NormalReward(0.0), 1.5, rewards.NormalReward(0.0)),
            "proportion",
        ),
        (lambda: rewards.Corrupted(rewards.NormalReward(0.0), 0.5, 3.0), "other"),
        (lambda: as_distribution("arms", []), "arms"),
        (lambda: as_distribution("arms", "normal"), "arms"),
        (lambda: as_distribution("arms", [rewards.NormalReward(0.0), 1.0]), r"arms\[1\]"),
        (
            lambda: as_distribution(
                "arms", [rewards.NormalReward(0.0), rewards.NormalReward([0.0, 1.0])]
            ),
            r"arms\[1\]",
        ),
    ],
)
def test_bad_parameters_are_refused_by_name(make, name):
    with pytest.raises((TypeError, ValueError), match=name):
        make()
