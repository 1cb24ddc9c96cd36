"""How objects were made: in one line, and as a number that says which constants they have."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import inspect
import re
import types
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from bandit_envs.base.memo import Cache

LEFT_OUT = ("seed", "observation_spec", "action_spec", "name", "dtype")
"""What a line does not show: it is long, or says nothing of what the object is."""

SIZES = ("num_actions", "batch_size")
"""What it shows of every object that has it."""

PASSED_ON = {"count_pending": True}
"""What constructors pass on, with the defaults: it shows the values that are not these."""

NO_CONSTANTS = ("_state", "_name", "name", "_seed", "seed", "observers")
"""Attributes that do not matter to how an object goes on from a state."""

LONGEST = 60
"""Values of more letters are shortened."""

NAMED = re.compile(r"[\w.]+:[\w.]+")
"""A text MODULE:NAME, which stands for the function or class that it names."""

_KNOWN: dict[int, int] = {}
"""The digests of objects that live, by `id`: a class may define when its objects are equal."""


class Parameters:
    """Base of frozen dataclasses of parameters: they keep NumPy's scalars as Python's values.

    So two with equal parameters have one repr, whatever the parameters were computed with.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Slow(Parameters):
    ...     rate: float
    >>> Slow(np.float64(0.5))
    Slow(rate=0.5)
    """

    def __init_subclass__(cls, **options: Any) -> None:
        """Lets a subclass check and convert its parameters after they have become plain."""
        super().__init_subclass__(**options)
        own = vars(cls).get("__post_init__")
        if own is not None:
            cls.__post_init__ = _after_plain(own)  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        """Keeps the parameters as Python's values."""
        for each in dataclasses.fields(self):  # type: ignore[arg-type]  # of a subclass
            if each.init:
                object.__setattr__(self, each.name, plain(getattr(self, each.name)))


def _after_plain(check: Callable[..., None]) -> Callable[..., None]:
    """Returns a `__post_init__` that finds plain parameters."""

    @functools.wraps(check)
    def post_init(self: Any, *given: Any) -> None:
        Parameters.__post_init__(self)
        check(self, *given)

    return post_init


def plain(value: Any) -> Any:
    """Returns a scalar of NumPy as Python's value, also inside of lists, tuples and dicts.

    An array without dimensions is a scalar, too. All else is returned as it is.

    >>> plain((np.float64(0.5), np.array(2), [np.str_("mean")]))
    (0.5, 2, ['mean'])
    """
    if isinstance(value, (np.generic, np.ndarray)):
        return value.item() if value.ndim == 0 else value
    if type(value) in (list, tuple):
        return type(value)(map(plain, value))
    if type(value) is dict:
        return {plain(name): plain(each) for name, each in value.items()}
    return value


def made_with(instance: Any) -> str:
    """Returns the class of an object with the arguments of its constructor: `UCBPolicy(c=2.0)`.

    It shows those that are not the defaults and that the object keeps, as an attribute of the same
    name or of one with a leading underscore.
    """
    values = [f"{name}={show(value)}" for name, value in _kept(instance)]
    return f"{type(instance).__name__}({', '.join(values)})"


def _kept(instance: Any) -> Iterator[tuple[str, Any]]:
    """Yields the arguments of the constructor that an object keeps, and its sizes."""
    attributes = vars(instance)
    for name, parameter in inspect.signature(type(instance)).parameters.items():
        if name in LEFT_OUT or name in SIZES:
            continue
        value = attributes.get(name, attributes.get(f"_{name}", parameter.default))
        if not _is_default(value, parameter.default):
            yield name, value
    for name in SIZES:
        with contextlib.suppress(AttributeError, NotImplementedError):  # it has no such size
            yield name, getattr(instance, name)
    for name, default in PASSED_ON.items():
        value = attributes.get(f"_{name}", default)
        if value is not default:
            yield name, value


def _is_default(value: Any, default: Any) -> bool:
    """Returns whether a value is the default of its parameter."""
    if value is default:
        return True
    found = plain(value)
    try:
        return type(found) is type(default) and bool(found == default)
    except ValueError:  # arrays are neither equal nor unequal
        return False


def show(value: Any) -> str:
    """Returns a value as one writes it; short arrays as lists, and what is long shortened.

    The text of a long array ends with a digest, which tells arrays of one shape apart.
    """
    value = plain(value)
    if isinstance(value, np.ndarray):
        return _show_array(value)
    if callable(value) and hasattr(value, "__name__"):
        text = value.__name__
    else:
        text = repr(value)
        if text.startswith("<"):
            text = f"{type(value).__name__}(...)"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _show_array(array: np.ndarray[Any, Any]) -> str:
    """Returns a short array as a list, and of a long one its shape and a digest."""
    text = str(array.tolist()) if array.size <= LONGEST else ""
    if 0 < len(text) <= LONGEST:
        return text
    digest = hashlib.blake2b(digest_size=4)
    for part in _written(array, frozenset()):
        digest.update(part)
    return f"array of shape {array.shape}, digest {digest.hexdigest()}"


