"""What NumPy draws in place of distributions of TensorFlow Probability has their law."""

import numpy as np
import pytest

pytest.importorskip("tf_agents")

import tensorflow as tf
import tensorflow_probability as tfp

from bandit_envs.adapters import tf_agents as adapter
from bandit_envs.adapters.tf_agents.numpy_laws import LAWS, numpy_law
from bandit_envs.adapters.tf_agents.tfp_distributions import sampler_of

tfd = tfp.distributions
tfb = tfp.bijectors

NUM_DRAWS = 20_000
FARTHEST = 0.03
"""What two empirical distributions of `NUM_DRAWS` numbers of one law exceed once in 10^7."""

FACTOR = [[1.0, 0.0], [0.8, 0.5]]
DISTRIBUTIONS = {
    "Bernoulli": lambda: tfd.Bernoulli(probs=[0.1, 0.7]),
    "Bernoulli of logits": lambda: tfd.Bernoulli(logits=[-1.0, 2.0], dtype=tf.float32),
    "Beta": lambda: tfd.Beta([0.5, 2.0], 3.0),
    "Categorical": lambda: tfd.Categorical(probs=[[0.2, 0.5, 0.3], [0.0, 0.9, 0.1]]),
    "Categorical of logits": lambda: tfd.Categorical(logits=[0.0, 1.0, -1.0]),
    "Deterministic": lambda: tfd.Deterministic([4, 5]),
    "Exponential": lambda: tfd.Exponential([0.5, 3.0]),
    "Gamma": lambda: tfd.Gamma([0.5, 4.0], [1.0, 2.0]),
    "Gamma of log rates": lambda: tfd.Gamma(2.0, log_rate=[-1.0, 1.0]),
    "Independent": lambda: tfd.Independent(tfd.Normal([0.0, 2.0], 1.0), 1),
    "Laplace": lambda: tfd.Laplace([-1.0, 1.0], [0.5, 2.0]),
    "LogNormal": lambda: tfd.LogNormal([0.0, 0.5], 0.5),
    "MultivariateNormalDiag": lambda: tfd.MultivariateNormalDiag([1.0, -1.0], [0.5, 2.0]),
    "MultivariateNormalFullCovariance": lambda: tfd.MultivariateNormalFullCovariance(
        [1.0, -1.0], [[1.0, 0.8], [0.8, 1.0]]
    ),
    "MultivariateNormalTriL": lambda: tfd.MultivariateNormalTriL([[0.0, 1.0]] * 3, FACTOR),
    "Normal": lambda: tfd.Normal([[0.0], [5.0]], [0.1, 1.0, 3.0]),
    "Normal of 64 bits": lambda: tfd.Normal(np.zeros(2), np.ones(2)),
    "Poisson": lambda: tfd.Poisson([0.3, 7.0]),
    "Poisson of log rates": lambda: tfd.Poisson(log_rate=[-1.0, 1.0]),
    "TransformedDistribution": lambda: tfb.Shift([1.0, 2.0])(
        tfb.Scale([-2.0, 3.0])(tfd.Exponential([1.0, 1.0]))
    ),
    "TransformedDistribution, mushrooms": lambda: adapter.mushroom_reward_distribution(
        0.0, 5.0, -35.0, 4.0, 0.7
    ),
    "Uniform": lambda: tfd.Uniform([-1.0, 0.0], [1.0, 10.0]),
    "VectorDeterministic": lambda: tfd.VectorDeterministic([[4.0, 5.0]]),
}


def distance(first, second):
    """Returns the distance of Kolmogorov and Smirnov of two samples."""
    values = np.concatenate([first, second])
    below = [
        np.searchsorted(np.sort(sample), values, side="right") / len(sample)
        for sample in (first, second)
    ]
    return np.abs(below[0] - below[1]).max()


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_numpy_draws_the_law_of_a_distribution_in_its_shape_and_dtype(name):
    distribution = DISTRIBUTIONS[name]()
    drawn = numpy_law(distribution)(np.random.default_rng(0), (NUM_DRAWS,))
    expected = distribution.sample(NUM_DRAWS, seed=[1, 2]).numpy()
    assert drawn.shape == expected.shape
    assert drawn.dtype == expected.dtype
    columns = drawn.reshape(NUM_DRAWS, -1)
    expected_columns = expected.reshape(NUM_DRAWS, -1)
    # Sums of what is drawn together tell whether it depends on one another as it should.
    weights = np.arange(1, columns.shape[1] + 1)
    assert distance(columns @ weights, expected_columns @ weights) < FARTHEST
    for column, expected_column in zip(columns.T, expected_columns.T):
        assert distance(column, expected_column) < FARTHEST


def test_each_law_of_numpy_is_compared():
    compared = {type(make()) for make in DISTRIBUTIONS.values()}
    assert compared >= set(LAWS)


class Doubled(tfd.Normal):
    """Draws otherwise than the class from which it derives."""

    def _sample_n(self, n, seed=None):
        return 2.0 * super()._sample_n(n, seed=seed)


OTHERS = {
    "without a law": lambda: tfd.StudentT(5.0, [0.0, 1.0], 1.0),
    "that derive from others": lambda: Doubled([0.0, 1.0], 1.0),
    "with variables": lambda: tfd.Normal(tf.Variable([0.0, 1.0]), 1.0),
    "around variables": lambda: tfd.Independent(tfd.Normal(tf.Variable([0.0, 1.0]), 1.0), 1),
    "of other functions": lambda: tfb.Exp()(tfd.Normal([0.0, 1.0], 1.0)),
    "of functions of functions": lambda: tfb.Shift(1.0)(tfb.Exp()(tfd.Normal([0.0, 1.0], 1.0))),
    "that grow": lambda: tfb.Shift([0.0, 1.0])(tfd.Normal(0.0, 1.0)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_tensorflow_draws_distributions(name):
    distribution = OTHERS[name]()
    assert numpy_law(distribution) is None
    draw = sampler_of(distribution)
    drawn = draw(np.random.default_rng(0), (3,))
    assert drawn.shape == (3, 2)
    assert not (drawn == draw(np.random.default_rng(1), (3,))).any()
    np.testing.assert_array_equal(drawn, draw(np.random.default_rng(0), (3,)))


def test_variables_of_distributions_are_those_of_the_moment():
    mean = tf.Variable(0.0)
    draw = sampler_of(tfd.Normal(mean, 1.0))
    mean.assign(1e6)
    assert draw(np.random.default_rng(0), ()) > 1e5
