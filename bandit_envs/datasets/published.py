"""Data sets in files as their publishers distribute them."""

from __future__ import annotations

import contextlib
import gzip
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs.arrays import Array
from bandit_envs.base.checks import check_numbers, short_repr
from bandit_envs.base.extras import import_extra
from bandit_envs.datasets.dataset import Dataset, one_hot
from bandit_envs.rewards import Discrete
from bandit_envs.tables.cells import to_numbers, to_texts
from bandit_envs.tables.errors import check_cells, errors_that_name
from bandit_envs.tables.whole_table import PathLike

if TYPE_CHECKING:
    from pandas import DataFrame

ROWS_PER_BATCH = 20_000

LONGEST_LINE = 2**20
"""The most bytes of a first line. A longer one is not of a table, and could fill the memory."""

UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"


class Publication(NamedTuple):
    """Where a data set is published: address, SHA-256 of the file, size and licence."""

    url: str
    sha256: str
    terms: str


SOURCES = {
    "mushroom": Publication(
        f"{UCI}/mushroom/agaricus-lepiota.data",
        "e65d082030501a3ebcbcd7c9f7c71aa9d28fdfff463bf4cf4716a3fe13ac360e",
        "0.4 MB, licence: CC BY 4.0",
    ),
    "adult": Publication(
        f"{UCI}/adult/adult.data",
        "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        "4.0 MB, licence: CC BY 4.0",
    ),
    "covertype": Publication(
        "https://ndownloader.figshare.com/files/5976039",
        "614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
        "11.2 MB, licence: CC BY 4.0",
    ),
    "movielens": Publication(
        "https://files.grouplens.org/datasets/movielens/ml-100k.zip",
        "50d2a982c66986937beb9ffb3aa76efe955bf3d5c6b761f4e3a7cd717c6a3229",
        "4.9 MB, licence: research use only, no redistribution; see its README",
    ),
}


def load_mushroom(path: PathLike | None = None) -> Dataset:
    """Loads 8,124 mushrooms: 117 one-hot features; label 1 is edible, label 0 poisonous.

    Args:
        path: the file agaricus-lepiota.data; by default, it is downloaded once.

    Raises:
        ValueError: the file is malformed, as for all loaders; the message names file, line and
            column.
    """
    return _load_categories(_file("mushroom", path), 23, label=1, label_names=("p", "e"))


def mushroom_rewards(
    no_eat: float = 0.0,
    eat_safe: float = 5.0,
    eat_poison_bad: float = -35.0,
    eat_poison_good: float = 5.0,
    prob_poison_bad: float = 0.5,
) -> Discrete:
    """Returns the rewards of the mushroom bandit, where action 1 eats: parameters [2, 2].

    TF-Agents' function of this name takes the complement of `prob_poison_bad`.

    Args:
        no_eat: the reward of action 0.
        eat_safe: of eating an edible mushroom.
        eat_poison_bad: of eating a poisonous mushroom with bad luck.
        eat_poison_good: of eating a poisonous mushroom with good luck.
        prob_poison_bad: the probability of bad luck.

    Source: Blundell et al., Weight uncertainty in neural networks (2015), section 5.3.
    """
    values = [no_eat, eat_safe, eat_poison_bad, eat_poison_good]
    not_eaten = [1.0, 0.0, 0.0, 0.0]
    poisonous = [0.0, 0.0, prob_poison_bad, 1.0 - prob_poison_bad]
    edible = [0.0, 1.0, 0.0, 0.0]
    return Discrete(values, [[not_eaten, poisonous], [not_eaten, edible]])


def load_adult(path: PathLike | None = None) -> Dataset:
    """Loads 32,561 persons of the 1994 census: 108 features; label 1 is an income above 50,000.

    Args:
        path: the file adult.data; by default, it is downloaded once.
    """
    return _load_categories(
        _file("adult", path),
        num_columns=15,
        label=15,
        label_names=("<=50K", ">50K"),
        numbers=(1, 3, 5, 11, 12, 13),
    )


def load_covertype(path: PathLike | None = None) -> Dataset:
    """Loads 581,012 patches of forest: 54 features, 7 labels.

    Args:
        path: the file covtype.data or covtype.data.gz; by default, it is downloaded once.
    """
    return _load_numbers(_file("covertype", path), num_columns=55, num_labels=7)


def load_statlog_shuttle(path: PathLike) -> Dataset:
    """Loads the space shuttle's sensors: 9 features, 7 labels.

    Args:
        path: the file shuttle.trn (decompressed) or shuttle.tst of the UCI repository.
    """
    return _load_numbers(Path(path), num_columns=10, num_labels=7, delimiter=" ")


def load_movielens(path: PathLike | None = None, delimiter: str = "\t") -> NDArray[np.float64]:
    """Loads ratings: [n, 3] of user and item, both from 0, and rating.

    Args:
        path: the file u.data, or ml-100k.zip; by default, it is downloaded once.
        delimiter: between the columns of user, item, rating and timestamp.
    """
    return _convert_cells(
        _file("movielens", path), _convert_ratings, 4, delimiter, member="ml-100k/u.data"
    )


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
    users, user_rows = np.unique(rows[:, 0], return_inverse=True)
    items, item_columns = np.unique(rows[:, 1], return_inverse=True)
    ratings = np.zeros((len(users), len(items)))
    ratings[user_rows, item_columns] = rows[:, 2]
    return ratings


