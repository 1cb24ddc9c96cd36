"""Bandits as text, for agents that read prompts and answer them."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import typing
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Array, Floats, Mask, Rng
from bandit_envs.base.checks import check_integer
from bandit_envs.nests import Nest
from bandit_envs.policies.features import ContextReader
from bandit_envs.policies.policy import Actions, Policy, PolicyOptions
from bandit_envs.trajectories import TimeStep, Trajectory

MAX_ACTIONS = 50

COLOURS = (
    "blue green red yellow purple orange pink brown black white grey teal gold silver violet cyan "
    "maroon olive navy beige crimson turquoise lavender coral ivory indigo amber jade ruby pearl "
    "emerald scarlet khaki salmon plum peach mint lime bronze copper lilac mustard charcoal cream "
    "magenta azure rust sand cobalt burgundy"
)

Complete: TypeAlias = Callable[[list[str]], Sequence[str]]
"""Answers prompts: a language model, or anything else that returns a text for each."""


@dataclasses.dataclass(frozen=True)
class Scenario:
    """The story in which a bandit is told.

    In `introduction`, {number} stands for the number of actions, and {actions} for their names.
    """

    introduction: str
    """What the agent is, and what it should achieve."""

    question: str
    """What ends a prompt: it asks for one action, and says how to write it."""

    action: str
    """What an action is called, such as "button"."""

    chosen: str
    """How an action was taken, such as "pressed"."""

    names: tuple[str, ...]
    """The names of the actions, as many as there may be."""

    def names_of(self, num_actions: int) -> tuple[str, ...]:
        """Returns the names of K actions; ValueError if there are too few."""
        check_integer("num_actions", num_actions, 1, min(MAX_ACTIONS, len(self.names)))
        return self.names[:num_actions]


BUTTONS = Scenario(
    introduction=(
        "You are in a room with {number} buttons: {actions}. Pressing a button pays a reward that "
        "is drawn at random, with a mean of its own. Press buttons so that the sum of your "
        "rewards becomes as large as possible. Balance exploring and exploiting."
    ),
    question="Which button do you press next? End your answer with <Answer>its name</Answer>.",
    action="button",
    chosen="pressed",
    names=tuple(COLOURS.split()),
)
"""Buttons of different colours."""

ADVERTS = Scenario(
    introduction=(
        "You choose which of {number} adverts each visitor of a website sees: {actions}. A visitor "
        "clicks with a probability that depends on the advert. Choose adverts so that you get as "
        "many clicks as possible. Balance exploring and exploiting."
    ),
    question="Which advert do you show next? End your answer with <Answer>its name</Answer>.",
    action="advert",
    chosen="shown",
    names=tuple(f"advert {number}" for number in range(1, MAX_ACTIONS + 1)),
)
"""Adverts, which visitors of a website click or not."""


class UnreadableAnswerError(ValueError):
    """An answer that names no action that is available, or several."""


def parse_answer(answer: str, names: Sequence[str]) -> int:
    """Returns the number of the action that an answer names.

    The last `<Answer>...</Answer>` counts, or else the whole answer. Case does not matter.

    Raises:
        UnreadableAnswerError: it names none of the actions, or several.

    >>> parse_answer("Blue paid most, hence <Answer> Blue </Answer>", ["blue", "green"])
    0
    """
    tagged = re.findall(r"<answer>(.*?)</answer>", answer, re.IGNORECASE | re.DOTALL)
    text = tagged[-1] if tagged else answer
    for number, name in enumerate(names):
        if text.strip().lower() == name.lower():
            return number
    found = [number for number, name in enumerate(names) if _mentions(text, name)]
    if len(found) == 1:
        return found[0]
    problem = "several actions" if found else "no action"
    expected = f"expected one of {', '.join(names)}"
    raise UnreadableAnswerError(f"the answer names {problem}; {expected}: {answer!r}")


def _mentions(text: str, name: str) -> bool:
    """Whether a text has a name as whole words."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) is not None


