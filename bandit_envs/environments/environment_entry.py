"""What an id of an environment stands for."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from bandit_envs.base.bandit_py_environment import BanditPyEnvironment, has_own_hook
from bandit_envs.names.registry import Entry
from bandit_envs.wrappers import OneProblem, Wrapper

FORMER_IDS = {
    "digits": "classification:data=digits",
    "wine": "classification:data=wine",
    "breast_cancer": "classification:data=breast_cancer",
}
"""Ids that an error explains, with what stands in their place."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class EnvironmentEntry(Entry):
    """An environment under an id.

    `make` is its class, or a preset: a function of plain values that is annotated with the class of
    what it returns, takes `batch_size`, and passes the keywords on that every environment takes,
    such as `seed`.
    """

    what = "environment"
    kinds = (BanditPyEnvironment, Wrapper)
    former = FORMER_IDS

    environment: type[BanditPyEnvironment[Any] | Wrapper]
    """The class of what `make` returns."""

    independent_rows: bool
    """Whether each row is an independent run; else a batch is one run of a shared problem."""

    has_context: bool
    """Whether rows are users of a shared problem, whom observations tell apart."""

    stationary: bool | None = None
    """Whether equal observations mean equal expected rewards, at any time; None if unknown."""

    upstream: str | None = None
    """TF-Agents' class of the same name and signature."""

    gymnasium_id: str | None = None
    """The id for `gymnasium.make`."""

    @classmethod
    def of_class(cls, name: str, found: type) -> EnvironmentEntry:
        return make_entry(name, found.__name__, found, stationary=None)

    @classmethod
    def of_name(cls, name: str) -> EnvironmentEntry:
        return cls(
            id=name,
            title=name.rpartition(":")[2].rpartition(".")[2],
            make=name,
            environment=BanditPyEnvironment,
            independent_rows=False,
            has_context=False,
        )

    @property
    def supplied(self) -> frozenset[str]:
        names = frozenset({"seed", "horizon", "name"})
        return names | {"batch_size"} if self.independent_rows else names


def make_entry(
    name: str,
    title: str,
    make: Callable[..., Any],
    *,
    stationary: bool | None = True,
    upstream: str | None = None,
    gymnasium_id: str | None = None,
) -> EnvironmentEntry:
    """Returns an entry; what the class of the environment says is taken from it."""
    environment = _class_of(make)
    return EnvironmentEntry(
        id=name,
        title=title,
        make=make,
        environment=environment,
        independent_rows=environment.independent_rows,
        has_context=_has_context(environment),
        stationary=stationary,
        upstream=upstream,
        gymnasium_id=gymnasium_id,
    )


def _class_of(make: Callable[..., Any]) -> type[BanditPyEnvironment[Any] | Wrapper]:
    """Returns a class itself, or the class that a preset is annotated to return."""
    if isinstance(make, type):
        return make
    returned = make.__annotations__["return"]  # a name, as presets postpone annotations
    found: type[BanditPyEnvironment[Any] | Wrapper] = make.__globals__[returned]
    return found


def _has_context(environment: type) -> bool:
    """Whether rows are users of a shared problem, whom the environment observes."""
    if not issubclass(environment, BanditPyEnvironment) or environment is OneProblem:
        return False  # it is around another environment
    return has_own_hook(environment, "_observe") and not environment.independent_rows
