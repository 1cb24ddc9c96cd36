"""Python's syntax trees, which are made in one thread at a time.

In Python 3.11, a thread that makes a tree while another one does may fail with "SystemError: AST
constructor recursion depth mismatch". Other libraries make trees without the lock, so a thread that
has failed in this way tries again.
"""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable
from typing import TypeVar

Tree = TypeVar("Tree", bound=ast.Module | ast.Expression)

MISMATCH = "recursion depth mismatch"
"""What Python says if another thread has made a tree at the same time."""

TRIES = 100
"""So often a tree is tried, of which each try may fail for that reason."""

_LOCK = threading.RLock()  # a signal, or the garbage collector, may want a tree while one is made


def parse_module(source: bytes) -> ast.Module:
    """Returns the tree of a file of source, as `ast.parse` does."""
    return _make(lambda: ast.parse(source))


def parse_expression(text: str) -> ast.expr:
    """Returns the tree of an expression, as `ast.parse` does."""
    return _make(lambda: ast.parse(text, mode="eval")).body


def parse_literal(text: str) -> object:
    """Returns the value of a literal, as `ast.literal_eval` does."""
    return ast.literal_eval(parse_expression(text.lstrip(" \t")))


def _make(make: Callable[[], Tree]) -> Tree:
    """Returns the tree that a function makes, and calls it again if threads got in its way."""
    tries = 1
    while True:
        try:
            with _LOCK:
                return make()
        except SystemError as error:
            if MISMATCH not in str(error) or tries == TRIES:
                raise
        tries += 1
