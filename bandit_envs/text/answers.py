"""How agents that read are asked to answer, and how their answers are read."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.text.scenarios import Scenario

ANSWER_ONLY = "Give the answer alone, without any reasons."
"""Instructions for an agent that should not reason."""

STEP_BY_STEP = "Think step by step before you answer."
"""Instructions for an agent that should reason first."""

ROUNDING = 0.02
"""How far the sum of told probabilities may be off 1."""


class UnreadableAnswerError(ValueError):
    """An answer that names no action that is available, or several."""


class AnswerFormat(Protocol):
    """How an agent is asked to answer."""

    def ask(self, scenario: Scenario) -> str:
        """Returns how a prompt ends."""

    def read(self, answer: str, names: Sequence[str]) -> Floats:
        """Returns the probabilities of the named actions that an answer tells: [len(names)].

        Raises:
            UnreadableAnswerError: the answer does not tell any.
        """


@dataclasses.dataclass(frozen=True)
class OneAction:
    """Asks for the name of one action; `instructions` may say how to find it.

    >>> OneAction().read("Blue paid most, hence <Answer>blue</Answer>", ["blue", "green"])
    array([1., 0.])
    """

    instructions: str = ""

    def ask(self, scenario: Scenario) -> str:
        """Returns how a prompt ends."""
        ending = "End your answer with <Answer>its name</Answer>."
        return _join(scenario.question, self.instructions, ending)

    def read(self, answer: str, names: Sequence[str]) -> Floats:
        """Returns 1 for the action that an answer names, as `parse_answer` reads it, else 0."""
        probabilities = np.zeros(len(names))
        probabilities[parse_answer(answer, names)] = 1.0
        return probabilities


@dataclasses.dataclass(frozen=True)
class ActionProbabilities:
    """Asks for the probabilities of actions, one of which is drawn by them.

    Actions that an answer leaves out have the probability 0.

    >>> told = "<Answer>blue: 0.25, green: 0.75</Answer>"
    >>> ActionProbabilities().read(told, ["blue", "green", "red"])
    array([0.25, 0.75, 0.  ])
    """

    instructions: str = ""

    def ask(self, scenario: Scenario) -> str:
        """Returns how a prompt ends."""
        wish = f"Answer with a probability for each {scenario.action}; one is drawn by them."
        ending = "End your answer with <Answer>name: probability, name: probability</Answer>."
        return _join(scenario.question, wish, self.instructions, ending)

    def read(self, answer: str, names: Sequence[str]) -> Floats:
        """Returns the told probabilities, divided by their sum, which must be about 1."""
        numbers = {name.lower(): number for number, name in enumerate(names)}
        probabilities = np.full(len(names), np.nan)
        parts = re.split(r"[,;\n]", _last_tagged(answer))
        for part in filter(str.strip, parts):
            name, _, value = part.rpartition(":")
            number = numbers.get(name.strip().lower())
            if number is None or not np.isnan(probabilities[number]):
                expected = f"expected one of {', '.join(names)}, each once, as name: probability"
                raise UnreadableAnswerError(f"the answer has {part.strip()!r}; {expected}")
            probabilities[number] = _probability(value)
        probabilities = np.nan_to_num(probabilities)
        total = probabilities.sum()
        if abs(total - 1.0) > ROUNDING:
            problem = f"the probabilities of the answer sum to {total:g}; expected 1"
            raise UnreadableAnswerError(f"{problem}: {answer!r}")
        return np.asarray(probabilities / total)


def parse_answer(answer: str, names: Sequence[str]) -> int:
    """Returns the number of the action that an answer names.

    The last `<Answer>...</Answer>` counts, or else the whole answer. Case does not matter.

    Raises:
        UnreadableAnswerError: it names none of the actions, or several.

    >>> parse_answer("Blue paid most, hence <Answer> Blue </Answer>", ["blue", "green"])
    0
    """
    text = _last_tagged(answer)
    for number, name in enumerate(names):
        if text.strip().lower() == name.lower():
            return number
    found = [number for number, name in enumerate(names) if _mentions(text, name)]
    if len(found) == 1:
        return found[0]
    problem = "several actions" if found else "no action"
    expected = f"expected one of {', '.join(names)}"
    raise UnreadableAnswerError(f"the answer names {problem}; {expected}: {answer!r}")


def _last_tagged(answer: str) -> str:
    """Returns what is in the last `<Answer>...</Answer>`, or else the whole answer."""
    found = answer
    start = None
    for tag in re.finditer(r"<(/?)answer>", answer, re.IGNORECASE):
        if not tag[1] and start is None:
            start = tag.end()
        elif tag[1] and start is not None:
            found = answer[start : tag.start()]
            start = None
    return found


def _mentions(text: str, name: str) -> bool:
    """Whether a text has a name as whole words."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) is not None


def _probability(text: str) -> float:
    """Returns a number from 0 to 1, or a percentage as one."""
    digits = text.strip()
    scale = 100.0 if digits.endswith("%") else 1.0
    try:
        value = float(digits.rstrip("%")) / scale
    except ValueError:
        value = np.nan
    if not 0.0 <= value <= 1.0:
        raise UnreadableAnswerError(f"the answer has {digits!r}; expected a probability")
    return value


def _join(*sentences: str) -> str:
    """Returns sentences as one text, without those that are empty."""
    return " ".join(sentence for sentence in sentences if sentence)
