"""The contextual bandit with clicks that off-policy estimators are compared on."""

from __future__ import annotations

import functools
import typing
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Floats
from bandit_envs.base.bandit_py_environment import Options
from bandit_envs.base.checks import check_integer, check_table
from bandit_envs.environments.contexts.stationary_stochastic import (
    StationaryStochasticPyEnvironment,
)
from bandit_envs.rewards import LogisticActionReward
from bandit_envs.sampling import Normal

ACTIONS_PER_BLOCK = 250
"""How many actions the reference contexts are scored for at a time, to save memory."""


def logistic_context(
    num_actions: int = 10,
    context_dim: int = 5,
    batch_size: int = 1,
    problem: int = 12345,
    reference: ArrayLike | None = None,
    **options: typing.Unpack[Options],
) -> StationaryStochasticPyEnvironment:
    """Normal contexts and clicks whose logit is linear in the context, for each action.

        x ~ N(0, I),    z(x, a) = f(x) M g(a) + f(x) . u + g(a) . v,    f(x) = (1, x),
        P(R = 1 | x, a) = 1 / (1 + exp(-(z(x, a) - m) / s)),            g(a) = (1, e_a)

    M, u and v are uniform from -1 to 1; m and s are the mean and the standard deviation of z over
    all actions and the reference contexts. Rows are users of one problem.

    Args:
        num_actions: K.
        context_dim: D. The observation is [B, D], in float64.
        batch_size: B.
        problem: the seed of the coefficients, and of the reference contexts.
        reference: the reference contexts [n, D]; by default 10,000 normal ones.
        options: `seed`, `horizon` and `name`.

    Source: Saito et al., Open Bandit Dataset and Pipeline (2021): the law of its synthetic data
    with a logistic reward function of degree 1 and the same coefficients for a seed. Versions
    0.5.5 to 0.5.7 standardise otherwise, by mistake.

    >>> env = logistic_context(3, batch_size=2, seed=0)
    >>> env.reset().observation.shape, env.expected_rewards().shape
    ((2, 5), (2, 3))
    """
    actions = check_integer("num_actions", num_actions, minimum=1)
    dim = check_integer("context_dim", context_dim, minimum=1)
    check_integer("problem", problem, minimum=0)
    coefficients = _draw_coefficients(problem, actions, dim)
    if reference is None:
        mean, std = _default_moments(problem, actions, dim)
    else:
        contexts = check_table("reference", reference, ndim=2)
        if contexts.shape[1] != dim:
            raise ValueError(f"reference has shape {contexts.shape}; expected {dim} columns")
        mean, std = _moments_of_logits(contexts, coefficients)
    spread = std or 1.0
    slope = coefficients[1:] / spread
    clicks = LogisticActionReward(slope.T, (coefficients[0] - mean) / spread)
    options.setdefault("name", "logistic_context")
    return StationaryStochasticPyEnvironment(
        Normal(dim, dtype=np.float64), clicks, batch_size=batch_size, **options
    )


def _draw_coefficients(problem: int, actions: int, dim: int) -> Floats:
    """Draws M, u and v as one table of coefficients [1 + D, K], as g(a) is (1, e_a)."""
    source = np.random.RandomState(problem)
    of_context = source.uniform(-1.0, 1.0, dim + 1)
    of_action = source.uniform(-1.0, 1.0, actions + 1)
    matrix = source.uniform(-1.0, 1.0, (dim + 1, actions + 1))
    coefficients = matrix[:, :1] + matrix[:, 1:] + of_context[:, np.newaxis]
    coefficients[0] += of_action[0] + of_action[1:]
    return np.asarray(coefficients)


@functools.lru_cache(maxsize=128)
def _default_moments(problem: int, actions: int, dim: int) -> tuple[float, float]:
    """Returns the moments of z over the default reference contexts of a problem.

    The environments of a study, of which there may be thousands, share them.
    """
    contexts = np.random.RandomState(problem).normal(size=(10_000, dim))
    return _moments_of_logits(contexts, _draw_coefficients(problem, actions, dim))


def _moments_of_logits(contexts: Floats, coefficients: Floats) -> tuple[float, float]:
    """Returns the mean and the standard deviation of z over contexts [n, D] and all K actions.

    The coefficients are [1 + D, K].
    """
    size = len(contexts) * coefficients.shape[1]
    mean = float(sum(logits.sum() for logits in _logits_in_blocks(contexts, coefficients))) / size
    squares = sum(
        np.square(logits - mean).sum() for logits in _logits_in_blocks(contexts, coefficients)
    )
    return mean, float(np.sqrt(squares / size))


def _logits_in_blocks(contexts: Floats, coefficients: Floats) -> Iterator[Floats]:
    """Yields z for all contexts [n, D] and some actions at a time: [n, ACTIONS_PER_BLOCK]."""
    for start in range(0, coefficients.shape[1], ACTIONS_PER_BLOCK):
        block = coefficients[:, start : start + ACTIONS_PER_BLOCK]
        yield block[0] + contexts @ block[1:]
