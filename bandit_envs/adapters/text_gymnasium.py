"""Bandits as text in Gymnasium's interface: observations are prompts, and actions are answers.

Experimental: these names may change in any minor version.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from bandit_envs.adapters.restart import start_anew
from bandit_envs.arrays import Floats
from bandit_envs.base.bandit_py_environment import available_actions
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.text.history import History, describe_features
from bandit_envs.text.scenarios import BUTTONS, Scenario
from bandit_envs.text.text_policy import Prompter
from bandit_envs.trajectories import TimeStep
from bandit_envs.wrappers.shared import require_single_actions

__all__ = [
    "TextEnv",
]

CHARACTERS = "".join(sorted(set(string.printable)))


class TextEnv(gymnasium.Env[str, str]):
    """A bandit with a batch of one, told as text: answer a prompt by naming an action.

    An observation is a prompt, which tells the scenario, what was played and what is seen now. An
    action is an answer; `text.parse_answer` reads it. A bandit without a horizon terminates with
    every step, as in `GymnasiumEnv`, but its history goes on until `reset` gets a seed.

    Args:
        env: a bandit with a batch of one and at most 50 actions.
        scenario: the story, such as `text.BUTTONS` or `text.ADVERTS`.
        history: `text.Summary()`, the default, or `text.LastRounds()`.
        describe_context: makes a text of the context [D].
        max_length: the most characters of prompts and of answers.

    Raises:
        UnreadableAnswerError: from `step`, for an answer that names no action, or several. Nothing
            changes, so an agent may answer again.

    >>> from bandit_envs import KArmedTestbed
    >>> env = TextEnv(KArmedTestbed(k=3, horizon=10))
    >>> prompt, info = env.reset(seed=0)
    >>> prompt.splitlines()[-1]
    'Which button do you press next? End your answer with <Answer>its name</Answer>.'
    >>> prompt, reward, terminated, truncated, info = env.step("<Answer>red</Answer>")
    >>> prompt.splitlines()[4].startswith("red: pressed 1 times, average reward")
    True
    """

    def __init__(
        self,
        env: PyEnvironment,
        scenario: Scenario = BUTTONS,
        history: History | None = None,
        describe_context: Callable[[Floats], str] = describe_features,
        max_length: int = 100_000,
    ) -> None:
        if env.batch_size != 1:
            raise ValueError(f"{env.name} has batch_size {env.batch_size}; expected 1")
        bandit = require_single_actions(env)
        self._num_actions = bandit.num_actions
        self._has_episodes = bandit.horizon is not None
        self._env = env
        self._start = env.get_state()
        self._prompter = Prompter(
            env.observation_spec(),
            self._num_actions,
            scenario,
            history=history,
            describe_context=describe_context,
        )
        self._known = self._prompter.initial(1)
        text = gymnasium.spaces.Text
        self.observation_space = text(max_length, charset=CHARACTERS)
        self.action_space = text(max_length, charset=CHARACTERS)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Starts a new episode; a seed starts everything anew, the history as well."""
        super().reset(seed=seed)
        if seed is not None:
            start_anew(self._env, self._start, seed)
        if seed is not None or self._has_episodes:
            self._known = self._prompter.initial(1)
        return self._prompt(self._env.reset()), {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Takes the action that an answer names."""
        observation = self._env.current_time_step().observation
        available = available_actions(observation, self._num_actions)
        chosen = np.array([self._prompter.read(action, available, 0).argmax()])
        time_step = self._env.step(chosen)
        self._prompter.add(self._known, observation, chosen, time_step.reward)
        is_last = bool(time_step.is_last()[0])
        terminated = is_last and time_step.discount[0] == 0.0
        truncated = is_last and not terminated
        info = {"action": int(chosen[0])}
        return self._prompt(time_step), float(time_step.reward[0]), terminated, truncated, info

    def _prompt(self, time_step: TimeStep) -> str:
        observation = time_step.observation
        available = available_actions(observation, self._num_actions)
        (prompt,) = self._prompter.prompts(self._known, observation, available, 1)
        return prompt
