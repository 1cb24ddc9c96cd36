"""Cross-fitted ridge regressions of rewards, made of sums that merge over parts of a log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs.arrays import Floats, Indices, check_array
from bandit_envs.base.checks import check_integer
from bandit_envs.logged.columns import as_column, check_each, check_reward_range
from bandit_envs.logged.features import features_of, has_items
from bandit_envs.logged.joining import check_encodings
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.log_checks import require_numbered_actions
from bandit_envs.logged.moments import Moments, add_sums, merge_tables
from bandit_envs.logged.reward_models.ridge_regression import RidgeRegression
from bandit_envs.logged.rows.hashes import mix

NumberedBatches: TypeAlias = Iterable[tuple[int, BanditLog]]
"""Batches of a log, with the number that the first row of each has in it."""

FEWEST_FOLDS = 2
"""Folds that have rows, so that each has a model of the others."""

ONE_FOLD = "all units of log are in one fold; expected more units"


def folds_of(first_row: int, size: int, folds: int, unit: Indices | None = None) -> Indices:
    """Returns the folds of rows whose numbers begin with `first_row`: [size], from 0.

    Of every `folds` rows in a row, each is in another fold; which one depends on a hash of their
    place in the log alone. Rows of a unit are in one fold, by a hash of the unit.

    Args:
        first_row: the number of the first row.
        size: how many rows there are.
        folds: at least 2.
        unit: [size], of the rows; None if each row is a unit of its own.
    """
    number = np.uint64(check_integer("folds", folds, minimum=2))
    if unit is not None:
        last_bits = mix(unit) & np.uint64(2**24 - 1)  # blocks of units are by the first bits
        return np.asarray(last_bits % number, np.int64)
    rows = np.arange(first_row, first_row + size, dtype=np.uint64)
    folds_from_0 = (rows % number + mix(rows // number) % number) % number
    return np.asarray(folds_from_0, np.int64)


def count_rows(log: BanditLog, weights: Floats | None = None) -> Floats | None:
    """Returns by how much rows of a log count in a regression, [n]; None if all count alike.

    Args:
        log: whose rows may stand for several decisions each.
        weights: [n], by which they count beside; None for 1.
    """
    if log.weight is None or weights is None:
        return log.weight if weights is None else weights
    return np.asarray(log.weight * weights)


class RewardSums:
    """The sums of a part of a log from which cross-fitted ridge regressions are made.

    The sums of parts merge to those of the whole log, so no more than a part is in memory. Each
    action has a model of its own; but all share one if the observation has features of items.

    Args:
        folds: the number of folds, at least 2.
        moments: by fold and action, those of the features and, last, the reward. A model that all
            actions share has the action 0.
        has_units: whether folds are of units, so that some may be empty.

    Source: Chernozhukov et al., Double/debiased machine learning (2018), for cross-fitting.

    >>> log = BanditLog(np.eye(4), [0, 1, 0, 1], [1.0, 2.0, 1.0, 2.0], [0.5] * 4)
    >>> sums = RewardSums.from_log(log[:2]).merge(RewardSums.from_log(log[2:], first_row=2))
    >>> sums.fit().predict(log).shape
    (4, 2)
    """

    def __init__(
        self, folds: int, moments: Mapping[tuple[int, int], Moments], has_units: bool = False
    ) -> None:
        self._folds = folds
        self._moments = moments
        self._has_units = has_units

    @classmethod
    def from_log(
        cls, log: BanditLog, first_row: int = 0, folds: int = 3, weights: Floats | None = None
    ) -> RewardSums:
        """Returns the sums of a part of a log.

        Args:
            log: the part.
            first_row: the number of its first row in the whole log.
            folds: at least 2, and the same for all parts.
            weights: [n], by which rows count beside the weights of the log, at least 0; by default
                all are 1.
        """
        require_numbered_actions(log)
        given = None if weights is None else _check_weights(weights, len(log))
        counts = count_rows(log, given)
        features = features_of(log)
        model = log.action
        if has_items(log):
            features = features[np.arange(len(log)), log.action]
            model = np.zeros(len(log), np.int64)
        columns = np.column_stack([features, log.reward]).T
        fold = folds_of(first_row, len(log), folds, log.unit)
        moments = {}
        for rows in _group_rows(fold, model):
            key = (int(fold[rows[0]]), int(model[rows[0]]))
            weights_of_rows = None if counts is None else counts[rows]
            moments[key] = Moments.from_columns(columns[:, rows], weights_of_rows)
        return cls(folds, moments, log.unit is not None)

    @classmethod
    def from_batches(
        cls,
        part: NumberedBatches,
        folds: int = 3,
        weigh: Callable[[BanditLog], Floats] | None = None,
    ) -> RewardSums:
        """Returns the sums of a part of a log in batches.

        Args:
            part: the batches.
            folds: as for `from_log`.
            weigh: returns the weights of the rows of a batch, [n]; None for 1.
        """
        sums = cls(folds, {})
        for first_row, batch in part:
            weights = None if weigh is None else weigh(batch)
            sums = sums.merge(cls.from_log(batch, first_row, folds, weights))
        return sums

    def merge(self, other: RewardSums) -> RewardSums:
        """Returns the sums of the rows of both."""
        if self._folds != other._folds:
            raise ValueError(f"folds are {self._folds} and {other._folds}; expected one number")
        moments = merge_tables(self._moments, other._moments)
        return RewardSums(self._folds, moments, self._has_units or other._has_units)

    def fit(self) -> CrossFittedRidge:
        """Returns the models of all folds, each of the rows of the other folds.

        Raises:
            ValueError: the log has fewer rows than folds, or all units are in one fold.
        """
        rows = len({fold for fold, _ in self._moments})  # each of the first is in another fold
        if self._has_units and rows < FEWEST_FOLDS:
            raise ValueError(ONE_FOLD)
        if not self._has_units and rows < self._folds:
            raise ValueError(f"log has {rows} rows; expected at least {self._folds}, one a fold")
        return CrossFittedRidge([self._fit_without(fold) for fold in range(self._folds)])

    def _fit_without(self, test: int) -> dict[int, Floats]:
        """Returns the weights of the models, by action, of all rows but those of a fold."""
        moments: dict[int, Moments] = {}
        for (fold, model), part in self._moments.items():
            if fold != test:
                add_sums(moments, model, part)
        return {
            model: RidgeRegression().fit_moments(part).weights for model, part in moments.items()
        }


class CrossFittedRidge:
    """Ridge regressions of rewards. A row is predicted by those that have not learned from it.

    Args:
        weights: for every fold, the weights [1 + d] of the models by action, the intercept first.
            An action without a model has predictions of 0.
    """

    def __init__(self, weights: Sequence[Mapping[int, Floats]]) -> None:
        self._weights = weights

    def predict(self, log: BanditLog, first_row: int = 0) -> Floats:
        """Returns predicted rewards [n, K] of a part of a log.

        Args:
            log: the part.
            first_row: the number of its first row in the whole log.
        """
        fold = folds_of(first_row, len(log), len(self._weights), log.unit)
        predicted = np.zeros((len(log), log.num_actions))
        features = features_of(log)
        for test, models in enumerate(self._weights):
            rows = np.flatnonzero(fold == test)
            if has_items(log):
                for weights in models.values():
                    predicted[rows] = weights[0] + features[rows] @ weights[1:]
            else:
                weights = np.zeros((log.num_actions, 1 + features.shape[1]))
                weights[list(models)] = list(models.values())
                predicted[rows] = weights[:, 0] + features[rows] @ weights[:, 1:].T
        return predicted


def fit_batches(
    batches: Iterable[BanditLog],
    folds: int = 3,
    weigh: Callable[[BanditLog], Floats] | None = None,
) -> CrossFittedRidge:
    """Returns the models of a log in batches, in the order of its rows.

    Args:
        batches: of the log.
        folds: at least 2.
        weigh: as for `RewardSums.from_batches`.
    """
    return RewardSums.from_batches(number_batches(batches), folds, weigh).fit()


def number_batches(
    batches: Iterable[BanditLog], first_row: int = 0
) -> Iterator[tuple[int, BanditLog]]:
    """Yields batches, with the number of the first row of each.

    Raises:
        ValueError: they are of tables that were read apart, and have other names.
    """
    for batch in check_encodings(batches):
        yield first_row, batch
        first_row += len(batch)


def _check_weights(weights: ArrayLike, size: int) -> Floats:
    """Returns by how much rows count, [n]; ValueError if they cannot count so."""
    counts = as_column("weights", weights, ndim=1)
    check_array("weights has", counts, (size,))
    check_each("weights", counts, counts >= 0.0, "at least 0")
    return check_reward_range("weights", counts)


def _group_rows(fold: NDArray[np.int64], model: NDArray[np.int64]) -> list[NDArray[np.intp]]:
    """Returns the rows of every pair of a fold and a model that there is."""
    order = np.lexsort((model, fold))
    is_new = (np.diff(fold[order], prepend=-1) != 0) | (np.diff(model[order], prepend=-1) != 0)
    return np.split(order, np.flatnonzero(is_new))[1:]
