"""Ridge regressions that learn in place, held against least squares of all rows at once."""

import numpy as np
import pytest

from bandit_envs.policies.models.inputs import Contexts
from bandit_envs.policies.models.ridge_models import LARGE, RidgeModels


def fitted(x, rewards, gamma, tikhonov_weight, ages):
    """Returns theta, A^-1 and the loss of one regression, by least squares of scaled columns."""
    dim = x.shape[1]
    weights = np.sqrt(gamma ** ages.astype(float))
    rows = np.concatenate((weights[:, np.newaxis] * x, np.sqrt(tikhonov_weight) * np.eye(dim)))
    targets = np.concatenate((weights * rewards, np.zeros(dim)))
    scales = np.linalg.norm(rows, axis=0)
    orthogonal, root = np.linalg.qr(rows / scales)
    inverse_root = np.linalg.inv(root)
    theta = inverse_root @ (orthogonal.T @ targets) / scales
    inverse = inverse_root @ inverse_root.T / np.outer(scales, scales)
    return theta, inverse, np.square(targets - rows @ theta).sum()


def check(
    num_models, batch_size, num_batches, scales, *, tikhonov_weight, gamma=1.0, are_problems=False
):
    """Teaches models batches of rows, and compares all of them with `fitted`."""
    dim = len(scales)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(num_batches * batch_size, dim)) * scales
    rewards = x / scales @ rng.normal(size=dim) + rng.normal(size=len(x))
    model = rng.integers(num_models, size=len(x))
    if are_problems:
        model = np.tile(np.arange(num_models), len(x) // num_models)
    models = RidgeModels.initial(num_models, dim, tikhonov_weight)
    losses = np.zeros(num_models)
    for start in range(0, len(x), batch_size):
        batch = slice(start, start + batch_size)
        grown = models.learn(
            model=model[batch],
            features=x[batch],
            rewards=rewards[batch],
            gamma=gamma,
            tikhonov_weight=tikhonov_weight,
            are_problems=are_problems,
        )
        losses = gamma * losses + grown
    probes = np.concatenate(
        (rng.normal(size=(20, dim)) * scales, rng.normal(size=(20, dim)) / scales)
    )
    deviations = Contexts(probes, False).lengths(models.whitening[np.newaxis])
    ages = np.repeat(np.arange(num_batches)[::-1], batch_size)
    for one in range(num_models):
        rows = model == one
        theta, inverse, loss = fitted(x[rows], rewards[rows], gamma, tikhonov_weight, ages[rows])
        error = np.linalg.norm((models.theta[one] - theta) * scales)
        assert error < 1e-8 * np.linalg.norm(theta * scales)
        squares = np.einsum("bi,ij,bj->b", probes, inverse, probes)
        np.testing.assert_allclose(np.square(deviations[:, one]), squares, rtol=1e-8)
        np.testing.assert_allclose(losses[one], loss, rtol=1e-8)


@pytest.mark.parametrize("batch_size", [1, 3, 200])
@pytest.mark.parametrize("num_models", [1, 4])
@pytest.mark.parametrize("dim", [9, LARGE])
@pytest.mark.parametrize("tikhonov_weight", [1.0, 1e-6])
def test_models_are_those_of_all_rows(num_models, dim, batch_size, tikhonov_weight):
    scales = 10.0 ** np.linspace(3, -3, dim)
    num_batches = 3 + 600 // batch_size
    check(num_models, batch_size, num_batches, scales, tikhonov_weight=tikhonov_weight)


@pytest.mark.parametrize("gamma", [0.97, 0.5])
@pytest.mark.parametrize(("num_models", "batch_size"), [(1, 1), (1, 20), (3, 20)])
def test_models_that_forget_are_those_of_weighted_rows(num_models, batch_size, gamma):
    scales = 10.0 ** np.linspace(1, -1, 6)
    check(num_models, batch_size, 60, scales, tikhonov_weight=0.1, gamma=gamma)


@pytest.mark.parametrize("gamma", [1.0, 0.97, 0.5])
@pytest.mark.parametrize("tikhonov_weight", [1.0, 1e-6])
def test_models_of_independent_rows_are_those_of_all_their_rows(gamma, tikhonov_weight):
    scales = 10.0 ** (np.linspace(3, -3, 9) if gamma == 1.0 else np.linspace(1, -1, 6))
    weight = tikhonov_weight if gamma == 1.0 else 0.1
    check(4, 4, 100, scales, tikhonov_weight=weight, gamma=gamma, are_problems=True)


@pytest.mark.slow
@pytest.mark.parametrize("tikhonov_weight", [1.0, 1e-6])
def test_models_stay_exact_for_20_000_updates(tikhonov_weight):
    scales = 10.0 ** np.linspace(3, -3, 50)
    check(1, 1, 20_000, scales, tikhonov_weight=tikhonov_weight)
