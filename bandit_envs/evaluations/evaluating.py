"""Evaluates policies on a log, part by part."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias, TypeVar

from bandit_envs.base.checks import check_confidence
from bandit_envs.evaluations.candidates import (
    AnyPolicy,
    Candidate,
    GivenPolicy,
    check_features,
    name_policies,
    names_of_actions,
)
from bandit_envs.evaluations.evaluation import Evaluated, Evaluation
from bandit_envs.evaluations.logs import AnyLog, OpenLog, as_source, open_log
from bandit_envs.evaluations.named import Kind, collect, short_name
from bandit_envs.evaluations.observer import LogObserver
from bandit_envs.evaluations.passes import LogPart, check_readers, start_passes
from bandit_envs.evaluations.policy_sums import Models, PolicySums, sum_policies, sum_rewards
from bandit_envs.evaluations.training import Training
from bandit_envs.logged import Estimator, RewardSums
from bandit_envs.logged.registry import ESTIMATORS, EstimatorEntry
from bandit_envs.logged.seen_rows import warn_if_seen
from bandit_envs.studies.definition.choice import Choice, name_in_errors

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
    confidence: float = 0.95,
    workers: int = 1,
    backend: str = "loky",
    address: str | None = None,
    observer: LogObserver | None = None,
) -> Evaluation:
    """Estimates what policies would have earned in a log, as `bandit-envs evaluate` does.

    All policies meet all estimators in one pass over the log; policies that learn, and estimators
    that predict rewards, take one more before. Policies that learn do so from the first rows, as if
    they had made these decisions themselves. They are frozen then, and evaluated on the others. A
    policy in a file is evaluated on the rows that it has not learned from. `Evaluation.notes` says
    so.

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
    ...     print(row.policy, row.estimator, row.rows, round(row.value, 2))
    uniform DR 900 0.75
    UCB DR 450 1.0
    """
    check_confidence(confidence)
    check_readers(workers, backend, address, observer)
    contenders = name_policies(policies)
    named_estimators = collect(ESTIMATORS_GIVEN, estimators, _estimators)
    training = Training(train, until)
    source = as_source(log, training.time)
    check_features(contenders, source.features)
    with start_passes(workers, backend, address, observer) as passes:
        opened = open_log(source.add_actions(names_of_actions(contenders)), passes)
        if not opened.summary.has_propensities:
            advice = "estimate_propensities, or --estimate-propensities, estimates them"
            raise ValueError(f"{source.name} has no propensities; {advice}")
        rows = None if training.is_none else training.count_before_others(opened)
        candidates = [contender.enter(opened, rows) for contender in contenders]
        for contender, candidate in zip(contenders, candidates):
            if isinstance(contender, GivenPolicy):
                others = opened.rows(candidate.start, opened.size)
                warn_if_seen(contender.policy, others, stacklevel=3)
        sums = _sum(opened, candidates, named_estimators)
    estimated = [opened.summary.estimated] if opened.summary.estimated else []
    remarks = dict.fromkeys(named_estimators, estimated)
    evaluated = [Evaluated(each, found, remarks) for each, found in zip(candidates, sums)]
    return Evaluation(evaluated, opened.summary, opened.title, confidence)


def _estimators(label: str | None, given: AnyEstimator) -> Iterator[tuple[str, Estimator]]:
    """Yields the estimators that a user gives as one, with their names."""
    if isinstance(given, Estimator):
        yield label or short_name(given), given
        return
    for choice in EstimatorChoice.expand(given):
        with name_in_errors(f"estimator {choice}", *choice.modules):
            estimator = choice.entry.make(**choice.parameters)
        yield label or str(choice), estimator


def _sum(
    log: OpenLog, candidates: Sequence[Candidate], estimators: Mapping[str, Estimator]
) -> list[PolicySums]:
    """Returns the sums of policies in the rows that they have not seen."""
    starts = sorted({candidate.start for candidate in candidates})
    needs_predictions = any(each.needs_predictions for each in estimators.values())
    models = _fit_models(log, starts) if needs_predictions else {}
    # Their rows are known. A batch that looks like one that a policy has seen is no reason to warn,
    # and copies of policies do not remember any.
    copies = [
        dataclasses.replace(each, policy=each.policy.replicate(each.policy.batch_size))
        for each in candidates
    ]
    visit = functools.partial(sum_policies, copies, estimators, models)
    found = _pass_over(log, starts, visit, "evaluating policies")
    return [functools.reduce(PolicySums.merge, filter(None, parts)) for parts in zip(*found)]


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
