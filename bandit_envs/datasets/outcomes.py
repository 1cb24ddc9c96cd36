"""Tables of what every action would have earned on every example, from files and data frames."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Array, Floats, Indices, Mask
from bandit_envs.base.checks import as_list, short_repr
from bandit_envs.base.extras import import_extra
from bandit_envs.datasets.router_layouts import LAYOUTS, OutcomeColumns
from bandit_envs.tables.cells import to_costs, to_numbers
from bandit_envs.tables.errors import check_cells, name_row, warn_of_texts_among_numbers
from bandit_envs.tables.missing import MissingValues
from bandit_envs.tables.roles import Names, Roles, check_column_names, find_unnamed, match_columns
from bandit_envs.tables.whole_table import AnyTable, table_in_memory

if TYPE_CHECKING:
    from pandas import DataFrame

TextFeatures: TypeAlias = Callable[[list[str]], Any] | Any
"""A function of n texts, or a transformer of scikit-learn, that returns features [n, d]."""

NUM_TEXT_FEATURES = 64

ROW = ("example", "unit", "by")
"""Roles of columns that say what a row is, which may be features, too."""


class Outcomes(NamedTuple):
    """Outcomes of K actions on n examples, as `OutcomeTableBandit` takes them."""

    contexts: NDArray[np.float32]  # [n, d]
    rewards: Floats  # [n, K]
    costs: Floats | None  # [n, K]
    actions: list[str]  # the names of the K actions
    available: Mask | None  # [n, K], where the table lacks outcomes; None if it lacks none
    features: Sequence[str] = ()  # the d columns of the contexts; () if they have no names
    units: Indices | None = None  # [n], whose each row is; None: equal contexts are of one
    segments: NDArray[np.str_] | None = None  # [n], the segment of each row; None without


class _Cells(NamedTuple):
    """Where the lines of a long table belong in one of examples and actions."""

    shape: tuple[int, int]  # [n, K]
    places: Indices  # of each line in the flat table
    first_lines: Indices  # of each example, [n]
    actions: list[str]  # [K]

    def spread(self, values: NDArray[Any], empty: float) -> Floats:
        """Returns the values of the lines as a table [n, K]; `empty` where there is no line."""
        table = np.full(self.shape, empty)
        table.reshape(-1)[self.places] = values
        return table


def read_outcomes(
    table: AnyTable,
    features: Names = (),
    reward: Names = (),
    cost: Names | None = None,
    *,
    example: str | None = None,
    action: str | None = None,
    unit: str | None = None,
    by: str | None = None,
    layout: str | None = None,
    text_features: TextFeatures | None = None,
    only: str | None = None,
    drop_missing: bool = False,
) -> Outcomes:
    """Reads outcomes from a CSV file with a header, from Parquet, or from a pandas DataFrame.

    A wide table has a line for each example and a column for each action. A long one has a line for
    each outcome: name its columns `example` and `action`. An action without a line, or with an
    empty reward in a wide table, is not available for that example.

    Args:
        table: the path of a file or of a folder of such files, or a data frame. CSV may be
            compressed. Folders inside it may be named as in a partitioned table, such as day=2;
            `day` is then a column.
        features: the columns of the features of examples, or patterns such as "embedding_*", in
            which * stands for any text; those of `example`, `action`, `unit` and `by`, and columns
            without a name, are not among them. Columns of text become features by `text_features`.
            Without features, all contexts are 1.
        reward: the columns of the rewards, or patterns, which name the actions; of a long table,
            one column.
        cost: the columns of the costs, in the order of the rewards, or a pattern such as
            "{}_cost", in which {} stands for the name of the action; of a long table, one column.
        example: the column that tells examples apart, which a long table needs. Of a wide table,
            lines with equal features are of one example, by default.
        action: of a long table, the column of the names of actions, which are sorted.
        unit: the column that says whose an example is, such as a user or a session. By default,
            each example is a unit.
        by: the column of whole numbers or texts that cuts the examples into segments.
        layout: of a published table, whose columns are known, so that no others are given:
            "routerbench", of your own copy as CSV or Parquet; or "routerarena", of its folder
            `cached_results` of JSON lines.
        text_features: see `hash_texts`, the default.
        only: a pattern, such as `*.csv`, of the files of a folder that are read. By default, a file
            that is not a table is an error, unless its name begins with "." or "_".
        drop_missing: whether to drop lines with missing values, which a warning counts. By default,
            they raise a ValueError that counts them, but for empty rewards of a wide table.

    Raises:
        ModuleNotFoundError: pandas, pyarrow or scikit-learn is needed and not installed.
        ValueError: the file is damaged, columns are missing, cells are not numbers, costs are below
            0, or lines contradict each other. The message names the file, the line and the column.
    """
    named = OutcomeColumns(features, reward, cost, example, action)
    if layout is None:
        with table_in_memory(table, "datasets", only) as frame:
            return _read(frame, named._replace(unit=unit, by=by), text_features, drop_missing)
    if layout not in LAYOUTS:
        expected = f"one of {', '.join(LAYOUTS)}"
        raise ValueError(f"layout is {short_repr(layout)}; expected {expected}")
    if any(each for each in named):
        raise ValueError(f"layout {layout!r} names the columns; expected no others")
    with LAYOUTS[layout](table, only) as (frame, known):
        return _read(frame, known._replace(unit=unit, by=by), text_features, drop_missing)


def _read(
    table: DataFrame,
    named: OutcomeColumns,
    text_features: TextFeatures | None,
    drop_missing: bool,
) -> Outcomes:
    """Returns the outcomes in a table in memory."""
    roles = _find_roles(table, named)
    needed = roles.names()
    if named.action is None and not drop_missing:  # empty cells are outcomes that a row lacks
        needed = [*roles.features, *(name for role in ROW for name in roles.all_of(role))]
    frame = _without_missing(table, needed, drop_missing)
    if not len(frame):
        raise ValueError("there are no rows")
    if named.action is None:
        return _from_wide(frame, roles, text_features)
    if named.example is None:
        raise ValueError("a long table needs the columns of both example and action")
    cells = _arrange(frame, named.example, named.action)
    return _from_long(frame, roles, cells, text_features)


def _without_missing(frame: DataFrame, names: Sequence[str], drop_missing: bool) -> DataFrame:
    """Returns the rows that miss no value in some columns; ValueError if others are not dropped."""
    missing = MissingValues.from_frame(frame, names)
    if not missing.rows:
        return frame
    if not drop_missing:
        missing.check_none()
    warnings.warn(missing.describe_left_out(), stacklevel=5)
    return frame[frame[list(names)].notna().all(axis=1)]


def _find_roles(frame: DataFrame, named: OutcomeColumns) -> Roles:
    """Returns the roles of columns; ValueError if they are missing, or mean two things.

    Patterns do not stand for columns that say what a row is, nor for those without a name.
    """
    texts = [name for name in frame.columns if isinstance(name, str)]
    left_out = {named.example, named.action, named.unit, named.by, *find_unnamed(texts)}
    others = [name for name in texts if name not in left_out]
    paid = _find_rewards(frame, named, others)
    spent = [] if named.cost is None else as_list(named.cost)
    if len(spent) == 1 and "{}" in spent[0]:
        spent = [spent[0].format(name) for name in paid]
    if named.cost is not None and len(spent) != len(paid):
        raise ValueError(f"cost names {len(spent)} columns; expected {len(paid)}, as reward")
    described = match_columns(as_list(named.features), [*frame.columns], others)
    if not paid:
        raise ValueError("reward names no columns; expected at least one")
    roles = Roles.of(
        described,
        shared=(*ROW, "action"),
        reward=paid,
        cost=spent,
        example=named.example,
        action=named.action,
        unit=named.unit,
        by=named.by,
    )
    check_column_names("it", roles.names(), list(frame.columns))
    return roles


def _find_rewards(frame: DataFrame, named: OutcomeColumns, others: Sequence[str]) -> Sequence[str]:
    """Returns the columns of the rewards, of which none is a cost by the pattern of the costs."""
    paid = match_columns(as_list(named.reward), [*frame.columns], others)
    if not isinstance(named.cost, str) or "{}" not in named.cost:
        return paid
    spent = {named.cost.format(name) for name in paid}
    return [name for name in paid if name not in spent]


def _from_wide(frame: DataFrame, roles: Roles, text_features: TextFeatures | None) -> Outcomes:
    """Makes outcomes of a table with a column for each action."""
    described = frame[[*roles.features]].infer_objects()
    paid = [*roles.all_of("reward")]
    spent = [*roles.all_of("cost")]
    is_empty = frame[paid].isna().to_numpy(np.bool_)
    costs = frame[spent].mask(is_empty, 0.0) if spent else None
    if is_empty.any():
        _check_empty(frame, is_empty, costs)
    return Outcomes(
        contexts=_make_features(described, text_features),
        rewards=to_numbers(frame[paid].mask(is_empty, 0.0)),
        costs=None if costs is None else to_costs(costs),
        actions=[str(name) for name in paid],
        available=~is_empty if is_empty.any() else None,
        features=_feature_names(described),
        units=_number_units(frame[[*(roles.all_of("unit") or roles.all_of("example"))]], described),
        segments=_segments_of(frame[[*roles.all_of("by")]]),
    )


def _segments_of(frame: DataFrame) -> NDArray[np.str_] | None:
    """Returns the texts of the column that cuts the lines into segments; None without one.

    Raises:
        ValueError: it has other values than whole numbers and texts.
    """
    if not len(frame.columns):
        return None
    column = frame.iloc[:, 0].convert_dtypes()
    if column.dtype.kind == "f":
        problem = f"the column {column.name} has numbers that are not whole"
        raise ValueError(f"{problem}; segments are of whole numbers or texts")
    return np.array([str(cell) for cell in column])


def _check_empty(frame: DataFrame, is_empty: Mask, costs: DataFrame | None) -> None:
    """Warns of outcomes that a wide table lacks.

    Args:
        frame: the table.
        is_empty: [n, K], where it has no reward.
        costs: [n, K], 0 there; None if there are none.

    Raises:
        ValueError: a row has no outcome, or one that has a reward and no cost.
    """
    if costs is not None:
        MissingValues.from_frame(costs, list(costs)).check_none()
    is_whole = is_empty.all(axis=1)
    if is_whole.any():
        place = name_row(frame, int(is_whole.argmax()))
        raise ValueError(f"{place} has no outcome; expected one, or drop_missing=True")
    found = f"{np.count_nonzero(is_empty)} of {is_empty.size} outcomes are empty"
    warnings.warn(f"{found}; such actions are not available in these rows", stacklevel=6)


def _number_units(named: DataFrame, described: DataFrame) -> Indices:
    """Returns whose each line of a wide table is: [rows].

    Args:
        named: the column that says so, or none.
        described: the columns of the features.
    """
    pandas = import_extra("pandas", "datasets")
    columns = named if len(named.columns) else described
    if not len(columns.columns):
        return np.arange(len(columns))
    codes = [pandas.factorize(columns[name])[0] for name in columns]
    return number_equal_rows(np.column_stack(codes))


def number_equal_rows(table: Array) -> Indices:
    """Returns the numbers [n] of the rows of a table [n, d]; equal rows share one.

    They count from 0, in the order in which rows first appear.

    >>> number_equal_rows(np.array([[0.5], [2.0], [0.5]]))
    array([0, 1, 0])
    """
    numbers: dict[bytes, int] = {}
    rows = np.ascontiguousarray(table)
    return np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in rows], np.intp)


def _from_long(
    frame: DataFrame, roles: Roles, cells: _Cells, text_features: TextFeatures | None
) -> Outcomes:
    """Makes outcomes of a table with a line for each outcome."""
    paid = [*roles.all_of("reward")]
    spent = [*roles.all_of("cost")]
    if len(paid) != 1:
        raise ValueError(f"reward is {', '.join(paid)}; expected one column, as the table is long")
    costs = cells.spread(to_costs(frame[spent])[:, 0], 0.0) if spent else None
    available = cells.spread(np.ones(len(frame)), 0.0) > 0.0
    described = frame[[*roles.features]].infer_objects()
    units = _one_of_each(frame[[*roles.all_of("unit")]], cells)
    return Outcomes(
        contexts=_make_features(_one_of_each(described, cells), text_features),
        rewards=cells.spread(to_numbers(frame[paid])[:, 0], 0.0),
        costs=costs,
        actions=cells.actions,
        available=None if available.all() else available,
        features=_feature_names(described),
        units=_number_units(units, units),
        segments=_segments_of(_one_of_each(frame[[*roles.all_of("by")]], cells)),
    )


def _arrange(frame: DataFrame, example: str, action: str) -> _Cells:
    """Returns where the lines of a long table belong.

    Raises:
        ValueError: two lines name the same example and action.
    """
    pandas = import_extra("pandas", "datasets")
    rows, examples = pandas.factorize(frame[example])
    numbers, actions = pandas.factorize(frame[action].astype(str).str.strip(), sort=True)
    shape = len(examples), len(actions)
    places = rows * shape[1] + numbers
    is_second = pandas.Series(places).duplicated().to_numpy()
    if is_second.any():
        row = int(is_second.argmax())
        first = int((places == places[row]).argmax())
        cell = f"{example} {frame[example].iloc[row]} and {action} {frame[action].iloc[row]}"
        found = f"{name_row(frame, row)} has {cell}, as {name_row(frame, first)} has"
        raise ValueError(f"{found}; expected one outcome")
    first_lines = np.unique(rows, return_index=True)[1]
    return _Cells(shape, places, first_lines, [str(name) for name in actions])


def _one_of_each(columns: DataFrame, cells: _Cells) -> DataFrame:
    """Returns columns [n, ...] of examples, which must be the same in all of their lines."""
    first = columns.iloc[cells.first_lines]
    expected = first.iloc[cells.places // cells.shape[1]]
    is_same = columns.to_numpy(object) == expected.to_numpy(object)
    check_cells(columns, is_same, "what the first line of the example has")
    return first


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
    """Returns the features [n, d] of columns of numbers or of text; without columns, ones."""
    pandas = import_extra("pandas", "datasets")
    make = hash_texts if text_features is None else text_features
    if hasattr(make, "fit_transform"):
        make = make.fit_transform
    parts = []
    for name in frame:
        if pandas.api.types.is_numeric_dtype(frame[name]):
            parts.append(to_numbers(frame[[name]]))
            continue
        warn_of_texts_among_numbers(frame, name, stacklevel=5)
        features = make([str(cell) for cell in frame[name]])
        dense = features.toarray() if hasattr(features, "toarray") else np.asarray(features)
        if dense.ndim != 2 or len(dense) != len(frame):
            expected = f"({len(frame)}, d)"
            raise ValueError(f"text_features returned shape {dense.shape}; expected {expected}")
        parts.append(dense)
    if not parts:
        return np.ones((len(frame), 1), np.float32)
    return np.concatenate(parts, axis=1).astype(np.float32)


def _feature_names(frame: DataFrame) -> Sequence[str]:
    """Returns the names of columns of numbers; () if some are of text, which become others."""
    pandas = import_extra("pandas", "datasets")
    are_numbers = all(pandas.api.types.is_numeric_dtype(frame[name]) for name in frame)
    return [str(name) for name in frame] if are_numbers else ()
