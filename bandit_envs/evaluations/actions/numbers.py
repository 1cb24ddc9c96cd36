"""Evaluates policies on a log whose actions are real numbers, such as prices, part by part."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bandit_envs.base.checks import check_confidence, check_positive
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
from bandit_envs.evaluations.policy_sums import PolicyRows
from bandit_envs.logged.estimators import EstimateSums, KernelIPS, actions_of
from bandit_envs.logged.estimators.estimate import Terms
from bandit_envs.logged.estimators.gains import logged_terms, subtract_terms
from bandit_envs.logged.features import spec_of_rows
from bandit_envs.logged.intervals.blocks import number_rows
from bandit_envs.logged.log import BanditLog
from bandit_envs.metrics.statistics import Statistics
from bandit_envs.policies import ContinuousPolicy
from bandit_envs.specs import BoundedArraySpec
from bandit_envs.studies.definition.choice import name_in_errors

RULE = 2.34
"""The bandwidth is so many standard deviations of the actions, times n^(-1/5), by default."""

EXPECTED = "expected one that chooses numbers, such as gaussian, or your own ContinuousPolicy"
MOVED = 2.0  # standard errors between the estimates at a bandwidth and at half of it


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
        """Returns the bandwidth of the rule."""
        std = math.sqrt(float(self.actions.squared_deviation) / self.actions.count)
        return RULE * std / math.pow(self.actions.count, 0.2)


def evaluate_numbers(
    log: AnyLog,
    policies: AnyPolicy | Mapping[str, AnyPolicy] | Iterable[AnyPolicy],
    *,
    bandwidth: float | None = None,
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

    There is an estimate at the bandwidth, and one at half of it. A warning says where these differ
    by more than noise: the bandwidth is then too large.

    Args:
        log: as for `evaluate`; its `num_actions` is 0.
        policies: as for `evaluate`: instances of `ContinuousPolicy`, or texts such as
            "gaussian:std=0.1,coefficients=[2.5]" or "module:Class" of your own.
        bandwidth: in units of the actions. By default 2.34 standard deviations of the actions,
            times n^(-1/5), which is right for a normal distribution of them.
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
    >>> [(row.estimator, round(row.value, 1)) for row in found.rows[1::2]]
    [('kernel_ips:bandwidth=0.2', 1.0), ('kernel_snips:bandwidth=0.2', 1.0)]
    """
    check_confidence(confidence)
    check_readers(workers, backend, address, observer)
    if bandwidth is not None:
        check_positive("bandwidth", bandwidth)
    contenders = name_policies(policies)
    source = as_source(log)
    with start_passes(workers, backend, address, observer) as passes:
        opened = open_log(source, passes, is_continuous=True)
        of_parts = passes.over(opened.parts, sum_actions, "reading actions")
        numbers = functools.reduce(NumberSums.merge, of_parts)
        width = numbers.bandwidth() if bandwidth is None else bandwidth
        if not width:
            raise ValueError("all actions of the log are the same; expected some that differ")
        candidates = [_enter(contender, opened, numbers) for contender in contenders]
        estimators = {
            f"{name}:bandwidth={each:.4g}": KernelIPS(each, self_normalised=is_normalised)
            for name, is_normalised in (("kernel_ips", False), ("kernel_snips", True))
            for each in (width, 0.5 * width)
        }
        visit = functools.partial(sum_numbers, candidates, estimators)
        parts = passes.over(opened.parts, visit, "evaluating policies")
    found: Found = {}
    for part in parts:
        for key, sums in part.items():
            add_sums(found, key, sums)
    remarks = {
        candidate.name: _find_moved(found[None, place].estimates, opened.summary.estimated)
        for place, candidate in enumerate(candidates, start=1)
    }
    return Evaluation(
        candidates=candidates,
        found=found,
        summary=opened.summary,
        log=os.path.basename(opened.source.name),
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
    estimates = {}
    weights = np.zeros(0)
    for name, estimator in estimators.items():
        weights = estimator.weigh(batch.propensity, batch.action, targets)
        estimates[name] = Terms(
            direct=np.zeros(len(batch)),
            weighted=weights * batch.reward,
            weights=weights[np.newaxis],
            normaliser=weights if estimator.self_normalised else None,
        )
    logged = logged_terms(batch)
    return PolicyRows(
        estimates=estimates,
        gains={name: subtract_terms(terms, logged) for name, terms in estimates.items()},
        weights=weights,
        means=np.zeros(0),
        numbers=number_rows(first_row, len(batch)),
        action=batch.action,
        table=None,
    )


def _enter(contender: Contender, log: OpenLog, numbers: NumberSums) -> Candidate:
    """Returns a policy that meets a log; ValueError if it chooses no numbers."""
    if isinstance(contender, ChosenPolicy):
        action_spec = BoundedArraySpec((), np.float64, numbers.low, numbers.high, "action")
        env = SpecsOfLog(spec_of_rows(next(iter(log)).observation), action_spec, num_actions=0)
        with name_in_errors(f"policy {contender.name}", *contender.choice.modules):
            policy = contender.choice.make(env, 0)
        candidate = Candidate(contender.choice, contender.name, policy, start=0)
    elif isinstance(contender, GivenPolicy):
        candidate = Candidate(None, contender.name, contender.policy, start=0)
    else:
        raise ValueError(f"policy {contender.name} chooses numbered actions; {EXPECTED}")
    if not isinstance(candidate.policy, ContinuousPolicy):
        raise ValueError(f"policy {contender.name} chooses numbered actions; {EXPECTED}")
    return candidate


def _find_moved(estimates: Mapping[str, EstimateSums], estimated: str) -> dict[str, list[str]]:
    """Returns reasons to distrust estimates, which their sums do not tell, by name.

    Args:
        estimates: each at a bandwidth, and then at half of it.
        estimated: how densities were estimated.
    """
    found = {name: [estimated] if estimated else [] for name in estimates}
    names = list(estimates)
    for name, half in zip(names[::2], names[1::2]):
        value = estimates[name].main.value()
        near = estimates[half].main.value()
        error = estimates[name].standard_error()
        # If both are right, the squares of their errors differ by that of the difference.
        noise = math.sqrt(max(estimates[half].standard_error() ** 2 - error**2, 0.0))
        if abs(near - value) > max(MOVED * noise, 0.5 * error):
            text = f"the estimate moves with the bandwidth: it is {near:.4g} at half of it"
            found[name].append(f"{text}, more than noise away; its interval does not show it")
    return found
