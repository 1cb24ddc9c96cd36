"""Data sets in files as their publishers distribute them."""

from __future__ import annotations

import csv
import gzip
import math
import os
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs.base.checks import check_numbers, shown
from bandit_envs.datasets.dataset import Dataset, from_columns
from bandit_envs.rewards import Discrete

PathLike = str | os.PathLike[str]


class Source(NamedTuple):
    """Where a data set is published, and the SHA-256 of the file."""

    url: str
    sha256: str
    megabytes: float
    licence: str


UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
SOURCES = {
    "mushroom": Source(
        f"{UCI}/mushroom/agaricus-lepiota.data",
        "e65d082030501a3ebcbcd7c9f7c71aa9d28fdfff463bf4cf4716a3fe13ac360e",
        0.4,
        "CC BY 4.0",
    ),
    "adult": Source(
        f"{UCI}/adult/adult.data",
        "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        4.0,
        "CC BY 4.0",
    ),
    "covertype": Source(
        "https://ndownloader.figshare.com/files/5976039",
        "614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
        11.2,
        "CC BY 4.0",
    ),
    "movielens": Source(
        "https://files.grouplens.org/datasets/movielens/ml-100k.zip",
        "50d2a982c66986937beb9ffb3aa76efe955bf3d5c6b761f4e3a7cd717c6a3229",
        4.9,
        "research use only, no redistribution; see its README",
    ),
}

ADULT = """
age workclass fnlwgt education education-num marital-status occupation relationship race sex
capital-gain capital-loss hours-per-week native-country income
"""
MUSHROOM = """
edibility cap-shape cap-surface cap-color bruises odor gill-attachment gill-spacing gill-size
gill-color stalk-shape stalk-root stalk-surface-above-ring stalk-surface-below-ring
stalk-color-above-ring stalk-color-below-ring veil-type veil-color ring-number ring-type
spore-print-color population habitat
"""


def load_mushroom(path: PathLike | None = None) -> Dataset:
    """Loads 8,124 mushrooms: 117 one-hot features; label 1 is edible, label 0 poisonous.

    Args:
        path: the file agaricus-lepiota.data; by default, it is downloaded once.

    Raises:
        ValueError: the file is malformed, as for all loaders; the message names file, line and
            column.
    """
    file = _file("mushroom", path)
    dataset = _table(file, MUSHROOM.split(), "edibility")
    kinds = [dataset.label_names[label] for label in dataset.labels]
    for line, kind in enumerate(kinds, 1):
        if kind not in ("e", "p"):
            raise ValueError(f"{file.name}, line {line}, column 1 is {kind!r}; expected e or p")
    labels = np.array([kind == "e" for kind in kinds], np.intp)
    return dataset._replace(labels=labels, label_names=("poisonous", "edible"))


def mushroom_rewards(
    no_eat: float = 0.0,
    eat_safe: float = 5.0,
    eat_poison_bad: float = -35.0,
    eat_poison_good: float = 5.0,
    prob_poison_bad: float = 0.5,
) -> Discrete:
    """Returns the law of the mushroom bandit, where action 1 eats: parameters [2, 2].

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
    return _table(_file("adult", path), ADULT.split(), "income")


def load_covertype(path: PathLike | None = None) -> Dataset:
    """Loads 581,012 patches of forest: 54 features, 7 labels.

    The path is of covtype.data or covtype.data.gz; by default, it is downloaded once.
    """
    return _numbers(_file("covertype", path), 55, ",", num_labels=7)


def load_statlog_shuttle(path: PathLike) -> Dataset:
    """Loads the space shuttle's sensors: 9 features, 7 labels.

    The path is of shuttle.trn (decompressed) or shuttle.tst of the UCI repository.
    """
    return _numbers(Path(path), 10, " ", num_labels=7)


def load_movielens(path: PathLike | None = None, delimiter: str = "\t") -> NDArray[np.float64]:
    """Loads ratings: [n, 3] of user and item, both from 0, and rating.

    Args:
        path: the file u.data, or ml-100k.zip; by default, it is downloaded once.
        delimiter: between the columns of user, item, rating and timestamp.
    """
    file = _file("movielens", path)
    table = _floats(file, 4, delimiter, member="ml-100k/u.data")
    users_and_items = table[:, :2]
    bad = (users_and_items < 1) | (users_and_items != np.floor(users_and_items))
    if bad.any():
        line, column = (int(index) + 1 for index in np.argwhere(bad)[0])
        raise ValueError(f"{file.name}, line {line}, column {column}: expected ids from 1")
    return np.column_stack([users_and_items - 1.0, table[:, 2]])


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
        raise ValueError(f"table is {shown(table)}; expected rows of user, item and rating")
    places = [np.unique(column, return_inverse=True)[1].reshape(-1) for column in rows.T[:2]]
    ratings = np.zeros([place.max() + 1 for place in places])
    ratings[tuple(places)] = rows[:, 2]
    return ratings


def _file(name: str, path: PathLike | None) -> Path:
    """Returns `path`, or the path of a data set in the user's cache, downloaded if needed."""
    if path is not None:
        return Path(path)
    import pooch  # noqa: PLC0415

    source = SOURCES[name]
    cache = Path(pooch.os_cache("bandit_envs"))
    file = source.url.rpartition("/")[2] if name != "covertype" else "covtype.data.gz"
    known = cache / file
    if not known.exists() or pooch.file_hash(str(known)) != source.sha256:
        print(f"Downloading {source.url}: {source.megabytes} MB, licence: {source.licence}")
    found: str = pooch.retrieve(source.url, f"sha256:{source.sha256}", file, cache)
    return Path(found)


