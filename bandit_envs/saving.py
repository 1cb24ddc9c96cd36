"""States on disk: tokens of `get_state`, written without pickle and read without running code."""

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

FORMAT = "bandit_envs state 1"
UNFINISHED = re.compile(r"\..+\.[0-9a-f]{32}\.part")
BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


def save_state(path: str | os.PathLike[str], state: Any) -> None:
    """Writes a token of `get_state` to a file, from which `load_state` reads it in any process.

    The file is whole or not there: it is written aside, flushed and renamed.

    Args:
        path: the file.
        state: a token of an environment, wrapper, policy, metric or driver: a nest of arrays,
            NumPy's generators, numbers, strings, None, dicts, lists, tuples and named tuples.

    Raises:
        TypeError: the token holds something else. Nothing is written.
        OSError: the file cannot be written; `path` is what it was.

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
    arrays: dict[str, Any] = {}
    tree = _encode(state, arrays)
    write_archive(Path(path), {"format": FORMAT, "state": tree}, arrays)


def load_state(path: str | os.PathLike[str]) -> Any:
    """Reads a token that `save_state` wrote, to be passed to `set_state`.

    Nothing is unpickled or imported: the classes of named tuples must have been imported before,
    which they are where the object exists that the token is for.

    Args:
        path: the file.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is damaged, or not one of a state.
    """
    header, arrays = read_archive(Path(path))
    try:
        if header["format"] != FORMAT:
            raise ValueError(f"its format is {header['format']!r}; expected {FORMAT!r}")
        return _decode(header["state"], arrays)
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"{path} holds no state: {error}") from error


def write_whole(path: Path, content: Iterable[bytes]) -> None:
    """Writes a file so that `path` is either what it was or has all of `content`, even in a crash.

    Args:
        path: the file.
        content: its parts, one after the other.

    Raises:
        OSError: the folder cannot be written, or the disk is full; `path` is what it was.
    """
    # Of a name of its own: on a cluster, two processes on two machines may write the same file.
    aside = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        with aside.open("wb") as file:
            file.writelines(content)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def remove_unfinished(folder: Path) -> None:
    """Removes what `write_whole` left in a folder where it was killed."""
    for file in folder.glob(".*.part"):
        if UNFINISHED.fullmatch(file.name):
            file.unlink(missing_ok=True)


def write_archive(path: Path, header: Any, arrays: Mapping[str, Any]) -> None:
    """Writes JSON and arrays to one file, which is whole or not there.

    Args:
        path: the file.
        header: anything that JSON can hold.
        arrays: by names other than `header`; without objects.

    Raises:
        OSError: as for `write_whole`.
    """
    buffer = io.BytesIO()
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez(buffer, header=text, **arrays)
    write_whole(path, [buffer.getvalue()])


def read_archive(path: Path) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Reads what `write_archive` wrote: the header and the arrays.

    Nothing is unpickled, and no byte is believed before its checksum has been compared.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is damaged, or was not written by `write_archive`.
    """
    content = path.read_bytes()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            # A member is checked at its end only, and NumPy stops where the array's header says.
            arrays = {
                name.removesuffix(".npy"): np.lib.format.read_array(
                    io.BytesIO(archive.read(name)), allow_pickle=False
                )
                for name in archive.namelist()
            }
        return json.loads(arrays.pop("header").tobytes()), arrays
    except Exception as error:  # nobody lists what damaged bytes can make zipfile and NumPy raise
        raise ValueError(f"{path} is damaged, or none of bandit_envs: {error}") from error


def _encode(value: Any, arrays: dict[str, Any]) -> Any:
    """Returns `value` as JSON, with its arrays put into `arrays` and named in their place."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if (kind is np.ndarray or isinstance(value, np.generic)) and not value.dtype.hasobject:
        name = f"array_{len(arrays)}"
        arrays[name] = value
        return {"array": name, "scalar": kind is not np.ndarray}
    if kind is np.random.Generator:
        return {"generator": _encode(_generator_state(value), arrays)}
    if kind is dict and all(type(key) is str for key in value):
        return {"dict": {key: _encode(item, arrays) for key, item in value.items()}}
    if kind is list:
        return {"list": [_encode(item, arrays) for item in value]}
    if kind is tuple:
        return {"tuple": [_encode(item, arrays) for item in value]}
    if _imported(kind.__module__, kind.__qualname__) is kind and hasattr(kind, "_fields"):
        items = {key: _encode(item, arrays) for key, item in zip(value._fields, value)}
        return {"class": [kind.__module__, kind.__qualname__], "fields": items}
    raise TypeError(
        f"state holds a {kind.__module__}.{kind.__qualname__}: {value!r}; "
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
    """Returns the class of that name, if its module has been imported; else `object`."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, type) else object


def _generator_state(generator: np.random.Generator) -> dict[str, Any]:
    bit_generator: Any = generator.bit_generator
    state = bit_generator.state
    if state["bit_generator"] not in BIT_GENERATORS:
        raise TypeError(f"state holds a {bit_generator!r}; expected one of NumPy's bit generators")
    # What a generator spawns comes from its seed sequence, not from its state.
    sequence = bit_generator._seed_seq
    known = isinstance(sequence, np.random.SeedSequence)
    return {"state": state, "sequence": sequence.state if known else None}


def _generator(state: dict[str, Any], sequence: dict[str, Any] | None) -> np.random.Generator:
    if state["bit_generator"] not in BIT_GENERATORS:
        raise ValueError(f"there is no bit generator {state['bit_generator']!r}")
    seed = np.random.SeedSequence(**(sequence or {"entropy": 0}))
    bit_generator = getattr(np.random, state["bit_generator"])(seed)
    bit_generator.state = state
    return np.random.Generator(bit_generator)
