"""Studies: which policies meet which environments, and what is measured."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.base.checks import check_integer, check_number, short_repr
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.base.registry import near_miss
from bandit_envs.drivers import StepDriver
from bandit_envs.metrics import METRICS, ON_REQUEST, QUANTITIES, Quantity
from bandit_envs.policies import Policy
from bandit_envs.policies.delayed import learner
from bandit_envs.studies.choice import (
    ALL_DIGITS,
    AnyChoice,
    Choice,
    EnvironmentChoice,
    PolicyChoice,
    printable,
    to_toml,
)

RUNS_PER_TASK = 2000
"""Runs of a task where rows are runs; fixed, so that it cannot change the results."""

TASKS = 64
"""At most so many tasks of runs whose rows share a problem."""

KEPT = 100
"""At most so many steps, after which the sums of each run are kept for quantiles."""

DEFAULT_PANELS = ("reward", "percent_optimal")


class Task(NamedTuple):
    """A block of runs, the smallest piece of work: all that it takes to do it."""

    position: int
    """The index of the environment and the policy in `Study.pairs()`."""

    environment: EnvironmentChoice
    policy: PolicyChoice

    block: int
    """The index of the block if rows are independent runs, or else of its first run."""

    runs: int
    steps: int
    seed: int
    metrics: tuple[str, ...]

    kept: tuple[int, ...]
    """The sums of each run are kept after these steps."""

    @property
    def batches(self) -> int:
        """How many environments it makes, one after the other."""
        return 1 if self.environment.entry.independent_rows else self.runs

    def __str__(self) -> str:
        return f"{self.policy} in {self.environment}, block {self.block}"


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

    expected: list[Mapping[str, Any]] = dataclasses.field(default_factory=list)
    """Expected results, each a table of the arguments of `Expected`."""

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Study:
        """Returns the study that a study file describes, once every policy has taken a step.

        By default, `metrics` are all that the environments know.

        Raises:
            TypeError, ValueError: a key is missing, unknown or has a wrong value. The error names
                the key.
        """
        check_keys("the study", values, cls)
        given = {**_defaults(cls), **values}
        environments = _check_choices(EnvironmentChoice, given["environment"])
        policies = _check_choices(PolicyChoice, given["policy"])
        quantiles = _check_quantiles(given["quantiles"])
        over = _check_over(given["over"], len(environments))
        paired = _check_paired(given["paired"], len(policies), len(environments))
        reasons = _find_unknown_metrics(environments, policies)
        metrics = _resolve_metrics(given["metrics"], reasons)
        return cls(
            title=_check_title(given["title"]),
            environment=environments,
            policy=policies,
            runs=check_integer("runs", given["runs"], 1),
            steps=check_integer("steps", given["steps"], 1),
            seed=check_integer("seed", given["seed"], 0),
            metrics=metrics,
            panels=_resolve_panels(values.get("panels"), metrics, reasons),
            paired=paired,
            over=over,
            log_axes=_check_names("log_axes", given["log_axes"], ("x", "y")),
            quantiles=quantiles,
            expected=given["expected"],
        )

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
    def summary(self) -> dict[str, Quantity]:
        """The quantities of the summary."""
        return {
            name: quantity
            for name, quantity in QUANTITIES.items()
            if quantity.metric in self.metrics and quantity.heading
        }

    @property
    def spread(self) -> str:
        """What tables and figures show of many runs."""
        if not self.quantiles:
            return "± one standard error over runs"
        low_high = " and ".join(f"{100 * level:.4g}%" for level in self.quantiles)
        return f"medians over runs, with the {low_high} quantiles"

    @property
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
        """Yields the tasks of each policy in each environment."""
        for position, (environment, policy) in enumerate(self.pairs()):
            is_batch = environment.entry.independent_rows
            size = RUNS_PER_TASK if is_batch else -(-self.runs // TASKS)
            for start in range(0, self.runs, size):
                yield Task(
                    position=position,
                    environment=environment,
                    policy=policy,
                    block=start // size if is_batch else start,
                    runs=min(size, self.runs - start),
                    steps=self.steps,
                    seed=self.seed,
                    metrics=self.metrics,
                    kept=self.kept,
                )

    def label(self, environment: EnvironmentChoice, policy: PolicyChoice, without: str = "") -> str:
        """Returns what a legend writes: of the environment, only what tells it from the others."""
        return ", ".join([*policy.parts(without), *self.own_parts(environment)])

    def own_parts(self, environment: EnvironmentChoice) -> list[str]:
        """Returns the parts of an environment's label that tell it from the others."""
        return [part for part in environment.parts() if part not in self._common_parts]

    @functools.cached_property
    def _common_parts(self) -> set[str]:
        """The parts of labels that all environments share."""
        return set.intersection(*(set(environment.parts()) for environment in self.environment))


