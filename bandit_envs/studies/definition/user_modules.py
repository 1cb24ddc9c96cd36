"""Which files of code a study's results depend on: users' modules, and what these import."""

from __future__ import annotations

import ast
import hashlib
import importlib.machinery
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from bandit_envs.names.choice import Choice
from bandit_envs.names.notation import parse_module

PACKAGE = __name__.partition(".")[0]
"""This package, whose version is noted instead."""

INSTALLED = {"site-packages", "dist-packages", Path(ast.__file__).parent.name}
"""The names of folders in which modules of others lie side by side."""

_IMPORTED: dict[str, tuple[ModuleSpec, str]] = {}
"""The specs of modules in this process, and the digests of their files when first digested."""


def digest_modules(choices: Iterable[Choice[Any]]) -> dict[str, str]:
    """Returns digests of users' modules, by their names.

    They are the modules that choices name, those that define their classes, and all that these
    import which lie in the same folder as the module, or below it. Imports are read from the
    source, so it does not matter whether one has been executed; `importlib.import_module` and data
    files are not followed.

    Raises:
        ValueError: a file has changed since this process has imported it.
    """
    found: dict[str, Path] = {}
    for choice in choices:
        names = choice.modules
        if choice.is_users:
            names = [*names, choice.entry.make.__module__]
        for name in names:
            file = _file_of(name)
            if file is not None and name.partition(".")[0] != PACKAGE:
                _follow(name, file, found)
    digests = {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in found.items()}
    for name, digest in digests.items():
        _check_unchanged(name, digest)
    return digests


def check_same_modules(choices: Iterable[Choice[Any]], expected: Mapping[str, object]) -> None:
    """Raises ValueError if this process has other code of users than a study was started with.

    Args:
        choices: the environments and policies of the study.
        expected: the digests of its modules. Those that are not found here are not compared.
    """
    found = digest_modules(choices)
    others = [name for name, digest in found.items() if expected.get(name, digest) != digest]
    if others:
        problem = f"{', '.join(others)} changed while the study was started"
        raise ValueError(f"{problem}; expected files that stay the same: start it again")


def _check_unchanged(name: str, digest: str) -> None:
    """Raises ValueError if a module was imported when its file had another digest.

    Before the first call, nobody knows what was imported. A module that is imported anew, or
    reloaded, has a new spec.
    """
    spec = getattr(sys.modules.get(name), "__spec__", None)
    if spec is None:
        return
    seen = _IMPORTED.get(name)
    if seen is None or seen[0] is not spec:
        _IMPORTED[name] = (spec, digest)
    elif seen[1] != digest:
        problem = f"the file of {name} has changed since Python imported it"
        expected = "a restart of Python, or a reload of it and of the modules that import it"
        raise ValueError(f"{problem}; expected {expected}")


def _file_of(name: str) -> Path | None:
    """Returns the file of a module that was imported; None if it has none."""
    module = sys.modules.get(name)
    try:
        file = None if module is None else Path(inspect.getfile(module)).absolute()
    except TypeError:  # built into Python
        return None
    return file if file is not None and file.is_file() else None


def _follow(name: str, file: Path, found: dict[str, Path]) -> None:
    """Adds a module, and what it imports, to those that are found."""
    is_package = file.name == "__init__.py"
    root = file.parents[name.count(".") + is_package]
    top = name.partition(".")[0]
    waiting = [(name, file)]
    while waiting:
        name, file = waiting.pop()
        if name in found:
            continue
        found[name] = file
        for each in _imported(name, file):
            is_own = each.partition(".")[0] == top or root.name not in INSTALLED
            path = _find(root, each) if is_own else None
            if path is not None:
                waiting.append((each, path))


def _imported(name: str, file: Path) -> Iterator[str]:
    """Yields the absolute names of modules that a module may import, with those above them."""
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    for node in _nodes_of(file):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: 1 - node.level or None] if node.level else []
            base = ".".join(filter(None, [*above, node.module]))
            names = [f"{base}.{alias.name}" for alias in node.names]  # a name may be a module
        for each in names:
            parts = each.split(".")
            yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1))


def _nodes_of(file: Path) -> Iterator[ast.AST]:
    """Returns the nodes of a file of source; none of other files, or of one that has an error."""
    if file.suffix != ".py":
        return iter(())
    try:
        return ast.walk(parse_module(file.read_bytes()))
    except (SyntaxError, ValueError, RecursionError):
        return iter(())


def _find(root: Path, name: str) -> Path | None:
    """Returns the file of a module below a folder; None if it has none there."""
    parts = name.split(".")
    if parts[0] == PACKAGE:
        return None
    path = root.joinpath(*parts)
    files = [path / "__init__.py"]
    files += [path.with_name(path.name + end) for end in importlib.machinery.all_suffixes()]
    return next((file for file in files if file.is_file()), None)
