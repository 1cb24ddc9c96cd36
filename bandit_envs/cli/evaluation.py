"""Policies, trained and estimated on a log in batches."""

import contextlib
import dataclasses
import functools
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from bandit_envs import logged
from bandit_envs.arrays import Floats
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.logged import BanditLog, CrossFittedRidge, Estimate, EstimateSums, Estimator
from bandit_envs.logged.learning import align_batches
from bandit_envs.logged.policy_files import read_policy
from bandit_envs.logged.reward_sums import fit_batches
from bandit_envs.logged.summary import LogRows, LogSummary
from bandit_envs.logged.weight_histogram import WeightHistogram
from bandit_envs.metrics.statistics import Statistics
from bandit_envs.policies import Policy
from bandit_envs.studies.choice import PolicyChoice, printable

SAMPLES = 100  # choices counted of a policy that does not know its probabilities


class SavedChoice:
    """A policy in a file that `bandit-envs learn` wrote.

    Args:
        path: of the file.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self.saved = read_policy(path)

    def make(self, env: PyEnvironment, seed: int) -> Policy:
        """Returns the policy, which fits `env`."""
        return self.saved.make(env.observation_spec(), env.batch_size or 1, seed)

    def __str__(self) -> str:
        return self._path


AnyPolicyChoice: TypeAlias = PolicyChoice | SavedChoice


def expand_policies(spec: str) -> Iterator[AnyPolicyChoice]:
    """Yields the policies of a file, or of an id or class with parameters."""
    if spec.endswith(".npz"):
        yield SavedChoice(spec)
    else:
        yield from PolicyChoice.expand(spec)


class Part:
    """The rows of a log on which policies are evaluated, and the model of their rewards."""

    def __init__(self, rows: LogRows) -> None:
        self.rows = rows

    @functools.cached_property
    def model(self) -> CrossFittedRidge:
        """Predicts the rewards, for the estimators that need it."""
        return fit_batches(self.rows)


class Candidate:
    """A policy, and the sums of what it would have done in the rows on which it is evaluated.

    Args:
        choice: names the policy.
        policy: which learns no more.
        part: of the log.
        estimators: by name.
    """

    def __init__(
        self,
        choice: AnyPolicyChoice,
        policy: Policy,
        part: Part,
        estimators: Mapping[str, Estimator],
    ) -> None:
        self.choice = choice
        self.part = part
        self.weights = WeightHistogram.from_weights(np.zeros(0))
        self._policy = policy
        self._rng = np.random.default_rng(0)  # of the choices that are counted
        self._estimators = estimators
        self._sums: dict[str, EstimateSums] = {}
        self._means = Statistics.from_values(np.zeros(0))  # of expected rewards

    def add(self, batch: BanditLog, predicted: Floats | None) -> None:
        """Adds a batch, and the rewards predicted for it."""
        with name_in_errors(self.choice):
            samples = None if self._policy.knows_probabilities else SAMPLES
            table = logged.probabilities_of(self._policy, batch, samples, self._rng)
            for name, estimator in self._estimators.items():
                sums = estimator.sums(batch, table, predicted)
                known = self._sums.get(name)
                self._sums[name] = sums if known is None else known.merge(sums)
        taken = table[np.arange(len(batch)), batch.action]
        weights = WeightHistogram.from_weights(taken / batch.propensity)
        self.weights = self.weights.merge(weights)
        if batch.expected_rewards is not None:
            # Those of actions that are not available may be infinite.
            means = np.where(table > 0.0, batch.expected_rewards, 0.0)
            values = (table * means).sum(axis=1)
            self._means = self._means.merge(Statistics.from_values(values))

    def truth(self) -> float | str:
        """Returns the mean expected reward, or "" if the log does not know it."""
        return float(self._means.mean) if self._means.count else ""

    def estimates(self) -> Iterator[tuple[str, Estimate, list[str]]]:
        """Yields the names of the estimators, the estimates, and the reasons to distrust them."""
        for name, sums in self._sums.items():
            with warnings.catch_warnings(), name_in_errors(self.choice):
                warnings.simplefilter("ignore", UserWarning)
                yield name, sums.estimate(), sums.find_problems()


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """What is evaluated: some policies, by some estimators, on a log.

    Args:
        batches: of the log, which are passed over several times.
        summary: of the log.
        choices: of policies.
        estimators: by name.
        train_fraction: the share of the rows, from the first one, from which policies learn.
    """

    batches: Iterable[BanditLog]
    summary: LogSummary
    choices: Sequence[AnyPolicyChoice]
    estimators: Mapping[str, Estimator]
    train_fraction: float

    def run(self) -> list[Candidate]:
        """Trains the policies that learn, and evaluates all on rows that they have not seen.

        A policy that does not learn is evaluated on all rows.
        """
        size = self.summary.size
        cut = self.summary.rows_of(self.train_fraction)
        parts: dict[int, Part] = {}  # by their first rows
        candidates = []
        for choice in self.choices:
            with name_in_errors(choice):
                policy, start = self._make(choice, cut)
                if start >= size:
                    raise ValueError(f"it has learned from all {size} rows; none is left")
            part = parts.setdefault(start, Part(LogRows(self.batches, start, size)))
            candidates.append(Candidate(choice, policy, part, self.estimators))
        for part in parts.values():
            self._add_rows(part, [each for each in candidates if each.part is part])
        return candidates

    def _make(self, choice: AnyPolicyChoice, cut: int) -> tuple[Policy, int]:
        """Returns a policy that has learned, and the first row that it has not seen."""
        sample = next(iter(LogRows(self.batches, 0, self.summary.size)))
        alone = logged.ReplayEnvironment(sample)
        if isinstance(choice, SavedChoice):
            is_same = choice.saved.log == str(self.summary)
            return choice.make(alone, 0), choice.saved.rows_learned if is_same else 0
        policy = choice.make(logged.ReplayEnvironment(sample, self.summary.batch_size), 0)
        if policy.can_learn:
            return logged.learn_from_log(policy, LogRows(self.batches, 0, cut)), cut
        return choice.make(alone, 0), 0  # one row, which is shown many rows of the log at a time

    def _add_rows(self, part: Part, candidates: Sequence[Candidate]) -> None:
        """Shows the rows of a part to the policies that are evaluated on it."""
        needs_predictions = any(each.needs_predictions for each in self.estimators.values())
        first_row = 0
        for batch in align_batches(part.rows, self.summary.batch_size):
            predicted = part.model.predict(batch, first_row) if needs_predictions else None
            for candidate in candidates:
                candidate.add(batch, predicted)
            first_row += len(batch)


@contextlib.contextmanager
def name_in_errors(choice: AnyPolicyChoice) -> Iterator[None]:
    """Names the policy in the error of a user's class."""
    try:
        yield
    except Exception as error:  # users' classes raise any
        known = [choice] if isinstance(choice, PolicyChoice) else []
        raise ValueError(f"policy {choice}: {printable(error, *known)}") from error
