"""Wrappers that add masks, and the replacement of one that is in TF-Agents' module `wrappers`."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tf_agents.environments import py_environment

from bandit_envs.adapters.tf_agents.environment import TFAgentsBanditEnvironment
from bandit_envs.adapters.tf_agents.tf_environment import bandit_of
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.base.state import state_to_write
from bandit_envs.nests import Nest, map_structure
from bandit_envs.specs import ArraySpec
from bandit_envs.wrappers import ExtraDisabledActions, Wrapper

JoinFunction = Callable[[Nest, Nest], Nest]
"""Joins an observation, or its spec, with a mask, or its spec."""


class JoinedMask(Wrapper):
    """Joins the entries `observation` and `mask` of an observation by a user's function.

    Args:
        env: a bandit whose observation has a `mask`.
        join: returns the observation.
        dtype: of the mask that `join` gets.
    """

    def __init__(self, env: PyEnvironment, join: JoinFunction, dtype: type[np.integer]) -> None:
        super().__init__(env)
        self._join = join
        self._dtype = dtype
        mask_spec = ArraySpec((self.num_actions,), dtype, "mask")
        self._observation_spec = join(_without_mask(env.observation_spec()), mask_spec)

    def _state_owner(self) -> str:
        owner: str = state_to_write(self._env).owner
        return owner

    def _map_observation(self, observation: Nest) -> Nest:
        mask = observation["mask"].astype(self._dtype)
        return map_structure(np.asarray, self._join(_without_mask(observation), mask))


def _without_mask(observation: Nest) -> Nest:
    """Returns an observation, or its spec, as it was before a mask was added."""
    others = {key: entry for key, entry in observation.items() if key != "mask"}
    return others["observation"] if others.keys() == {"observation"} else others


class ExtraDisabledActionsWrapper(TFAgentsBanditEnvironment):
    """The replacement of TF-Agents' `ExtraDisabledActionsWrapper`, on `ExtraDisabledActions`.

    The observation is a pair of the wrapped one and a mask [B, K] of 0 and 1. gin does not
    configure it, so that the bare name is that of TF-Agents' wrapper.

    Args:
        env: a bandit of this package, adapted or not. From now on, use it through this one only.
        num_extra_actions: how many actions to add, which are never available.
        handle_auto_reset: as in TF-Agents; a bandit without a horizon never needs a reset.
    """

    def __init__(
        self,
        env: py_environment.PyEnvironment,
        num_extra_actions: int,
        handle_auto_reset: bool = False,
    ) -> None:
        wrapped = ExtraDisabledActions(bandit_of("env", env), num_extra_actions)
        super().__init__(JoinedMask(wrapped, _pair, np.int64))
        self._handle_auto_reset = bool(handle_auto_reset)


def _pair(observation: Nest, mask: Nest) -> tuple[Nest, Nest]:
    return observation, mask
