"""States on disk, written without pickle, as arrays and plain values.

A model of another library in a state says itself what a file holds of it.
"""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import os
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.archives import (
    CONTENT_ERRORS,
    decode_archive,
    encode_archive,
    write_archive,
)
from bandit_envs.base.state import Stateful, state_to_write
from bandit_envs.nests import Nest, flatten, map_structure

__all__ = [
    "EncodedModel",
    "ForeignModel",
    "load_state",
    "save_state",
]

KIND = "bandit_envs state"
"""What a file of a state says first."""

FORMAT = 3
"""Raised whenever the layout of these files changes."""

BUFFERS = {"MT19937": 624, "PCG64": 0, "PCG64DXSM": 0, "Philox": 4, "SFC64": 0}
"""NumPy's bit generators, and the largest position in the buffer of each."""


@dataclasses.dataclass(frozen=True)
class EncodedModel:
    """What a file says of a `ForeignModel`, until `set_state` makes a model of it."""

    content: Nest

    trusted: tuple[str, ...] = ()
    """What the reader of the file trusts, beside what the model does. No file says it."""


class ForeignModel(abc.ABC):
    """A model of another library, as a leaf of a state.

    `copy.deepcopy` copies it, and the copy shares nothing that changes. It can be pickled.
    `save_state` writes what `encode` returns. `set_state` takes the leaf in the same place of the
    object's initial state, and calls its `decode`. So this leaf decides what a file may hold.
    """

    @abc.abstractmethod
    def encode(self) -> Nest:
        """Returns the model as a nest of what `save_state` writes, such as arrays.

        Raises:
            TypeError: the model cannot be written.
        """

    def layout(self) -> str:
        """Returns in words what a model must share with another one to stand in its place."""
        return type(self).__name__

    @abc.abstractmethod
    def decode(self, content: Nest, trusted: Sequence[str] = ()) -> ForeignModel:
        """Returns a new model, like this one, of what `encode` of another one returned.

        Args:
            content: may be from a file. It must not say what is called.
            trusted: names of classes and functions that `content` may hold all the same, as the
                user says who reads the file.

        Raises:
            TypeError, ValueError: `content` does not fit.
        """


def decode_models(found: Nest, initial: Nest) -> Nest:
    """Returns a nest with models in place of what a file says of them.

    Args:
        found: of a state that may be from a file.
        initial: a nest of the same structure, with the models that say how to decode others.
    """
    if not any(isinstance(leaf, ForeignModel) for leaf in flatten(initial)):
        return found

    def decode(like: Any, leaf: Any) -> Any:
        is_encoded = isinstance(like, ForeignModel) and isinstance(leaf, EncodedModel)
        return like.decode(leaf.content, leaf.trusted) if is_encoded else leaf

    return map_structure(decode, initial, found)


def save_state(path: str | os.PathLike[str], state: Any) -> None:
    """Writes what `get_state` returned to a file, which `load_state` reads in any process.

    In place of `x.get_state()`, `state` may have x itself, such as a policy. The file is the same,
    and its arrays are written without a copy in memory.

    A crash leaves the old file or the new one.

    Raises:
        OSError: the file cannot be written, or is a symbolic link, which is not followed.
        TypeError: the state holds something other than arrays, NumPy's generators, numbers,
            strings, None, models that can be encoded, objects with states, and dicts, lists,
            tuples and named tuples of these.

    >>> import tempfile
    >>> from bandit_envs import KArmedTestbed
    >>> env, other = KArmedTestbed(seed=0), KArmedTestbed(seed=1)
    >>> time_step = env.reset()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_state(f"{folder}/state.npz", env.get_state())
    ...     other.set_state(load_state(f"{folder}/state.npz"))
    >>> bool(other.step(3).reward == env.step(3).reward)
    True
    """
    header, arrays = _encoded(state)
    with atomic_file(Path(path)) as file:
        write_archive(file, header, arrays)


def load_state(path: str | os.PathLike[str], trusted: Sequence[str] = ()) -> Any:
    """Reads what `save_state` wrote, for `set_state`.

    The file is arrays and plain values: nothing in it is unpickled, imported, evaluated or called.
    So construct first the object that the state is for: its class says what becomes of models of
    other libraries, and `set_state` refuses all parts of them that it does not know. A file
    that is damaged, of another version, or not a saved state raises ValueError; a folder or a
    pipe raises OSError.

    Args:
        path: of the file.
        trusted: names such as "lightgbm.basic.Booster", of classes and functions that a model in
            the file may hold, too. They may be called with what the file says: give names only for
            a file that you wrote yourself. An error of `set_state` says which names are missing.
    """
    if isinstance(trusted, str):
        raise TypeError(f"trusted is {trusted!r}; expected a list of names")
    file = Path(path)
    if file.exists() and not (file.is_file() or file.is_dir()):  # a pipe would be waited for
        raise OSError(f"{path} is not a regular file")
    return decode_state(file.read_bytes(), str(path), trusted)


