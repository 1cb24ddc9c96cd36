"""States on disk: tokens of `get_state`, written without pickle and read without running code."""

from __future__ import annotations

import io
import json
import os
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

FORMAT = "bandit_envs state 1"
BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


def save_state(path: str | os.PathLike[str], state: Any) -> None:
    """Writes a token of `get_state` to a file, from which `load_state` reads it in any process.

    The file is whole or not there: it is written aside, flushed and renamed.

    Args:
        path: the file.
        state: a token of an environment, wrapper, policy, metric or driver: a nest of arrays,
            generators, numbers, strings, None, dicts, lists, tuples and named tuples.

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
    tree = {"format": FORMAT, "state": _encode(state, arrays)}
    buffer = io.BytesIO()
    np.savez(buffer, tree=np.array(json.dumps(tree)), **arrays)
    write_whole(Path(path), [buffer.getvalue()])


def load_state(path: str | os.PathLike[str]) -> Any:
    """Reads a token that `save_state` wrote, to be passed to `set_state`.

    Nothing is unpickled or imported: the classes of named tuples must have been imported before,
    which they are where the object exists that the token is for.

    Args:
        path: the file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged, or not one of a state.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        tree = json.loads(str(arrays["tree"]))
        if tree["format"] != FORMAT:
            raise ValueError(f"its format is {tree['format']!r}; expected {FORMAT!r}")
        return _decode(tree["state"], arrays)
    except FileNotFoundError:
        raise
    except (
        OSError,
        EOFError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        zipfile.BadZipFile,
    ) as error:
        raise ValueError(f"{path} is damaged, or holds no state: {error}") from error


def write_whole(path: Path, content: Iterable[bytes]) -> None:
    """Writes a file so that `path` is either what it was or has all of `content`, even in a crash.

    Args:
        path: the file.
        content: its parts, one after the other.

    Raises:
        OSError: the folder cannot be written, or the disk is full; `path` is what it was.
    """
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with aside.open("wb") as file:
            file.writelines(content)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def _encode(value: Any, arrays: dict[str, Any]) -> Any:
    """Returns `value` as JSON, with its arrays put into `arrays` and named in their place."""
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biufcSU":
        name = f"array_{len(arrays)}"
        arrays[name] = value
        return {"array": name, "scalar": isinstance(value, np.generic)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.random.Generator):
        state = value.bit_generator.state
        if state["bit_generator"] in BIT_GENERATORS:
            return {"generator": _encode(state, arrays)}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: _encode(item, arrays) for key, item in value.items()}}
    if type(value) is list:
        return {"list": [_encode(item, arrays) for item in value]}
    if type(value) is tuple:
        return {"tuple": [_encode(item, arrays) for item in value]}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        items = {key: _encode(item, arrays) for key, item in zip(value._fields, value)}
        return {"class": [type(value).__module__, type(value).__qualname__], "fields": items}
    raise TypeError(f"state holds {value!r}; expected arrays, generators, numbers and their nests")


def _decode(value: Any, arrays: dict[str, Any]) -> Any:
    if not isinstance(value, dict):
        return value
    if "array" in value:
        array = arrays[value["array"]]
        return array[()] if value["scalar"] else array
    if "generator" in value:
        state = _decode(value["generator"], arrays)
        if state["bit_generator"] not in BIT_GENERATORS:
            raise ValueError(f"there is no bit generator {state['bit_generator']!r}")
        bit_generator = getattr(np.random, state["bit_generator"])(0)
        bit_generator.state = state
        return np.random.Generator(bit_generator)
    if "dict" in value:
        return {key: _decode(item, arrays) for key, item in value["dict"].items()}
    if "list" in value:
        return [_decode(item, arrays) for item in value["list"]]
    if "tuple" in value:
        return tuple(_decode(item, arrays) for item in value["tuple"])
    module, name = value["class"]
    fields = {key: _decode(item, arrays) for key, item in value["fields"].items()}
    return _named_tuple(module, name, fields)


def _named_tuple(module: str, name: str, fields: dict[str, Any]) -> Any:
    """Makes a named tuple of a class that has been imported; nothing else can be made so."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if not (isinstance(found, type) and issubclass(found, tuple) and hasattr(found, "_fields")):
        raise ValueError(f"{module}.{name} is not a named tuple that has been imported")
    return found(**fields)
