"""States on disk, written without pickle and read without running code."""

from __future__ import annotations

import io
import json
import os
import re
import sys
import uuid
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FORMAT = "bandit_envs state 2"
TEMPORARY = re.compile(r"\.[0-9a-f]{32}\.part")
POSITIONS = {
    "MT19937": ("pos", 624),
    "PCG64": None,
    "PCG64DXSM": None,
    "Philox": ("buffer_pos", 4),
    "SFC64": None,
}
"""NumPy's bit generators, and for two of them a position in a buffer and its largest value."""


def save_state(path: str | os.PathLike[str], state: Any) -> None:
    """Writes what `get_state` returned to a file, which `load_state` reads in any process.

    A crash leaves the old content or the new.

    Args:
        path: the file; a symbolic link is followed.
        state: a nest of arrays, NumPy's generators, numbers, strings, None, dicts, lists, tuples
            and named tuples.

    Raises:
        TypeError: the state holds something else. Nothing is written.
        OSError: the file cannot be written, or `path` is not a regular file. Nothing has changed.

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
    arrays: dict[int, tuple[str, Any]] = {}
    try:
        tree = _encode(state, arrays)
    except RecursionError:
        raise TypeError("state is nested too deeply, or holds itself") from None
    write_archive(Path(path), {"format": FORMAT, "state": tree}, dict(arrays.values()))


def load_state(path: str | os.PathLike[str]) -> Any:
    """Reads what `save_state` wrote, to be passed to `set_state`.

    Nothing is unpickled or imported: the classes of named tuples must have been imported before,
    which they are where the object exists that the state is for.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is damaged, older than this version, or not a saved state.
    """
    header, arrays = read_archive(Path(path))
    try:
        if header["format"] != FORMAT:
            raise ValueError(f"its format is {header['format']!r}; expected {FORMAT!r}")
        return _decode(header["state"], arrays)
    except (
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        ArithmeticError,
        RecursionError,
    ) as e:
        raise ValueError(f"{path} does not hold a state: {e}") from e


def atomic_write(path: Path, content: Iterable[bytes]) -> None:
    """Writes the parts of a file: under another name, which is flushed and renamed to `path`.

    Raises:
        OSError: the folder cannot be written, the disk is full, or `path` is not a regular file.
            Nothing has changed.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is not a regular file")
    # The name is unique: on a cluster, processes on two machines may write the same file.
    temporary = path.with_name(f".{uuid.uuid4().hex}.part")
    try:
        with temporary.open("wb") as file:
            file.writelines(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def remove_temporary_files(folder: Path) -> None:
    """Removes what `atomic_write` left in a folder where it was killed."""
    for file in folder.glob(".*.part"):
        if TEMPORARY.fullmatch(file.name):
            file.unlink(missing_ok=True)


def write_archive(path: Path, header: Any, arrays: Mapping[str, Any]) -> None:
    """Writes JSON and arrays without objects to one file, as `atomic_write` does."""
    buffer = io.BytesIO()
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez(buffer, header=text, **arrays)
    atomic_write(path, [buffer.getvalue()])


def read_archive(path: Path) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Reads what `write_archive` wrote: the header and the arrays.

    Nothing is unpickled, checksums are compared first, and memory is bounded by the file's size.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is damaged, or was not written by `write_archive`.
    """
    content = path.read_bytes()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
                raise ValueError("it is compressed")
            arrays = {
                name.removesuffix(".npy"): np.lib.format.read_array(
                    io.BytesIO(archive.read(name)), allow_pickle=False
                )
                for name in archive.namelist()
            }
        return json.loads(arrays.pop("header").tobytes()), arrays
    except Exception as error:  # damaged bytes make zipfile and NumPy raise almost anything
        raise ValueError(f"{path} is damaged, or not a file of bandit_envs: {error}") from error


def _encode(value: Any, arrays: dict[int, tuple[str, Any]]) -> Any:
    """Returns `value` as JSON, with the names of its arrays, which are put into `arrays`."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if (kind is np.ndarray or isinstance(value, np.generic)) and not value.dtype.hasobject:
        name, _ = arrays.setdefault(id(value), (f"array_{len(arrays)}", value))
        return {"array": name, "scalar": kind is not np.ndarray}
    if kind is np.random.Generator:
        return {"generator": _encode(_generator_state(value), arrays)}
    if kind is dict and all(type(key) is str for key in value):
        return {"dict": {key: _encode(item, arrays) for key, item in value.items()}}
    if kind in (list, tuple):
        return {kind.__name__: [_encode(item, arrays) for item in value]}
    if _imported(kind.__module__, kind.__qualname__) is kind and hasattr(kind, "_fields"):
        items = {key: _encode(item, arrays) for key, item in zip(value._fields, value)}
        return {"class": [kind.__module__, kind.__qualname__], "fields": items}
    raise TypeError(
        f"state holds a {kind.__module__}.{kind.__qualname__}; "
        "expected arrays, NumPy's generators, numbers, strings and nests of them"
    )


def _decode(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    if not isinstance(value, dict):
        return value
    if "array" in value:
        array = arrays[value["array"]]
        return array[()] if value["scalar"] else array
    if "generator" in value:
        return _generator(**_decode(value["generator"], arrays))
    if "dict" in value:
        return {key: _decode(item, arrays) for key, item in value["dict"].items()}
    if "list" in value:
        return [_decode(item, arrays) for item in value["list"]]
    if "tuple" in value:
        return tuple(_decode(item, arrays) for item in value["tuple"])
    module, name = value["class"]
    fields = {key: _decode(item, arrays) for key, item in value["fields"].items()}
    named_tuple = _imported(module, name)
    if getattr(named_tuple, "_fields", None) != tuple(fields):
        raise ValueError(f"{module}.{name} is not a named tuple of {', '.join(fields)}")
    return named_tuple._make(fields.values())


def _imported(module: str, name: str) -> Any:
    """Returns the class of that name if its module has been imported; else `object`."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        # Not getattr: a module's __getattr__ may import.
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    return found if isinstance(found, type) else object


def _generator_state(generator: np.random.Generator) -> dict[str, Any]:
    bit_generator: Any = generator.bit_generator
    state = bit_generator.state
    if state["bit_generator"] not in POSITIONS:
        raise TypeError(f"state holds a {bit_generator!r}; expected one of NumPy's bit generators")
    # What a generator spawns comes from its seed sequence, not from its state.
    sequence = bit_generator._seed_seq
    known = isinstance(sequence, np.random.SeedSequence)
    return {"state": state, "sequence": sequence.state if known else None}


def _generator(state: dict[str, Any], sequence: dict[str, Any] | None) -> np.random.Generator:
    name = state["bit_generator"]
    if name not in POSITIONS:
        raise ValueError(f"there is no bit generator {name!r}")
    position = POSITIONS[name]
    if position is not None:  # NumPy 1 does not check it, and reads out of bounds
        key, largest = position
        found = {**state, **state["state"]}[key]
        if not 0 <= found <= largest:
            raise ValueError(f"{key} of a {name} is {found}; expected 0 to {largest}")
    if sequence is not None and sequence["pool_size"] != 4:  # mixing takes quadratic time
        raise ValueError(f"pool_size is {sequence['pool_size']}; expected 4")
    seed = np.random.SeedSequence(**(sequence or {"entropy": 0}))
    bit_generator = getattr(np.random, name)(seed)
    bit_generator.state = state
    return np.random.Generator(bit_generator)
