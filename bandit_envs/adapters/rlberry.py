"""Environments as rlberry's models."""

# rlberry has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import rlberry.spaces
from rlberry.envs.interface import Model
from rlberry.seeding import Seeder

from bandit_envs.adapters.batch_of_one import (
    RENDER_MODES,
    batch_of_one,
    checked_batch_of_one,
    info,
    outcome,
    space_from_spec,
)
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.base.state import Seed

Step = tuple[Any, float, bool, bool, dict[str, Any]]


class RlberryEnv(Model):
    """An environment with a batch of one, as a model of rlberry.

    The environment is copied, for rlberry's managers construct several models from the same
    arguments, and run them at the same time. The copy is the attribute `env`.

    A LAST with discount 0 is `terminated`, a LAST with discount 1 `truncated`. So in a bandit
    stream each pull is an episode. A testbed draws its arms anew whenever it is reset: give it a
    horizon, so that there is something to learn before that.

    The `info` of a bandit whose expected rewards are known has the `best_arm` and, [K] float64, the
    `expected_rewards`, of the state that the observation was made in: the next action meets them.

    Args:
        env: what to adapt; its batch size is 1.
        render_mode: "rgb_array", "human" or "ansi"; None to show nothing.

    Raises:
        TypeError: `env` is not a `PyEnvironment`.
        ValueError: its batch size is not 1, or `render_mode` is another one.

    Source: rlberry's `Model`.

    >>> from bandit_envs import KArmedTestbed
    >>> model = RlberryEnv(KArmedTestbed(k=3, horizon=100))
    >>> model.reseed(42)
    >>> observation, info = model.reset()
    >>> observation, reward, terminated, truncated, info = model.step(info["best_arm"])
    >>> terminated, truncated
    (False, False)
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 4}  # noqa: RUF012

    def __init__(self, env: PyEnvironment, render_mode: str | None = None) -> None:
        super().__init__()
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ValueError(f"render_mode is {render_mode!r}; expected None or {RENDER_MODES}")
        self.env = copy.deepcopy(checked_batch_of_one(env))
        self.name = env.name
        self.render_mode = render_mode
        self.observation_space = space_from_spec(rlberry.spaces, env.observation_spec())
        self.action_space = space_from_spec(rlberry.spaces, env.action_spec())
        self.reward_range = env.reward_range
        self._twin: PyEnvironment | None = None
        self._sampling_rng = self.seeder.spawn().rng

    @property
    def rng(self) -> np.random.Generator:
        """The generator of every draw but those of `sample`."""
        return self.env.np_random

    @property
    def np_random(self) -> np.random.Generator:
        """The same as `rng`."""
        return self.env.np_random

    def reseed(self, seed_seq: Any = None) -> None:
        """Exchanges all generators: the environment's, that of `sample`, and those of the spaces.

        What has been drawn stays until the next `reset` or `step`. The same integer repeats a run;
        a SeedSequence or Seeder is spawned from, as everywhere in rlberry, and so gives another
        stream whenever it is passed again.

        Args:
            seed_seq: an integer, a sequence of them, a SeedSequence or a Seeder; None to spawn from
                the seeder of before.

        Raises:
            TypeError: `seed_seq` is of another type. Nothing has changed.
            ValueError: it is negative. Nothing has changed.
        """
        try:
            Seeder(seed_seq, spawn_seed_seq=False)
        except (TypeError, ValueError) as error:
            raise type(error)(f"seed_seq is {seed_seq!r}: {error}") from error
        super().reseed(seed_seq)
        self.env.seed(self.seeder.rng)
        self._sampling_rng = self.seeder.spawn().rng

    def reset(
        self, seed: Seed = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts a new episode and returns its observation and info.

        Args:
            seed: whatever `numpy.random.default_rng` takes, for the environment's generator; None
                to go on with it.
            options: not used.

        Raises:
            TypeError: `seed` is no source of randomness.
            ValueError: `seed` is a negative integer.
        """
        if seed is not None:
            self.env.seed(seed)
        return outcome(self.env, self.env.reset()).observation, info(self.env)

    def step(self, action: Any) -> Step:
        """Takes one action; before the first `reset`, ignores it and resets.

        Args:
            action: an element of `action_space`.

        Returns:
            The observation, the reward, whether the episode has terminated, whether it was
            truncated, and the info.

        Raises:
            TypeError: `action` is of a wrong type. Nothing has changed.
            ValueError: `action` is no element of `action_space`. Nothing has changed.
        """
        return _step(self.env, action)

    def sample(self, state: Any, action: Any) -> Step:
        """Draws one of the steps that can follow an action in a state.

        The environment stays as it is: this draws from another generator, which `reseed` sets.

        Args:
            state: a token from `env.get_state()`. Its generator is not used.
            action: as in `step`.

        Returns:
            As `step`.

        Raises:
            TypeError: `state` is not a token, or `action` is of a wrong type.
            ValueError: `state` is of another environment, before the first reset, or at the end of
                an episode, or `action` is no element of `action_space`.
        """
        if self._twin is None:
            self._twin = copy.deepcopy(self.env)
        self._twin.set_state(state)
        if self._twin.should_reset(self._twin.current_time_step()):
            raise ValueError("state is at the end of an episode; expected one that can be stepped")
        self._twin.seed(self._sampling_rng)
        return _step(self._twin, action)

    def is_online(self) -> bool:
        """True: it can be reset and stepped."""
        return True

    def is_generative(self) -> bool:
        """True: it can be sampled."""
        return True

    def render(self) -> Any:
        """Returns an image or a text, or shows a window, as `render_mode` says.

        Raises:
            NotImplementedError: the environment cannot be shown.
        """
        return None if self.render_mode is None else self.env.render(self.render_mode)

    def close(self) -> None:
        self.env.close()


def _step(env: PyEnvironment, action: Any) -> Step:
    time_step = env.step(batch_of_one(env.action_spec(), action))
    return (*outcome(env, time_step), info(env))
