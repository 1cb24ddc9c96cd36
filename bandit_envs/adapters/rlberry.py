"""Environments as rlberry's models."""

# rlberry has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import copy
from typing import Any

import rlberry.spaces
from rlberry.envs.interface import Model

from bandit_envs.adapters.adapter import Adapter, Options, RowAdapter
from bandit_envs.adapters.spaces import DistinctItems
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.nests import Nest
from bandit_envs.seeding import Seed

__all__ = [
    "RlberryEnv",
]


class SlateSpace(DistinctItems, rlberry.spaces.MultiDiscrete):
    """The space of slates, which are distinct items."""


class RlberryEnv(RowAdapter, Model):
    """A copy of an environment with a batch of one, as a model of rlberry.

    rlberry's managers make several models from one environment and run them at the same time. Its
    bandit agents never call `reset`: the first `step` does, and they need one without a horizon.

    Args:
        env, render_mode, expected_rewards: as for `RowAdapter`.

    Source: rlberry's `Model`.

    >>> from bandit_envs import KArmedTestbed
    >>> model = RlberryEnv(KArmedTestbed(k=3, horizon=100))
    >>> model.reseed(42)
    >>> observation, info = model.reset()
    >>> model.step(1)[2:]
    (False, False, {})
    """

    _spaces = rlberry.spaces
    _slates = SlateSpace
    rng = Adapter.np_random  # `sample` has its own

    def __init__(
        self, env: PyEnvironment, render_mode: str | None = None, expected_rewards: bool = False
    ) -> None:
        super().__init__(copy.deepcopy(env), render_mode, expected_rewards)
        self.name = env.name
        self._was_reset = False
        self._twin: RlberryEnv | None = None
        self._sampling_rng = self.seeder.spawn().rng

    @classmethod
    def class_name(cls) -> str:
        """Returns the name of the class, as rlberry's wrappers do."""
        return cls.__name__

    def seed(self, seed: Seed = None) -> Any:
        """Resets with a seed, as rlberry's wrappers do."""
        return self.reset(seed=seed)

    def compute_reward(self, achieved_goal: Any, desired_goal: Any, info: Any) -> Any:
        """Raises NotImplementedError: rewards do not follow from goals."""
        raise NotImplementedError(f"{self.name} has no goals; rewards come from step and sample")

    def reseed(self, seed_seq: Seed = None) -> None:
        """Seeds the environment, `sample` and the spaces, and starts everything anew.

        An integer, or a sequence of them, repeats a run; each call with a SeedSequence or Seeder
        spawns another stream of it, and one with None another stream of the last.
        """
        super().reseed(seed_seq)
        self._start_anew(self.seeder.rng)
        self._was_reset = False
        self._sampling_rng = self.seeder.spawn().rng

    def reset(self, *, seed: Seed = None, options: Options = None) -> Any:
        self._was_reset = True
        return super().reset(seed=seed, options=options)

    def step(self, action: Nest) -> Any:
        if not self._was_reset:
            self.reset()
        return super().step(action)

    def sample(self, state: Any, action: Nest) -> Any:
        """Returns a step from a state of `env.get_state()`; the environment stays as it is."""
        if self._twin is None:
            self._twin = RlberryEnv(self._env, expected_rewards=self.expected_rewards)
            self._twin._was_reset = True
        env = self._twin.env
        env.set_state(state)
        if env.should_reset(env.current_time_step()):
            raise ValueError("state is at the end of an episode; expected one that can be stepped")
        env.seed(self._sampling_rng)
        return self._twin.step(action)

    def is_online(self) -> bool:
        return True

    def is_generative(self) -> bool:
        return True
