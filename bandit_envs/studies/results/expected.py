"""Expected values of a study: what was published or computed, beside what was measured."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bandit_envs.base.checks import check_integer, check_number, short_repr
from bandit_envs.environments.environment_choice import EnvironmentChoice
from bandit_envs.metrics import QUANTITIES, Statistics, kept_steps
from bandit_envs.names.users_code import printable
from bandit_envs.policies.policy_choice import PolicyChoice
from bandit_envs.rounding import is_rounding, subtract
from bandit_envs.showing.tables import rounded
from bandit_envs.studies.definition.keys import check_keys
from bandit_envs.studies.definition.study import Study

if TYPE_CHECKING:
    from bandit_envs.studies.results.results import PairResult

    PairResults = Mapping[tuple[str, str], PairResult]
    """Results by the texts of environment and policy."""

SOURCES = ("published", "exact", "reference run")

STANDARD_ERRORS = 4.0
"""How far chance may take a mean from its expected value."""


class Comparison(NamedTuple):
    """An expectation beside what was measured.

    `measured` has the standard errors that decided: those of the runs, or "(given)" if the
    expectation has a standard deviation. `verdict` is met, missed or not measured; or
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


class Judgement(NamedTuple):
    """What was expected and what was measured, as text, and the verdict."""

    expected: str
    measured: str
    verdict: str


@dataclasses.dataclass(frozen=True)
class Expected:
    """What a study should show: a value or a bound of a policy's mean, or the order of policies.

    A mean may be off by at most `tolerance` and 4 standard errors of the difference, which take two
    runs. A policy has a `value` or `at_most`; several, in the order of increasing means, have none.
    """

    metric: str
    """A name in `QUANTITIES`."""

    source: str
    """published, exact or reference run; after a colon, where it is from."""

    policy: str | list[str]

    environment: str | None = None
    """By default, every environment."""

    step: int | None = None
    """By default, the last one."""

    since: int | None = None
    """If given, the mean is over the steps after this one, as far as `step`."""

    value: float | None = None
    at_most: float | None = None

    tolerance: float = 0.0
    """Of the value itself, where it is rounded or read from a figure."""

    standard_error: float = 0.0
    """Of the value, where it was estimated."""

    standard_deviation: float | None = None
    """Of one run, in place of the measured one."""

    def __post_init__(self) -> None:
        if self.metric not in QUANTITIES:
            raise _error("metric", self.metric, ", ".join(QUANTITIES))
        if str(self.source).partition(":")[0] not in SOURCES:
            kinds = " or ".join(SOURCES)
            raise _error("source", self.source, f"{kinds}, then a colon and where it is from")
        given = [name for name in ("value", "at_most") if getattr(self, name) is not None]
        if len(given) != isinstance(self.policy, str):
            raise _error("policy", self.policy, "one with one value, or a list without a value")
        if self.step is not None:
            check_integer("expected: step", self.step, minimum=1)
        quantity = QUANTITIES[self.metric]
        if self.since is not None and (quantity.kind != "per_step" or quantity.is_share):
            raise _error("metric", self.metric, "reward or regret, as since is given")
        for name in (*given, "tolerance", "standard_error"):
            check_number(f"expected: {name}", getattr(self, name))

    def compare(self, study: Study, found: PairResults) -> list[Comparison]:
        """Returns a row for each environment; ValueError if it does not fit the study."""
        policies = self._find_policies(study)
        label = " < ".join(study.policy_label(policy) for policy in policies)
        step = self.step or study.steps
        if self.since is None and step <= study.steps and step not in kept_steps(study.steps):
            raise _error("step", step, "one that metrics keep, such as a multiple of 1,000")
        known = {(str(environment), str(policy)) for environment, policy in study.pairs()}
        rows = []
        for environment in self._find_environments(study):
            pairs = [(str(environment), str(policy)) for policy in policies]
            if not known.issuperset(pairs):
                raise _error("policy in environment", pairs, "those of the study")
            measured = [self._statistics(study, found.get(pair), step) for pair in pairs]
            judgement = self._judge([each for each in measured if each is not None], len(pairs))
            place = f"{label} in {', '.join(study.own_parts(environment))}"
            row = Comparison(
                policy=place if len(study.environment) > 1 else label,
                metric=self.metric if self.since is None else f"{self.metric} after {self.since}",
                step=step,
                source=printable(self.source),
                expected=judgement.expected,
                measured=judgement.measured,
                verdict=judgement.verdict,
            )
            rows.append(row)
        return rows

    def _find_policies(self, study: Study) -> list[PolicyChoice]:
        """Returns its policies, with the labels that they have in the study."""
        names = [self.policy] if isinstance(self.policy, str) else self.policy
        policies = [PolicyChoice.read(name) for name in names]
        return [next((own for own in study.policy if own == each), each) for each in policies]

    def _find_environments(self, study: Study) -> list[EnvironmentChoice]:
        found = [each for each in study.environment if self.environment in (None, str(each))]
        if not found:
            raise _error("environment", self.environment, ", ".join(map(str, study.environment)))
        return found

    def _statistics(self, study: Study, pair: PairResult | None, step: int) -> Statistics | None:
        """Returns the statistics of what was measured in a pair at a step, if it was."""
        quantity = QUANTITIES[self.metric]
        if pair is None or quantity.metric not in pair.result or step > study.steps:
            return None
        if self.since is not None:
            ends = (self.since, step)
            sums = pair.result[quantity.metric].curves[[study.kept.index(end) for end in ends]]
            return Statistics.from_values(quantity.of_runs(sums, ends)[-1])
        statistics = pair.statistics(self.metric)
        if statistics.mean.ndim == 0:
            return statistics
        return statistics.at(np.searchsorted(pair.result[quantity.metric].steps, step))

    def _judge(self, measured: Sequence[Statistics], number: int) -> Judgement:
        """Compares what was measured, of which there should be a `number`, with the expectation."""
        means = [float(statistics.mean) for statistics in measured]
        errors = [self._standard_error(statistics) for statistics in measured]
        if isinstance(self.policy, str):
            expected, verdict = self._judge_value(means, errors)
        else:
            expected = "in this order"
            verdict = _judge_order(means, errors)
        if len(measured) != number:
            verdict = "not measured"
        given = "" if self.standard_deviation is None else " (given)"
        texts = [_measured(mean, error) + given for mean, error in zip(means, errors)]
        return Judgement(expected, " < ".join(texts), verdict)

    def _judge_value(self, means: Sequence[float], errors: Sequence[float]) -> tuple[str, str]:
        """Returns the expected value or bound as text, and the verdict on no or one mean."""
        allowed = STANDARD_ERRORS * math.hypot(*errors, self.standard_error) + self.tolerance
        if self.at_most is not None:
            expected = f"≤ {_with_error(self.at_most, self.standard_error)}"
            offs = [float(subtract(mean, self.at_most)) for mean in means]
        else:
            value = float(self.value or 0.0)
            expected = _with_error(value, self.standard_error)
            offs = [abs(float(subtract(mean, value))) for mean in means]
        if math.isnan(allowed):  # one run has no standard error
            return expected, "undecided"
        return expected, "met" if all(off <= allowed for off in offs) else "missed"

    def _standard_error(self, statistics: Statistics) -> float:
        if self.standard_deviation is not None:
            return self.standard_deviation / math.sqrt(statistics.count)
        return float(statistics.standard_error)


