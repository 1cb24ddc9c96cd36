"""Published tables of what language models score and cost, from your own copies."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bandit_envs.base.checks import short_repr
from bandit_envs.base.extras import import_extra
from bandit_envs.datasets.folders import Part, find_parts, refuse_changes
from bandit_envs.datasets.outcomes import (
    Outcomes,
    TextFeatures,
    read_outcomes,
    require_columns,
    to_costs,
)
from bandit_envs.datasets.tables import PathLike, errors_that_name, read_table, to_numbers
from bandit_envs.names.notation import parse_literal

if TYPE_CHECKING:
    from pandas import DataFrame

COST = "|total_cost"
"""How the columns of costs end in RouterBench."""

ANSWER = ["global_index", "question", "llm_selected"]
"""What tells the answers in RouterArena apart, and what was asked."""

GRADE = ["score", "inference_cost"]
"""What the evaluation of an answer in RouterArena has, among others."""


def read_routerbench(path: PathLike, *, text_features: TextFeatures | None = None) -> Outcomes:
    """Reads RouterBench: 11 language models on 36,497 prompts, with quality and cost in dollars.

    The table has a line for each prompt, with the columns `prompt`, and for each model its score,
    under its name, and `name|total_cost`. Other columns, such as `sample_id`, `eval_name`,
    `name|model_response` and `oracle_model_to_route_to`, are not read.

    Args:
        path: of your own copy as CSV or Parquet. Its pickles are not read, as a pickle runs code:
            load one where you trust it, and write it with `to_parquet`.
        text_features: of the prompts; see `hash_texts`, the default.

    Source: Hu et al., RouterBench (2024).
    """
    if Path(path).suffix in {".pkl", ".pickle"}:
        raise ValueError(f"{Path(path).name} is a pickle, which runs code; expected CSV or Parquet")
    frame = read_table(path, "datasets")
    with errors_that_name(Path(path).name):
        require_columns(frame, ["prompt"])
        names = [str(name) for name in frame.columns]
        models = [name.removesuffix(COST) for name in names if name.endswith(COST)]
        if not models:
            raise ValueError(f"no column ends in {COST}; expected the columns of RouterBench")
        prompts = frame.assign(prompt=[_join_turns(text) for text in frame["prompt"]])
        return read_outcomes(prompts, "prompt", models, "{}" + COST, text_features=text_features)


def read_routerarena(
    path: PathLike, *, text_features: TextFeatures | None = None, only: str | None = None
) -> Outcomes:
    """Reads answers of RouterArena: what language models score on its questions, and cost.

    Its folder `cached_results` has a file of JSON lines for each model. A line is an answer, with
    `global_index` and `question`, the model `llm_selected`, and an `evaluation_result` with `score`
    and `inference_cost`. Other entries are not read. If a model has answered a question several
    times, these numbers are means. The text of a question is that of its first line.

    Answers without an evaluation are left out, which a warning says; the model is not available for
    such a question if it has no other answer.

    Args:
        path: of the folder, or of a file.
        text_features: of the questions; see `hash_texts`, the default.
        only: a pattern, such as "gpt*.jsonl", of the files of the folder that are read.

    Raises:
        ValueError: a line is not such an answer; the message names the file and the line.

    Source: Lu et al., RouterArena (2025).
    """
    pandas = import_extra("pandas", "datasets")
    folder = Path(path)
    answers = [
        answer for part in find_parts(folder, (".jsonl",), only).found for answer in _read(part)
    ]
    graded = [answer for answer in answers if len(answer) > 2 + len(ANSWER)]
    if not graded:
        raise ValueError(f"{folder.name} has no answer with an evaluation_result")
    if len(graded) < len(answers):
        left_out = f"{len(answers) - len(graded)} of {len(answers)} answers have no evaluation"
        warnings.warn(f"{folder.name}: {left_out}, and are left out", stacklevel=2)
    frame = pandas.DataFrame(graded, columns=["file", "line", *ANSWER, *GRADE])
    with errors_that_name(folder.name):
        means = _mean_of_repeated(frame.set_index(["file", "line"]))
        return read_outcomes(
            means,
            "question",
            *GRADE,
            example="global_index",
            action="llm_selected",
            text_features=text_features,
        )


def _read(part: Part) -> Iterator[list[Any]]:
    """Yields the answers in a file: file, line, `ANSWER`, and `GRADE` if it has an evaluation."""
    name = errors_that_name(part.name)
    with name, refuse_changes(part), part.file.open(encoding="utf-8") as lines:
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
