"""Studies: which policies meet which environments, and what is measured."""

from __future__ import annotations

import bisect
import collections
import dataclasses
import functools
import itertools
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from bandit_envs.base.checks import check_integer
from bandit_envs.environments.environment_choice import EnvironmentChoice
from bandit_envs.metrics import QUANTITIES, Quantity
from bandit_envs.names.notation import parse_toml
from bandit_envs.policies.policy_choice import PolicyChoice
from bandit_envs.studies.definition.appearance import check_colors, check_labels, split_appearance
from bandit_envs.studies.definition.keys import (
    DEFAULT_PANELS,
    check_choices,
    check_expected,
    check_failed,
    check_keys,
    check_listed_names,
    check_over,
    check_paired,
    check_quantiles,
    check_size,
    check_title,
    defaults,
    explain_file,
    find_unknown_metrics,
    read_choices,
    resolve_metrics,
    resolve_panels,
)
from bandit_envs.studies.definition.repeats import find_failing
from bandit_envs.studies.definition.task import Task
from bandit_envs.studies.definition.trials import try_policies
from bandit_envs.studies.definition.user_modules import digest_modules

RUNS_PER_TASK = 2000
"""Runs of a task where rows are runs; fixed, so that it cannot change the results."""

TASKS = 64
"""At most so many tasks of runs whose rows share a problem."""

KEPT = 100
"""At most so many steps, after which the sums of each run are kept for quantiles."""