def check_keys(what: str, table: Mapping[str, Any], kind: type) -> None:
    """Raises ValueError if a table lacks a field of the dataclass `kind`, or has another key."""
    fields = [field.name for field in dataclasses.fields(kind)]
    expected = f"expected {', '.join(fields)}"
    for key in table:
        if key not in fields:
            raise ValueError(f"{what} has an unknown key {short_repr(key)}; {expected}")
    for key in fields:
        if key not in table and key not in _defaults(kind):
            raise ValueError(f"{what} needs a value for {short_repr(key)}; {expected}")


def _defaults(kind: type) -> dict[str, Any]:
    """Returns the defaults of a dataclass."""
    defaults = {}
    for field in dataclasses.fields(kind):
        if field.default_factory is not dataclasses.MISSING:
            defaults[field.name] = field.default_factory()
        elif field.default is not dataclasses.MISSING:
            defaults[field.name] = field.default
    return defaults


def _check_title(title: object) -> str:
    """Returns a title as one line that a terminal can show."""
    if not isinstance(title, str):
        raise TypeError(f"title is {short_repr(title)}; expected a string")
    return printable(title)


def _check_choices(choice_class: type[AnyChoice], items: object) -> tuple[AnyChoice, ...]:
    """Returns the choices of a list of tables or texts. No two are the same."""
    what = choice_class.entry_class.what
    if not isinstance(items, list) or not items:
        raise ValueError(f"{what} is {short_repr(items)}; expected [[{what}]] tables")
    choices = [choice for item in items for choice in choice_class.expand(item)]
    met = set()
    for choice in choices:
        key = (choice.name, _hashable(list(choice.parameters.items())))
        if key in met:
            raise ValueError(f"{what} {choice} is listed twice")
        met.add(key)
    if _number_of_texts(choices, choices[0].digits) < _number_of_texts(choices, ALL_DIGITS):
        choices = [dataclasses.replace(choice, digits=ALL_DIGITS) for choice in choices]
    return tuple(choices)


def _hashable(value: object) -> object:
    return tuple(map(_hashable, value)) if isinstance(value, (list, tuple)) else value


def _number_of_texts(choices: Sequence[Choice[Any]], digits: int) -> int:
    """Returns how many values of parameters labels with so many digits tell apart."""
    texts = {
        (key, to_toml(value, digits))
        for choice in choices
        for key, value in choice.parameters.items()
    }
    return len(texts)


def _check_quantiles(levels: object) -> list[float]:
    """Returns no or two numbers from 0 to 1, the smaller one first."""
    if not isinstance(levels, (list, tuple)) or len(levels) not in (0, 2):
        raise ValueError(f"quantiles is {short_repr(levels)}; expected two numbers from 0 to 1")
    return sorted(check_number("quantiles", level, 0.0, 1.0) for level in levels)


def _check_over(over: object, length: int) -> dict[str, list[float]]:
    """Returns no or one name, with a number for each of so many environments."""
    problem = f"over is {short_repr(over)}; expected one name with numbers"
    if not isinstance(over, Mapping) or len(over) > 1:
        raise ValueError(problem)
    checked = {}
    for name, numbers in over.items():
        if not isinstance(numbers, list):
            raise ValueError(problem)
        if len(numbers) != length:
            raise _wrong_length(name, len(numbers))
        checked[printable(name)] = [check_number("over", number) for number in numbers]
    return checked


def _check_paired(paired: object, num_policies: int, num_environments: int) -> bool:
    """Returns whether policies and environments are paired, of which there must be as many."""
    if not isinstance(paired, bool):
        raise TypeError(f"paired is {short_repr(paired)}; expected true or false")
    if paired and num_policies != num_environments:
        raise _wrong_length("policy", num_policies)
    return paired


def _wrong_length(key: str, length: int) -> ValueError:
    return ValueError(f"{key} has {length} items; expected one for each environment")


