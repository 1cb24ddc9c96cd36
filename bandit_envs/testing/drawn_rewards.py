"""Rewards that a contract draws, each beside what is expected of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Array, Indices
from bandit_envs.nests import Nest
from bandit_envs.trajectories import TimeStep
from bandit_envs.wrappers.delays import max_delay_of


class Draws(NamedTuple):
    """Rewards that were drawn, n in all.

    Fields:
        errors: rewards less their expected rewards, [n] or [n, R].
        means: the expected rewards, of the same shape.
        actions: [n]; 0 where actions are not indices.
        rows: whose they are, [n].
    """

    errors: Array
    means: Array
    actions: Indices
    rows: Indices


class _Taken(NamedTuple):
    """The actions of a step, and what is expected of them: [B, ...]."""

    action: Array
    mean: Array


def draw_rewards(
    environment: Any,
    draw_action: Callable[[np.random.Generator, Any], Nest],
    num_rewards: int,
    indexed: bool,
) -> Draws | None:
    """Takes steps for `num_rewards` rewards or a few more; returns what was paid.

    Late rewards belong to the actions for which `feedback` says that they arrive. The result is
    None if something else than the sum of these is paid, such as a wrapper around it may make.

    Args:
        environment: a bandit that knows its expected rewards.
        draw_action: draws an action that it accepts.
        num_rewards: how many rewards.
        indexed: whether each action has an expected reward.
    """
    rng = np.random.default_rng(0)
    rows = np.arange(environment.batch_size)
    longest = max(max_delay_of(environment.observation_spec()), 0) + 1
    taken: list[_Taken] = []  # in this episode, newest first
    drawn: list[Draws] = []
    steps = 0
    while steps * len(rows) < num_rewards:
        action = draw_action(rng, environment)
        mean = environment.expected_rewards()[rows, action] if indexed else None
        time_step = environment.step(action)
        if time_step.is_first().all():
            taken = []
            continue
        steps += 1
        if mean is None:
            mean = environment.get_info()["expected_reward"]
            action = np.zeros(len(rows), np.intp)
        taken = [_Taken(action, mean), *taken][:longest]
        paid = _paid(time_step)
        if paid is None:
            return None
        arrived, reward = paid
        for lag, step in enumerate(taken):
            found = reward[:, lag]
            if not indexed:
                found = environment.action_kind.total(found)
            errors = found - step.mean.astype(float)
            now = np.flatnonzero(arrived[:, lag])
            drawn.append(Draws(errors[now], step.mean[now], step.action[now], now))
    errors, means, actions, whose = (np.concatenate(parts) for parts in zip(*drawn))
    return Draws(errors.astype(float), means.astype(float), actions, whose)


def _paid(time_step: TimeStep) -> tuple[Array, Array] | None:
    """Returns which rewards arrive, [B, L], and rewards [B, L, ...]; None if others are paid."""
    reward = time_step.reward
    if max_delay_of(time_step.observation) < 0:
        return np.ones((len(reward), 1), np.bool_), reward[:, np.newaxis]
    feedback = time_step.observation["feedback"]
    is_sum = np.array_equal(feedback["reward"].sum(axis=1), reward)
    return (feedback["arrived"], feedback["reward"]) if is_sum else None
