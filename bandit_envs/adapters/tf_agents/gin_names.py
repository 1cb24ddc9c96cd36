"""The names under which gin configures the replacements of TF-Agents' environments."""

# gin has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import gin

DropIn = TypeVar("DropIn", bound=Callable[..., Any])

ROOM = "bandit_envs.adapters.tf_agents.environments"
"""What stands for `tf_agents.bandits.environments`."""


def configurable(module: str) -> Callable[[DropIn], DropIn]:
    """Makes gin configure a class or a function under each of the names that a file may have.

    They are the bare name, the name behind `module`, and the name behind `module` in this package.
    Each is a name of its own to gin. TF-Agents registers a class of the same name in a module of
    the same name, so a shorter name would be that class, or either. Where settings of several names
    disagree, the longest name's count.

    Args:
        module: TF-Agents' module of the class or function, without the packages around it.
    """

    def register(drop_in: DropIn) -> DropIn:
        name = drop_in.__name__
        configured = _register_bare_name(drop_in)
        signature = inspect.signature(_called(configured))
        # Defaults that gin saw here, it would log for each name, as if they were configured.
        _set_signature(configured, _without_defaults(signature))
        for longer_name in (f"{module}.{name}", f"{ROOM}.{module}.{name}"):
            configured = gin.configurable(longer_name)(configured)
        _set_signature(configured, signature)
        return configured

    return register


def _register_bare_name(drop_in: DropIn) -> DropIn:
    """Registers a name to which gin adds no module; returns what gin configures."""
    module = drop_in.__module__
    drop_in.__module__ = None  # type: ignore[assignment]
    configured: DropIn = gin.configurable(drop_in)
    drop_in.__module__ = module
    configured.__module__ = module
    return configured


def _called(drop_in: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function whose arguments gin fills in."""
    constructor: Callable[..., Any] = drop_in.__init__
    return constructor if inspect.isclass(drop_in) else drop_in


def _set_signature(drop_in: Callable[..., Any], signature: inspect.Signature) -> None:
    """Tells gin, which wraps functions, the arguments of the function beneath its wrappers."""
    _called(drop_in).__signature__ = signature  # type: ignore[attr-defined]


def _without_defaults(signature: inspect.Signature) -> inspect.Signature:
    parameters = signature.parameters.values()
    required = [each.replace(default=inspect.Parameter.empty) for each in parameters]
    return signature.replace(parameters=required)
