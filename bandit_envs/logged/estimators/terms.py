"""What each row adds to an estimate."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

import numpy as np

from bandit_envs.arrays import Floats, Indices
from bandit_envs.logged.estimators.estimate import EstimateSums, Main
from bandit_envs.logged.estimators.sums.ratio_sums import (
    FEW_SLOTS,
    MeanSums,
    RatioSums,
    count_columns,
)
from bandit_envs.logged.estimators.sums.unlogged_actions import ActionSums
from bandit_envs.logged.estimators.sums.weight_sums import WeightSums
from bandit_envs.logged.intervals.blocks import RowBlocks
from bandit_envs.logged.intervals.influence import InfluenceSums
from bandit_envs.logged.intervals.tails import TailSums
from bandit_envs.metrics.statistics import Statistics


@dataclasses.dataclass(frozen=True)
class Terms:
    """What each of n rows adds to an estimate.

        value = mean(direct) + mean(weighted) / mean(normaliser)

    Where rows stand for several decisions each, all means count them so. They are ratios then,
    each by a mean of its own: of `counts`, or of `counts` times the normaliser.

    Args:
        direct: [n], what the policy earns by the predicted rewards; zeros without predictions.
        weighted: [n], weighted rewards, or weighted errors of the predictions; or [S, n], of slots
            each of which is divided by the mean of its own normaliser.
        weights: [S, n], of S slots, before any change; S is 1 except for slates.
        normaliser: the weights of a self-normalised estimator, as `weighted`; None for ones.
        left_out: [n], what a change of the weights takes from `weighted`; None for nothing.
        actions: which actions the log has, and the policy takes; None for slates and items.
        estimator: names what made the terms, with its parameters; "" if it is not known.
        expected_squares: [n], the expected square of a row's weight before its action was drawn;
            None if the log has not all probabilities of the logging policy.
        unchanged: [1 + 2 S, n], of a self-normalised estimator that changes the weights: the
            columns of the one that does not; None if they are the same.
        free: [1 + 2 F, n], of an estimator that assumes something of how rewards arise: the columns
            of a self-normalised one that does not; None if that is not known, or the same.
        compared: [1 + 2 (1 + S), n], the columns by which `RatioSums.compare_first` tests what is
            assumed; None if it cannot be tested.
        assumption: what a warning says if the test refutes it.
        has_bandwidth: whether what is left out is by a bandwidth: the difference to the estimate
            that is extrapolated to a bandwidth of 0.
        needs_equal_weights: whether the estimate is refused if weights above 0 differ, where the
            normaliser counts these.
        unit: [n], the unit of each row, such as a user; None if each row is a unit of its own.
        counts: [n], how many decisions each row stands for; None for one. The other arrays are as
            if it were one.
    """

    direct: Floats
    weighted: Floats
    weights: Floats
    normaliser: Floats | None = None
    left_out: Floats | None = None
    actions: ActionSums | None = None
    estimator: str = ""
    expected_squares: Floats | None = None
    unchanged: Floats | None = None
    free: Floats | None = None
    compared: Floats | None = None
    assumption: str = "what it assumes of rewards seems wrong"
    has_bandwidth: bool = False
    needs_equal_weights: bool = False
    unit: Indices | None = None
    counts: Floats | None = None

    def __len__(self) -> int:
        return len(self.direct)

    def columns(self) -> Floats:
        """Returns the totals of the rows [1, n], or, with a normaliser, all terms [1 + 2 S, n].

        With counts, these are the terms of ratios.
        """
        if self.normaliser is None:
            return self._count((self.direct + self.weighted)[np.newaxis])
        return self._count(np.vstack([self.direct, self.weighted, self.normaliser]))

    def _count(self, columns: Floats) -> Floats:
        """Returns columns [1 + 2 S, n] in which rows count as often as they should."""
        return columns if self.counts is None else count_columns(columns, self.counts)

    def sums(self, first_row: int | Indices = 0) -> EstimateSums:
        """Returns the sums over the rows, which merge with those of other rows.

        Args:
            first_row: the number of the first row in the whole log, or the numbers of all rows, by
                which rows without units belong to the blocks of `Estimate.interval`.
        """
        blocks = RowBlocks.of(first_row, len(self), self.unit)
        main, unbiased = self._sum_columns(blocks)
        return EstimateSums(
            main=main,
            weights=WeightSums.from_weights(
                self.weights, blocks, self.expected_squares, self.counts
            ),
            tail=TailSums.from_values(self._sizes()),
            unbiased=unbiased,
            left_out=self._sum_left_out(),
            free=self._sum_ratios(self.free, blocks),
            compared=self._sum_compared(blocks),
            assumption=self.assumption,
            actions=self.actions,
            estimator=self.estimator,
            has_bandwidth=self.has_bandwidth,
            needs_equal_weights=self.needs_equal_weights,
        )

    def sums_of_all(self, first_row: int | Indices = 0) -> EstimateSums:
        """Returns the sums over the rows of a whole log, whose intervals need no other pass.

        Those of a part must not be merged: how far its rows move a ratio of many slots depends on
        the other rows.

        Args:
            first_row: as for `sums`.
        """
        sums = self.sums(first_row)
        is_known = sums.influence_sums() is not None or self.unit is not None
        if is_known or isinstance(sums.main, MeanSums):
            return sums
        influence = sums.main.influence(self.columns())
        values = sums.main.value() + (influence - influence.mean())
        return dataclasses.replace(sums, unbiased=InfluenceSums.from_values(values, first_row))

    def _sum_columns(self, blocks: RowBlocks) -> tuple[Main, InfluenceSums | RatioSums | None]:
        """Returns the sums of the estimate, and of the one without a change of the weights."""
        columns = self.columns()
        if self.normaliser is not None:
            return self._sum_counted(columns, blocks), self._sum_ratios(self.unchanged, blocks)
        totals = (self.direct + self.weighted)[np.newaxis]
        unchanged = totals if self.left_out is None else totals + self.left_out
        if self.counts is None and not blocks.are_units:
            return MeanSums.from_columns(columns), InfluenceSums.from_columns(unchanged, blocks)
        unbiased = None if self.left_out is None else self._sum_ratios(unchanged, blocks)
        return self._sum_counted(columns, blocks), unbiased

    def _sum_counted(self, columns: Floats, blocks: RowBlocks) -> RatioSums:
        """Returns the sums of ratios, of which counts take one more slot."""
        slots = FEW_SLOTS + (self.counts is not None)
        return RatioSums.from_columns(columns, blocks, slots)

    def _sum_left_out(self) -> Statistics | None:
        """Returns what a change of the weights takes from the rows of a mean; None of ratios."""
        if self.left_out is None or self.counts is not None:
            return None
        return Statistics.from_values(self.left_out)

    def _sum_ratios(self, columns: Floats | None, blocks: RowBlocks) -> RatioSums | None:
        """Returns the sums of ratios of columns [1 + 2 S, n]; None without columns."""
        if columns is None:
            return None
        return self._sum_counted(self._count(columns), blocks)

    def _sum_compared(self, blocks: RowBlocks) -> RatioSums | None:
        """Returns the sums that test what is assumed; None if that cannot be tested."""
        if self.compared is None:
            return None
        counts = 1.0 if self.counts is None else self.counts
        return RatioSums.from_columns(self.compared * counts, blocks)

    def _sizes(self) -> Floats:
        """Returns the sizes of weighted rewards, or errors, before any change of weights: [n]."""
        weighted = self.weighted if self.weighted.ndim == 1 else self.weighted.sum(axis=0)
        sizes = np.abs(weighted if self.left_out is None else weighted + self.left_out)
        return sizes if self.counts is None else np.asarray(sizes * self.counts)


def sum_terms(parts: Iterable[Terms]) -> Iterator[EstimateSums]:
    """Yields the sums of all parts of a log, in order."""
    first_row = 0
    for terms in parts:
        yield terms.sums(first_row)
        first_row += len(terms)
