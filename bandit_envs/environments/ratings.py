"""Ratings of items by users as contextual bandits: the rewards are a low-rank model of them."""

from __future__ import annotations

import functools
import typing
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Array, Floats, Indices, Rng
from bandit_envs.base.bandit_py_environment import Options
from bandit_envs.base.checks import check_integer, check_table
from bandit_envs.environments.contextual import ContextualBandit
from bandit_envs.environments.stationary_stochastic_per_arm import (
    StationaryStochasticPerArmPyEnvironment,
)
from bandit_envs.rewards import FunctionReward
from bandit_envs.sampling import Catalog
from bandit_envs.seeding import Seed, split_seed
from bandit_envs.specs import ArraySpec


class RatingsBandit(ContextualBandit):
    """Recommend one of K items to a user, who rates it. Rows are users of a shared problem.

        ratings ~ U S V',    their singular value decomposition, cut off at rank k
        x_t = U[user] S^1/2,    R_t = x_t . V[A_t] S^1/2

    Every step has new users, drawn without replacement. They rate without noise.

    Args:
        ratings: [n, K], of n users and K items; 0 for what is not rated. `datasets.ratings_matrix`
            makes it of a table of users, items and ratings.
        rank: k. The observation x_t is [B, k].
        batch_size: at most n.

    Source: TF-Agents' `MovieLensPyEnvironment`.

    >>> env = RatingsBandit([[5, 0, 1], [0, 4, 2], [5, 1, 1]], rank=2, batch_size=2, seed=0)
    >>> env.reset().observation.shape, (env.optimal_reward() > 3).tolist()
    ((2, 2), [True, True])
    """

    def __init__(
        self, ratings: ArrayLike, rank: int, batch_size: int = 1, **options: typing.Unpack[Options]
    ) -> None:
        users, strengths, items = _factors(ratings, rank)
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


class PerArmRatingsBandit(StationaryStochasticPerArmPyEnvironment):
    """The per-arm form of `RatingsBandit`, in which items have features, too.

        x_t = U[user],    z_t(a) = V[item a on offer],    R_t = x_t S z_t(A_t)'

    Every step draws users, with replacement, and offers `num_actions` different items to each.

    Source: TF-Agents' `MovieLensPerArmPyEnvironment`.

    >>> ratings = [[5, 0, 1, 3], [0, 4, 2, 2], [5, 1, 1, 0]]
    >>> env = PerArmRatingsBandit(ratings, rank=2, num_actions=3, batch_size=5, seed=0)
    >>> {key: array.shape for key, array in env.reset().observation.items()}
    {'global': (5, 2), 'per_arm': (5, 3, 2)}
    """

    def __init__(
        self,
        ratings: ArrayLike,
        rank: int,
        num_actions: int,
        batch_size: int = 1,
        **options: typing.Unpack[Options],
    ) -> None:
        users, strengths, items = (part.astype(np.float32) for part in _factors(ratings, rank))
        check_integer("num_actions", num_actions, 1, len(items))
        reward = FunctionReward(functools.partial(_ratings, strengths), noise_std=0.0)
        features = Catalog(users), Catalog(items)
        options = {"name": type(self).__name__, **options}
        super().__init__(*features, num_actions, reward, batch_size=batch_size, **options)


def _ratings(strengths: Array, pairs: Array) -> Array:
    """Returns the ratings x S z' of pairs (x, z) of a user and an item: [..., 2 k] to [...]."""
    rank = len(strengths)
    return np.asarray((pairs[..., :rank] * strengths * pairs[..., rank:]).sum(axis=-1))


def _factors(ratings: ArrayLike, rank: int) -> tuple[Floats, ...]:
    """Returns the factors U [n, k], S [k] and V [m, k] of ratings [n, m]."""
    matrix = check_table("ratings", ratings, ndim=2)
    check_integer("rank", rank, 1, min(matrix.shape))
    users, strengths, items = np.linalg.svd(matrix, full_matrices=False)
    return users[:, :rank], strengths[:rank], items[:rank].T


def _made_up(seed: Seed, num_items: int) -> tuple[Floats, Seed]:
    """Draws ratings of 200 users, from 1 to 5, of which half are missing; and splits the seed."""
    rng, env_seed = split_seed(seed)
    traits = rng.standard_normal((200, 4)), rng.standard_normal((4, num_items))
    ratings = (3.0 + np.matmul(*traits)).round().clip(1.0, 5.0)
    return ratings * (rng.random(ratings.shape) < 0.5), env_seed


def ratings(rank: int = 5, batch_size: int = 20, **options: Any) -> RatingsBandit:
    """Synthetic ratings of 20 items by 200 users, drawn from `seed`."""
    table, options["seed"] = _made_up(options.get("seed"), 20)
    return RatingsBandit(table, rank, batch_size, **options)


def per_arm_ratings(
    rank: int = 5, num_actions: int = 20, batch_size: int = 20, **options: Any
) -> PerArmRatingsBandit:
    """Synthetic ratings of 100 items by 200 users, drawn from `seed`."""
    table, options["seed"] = _made_up(options.get("seed"), 100)
    return PerArmRatingsBandit(table, rank, num_actions, batch_size, **options)
