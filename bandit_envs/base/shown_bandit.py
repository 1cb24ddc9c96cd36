"""What `render` shows of a bandit."""

from __future__ import annotations

from typing import Any

import numpy as np

from bandit_envs import rendering
from bandit_envs.arrays import Array
from bandit_envs.base.checks import check_integer


def shown_arms(env: Any, row: int) -> rendering.Arms:
    """Returns what `render` shows of one row; of several rewards, it is the mean."""
    index = check_integer("row", row, 0, env.batch_size - 1)
    bandit = env.bandit_state()
    # A slate is shown beside the values that it was chosen by.
    met_slate = env.action_kind.is_slate and bandit.action is not None
    state = bandit.previous if met_slate else bandit.state
    values = env._rendered_values(state)[index]
    title = env.name if env.batch_size == 1 else f"{env.name}, row {index}"
    if values.ndim > 1:
        title += f", mean of {values[0].size} rewards"
        values = values.reshape(len(values), -1).mean(axis=1)
    optimal = [int(values.argmax())]
    if env.action_kind.is_slate:
        optimal = env._known(state).optimum.action[index].tolist()
    action = [] if bandit.action is None else np.atleast_1d(bandit.action[index]).tolist()
    return rendering.Arms(
        title=title,
        values=values,
        optimal=optimal,
        reward_std=None,
        steps=bandit.steps,
        action=action,
        reward=shown_reward(env, index, len(action)),
    )


def shown_reward(env: Any, index: int, num_parts: int) -> list[float]:
    """Returns the last reward of a row: a number for each part of the action, or their mean."""
    reward = env._state.time_step.reward
    if num_parts == 0 or not isinstance(reward, np.ndarray):
        return []
    paid: Array = np.atleast_1d(reward[index])
    shown: list[float] = (paid if paid.shape == (num_parts,) else paid.mean(keepdims=True)).tolist()
    return shown
