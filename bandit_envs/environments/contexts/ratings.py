"""Ratings of items by users as contextual bandits: the rewards are a low-rank model of them."""

from __future__ import annotations

import typing

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Array, Floats, Indices, Rng
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment, Options
from bandit_envs.base.checks import check_integer, check_table
from bandit_envs.environments.contexts.new_contexts import NewContexts
from bandit_envs.environments.contexts.stationary_stochastic_per_arm import (
    StationaryStochasticPerArmPyEnvironment,
)
from bandit_envs.rewards import RewardModel
from bandit_envs.sampling import Catalog
from bandit_envs.seeding import split_seed
from bandit_envs.specs import ArraySpec


class RatingsBandit(NewContexts, BanditPyEnvironment[Floats]):
    """Recommend one of K items to a user, who rates it. Rows are users of a shared problem.

        ratings ~ U S V',    their singular value decomposition, cut off at rank k
        x_t = U[user] S^1/2,    R_t = x_t . V[A_t] S^1/2

    Every step has new users, drawn without replacement. They rate without noise.

    Args:
        ratings: [n, K], of n users and K items; 0 for what is not rated. `datasets.ratings_matrix`
            makes it of a table of users, items and ratings.
        rank: k. The observation x_t is [B, k].
        batch_size: B, at most n.

    Source: TF-Agents' `MovieLensPyEnvironment`.

    >>> env = RatingsBandit([[5, 0, 1], [0, 4, 2], [5, 1, 1]], rank=2, batch_size=2, seed=0)
    >>> env.reset().observation.shape, (env.optimal_reward() > 3).tolist()
    ((2, 2), [True, True])
    """

    skips_nan_check = True  # the factors are finite numbers

    def __init__(
        self, ratings: ArrayLike, rank: int, batch_size: int = 1, **options: typing.Unpack[Options]
    ) -> None:
        users, strengths, items = _factorize(ratings, rank)
        check_integer("batch_size", batch_size, 1, len(users))
        self._users = users * np.sqrt(strengths)
        self._items = items * np.sqrt(strengths)
        spec = ArraySpec((rank,), np.float64, "observation")
        super().__init__(spec, len(items), batch_size=batch_size, **options)

    def _initial_state(self, rng: Rng) -> Floats:
        drawn = rng.choice(len(self._users), self._batch_size, replace=False)
        return self._users.take(drawn, axis=0)

    def _expected_rewards(self, state: Floats) -> Floats:
        return np.asarray(state @ self._items.T)

    def _draw_rewards(self, rng: Rng, state: Floats, action: Indices) -> Array:
        items = self._items.take(action, axis=0)
        return np.asarray(np.einsum("bk,bk->b", state, items), np.float32)


class _Rating(RewardModel):
    """The rating x S z of an item z by a user x, without noise.

    Args:
        strengths: the diagonal of S, [k].
    """

    def __init__(self, strengths: Array) -> None:
        self._strengths = strengths

    def mean(self, global_features: Array, arm_features: Array) -> Array:
        users = global_features[:, np.newaxis] if arm_features.ndim == 3 else global_features
        return np.asarray((users * self._strengths * arm_features).sum(axis=-1))

    def draw(self, rng: Rng, global_features: Array, arm_features: Array) -> Array:
        return self.mean(global_features, arm_features)


def _factorize(ratings: ArrayLike, rank: int) -> tuple[Floats, Floats, Floats]:
    """Returns the factors U [n, k], S [k] and V [m, k] of ratings [n, m]."""
    matrix = check_table("ratings", ratings, ndim=2)
    check_integer("rank", rank, 1, min(matrix.shape))
    users, strengths, items = np.linalg.svd(matrix, full_matrices=False)
    return users[:, :rank], strengths[:rank], items[:rank].T


def _draw_ratings(rng: Rng, num_items: int) -> Floats:
    """Draws ratings of 200 users, from 1 to 5, of which half are missing."""
    users = rng.standard_normal((200, 4))
    items = rng.standard_normal((4, num_items))
    table = (3.0 + users @ items).round().clip(1.0, 5.0)
    is_known = rng.random(table.shape) < 0.5
    return np.asarray(table * is_known)


def ratings(
    rank: int = 5, batch_size: int = 20, **options: typing.Unpack[Options]
) -> RatingsBandit:
    """Synthetic ratings of 20 items by 200 users, drawn from `seed`."""
    rng, options["seed"] = split_seed(options.get("seed"))
    return RatingsBandit(_draw_ratings(rng, 20), rank, batch_size, **options)


def per_arm_ratings(
    ratings: ArrayLike | None = None,
    rank: int = 5,
    num_actions: int = 20,
    batch_size: int = 20,
    **options: typing.Unpack[Options],
) -> StationaryStochasticPerArmPyEnvironment:
    """The per-arm form of `RatingsBandit`, in which items have features, too.

        ratings ~ U S V',    x_t = U[user],    z_t(a) = V[item a on offer],    R_t = x_t S z_t(A_t)'

    Every step draws users, with replacement, and offers `num_actions` different items to each. They
    rate without noise. The observation is a dict of `global` [B, k] and `per_arm` [B, K, k].

    Args:
        ratings: [n, m], of n users and m items, as for `RatingsBandit`; by default synthetic ones
            of 100 items by 200 users, drawn from `seed`.
        rank: k.
        num_actions: K, at most m.
        batch_size: B.
        options: `seed`, `horizon` and `name`.

    Source: TF-Agents' `MovieLensPerArmPyEnvironment`.

    >>> table = [[5, 0, 1, 3], [0, 4, 2, 2], [5, 1, 1, 0]]
    >>> env = per_arm_ratings(table, rank=2, num_actions=3, batch_size=5, seed=0)
    >>> {key: array.shape for key, array in env.reset().observation.items()}
    {'global': (5, 2), 'per_arm': (5, 3, 2)}
    """
    if ratings is None:
        rng, options["seed"] = split_seed(options.get("seed"))
        ratings = _draw_ratings(rng, 100)
    factors = [factor.astype(np.float32) for factor in _factorize(ratings, rank)]
    users, strengths, items = factors
    count = check_integer("num_actions", num_actions, 1, len(items))
    options.setdefault("name", "per_arm_ratings")
    return StationaryStochasticPerArmPyEnvironment(
        Catalog(users),
        Catalog(items),
        count,
        _Rating(strengths),
        batch_size=batch_size,
        **options,
    )
