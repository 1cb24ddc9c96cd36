"""Evaluates policies on a log whose actions are real numbers, such as prices, part by part."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from bandit_envs.base.checks import check_confidence, check_positive, short_repr
from bandit_envs.evaluations.actions.specs_of_log import SpecsOfLog
from bandit_envs.evaluations.candidates import (
    LOGGED,
    AnyPolicy,
    Candidate,
    ChosenPolicy,
    Contender,
    GivenPolicy,
    name_candidate,
    name_policies,
)
from bandit_envs.evaluations.contest import Found, add_sums, describe_logged
from bandit_envs.evaluations.evaluation import Evaluation
from bandit_envs.evaluations.logs import AnyLog, OpenLog, as_source, open_log
from bandit_envs.evaluations.observer import LogObserver
from bandit_envs.evaluations.passes import LogPart, check_readers, start_passes
from bandit_envs.evaluations.policy_sums import PolicyRows, PolicySums
from bandit_envs.logged.estimators import KernelIPS, actions_of
from bandit_envs.logged.estimators.continuous import find_moved
from bandit_envs.logged.estimators.gains import logged_terms, subtract_terms
from bandit_envs.logged.estimators.tuning import find_last_accepted
from bandit_envs.logged.features import spec_of_rows
from bandit_envs.logged.intervals.blocks import number_rows
from bandit_envs.logged.log import BanditLog
from bandit_envs.metrics.statistics import Statistics
from bandit_envs.names.users_code import name_in_errors
from bandit_envs.policies import ContinuousPolicy, Policy
from bandit_envs.specs import BoundedArraySpec

Bandwidth: TypeAlias = float | Literal["rule", "slope"]
"""A bandwidth, or how it is found."""

FACTOR = 2.34
"""The bandwidth of the rule is so many standard deviations of the actions, times n^(-1/5)."""

SHARES = (2.0, 1.0, 0.5, 0.25, 0.125)
"""SLOPE chooses among so many times the bandwidth of the rule, if no others are given."""

KINDS = {"kernel_ips": False, "kernel_snips": True}
"""Whether the estimators are self-normalised."""

EXPECTED = "expected one that chooses numbers, such as gaussian, or your own ContinuousPolicy"


@dataclasses.dataclass(frozen=True)
class NumberSums:
    """What a part of a log says of its actions. Those of parts merge.

    Args:
        actions: their statistics.
        low: the lowest.
        high: the highest.
    """

    actions: Statistics
    low: float
    high: float

    @classmethod
    def from_actions(cls, actions: Any) -> NumberSums:
        """Returns the sums of actions [n]."""
        low = float(actions.min(initial=math.inf))
        high = float(actions.max(initial=-math.inf))
        return cls(Statistics.from_values(actions), low, high)

    def merge(self, other: NumberSums) -> NumberSums:
        """Returns the sums of the rows of both."""
        actions = self.actions.merge(other.actions)
        return NumberSums(actions, min(self.low, other.low), max(self.high, other.high))

    def bandwidth(self) -> float:
        """Returns the bandwidth of the rule; ValueError if all actions are the same."""
        std = math.sqrt(float(self.actions.squared_deviation) / self.actions.count)
        if not std:
            raise ValueError("all actions of the log are the same; expected some that differ")
        return FACTOR * std / math.pow(self.actions.count, 0.2)


@dataclasses.dataclass(frozen=True)
class Bandwidths:
    """The bandwidths of the estimates of a log.

    Args:
        shown: those that have rows of their own.
        candidates: those that SLOPE chooses among; () if it is not asked.
    """

    shown: Sequence[float]
    candidates: Sequence[float]

    @classmethod
    def of_log(cls, given: Sequence[Bandwidth], numbers: NumberSums) -> Bandwidths:
        """Returns what a user asks for.

        Args:
            given: numbers, "rule" or "slope".
            numbers: of the actions of the log.
        """
        rule = numbers.bandwidth() if {"rule", "slope"} & {*given} else math.nan
        shown = [rule if each == "rule" else float(each) for each in given if each != "slope"]
        if "slope" not in given:
            return cls(shown, ())
        return cls(shown, shown if len(shown) > 1 else [share * rule for share in SHARES])

    def estimators(self) -> dict[str, KernelIPS]:
        """Returns the estimators of all bandwidths, by name."""
        widths = dict.fromkeys([*self.shown, *self.candidates])
        made = [
            KernelIPS(width, self_normalized=is_normalised)
            for is_normalised in KINDS.values()
            for width in widths
        ]
        return {_name_of(estimator): estimator for estimator in made}

    def choose(self, sums: PolicySums) -> dict[str, KernelIPS]:
        """Returns the estimators whose estimates are shown, by the names that these have.

        Args:
            sums: of a policy, of the estimators of all bandwidths.
        """
        found = {}
        for kind, is_normalised in KINDS.items():
            widths: dict[Bandwidth, float] = {width: width for width in self.shown}
            if self.candidates:
                widths["slope"] = self._choose(kind, sums)
            for shown, width in widths.items():
                estimator = KernelIPS(width, self_normalized=is_normalised)
                found[_name(kind, shown)] = estimator
        return found

    def _choose(self, kind: str, sums: PolicySums) -> float:
        """Returns the bandwidth of an estimator that SLOPE selects."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of those that are not chosen
            found = [sums.estimates[_name(kind, each)].estimate() for each in self.candidates]
        return self.candidates[find_last_accepted(found)]