def encode_state(state: Any) -> bytes:
    """Returns the content of the file that `save_state` writes, and raises as it does."""
    return encode_archive(*_encoded(state))


def _encoded(state: Any) -> tuple[Any, dict[str, Any]]:
    """Returns the header and the arrays of the file that `save_state` writes."""
    arrays: dict[int, tuple[str, Any]] = {}
    try:
        tree = _encode(state, arrays)
    except RecursionError:
        raise TypeError("state is nested too deeply, or holds itself") from None
    return {"format": f"{KIND} {FORMAT}", "state": tree}, dict(arrays.values())


def decode_state(content: bytes, source: str, trusted: Sequence[str] = ()) -> Any:
    """Returns the state that `encode_state` was given, and raises as `load_state` does.

    Args:
        content: what `encode_state` returned.
        source: where the content is from, for messages.
        trusted: as `load_state` takes it.
    """
    header, arrays = decode_archive(content, source)
    check_format(source, "a state", _number_of(header), FORMAT)
    try:
        return _decode(header["state"], arrays, tuple(trusted))
    except CONTENT_ERRORS as error:
        raise ValueError(f"{source} does not hold a state: {error}") from error


def check_format(source: str, what: str, found: object, known: int) -> None:
    """Raises ValueError if a file has another format than this version of bandit_envs reads.

    Args:
        source: names the file.
        what: it holds, such as "a state".
        found: what it says of its format.
        known: the number of the format that is read.
    """
    if type(found) is not int:
        raise ValueError(f"{source} does not hold {what}")
    if found != known:
        age = "an older" if found < known else "a newer"
        problem = f"{source} holds {what} of {age} version of bandit_envs, in format {found}"
        raise ValueError(f"{problem}; this version reads format {known}")


def _number_of(header: Any) -> int | None:
    """Returns the number of the format of a state, or None if a file is of something else."""
    text = header.get("format") if isinstance(header, dict) else None
    kind, _, number = text.rpartition(" ") if isinstance(text, str) else ("", "", "")
    is_state = kind == KIND and number.isascii() and number.isdigit() and len(number) < 10
    return int(number) if is_state else None


def atomic_write(path: Path, content: Iterable[bytes]) -> None:
    """Writes the parts of a file, as `atomic_file` does."""
    with atomic_file(path) as file:
        file.writelines(content)


