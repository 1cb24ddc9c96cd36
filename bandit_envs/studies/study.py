"""Studies: which policies meet which environments, and what is measured."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.base.checks import check_integer, check_number, short_repr
from bandit_envs.base.registry import near_miss
from bandit_envs.drivers import StepDriver
from bandit_envs.metrics import METRICS, QUANTITIES, Quantity
from bandit_envs.policies.delayed import learner
from bandit_envs.studies.choice import (
    Choice,
    EnvironmentChoice,
    PolicyChoice,
    printable,
    written,
)

RUNS_PER_TASK = 2000  # where rows are runs; fixed, so that it cannot change the results
TASKS = 64  # at most, of runs whose rows share a problem
KEPT = 100  # at most, of the sums of each run that quantiles need


class Task(NamedTuple):
    """A block of runs, the smallest piece of work: all that it takes to do it."""

    position: int  # of the environment and the policy in the study
    environment: EnvironmentChoice
    policy: PolicyChoice
    block: int  # or, where rows share a problem, the first run
    runs: int
    steps: int
    seed: int
    metrics: tuple[str, ...]
    kept: tuple[int, ...]  # after these steps, the sums of each run are kept

    @property
    def batches(self) -> int:
        """How many environments it makes, one after the other."""
        return 1 if self.environment.entry.independent_rows else self.runs

    def __str__(self) -> str:
        return f"{self.policy} in {self.environment}, block {self.block}"


@dataclasses.dataclass(frozen=True)
class Study:
    """Every policy meets every environment, and all policies meet the same problems.

    If it is `paired`, the first policy meets the first environment only, and so on. `panels` are
    drawn over the steps; or, of the last step, `over` numbers, one for each environment. Without
    panels, the mean reward is drawn over the parameter that varies. With two `quantiles`, tables
    and figures show medians, with these quantiles over runs, in place of means.
    """

    title: str
    environment: tuple[EnvironmentChoice, ...]
    policy: tuple[PolicyChoice, ...]
    runs: int
    steps: int
    seed: int
    metrics: tuple[str, ...]
    panels: tuple[str, ...]
    paired: bool
    over: Mapping[str, list[float]]
    log_axes: tuple[str, ...]
    quantiles: list[float]
    expected: list[Mapping[str, Any]]

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Study":
        """Returns the study that a study file describes, once every policy has taken a step.

        By default, `metrics` are all that the environments know, and `panels` are reward and
        percent_optimal. TypeError or ValueError names the key that is wrong.
        """
        defaults: dict[str, Any] = {"seed": 0, "metrics": None, "panels": None, "paired": False}
        values = {**defaults, "over": {}, "log_axes": [], "quantiles": [], "expected": [], **values}
        check_keys("the study", values, cls)
        for key, minimum in (("runs", 1), ("steps", 1), ("seed", 0)):
            check_integer(key, values[key], minimum)
        values["title"] = printable(values["title"])
        environment = values["environment"] = _choices(EnvironmentChoice, values["environment"])
        policy = values["policy"] = _choices(PolicyChoice, values["policy"])
        unknown = _unknown_metrics(environment, policy)
        known = [name for name in METRICS if name not in unknown]
        metrics = values["metrics"] = _names("metrics", values["metrics"] or known, known, unknown)
        drawable = [name for name, q in QUANTITIES.items() if q.axis and q.metric in metrics]
        unknown = {name: unknown.get(q.metric, "") for name, q in QUANTITIES.items()}
        default = [name for name in ("reward", "percent_optimal") if name in drawable] or drawable
        panels = default if values["panels"] is None else values["panels"]
        values["panels"] = _names("panels", panels, [*drawable, "arms"], unknown)
        if not values["panels"] and "reward" not in metrics:
            raise ValueError(f"panels is empty; expected some of {', '.join(drawable)}")
        values["log_axes"] = _names("log_axes", values["log_axes"], ("x", "y"), {})
        levels, over = values["quantiles"], values["over"]
        if not isinstance(levels, (list, tuple)) or len(levels) not in (0, 2):
            raise ValueError(f"quantiles is {short_repr(levels)}; expected two numbers from 0 to 1")
        values["quantiles"] = sorted(check_number("quantiles", level, 0.0, 1.0) for level in levels)
        is_table = isinstance(over, Mapping) and len(over) < 2
        if not is_table or not all(isinstance(numbers, list) for numbers in over.values()):
            raise ValueError(f"over is {short_repr(over)}; expected one name with numbers")
        over = {printable(k): [check_number("over", v) for v in over[k]] for k in over}
        lengths = {**over, **({"policy": policy} if values["paired"] else {})}
        for key, items in lengths.items():
            if len(items) != len(environment):
                raise ValueError(f"{key} has {len(items)} items; expected one for each environment")
        return cls(**{**values, "over": over})

    def to_dict(self) -> dict[str, Any]:
        """Returns what `of` makes this study of again, as JSON has it."""
        return {k: list(map(str, v)) if isinstance(v, tuple) else v for k, v in vars(self).items()}

    def pairs(self) -> Iterable[tuple[EnvironmentChoice, PolicyChoice]]:
        """Returns the environments and policies that meet."""
        choices = self.environment, self.policy
        return zip(*choices) if self.paired else itertools.product(*choices)

    @property
    def summary(self) -> dict[str, Quantity]:
        """The quantities of the summary."""
        measured = ((name, q) for name, q in QUANTITIES.items() if q.metric in self.metrics)
        return {name: quantity for name, quantity in measured if quantity.heading}

    @property
    def spread(self) -> str:
        """What tables and figures show of many runs."""
        low_high = " and ".join(f"{100 * level:.4g}%" for level in self.quantiles)
        standard = "± one standard error over runs"
        return f"medians over runs, with the {low_high} quantiles" if low_high else standard

    @property
    def kept(self) -> tuple[int, ...]:
        """The steps that quantiles are shown of: without quantiles, none; else closer at first."""
        steps = {-(-self.steps * i**2 // KEPT**2) for i in range(1, KEPT + 1)}
        return tuple(sorted(steps)) if self.quantiles else ()

    def tasks(self) -> Iterator[Task]:
        """Yields the tasks of each policy in each environment."""
        measured = self.metrics, self.kept
        for position, pair in enumerate(self.pairs()):
            is_batch = pair[0].entry.independent_rows
            size = RUNS_PER_TASK if is_batch else -(-self.runs // TASKS)
            for start in range(0, self.runs, size):
                block, runs = start // size if is_batch else start, min(size, self.runs - start)
                yield Task(position, *pair, block, runs, self.steps, self.seed, *measured)

    def label(self, task: Task, without: str = "") -> str:
        """Returns what a legend writes: of the environment, only what tells it from the others."""
        common = set.intersection(*(set(environment.parts()) for environment in self.environment))
        parts = [part for part in task.environment.parts() if part not in common]
        return ", ".join([*task.policy.parts(without), *parts])


def _choices(kind: type[Choice], items: Any) -> tuple[Any, ...]:
    what = kind.entries.what
    if not isinstance(items, list) or not items:
        raise ValueError(f"{what} is {short_repr(items)}; expected [[{what}]] tables")
    choices = tuple(itertools.chain.from_iterable(map(kind.expand, items)))
    met = set()
    for choice in choices:
        key = choice.name, _hashable([*choice.parameters.items()])
        if key in met:
            raise ValueError(f"{what} {choice} is listed twice")
        met.add(key)
    values = [item for choice in choices for item in choice.parameters.items()]
    rounded, exact = ({(k, written(v, n)) for k, v in values} for n in (choices[0].digits, 17))
    if len(rounded) == len(exact):
        return choices
    return tuple(dataclasses.replace(choice, digits=17) for choice in choices)


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, (list, tuple)) else value


def check_keys(what: str, table: Mapping[str, Any], kind: Any) -> None:
    """Raises ValueError if a table lacks a field of the dataclass `kind`, or has another key."""
    fields = {field.name: field.default for field in dataclasses.fields(kind)}
    required = [key for key, default in fields.items() if default is dataclasses.MISSING]
    for key in [*table, *required]:
        if key not in fields or key not in table:
            problem = "has an unknown key" if key in table else "needs a value for"
            raise ValueError(f"{what} {problem} {short_repr(key)}; expected {', '.join(fields)}")


def _names(what: str, names: Any, allowed: Iterable[str], reasons: Any) -> tuple[str, ...]:
    """Returns names that are allowed; an error says why another is not, if there is a reason."""
    given = names if isinstance(names, list) else [names]
    if unknown := [name for name in given if given is not names or name not in allowed]:
        hint = reasons.get(str(unknown[0])) or near_miss(unknown[0], allowed)
        expected = f"expected a list of {', '.join(allowed)}"
        raise ValueError(f"{what} is {short_repr(names)}; {expected}{hint and f'; {hint}'}")
    return tuple(dict.fromkeys(names))


def _unknown_metrics(environments: Any, policies: Any) -> dict[str, str]:
    """Lets every policy take a step, and returns which metrics an environment lacks, and why."""
    unknown: dict[str, str] = {}
    one_of_each = {policy.name: policy for policy in policies}.values()
    for environment in environments:
        choice = None
        try:
            env = environment.make(1, np.random.SeedSequence(0))
            for choice in policies if environment is environments[0] else one_of_each:
                policy = choice.make(env, 0)
                StepDriver(env, policy, (learner(env, policy),)).run()
            for name in [name for name in METRICS if name not in unknown]:
                try:
                    StepDriver(env, policy, (learner(env, policy), METRICS[name](env))).run()
                except NotImplementedError as error:
                    reason = f"environment {environment} has no {name}: {error}"
                    unknown[name] = reason.rstrip(": ")
        except Exception as error:  # users' classes raise any
            subject = f"{f'policy {choice} in ' if choice else ''}environment {environment}"
            problem = printable(error, environment, *policies)
            failed, all_of_kind = (choice, policies) if choice else (environment, environments)
            if ":" in failed.name and [each.name for each in all_of_kind].count(failed.name) > 1:
                problem += "; in a study file, a value that is a list is a list in a list: [[1, 2]]"
            raise ValueError(f"{subject}: {problem}") from error
    return unknown
