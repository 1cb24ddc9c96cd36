"""Routers: their scores and costs at several prices, from tables of what all models answer.

Experimental: these names may change in any minor version.

`evaluate_prices` lets policies learn from a part of a table of outcomes and tries them on the rest,
as `bandit-envs route` does; `learn_router` returns one that has learned from the whole table.
`arena_score` is the score of a public leaderboard.
"""

from bandit_envs.evaluations.routing.arena import arena_score
from bandit_envs.evaluations.routing.curves import PriceCurves
from bandit_envs.evaluations.routing.evaluated_routers import evaluate_prices, learn_router
from bandit_envs.evaluations.routing.points import PricePoint

__all__ = [
    "PriceCurves",
    "PricePoint",
    "arena_score",
    "evaluate_prices",
    "learn_router",
]