def _check_names(
    what: str, names: object, allowed: Collection[str], reasons: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """Returns names that are allowed, each once.

    Args:
        what: the key of the study.
        names: what the study gives.
        allowed: the names that it may give.
        reasons: why others are not allowed, for the error.
    """
    problem = f"{what} is {short_repr(names)}; expected a list of {', '.join(allowed)}"
    if not isinstance(names, (list, tuple)):
        raise ValueError(problem)
    for name in names:
        if name not in allowed:
            reason = (reasons or {}).get(str(name)) or near_miss(name, allowed)
            raise ValueError(f"{problem}; {reason}" if reason else problem)
    return tuple(dict.fromkeys(names))


def _resolve_metrics(names: object, reasons: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the metrics of a study, by default all that the environments know.

    Args:
        names: what the study gives.
        reasons: why the environments do not know the others.
    """
    known = [name for name in METRICS if name not in reasons]
    default = [name for name in known if name not in ON_REQUEST]
    return _check_names("metrics", names or default, known, reasons)


def _resolve_panels(
    names: object, metrics: Collection[str], reasons: Mapping[str, str]
) -> tuple[str, ...]:
    """Returns the panels of a study, by default reward and percent_optimal.

    Args:
        names: what the study gives; None for the default.
        metrics: what the study measures.
        reasons: why the environments do not know other metrics.
    """
    drawable = [
        name
        for name, quantity in QUANTITIES.items()
        if quantity.axis and quantity.metric in metrics
    ]
    if names is None:
        return tuple(name for name in DEFAULT_PANELS if name in drawable) or tuple(drawable)
    why = {name: reasons.get(quantity.metric, "") for name, quantity in QUANTITIES.items()}
    panels = _check_names("panels", names, [*drawable, "arms"], why)
    if not panels and "reward" not in metrics:
        raise ValueError(f"panels is empty; expected some of {', '.join(drawable)}")
    return panels


def _find_unknown_metrics(
    environments: Sequence[EnvironmentChoice], policies: Sequence[PolicyChoice]
) -> dict[str, str]:
    """Lets every policy take a step, and returns which metrics are unknown, and why."""
    unknown: dict[str, str] = {}
    one_of_each = list({policy.name: policy for policy in policies}.values())
    for environment in environments:
        subject = f"environment {environment}"
        with _explain(subject, environment, listed=environments):
            env = environment.make(1, np.random.SeedSequence(0))
        for choice in policies if environment is environments[0] else one_of_each:
            subject = f"policy {choice} in environment {environment}"
            with _explain(subject, environment, choice, listed=policies):
                policy = choice.make(env, 0)
            with _explain(subject, environment, choice):
                StepDriver(env, policy, (learner(env, policy),)).run()
            for name in [name for name in METRICS if name not in unknown]:
                with _explain(subject, environment, choice):
                    reason = _why_unknown(name, env, policy)
                if reason is not None:
                    text = f"environment {environment} has no {name}: {reason}"
                    unknown[name] = text.rstrip(": ")
    return unknown


def _why_unknown(name: str, env: PyEnvironment, policy: Policy) -> str | None:
    """Returns why a metric cannot be measured in an environment, or None if it can."""
    try:
        StepDriver(env, policy, (learner(env, policy), METRICS[name](env, policy))).run()
    except NotImplementedError as error:
        return str(error)
    return None


@contextlib.contextmanager
def _explain(
    subject: str, *choices: Choice[Any], listed: Sequence[Choice[Any]] = ()
) -> Iterator[None]:
    """Names in errors what failed, and the line in a user's class.

    Args:
        subject: what failed.
        choices: whose classes may have failed.
        listed: the study's choices, where the last of `choices` is made of its parameters.
    """
    try:
        yield
    except Exception as error:  # users' classes raise any
        hint = _list_hint(choices[-1], listed)
        raise ValueError(f"{subject}: {printable(error, *choices)}{hint}") from error


def _list_hint(failed: Choice[Any], listed: Sequence[Choice[Any]]) -> str:
    """Returns how to write a list, if a user's class may have got the items of one."""
    same = [choice for choice in listed if choice.name == failed.name]
    if not failed.is_users or len(same) < 2:
        return ""
    return "; in a study file, a value that is a list is a list in a list: [[1, 2]]"