@contextlib.contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Yields a file of another name, which is flushed and renamed to `path` in the end.

    If an error occurs before that, the file is deleted, and what was at `path` stays.

    Raises:
        OSError: the file cannot be written, or `path` is a link, or not a regular file.
    """
    path = path.absolute()
    check_replaceable(path)
    # The name is unique: on a cluster, processes on two machines may write the same file.
    temporary = path.with_name(f".{uuid.uuid4().hex}.part")
    try:
        opened = temporary.open("wb")
    except OSError as error:
        error.filename = str(path)  # nobody knows the other name
        raise
    try:
        with opened as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def check_replaceable(path: Path) -> None:
    """Raises OSError if anything but a regular file is at a path.

    A link in a folder that others can write to may lead to any file, which would be overwritten.
    """
    if path.is_symlink():
        raise OSError(f"{path} is a link; expected a regular file")
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is not a regular file")


def check_place(name: str, path: Path) -> None:
    """Raises an error if no file can be written at a path, before what takes long.

    Args:
        name: of the argument.
        path: which an argument names.

    Raises:
        ValueError: there is no folder for it.
        OSError: there is something else than a file of its own.
    """
    folder = path.absolute().parent
    if not folder.is_dir():
        raise ValueError(f"{name} is {path}, and there is no folder {folder}; expected one")
    check_replaceable(path)


def refuse_links(folder: Path, is_ours: Callable[[str], bool]) -> None:
    """Raises ValueError if an entry of a folder of results is a link, a pipe, or a device.

    A link would let another file be read or replaced. Reading a pipe may wait forever.

    Args:
        folder: that is checked; it need not exist.
        is_ours: returns whether a file or folder of this name is read or written.
    """
    for each in _entries(folder):
        is_regular = each.is_file(follow_symlinks=False) or each.is_dir(follow_symlinks=False)
        if is_ours(each.name) and not is_regular:
            kind = "a link" if each.is_symlink() else "not a regular file"
            raise ValueError(f"{each.path} is {kind}; expected a regular file or folder")


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """Returns what is in a folder; nothing if there is no such folder."""
    try:
        with os.scandir(folder) as found:
            return list(found)
    except (FileNotFoundError, NotADirectoryError):
        return []


def remove_temporary_files(folder: Path) -> None:
    """Removes the files that `atomic_file` left in a folder, if its process was killed."""
    for file in folder.glob(f".{'[0-9a-f]' * 32}.part"):
        file.unlink(missing_ok=True)


def _encode(value: Any, arrays: dict[int, tuple[str, Any]]) -> Any:
    """Returns `value` as JSON, in which every list is a tag and its parts.

    Arrays go into `arrays`, each once; the JSON holds their names.
    """
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is dict and all(type(key) is str for key in value):
        return {key: _encode(item, arrays) for key, item in value.items()}
    if isinstance(value, Stateful):
        return _encode(state_to_write(value), arrays)
    parts: Iterable[Any]
    if (kind is np.ndarray or isinstance(value, np.generic)) and not value.dtype.hasobject:
        tag = "array" if kind is np.ndarray else "scalar"
        parts = [arrays.setdefault(id(value), (f"array_{len(arrays)}", value))[0]]
    elif kind is np.random.Generator and value.bit_generator.state["bit_generator"] in BUFFERS:
        # What a generator spawns comes from its seed sequence, not from its state.
        tag, sequence = "generator", value.bit_generator._seed_seq
        known = isinstance(sequence, np.random.SeedSequence)
        parts = [value.bit_generator.state, sequence.state if known else None]
    elif isinstance(value, ForeignModel):
        tag, parts = "model", [value.encode()]
    elif kind is EncodedModel:
        tag, parts = "model", [value.content]
    elif kind in (list, tuple):
        tag, parts = kind.__name__, value
    elif _imported(kind.__module__, kind.__qualname__) is kind and hasattr(kind, "_fields"):
        tag, parts = f"{kind.__module__}:{kind.__qualname__}", [value._asdict()]
    else:
        raise TypeError(
            f"state holds a {kind.__module__}.{kind.__qualname__}; "
            "expected arrays, NumPy's generators, numbers, strings and nests of them"
        )
    return [tag, *(_encode(part, arrays) for part in parts)]


def _decode(value: Any, arrays: dict[str, NDArray[Any]], trusted: tuple[str, ...]) -> Any:
    if isinstance(value, dict):
        return {key: _decode(item, arrays, trusted) for key, item in value.items()}
    if not isinstance(value, list):
        return value
    tag, *parts = (_decode(part, arrays, trusted) for part in value)
    if tag == "list":
        return parts
    if tag == "tuple":
        return tuple(parts)
    if tag == "array":
        return arrays[parts[0]]
    if tag == "scalar":
        return arrays[parts[0]][()]
    if tag == "generator":
        return _generator(*parts)
    if tag == "model":
        return EncodedModel(parts[0], trusted)
    named_tuple, fields = _imported(*tag.split(":")), parts[0]
    is_tuple = isinstance(named_tuple, type) and issubclass(named_tuple, tuple)
    names = getattr(named_tuple, "_fields", ())
    new = names[len(fields) :]  # since the file was written: they have their defaults
    defaults = getattr(named_tuple, "_field_defaults", {})
    if not is_tuple or (*fields, *new) != names or not defaults.keys() >= set(new):
        known = f"{tag} is not a named tuple of {', '.join(fields)}"
        raise ValueError(f"{known} in this version, or its module is not imported")
    return tuple.__new__(named_tuple, [*fields.values(), *(defaults[name] for name in new)])


def _imported(module: str, name: str) -> Any:
    """Returns the class of that name if its module has been imported, and else None."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):  # through vars, as a module's __getattr__ may import
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    return found


def _generator(state: dict[str, Any], sequence: dict[str, Any] | None) -> np.random.Generator:
    name = state["bit_generator"]
    for position in (state["state"].get("pos", 0), state.get("buffer_pos", 0)):
        if not 0 <= position <= BUFFERS[name]:  # NumPy 1 does not check it
            raise ValueError(f"the position in the buffer of {name} is {position}")
    if sequence is not None and sequence["pool_size"] != 4:  # mixing takes quadratic time
        raise ValueError(f"pool_size is {sequence['pool_size']}; expected 4")
    bit_generator = getattr(np.random, name)(np.random.SeedSequence(**(sequence or {"entropy": 0})))
    bit_generator.state = state
    return np.random.Generator(bit_generator)
