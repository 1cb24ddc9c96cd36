"""Studies: which policies meet which environments, how often, for how long."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.base.checks import checked_integer
from bandit_envs.studies.specs import EnvironmentSpec, PolicySpec, Spec

METRICS = ("reward", "percent_optimal", "regret")
PANELS = (*METRICS, "cumulative_regret")
MOST_TASKS = 1_000_000


class Cell(NamedTuple):
    """A policy in an environment, and its position in the study."""

    position: int
    environment: EnvironmentSpec
    policy: PolicySpec


class Task(NamedTuple):
    """A block of runs of a cell: the smallest piece of work, whoever does it.

    It carries all that is needed to do it.
    """

    cell: Cell
    block: int
    runs: int
    steps: int
    seed: int
    metrics: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.cell.policy} in {self.cell.environment}, block {self.block}"


@dataclasses.dataclass(frozen=True)
class Study:
    """Every policy meets every environment, and all meet the same problems.

    Args:
        title: stands above figures and tables.
        environments: the environments.
        policies: the policies.
        runs: how often each policy meets each environment.
        steps: pulls in a run.
        seed: of everything.
        metrics: what is measured: of `reward`, `percent_optimal`, `regret`.
        panels: what is drawn over steps, from top to bottom: metrics, or `cumulative_regret`.
            Without panels, the mean reward is drawn over the parameter that is varied.

    Raises:
        TypeError: `title` is not a string, or `runs`, `steps` or `seed` not an integer.
        ValueError: one of them is too small, there is nothing to run or more than a million tasks,
            something is there twice, a metric or panel is unknown, or a policy refuses a parameter
            or an environment.
    """

    title: str
    environments: tuple[EnvironmentSpec, ...]
    policies: tuple[PolicySpec, ...]
    runs: int
    steps: int
    seed: int = 0
    metrics: tuple[str, ...] = METRICS
    panels: tuple[str, ...] = ("reward", "percent_optimal")

    def __post_init__(self) -> None:
        if not isinstance(self.title, str):
            raise TypeError(f"title is {self.title!r}; expected a string")
        checked_integer("runs", self.runs, minimum=1)
        checked_integer("steps", self.steps, minimum=1)
        checked_integer("seed", self.seed, minimum=0)
        _check_specs("environment", self.environments)
        _check_specs("policy", self.policies)
        if self.num_tasks() > MOST_TASKS:
            raise ValueError(f"there are {self.num_tasks()} tasks; expected at most {MOST_TASKS}")
        _check_names("metric", self.metrics, METRICS)
        if not self.metrics:
            raise ValueError(f"metrics is empty; expected some of {', '.join(METRICS)}")
        measured = [name for name in PANELS if name.removeprefix("cumulative_") in self.metrics]
        _check_names("panel", self.panels, measured)
        if not self.panels and "reward" not in self.metrics:
            raise ValueError("panels is empty; expected some, as the reward is not measured")
        for environment in self.environments:
            env = environment.make(1, np.random.SeedSequence(0))
            for policy in self.policies:
                policy.make(env, 0)

    def cells(self) -> Iterator[Cell]:
        """Yields every pair of an environment and a policy."""
        pairs = itertools.product(self.environments, self.policies)
        for position, (environment, policy) in enumerate(pairs):
            yield Cell(position, environment, policy)

    def tasks(self, cell: Cell) -> Iterator[Task]:
        """Yields the tasks of a cell."""
        size = cell.environment.runs_a_block
        for block, start in enumerate(range(0, self.runs, size)):
            runs = min(size, self.runs - start)
            yield Task(cell, block, runs, self.steps, self.seed, self.metrics)

    def num_cells(self) -> int:
        """Returns how many cells there are."""
        return len(self.environments) * len(self.policies)

    def num_tasks(self) -> int:
        """Returns how many tasks there are in all cells."""
        blocks = [-(-self.runs // environment.runs_a_block) for environment in self.environments]
        return sum(blocks) * len(self.policies)

    def name(self, cell: Cell) -> str:
        """Returns what to call a cell: its policy, and its environment if there are several."""
        several = len(self.environments) > 1
        return f"{cell.policy}, {cell.environment}" if several else str(cell.policy)

    def label(self, cell: Cell, without: str = "") -> str:
        """Returns the cell as a legend writes it: of its environment, only what tells it apart.

        Args:
            cell: the cell.
            without: a parameter of the policy to leave out.
        """
        environment, others = cell.environment, self.environments
        alike = [other for other in others if other.name == environment.name]
        told_apart = [environment.family.title] if len(alike) < len(others) else []
        for key in environment.family.parameters():
            if any(other.value(key) != environment.value(key) for other in alike):
                told_apart.append(environment.written(key))
        return ", ".join([cell.policy.label(without), *told_apart])

    def to_json(self) -> dict[str, Any]:
        """Returns what `from_json` makes this study of again."""
        return {
            **{field.name: getattr(self, field.name) for field in dataclasses.fields(self)},
            "environments": [str(spec) for spec in self.environments],
            "policies": [str(spec) for spec in self.policies],
            "metrics": list(self.metrics),
            "panels": list(self.panels),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Study:
        """Returns the study that `to_json` wrote.

        Raises:
            TypeError: a value is missing, or not one of a study.
            ValueError: as for the constructor.
        """
        return cls(
            **{
                **values,
                "environments": tuple(map(EnvironmentSpec.parse, values["environments"])),
                "policies": tuple(map(PolicySpec.parse, values["policies"])),
                "metrics": tuple(values["metrics"]),
                "panels": tuple(values["panels"]),
            }
        )

    @classmethod
    def from_toml(cls, values: Mapping[str, Any]) -> Study:
        """Returns the study that a parsed TOML file describes.

        Args:
            values: `title`, `runs`, `steps` and optionally `seed`, `metrics`, `panels`, as for the
                constructor; `environment` and `policy`, lists of tables with a `name` and
                parameters. A list as a parameter's value stands for each of its items; several
                lists in a table, for all their combinations.

        Raises:
            TypeError: a value is of a wrong type.
            ValueError: a key is missing or unknown, or as for the constructor.
        """
        values = dict(values)
        for key in ("title", "runs", "steps", "environment", "policy"):
            if key not in values:
                raise ValueError(f"the study has no {key}; expected one")
        environments = _expand(EnvironmentSpec, values.pop("environment"))
        policies = _expand(PolicySpec, values.pop("policy"))
        known = [field.name for field in dataclasses.fields(cls)]
        for key, value in values.items():
            if key not in known or key in ("environments", "policies"):
                raise ValueError(f"the study has {key!r}; expected a key of a study")
            if key in ("metrics", "panels"):
                if not isinstance(value, list):
                    raise TypeError(f"{key} is {value!r}; expected a list of names")
                values[key] = tuple(value)
        return cls(environments=environments, policies=policies, **values)


def _expand(spec: type[Any], tables: Any) -> tuple[Any, ...]:
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ValueError(f"{spec.what} is {tables!r}; expected [[{spec.what}]] tables")
    specs: list[Any] = []
    for table in tables:
        if "name" not in table:
            names = ", ".join(spec.families)
            raise ValueError(f"one {spec.what} has no name; expected one of {names}")
        keys = [key for key in table if key != "name"]
        lists = [table[key] if isinstance(table[key], list) else [table[key]] for key in keys]
        if [] in lists:
            raise ValueError(f"{spec.what} {table['name']} got an empty list; expected values")
        number = len(specs) + math.prod(map(len, lists))
        if number > MOST_TASKS:
            raise ValueError(
                f"{spec.what} stands for {number} combinations; expected at most {MOST_TASKS}"
            )
        for combination in itertools.product(*lists):
            specs.append(spec(table["name"], dict(zip(keys, combination))))
    return tuple(specs)


def _check_specs(what: str, specs: Sequence[Spec]) -> None:
    if not specs:
        raise ValueError(f"there is no {what}; expected at least one")
    seen = set()
    for text in map(str, specs):
        if text in seen:
            raise ValueError(f"{what} {text} is there twice; expected it once")
        seen.add(text)


def _check_names(what: str, names: Sequence[str], allowed: Iterable[str]) -> None:
    for name in names:
        if name not in allowed:
            raise ValueError(f"{what} is {name!r}; expected one of {', '.join(allowed)}")
        if names.count(name) > 1:
            raise ValueError(f"{what} {name} is there twice; expected it once")
