"""Prompts for the rows of a bandit, and the policy that asks an agent."""

from __future__ import annotations

import copy
import typing
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bandit_envs.arrays import Array, Floats, Mask, Rng
from bandit_envs.base.checks import check_integer
from bandit_envs.nests import Nest
from bandit_envs.policies.draws import draw_indices
from bandit_envs.policies.models.feature_readers import ContextReader
from bandit_envs.policies.policy import Actions, Policy, PolicyOptions
from bandit_envs.text.answers import (
    AnswerFormat,
    OneAction,
    UnreadableAnswerError,
)
from bandit_envs.text.calls import AnswerCache, Complete, ask
from bandit_envs.text.history import History, Summary, describe_features
from bandit_envs.text.scenarios import BUTTONS, Scenario
from bandit_envs.trajectories import TimeStep, Trajectory


class Prompter:
    """Writes prompts for the rows of a bandit, of what they see and what they have played.

    Args:
        observation_spec: of the bandit. A context of more than one number is told in the prompts.
        num_actions: K, at most 50.
        scenario: the story, such as `BUTTONS` or `ADVERTS`.
        history: `Summary()`, the default, or `LastRounds()`.
        answer_format: `OneAction()`, the default, or `ActionProbabilities()`.
        describe_context: makes a text of the context [D] of a row.
    """

    def __init__(
        self,
        observation_spec: Nest,
        num_actions: int,
        scenario: Scenario = BUTTONS,
        *,
        history: History | None = None,
        answer_format: AnswerFormat | None = None,
        describe_context: Callable[[Floats], str] = describe_features,
    ) -> None:
        self.names = scenario.names_of(num_actions)
        self._scenario = scenario
        self._history: History = Summary() if history is None else history
        self._answer_format = OneAction() if answer_format is None else answer_format
        self._reader = ContextReader(observation_spec)
        self._describe_context = describe_context
        self._tells_context = self._reader.dim > 1

    def with_actions(self, num_actions: int) -> Prompter:
        """Returns one for other actions; ValueError if the scenario has too few names."""
        copied = copy.copy(self)
        copied.names = self._scenario.names_of(num_actions)
        return copied

    def initial(self, batch_size: int) -> Any:
        """Returns what is known before the first round."""
        dim = self._reader.dim if self._tells_context else 0
        return self._history.initial(batch_size, len(self.names), dim)

    def add(self, known: Any, observation: Nest, action: Actions, reward: Array) -> None:
        """Adds a round of every row, in place."""
        self._history.add(known, self._context(observation, len(action)), action, reward)

    def prompts(
        self, known: Any, observation: Nest, available: Mask | None, size: int
    ) -> list[str]:
        """Returns a prompt for each of `size` rows."""
        contexts = self._context(observation, size)
        introduction = self._scenario.introduce(len(self.names))
        question = self._answer_format.ask(self._scenario)
        prompts = []
        for row in range(size):
            lines = [introduction]
            lines += self._history.tell(known, row, self._scenario, self.names)
            if self._tells_context:
                lines.append(f"Now: {self._describe_context(contexts[row])}.")
            offered = self._offered(available, row)
            if len(offered) < len(self.names):
                names = ", ".join(self.names[number] for number in offered)
                lines.append(f"Only these are available now: {names}.")
            lines.append(question)
            prompts.append("\n".join(lines))
        return prompts

    def read(self, answer: str, available: Mask | None, row: int) -> Floats:
        """Returns the probabilities of actions that a row's answer tells: [K].

        Raises:
            UnreadableAnswerError: it tells none, or names actions that are not available.
        """
        offered = self._offered(available, row)
        probabilities = np.zeros(len(self.names))
        names = [self.names[number] for number in offered]
        probabilities[offered] = self._answer_format.read(answer, names)
        return probabilities

    def _offered(self, available: Mask | None, row: int) -> list[int]:
        """Returns the numbers of the actions that are available in a row."""
        if available is None:
            return list(range(len(self.names)))
        return [int(number) for number in np.flatnonzero(available[row])]

    def _context(self, observation: Nest, size: int) -> Floats:
        if not self._tells_context:
            return np.empty((size, 0))
        return self._reader.read(observation, size)