class View(TypedDict, total=False):
    """What tables and figures show, in place of what the study says."""

    title: str
    panels: Sequence[str]
    quantiles: Sequence[float]
    log_axes: Sequence[str]
    labels: Mapping[str, str]
    colors: Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class Study:
    """Every policy meets every environment, and all policies meet the same problems."""

    title: str
    environment: tuple[EnvironmentChoice, ...]
    policy: tuple[PolicyChoice, ...]

    runs: int
    """Of each policy in each environment."""

    steps: int
    """In a run."""

    seed: int = 0

    metrics: tuple[str, ...] = ()
    """What is measured, by names in `METRICS`."""

    panels: tuple[str, ...] = DEFAULT_PANELS
    """What is drawn over steps. Without panels, the mean reward is drawn over the parameter that
    varies. The panel "arms" is a picture of one problem."""

    paired: bool = False
    """Whether the first policy meets the first environment only, and so on."""

    over: Mapping[str, list[float]] = dataclasses.field(default_factory=dict)
    """The label of the x-axis, with a number for each environment. The figure then shows the last
    step over these numbers."""

    log_axes: tuple[str, ...] = ()
    """The logarithmic axes of the figure: some of x and y."""

    quantiles: list[float] = dataclasses.field(default_factory=list)
    """With two, tables and figures show medians, with these quantiles over runs, in place of
    means."""

    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """What figures, tables and data frames write, by the texts of environments and policies; of
    others, names and parameters. In a study file, the key `label` of their tables."""

    colors: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Colours of matplotlib. In a study file, the key `color` of the same tables."""

    expected: list[Mapping[str, Any]] = dataclasses.field(default_factory=list)
    """Expected results, each a table of the arguments of `Expected`."""

    failed: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """What went wrong in users' policies that are left out, by their texts. Study files have none:
    `from_dict` finds it when it tries the policies."""

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Study:
        """Returns the study that a study file describes, once every policy has taken a step.

        By default, `metrics` are all that the environments know.

        Raises:
            TypeError, ValueError: a key is missing, unknown or has a wrong value. The error names
                the key. Or two runs of a user's environment, or of all policies, with one seed
                differ.
        """
        check_keys("the study", values, cls)
        given = {**defaults(cls), "panels": None, **values}
        check_size(given["environment"], given["policy"], paired=given["paired"])
        places = split_appearance(EnvironmentChoice, given["environment"])
        rules = split_appearance(PolicyChoice, given["policy"])
        given["labels"] = {**places.labels, **rules.labels, **given["labels"]}
        given["colors"] = {**places.colors, **rules.colors, **given["colors"]}
        environments = check_choices(EnvironmentChoice, places.items)
        if given["paired"] or given["expected"]:  # each policy has its place
            policies = check_choices(PolicyChoice, rules.items)
            given["failed"] = {}
        else:
            policies, given["failed"] = try_policies(environments, rules.items, given["runs"])
        digest_modules([*environments, *policies])  # a study must not begin with old code
        study = cls._checked(given, environments, policies, find_unknown_metrics)
        return study._without_failing()

    def _without_failing(self) -> Study:
        """Returns the study without users' policies whose trials fail or do not repeat.

        Raises:
            ValueError: an environment fails; or no policy is left, or none may be left out, as the
                study is paired or has expected values.
        """
        failing = find_failing(self.pairs(), self.runs, self.steps)
        if not failing:
            return self
        policies = tuple(policy for policy in self.policy if str(policy) not in failing)
        if self.paired or self.expected or not policies:
            raise ValueError(next(iter(failing.values())))
        return dataclasses.replace(self, policy=policies, failed={**self.failed, **failing})

    @classmethod
    def read(cls, values: Mapping[str, Any], independent_rows: Mapping[str, bool]) -> Study:
        """Returns the study of which `to_dict` has made values, as results hold them.

        Nothing that the values name is imported, made or tried.

        Args:
            values: what `to_dict` returned, or an editor has made of it.
            independent_rows: whether rows are independent runs, by the texts of the environments
                of users.

        Raises:
            TypeError, ValueError: a key is missing, unknown or has a wrong value.
        """
        check_keys("the study", values, cls)
        given = {**defaults(cls), "panels": None, **values}
        environments = [
            choice.with_rows(independent_rows[str(choice)]) if choice.is_users else choice
            for choice in read_choices(EnvironmentChoice, given["environment"])
        ]
        policies = read_choices(PolicyChoice, given["policy"])
        return cls._checked(given, tuple(environments), policies, lambda *_: {})

    @classmethod
    def _checked(
        cls,
        given: Mapping[str, Any],
        environments: tuple[EnvironmentChoice, ...],
        policies: tuple[PolicyChoice, ...],
        find_unknown: Callable[..., dict[str, str]],
    ) -> Study:
        """Returns the study of values, once they are checked.

        Args:
            given: a value for each key.
            environments: those of the study.
            policies: those of the study.
            find_unknown: returns why metrics are unknown, by their names.
        """
        labels = check_labels(given["labels"])
        quantiles = check_quantiles(given["quantiles"])
        over = check_over(given["over"], len(environments))
        paired = check_paired(given["paired"], len(policies), len(environments))
        title = check_title(given["title"])
        reasons = find_unknown(environments, policies)
        metrics = resolve_metrics(given["metrics"], reasons)
        return cls(
            title=title,
            environment=environments,
            policy=policies,
            runs=check_integer("runs", given["runs"], 1),
            steps=check_integer("steps", given["steps"], 1),
            seed=check_integer("seed", given["seed"], 0),
            metrics=metrics,
            panels=resolve_panels(given["panels"], metrics, reasons),
            paired=paired,
            over=over,
            log_axes=check_listed_names("log_axes", given["log_axes"], ("x", "y")),
            quantiles=quantiles,
            labels=labels,
            colors=check_colors(given["colors"]),
            expected=check_expected(given["expected"]),
            failed=check_failed(given["failed"]),
        )

    @classmethod
    def from_toml(cls, file: str | Path) -> Study:
        """Returns the study of a study file.

        Raises:
            TypeError, ValueError: as `from_dict`. The error names the file, too.
        """
        with explain_file(file, cls):
            return cls.from_dict(parse_toml(Path(file).read_text("utf-8")))

    @classmethod
    def restored(cls, values: Mapping[str, Any], folder: str) -> Study:
        """Returns the study of which `to_dict` has made values, without trying it again.

        Args:
            values: what `to_dict` returned.
            folder: where users' modules are.
        """
        given: dict[str, Any] = dict(values)
        for key, kind in (("environment", EnvironmentChoice), ("policy", PolicyChoice)):
            given[key] = tuple(kind.restored(text, folder) for text in values[key])
        for key in ("metrics", "panels", "log_axes"):
            given[key] = tuple(values[key])
        return cls(**given)

    def shown(self, **view: typing.Unpack[View]) -> Study:
        """Returns the study with other values of keys that say what to show.

        Raises:
            TypeError, ValueError: a value is wrong, or needs metrics that the study has not.
        """
        changes: dict[str, Any] = {}
        if "title" in view:
            changes["title"] = check_title(view["title"])
        if "panels" in view:
            changes["panels"] = resolve_panels(view["panels"], self.metrics, {})
        if "quantiles" in view:
            changes["quantiles"] = check_quantiles(view["quantiles"])
        if "log_axes" in view:
            changes["log_axes"] = check_listed_names("log_axes", view["log_axes"], ("x", "y"))
        if "labels" in view:
            changes["labels"] = {**self.labels, **check_labels(view["labels"])}
        if "colors" in view:
            changes["colors"] = {**self.colors, **check_colors(view["colors"])}
        return dataclasses.replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Returns a dict that `from_dict` accepts and JSON can hold."""
        values = {}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            values[field.name] = [*map(str, value)] if isinstance(value, tuple) else value
        return values

    def pairs(self) -> list[tuple[EnvironmentChoice, PolicyChoice]]:
        """Returns the environments and policies that meet."""
        if self.paired:
            return list(zip(self.environment, self.policy))
        return list(itertools.product(self.environment, self.policy))

    @property
    def quantities(self) -> dict[str, Quantity]:
        """All quantities that are measured."""
        return {name: each for name, each in QUANTITIES.items() if each.metric in self.metrics}

    @property
    def summary(self) -> dict[str, Quantity]:
        """The quantities of the summary."""
        return {name: each for name, each in self.quantities.items() if each.heading}

    @property
    def spread(self) -> str:
        """What tables and figures show of many runs."""
        if not self.quantiles:
            return "± one standard error over runs"
        low_high = " and ".join(f"{100 * level:.4g}%" for level in self.quantiles)
        return f"medians over runs, with the {low_high} quantiles"

    @functools.cached_property
    def kept(self) -> tuple[int, ...]:
        """The steps after which the sums of each run are kept.

        They are those that quantiles are shown of, closer at first, and the ends of the `expected`
        means over some steps.
        """
        steps: set[int] = set()
        if self.quantiles:
            steps.update(-(-self.steps * i**2 // KEPT**2) for i in range(1, KEPT + 1))
        for item in self.expected:
            if isinstance(item, Mapping) and item.get("since") is not None:
                step = check_integer("expected: step", item.get("step", self.steps), 2)
                since = check_integer("expected: since", item["since"], 1, step - 1)
                steps.update({since, step} if step <= self.steps else ())
        return tuple(sorted(steps))

    def tasks(self) -> Iterator[Task]:
        """Yields the tasks of each policy in each environment, by their numbers."""
        return map(self.task, range(self.num_tasks))

    def task(self, number: int) -> Task:
        """Returns the task of a number, from 0."""
        position = bisect.bisect_right(self._first_tasks, number) - 1
        environment, policy = self._pairs[position]
        size = self._task_size(environment)
        start = size * (number - self._first_tasks[position])
        return Task(
            number=number,
            position=position,
            environment=environment,
            policy=policy,
            block=start // size if environment.entry.independent_rows else start,
            runs=min(size, self.runs - start),
            steps=self.steps,
            seed=self.seed,
            metrics=self.metrics,
            kept=self.kept,
        )

    @property
    def num_tasks(self) -> int:
        """The number of tasks."""
        return self._first_tasks[-1]

    @functools.cached_property
    def _first_tasks(self) -> list[int]:
        """The number of the first task of each pair; in the end, the number of all tasks."""
        counts = [-(-self.runs // self._task_size(environment)) for environment, _ in self._pairs]
        return [0, *itertools.accumulate(counts)]

    @functools.cached_property
    def _pairs(self) -> list[tuple[EnvironmentChoice, PolicyChoice]]:
        """What `pairs` returns."""
        return self.pairs()

    def _task_size(self, environment: EnvironmentChoice) -> int:
        """Returns the number of runs of a task in an environment, if it is not the last one."""
        return RUNS_PER_TASK if environment.entry.independent_rows else -(-self.runs // TASKS)

    def label(self, environment: EnvironmentChoice, policy: PolicyChoice, without: str = "") -> str:
        """Returns what a legend writes: of the environment, only what tells it from the others."""
        return ", ".join([self.policy_label(policy, without), *self.own_parts(environment)])

    def policy_label(self, policy: PolicyChoice, without: str = "") -> str:
        """Returns what tables and legends write of a policy, without one parameter.

        Parameters follow a label that several policies share.
        """
        own = self.labels.get(str(policy))
        parts = policy.parts(without)
        is_shared = own in self._shared_labels
        if own is None or (without and not is_shared):
            return ", ".join(parts)
        return ", ".join([own, *parts[1:]]) if is_shared else own

    def environment_label(self, environment: EnvironmentChoice) -> str:
        """Returns what tables and figures write of an environment."""
        return self.labels.get(str(environment)) or ", ".join(environment.parts())

    def own_parts(self, environment: EnvironmentChoice) -> list[str]:
        """Returns the parts of an environment's label that tell it from the others."""
        own = self.labels.get(str(environment))
        if own is not None:
            return [own]
        return [part for part in environment.parts() if part not in self._common_parts]

    @functools.cached_property
    def _common_parts(self) -> set[str]:
        """The parts of labels that all environments share."""
        return set.intersection(*(set(environment.parts()) for environment in self.environment))

    @functools.cached_property
    def _shared_labels(self) -> set[str]:
        """The labels that several policies have."""
        counts = collections.Counter(self.labels.get(str(policy), "") for policy in self.policy)
        return {label for label, count in counts.items() if label and count > 1}
