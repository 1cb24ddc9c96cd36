"""The Open Bandit Dataset: which clothes a shop showed, and which were clicked on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.extras import import_extra
from bandit_envs.datasets.dataset import one_hot
from bandit_envs.tables.cells import to_numbers, to_texts
from bandit_envs.tables.encoding import TableEncoding
from bandit_envs.tables.errors import check_cells, errors_that_name
from bandit_envs.tables.parts import FilePart
from bandit_envs.tables.whole_table import PathLike, read_table

if TYPE_CHECKING:
    from pandas import DataFrame

USER_COLUMNS = ["user_feature_", "position"]
ITEM_COLUMNS = ["item_feature_1", "item_feature_2", "item_feature_3"]


def load_open_bandit(path: PathLike) -> dict[str, Any]:
    """Loads which clothes were shown, and clicked on, from a CSV of the Open Bandit Dataset.

    The result has the arguments of `BanditLog` by their names. In the observation, `global` has the
    `user_feature_*` and the position, one-hot; and `per_arm` the `user-item_affinity_*` of every
    item, which its number names. If `item_context.csv` is in the same folder, the features of items
    follow: a number, and the others one-hot.

    Args:
        path: a file such as random/all/all.csv; it is not downloaded.

    Source: Saito et al., Open Bandit Dataset and Pipeline (2021).
    """
    file = Path(path)
    frame = _read_columns(
        file,
        numbers=["item_id", "propensity_score", "click", "user-item_affinity_"],
        texts=USER_COLUMNS,
    )
    with errors_that_name(file.name):
        affinities = to_numbers(_columns_of(frame, ["user-item_affinity_"]))
        decisions = _check_decisions(frame, num_items=affinities.shape[1])
        users = one_hot(to_texts(_columns_of(frame, USER_COLUMNS)))
    per_arm = affinities[:, :, np.newaxis].astype(np.float32)
    items_file = file.with_name("item_context.csv")
    if items_file.exists():
        items = _load_items(items_file, per_arm.shape[1])
        items_by_row = np.broadcast_to(items, (len(per_arm), *items.shape))
        per_arm = np.concatenate([per_arm, items_by_row], axis=2)
    return {
        "observation": {"global": users, "per_arm": per_arm},
        "action": decisions[:, 0].astype(np.int64),
        "reward": decisions[:, 2],
        "propensity": decisions[:, 1],
        "num_actions": per_arm.shape[1],
        "encoding": TableEncoding(tuple(map(str, range(per_arm.shape[1])))),
    }


def _check_decisions(frame: DataFrame, num_items: int) -> NDArray[np.float64]:
    """Returns the items, propensities and clicks of a data frame: [n, 3]."""
    used = frame[["item_id", "propensity_score", "click"]]
    table = to_numbers(used)
    items = table[:, :1]
    propensities = table[:, 1:2]
    clicks = table[:, 2:]
    is_item = np.isin(items, np.arange(num_items))
    check_cells(used[["item_id"]], is_item, f"an item from 0 to {num_items - 1}")
    is_probability = (propensities > 0.0) & (propensities <= 1.0)
    check_cells(used[["propensity_score"]], is_probability, "a probability above 0")
    check_cells(used[["click"]], np.isin(clicks, (0.0, 1.0)), "0 or 1")
    return table


def _load_items(file: Path, num_items: int) -> NDArray[np.float32]:
    """Returns the features of the items in item_context.csv, in the order of their numbers."""
    frame = _read_columns(file, numbers=["item_id", "item_feature_0"], texts=ITEM_COLUMNS)
    with errors_that_name(file.name):
        table = to_numbers(frame[["item_id", "item_feature_0"]])
        ids = table[:, 0]
        order = ids.argsort()
        if not np.array_equal(ids[order], np.arange(num_items)):
            raise ValueError(f"it has not each item from 0 to {num_items - 1} once")
        categories = one_hot(to_texts(frame[ITEM_COLUMNS]))
        features = np.column_stack([table[:, 1], categories])
    return features[order].astype(np.float32)


def _read_columns(file: Path, numbers: list[str], texts: list[str]) -> DataFrame:
    """Reads a CSV file that has columns whose names start with those of `numbers` and `texts`."""
    import_extra("pandas", "datasets")
    header = FilePart.find(file, file.name).column_names()
    with errors_that_name(file.name):
        _names_of(header, numbers)
        text_columns = _names_of(header, texts)
    as_text = dict.fromkeys(text_columns, str)
    frame = read_table(file, "datasets", dtype=as_text, na_filter=False)
    if not len(frame):
        raise ValueError(f"{file.name} has no rows")
    return frame


def _columns_of(frame: DataFrame, starts: list[str]) -> DataFrame:
    """Returns the columns of a data frame that `_names_of` finds."""
    return frame[_names_of(list(frame), starts)]


def _names_of(names: Sequence[str], starts: Sequence[str]) -> list[str]:
    """Returns the names that start with each of `starts`, in this order.

    Raises:
        ValueError: no name has a start, or a name is there twice.
    """
    chosen: list[str] = []
    for start in starts:
        found = [name for name in names if name.startswith(start)]
        if not found:
            raise ValueError(f"there is no column {start}")
        chosen += found
    for name in chosen:
        if chosen.count(name) > 1:
            raise ValueError(f"{chosen.count(name)} columns are called {name!r}; expected one")
    return chosen
