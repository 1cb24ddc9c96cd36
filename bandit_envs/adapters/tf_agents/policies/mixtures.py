"""What trains a mixture of agents of TF-Agents: which agent has chosen each action."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import functools

import numpy as np
import tensorflow as tf
from tf_agents.bandits.policies import mixture_policy
from tf_agents.trajectories import time_step as ts

from bandit_envs.adapters.tf_agents.policies.compiled import CompiledFunction, initial_state
from bandit_envs.adapters.tf_agents.trackable_draws import TrackableDraws
from bandit_envs.arrays import Array, Mask
from bandit_envs.nests import Nest, map_structure

TRIES = 64
"""How often a mixture chooses again at a time."""

ROUNDS = 16
"""How many times it does so at most."""


class ResponsibleAgents:
    """Draws which agent of a mixture has chosen an action, given the action.

    A trajectory does not tell it. So the mixture chooses again until it chooses the same action,
    and the agent is the one that did: it has the probability of the agent given the action,

        P(agent | action) ~ P(agent) P(action | agent)

    A row whose action does not come up in 1,024 tries gets the agent of the first of the last 64:
    on average, less than one in 2,700 / K of the mixture's own actions.

    Args:
        policy: chooses by one of its policies, each time.
        draws: where its draws come from.
    """

    def __init__(self, policy: mixture_policy.MixturePolicy, draws: TrackableDraws) -> None:
        self._policy = policy
        self._compiled = CompiledFunction(draws.redirect(self._choice), policy)

    def __call__(self, observation: Nest, action: Array) -> Nest:
        """Returns the infos of the choices, among them the numbers of the agents: [n, ...].

        Args:
            observation: arrays [n, ...].
            action: what was chosen, [n].
        """
        repeated = map_structure(lambda leaf: np.repeat(leaf, TRIES, axis=0), observation)
        is_found, infos = self._one_round(repeated, action)
        for _ in range(ROUNDS - 1):
            if is_found.all():
                break
            is_found_now, latest = self._one_round(repeated, action)
            infos = map_structure(functools.partial(_keep_rows, is_found), infos, latest)
            is_found |= is_found_now
        return infos

    def _one_round(self, repeated: Nest, action: Array) -> tuple[Mask, Nest]:
        """Returns in which rows the action came up, and the infos of these choices."""
        chosen, info = self._compiled(repeated)
        size = len(action)
        is_same = chosen.numpy().reshape(size, TRIES) == action[:, np.newaxis]
        first = np.arange(size) * TRIES + is_same.argmax(axis=1)
        infos = tf.nest.map_structure(lambda leaf: leaf.numpy()[first], info)
        return is_same.any(axis=1), infos

    def _choice(self, time_step: ts.TimeStep) -> tuple[tf.Tensor, Nest]:
        step = self._policy.action(time_step, initial_state(self._policy, time_step))
        return step.action, step.info


def _keep_rows(is_kept: Mask, kept: Array, latest: Array) -> Array:
    """Returns the rows of `kept` that are to be kept, and the other rows of `latest`."""
    rows = is_kept.reshape(-1, *[1] * (latest.ndim - 1))
    return np.where(rows, kept, latest)
