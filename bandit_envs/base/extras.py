"""Modules of other libraries, which extras of the package install."""

import importlib
from types import ModuleType


def import_extra(name: str, extra: str) -> ModuleType:
    """Returns a module that an extra of the package installs; the error without it says which."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        advice = f'{name} is not installed; in a checkout: pip install ".[{extra}]"'
        raise ModuleNotFoundError(advice, name=error.name) from error
