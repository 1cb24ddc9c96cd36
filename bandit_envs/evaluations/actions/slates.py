"""Evaluates policies on a log of slates: several items at once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import check_confidence
from bandit_envs.evaluations.actions.specs_of_log import SpecsOfLog
from bandit_envs.evaluations.candidates import (
    LOGGED,
    AnyPolicy,
    Candidate,
    ChosenPolicy,
    Contender,
    GivenPolicy,
    find_baseline,
    name_candidate,
    name_policies,
)
from bandit_envs.evaluations.contest import Found
from bandit_envs.evaluations.evaluation import Evaluation
from bandit_envs.evaluations.policy_sums import MEAN, PolicyRows
from bandit_envs.evaluations.segments import Segment, Segmentation
from bandit_envs.logged import RewardInteractionIPS, SlateIndependentIPS, SlateStandardIPS
from bandit_envs.logged.estimators.estimate import Terms
from bandit_envs.logged.estimators.gains import mean_terms, subtract_terms
from bandit_envs.logged.estimators.slates import SlateEstimator
from bandit_envs.logged.features import spec_of_rows
from bandit_envs.logged.intervals.blocks import number_rows
from bandit_envs.logged.row_order import RowOrder
from bandit_envs.logged.slates import SlateLog
from bandit_envs.logged.summary import LogSummary
from bandit_envs.metrics.statistics import Statistics
from bandit_envs.names.users_code import name_in_errors
from bandit_envs.policies import Policy
from bandit_envs.specs import SlateSpec

EXPECTED = "expected one that shows slates, such as random_slate, or your own SlatePolicy"

KINDS: Mapping[str, type[SlateEstimator]] = {
    "slate": SlateStandardIPS,
    "slot": SlateIndependentIPS,
    "prefix": RewardInteractionIPS,
}
"""Estimators by the probabilities that they compare."""

Estimators: TypeAlias = Mapping[str, SlateEstimator]


def evaluate_slates(
    log: SlateLog,
    policies: AnyPolicy | Mapping[str, AnyPolicy] | Iterable[AnyPolicy],
    *,
    baseline: str = LOGGED,
    by: str | None = None,
    confidence: float = 0.95,
    name: str = "the log",
) -> Evaluation:
    """Estimates what policies would have earned that show slates, as `evaluate --slates` does.

    There are two estimates for each kind of propensity that the log has, the second
    self-normalised: `slate_ips` and `slate_snips` of `SlateStandardIPS` for slates, `slot_ips` and
    `slot_snips` of `SlateIndependentIPS` for slots, and `prefix_ips` and `prefix_snips` of
    `RewardInteractionIPS` for prefixes. If only whole slates are rewarded, there are the first two
    alone. Policies do not learn. A row of the log is a slate, and its reward that of all slots.

    Args:
        log: such as `read_slates` returns.
        policies: policies that show slates, or texts such as "random_slate" or "module:Class" of
            your own; one, several, or several by name.
        baseline: as for `evaluate`.
        by: a column of the observation, as for `evaluate`.
        confidence: the probability that an interval holds.
        name: of the log, on the page of the evaluation.

    Raises:
        TypeError: the log or a policy is something else.
        ValueError: the log has no slates, a policy does not fit, or no estimator does.
    """
    check_confidence(confidence)
    if not isinstance(log, SlateLog):
        raise TypeError(f"log is of type {type(log).__name__}; expected a SlateLog")
    if not len(log):
        raise ValueError("log has 0 slates; expected at least one")
    contenders = name_policies(policies)
    baseline = find_baseline(baseline, [contender.name for contender in contenders])
    estimators = _find_estimators(log)
    segments = [] if by is None else list(Segmentation(by).cut(log))
    candidates = [_enter(contender, log) for contender in contenders]
    return Evaluation(
        candidates=candidates,
        found=_sum(log, candidates, estimators, baseline=baseline, segments=segments),
        summary=_summarize(log),
        log=name,
        title=_describe(log, next(iter(estimators))),
        confidence=confidence,
        baseline=baseline,
        by=by,
        remarks={},
    )


def _find_estimators(log: SlateLog) -> Estimators:
    """Returns the estimators that the propensities of a log allow, by name."""
    kinds = [kind for kind in KINDS if getattr(log.propensity, kind) is not None]
    if log.reward.shape != log.action.shape:
        kinds = [kind for kind in kinds if kind == "slate"]
        if not kinds:
            raise ValueError("whole slates are rewarded; expected a log with their propensities")
    return {
        f"{kind}_{name}": KINDS[kind](self_normalized=is_normalised)
        for kind in kinds
        for name, is_normalised in (("ips", False), ("snips", True))
    }


def _enter(contender: Contender, log: SlateLog) -> Candidate:
    """Returns a policy that meets a log; ValueError if it shows no slates."""
    modules = contender.choice.modules if isinstance(contender, ChosenPolicy) else ()
    choice = None
    policy: Any = None
    with name_in_errors(f"policy {contender.name}", *modules):
        if isinstance(contender, ChosenPolicy):
            action_spec = SlateSpec.of(log.num_slots, log.num_actions)
            env = SpecsOfLog(spec_of_rows(log.observation), action_spec, log.num_actions)
            choice = contender.choice
            policy = choice.make(env, 0)
        elif isinstance(contender, GivenPolicy):
            policy = contender.policy
        if not isinstance(policy, Policy) or not policy.action_kind.is_slate:
            raise ValueError(f"it shows no slates; {EXPECTED}")
    return Candidate(choice, contender.name, policy, start=0)


def _sum(
    log: SlateLog,
    candidates: Sequence[Candidate],
    estimators: Estimators,
    *,
    baseline: str,
    segments: Sequence[Segment],
) -> Found:
    """Returns the sums of the policy that made a log, then of the others, by segment."""
    logged = _rows_of(log, {MEAN: mean_terms(_rewards_of(log))}, {})
    found: Found = {}
    _add(found, 0, logged, segments)
    others: Mapping[str, Terms] = dict.fromkeys(estimators, logged.estimates[MEAN])
    for candidate in candidates:
        if candidate.name == baseline:
            others = _terms(candidate, log, estimators)
    for place, candidate in enumerate(candidates, start=1):
        if candidate.name == baseline:
            rows = _rows_of(log, others, {})
        else:
            rows = _rows_of(log, _terms(candidate, log, estimators), others)
        _add(found, place, rows, segments)
    return found


def _add(found: Found, place: int, rows: PolicyRows, segments: Sequence[Segment]) -> None:
    """Adds the sums of all rows and of each segment, of the policy at a place."""
    found[None, place] = rows.sums_of_all()
    for segment in segments:
        found[segment.name, place] = rows.take(segment.rows).sums_of_all()


def _terms(candidate: Candidate, log: SlateLog, estimators: Estimators) -> Mapping[str, Terms]:
    """Returns the terms of a policy by estimator."""
    policy: Any = candidate.policy
    with name_candidate(candidate):
        given = log.probabilities_of(policy)
        return {
            name: estimator.terms(log.reward, log.propensity, given)
            for name, estimator in estimators.items()
        }


def _rows_of(log: SlateLog, terms: Mapping[str, Terms], others: Mapping[str, Terms]) -> PolicyRows:
    """Returns what slates say of a policy.

    Args:
        log: of the slates.
        terms: of the policy, by estimator. The weights that are shown are those of the first, and
            of a slate their mean over its slots.
        others: terms of the baseline; none of the baseline itself.
    """
    return PolicyRows(
        estimates=terms,
        gains={name: subtract_terms(terms[name], others[name]) for name in others},
        weights=next(iter(terms.values())).weights.mean(axis=0),
        means=np.zeros(0),
        numbers=number_rows(0, len(log)),
        action=log.action,
        table=None,
    )


def _rewards_of(log: SlateLog) -> Floats:
    """Returns the rewards of whole slates: [n]."""
    return np.asarray(log.reward.sum(axis=1))


def _summarize(log: SlateLog) -> LogSummary:
    """Returns what a log holds; it has no decisions of single actions."""
    known = [given for given in log.propensity if given is not None]
    return LogSummary(
        empty=None,
        rewards=Statistics.from_values(_rewards_of(log)),
        lowest_propensity=min(float(given.min(initial=math.inf)) for given in known),
        highest_propensity=max(float(given.max(initial=0.0)) for given in known),
        order=RowOrder(),
        fingerprint=0,
    )


def _describe(log: SlateLog, first: str) -> str:
    """Returns lines that describe a log; weights that are shown are those of an estimator."""
    mean = float(_rewards_of(log).mean())
    slots = "1 slot" if log.num_slots == 1 else f"{log.num_slots} slots"
    sizes = f"{len(log)} slates of {slots}, {log.num_actions} items"
    return f"{sizes}, mean reward {mean:.4g}\nrows are slates, and weights those of {first}"
