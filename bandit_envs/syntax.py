"""Python's syntax trees, which are made again if threads disturb each other.

In Python 3.11, a thread that makes a tree while another one does may fail with "SystemError: AST
constructor recursion depth mismatch". A lock would not help, as other libraries make trees, too.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeVar

Made = TypeVar("Made")

MISMATCH = "recursion depth mismatch"
"""What Python says if another thread has made a tree at the same time."""

TRIES = 100
"""So often is tried what fails for that reason. Two tries are rare, even if many threads parse."""


def undisturbed(make: Callable[[], Made]) -> Made:
    """Returns what a function makes that makes syntax trees, as many readers of files do.

    It is called again if another thread has disturbed it.
    """
    tries = 1
    while True:
        try:
            return make()
        except SystemError as error:
            if MISMATCH not in str(error) or tries == TRIES:
                raise
        tries += 1


def parse_module(source: bytes) -> ast.Module:
    """Returns the tree of a file of source, as `ast.parse` does."""
    return undisturbed(lambda: ast.parse(source))


def parse_expression(text: str) -> ast.expr:
    """Returns the tree of an expression, as `ast.parse` does."""
    return undisturbed(lambda: ast.parse(text, mode="eval")).body


def parse_literal(text: str) -> object:
    """Returns the value of a literal, as `ast.literal_eval` does; ValueError for any other text."""
    try:
        return ast.literal_eval(parse_expression(text.lstrip(" \t")))
    except (MemoryError, RecursionError, SyntaxError, TypeError) as error:  # of nested texts, too
        raise ValueError(f"it is not a literal of Python: {error}") from error
