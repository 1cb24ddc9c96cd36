"""Policies, trained and estimated on a log, part by part."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias, TypeVar

import numpy as np

from bandit_envs import logged
from bandit_envs.arrays import Floats
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.cli.logs import OpenLog
from bandit_envs.cli.passes import LogPart
from bandit_envs.logged import BanditLog, Estimator
from bandit_envs.logged.estimators import Estimate, EstimateSums
from bandit_envs.logged.estimators.weight_histogram import WeightHistogram
from bandit_envs.logged.learners.policy_files import SUFFIX, SavedPolicy, read_policy
from bandit_envs.logged.reward_models import CrossFittedRidge, RewardSums
from bandit_envs.logged.summary import LogSummary
from bandit_envs.metrics.statistics import Statistics
from bandit_envs.policies import Policy
from bandit_envs.policies.scikit_learn.named_estimators import make_estimator
from bandit_envs.studies.definition.choice import PolicyChoice, name_in_errors

Result = TypeVar("Result")

Models: TypeAlias = Mapping[int, CrossFittedRidge]
"""Models of the rewards of the rows from a start on, by this start."""

FOLDS = 3  # of the models of rewards
SAMPLES = 100  # choices counted of a policy that does not know its probabilities


class SavedChoice:
    """A policy in a file that `bandit-envs learn` wrote.

    Args:
        spec: the file; and if its estimators are a user's own, `:` and how to make one.
    """

    def __init__(self, spec: str) -> None:
        self._spec = spec
        path, suffix, estimator = spec.partition(f"{SUFFIX}:")
        given = make_estimator(estimator) if suffix else None
        self.saved = read_policy(path + SUFFIX if suffix else path, given)

    def make(self, env: PyEnvironment, seed: int) -> Policy:
        """Returns the policy, which fits `env`."""
        return self.saved.make(env.observation_spec(), env.batch_size or 1, seed)

    def __str__(self) -> str:
        return self._spec


AnyPolicyChoice: TypeAlias = PolicyChoice | SavedChoice


def expand_policies(spec: str) -> Iterator[AnyPolicyChoice]:
    """Yields the policies that an id or class with parameters names, or the one in a file."""
    if spec.endswith(SUFFIX) or f"{SUFFIX}:" in spec:
        yield SavedChoice(spec)
    else:
        yield from PolicyChoice.expand(spec)


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A policy that is evaluated.

    Args:
        choice: names the policy. It stands first, so that a worker finds the user's module of the
            policy.
        policy: which learns no more.
        start: the first row of the log that the policy has not seen, and is evaluated on.
        is_of_another_log: whether a learner made it from another log.
    """

    choice: AnyPolicyChoice
    policy: Policy
    start: int
    is_of_another_log: bool = False

    @property
    def is_of_unknown_log(self) -> bool:
        """Whether a learner made it from a log that its file does not tell."""
        return isinstance(self.choice, SavedChoice) and not self.choice.saved.rows_learned


@dataclasses.dataclass(frozen=True)
class PolicySums:
    """What a policy would have done in some rows of a log. Those of parts merge.

    Args:
        estimates: the sums of the estimates, by the names of the estimators.
        weights: the weights of the rows.
        means: the statistics of the expected rewards, if the log has them.
    """

    estimates: Mapping[str, EstimateSums]
    weights: WeightHistogram
    means: Statistics

    def merge(self, other: PolicySums) -> PolicySums:
        """Returns the sums of the rows of both."""
        estimates = {
            name: sums.merge(other.estimates[name]) for name, sums in self.estimates.items()
        }
        weights = self.weights.merge(other.weights)
        return PolicySums(estimates, weights, self.means.merge(other.means))