class Totals(NamedTuple):
    """How often each action was taken, and the sums of its rewards: [B, K]; updated in place."""

    counts: Floats
    sums: Floats


class Rounds(NamedTuple):
    """The last H rounds, the latest last; updated in place."""

    action: NDArray[np.int64]  # [B, H], -1 before the first round
    reward: Floats  # [B, H]
    context: Floats  # [B, H, D]


class History(Protocol):
    """What prompts tell of earlier rounds."""

    def initial(self, batch_size: int, num_actions: int, context_dim: int) -> Any:
        """Returns what is known before the first round."""

    def add(self, known: Any, context: Floats, action: Actions, reward: Array) -> None:
        """Adds a round of every row, in place."""

    def tell(self, known: Any, row: int, scenario: Scenario, names: Sequence[str]) -> list[str]:
        """Returns what is known in one row, in lines."""


@dataclasses.dataclass(frozen=True)
class Summary:
    """Tells how often each action was taken, and its mean reward, in so many `digits`."""

    digits: int = 3

    def initial(self, batch_size: int, num_actions: int, context_dim: int) -> Totals:
        """Returns what is known before the first round."""
        shape = batch_size, num_actions
        return Totals(np.zeros(shape), np.zeros(shape))

    def add(self, known: Totals, context: Floats, action: Actions, reward: Array) -> None:
        """Adds a round of every row, in place."""
        rows = np.arange(len(action))
        known.counts[rows, action] += 1.0
        known.sums[rows, action] += reward

    def tell(self, known: Totals, row: int, scenario: Scenario, names: Sequence[str]) -> list[str]:
        """Returns what is known in one row, in lines."""
        counts = known.counts[row]
        lines = [f"You have played {counts.sum():.0f} rounds:"]
        for number, name in enumerate(names):
            line = f"{name}: {scenario.chosen} {counts[number]:.0f} times"
            if counts[number]:
                mean = known.sums[row, number] / counts[number]
                line += f", average reward {mean:.{self.digits}g}"
            lines.append(line)
        return lines


@dataclasses.dataclass(frozen=True)
class LastRounds:
    """Tells the last `count` rounds one by one, with rewards and contexts in so many `digits`."""

    count: int = 100
    digits: int = 3

    def initial(self, batch_size: int, num_actions: int, context_dim: int) -> Rounds:
        """Returns what is known before the first round."""
        shape = batch_size, self.count
        return Rounds(
            np.full(shape, -1, np.int64), np.zeros(shape), np.zeros((*shape, context_dim))
        )

    def add(self, known: Rounds, context: Floats, action: Actions, reward: Array) -> None:
        """Adds a round of every row, in place."""
        for column, latest in zip(known, (action, reward, context)):
            column[:, :-1] = column[:, 1:]
            column[:, -1] = latest

    def tell(self, known: Rounds, row: int, scenario: Scenario, names: Sequence[str]) -> list[str]:
        """Returns what is known in one row, in lines."""
        lines = []
        for action, reward, context in zip(*(column[row] for column in known)):
            if action < 0:
                continue
            seen = f"{describe_features(context, self.digits)}: " if len(context) else ""
            outcome = f"reward {reward:.{self.digits}g}"
            lines.append(f"{seen}{scenario.chosen} {names[action]}, {outcome}")
        return ["You have played no round yet."] if not lines else ["The last rounds:", *lines]


def describe_features(features: Floats, digits: int = 3) -> str:
    """Returns numbers [D] as text, such as "x1=0.2, x2=-1"."""
    return ", ".join(f"x{place}={value:.{digits}g}" for place, value in enumerate(features, 1))


