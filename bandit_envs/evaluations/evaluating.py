"""Evaluates policies on a log, part by part."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias, TypeVar

from bandit_envs.base.checks import check_confidence
from bandit_envs.evaluations.candidates import (
    LOGGED,
    AnyPolicy,
    Candidate,
    Contender,
    GivenPolicy,
    check_features,
    find_baseline,
    name_policies,
    names_of_actions,
)
from bandit_envs.evaluations.contest import Contest, Models, sum_rewards
from bandit_envs.evaluations.evaluation import Evaluation, Remarks
from bandit_envs.evaluations.logs import AnyLog, OpenLog, as_source, open_log
from bandit_envs.evaluations.named import Kind, collect, short_name
from bandit_envs.evaluations.observer import LogObserver
from bandit_envs.evaluations.passes import LogPart, check_readers, start_passes
from bandit_envs.evaluations.segments import Segmentation
from bandit_envs.evaluations.training import Training
from bandit_envs.logged import Estimator, RewardSums
from bandit_envs.logged.registry import ESTIMATORS, EstimatorEntry
from bandit_envs.logged.seen_rows import warn_if_seen
from bandit_envs.names.choice import Choice
from bandit_envs.names.users_code import name_in_errors

DEFAULT_ESTIMATORS = ("ips", "snips", "dr")

AnyEstimator: TypeAlias = Estimator | str
"""An estimator, or a text as the command takes it."""

ESTIMATORS_GIVEN = Kind(
    one="estimator",
    several="estimators",
    classes=(Estimator, str),
    expected="an Estimator, or a text such as 'dr'",
)
"""What users give as estimators."""

Result = TypeVar("Result")


class EstimatorChoice(Choice[EstimatorEntry]):
    """An estimator."""

    entry_class = EstimatorEntry
    table = ESTIMATORS


def evaluate(
    log: AnyLog,
    policies: AnyPolicy | Mapping[str, AnyPolicy] | Iterable[AnyPolicy],
    estimators: AnyEstimator
    | Mapping[str, AnyEstimator]
    | Iterable[AnyEstimator] = DEFAULT_ESTIMATORS,
    *,
    train: float | None = 0.5,
    until: str | None = None,
    baseline: str = LOGGED,
    all_rows: bool = False,
    by: str | None = None,
    confidence: float = 0.95,
    workers: int = 1,
    backend: str = "loky",
    address: str | None = None,
    observer: LogObserver | None = None,
) -> Evaluation:
    """Estimates what policies would have earned in a log, as `bandit-envs evaluate` does.

    The first row of the table is the policy that made the log. Each other policy has its gain over
    it: the difference of the estimates from the same rows, whose interval is shorter than those of
    the two values suggest.

    All policies meet all estimators in one pass over the log; policies that learn, and estimators
    that predict rewards, take one more before. Policies that learn do so from the first rows, as if
    they had made these decisions themselves. They are frozen then. All policies are evaluated on
    the rows that no policy has learned from, in this call or before it was written to a file.
    `Evaluation.notes` says which.

    Args:
        log: a `BanditLog`; its batches, of any size, which can be read more than once; what
            `scan_log` or `estimate_propensities` return; or the path of a log that `write_log`
            wrote.
        policies: one, several, or several by name. Each is a policy, which stays as it is; a
            learner of one, such as `DoublyRobustLearner()`; what `read_policy` returns; or a text
            as the command takes it: "ucb:c=2", "module:Class" of your own, or a file that `learn`
            wrote.
        estimators: one, several, or several by name: estimators, such as `DoublyRobust()`, or texts
            as the command takes them. Those that predict rewards do so by cross-fitted ridge
            regressions, `CrossFittedRidge`.
        train: the share of the rows, from the first, that policies learn from; None lets no policy
            learn, so that all are evaluated on all rows, as they are.
        until: in place of a share, the column and the value of a time, as "day=2024-12-31":
            policies learn from the rows below, which come first.
        baseline: the name of the policy that gains are over; by default the one that made the log.
        all_rows: whether each policy is evaluated on all rows that it has not learned from itself,
            rather than on those that no policy has. The values of policies are then of different
            rows, but a gain is of rows that are the same for both.
        by: a column of whole numbers or texts, at most 50 different ones: `Evaluation.segments` has
            a table for the rows of each. It may be a feature of a table, or `step` and so on; of
            an observation that is a dict, one of its keys.
        confidence: the probability that an interval holds.
        workers: processes or threads, which share the files of a log, or the batches of a list.
        backend: "loky", "threading", "dask" or "ray".
        address: of a running Dask or Ray cluster.
        observer: sees how the log is read.

    Raises:
        TypeError: the log, a policy or an estimator is something else.
        ValueError: a text names none, a policy does not fit the log, or no row is left for it.

    Warns:
        UserWarning: a policy has learned before from rows that it is evaluated on.

    >>> import numpy as np
    >>> from bandit_envs import UCBPolicy
    >>> from bandit_envs.logged import BanditLog, DoublyRobust
    >>> log = BanditLog(np.ones((900, 1)), [0, 1, 1] * 300, [1, 0, 1] * 300, [0.5] * 900)
    >>> policies = {"uniform": "random", "UCB": UCBPolicy(1.0, num_actions=2)}
    >>> for row in evaluate(log, policies, {"DR": DoublyRobust()}).rows:
    ...     print(row.policy, row.estimator, row.rows, round(row.value, 2), round(row.gain, 2))
    logged mean 450 0.67 nan
    uniform DR 450 0.75 0.08
    UCB DR 450 1.0 0.33
    """
    check_confidence(confidence)
    check_readers(workers, backend, address, observer)
    contenders = name_policies(policies)
    baseline = find_baseline(baseline, [contender.name for contender in contenders])
    named_estimators = collect(ESTIMATORS_GIVEN, estimators, _estimators)
    training = Training(train, until)
    source = as_source(log, training.time)
    check_features(contenders, source.scan.features)
    segmentation = None if by is None else Segmentation(by)
    with start_passes(workers, backend, address, observer) as passes:
        features = _find_features(contenders, named_estimators, segmentation, source.scan.features)
        opened = open_log(source.add_actions(names_of_actions(contenders)), passes, features)
        _check_columns(opened, segmentation)
        rows = None if training.is_none else training.count_before_others(opened)
        candidates = [contender.enter(opened, rows) for contender in contenders]
        evaluated_from = _find_starts(candidates, all_rows)
        for contender, start in zip(contenders, evaluated_from):
            if isinstance(contender, GivenPolicy):
                warn_if_seen(contender.policy, opened, stacklevel=3, start=start)
        balanced = _balance(opened, evaluated_from)
        contest = _make_contest(
            balanced,
            candidates,
            evaluated_from,
            estimators=named_estimators,
            baseline=baseline,
            segmentation=segmentation,
        )
        found = _pass_over(balanced, evaluated_from, contest.sum_part, "evaluating policies")
    return Evaluation(
        candidates=candidates,
        found=functools.reduce(contest.merge, found),
        summary=opened.summary,
        log=os.path.basename(opened.source.scan.name),
        title=opened.title,
        confidence=confidence,
        baseline=baseline,
        by=by,
        remarks=_remark(opened, candidates, named_estimators),
    )


def _find_features(
    contenders: Iterable[Contender],
    estimators: Mapping[str, Estimator],
    segmentation: Segmentation | None,
    features: Sequence[str],
) -> Sequence[str] | None:
    """Returns the columns of the features that are needed; None for all.

    Args:
        contenders: the policies.
        estimators: by name.
        segmentation: cuts the log in segments.
        features: the columns of all features.
    """
    by_policies = any(each.reads_contexts for each in contenders)
    by_estimators = any(each.reads_contexts for each in estimators.values())
    if by_policies or by_estimators:
        return None
    return [] if segmentation is None else segmentation.find_feature(features)


def _find_starts(candidates: Sequence[Candidate], all_rows: bool) -> list[int]:
    """Returns the first row that each policy is evaluated on.

    Args:
        candidates: the policies.
        all_rows: whether each has all rows that it has not seen, and not those that none has.
    """
    starts = [candidate.start for candidate in candidates]
    return starts if all_rows else [max(starts)] * len(starts)


def _balance(log: OpenLog, starts: Sequence[int]) -> OpenLog:
    """Returns a log whose propensities are right in the rows that policies are evaluated on.

    Raises:
        ValueError: there are several logging policies, and these rows differ.
    """
    balanced = log.balance(max(starts), log.size)
    if balanced is not log and min(starts) < max(starts):
        problem = "all_rows is True, and the log has several logging policies"
        raise ValueError(f"{problem}; expected the same rows for all policies")
    return balanced


def _check_columns(log: OpenLog, segmentation: Segmentation | None) -> None:
    """Raises ValueError if a log lacks propensities, or the column that it is cut by."""
    if not log.summary.has_propensities:
        advice = "estimate_propensities, or --estimate-propensities, estimates them"
        raise ValueError(f"{log.source.scan.name} has no propensities; {advice}")
    if segmentation is not None and log.summary.empty is not None:
        segmentation.check(log.summary.empty)


def _remark(log: OpenLog, candidates: Sequence[Candidate], estimators: Iterable[str]) -> Remarks:
    """Returns how propensities were estimated, for each policy and estimator, if they were."""
    estimated = [log.summary.estimated] if log.summary.estimated else []
    remarks = dict.fromkeys(estimators, estimated)
    return dict.fromkeys([each.name for each in candidates], remarks)


def _estimators(label: str | None, given: AnyEstimator) -> Iterator[tuple[str, Estimator]]:
    """Yields the estimators that a user gives as one, with their names."""
    if isinstance(given, Estimator):
        yield label or short_name(given), given
        return
    for choice in EstimatorChoice.expand(given):
        with name_in_errors(f"estimator {choice}", *choice.modules):
            estimator = choice.entry.make(**choice.parameters)
        yield label or str(choice), estimator


def _make_contest(
    log: OpenLog,
    candidates: Sequence[Candidate],
    evaluated_from: Sequence[int],
    *,
    estimators: Mapping[str, Estimator],
    baseline: str,
    segmentation: Segmentation | None,
) -> Contest:
    """Returns what visits the parts of a log, once the rewards are predicted.

    Args:
        log: the log.
        candidates: the policies.
        evaluated_from: the first row that each of them is evaluated on.
        estimators: by name.
        baseline: the name of the policy that gains are over.
        segmentation: cuts the log in segments.
    """
    # Their rows are known. A batch that looks like one that a policy has seen is no reason to warn,
    # and copies of policies do not remember any.
    copies = [
        dataclasses.replace(each, policy=each.policy.replicate(each.policy.batch_size), start=start)
        for each, start in zip(candidates, evaluated_from)
    ]
    starts = sorted(set(evaluated_from))
    needs_predictions = any(each.needs_predictions for each in estimators.values())
    return Contest(
        candidates=copies,
        estimators=estimators,
        models=_fit_models(log, starts) if needs_predictions else {},
        baseline=next((each for each in copies if each.name == baseline), None),
        logged_start=starts[0],
        segmentation=segmentation,
    )


def _fit_models(log: OpenLog, starts: Sequence[int]) -> Models:
    """Returns models of the rewards of the rows from each start on."""
    visit = functools.partial(sum_rewards, starts)
    found = _pass_over(log, starts, visit, "predicting rewards")
    return {
        start: functools.reduce(RewardSums.merge, parts).fit()
        for start, parts in zip(starts, zip(*found))
    }


def _pass_over(
    log: OpenLog, starts: Sequence[int], visit: Callable[[LogPart], Result], text: str
) -> list[Result]:
    """Returns what `visit` makes of each part that has rows from the first start on."""
    parts = [part for part in log.parts if part.first_row + part.size > min(starts)]
    return log.passes.over(parts, visit, text)
