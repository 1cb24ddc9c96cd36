"""The files of a table or log, in a folder and in those inside it: none is left out in silence."""

from __future__ import annotations

import math
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TypeAlias
from urllib.parse import unquote

from bandit_envs.names.visible import visible
from bandit_envs.tables.parts import FilePart, Key, Parts
from bandit_envs.tables.suffixes import ends_with, is_companion

MISSING_KEY = "__HIVE_DEFAULT_PARTITION__"
"""How Hive writes the value of a key that is missing."""

ADVICE = 'a pattern as "FOLDER/*.csv" or only="*.csv" selects files'
NAMED = 5  # files that a message names at most

Identity: TypeAlias = tuple[int, int]
"""The device and the number of a file, which its links share."""


def find_parts(path: Path, suffixes: Sequence[str], only: str | None = None) -> Parts[FilePart]:
    """Returns the files of a table: the one at `path`, or those of a folder and of its folders.

    Hidden files, whose names begin with "." or "_", are left out, as pandas and Spark do; so are
    those that SQLite and services keep beside files of decisions. The
    folders may be those of a partitioned table, as pandas and Hive write them: `day=2/`. Parts
    follow one another in the order of their names; where these are numbers of keys, in that of the
    numbers.

    Args:
        path: of a file or folder.
        suffixes: of the files of a folder.
        only: a pattern, such as "*.csv" or "day=2/*", of the files of a folder that are read.

    Raises:
        FileNotFoundError: there is nothing at `path`.
        ValueError: the folder has no such files; or it has others, which the message names; or two
            whose rows would count twice; or a file is not a regular one.
    """
    if not path.exists():
        hint = f"; {ADVICE} of a folder" if set(path.name) & set("*?[") else ""
        raise FileNotFoundError(f"{path} does not exist{hint}")
    if not path.is_dir():
        if only is not None:
            raise ValueError(f"only is {only!r}, and {path} is not a folder; expected None")
        return Parts([FilePart.find(path, path.name)])
    files = dict(_walk(path, path, {}))
    names = _select(files, only)
    _check_files(path, {name: files[name] for name in names}, suffixes)
    keys = _read_keys(names)
    names.sort(key=lambda name: _order(name, keys[name]))
    found = [FilePart.find(files[name], name, keys[name]) for name in names]
    return Parts(found, [name for name in files if name not in keys])


def has_files(path: Path, suffixes: Sequence[str], only: str | None = None) -> bool:
    """Returns whether a file ends in one of some suffixes, or all files of a folder do.

    Args:
        path: of the file or folder.
        suffixes: of the files.
        only: as for `find_parts`.
    """
    names = _select(dict(_walk(path, path, {})), only) if path.is_dir() else [path.name]
    return bool(names) and all(ends_with(name, suffixes) for name in names)


def _select(names: Iterable[str], only: str | None) -> list[str]:
    """Returns the names of files that fit a pattern; None for all."""
    return [name for name in names if only is None or _matches(name, only)]


def list_visible(folder: Path) -> list[str]:
    """Returns the names in a folder that are not hidden, sorted; none if it does not exist."""
    if not folder.is_dir():
        return []
    return sorted(path.name for path in folder.iterdir() if not _is_hidden(path.name))


def _walk(folder: Path, root: Path, known: dict[Identity, str]) -> Iterator[tuple[str, Path]]:
    """Yields the files that are not hidden, by their names in the root.

    Args:
        folder: of the files.
        root: of the table.
        known: the names of what was met.
    """
    for path in sorted(folder.iterdir()):
        if _is_hidden(path.name):
            continue
        name = path.relative_to(root).as_posix()
        try:
            found = path.stat()
        except FileNotFoundError as error:
            raise ValueError(f"{root} has {name}, a link to nothing") from error
        identity = (found.st_dev, found.st_ino)
        first = known.setdefault(identity, name)
        if first != name and found.st_ino:
            problem = f"{root} has {first} and {name}, which are the same by a link"
            raise ValueError(f"{problem}; their rows would count twice; expected one of them")
        if stat.S_ISDIR(found.st_mode):
            yield from _walk(path, root, known)
        else:
            yield name, path


