"""The code of users: where its modules are, what it raises, and where it was raised."""

from __future__ import annotations

import contextlib
import inspect
import re
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from types import FrameType
from typing import Any

from bandit_envs.names.visible import visible


class ExitError(RuntimeError):
    """A user's code has raised what would have ended the process, such as SystemExit."""


def look_for_modules_in(folder: str) -> None:
    """Lets Python find modules in a folder, ahead of all others of their names."""
    if sys.path[:1] != [folder]:
        sys.path.insert(0, folder)


def users_modules(*made: object) -> list[str]:
    """Returns the modules of the classes of objects, except for those of this package."""
    names = [type(each).__module__ for each in made]
    return [name for name in names if name.partition(".")[0] != "bandit_envs"]


@contextlib.contextmanager
def exits_as_errors() -> Iterator[None]:
    """Turns what is no `Exception` into an `ExitError`, so that `except Exception` meets it.

    These are SystemExit, GeneratorExit and a KeyboardInterrupt that a user's code raises itself.
    After Ctrl-C, KeyboardInterrupt is raised as ever.
    """
    with _noted_interrupts() as interrupts:
        try:
            yield
        except Exception:
            raise
        except BaseException as error:
            if interrupts and not isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt from error
            if interrupts:
                raise
            exit_error = ExitError(describe(error)).with_traceback(error.__traceback__)
            raise exit_error from error


@contextlib.contextmanager
def _noted_interrupts() -> Iterator[list[int]]:
    """Yields a list that is empty until Ctrl-C is pressed. What Ctrl-C does stays the same."""
    interrupts: list[int] = []
    handler = signal.getsignal(signal.SIGINT)
    # Other threads get no signals, and a handler outside of Python cannot be called.
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield interrupts
        return

    def note(number: int, frame: FrameType | None) -> None:
        interrupts.append(number)
        handler(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, handler)


def text_of(error: object) -> str:
    """Returns the text of an error, also if the error fails to tell one."""
    try:
        with exits_as_errors():
            return str(error)
    except Exception as problem:
        return f"(its text cannot be shown: {type(problem).__name__})"


def describe(error: BaseException) -> str:
    """Returns the text of an error, with the name of its class where the text may need one."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    text = text_of(error)
    if isinstance(error, (TypeError, ValueError, OSError, ExitError)):
        return text
    return f"{type(error).__name__}: {text}".removesuffix(": ")


def raised_at(error: BaseException, *modules: str) -> str:
    """Returns " (file:line)" of the last line in one of users' `modules` that led to an error."""
    found = [
        f" ({frame.f_code.co_filename}:{line})"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_globals.get("__name__") in modules
    ]
    return "".join(found[-1:])


def defined_at(made: Any, text: str) -> str:
    """Returns " (file:line)" of a user's class or function, or of its method that a text names."""
    hooks = [getattr(made, name, None) for name in re.findall(r"\b_[a-z]\w*", text)]
    methods = [hook for hook in hooks if isinstance(made, type) and inspect.isfunction(hook)]
    for each in [*methods, made]:
        if each.__module__.partition(".")[0] != "bandit_envs":
            with contextlib.suppress(OSError, TypeError):  # such as a class of a console
                line = inspect.getsourcelines(each)[1]
                return f" ({inspect.getsourcefile(each)}:{line})"
    return ""


@contextlib.contextmanager
def name_in_interrupts(subject: str, *modules: str) -> Iterator[None]:
    """Names what Ctrl-C interrupts, as an endless loop, and the line in users' `modules`."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt(f"{subject}{raised_at(error, *modules)}") from error


def printable(value: object, *modules: str) -> str:
    """Returns text, or an exception and its line in users' `modules`, as a line."""
    text = describe(value) if isinstance(value, BaseException) else str(value)
    line = visible(" ".join(text.split()))
    if len(line) > 500:
        line = f"{line[:196]} ... {line[-299:]}"  # reasons come last
    if isinstance(value, BaseException):
        line += raised_at(value, *modules)
    return line


@contextlib.contextmanager
def name_in_errors(subject: str, *modules: str) -> Iterator[None]:
    """Names in errors what failed, and the line in users' `modules`.

    Other errors than those of wrong input pass unless there is such a module: they are our own.
    """
    try:
        with exits_as_errors():
            yield
    except Exception as error:  # users' classes raise any
        is_input = isinstance(error, (NotImplementedError, TypeError, ValueError, ExitError))
        if not is_input and not modules:
            raise
        raise ValueError(f"{subject}: {printable(error, *modules)}") from error