def _lines(path: Path, member: str = "") -> list[str]:
    """Reads the lines of a file, or of a `member` of a zip, without the empty ones at the end."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            lines = archive.read(member).decode().splitlines()
    elif path.suffix == ".gz":
        lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    else:
        lines = path.read_text(encoding="utf-8").splitlines()
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        raise ValueError(f"{path.name} is empty")
    return lines


def _rows(path: Path, lines: list[str], columns: int, delimiter: str = ",") -> list[list[str]]:
    rows = list(csv.reader(lines, delimiter=delimiter, skipinitialspace=True))
    for line, row in enumerate(rows, 1):
        if len(row) != columns:
            raise ValueError(f"{path.name}, line {line} has {len(row)} columns; expected {columns}")
        if "" in row:
            raise ValueError(f"{path.name}, line {line}, column {row.index('') + 1} is empty")
    return rows


def _floats(path: Path, columns: int, delimiter: str, member: str = "") -> NDArray[np.float64]:
    """Reads a table of finite numbers."""
    lines = _lines(path, member)
    try:
        table = np.loadtxt(lines, delimiter=delimiter, comments=None, ndmin=2)
    except ValueError:
        table = np.empty((0, 0))
    if table.shape == (len(lines), columns) and np.isfinite(table).all():
        return table
    for line, row in enumerate(_rows(path, lines, columns, delimiter), 1):
        for column, text in enumerate(row, 1):
            _check_number(path, line, column, text)
    return np.array(_rows(path, lines, columns, delimiter), np.float64)


def _check_number(path: Path, line: int, column: int, text: str) -> None:
    try:
        good = math.isfinite(float(text))
    except ValueError:
        good = False
    if not good:
        found = f"{path.name}, line {line}, column {column} is {text!r}"
        raise ValueError(f"{found}; expected a number")


def _table(path: Path, names: list[str], label: str) -> Dataset:
    columns: dict[str, NDArray[np.str_] | NDArray[np.float64]] = {}
    rows = _rows(path, _lines(path), len(names))
    for column, (name, values) in enumerate(zip(names, zip(*rows)), 1):
        text = np.array(values)
        try:
            columns[name] = numbers = text.astype(np.float64)
        except ValueError:
            columns[name] = text
        else:
            if not np.isfinite(numbers).all():
                line = int(np.isfinite(numbers).argmin())
                _check_number(path, line + 1, column, values[line])
    return from_columns(columns, label)


def _numbers(path: Path, columns: int, delimiter: str, num_labels: int) -> Dataset:
    """Reads numbers whose last column is a label from 1."""
    table = _floats(path, columns, delimiter)
    labels = table[:, -1].astype(np.intp) - 1
    bad = (labels != table[:, -1] - 1) | (labels < 0) | (labels >= num_labels)
    if bad.any():
        line = int(bad.argmax()) + 1
        raise ValueError(
            f"{path.name}, line {line}, column {columns} is {table[line - 1, -1]:g}; "
            f"expected a label from 1 to {num_labels}"
        )
    names = tuple(f"feature {index}" for index in range(columns - 1))
    return Dataset(table[:, :-1].astype(np.float32), labels, tuple(range(1, num_labels + 1)), names)
