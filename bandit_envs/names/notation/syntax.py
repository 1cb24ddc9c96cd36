"""Python's syntax trees, which are made in one thread at a time.

In Python 3.10 and 3.11, threads that make trees at the same time fail with "SystemError: AST
constructor recursion depth mismatch".
"""

from __future__ import annotations

import ast
import threading

_LOCK = threading.Lock()


def parse_module(source: bytes) -> ast.Module:
    """Returns the tree of a file of source, as `ast.parse` does."""
    with _LOCK:
        return ast.parse(source)


def parse_expression(text: str) -> ast.expr:
    """Returns the tree of an expression, as `ast.parse` does."""
    with _LOCK:
        return ast.parse(text, mode="eval").body


def parse_literal(text: str) -> object:
    """Returns the value of a literal, as `ast.literal_eval` does."""
    return ast.literal_eval(parse_expression(text.lstrip(" \t")))