def _file(name: str, path: PathLike | None) -> Path:
    """Returns `path`, or that of a data set in the user's cache, downloaded if needed."""
    if path is not None:
        return Path(path)
    pooch = import_extra("pooch", "datasets")
    source = SOURCES[name]
    cache = Path(pooch.os_cache("bandit_envs"))
    file = source.url.rpartition("/")[2]
    if not (cache / file).exists() or pooch.file_hash(str(cache / file)) != source.sha256:
        print(f"Downloading {source.url}: {source.terms}")
    return Path(pooch.retrieve(source.url, f"sha256:{source.sha256}", file, cache))


def _convert_cells(
    file: Path,
    convert: Callable[[DataFrame], Array],
    num_columns: int,
    delimiter: str = ",",
    **options: Any,
) -> Array:
    """Reads a file and converts it, a batch of rows at a time, which saves memory.

    Args:
        file: to read.
        convert: checks a data frame of some rows, and returns an array [rows, ...].
        num_columns: of the file.
        delimiter: between the columns.
        **options: of `_scan_cells`.
    """
    with errors_that_name(file.name):
        parts = [convert(frame) for frame in _scan_cells(file, num_columns, delimiter, **options)]
        return np.concatenate(parts)


def _scan_cells(
    path: PathLike, num_columns: int, delimiter: str = ",", member: str = "", **options: Any
) -> Iterator[DataFrame]:
    """Yields the rows of a text file without a header as pandas DataFrames, a batch at a time.

    The index of the rows has the numbers of their lines, from 1, and is named "line". The names of
    the columns are their numbers, from 1. A cell that a line lacks is an empty text. Empty lines
    are left out.

    Args:
        path: of the file, which may be compressed by gzip, or be in a zip archive.
        num_columns: the number of columns.
        delimiter: between the columns.
        member: the name of the file in a zip archive.
        options: of `pandas.read_csv`.

    Raises:
        ModuleNotFoundError: pandas is not installed.
        ValueError: the file is damaged, or a line has too many columns; the message does not name
            the file, so that a caller can use `errors_that_name` for all of its errors.
    """
    pandas = import_extra("pandas", "datasets")
    with _open_binary(Path(path), member) as content:
        if len(content.readline(LONGEST_LINE)) == LONGEST_LINE:
            raise ValueError(f"line 1 is longer than {LONGEST_LINE} bytes")
        content.seek(0)
        batches = pandas.read_csv(
            content,
            sep=delimiter,
            header=None,
            names=None,
            na_filter=False,
            skip_blank_lines=False,
            low_memory=False,  # else columns of numbers and texts warn
            chunksize=ROWS_PER_BATCH,
            **options,
        )
        for frame in batches:
            found = frame.shape[1]
            if found != num_columns:
                raise ValueError(f"line 1 has {found} columns; expected {num_columns}")
            frame.columns = range(1, num_columns + 1)
            frame.index = (frame.index + 1).rename("line")
            yield frame[(frame != "").any(axis=1)]


@contextlib.contextmanager
def _open_binary(file: Path, member: str) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """Opens a file, or one that is compressed, as its first bytes say."""
    with file.open("rb") as content:
        start = content.read(2)
        content.seek(0)
        if start == b"PK":
            with zipfile.ZipFile(content) as archive, archive.open(member) as decompressed:
                yield decompressed
        elif start == b"\x1f\x8b":
            with gzip.open(content) as decompressed:
                yield decompressed
        else:
            yield content


def _convert_ratings(frame: DataFrame) -> NDArray[np.float64]:
    """Returns users and items from 0, and ratings, of a data frame that has them from 1: [n, 3]."""
    table = to_numbers(frame)
    ids = table[:, :2]
    check_cells(frame[[1, 2]], (ids >= 1.0) & (ids == np.floor(ids)), "an id from 1")
    return np.column_stack([ids - 1.0, table[:, 2]])


def _load_numbers(file: Path, num_columns: int, num_labels: int, delimiter: str = ",") -> Dataset:
    """Makes a data set of a file of numbers, of which the last column has labels from 1."""

    def convert(frame: DataFrame) -> NDArray[np.float32]:
        table = to_numbers(frame)
        is_label = np.isin(table[:, -1:], np.arange(1, num_labels + 1))
        check_cells(frame[[num_columns]], is_label, f"a label from 1 to {num_labels}")
        return table.astype(np.float32)

    table = _convert_cells(file, convert, num_columns, delimiter)
    labels = table[:, -1].astype(np.intp) - 1
    return Dataset(table[:, :-1].copy(), labels)


def _load_categories(
    file: Path,
    num_columns: int,
    label: int,
    label_names: tuple[str, str],
    numbers: Sequence[int] = (),
) -> Dataset:
    """Makes a data set of a file of texts, which become one-hot features.

    Args:
        file: to read.
        num_columns: how many columns it has, which count from 1.
        label: the column of the labels.
        label_names: the texts of label 0 and of label 1.
        numbers: the columns of numbers, which stay as they are.
    """

    def convert(frame: DataFrame) -> NDArray[np.object_]:
        texts = to_texts(frame)
        if numbers:
            to_numbers(frame[list(numbers)])  # refuses what is not a number
        is_label = np.isin(texts[:, [label - 1]], label_names)
        check_cells(frame[[label]], is_label, " or ".join(label_names))
        return texts

    texts = _convert_cells(file, convert, num_columns, dtype=str)
    features = []
    for column in range(1, num_columns + 1):
        cells = texts[:, [column - 1]]
        if column in numbers:
            features.append(cells.astype(np.float32))
        elif column != label:
            features.append(one_hot(cells))
    labels = (texts[:, label - 1] == label_names[1]).astype(np.intp)
    return Dataset(np.concatenate(features, axis=1), labels)
