"""Data sets in files as their publishers distribute them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs.base.checks import check_numbers, short_repr
from bandit_envs.datasets.cells import Cells
from bandit_envs.datasets.dataset import Dataset, one_hot
from bandit_envs.rewards import Discrete

PathLike = str | os.PathLike[str]


UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
SOURCES = {
    "mushroom": (
        f"{UCI}/mushroom/agaricus-lepiota.data",
        "e65d082030501a3ebcbcd7c9f7c71aa9d28fdfff463bf4cf4716a3fe13ac360e",
        "0.4 MB, licence: CC BY 4.0",
    ),
    "adult": (
        f"{UCI}/adult/adult.data",
        "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        "4.0 MB, licence: CC BY 4.0",
    ),
    "covertype": (
        "https://ndownloader.figshare.com/files/5976039",
        "614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
        "11.2 MB, licence: CC BY 4.0",
    ),
    "movielens": (
        "https://files.grouplens.org/datasets/movielens/ml-100k.zip",
        "50d2a982c66986937beb9ffb3aa76efe955bf3d5c6b761f4e3a7cd717c6a3229",
        "4.9 MB, licence: research use only, no redistribution; see its README",
    ),
}
"""Where data sets are published, the SHA-256 of the file, its size and its licence."""


def load_mushroom(path: PathLike | None = None) -> Dataset:
    """Loads 8,124 mushrooms: 117 one-hot features; label 1 is edible, label 0 poisonous.

    Args:
        path: the file agaricus-lepiota.data; by default, it is downloaded once.

    Raises:
        ValueError: the file is malformed, as for all loaders; the message names file, line and
            column.
    """
    cells = Cells(_file("mushroom", path), 23)
    return _dataset(cells, 0, ("p", "e"))


def mushroom_rewards(
    no_eat: float = 0.0,
    eat_safe: float = 5.0,
    eat_poison_bad: float = -35.0,
    eat_poison_good: float = 5.0,
    prob_poison_bad: float = 0.5,
) -> Discrete:
    """Returns the rewards of the mushroom bandit, where action 1 eats: parameters [2, 2].

    A poisonous mushroom that is eaten pays `eat_poison_bad` with probability `prob_poison_bad`.
    TF-Agents' function of this name uses the complement of that probability.

    Source: Blundell et al., Weight uncertainty in neural networks (2015), section 5.3.
    """
    p = prob_poison_bad
    not_eaten = [1.0, 0.0, 0.0, 0.0]
    eaten = [0.0, 0.0, p, 1.0 - p], [0.0, 1.0, 0.0, 0.0]
    values = [no_eat, eat_safe, eat_poison_bad, eat_poison_good]
    return Discrete(values, [[not_eaten, eaten[label]] for label in (0, 1)])


def load_adult(path: PathLike | None = None) -> Dataset:
    """Loads 32,561 persons of the 1994 census: 108 features; label 1 is an income above 50,000.

    The path is of the file adult.data; by default, it is downloaded once.
    """
    cells = Cells(_file("adult", path), 15)
    return _dataset(cells, 14, ("<=50K", ">50K"), numbers=(0, 2, 4, 10, 11, 12))


def load_covertype(path: PathLike | None = None) -> Dataset:
    """Loads 581,012 patches of forest: 54 features, 7 labels.

    The path is of covtype.data or covtype.data.gz; by default, it is downloaded once.
    """
    return _labelled(Cells(_file("covertype", path), 55), 7)


def load_statlog_shuttle(path: PathLike) -> Dataset:
    """Loads the space shuttle's sensors: 9 features, 7 labels.

    The path is of shuttle.trn (decompressed) or shuttle.tst of the UCI repository.
    """
    return _labelled(Cells(Path(path), 10, " "), 7)


def load_movielens(path: PathLike | None = None, delimiter: str = "\t") -> NDArray[np.float64]:
    """Loads ratings: [n, 3] of user and item, both from 0, and rating.

    Args:
        path: the file u.data, or ml-100k.zip; by default, it is downloaded once.
        delimiter: between the columns of user, item, rating and timestamp.
    """
    cells = Cells(_file("movielens", path), 4, delimiter, "ml-100k/u.data")
    table = cells.numbers()
    ids = table[:, :2]
    cells.check((ids >= 1.0) & (ids == np.floor(ids)), "ids from 1")
    return np.column_stack([ids - 1.0, table[:, 2]])


def load_open_bandit(path: PathLike) -> dict[str, Any]:
    """Loads which clothes were shown, and clicked on, from a CSV of the Open Bandit Dataset.

    The result has the arguments of `BanditLog` by their names. In the observation, `global` has the
    `user_feature_*` and the position, one-hot; and `per_arm` the `user-item_affinity_*` of every
    item. If `item_context.csv` is in the same folder, the features of items follow: a number, and
    the others one-hot.

    Args:
        path: a file such as random/all/all.csv; it is not downloaded.

    Source: Saito et al., Open Bandit Dataset and Pipeline (2021).
    """
    cells = Cells(Path(path))
    columns = cells.find("item_id", "propensity_score", "click", "user-item_affinity_")
    table = cells.numbers(columns)
    num_items, propensity = len(columns) - 3, table[:, 1:2]
    of_items = f"an item from 0 to {num_items - 1}"
    cells.check(np.isin(table[:, :1], np.arange(num_items)), of_items, columns)
    cells.check((propensity > 0.0) & (propensity <= 1.0), "a probability above 0", columns[1:])
    cells.check(np.isin(table[:, 2:3], (0.0, 1.0)), "0 or 1", columns[2:])
    per_arm = table[:, 3:, np.newaxis].astype(np.float32)
    users = one_hot(cells.texts(cells.find("user_feature_", "position")))
    items_path = Path(path).with_name("item_context.csv")
    if items_path.exists():
        items = Cells(items_path)
        ids, numbers = items.numbers(items.find("item_id", "item_feature_0")).T
        order = ids.argsort()
        if not np.array_equal(ids[order], np.arange(num_items)):
            raise ValueError(f"{items_path.name} has not each item from 0 to {num_items - 1} once")
        others = one_hot(items.texts(items.find(*(f"item_feature_{k}" for k in (1, 2, 3)))))
        features = np.column_stack([numbers, others])[order].astype(np.float32)
        rows = np.broadcast_to(features, (len(per_arm), *features.shape))
        per_arm = np.concatenate([per_arm, rows], axis=2)
    return {
        "observation": {"global": users, "per_arm": per_arm},
        "action": table[:, 0].astype(np.int64),
        "reward": table[:, 2],
        "propensity": table[:, 1],
        "num_actions": num_items,
    }


def ratings_matrix(table: ArrayLike) -> NDArray[np.float64]:
    """Returns the ratings of a table [n, 3] of user, item and rating as a matrix [users, items].

    Its rows and columns are the users and items of the table in the order of their ids. It has 0
    where the table has nothing; of several ratings of an item by a user, the last one counts.

    >>> ratings_matrix([[7, 0, 4.0], [2, 0, 3.0], [2, 5, 1.0]])
    array([[3., 1.],
           [4., 0.]])
    """
    rows = check_numbers("table", table, ndim=2)
    if rows.shape[1] != 3 or not len(rows) or not np.isfinite(rows).all():
        raise ValueError(f"table is {short_repr(table)}; expected rows of user, item and rating")
    places = [np.unique(column, return_inverse=True)[1].reshape(-1) for column in rows.T[:2]]
    ratings = np.zeros([place.max() + 1 for place in places])
    ratings[tuple(places)] = rows[:, 2]
    return ratings


def _file(name: str, path: PathLike | None) -> Path:
    """Returns `path`, or the path of a data set in the user's cache, downloaded if needed."""
    if path is not None:
        return Path(path)
    import pooch  # noqa: PLC0415

    url, sha256, terms = SOURCES[name]
    cache, file = Path(pooch.os_cache("bandit_envs")), url.rpartition("/")[2]
    if not (cache / file).exists() or pooch.file_hash(str(cache / file)) != sha256:
        print(f"Downloading {url}: {terms}")
    return Path(pooch.retrieve(url, f"sha256:{sha256}", file, cache))


def _dataset(
    cells: Cells, label: int, kinds: tuple[str, str], numbers: tuple[int, ...] = ()
) -> Dataset:
    """Makes a data set of columns of text, but for those of `numbers`.

    The column `label` has labels, of which k stands for `kinds[k]`.
    """
    parts, texts = [], cells.texts()
    cells.check(np.isin(texts[:, [label]], kinds), " or ".join(kinds), [label])
    for index in (k for k in range(texts.shape[1]) if k != label):
        is_number = index in numbers
        part = cells.numbers([index]) if is_number else one_hot(texts[:, [index]])
        parts.append(part.astype(np.float32))
    labels = (texts[:, label] == kinds[1]).astype(np.intp)
    return Dataset(np.concatenate(parts, axis=1), labels)


def _labelled(cells: Cells, num_labels: int) -> Dataset:
    """Makes a data set of numbers, of which the last is a label from 1."""
    table = cells.numbers()
    labels, last = table[:, -1:], table.shape[1] - 1
    is_label = np.isin(labels, np.arange(1, num_labels + 1))
    cells.check(is_label, f"a label from 1 to {num_labels}", [last])
    return Dataset(table[:, :-1].astype(np.float32), labels[:, 0].astype(np.intp) - 1)