def check_bandwidths(given: object) -> list[Bandwidth]:
    """Returns one or more bandwidths as a list; raises an error if they are not bandwidths."""
    several = given if isinstance(given, (list, tuple)) else [given]
    if not several:
        raise ValueError("bandwidth is empty; expected at least one")
    for each in several:
        if isinstance(each, str):
            if each not in ("rule", "slope"):
                expected = "a number above 0, 'rule' or 'slope'"
                raise ValueError(f"bandwidth is {short_repr(each)}; expected {expected}")
        else:
            check_positive("bandwidth", each)
    return list(dict.fromkeys(several))


def _name(kind: str, bandwidth: Bandwidth) -> str:
    """Returns the name of an estimator."""
    text = bandwidth if isinstance(bandwidth, str) else f"{bandwidth:.4g}"
    return f"{kind}:bandwidth={text}"


def _name_of(estimator: KernelIPS) -> str:
    """Returns the name of an estimator with its own bandwidth."""
    (kind,) = [name for name, each in KINDS.items() if each == estimator.self_normalized]
    return _name(kind, estimator.bandwidth)


def evaluate_numbers(
    log: AnyLog,
    policies: AnyPolicy | Mapping[str, AnyPolicy] | Iterable[AnyPolicy],
    *,
    bandwidth: Bandwidth | Sequence[Bandwidth] = "rule",
    confidence: float = 0.95,
    workers: int = 1,
    backend: str = "loky",
    address: str | None = None,
    observer: LogObserver | None = None,
) -> Evaluation:
    """Estimates what policies would have earned that choose numbers, by `evaluate --continuous`.

    `KernelIPS` weighs rows whose actions are near those of a policy, with the kernel of
    Epanechnikov, `kernel_ips`, and self-normalised, `kernel_snips`. Policies do not learn. They
    should hardly vary: what is estimated is what the actions that they draw would have earned.

    A warning says where an estimate differs from that at half its bandwidth by more than noise: the
    bandwidth is then too large. Both also extrapolate to an estimate at a bandwidth of 0. An
    interval covers the normal interval, and that of the extrapolated estimate.

    Args:
        log: as for `evaluate`; its `num_actions` is 0.
        policies: as for `evaluate`: instances of `ContinuousPolicy`, or texts such as
            "gaussian:std=0.1,coefficients=[2.5]" or "module:Class" of your own.
        bandwidth: one or several, in units of the actions. "rule", the default, is 2.34 standard
            deviations of the actions, times n^(-1/5), which is right for a normal distribution of
            them. "slope" chooses for each policy, as `slope` does, among the others if several are
            given, or else among 2, 1, 1/2, 1/4 and 1/8 of the rule's. `Evaluation.notes` says what
            it chose; intervals are as if that had been given.
        confidence: the probability that an interval holds.
        workers: as for `evaluate`.
        backend: as for `evaluate`.
        address: as for `evaluate`.
        observer: as for `evaluate`.

    Raises:
        TypeError: the log or a policy is something else.
        ValueError: the actions of the log have numbers or names, or a policy does not fit.

    >>> price = np.random.default_rng(0).uniform(0.0, 2.0, 5000)
    >>> log = BanditLog(np.ones((5000, 1)), price, 1.0 - (price - 1.0) ** 2, [0.5] * 5000, 0)
    >>> found = evaluate_numbers(log, "gaussian:std=0.01,coefficients=[1.0]", bandwidth=0.2)
    >>> [(row.estimator, round(row.value, 1)) for row in found.rows[1:]]
    [('kernel_ips:bandwidth=0.2', 1.0), ('kernel_snips:bandwidth=0.2', 1.0)]
    """
    check_confidence(confidence)
    check_readers(workers, backend, address, observer)
    given = check_bandwidths(bandwidth)
    contenders = name_policies(policies)
    source = as_source(log)
    needs_features = any(each.reads_contexts for each in contenders)
    with start_passes(workers, backend, address, observer) as passes:
        features = None if needs_features else ()
        opened = open_log(source, passes, features, is_continuous=True)
        of_parts = passes.over(opened.parts, sum_actions, "reading actions")
        numbers = functools.reduce(NumberSums.merge, of_parts)
        bandwidths = Bandwidths.of_log(given, numbers)
        candidates = [_enter(contender, opened, numbers) for contender in contenders]
        visit = functools.partial(sum_numbers, candidates, bandwidths.estimators())
        parts = passes.over(opened.parts, visit, "evaluating policies")
    found: Found = {}
    for part in parts:
        for key, sums in part.items():
            add_sums(found, key, sums)
    remarks: dict[str, Mapping[str, Sequence[str]]] = {}
    for place, candidate in enumerate(candidates, start=1):
        shown = bandwidths.choose(found[None, place])
        found[None, place] = _show(found[None, place], shown)
        remarks[candidate.name] = _find_remarks(found[None, place], shown, opened)
        candidates[place - 1] = _tell_chosen(candidate, shown)
    return Evaluation(
        candidates=candidates,
        found=found,
        summary=opened.summary,
        log=os.path.basename(opened.source.scan.name),
        title=f"{opened.title}\nactions from {numbers.low:.4g} to {numbers.high:.4g}",
        confidence=confidence,
        baseline=LOGGED,
        by=None,
        remarks=remarks,
    )