class Prompter:
    """Writes prompts for the rows of a bandit, of what they see and what they have played.

    Args:
        observation_spec: of the bandit. A context of more than one number is told in the prompts.
        num_actions: K, at most 50.
        scenario: the story, such as `BUTTONS` or `ADVERTS`.
        history: `Summary()` or `LastRounds()`.
        describe_context: makes a text of the context [D] of a row.
    """

    def __init__(
        self,
        observation_spec: Nest,
        num_actions: int,
        scenario: Scenario = BUTTONS,
        history: History | None = None,
        describe_context: Callable[[Floats], str] = describe_features,
    ) -> None:
        self.names = scenario.names_of(num_actions)
        self._scenario = scenario
        self._history: History = Summary() if history is None else history
        self._reader = ContextReader(observation_spec)
        self._describe_context = describe_context
        self._tells_context = self._reader.dim > 1

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
        scenario = self._scenario
        prompts = []
        for row in range(size):
            offered = self.offered(available, row)
            introduction = scenario.introduction.format(
                number=len(self.names), actions=", ".join(self.names)
            )
            lines = [introduction, *self._history.tell(known, row, scenario, self.names)]
            if self._tells_context:
                lines.append(f"Now: {self._describe_context(contexts[row])}.")
            if len(offered) < len(self.names):
                lines.append(f"Only these are available now: {', '.join(offered)}.")
            lines.append(scenario.question)
            prompts.append("\n".join(lines))
        return prompts

    def offered(self, available: Mask | None, row: int) -> list[str]:
        """Returns the names of the actions that are available in a row."""
        if available is None:
            return list(self.names)
        return [name for name, is_offered in zip(self.names, available[row]) if is_offered]

    def parse(self, answer: str, available: Mask | None, row: int) -> int:
        """Returns the action that an answer names, as `parse_answer` does."""
        offered = self.offered(available, row)
        return self.names.index(offered[parse_answer(answer, offered)])

    def _context(self, observation: Nest, size: int) -> Floats:
        if not self._tells_context:
            return np.empty((size, 0))
        return self._reader.read(observation, size)