@dataclasses.dataclass(frozen=True)
class Evaluated:
    """A policy that was evaluated, and the sums of its rows."""

    candidate: Candidate
    sums: PolicySums

    def truth(self) -> float | str:
        """Returns the mean expected reward, or "" if the log does not know it."""
        means = self.sums.means
        return float(means.mean) if means.count else ""

    def estimates(self) -> Iterator[tuple[str, Estimate, list[str]]]:
        """Yields the names of the estimators, the estimates, and the reasons to distrust them."""
        for name, sums in self.sums.estimates.items():
            with warnings.catch_warnings(), name_policy(self.candidate.choice):
                warnings.simplefilter("ignore", UserWarning)
                with name_estimator(name, sums):
                    estimate = sums.estimate()
                    problems = sums.find_problems()
            yield name, estimate, problems


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """What is evaluated: some policies, by some estimators, on a log.

    Args:
        log: which is passed over several times.
        choices: of policies.
        estimators: by name.
        rows_to_learn_from: how many rows, the first of the log, policies learn from; None if they
            shall not learn.
    """

    log: OpenLog
    choices: Sequence[AnyPolicyChoice]
    estimators: Mapping[str, Estimator]
    rows_to_learn_from: int | None

    def run(self) -> list[Evaluated]:
        """Trains the policies that learn, and evaluates all on rows that they have not seen.

        A policy that does not learn is evaluated on all rows.
        """
        sample = next(iter(self.log.rows(0, self.log.summary.size)))
        candidates = [self._make(choice, sample) for choice in self.choices]
        starts = sorted({candidate.start for candidate in candidates})
        needs_predictions = any(each.needs_predictions for each in self.estimators.values())
        models = self._fit_models(starts) if needs_predictions else {}
        visit = functools.partial(_sum_policies, candidates, self.estimators, models)
        found = self._pass_over(starts, visit, "evaluating policies")
        sums = [functools.reduce(PolicySums.merge, filter(None, parts)) for parts in zip(*found)]
        return [Evaluated(each, merged) for each, merged in zip(candidates, sums)]

    def _make(self, choice: AnyPolicyChoice, sample: BanditLog) -> Candidate:
        """Returns a policy with the first row that it has not seen; it learns before if it can.

        Args:
            choice: of the policy.
            sample: some rows of the log, which the policy has to fit.
        """
        size = self.log.summary.size
        with name_policy(choice):
            env = logged.ReplayEnvironment(sample, self.log.summary.batch_size)
            env.independent_rows = False  # the rows of a log are users of one problem
            policy = choice.make(env, 0)
            start = 0
            is_of_another_log = False
            if isinstance(choice, SavedChoice):
                start = self._count_rows_seen(choice.saved)
                is_of_another_log = choice.saved.rows_learned > start
            elif policy.can_learn and self.rows_to_learn_from is not None:
                start = self.rows_to_learn_from
                if not start:
                    raise ValueError(f"the log has {size} rows, too few to learn from a part")
                with self.log.passes.watch(self.log.rows(0, start), f"{choice} learns") as rows:
                    policy = logged.learn_from_log(policy, rows)
            if start >= size:
                raise ValueError(f"it has learned from all {size} rows; none is left")
        return Candidate(choice, policy, start, is_of_another_log)

    def _count_rows_seen(self, saved: SavedPolicy) -> int:
        """Returns from how many of the first rows a policy has learned: 0 of another log."""
        rows = saved.rows_learned
        if not 0 < rows <= self.log.summary.size:
            return 0
        first = LogSummary.from_batches(self.log.rows(0, rows))
        return rows if first.identify() == saved.log else 0

    def _fit_models(self, starts: Sequence[int]) -> Models:
        """Returns models of the rewards of the rows from each start on."""
        visit = functools.partial(_sum_rewards, starts)
        found = self._pass_over(starts, visit, "predicting rewards")
        return {
            start: functools.reduce(RewardSums.merge, parts).fit()
            for start, parts in zip(starts, zip(*found))
        }

    def _pass_over(
        self, starts: Sequence[int], visit: Callable[[LogPart], Result], text: str
    ) -> list[Result]:
        """Returns what `visit` makes of each part that has rows from the first start on."""
        parts = [part for part in self.log.parts if part.first_row + part.size > min(starts)]
        return self.log.passes.over(parts, visit, text)


def _sum_rewards(starts: Sequence[int], part: LogPart) -> list[RewardSums]:
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


def _sum_policies(
    candidates: Sequence[Candidate],
    estimators: Mapping[str, Estimator],
    models: Models,
    part: LogPart,
) -> list[PolicySums | None]:
    """Returns the sums of policies in a part of a log; None if it has no row for a policy."""
    found: list[PolicySums | None] = [None] * len(candidates)
    for first_row, batch in part:
        predicted = {}
        for place, candidate in enumerate(candidates):
            start = candidate.start
            rows_before, rows = _rows_from(start, first_row, batch)
            if not len(rows):
                continue
            if start in models and start not in predicted:
                predicted[start] = models[start].predict(rows, rows_before)
            with name_policy(candidate.choice):
                sums = _sum_rows(candidate, estimators, rows, rows_before, predicted.get(start))
            known = found[place]
            found[place] = sums if known is None else known.merge(sums)
    return found


def _rows_from(start: int, first_row: int, batch: BanditLog) -> tuple[int, BanditLog]:
    """Returns the rows of a batch from a start on, and how many rows lie between both.

    Args:
        start: the number of a row of the log.
        first_row: the number of the first row of the batch.
        batch: of the log.
    """
    return max(first_row - start, 0), batch[max(start - first_row, 0) :]


def _sum_rows(
    candidate: Candidate,
    estimators: Mapping[str, Estimator],
    rows: BanditLog,
    rows_before: int,
    predicted: Floats | None,
) -> PolicySums:
    """Returns the sums of a policy in some rows.

    Args:
        candidate: the policy.
        estimators: by name.
        rows: a part of those that the policy has not seen.
        rows_before: how many rows that it has not seen are before this part.
        predicted: [n, K], rewards, if an estimator needs them.
    """
    policy = candidate.policy
    samples = None if policy.knows_probabilities else SAMPLES
    # The choices that are counted depend on the rows' place in the log, not on who reads them.
    table = logged.probabilities_of(policy, rows, samples, seed=rows_before, first_row=rows_before)
    taken = table[np.arange(len(rows)), rows.action]
    values = np.zeros(0)
    if rows.expected_rewards is not None:
        # Those of actions that are not available may be infinite.
        means = np.where(table > 0.0, rows.expected_rewards, 0.0)
        values = (table * means).sum(axis=1)
    estimates = {}
    for name, estimator in estimators.items():
        with name_estimator(name, estimator):
            estimates[name] = estimator.sums(rows, table, predicted)
    return PolicySums(
        estimates=estimates,
        weights=WeightHistogram.from_weights(taken / rows.propensity),
        means=Statistics.from_values(values),
    )


@contextlib.contextmanager
def name_policy(choice: AnyPolicyChoice) -> Iterator[None]:
    """Names the policy in errors."""
    modules = choice.modules if isinstance(choice, PolicyChoice) else []
    with name_in_errors(f"policy {choice}", *modules):
        yield


@contextlib.contextmanager
def name_estimator(name: str, made: object) -> Iterator[None]:
    """Names the estimator in errors.

    Args:
        name: of the estimator.
        made: the estimator, or sums of it.
    """
    modules = [type(made).__module__] if ":" in name else []
    with name_in_errors(f"estimator {name}", *modules):
        yield
