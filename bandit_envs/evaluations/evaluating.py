"""Evaluates policies on a log, part by part."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from bandit_envs.base.checks import check_confidence
from bandit_envs.evaluations.candidates import LOGGED, Candidate, find_baseline, find_starts
from bandit_envs.evaluations.contenders import (
    AnyPolicy,
    Contender,
    GivenPolicy,
    check_features,
    name_policies,
    names_of_actions,
)
from bandit_envs.evaluations.contest import Contest, Models, sum_rewards
from bandit_envs.evaluations.evaluation import Evaluation, Remarks
from bandit_envs.evaluations.given_estimators import (
    ESTIMATORS_GIVEN,
    AnyEstimator,
    choose_estimators,
    expand_estimator,
    reads_contexts,
    tell_others,
)
from bandit_envs.evaluations.kinds.log_kind import LogKind, ShownSums
from bandit_envs.evaluations.kinds.number_kind import Numbers
from bandit_envs.evaluations.kinds.single_kind import SingleActions
from bandit_envs.evaluations.kinds.slate_kind import Slates, open_slates
from bandit_envs.evaluations.logs import AnyLog, OpenLog, as_source, open_log
from bandit_envs.evaluations.named import collect
from bandit_envs.evaluations.passes import LogObserver, LogPart, Passes, check_readers, start_passes
from bandit_envs.evaluations.segments import Segmentation, TimePeriods
from bandit_envs.evaluations.training import AUTO, Training
from bandit_envs.logged import RewardSums
from bandit_envs.logged.rows.seen_rows import warn_if_seen
from bandit_envs.logged.slate_log import SlateLog

Result = TypeVar("Result")


def evaluate(
    log: AnyLog | SlateLog,
    policies: AnyPolicy | Mapping[str, AnyPolicy] | Iterable[AnyPolicy],
    estimators: AnyEstimator | Mapping[str, AnyEstimator] | Iterable[AnyEstimator] | None = None,
    *,
    train: float | Literal["auto"] | None = AUTO,
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
    the rows that no policy has learned from, in this call or before it was written to a file, and
    that `train` or `until` does not leave to learning. `Evaluation.notes` says which.

    The log says of which kind its actions are:

    - Single actions, one of K: the usual case.
    - Numbers, such as prices, in a `BanditLog` whose `num_actions` is 0: `KernelIPS` weighs rows
      whose actions are near those of a policy. Policies should hardly vary: what is estimated is
      what the actions that they draw would have earned. A warning says where an estimate differs
      from that at half its bandwidth by more than noise: the bandwidth is then too large. An
      interval covers the normal interval, and that of the estimate that is extrapolated to a
      bandwidth of 0. Policies do not learn, and gains are over the policy that made the log.
    - Slates of several items, in a `SlateLog`, such as `read_slates` returns: a row is a slate, and
      its reward that of all slots. Policies do not learn.

    Args:
        log: a `BanditLog`; its batches, of any size, which can be read more than once; what
            `scan_log` or `estimate_propensities` return; the path of a log that `write_log`
            wrote; or a `SlateLog`.
        policies: one, several, or several by name. Each is a policy, which stays as it is; a
            learner of one, such as `DoublyRobustLearner()`; what `read_policy` returns; or a text
            as the command takes it: "ucb:c=2", "module:Class" of your own, or a file that `learn`
            wrote. Those that choose numbers are instances of `ContinuousPolicy`, or texts such as
            "gaussian:std=0.1,coefficients=[2.5]"; those that show slates of `SlatePolicy`, or texts
            such as "random_slate".
        estimators: one, several, or several by name: estimators, such as `DoublyRobust()`, or texts
            as the command takes them. Those that predict rewards do so by cross-fitted ridge
            regressions, `CrossFittedRidge`. None takes those that are the default for the log:
            `dr` if it has at least 10 rows an action, or of items 10 rows a feature, so that its
            regressions have rows to learn from, or else `ips` and `snips`; of numbers `kernel_ips`
            and `kernel_snips`; of slates all that their propensities allow: `slate_ips` and
            `slate_snips` those of slates, `slot_ips` and `slot_snips` of slots, `prefix_ips` and
            `prefix_snips` of prefixes.
            The bandwidth of kernels is a number, in units of the actions, as in
            "kernel_ips:bandwidth=0.2"; "rule", the default: 2.34 standard deviations of the
            actions, times n^(-1/5), which is right for a normal distribution of them; or "slope",
            which chooses for each policy, as `slope` does, among the other bandwidths of the
            estimator if several are given, or else among 2, 1, 1/2, 1/4 and 1/8 of the rule's.
            `Evaluation.notes` says what it chose; intervals are as if that had been given.
        train: the share of the rows, from the first, that policies learn from. If it is given, all
            policies are evaluated on the others, also those that do not learn; "auto" is half of
            the rows if a policy learns, and none otherwise. None lets no policy learn, so that all
            are evaluated on all rows, as they are. If the log has units, such as users, the share
            is of the units: policies learn from all rows of some, and are evaluated on others. A
            log that a batch of rows of a policy made is cut by steps.
        until: in place of a share, the column and the value of a time, as "day=2024-12-31":
            policies learn from the rows below, which come first, and are evaluated on the others.
        baseline: the name of the policy that gains are over; by default the one that made the log.
        all_rows: whether each policy is evaluated on all rows that it has not learned from itself,
            rather than on those that no policy has. The values of policies are then of different
            rows, but a gain is of rows that are the same for both.
        by: a column of whole numbers or texts, at most 50 different ones: `Evaluation.segments` has
            a table for the rows of each. It may be a feature of a table, or `step` and so on; of
            an observation that is a dict, one of its keys. Or "day", "week", "month" or "year", at
            most 60 of them, by the `time` of the log; "day:month" is by month of the column `day`
            of a table. A week is known by the date of its Monday.
        confidence: the probability that an interval holds.
        workers: processes or threads, which share the files of a log, or the batches of a list.
        backend: "loky", "threading", "dask" or "ray".
        address: of a running Dask or Ray cluster.
        observer: sees how the log is read.

    Raises:
        TypeError: the log, a policy or an estimator is something else.
        ValueError: a text names none, a policy or an estimator does not fit the log, no row is left
            for it, or an argument asks for what the log's kind of action does not have.

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
    named = None if estimators is None else collect(ESTIMATORS_GIVEN, estimators, expand_estimator)
    training = Training(train, until)
    asked = {
        "train": train,
        "until": until,
        "baseline": baseline,
        "all_rows": all_rows,
        "workers": workers,
        "backend": backend,
        "address": address,
    }
    if isinstance(log, SlateLog):
        Slates.check_arguments(asked)
    with start_passes(workers, backend, address, observer) as passes:
        kind, opened, segmentation = _open(
            log,
            passes,
            contenders=contenders,
            estimators=named,
            time=training.time,
            by=by,
        )
        kind.check_arguments(asked)
        rows = None
        if kind.learns and train is not None:
            rows = training.count_before_others(opened)
        opened, candidates = _enter(kind, contenders, opened, training, rows)
        left_out = rows if training.is_given and rows is not None else 0
        evaluated_from = find_starts(candidates, all_rows, left_out)
        if kind.learns:
            for contender, start in zip(contenders, evaluated_from):
                if isinstance(contender, GivenPolicy):
                    warn_if_seen(contender.policy, opened, stacklevel=3, start=start)
        chosen = choose_estimators(kind, named, opened.size - max(evaluated_from))
        balanced = _balance(opened, evaluated_from)
        contest = _make_contest(
            balanced,
            candidates,
            evaluated_from,
            kind=kind,
            estimators=kind.resolve(chosen),
            baseline=baseline,
            segmentation=segmentation,
        )
        found = _pass_over(balanced, evaluated_from, contest.sum_part, "evaluating policies")
    shown = kind.show(chosen, functools.reduce(contest.merge, found), candidates)
    return Evaluation(
        candidates=shown.candidates,
        found=shown.found,
        summary=opened.summary,
        log=os.path.basename(opened.name),
        title=kind.title(opened, chosen),
        confidence=confidence,
        baseline=baseline,
        by=by,
        is_over_time=isinstance(segmentation, TimePeriods),
        remarks=_add_estimated(opened, shown),
        others="" if named else tell_others(kind, chosen),
        learned_units=opened.is_by_units,
    )


def _open(
    log: AnyLog | SlateLog,
    passes: Passes,
    *,
    contenders: Sequence[Contender],
    estimators: Mapping[str, Any] | None,
    time: str | None,
    by: str | None,
) -> tuple[LogKind, OpenLog, Segmentation | None]:
    """Returns of which kind the actions of a log are, the log, and what cuts it in segments.

    Args:
        log: as a user gives it.
        passes: reads the log.
        contenders: the policies.
        estimators: by name; None for those that are the default.
        time: a column by which the log is cut.
        by: the column or the period of the segments; None for none.
    """
    if isinstance(log, SlateLog):
        segments = None if by is None else Segmentation.of(by)
        return Slates(log), open_slates(log, passes), segments
    source = as_source(log, time)
    segmentation = None if by is None else Segmentation.of(by, source.scan)
    if segmentation is not None:
        source = segmentation.date(source)
    check_features(contenders, source.scan.features)
    features = _find_features(contenders, estimators, segmentation, source.scan.features)
    opened = open_log(source.add_actions(names_of_actions(contenders)), passes, features)
    _check_columns(opened, segmentation)
    empty = opened.summary.empty
    if empty is not None and empty.action_kind.is_number:
        return Numbers.of_log(opened), opened, segmentation
    return SingleActions.of_log(opened), opened, segmentation


def _find_features(
    contenders: Iterable[Contender],
    estimators: Mapping[str, Any] | None,
    segmentation: Segmentation | None,
    features: Sequence[str],
) -> Sequence[str] | None:
    """Returns the columns of the features that are needed; None for all.

    Args:
        contenders: the policies.
        estimators: by name; None for those that are the default, of which some need all.
        segmentation: cuts the log in segments.
        features: the columns of all features.
    """
    by_policies = any(each.reads_contexts for each in contenders)
    by_estimators = estimators is None or any(map(reads_contexts, estimators.values()))
    if by_policies or by_estimators:
        return None
    return [] if segmentation is None else segmentation.find_feature(features)


def _enter(
    kind: LogKind,
    contenders: Sequence[Contender],
    log: OpenLog,
    training: Training,
    rows: int | None,
) -> tuple[OpenLog, list[Candidate]]:
    """Returns the log in the order in which policies have learned from its first rows, and these.

    Args:
        kind: of the actions.
        contenders: the policies.
        log: in its own order.
        training: the rows from which policies learn.
        rows: how many these are; None if no policy learns.

    Raises:
        ValueError: some policies have learned from units, and a file from the first rows.
    """
    arranged = log if rows is None else training.arrange(log)
    candidates = [kind.enter(contender, arranged, rows) for contender in contenders]
    if arranged is log:
        return log, candidates
    if not training.is_given and not any(each.start for each in candidates):
        # No policy has learned from units, so rows keep their order.
        return log, [kind.enter(contender, log, rows) for contender in contenders]
    for contender, candidate in zip(contenders, candidates):
        seen = 0 if candidate.start else contender.count_rows_seen(log)
        if seen:
            problem = f"policy {contender.name} has learned from the first {seen} rows of the log"
            others = "train is a share of its units"
            expected = "expected a cut by time, as until='day=2024-12-31', or --train"
            raise ValueError(f"{problem}, and {others}; {expected} day=2024-12-31")
    return arranged, candidates


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
        advice = "estimate_propensities, or --propensity estimate, estimates them"
        raise ValueError(f"{log.source.scan.name} has no propensities; {advice}")
    if segmentation is not None and log.summary.empty is not None:
        segmentation.check(log.summary.empty)


def _add_estimated(log: OpenLog, shown: ShownSums) -> Remarks:
    """Returns the reasons to distrust estimates, with how propensities were estimated, if so."""
    known = [log.summary.estimated] if log.summary.estimated else []
    return {
        key: {name: [*shown.remarks.get(key, {}).get(name, ()), *known] for name in sums.estimates}
        for key, sums in shown.found.items()
        if key[1]  # the policy that made the log needs no propensities
    }


def _make_contest(
    log: OpenLog,
    candidates: Sequence[Candidate],
    evaluated_from: Sequence[int],
    *,
    kind: LogKind,
    estimators: Mapping[str, Any],
    baseline: str,
    segmentation: Segmentation | None,
) -> Contest:
    """Returns what visits the parts of a log, once the rewards are predicted.

    Args:
        log: the log.
        candidates: the policies.
        evaluated_from: the first row that each of them is evaluated on.
        kind: of the actions.
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
    needs_predictions = any(kind.needs_predictions(each) for each in estimators.values())
    return Contest(
        kind=kind,
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