class TextPolicy(Policy):
    """Chooses what an agent answers that reads a prompt, such as a language model.

    Each row is a conversation of its own: its prompt tells the scenario and what the row has
    played. All rows are asked in one call. What an agent answers depends on itself: use an
    `AnswerCache` to make a run repeatable. Probabilities are unknown; `estimated_probabilities`
    asks again and again.

    Args:
        complete: takes a list of prompts and returns a list of answers.
        observation_spec: of the environment.
        scenario: the story, such as `BUTTONS` or `ADVERTS`, or a `Scenario` of your own.
        history: `Summary()`, the default, or `LastRounds()`.
        describe_context: makes a text of the context [D] of a row.
        retries: how often to ask again for an answer that cannot be read.
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
        history: History | None = None,
        describe_context: Callable[[Floats], str] = describe_features,
        retries: int = 2,
        *,
        observation_spec: Nest,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        self._complete = complete
        self._retries = check_integer("retries", retries, minimum=0)
        self._prompter = Prompter(
            observation_spec, options["num_actions"], scenario, history, describe_context
        )
        super().__init__(**options)

    @classmethod
    def arguments_for(cls, env: Any) -> dict[str, Any]:
        return {**super().arguments_for(env), "observation_spec": env.observation_spec()}

    def prompts(self, time_step: TimeStep) -> list[str]:
        """Returns the prompt of every row."""
        return self._prompts(self._state.learned, time_step)

    def _initial(self) -> Any:
        return self._prompter.initial(self.batch_size)

    def _learn(self, learned: Any, trajectory: Trajectory) -> Any:
        self._prompter.add(learned, trajectory.observation, trajectory.action, trajectory.reward)
        return learned

    def _select(self, rng: Rng, learned: Any, time_step: TimeStep) -> Actions:
        prompts = self._prompts(learned, time_step)
        available = self._available(time_step.observation)
        actions = np.full(self.batch_size, -1)
        pending = list(range(self.batch_size))
        for attempt in range(self._retries + 1):
            answers = self._ask(rng, [prompts[row] for row in pending])
            unreadable = []
            for row, answer in zip(pending, answers):
                try:
                    actions[row] = self._prompter.parse(answer, available, row)
                except UnreadableAnswerError as error:
                    if attempt == self._retries:
                        raise UnreadableAnswerError(f"row {row}: {error}") from None
                    unreadable.append(row)
            pending = unreadable
            if not pending:
                break
        return actions

    def _ask(self, rng: Rng, prompts: list[str]) -> Sequence[str]:
        """Returns an answer for each prompt."""
        draws = rng.integers(2**63, size=len(prompts))
        if isinstance(self._complete, AnswerCache):
            answers: Sequence[str] = self._complete.answer(prompts, draws.tolist())
        else:
            answers = self._complete(prompts)
        if len(answers) != len(prompts):
            expected = f"expected {len(prompts)}, one for each prompt"
            raise ValueError(f"complete returned {len(answers)} answers; {expected}")
        return answers

    def _prompts(self, learned: Any, time_step: TimeStep) -> list[str]:
        observation = time_step.observation
        available = self._available(observation)
        return self._prompter.prompts(learned, observation, available, self.batch_size)


class Usage(NamedTuple):
    """What an agent has been asked, in tokens as a `Meter` counts them."""

    calls: int
    prompts: int
    prompt_tokens: int
    answer_tokens: int


class Meter:
    """Counts what passes through a function that answers prompts.

    Args:
        complete: takes a list of prompts and returns a list of answers.
        count_tokens: the number of tokens of a text; by default its words.
    """

    def __init__(
        self, complete: Complete, count_tokens: Callable[[str], int] | None = None
    ) -> None:
        self._complete = complete
        self._count_tokens = _count_words if count_tokens is None else count_tokens
        self.usage = Usage(0, 0, 0, 0)  #: so far

    def __call__(self, prompts: list[str]) -> Sequence[str]:
        """Returns the answers to prompts, and counts them."""
        answers = self._complete(prompts)
        calls, asked, prompt_tokens, answer_tokens = self.usage
        self.usage = Usage(
            calls=calls + 1,
            prompts=asked + len(prompts),
            prompt_tokens=prompt_tokens + sum(map(self._count_tokens, prompts)),
            answer_tokens=answer_tokens + sum(map(self._count_tokens, answers)),
        )
        return answers


def _count_words(text: str) -> int:
    return len(text.split())


class AnswerCache:
    """Remembers answers in a file, so that a run can be repeated, or goes on, without new calls.

    An answer belongs to its prompt and to a number that the policy draws with its seed. So equal
    prompts get different answers, and the same run gets the same ones.

    Args:
        complete: takes a list of prompts and returns a list of answers.
        path: of a file with a line of JSON for each answer. It is made if there is none.
    """

    def __init__(self, complete: Complete, path: str | Path) -> None:
        self._complete = complete
        self._path = Path(path)
        self._answers: dict[str, str] = {}
        if self._path.exists():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                if line.endswith("}"):  # a run that was killed may leave a part of a line
                    record = json.loads(line)
                    self._answers[record["key"]] = record["answer"]

    def __call__(self, prompts: list[str]) -> Sequence[str]:
        """Returns the answers to prompts; each has one."""
        return self.answer(prompts, [0] * len(prompts))

    def answer(self, prompts: list[str], draws: Sequence[int]) -> Sequence[str]:
        """Returns the answers to prompts and numbers; asks for those that are not in the file."""
        keys = [_key(prompt, draw) for prompt, draw in zip(prompts, draws)]
        new = [place for place, key in enumerate(keys) if key not in self._answers]
        if new:
            found = self._complete([prompts[place] for place in new])
            records = []
            for place, answer in zip(new, found):
                self._answers[keys[place]] = answer
                record = {"key": keys[place], "prompt": prompts[place], "answer": answer}
                records.append(json.dumps(record) + "\n")
            with self._path.open("a", encoding="utf-8") as file:
                file.writelines(records)
        return [self._answers[key] for key in keys]


def _key(prompt: str, draw: int) -> str:
    return hashlib.sha256(f"{draw}\n{prompt}".encode()).hexdigest()
