"""Calls of agents that read: their answers are counted, and kept in a file."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from bandit_envs.base.checks import short_repr

Complete: TypeAlias = Callable[[list[str]], Sequence[str]]
"""Answers prompts: a language model, or anything else that returns a text for each."""

PATIENCE = 60.0
"""How many seconds to wait while other processes write to the file."""

APPLICATION = 0x62616E64
"""Marks a SQLite database as one of `AnswerCache`."""

TABLE = (
    "CREATE TABLE answers"
    " (key TEXT PRIMARY KEY, prompt TEXT NOT NULL, answer TEXT NOT NULL) WITHOUT ROWID"
)
"""Makes the table of answers, which is all that the file has."""


def ask(complete: Complete, prompts: list[str]) -> Sequence[str]:
    """Returns the answers to prompts.

    Raises:
        TypeError: `complete` returned no list, or one with an answer that is not text.
        ValueError: there is not one answer for each prompt.
    """
    answers = complete(prompts)
    expected = f"expected a list of {len(prompts)} texts, one for each prompt"
    if isinstance(answers, str) or not isinstance(answers, Sequence):
        raise TypeError(f"complete returned {short_repr(answers)}; {expected}")
    if len(answers) != len(prompts):
        raise ValueError(f"complete returned {len(answers)} answers; {expected}")
    for number, answer in enumerate(answers):
        if not isinstance(answer, str):
            raise TypeError(
                f"complete returned {short_repr(answer)} as answer {number}; {expected}"
            )
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

    The file is a SQLite database with a row for each answer. Threads and processes may share it. If
    two of them ask the same at the same time, both get the answer that was kept first.

    Args:
        complete: takes a list of prompts and returns a list of answers.
        path: of the file, which is created if it is missing.

    A file that cannot be written still gives the answers that it has.

    Raises:
        ValueError: the file is something else.
        OSError: it cannot be opened, or other processes write to it for a minute.
    """

    def __init__(self, complete: Complete, path: str | Path) -> None:
        self._complete = complete
        self._path = Path(path)
        with self._opened() as database:
            _make_table(database)

    def __call__(self, prompts: list[str]) -> Sequence[str]:
        """Returns the answers to prompts; equal prompts have one answer."""
        return self.answer(prompts, [0] * len(prompts))

    def answer(self, prompts: list[str], draws: Sequence[int]) -> Sequence[str]:
        """Returns the answers to prompts and numbers; asks for those that are not in the file.

        Raises:
            TypeError, ValueError: `complete` did not return a text for each; nothing is kept.
        """
        keys = [_key(prompt, draw) for prompt, draw in zip(prompts, draws)]
        with self._opened() as database:
            known = _find(database, keys)
        new = {key: prompt for key, prompt in zip(keys, prompts) if key not in known}
        if new:
            found = ask(self._complete, list(new.values()))
            rows = [
                (key, _storable(prompt), _storable(answer))
                for (key, prompt), answer in zip(new.items(), found)
            ]
            with self._opened() as database:
                database.executemany("INSERT OR IGNORE INTO answers VALUES (?, ?, ?)", rows)
                known |= _find(database, list(new))
        return [known[key] for key in keys]

    def forget(self, prompts: Sequence[str], draws: Sequence[int]) -> None:
        """Deletes the answers to prompts and numbers, so that they are asked again."""
        keys = [(_key(prompt, draw),) for prompt, draw in zip(prompts, draws)]
        with self._opened() as database:
            database.executemany("DELETE FROM answers WHERE key = ?", keys)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Opens the file for one transaction: a connection cannot go to another process."""
        try:
            with (
                contextlib.closing(sqlite3.connect(self._path, timeout=PATIENCE)) as database,
                database,
            ):
                yield database
        except sqlite3.OperationalError as error:  # no folder, no space, no right to write, a lock
            raise OSError(f"{self._path} cannot be read or written: {error}") from error
        except sqlite3.Error as error:
            expected = "a SQLite file that AnswerCache has made; give it a new path for a new file"
            raise ValueError(
                f"{self._path} holds no answers: {error}; expected {expected}"
            ) from error


def _make_table(database: sqlite3.Connection) -> None:
    """Makes the table of answers in a new file; sqlite3.DatabaseError if the file is another's."""
    if _has_table(database):
        return  # without writing: the file may be read-only
    database.execute("BEGIN IMMEDIATE")  # several processes may make the file
    if not _has_table(database):
        database.execute(f"PRAGMA application_id = {APPLICATION}")
        database.execute(TABLE)


def _has_table(database: sqlite3.Connection) -> bool:
    """Whether the file has the table of answers and nothing else.

    If it is not new either, it raises sqlite3.DatabaseError.
    """
    parts = database.execute("SELECT sql FROM sqlite_master").fetchall()
    (owner,) = database.execute("PRAGMA application_id").fetchone()
    if (owner, parts) == (APPLICATION, [(TABLE,)]):
        return True
    if parts or owner not in (0, APPLICATION):
        raise sqlite3.DatabaseError("it is a database of something else")
    return False


def _find(database: sqlite3.Connection, keys: Sequence[str]) -> dict[str, str]:
    """Returns the answers that are in the file, by key."""
    found = {}
    for key in keys:
        row = database.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
        if row is not None and not isinstance(row[0], str):
            raise sqlite3.DatabaseError(f"the answer of key {key} is not text")
        if row is not None:
            found[key] = row[0]
    return found


def _storable(text: str) -> str:
    """Returns a text with "?" in place of halves of characters, at which answers may be cut."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _key(prompt: str, draw: int) -> str:
    return hashlib.sha256(f"{draw}\n{prompt}".encode("utf-8", "surrogatepass")).hexdigest()
