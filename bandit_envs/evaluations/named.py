"""Policies and estimators with their names: users give one, several, or several by name."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from bandit_envs.policies.contextual import ContextualPolicy, class_names

LONGEST = 70
"""A name of more letters is too long for tables and figures."""

Named = TypeVar("Named")


@dataclasses.dataclass(frozen=True)
class Kind:
    """What users give.

    Args:
        one: the word for one.
        several: the word for several, which is the name of the argument.
        classes: of what they may be.
        expected: says it in errors.
    """

    one: str
    several: str
    classes: tuple[type, ...]
    expected: str


def collect(
    kind: Kind,
    given: Any,
    expand: Callable[[str | None, Any], Iterable[tuple[str, Named]]],
) -> dict[str, Named]:
    """Returns what a user gives, by name.

    Args:
        kind: what it should be.
        given: one, several, or several by name.
        expand: returns what one of them stands for, with names, of one and its label if it has one.

    Raises:
        TypeError: something else is given.
        ValueError: nothing is given, or two have one name.
    """
    found: dict[str, Named] = {}
    for label, each in _unpack(kind, given):
        for name, one in expand(label, each):
            if name in found:
                is_text = isinstance(each, (str, os.PathLike))
                hint = "" if is_text else f"; name {kind.several} by the keys of a dict"
                raise ValueError(f"{kind.one} {name} is listed twice{hint}")
            found[name] = one
    if not found:
        raise ValueError(f"{kind.several} is empty; expected at least one {kind.one}")
    return found


def short_name(made: object) -> str:
    """Returns how an object was made, if that is short; or else its class, with those of its parts.

    >>> from bandit_envs import RandomPolicy
    >>> short_name(RandomPolicy(3))
    'RandomPolicy(num_actions=3, batch_size=1)'
    """
    text = repr(made)
    if len(text) <= LONGEST and "\n" not in text:
        return text
    return class_names(made) if isinstance(made, ContextualPolicy) else type(made).__name__


def describe_type(value: object) -> str:
    """Returns what a value of a wrong type is, for a message."""
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return f"of type {type(value).__name__}"


def _unpack(kind: Kind, given: Any) -> Iterator[tuple[str | None, Any]]:
    """Yields what a user gives, each with its label if it has one."""
    if isinstance(given, Mapping):
        for label in given:
            if not isinstance(label, str):
                raise TypeError(f"{kind.several} has the key {label!r}; expected names, as texts")
        pairs: Iterable[tuple[str | None, Any]] = given.items()
    elif isinstance(given, kind.classes) or not isinstance(given, Iterable):
        pairs = [(None, given)]
    else:
        pairs = ((None, each) for each in given)
    for label, each in pairs:
        if not isinstance(each, kind.classes):
            raise TypeError(f"{kind.one} is {describe_type(each)}; expected {kind.expected}")
        yield label, each
