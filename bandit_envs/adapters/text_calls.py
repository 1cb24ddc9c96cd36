"""Calls of agents that read: their answers are counted, and kept in a file."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

Complete: TypeAlias = Callable[[list[str]], Sequence[str]]
"""Answers prompts: a language model, or anything else that returns a text for each."""


def ask(complete: Complete, prompts: list[str]) -> Sequence[str]:
    """Returns the answers to prompts; ValueError if there is not one for each."""
    answers = complete(prompts)
    if len(answers) != len(prompts):
        expected = f"expected {len(prompts)}, one for each prompt"
        raise ValueError(f"complete returned {len(answers)} answers; {expected}")
    return answers


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
    """Keeps answers in a file, so that a run can be repeated, or goes on, without new calls.

    A policy draws a number for each prompt. The file has an answer for each prompt and number.
    Equal prompts of a run thus get answers of their own, and a run with the same seed gets the same
    answers again. Give the cache to the policy itself: through another function, such as a `Meter`,
    it gets no numbers, and equal prompts have one answer.

    Args:
        complete: takes a list of prompts and returns a list of answers.
        path: of a file with a line of JSON for each answer. It is made if there is none.

    Raises:
        ValueError: a line of the file is no such answer.
    """

    def __init__(self, complete: Complete, path: str | Path) -> None:
        self._complete = complete
        self._path = Path(path)
        self._answers: dict[str, str] = {}
        if self._path.exists():
            self._read()

    def __call__(self, prompts: list[str]) -> Sequence[str]:
        """Returns the answers to prompts; equal prompts have one answer."""
        return self.answer(prompts, [0] * len(prompts))

    def answer(self, prompts: list[str], draws: Sequence[int]) -> Sequence[str]:
        """Returns the answers to prompts and numbers; asks for those that are not in the file."""
        keys = [_key(prompt, draw) for prompt, draw in zip(prompts, draws)]
        new = {key: prompt for key, prompt in zip(keys, prompts) if key not in self._answers}
        if new:
            found = ask(self._complete, list(new.values()))
            lines = []
            for (key, prompt), answer in zip(new.items(), found):
                self._answers[key] = answer
                lines.append(json.dumps({"key": key, "prompt": prompt, "answer": answer}) + "\n")
            with self._path.open("a", encoding="utf-8") as file:
                file.writelines(lines)
        return [self._answers[key] for key in keys]

    def _read(self) -> None:
        """Reads the file, and cuts off the part of a line that a killed run has left at its end."""
        content = self._path.read_bytes()
        whole, newline, part = content.rpartition(b"\n")
        if part:
            os.truncate(self._path, len(whole) + len(newline))
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                record = json.loads(line)
                self._answers[record["key"]] = record["answer"]
            except (ValueError, TypeError, KeyError) as error:
                expected = 'expected JSON with "key" and "answer"'
                raise ValueError(f"{self._path.name}, line {number}: {expected}") from error


def _key(prompt: str, draw: int) -> str:
    return hashlib.sha256(f"{draw}\n{prompt}".encode()).hexdigest()