def check_expected_values(study: Study) -> None:
    """Raises ValueError if the expected values of a study do not fit it, before anything runs."""
    for item in study.expected:
        if not isinstance(item, Mapping):
            raise _error("a table", item, "keys and values")
        check_keys("expected", item, Expected)
        try:
            Expected(**item).compare(study, {})
        except TypeError as error:
            raise _error("a table", item, str(error)) from error


def expected_of(study: Study) -> list[Mapping[str, Any]]:
    """Returns the expected values of a study, without those of policies that it does not show."""
    found = []
    for item in study.expected:
        names = [item["policy"]] if isinstance(item["policy"], str) else item["policy"]
        if all(PolicyChoice.read(name) in study.policy for name in names):
            found.append(item)
    return found


def compare_with_expected(study: Study, pairs: Sequence[PairResult]) -> list[Comparison]:
    """Returns the expected values of a study beside its results."""
    found = {(str(pair.environment), str(pair.policy)): pair for pair in pairs}
    rows: list[Comparison] = []
    for item in expected_of(study):
        rows += Expected(**item).compare(study, found)
    return rows


def _judge_order(means: Sequence[float], errors: Sequence[float]) -> str:
    """Returns the verdict on means that should increase."""
    offs = [float(subtract(*pair)) for pair in itertools.pairwise(means)]
    allowed = [STANDARD_ERRORS * math.hypot(*pair) for pair in itertools.pairwise(errors)]
    if math.isnan(sum(allowed)):  # one run has no standard error
        return "undecided"
    if not all(off <= limit for off, limit in zip(offs, allowed)):
        return "missed"
    return "met" if all(off < 0.0 for off in offs) else "undecided"


def _measured(mean: float, error: float) -> str:
    """Returns a mean with two digits of its standard error, which may be 0."""
    return f"{mean:.6g} ±0.0" if is_rounding(error, mean) else _with_error(mean, error)


def _with_error(value: float, error: float) -> str:
    """Returns a value with two digits of its standard error, or with six of its own."""
    return " ±".join(rounded(value, error, error=error) or [f"{value:.6g}"])


def _error(what: str, value: object, expected: str) -> ValueError:
    return ValueError(f"expected: {what} is {short_repr(value)}; expected {expected}")