def _is_hidden(name: str) -> bool:
    """Whether a name is of a file or folder that is not data, such as a page of HTML.

    A key may begin with "_".
    """
    is_named_hidden = name.startswith(".") or (name.startswith("_") and "=" not in name)
    return is_named_hidden or name.endswith(".html") or is_companion(name)


def _matches(name: str, pattern: str) -> bool:
    """Whether a name in a folder, or its end, fits a pattern, in capitals or not."""
    return PurePosixPath(name.lower()).match(pattern.lower())


def _check_files(folder: Path, files: Mapping[str, Path], suffixes: Sequence[str]) -> None:
    """Raises ValueError if a file of a folder is not a part of a table, or if no file is one.

    Two files that differ in their suffixes alone, as a table and what compressed it do, would count
    twice.
    """
    expected = f"expected names that end in {', '.join(suffixes)}"
    if not files:
        raise ValueError(f"{folder} has no files that are read; {expected}")
    foreign = [name for name in files if not ends_with(name, suffixes)]
    if foreign:
        named = ", ".join(map(visible, foreign[:NAMED]))
        more = f" and {len(foreign) - NAMED} more" if len(foreign) > NAMED else ""
        raise ValueError(f"{folder} has {named}{more}, which cannot be read; {expected}; {ADVICE}")
    stems: dict[str, str] = {}
    for name in files:
        stem = name[: -len(ends_with(name, suffixes))]
        first = stems.setdefault(stem, name)
        if first != name:
            problem = f"{folder} has {first} and {name}, whose rows would count twice"
            raise ValueError(f"{problem}; expected one of them; {ADVICE}")


def _read_keys(names: Sequence[str]) -> dict[str, dict[str, Key]]:
    """Returns what the names of the folders of each file say.

    Values of a key are integers if all are, else numbers if all are, and else texts.

    Raises:
        ValueError: a file has other keys than the first, or a key twice.
    """
    texts = {name: _split_keys(name) for name in names}
    first = names[0]
    for name in names:
        if list(texts[name]) != list(texts[first]):
            found = list(texts[name]) or "none"
            expected = f"{list(texts[first]) or 'none'}, as {first} has"
            raise ValueError(f"the folders of {name} have the keys {found}; expected {expected}")
    columns = {key: _convert_key([texts[name][key] for name in names]) for key in texts[first]}
    return {name: {key: columns[key][row] for key in columns} for row, name in enumerate(names)}


def _split_keys(name: str) -> dict[str, str]:
    """Returns the keys in the folders of a file, and their texts."""
    keys: dict[str, str] = {}
    for folder in name.split("/")[:-1]:
        key, equals, text = folder.partition("=")
        if not equals or not key:
            continue
        if unquote(key) in keys:
            raise ValueError(f"the folders of {name} have the key {unquote(key)!r} twice")
        keys[unquote(key)] = unquote(text)
    return keys


def _convert_key(texts: Sequence[str]) -> list[Key]:
    """Returns the values of a key. Numbers that would be rounded are texts, so that they differ."""
    known = [text for text in texts if text != MISSING_KEY]
    kind: type[int | float | str] = str
    if all(re.fullmatch(r"-?[0-9]{1,19}", text) and abs(int(text)) < 2**63 for text in known):
        kind = int
    elif all(re.fullmatch(r"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?", text) for text in known):
        kind = float
    if kind is float or len(known) < len(texts):  # a column with NaN is one of floats
        is_exact = kind is not str and all(map(_is_exact_as_float, known))
        kind = kind if is_exact else str
    missing = None if kind is str or not known else math.nan
    return [missing if text == MISSING_KEY else kind(text) for text in texts]


def _is_exact_as_float(text: str) -> bool:
    """Whether a number is finite, and, if it is an integer, a float of the same value."""
    value = float(text)
    return math.isfinite(value) and (not re.fullmatch("-?[0-9]+", text) or int(value) == int(text))


def _order(name: str, keys: Mapping[str, Key]) -> list[tuple[int, float, str]]:
    """Returns what parts are sorted by: their names, and numbers of keys before texts."""
    *folders, last = name.split("/")
    order: list[tuple[int, float, str]] = []
    for folder in folders:
        value = keys.get(unquote(folder.partition("=")[0]))
        if isinstance(value, (int, float)) and not math.isnan(value):
            order.append((0, value, folder))
        else:
            order.append((1, 0.0, folder))
    return [*order, (1, 0.0, last)]
