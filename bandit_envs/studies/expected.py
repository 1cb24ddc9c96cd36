"""Expected values of a study: what was published or computed, beside what was measured."""

import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from bandit_envs.base.checks import check_integer, check_number, short_repr
from bandit_envs.metrics import QUANTITIES, MetricResult, Statistics
from bandit_envs.studies.choice import PolicyChoice, printable
from bandit_envs.studies.study import Study, Task, check_keys

SOURCES = ("published", "exact", "reference run")
STANDARD_ERRORS = 4.0  # how far chance may take a mean from its expected value


class Row(NamedTuple):
    """An expectation beside what was measured.

    `measured` has the standard errors that decided. `verdict` is met, missed or not measured; or
    undecided, if there is one run, or if an order is not that of the means, but is within 4
    standard errors of the differences.
    """

    policy: str
    metric: str
    step: int
    source: str
    expected: str
    measured: str
    verdict: str


@dataclasses.dataclass(frozen=True)
class Expected:
    """What a study should show: a value or a bound of a policy's mean, or the order of policies.

    A mean may be off by at most `tolerance` and 4 standard errors of the difference, which take two
    runs. A policy has a `value` or `at_most`; several, in the order of increasing means, have none.
    """

    metric: str  # a name in `QUANTITIES`
    source: str  # published, exact or reference run; after a colon, where it is from
    policy: str | list[str]
    environment: str | None = None  # by default, every environment
    step: int | None = None  # by default, the last one
    value: float | None = None
    at_most: float | None = None
    tolerance: float = 0.0  # of the value itself, where it is rounded or read from a figure
    standard_error: float = 0.0  # of the value, where it was estimated
    standard_deviation: float | None = None  # of one run, in place of the measured one

    def __post_init__(self) -> None:
        if self.metric not in QUANTITIES:
            raise _error("metric", self.metric, ", ".join(QUANTITIES))
        if not str(self.source).startswith(SOURCES):
            raise _error("source", self.source, " or ".join(SOURCES))
        given = [name for name in ("value", "at_most") if getattr(self, name) is not None]
        if len(given) != isinstance(self.policy, str):
            raise _error("policy", self.policy, "one with one value, or a list without a value")
        if self.step is not None:
            check_integer("expected: step", self.step, minimum=1)
        for name in (*given, "tolerance", "standard_error"):
            check_number(f"expected: {name}", getattr(self, name))

    def rows(self, study: Study, found: Mapping[tuple[str, str], Any]) -> Iterator[Row]:
        """Yields a row for each environment; `found` has the results of pairs with a policy."""
        names = [self.policy] if isinstance(self.policy, str) else self.policy
        policies = [next(PolicyChoice.expand(name)) for name in names]
        known = {(str(env), str(policy)) for env, policy in study.pairs()}
        environments = [e for e in study.environment if self.environment in (None, str(e))]
        if not environments:
            raise _error("environment", self.environment, ", ".join(map(str, study.environment)))
        own = (next((p for p in study.policy if p == policy), policy) for policy in policies)
        label = " < ".join(", ".join(policy.parts()) for policy in own)
        step = self.step or study.steps
        for environment in environments:
            pairs = [(str(environment), str(policy)) for policy in policies]
            if not known.issuperset(pairs):
                raise _error("policy in environment", pairs, "those of the study")
            measured = [_statistics(found.get(pair, {}), self.metric, step) for pair in pairs]
            parts = environment.parts()
            place = f"{label} in {', '.join(parts[1:] or parts)}"
            subject = place if len(study.environment) > 1 else label, self.metric, step
            judged = self._judged([s for s in measured if s], len(pairs))
            yield Row(*subject, printable(self.source), *judged)

    def _judged(self, measured: list[Statistics], number: int) -> tuple[str, str, str]:
        """Returns what was expected and what was measured as text, and the verdict."""
        means = [float(statistics.mean) for statistics in measured]
        errors = [float(statistics.standard_error) for statistics in measured]
        if self.standard_deviation is not None:
            errors = [self.standard_deviation / statistics.count**0.5 for statistics in measured]
        texts = [_with_error(mean, error) for mean, error in zip(means, errors)]
        if not isinstance(self.policy, str):
            expected = "in this order"
            offs = [a - b for a, b in itertools.pairwise(means)]
            allowed = [STANDARD_ERRORS * math.hypot(*pair) for pair in itertools.pairwise(errors)]
            is_met = all(off < 0.0 for off in offs)
        else:
            bound = self.at_most
            value: Any = self.value if bound is None else bound
            expected = ("" if bound is None else "≤ ") + _with_error(value, self.standard_error)
            offs = [abs(mean - value) if bound is None else mean - bound for mean in means]
            error = math.hypot(*errors, self.standard_error)
            allowed = [STANDARD_ERRORS * error + self.tolerance] * len(offs)
            is_met = True
        verdict = "met" if is_met else "undecided"
        if math.isnan(sum(allowed)):  # one run has no standard error
            verdict = "undecided"
        elif not all(off <= limit for off, limit in zip(offs, allowed)):
            verdict = "missed"
        return expected, " < ".join(texts), verdict if len(measured) == number else "not measured"


def compare(study: Study, results: Iterable[tuple[Task, Mapping[str, MetricResult]]]) -> list[Row]:
    """Returns the expected values of a study beside its results; ValueError if they do not fit."""
    found = {(str(task.environment), str(task.policy)): result for task, result in results}
    rows: list[Row] = []
    for item in study.expected:
        try:
            check_keys("expected", {**item}, Expected)
            rows += Expected(**item).rows(study, found)
        except TypeError as error:
            raise _error("a table", item, str(error)) from error
    return rows


def _statistics(result: Any, metric: str, step: int) -> Statistics | None:
    quantity = QUANTITIES[metric]
    if quantity.metric not in result:
        return None
    statistics = quantity.statistics(result[quantity.metric])
    if statistics.mean.ndim == 0:
        return statistics
    return statistics.at(step - 1) if step <= len(statistics.mean) else None


def _with_error(value: float, error: float) -> str:
    return f"{value:.6g} ±{error:.2g}" if error > 1e-9 else f"{value:.6g}"


def _error(what: str, value: Any, expected: str) -> ValueError:
    return ValueError(f"expected: {what} is {short_repr(value)}; expected {expected}")
