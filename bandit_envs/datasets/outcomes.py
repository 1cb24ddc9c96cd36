"""Tables of what every action would have earned on every example, from files and data frames."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Floats, Mask
from bandit_envs.base.checks import as_list
from bandit_envs.datasets.tables import (
    PathLike,
    errors_that_name,
    import_extra,
    read_table,
    to_numbers,
)

if TYPE_CHECKING:
    from pandas import DataFrame

Names: TypeAlias = str | Sequence[str]

TextFeatures: TypeAlias = Callable[[list[str]], Any] | Any
"""A function of n texts, or a transformer of scikit-learn, that returns features [n, d]."""

NUM_TEXT_FEATURES = 64


class Outcomes(NamedTuple):
    """Outcomes of K actions on n examples, as `OutcomeTableBandit` takes them."""

    contexts: NDArray[np.float32]  # [n, d]
    rewards: Floats  # [n, K]
    costs: Floats | None  # [n, K]
    actions: list[str]  # the names of the K actions
    available: Mask | None  # [n, K], where the table lacks outcomes; None if it lacks none


def read_outcomes(
    path: PathLike,
    context: Names,
    rewards: Names,
    costs: Names | None = None,
    *,
    example: str | None = None,
    action: str | None = None,
    text_features: TextFeatures | None = None,
) -> Outcomes:
    """Reads outcomes from a CSV file with a header, or from Parquet.

    A wide table has a line for each example and a column for each action. A long one has a line for
    each outcome: name its columns `example` and `action`.

    Args:
        path: of the file, or of a folder of Parquet files. CSV may be compressed.
        context: the columns of the features of examples. Those of text become features by
            `text_features`.
        rewards: the columns of the rewards, which name the actions; of a long table, one column.
        costs: the columns of the costs, in the order of the rewards, or a pattern such as
            "{}_cost", in which {} stands for the name of the action; of a long table, one column.
        example: of a long table, the column that tells examples apart.
        action: of a long table, the column of the names of actions, which are sorted.
        text_features: see `hash_texts`, the default.

    Raises:
        ModuleNotFoundError: pandas, pyarrow or scikit-learn is needed and not installed.
        ValueError: the file is damaged, columns are missing, or cells are not numbers. The message
            names the file, the line and the column.
    """
    frame = read_table(path, "datasets")
    with errors_that_name(Path(path)):
        return outcomes_from_frame(
            frame,
            context,
            rewards,
            costs,
            example=example,
            action=action,
            text_features=text_features,
        )


def outcomes_from_frame(
    frame: DataFrame,
    context: Names,
    rewards: Names,
    costs: Names | None = None,
    *,
    example: str | None = None,
    action: str | None = None,
    text_features: TextFeatures | None = None,
) -> Outcomes:
    """Makes outcomes of a pandas DataFrame. The arguments are those of `read_outcomes`."""
    if not len(frame):
        raise ValueError("there are no rows")
    features = as_list(context)
    paid = as_list(rewards)
    _require_columns(frame, [*features, *paid])
    if (example is None) != (action is None):
        raise ValueError("a long table needs the columns of both example and action")
    if example is not None and action is not None:
        spent = None if costs is None else _only("costs", costs)
        return _from_long(
            frame,
            features,
            _only("rewards", rewards),
            spent,
            example=example,
            action=action,
            text_features=text_features,
        )
    table_of_costs = None
    if costs is not None:
        names = as_list(costs)
        if len(names) == 1 and "{}" in names[0]:
            names = [names[0].format(name) for name in paid]
        if len(names) != len(paid):
            raise ValueError(f"costs names {len(names)} columns; expected {len(paid)}, as rewards")
        _require_columns(frame, names)
        table_of_costs = to_numbers(frame[names])
    return Outcomes(
        contexts=_make_features(frame[features], text_features),
        rewards=to_numbers(frame[paid]),
        costs=table_of_costs,
        actions=paid,
        available=None,
    )


def _from_long(
    frame: DataFrame,
    features: list[str],
    rewards: str,
    costs: str | None,
    *,
    example: str,
    action: str,
    text_features: TextFeatures | None,
) -> Outcomes:
    """Makes outcomes of a table with a line for each outcome."""
    pandas = import_extra("pandas", "datasets")
    _require_columns(frame, [example, action, *([] if costs is None else [costs])])
    rows, examples = pandas.factorize(frame[example])
    columns, actions = pandas.factorize(frame[action].astype(str), sort=True)
    if (rows < 0).any():
        line = frame.index[int((rows < 0).argmax())]
        raise ValueError(f"line {line}, column {example} is empty; expected a value")
    shape = len(examples), len(actions)
    cells = rows * shape[1] + columns
    _, first, counts = np.unique(cells, return_index=True, return_counts=True)
    if (counts > 1).any():
        twice = frame.iloc[first[counts.argmax()]]
        found = f"{example} {twice[example]} has two outcomes of {action} {twice[action]}"
        raise ValueError(f"{found}; expected one")
    available = np.zeros(shape, np.bool_)
    available.reshape(-1)[cells] = True

    def spread(name: str) -> Floats:
        table = np.zeros(shape)
        table.reshape(-1)[cells] = to_numbers(frame[[name]])[:, 0]
        return table

    first_lines = frame.iloc[np.unique(rows, return_index=True)[1]]
    return Outcomes(
        contexts=_make_features(first_lines[features], text_features),
        rewards=spread(rewards),
        costs=None if costs is None else spread(costs),
        actions=[str(name) for name in actions],
        available=None if available.all() else available,
    )


def read_routerbench(path: PathLike, text_features: TextFeatures | None = None) -> Outcomes:
    """Reads RouterBench: 11 language models on 36,497 prompts, with quality and cost in dollars.

    Args:
        path: of your own copy as CSV or Parquet. Its pickles are not read, as a pickle runs code:
            load one where you trust it, and write it with `to_parquet`.
        text_features: of the prompts; see `hash_texts`, the default.

    Source: Hu et al., RouterBench (2024).
    """
    if Path(path).suffix in {".pkl", ".pickle"}:
        raise ValueError(f"{Path(path).name} is a pickle, which runs code; expected CSV or Parquet")
    frame = read_table(path, "datasets")
    with errors_that_name(Path(path)):
        suffix = "|total_cost"
        names = [str(name) for name in frame.columns]
        models = [name.removesuffix(suffix) for name in names if name.endswith(suffix)]
        if not models:
            raise ValueError(f"no column ends in {suffix}; expected the columns of RouterBench")
        prompts = frame.assign(prompt=[_join_turns(text) for text in frame["prompt"]])
        return outcomes_from_frame(
            prompts, "prompt", models, "{}" + suffix, text_features=text_features
        )


def hash_texts(texts: list[str], num_features: int = NUM_TEXT_FEATURES) -> NDArray[np.float32]:
    """Returns features [n, d] of texts: TF-IDF of hashed words. Needs no download.

    Args:
        texts: n of them.
        num_features: d. Different words may share a feature.

    Source: scikit-learn's `HashingVectorizer` and `TfidfTransformer`.
    """
    text = import_extra("sklearn.feature_extraction.text", "datasets")
    hashed = text.HashingVectorizer(n_features=num_features, alternate_sign=False)
    counts = hashed.fit_transform(texts)
    weighted = text.TfidfTransformer().fit_transform(counts)
    return np.asarray(weighted.toarray(), np.float32)


def _make_features(frame: DataFrame, text_features: TextFeatures | None) -> NDArray[np.float32]:
    """Returns the features [n, d] of columns of numbers or of text."""
    pandas = import_extra("pandas", "datasets")
    make = hash_texts if text_features is None else text_features
    if hasattr(make, "fit_transform"):
        make = make.fit_transform
    parts = []
    for name in frame:
        if pandas.api.types.is_numeric_dtype(frame[name]):
            parts.append(to_numbers(frame[[name]]))
            continue
        missing = frame[name].isna().to_numpy()
        if missing.any():
            line = frame.index[int(missing.argmax())]
            raise ValueError(f"line {line}, column {name} is empty; expected a text")
        features = make([str(cell) for cell in frame[name]])
        dense = features.toarray() if hasattr(features, "toarray") else np.asarray(features)
        if dense.ndim != 2 or len(dense) != len(frame):
            expected = f"({len(frame)}, d)"
            raise ValueError(f"text_features returned shape {dense.shape}; expected {expected}")
        parts.append(dense)
    return np.concatenate(parts, axis=1).astype(np.float32)


def _join_turns(prompt: str) -> str:
    """Returns the text of a prompt that may be written as a list of turns."""
    try:
        turns = ast.literal_eval(prompt)
    except (SyntaxError, ValueError):
        return prompt
    return "\n".join(map(str, turns)) if isinstance(turns, list) else prompt


def _only(name: str, columns: Names) -> str:
    """Returns the one column that a long table has."""
    names = as_list(columns)
    if len(names) != 1:
        raise ValueError(f"{name} is {columns}; expected one column, as the table is long")
    return names[0]


def _require_columns(frame: DataFrame, names: Sequence[str]) -> None:
    """Raises ValueError if a data frame lacks a column, or has it twice."""
    for name in names:
        count = int((frame.columns == name).sum())
        if count != 1:
            found = ", ".join(map(str, frame.columns))
            raise ValueError(f"there are {count} columns {name!r}; the columns are {found}")