class TextPolicy(Policy):
    """Chooses what an agent answers that reads a prompt, such as a language model.

    Each row is a conversation of its own: its prompt tells the scenario and what the row has
    played. All rows are asked in one call. What an agent answers depends on itself: use an
    `AnswerCache` to make a run repeatable. If a call fails, or no answer can be read, the policy
    stays as it was, and may be asked again. Probabilities are unknown; `estimated_probabilities`
    asks again and again.

    Args:
        complete: takes a list of prompts and returns a list of answers.
        scenario: the story, such as `BUTTONS` or `ADVERTS`, or a `Scenario` of your own.
        history: `Summary()`, the default, or `LastRounds()`.
        answer_format: `OneAction()`, the default, or `ActionProbabilities()`, of which it draws.
        describe_context: makes a text of the context [D] of a row.
        retries: how often to ask again for an answer that cannot be read.
        observation_spec: of the environment.
        **options: `num_actions`, at most 50, `batch_size` and `seed`, as in `Policy`.

    Raises:
        UnreadableAnswerError: an answer names no available action, or several, after all retries.

    Source: Krishnamurthy et al., Can large language models explore in-context? (2024).

    >>> from bandit_envs import KArmedTestbed
    >>> env = KArmedTestbed(k=3, batch_size=2)
    >>> policy = TextPolicy(
    ...     lambda prompts: ["<Answer>green</Answer>"] * len(prompts),
    ...     observation_spec=env.observation_spec(), num_actions=3, batch_size=2)
    >>> policy.action(env.reset())
    array([1, 1], dtype=int32)
    """

    def __init__(
        self,
        complete: Complete,
        scenario: Scenario = BUTTONS,
        *,
        history: History | None = None,
        answer_format: AnswerFormat | None = None,
        describe_context: Callable[[Floats], str] = describe_features,
        retries: int = 2,
        observation_spec: Nest,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        self._complete = complete
        self._retries = check_integer("retries", retries, minimum=0)
        self._prompter = Prompter(
            observation_spec,
            options["num_actions"],
            scenario,
            history=history,
            answer_format=answer_format,
            describe_context=describe_context,
        )
        super().__init__(**options)

    @classmethod
    def arguments_for(cls, env: Any) -> dict[str, Any]:
        return {**super().arguments_for(env), "observation_spec": env.observation_spec()}

    def prompts(self, time_step: TimeStep) -> list[str]:
        """Returns the prompt of every row."""
        return self._prompts(self._state.learned, time_step)

    def _set_num_actions(self, num_actions: int) -> None:
        self._prompter = self._prompter.with_actions(num_actions)
        super()._set_num_actions(num_actions)

    def _initial(self) -> Any:
        return self._prompter.initial(self.batch_size)

    def _learn(self, learned: Any, trajectory: Trajectory) -> Any:
        self._prompter.add(learned, trajectory.observation, trajectory.action, trajectory.reward)
        return learned

    def _select(self, rng: Rng, learned: Any, time_step: TimeStep) -> Actions:
        before = rng.bit_generator.state
        try:
            return draw_indices(rng, self._answered(rng, learned, time_step))
        except BaseException:  # calls fail, and asking again must draw the same numbers
            rng.bit_generator.state = before
            raise

    def _answered(self, rng: Rng, learned: Any, time_step: TimeStep) -> Floats:
        """Returns the probabilities of actions that the answers tell: [B, K]."""
        prompts = self._prompts(learned, time_step)
        available = self._available(time_step.observation)
        probabilities = np.zeros(self._table_shape)
        draws: list[list[int]] = [[] for _ in prompts]
        pending = list(range(self.batch_size))
        problem = ""
        for _ in range(self._retries + 1):
            for row, draw in zip(pending, rng.integers(2**63, size=len(pending)).tolist()):
                draws[row].append(draw)
            asked = [prompts[row] for row in pending]
            answers = self._ask(asked, [draws[row][-1] for row in pending])
            unreadable = []
            for row, answer in zip(pending, answers):
                try:
                    probabilities[row] = self._prompter.read(answer, available, row)
                except UnreadableAnswerError as error:
                    unreadable.append(row)
                    problem = f"row {row}: {error}"
            pending = unreadable
            if not pending:
                return probabilities
        for row in pending:
            self._forget(prompts[row], draws[row])
        raise UnreadableAnswerError(problem)

    def _ask(self, prompts: list[str], draws: list[int]) -> Sequence[str]:
        """Returns an answer for each prompt, and the number drawn for it."""
        if isinstance(self._complete, AnswerCache):
            return self._complete.answer(prompts, draws)
        return ask(self._complete, prompts)

    def _forget(self, prompt: str, draws: list[int]) -> None:
        """Lets a cache forget answers of which none could be read, so that they are asked again."""
        if isinstance(self._complete, AnswerCache):
            self._complete.forget([prompt] * len(draws), draws)

    def _prompts(self, learned: Any, time_step: TimeStep) -> list[str]:
        observation = time_step.observation
        available = self._available(observation)
        return self._prompter.prompts(learned, observation, available, self.batch_size)
