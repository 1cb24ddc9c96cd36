"""Names and arguments that will be removed: they work until then, and warn of it.

A `DeprecationWarning` says what to write instead, and which version removes the old name.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

Named = TypeVar("Named", bound=Callable[..., Any])
Value = TypeVar("Value")


def deprecated(instead: str, removed_in: str) -> Callable[[Named], Named]:
    """Returns a decorator of a function or a class that will be removed.

    Calling the function, or making an object of the class or of one that derives from it, warns.

    Args:
        instead: what to write.
        removed_in: the version that removes it.

    Raises:
        TypeError: it decorates something else, such as a property. Decorate its function.

    >>> @deprecated(instead="mean", removed_in="3.0")
    ... def average(values):
    ...     return sum(values) / len(values)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     print(average([1.0, 3.0]), caught[0].message)
    2.0 average is deprecated, and version 3.0 removes it; use mean
    """

    def decorate(named: Named) -> Named:
        target: Any = named
        if not inspect.isclass(named) and not inspect.isfunction(named):
            kind = type(named).__name__
            raise TypeError(f"deprecated decorates a {kind}; expected a function or a class")
        name = target.__name__
        is_class = inspect.isclass(named)
        makes = "__init__" if is_class and target.__init__ is not object.__init__ else "__new__"
        called = getattr(target, makes) if is_class else target

        @functools.wraps(called)
        def warn_and_call(*args: Any, **kwargs: Any) -> Any:
            _warn(name, instead, removed_in, stacklevel=3)
            return called(*args, **kwargs)

        if not is_class:
            return cast("Named", warn_and_call)
        setattr(target, makes, warn_and_call)
        return named

    return decorate


def renamed_argument(
    *, old_name: str, old: Value | None, new_name: str, new: Value | None, removed_in: str
) -> Value | None:
    """Returns what was given for an argument under its old or its new name.

    Both have the default None, which stands for an argument that was not given. The function that
    takes them calls this one, so that the warning shows the line of its caller.

    Args:
        old_name: the name that goes.
        old: what was given under it.
        new_name: the name that takes its place.
        new: what was given under it.
        removed_in: the version that removes the old name.

    Raises:
        TypeError: both were given.
    """
    if old is None:
        return new
    if new is not None:
        raise TypeError(f"{old_name} and {new_name} were both given; expected {new_name}")
    _warn(f"the argument {old_name}", new_name, removed_in, stacklevel=4)
    return old


def _warn(what: str, instead: str, removed_in: str, *, stacklevel: int) -> None:
    """Warns of what goes; `stacklevel` is as for `warnings.warn`, counted from this function."""
    text = f"{what} is deprecated, and version {removed_in} removes it; use {instead}"
    warnings.warn(text, DeprecationWarning, stacklevel)
