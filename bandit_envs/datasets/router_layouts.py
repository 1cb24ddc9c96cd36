"""Layouts of published tables of what language models score and cost, from your own copies."""

from __future__ import annotations

import contextlib
import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from bandit_envs.base.checks import short_repr
from bandit_envs.base.extras import import_extra
from bandit_envs.names.notation import parse_literal
from bandit_envs.tables.cells import to_costs, to_numbers
from bandit_envs.tables.errors import errors_that_name
from bandit_envs.tables.folders import find_parts
from bandit_envs.tables.parts import FilePart
from bandit_envs.tables.roles import Names, check_column_names
from bandit_envs.tables.whole_table import AnyTable, table_in_memory

if TYPE_CHECKING:
    from pandas import DataFrame

COST = "|total_cost"
"""How the columns of costs end in RouterBench."""

ANSWER = ["global_index", "question", "llm_selected"]
"""What tells the answers in RouterArena apart, and what was asked."""

GRADE = ["score", "inference_cost"]
"""What the evaluation of an answer in RouterArena has, among others."""


class OutcomeColumns(NamedTuple):
    """Which columns of a table of outcomes are which, as for `read_outcomes`."""

    features: Names
    reward: Names
    cost: Names | None = None
    example: str | None = None
    action: str | None = None
    unit: str | None = None
    by: str | None = None


NamedColumns: TypeAlias = "tuple[DataFrame, OutcomeColumns]"
"""A table in memory, and which of its columns are which."""


@contextlib.contextmanager
def open_routerbench(table: AnyTable, only: str | None) -> Iterator[NamedColumns]:
    """Yields RouterBench: 11 language models on 36,497 prompts, with quality and cost in dollars.

    The table has a line for each prompt, with the columns `prompt`, and for each model its score,
    under its name, and `name|total_cost`. Other columns, such as `sample_id`, `eval_name`,
    `name|model_response` and `oracle_model_to_route_to`, are not read. It is published as a pickle,
    which is not read, as a pickle runs code: load one where you trust it, and write it with
    `to_parquet`.

    Source: Hu et al., RouterBench (2024).
    """
    if isinstance(table, (str, os.PathLike)) and Path(table).suffix in {".pkl", ".pickle"}:
        name = Path(table).name
        raise ValueError(f"{name} is a pickle, which runs code; expected CSV or Parquet")
    with table_in_memory(table, "datasets", only) as frame:
        check_column_names("it", ["prompt"], list(frame))
        names = [str(name) for name in frame.columns]
        models = [name.removesuffix(COST) for name in names if name.endswith(COST)]
        if not models:
            raise ValueError(f"no column ends in {COST}; expected the columns of RouterBench")
        prompts = frame.assign(prompt=[_join_turns(text) for text in frame["prompt"]])
        yield prompts, OutcomeColumns("prompt", models, "{}" + COST)


@contextlib.contextmanager
def open_routerarena(table: AnyTable, only: str | None) -> Iterator[NamedColumns]:
    """Yields answers of RouterArena: what language models score on its questions, and cost.

    Its folder `cached_results` has a file of JSON lines for each model. A line is an answer, with
    `global_index` and `question`, the model `llm_selected`, and an `evaluation_result` with `score`
    and `inference_cost`. Other entries are not read. If a model has answered a question several
    times, these numbers are means. The text of a question is that of its first line.

    Answers without an evaluation are left out, which a warning says; the model is not available for
    such a question if it has no other answer.

    Raises:
        TypeError: the table is not the path of the folder, or of a file.
        ValueError: a line is not such an answer; the message names the file and the line.

    Source: Lu et al., RouterArena (2025).
    """
    pandas = import_extra("pandas", "datasets")
    if not isinstance(table, (str, os.PathLike)):
        raise TypeError(f"table is of type {type(table).__name__}; expected the path of a folder")
    folder = Path(table)
    answers = [
        answer for part in find_parts(folder, (".jsonl",), only).found for answer in _read(part)
    ]
    graded = [answer for answer in answers if len(answer) > 2 + len(ANSWER)]
    if not graded:
        raise ValueError(f"{folder.name} has no answer with an evaluation_result")
    if len(graded) < len(answers):
        left_out = f"{len(answers) - len(graded)} of {len(answers)} answers have no evaluation"
        warnings.warn(f"{folder.name}: {left_out}, and are left out", stacklevel=4)
    frame = pandas.DataFrame(graded, columns=["file", "line", *ANSWER, *GRADE])
    with errors_that_name(folder.name):
        means = _mean_of_repeated(frame.set_index(["file", "line"]))
        score, cost = GRADE
        yield means, OutcomeColumns("question", score, cost, "global_index", "llm_selected")


LAYOUTS: Mapping[str, Callable[[AnyTable, str | None], AbstractContextManager[NamedColumns]]] = {
    "routerbench": open_routerbench,
    "routerarena": open_routerarena,
}
"""What opens a table whose columns are known, by the name of its layout."""


def _read(part: FilePart) -> Iterator[list[Any]]:
    """Yields the answers in a file: file, line, `ANSWER`, and `GRADE` if it has an evaluation."""
    with part.reading(), part.file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                try:
                    yield [part.name, number, *_read_answer(json.loads(line))]
                except json.JSONDecodeError as error:
                    expected = "expected an answer as JSON in each line"
                    raise ValueError(f"line {number} is not JSON; {expected}") from error
                except (RecursionError, ValueError) as error:
                    raise ValueError(f"line {number}: {error}") from error


def _read_answer(answer: Any) -> list[Any]:
    """Returns what is read of an answer; ValueError if it lacks something."""
    if not isinstance(answer, dict):
        raise ValueError(f"it is {short_repr(answer)}; expected an object")
    texts = [_entry(answer, name) for name in ANSWER]
    for name, text in zip(ANSWER, texts):
        if not isinstance(text, str):
            raise ValueError(f"{name} is {short_repr(text)}; expected a text")
    grade = answer.get("evaluation_result")
    if grade is None or (isinstance(grade, dict) and grade.get("score") is None):
        return texts
    if not isinstance(grade, dict):
        raise ValueError(f"evaluation_result is {short_repr(grade)}; expected an object or null")
    return [*texts, *(_entry(grade, name) for name in GRADE)]


def _entry(values: dict[str, Any], name: str) -> Any:
    """Returns an entry of an object; ValueError if it has none."""
    if name not in values:
        raise ValueError(f"there is no {name!r}; expected the entries of RouterArena")
    return values[name]


def _mean_of_repeated(answers: DataFrame) -> DataFrame:
    """Returns a line for each question and model, with means of scores and costs."""
    score = to_numbers(answers[GRADE[:1]])[:, 0]
    cost = to_costs(answers[GRADE[1:]])[:, 0]
    checked = answers.assign(**dict(zip(GRADE, (score, cost))))
    first = checked.groupby("global_index", sort=False)["question"].transform("first")
    keys = ["global_index", "question", "llm_selected"]
    grouped = checked.assign(question=first).groupby(keys, sort=False)
    means: DataFrame = grouped.mean().reset_index()
    return means


def _join_turns(prompt: str) -> str:
    """Returns the text of a prompt that may be written as a list of turns."""
    try:
        turns = parse_literal(prompt)
    except ValueError:
        return prompt
    return "\n".join(map(str, turns)) if isinstance(turns, list) else prompt