def parameters_of(make: Any) -> dict[str, inspect.Parameter]:
    """Returns the parameters by name, of a class also those that its `**options` pass on."""
    found: dict[str, inspect.Parameter] = {}
    makers = [make]
    if isinstance(make, type):
        makers = [kind for kind in make.__mro__[:-1] if "__init__" in vars(kind)]
    for maker in makers:
        parameters = inspect.signature(maker).parameters
        for name, each in parameters.items():
            if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY):
                found.setdefault(name, each)
        if all(each.kind is not each.VAR_KEYWORD for each in parameters.values()):
            break
    return found


def arguments_of(instance: Any) -> dict[str, Any]:
    """Returns the arguments that an object was made with, but defaults, as far as it keeps them.

    So a later version may have more arguments, and its states are those of earlier ones.
    """
    attributes = vars(instance)
    found = {}
    for name, parameter in parameters_of(type(instance)).items():
        for kept in (name, f"_{name}"):
            if kept not in attributes or name in SIZES:
                continue
            if not _is_default(attributes[kept], parameter.default):
                found[name] = attributes[kept]
    return found


def digest_of_constants(instance: Any, constants: Callable[[], Mapping[str, Any]]) -> int:
    """Returns a number that two objects share if all their constants are equal.

    These are numbers, texts, arrays, functions by their names, nests of them, and objects: by
    their class, and if it is of this package, derives from its classes or is a dataclass, by their
    attributes. What `NO_CONSTANTS` names does not count, and neither does what has a state of its
    own. Constants do not change after the constructor, so they are read once.

    Args:
        instance: the object that has them.
        constants: returns them, by their names.
    """
    key = id(instance)
    if key not in _KNOWN:
        digest = hashlib.blake2b(digest_size=7)
        for part in _written_attributes(constants(), frozenset({key})):
            digest.update(part)
        # An interruption in between must not leave a digest for the next object with this id.
        weakref.finalize(instance, _KNOWN.pop, key, None)
        _KNOWN[key] = int.from_bytes(digest.digest(), "big")
    return _KNOWN[key]


def _written_attributes(attributes: Mapping[str, Any], above: frozenset[int]) -> Iterator[bytes]:
    """Yields the bytes of the attributes of an object that are constants of it."""
    for name in sorted(attributes):
        if name not in NO_CONSTANTS and not _is_apart(attributes[name]):
            yield f"{name.lstrip('_')}=".encode()
            yield from _written(attributes[name], above)


def _written(value: Any, above: frozenset[int]) -> Iterator[bytes]:
    """Yields bytes that equal values share; `above` has the ids of the objects that contain it."""
    value = plain(value) if isinstance(value, (np.generic, np.ndarray)) else value
    if isinstance(value, np.ndarray) and value.dtype.kind not in "OV":
        yield f"{value.dtype.str}{value.shape}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, (bool, int, float, complex, np.generic)):
        yield f"{_number(value)};".encode()
    elif isinstance(value, str) and NAMED.fullmatch(value):
        yield f"{value.partition(':')[2]};".encode()
    elif value is None or isinstance(value, (str, bytes, np.dtype)):
        yield f"{value!r};".encode()
    elif id(value) in above or _is_apart(value):
        yield b"..."
    else:
        yield from _written_parts(value, above | {id(value)})


def _written_parts(value: Any, above: frozenset[int]) -> Iterator[bytes]:
    """Yields bytes of a value that has parts."""
    if isinstance(value, Mapping):
        yield b"{"
        for name in sorted(value, key=repr):
            yield f"{name!r}:".encode()
            yield from _written(value[name], above)
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield b"("
        ordered = value if isinstance(value, (list, tuple)) else sorted(value, key=repr)
        for part in ordered:
            yield from _written(part, above)
        yield b")"
    elif isinstance(value, functools.partial):
        yield from _written((value.func, value.args, value.keywords), above)
    else:
        kind = value if hasattr(value, "__name__") else type(value)
        yield f"{getattr(kind, '__qualname__', kind.__name__)};".encode()
        yield from _written_attributes(_attributes_of(value), above)


def _attributes_of(value: Any) -> dict[str, Any]:
    """Returns what is known to be constant in a function or an object."""
    if isinstance(value, types.FunctionType):
        is_ours = value.__module__.startswith("bandit_envs.")
        names = value.__code__.co_freevars if is_ours else ()
        return {name: cell.cell_contents for name, cell in zip(names, value.__closure__ or ())}
    if isinstance(value, types.MethodType):
        return {"self": value.__self__}
    if isinstance(value, type):
        return {}
    if dataclasses.is_dataclass(value):
        fields = {each.name: each.default for each in dataclasses.fields(value)}
        values = {name: getattr(value, name) for name in fields}
        return {name: each for name, each in values.items() if not _is_default(each, fields[name])}
    if any(kind.__module__.startswith("bandit_envs.") for kind in type(value).__mro__):
        return dict(getattr(value, "__dict__", {}))
    return {}


def _is_apart(value: Any) -> bool:
    """Returns whether a value is no constant: a cache, or what states hold with its parameters.

    These are objects with a state of their own, and estimators, which have a method `fit`.
    """
    if isinstance(value, type):
        return False
    in_states = hasattr(value, "_state") or hasattr(value, "fit")
    return in_states or isinstance(value, Cache)


def _number(value: Any) -> str:
    """Returns a number as text, which equal numbers of all types share."""
    is_whole = isinstance(value, bool) or (isinstance(value, float) and value.is_integer())
    return repr(int(value)) if is_whole else repr(value)