def sum_actions(part: LogPart) -> NumberSums:
    """Returns what a part of a log says of its actions."""
    found = NumberSums.from_actions(np.zeros(0))
    for _, batch in part:
        found = found.merge(NumberSums.from_actions(batch.action))
    return found


def sum_numbers(
    candidates: Sequence[Candidate], estimators: Mapping[str, KernelIPS], part: LogPart
) -> Found:
    """Returns the sums of a part of a log: of the policy that made it, then of the others."""
    found: Found = {}
    for first_row, batch in part:
        if not len(batch):
            continue
        add_sums(found, (None, 0), describe_logged(batch, first_row).sums())
        for place, candidate in enumerate(candidates, start=1):
            with name_candidate(candidate):
                described = _describe(candidate.policy, estimators, batch, first_row)
            add_sums(found, (None, place), described.sums())
    return found


def _describe(
    policy: Any, estimators: Mapping[str, KernelIPS], batch: BanditLog, first_row: int
) -> PolicyRows:
    """Returns what rows say of a policy, the first of which has a number."""
    targets = actions_of(policy, batch)
    columns = (batch.reward, batch.propensity, batch.action, targets)
    estimates = {name: estimator.terms(*columns) for name, estimator in estimators.items()}
    first = next(iter(estimates.values()))
    logged = logged_terms(batch)
    return PolicyRows(
        estimates=estimates,
        gains={name: subtract_terms(terms, logged) for name, terms in estimates.items()},
        weights=first.weights[0],
        means=np.zeros(0),
        numbers=number_rows(first_row, len(batch)),
        action=batch.action,
        table=None,
    )


def _enter(contender: Contender, log: OpenLog, numbers: NumberSums) -> Candidate:
    """Returns a policy that meets a log; ValueError if it chooses no numbers."""
    if isinstance(contender, ChosenPolicy):
        made = contender.choice.entry.make
        if isinstance(made, type) and not issubclass(made, ContinuousPolicy):
            raise ValueError(f"policy {contender.name} chooses numbered actions; {EXPECTED}")
        action_spec = BoundedArraySpec((), np.float64, numbers.low, numbers.high, "action")
        env = SpecsOfLog(spec_of_rows(next(iter(log)).observation), action_spec, num_actions=0)
        with name_in_errors(f"policy {contender.name}", *contender.choice.modules):
            policy = contender.choice.make(env, 0)
        candidate = Candidate(contender.choice, contender.name, policy, start=0)
    elif isinstance(contender, GivenPolicy):
        candidate = Candidate(None, contender.name, contender.policy, start=0)
    else:
        raise ValueError(f"policy {contender.name} chooses numbered actions; {EXPECTED}")
    policy = candidate.policy
    if not isinstance(policy, Policy) or not policy.action_kind.is_number:
        raise ValueError(f"policy {contender.name} chooses numbered actions; {EXPECTED}")
    return candidate


def _show(sums: PolicySums, shown: Mapping[str, KernelIPS]) -> PolicySums:
    """Returns the sums of a policy by the names that are shown."""
    own = {name: _name_of(estimator) for name, estimator in shown.items()}
    estimates = {name: sums.estimates[own[name]] for name in own}
    gains = {name: sums.gains[own[name]] for name in own}
    return dataclasses.replace(sums, estimates=estimates, gains=gains)


def _find_remarks(
    sums: PolicySums, shown: Mapping[str, KernelIPS], log: OpenLog
) -> dict[str, list[str]]:
    """Returns reasons to distrust estimates, which the sums of other estimators lack, by name.

    Args:
        sums: of a policy.
        shown: the estimators, by the names of the sums.
        log: that they are of.
    """
    known = [log.summary.estimated] if log.summary.estimated else []
    return {
        name: [*find_moved(sums.estimates[name], estimator.bandwidth), *known]
        for name, estimator in shown.items()
    }


def _tell_chosen(candidate: Candidate, shown: Mapping[str, KernelIPS]) -> Candidate:
    """Returns a policy with a remark of the bandwidths that SLOPE chose."""
    chosen = [
        f"{estimator.bandwidth:.4g} for {name}"
        for name, estimator in shown.items()
        if name != _name_of(estimator)
    ]
    if not chosen:
        return candidate
    remark = f"has the bandwidth {' and '.join(chosen)}"
    return dataclasses.replace(candidate, remarks=[*candidate.remarks, remark])
