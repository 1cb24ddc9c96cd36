"""Policies and estimators meet a log, part by part."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.evaluations.candidates import Candidate, name_candidate
from bandit_envs.evaluations.kinds.log_kind import LogKind
from bandit_envs.evaluations.passes import LogPart
from bandit_envs.evaluations.policy_sums import MEAN, Found, PolicyRows
from bandit_envs.evaluations.segments import Segmentation
from bandit_envs.logged import BanditLog, RewardSums
from bandit_envs.logged.estimators.gains import subtract_terms
from bandit_envs.logged.estimators.terms import Terms
from bandit_envs.logged.intervals.blocks import find_row_numbers
from bandit_envs.logged.moments import add_sums, merge_tables
from bandit_envs.logged.reward_models.reward_sums import CrossFittedRidge
from bandit_envs.names.users_code import name_in_errors, users_modules

Models: TypeAlias = Mapping[int, CrossFittedRidge]
"""Models of the rewards of the rows from a start on, by this start."""

FOLDS = 3  # of the models of rewards


def sum_rewards(starts: Sequence[int], part: LogPart) -> list[RewardSums]:
    """Returns the sums of models of the rewards in a part of a log, for the rows from each start.

    Folds count the rows from this start.
    """
    sums = [RewardSums(FOLDS, {})] * len(starts)
    for first_row, batch in part:
        for place, start in enumerate(starts):
            rows_before, rows = _rows_from(start, first_row, batch)
            if len(rows):
                sums[place] = sums[place].merge(RewardSums.from_log(rows, rows_before, FOLDS))
    return sums


class Scene:
    """A batch of a log, as policies and estimators meet it. What several need is made once.

    Args:
        kind: of the actions.
        models: of the rewards of the rows from each start on.
        first_row: the number of the first row of the batch in the log.
        batch: of the log.
    """

    def __init__(self, kind: LogKind, models: Models, first_row: int, batch: BanditLog) -> None:
        self._kind = kind
        self._models = models
        self._first_row = first_row
        self._batch = batch
        self._rows: dict[int, tuple[int, BanditLog]] = {}
        self._predicted: dict[int, Floats] = {}

    def rows(self, start: int) -> BanditLog:
        """Returns the rows from a start on."""
        return self._cut(start)[1]

    def count_before(self, start: int) -> int:
        """Returns how many rows of the log lie between a start and the first row from it on."""
        return self._cut(start)[0]

    def ask(self, candidate: Candidate) -> Any:
        """Returns what a policy would do in the rows that it has not seen."""
        rows_before, rows = self._cut(candidate.start)
        with name_candidate(candidate):
            return self._kind.ask(candidate.policy, rows, rows_before)

    def terms(self, name: str, estimator: Any, answer: Any, start: int) -> Terms:
        """Returns the terms of an estimator in the rows from a start on.

        Args:
            name: of the estimator.
            estimator: the estimator.
            answer: what a policy would do in these rows, or in more before them.
            start: the first row.
        """
        predicted = self._predict(start) if self._kind.needs_predictions(estimator) else None
        with name_estimator(name, estimator):
            return self._kind.terms(estimator, self.rows(start), answer, predicted)

    def _predict(self, start: int) -> Floats:
        if start not in self._predicted:
            rows_before, rows = self._cut(start)
            self._predicted[start] = self._models[start].predict(rows, rows_before)
        return self._predicted[start]

    def _cut(self, start: int) -> tuple[int, BanditLog]:
        """Returns how many rows lie between a start and the batch, and the rows after both."""
        if start not in self._rows:
            self._rows[start] = _rows_from(start, self._first_row, self._batch)
        return self._rows[start]


@dataclasses.dataclass(frozen=True)
class Contest:
    """Policies that meet estimators in the parts of a log. Workers can be sent one.

    Args:
        kind: of the actions of the log.
        candidates: the policies.
        estimators: by name.
        models: of the rewards of the rows from each start on, if an estimator needs them.
        baseline: the candidate that gains are over; None for the policy that made the log.
        logged_start: the first row of which the mean reward is shown.
        segmentation: cuts the log in segments; None for the whole alone.
    """

    kind: LogKind
    candidates: Sequence[Candidate]
    estimators: Mapping[str, Any]
    models: Models
    baseline: Candidate | None
    logged_start: int
    segmentation: Segmentation | None

    def sum_part(self, part: LogPart) -> Found:
        """Returns the sums of a part of a log."""
        found: Found = {}
        for first_row, batch in part:
            scene = Scene(self.kind, self.models, first_row, batch)
            segments = [] if self.segmentation is None else list(self.segmentation.cut(batch))
            for place, described in enumerate(self._describe_all(scene)):
                if described is None:
                    continue
                add_sums(found, (None, place), self.kind.sums(described))
                before = len(batch) - len(described.weights)  # rows that the policy has seen
                for segment in segments:
                    rows = segment.rows[segment.rows >= before] - before
                    if len(rows):
                        taken = self.kind.sums(described.take(rows))
                        add_sums(found, (segment.name, place), taken)
            self._check_segments(found)
        return found

    def merge(self, found: Found, more: Found) -> Found:
        """Returns the sums of the rows of two parts; ValueError if they have too many segments."""
        merged = merge_tables(found, more)
        self._check_segments(merged)
        return merged

    def _check_segments(self, found: Found) -> None:
        if self.segmentation is not None:
            self.segmentation.check_number(len({name for name, _ in found} - {None}))

    def _describe_all(self, scene: Scene) -> Iterator[PolicyRows | None]:
        """Yields what a batch says of the policies; None of one that has seen all rows."""
        rows = scene.rows(self.logged_start)
        first_row = scene.count_before(self.logged_start)
        yield self._describe_logged(rows, first_row) if len(rows) else None
        kept = None
        if self.baseline is not None and len(scene.rows(self.baseline.start)):
            kept = scene.ask(self.baseline)
        baselines = self._terms_of_baseline(scene, kept)
        for candidate in self.candidates:
            if not len(scene.rows(candidate.start)):
                yield None
                continue
            answer = kept if self._is_baseline(candidate) else scene.ask(candidate)
            yield self._describe(candidate, scene, answer, baselines)

    def _terms_of_baseline(self, scene: Scene, answer: Any) -> Mapping[int, Mapping[str, Terms]]:
        """Returns the terms of the baseline by estimator, in the rows of each comparison.

        Args:
            scene: the batch.
            answer: of the baseline in the rows that it has not seen; None of the policy that made
                the log.

        Returns:
            the terms by the first row and by estimator.
        """
        found: dict[int, Mapping[str, Terms]] = {}
        for start in {self._start_of_gains(candidate) for candidate in self.candidates}:
            rows = scene.rows(start)
            if not len(rows):
                continue
            if self.baseline is None or answer is None:
                found[start] = dict.fromkeys(self.estimators, self.kind.logged(rows))
            else:
                found[start] = self._terms(self.baseline, scene, answer, start)
        return found

    def _describe(
        self,
        candidate: Candidate,
        scene: Scene,
        answer: Any,
        baselines: Mapping[int, Mapping[str, Terms]],
    ) -> PolicyRows:
        """Returns what the rows say of a policy, at least one.

        Args:
            candidate: the policy.
            scene: the batch.
            answer: of the policy in the rows that it has not seen.
            baselines: the terms of the baseline, as `_terms_of_baseline` returns them.
        """
        rows = scene.rows(candidate.start)
        estimates = self._terms(candidate, scene, answer, candidate.start)
        gains: dict[str, Terms] = {}
        start = self._start_of_gains(candidate)
        if start in baselines and not self._is_baseline(candidate):
            is_same = start == candidate.start
            own = estimates if is_same else self._terms(candidate, scene, answer, start)
            for name, terms in own.items():
                gains[name] = subtract_terms(terms, baselines[start][name])
        return PolicyRows(
            estimates=estimates,
            gains=gains,
            weights=self.kind.weights(rows, answer, estimates),
            means=self.kind.means(rows, answer),
            numbers=find_row_numbers(scene.count_before(candidate.start), len(rows)),
            action=rows.action,
            table=self.kind.table(answer),
        )

    def _describe_logged(self, rows: BanditLog, first_row: int) -> PolicyRows:
        """Returns what rows say of the policy that made them, the first of which has a number."""
        return PolicyRows(
            estimates={MEAN: self.kind.logged(rows)},
            gains={},
            weights=np.ones(len(rows)),
            means=self.kind.means(rows, None),
            numbers=find_row_numbers(first_row, len(rows)),
            action=rows.action,
            table=None,
        )

    def _terms(
        self, candidate: Candidate, scene: Scene, answer: Any, start: int
    ) -> Mapping[str, Terms]:
        """Returns the terms of a policy by estimator, in the rows from a start on."""
        with name_candidate(candidate):
            return {
                name: scene.terms(name, estimator, answer, start)
                for name, estimator in self.estimators.items()
            }

    def _is_baseline(self, candidate: Candidate) -> bool:
        return self.baseline is not None and candidate.name == self.baseline.name

    def _start_of_gains(self, candidate: Candidate) -> int:
        """Returns the first row that neither a policy nor the baseline has seen."""
        return max(candidate.start, self.baseline.start if self.baseline else 0)


def _rows_from(start: int, first_row: int, batch: BanditLog) -> tuple[int, BanditLog]:
    """Returns how many rows lie between a start and a batch, and the rows of the batch after both.

    Args:
        start: the number of a row of the log.
        first_row: the number of the first row of the batch.
        batch: of the log.
    """
    return max(first_row - start, 0), batch[max(start - first_row, 0) :]


@contextlib.contextmanager
def name_estimator(name: str, made: object) -> Iterator[None]:
    """Names the estimator in errors.

    Args:
        name: of the estimator.
        made: the estimator, or sums of it.
    """
    with name_in_errors(f"estimator {name}", *users_modules(made)):
        yield
