"""Ways to fit the models of actions: row by row, or anew on the rows of a memory."""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Floats, Indices, Mask, Rng
from bandit_envs.policies.models.ring_buffer import RingBuffer
from bandit_envs.policies.scikit_learn.model import ScikitLearnModel
from bandit_envs.policies.scikit_learn.priors import SeenRewards
from bandit_envs.policies.scikit_learn.reward_estimator import RewardEstimator, Rows


@contextlib.contextmanager
def advise_to_wait(sums: SeenRewards, model: int) -> Iterator[None]:
    """Adds to an error of the estimator of a model what to do if it has seen too little."""
    try:
        yield
    except ValueError as error:
        seen = f"if the {int(sums.counts[model])} rewards that it has seen are too few"
        raise ValueError(f"{error}; {seen}, give it a larger min_rewards") from error


class Remembered(NamedTuple):
    """A row of a model, or several."""

    model: Indices
    features: Floats
    rewards: Floats


class Memory(NamedTuple):
    """The last C rows that were learned, and what the models have learned from them.

    Fields:
        last: the rows, as `Remembered`; the model is -1 where there is no row yet.
        new_rows: [M], how many rows each model has got since it was last fitted; updated in place.
        fitted_rows: [M], how many rows it was then fitted on; updated in place.
    """

    last: RingBuffer
    new_rows: NDArray[np.int64]
    fitted_rows: NDArray[np.int64]

    @classmethod
    def initial(cls, size: int, dim: int, num_models: int) -> Memory:
        """Returns a memory of `size` rows, with none in it yet."""
        nothing = Remembered(np.full(size, -1, np.intp), np.zeros((size, dim)), np.zeros(size))
        return cls(
            last=RingBuffer(nothing, seen=0),
            new_rows=np.zeros(num_models, np.int64),
            fitted_rows=np.zeros(num_models, np.int64),
        )

    def add(self, models: Indices, rows: Rows) -> Memory:
        """Returns the memory after rows [n] of models [n]."""
        np.add.at(self.new_rows, models, 1)
        return self._replace(last=self.last.add(Remembered(models, rows.features, rows.rewards)))

    def rows_of(self, model: int) -> Rows:
        """Returns the rows of a model."""
        kept = self.last.take(np.flatnonzero(self.last.rows.model == model))
        return Rows(kept.features, kept.rewards)


class Models(NamedTuple):
    """What `Estimators` know: n replicas of each of M models. All but the estimators are arrays.

    Fields:
        estimators: replica i of model m is number m n + i.
        is_fitted: [M, n], which of them have been fitted.
        sums: of the rewards of each model.
        memory: None for models that learn each row once.
        rng: draws the weights of rows in replicas.
    """

    estimators: list[ScikitLearnModel]
    is_fitted: Mask
    sums: SeenRewards
    memory: Memory | None
    rng: Rng

    def replica(self, model: int, number: int) -> ScikitLearnModel:
        """Returns a replica of a model."""
        num_replicas: int = self.is_fitted.shape[1]
        return self.estimators[model * num_replicas + number]


class Fitting(abc.ABC):
    """A way to fit models.

    Args:
        estimator: what the models are copies of.
        num_replicas: how many replicas of each model there are. If there are several, each learns
            from rows with weights of its own.
    """

    def __init__(self, estimator: RewardEstimator, num_replicas: int) -> None:
        self._estimator = estimator
        self._num_replicas = num_replicas

    def initial(self, rng: Rng, num_models: int, dim: int) -> Models:
        """Returns models that have seen nothing, of rows with `dim` features."""
        count = num_models * self._num_replicas
        return Models(
            estimators=[ScikitLearnModel(self._estimator.new(rng)) for _ in range(count)],
            is_fitted=np.zeros((num_models, self._num_replicas), np.bool_),
            sums=SeenRewards.initial(num_models),
            memory=self._memory(num_models, dim),
            rng=rng,
        )

    @abc.abstractmethod
    def _memory(self, num_models: int, dim: int) -> Memory | None:
        """Returns an empty memory, if there is to be one."""

    @abc.abstractmethod
    def learn(self, known: Models, models: Indices, rows: Rows) -> Models:
        """Returns the models after models [n] have learned from a row each; updates in place."""


class OnlineFitting(Fitting):
    """Each model learns each of its rows once, through `partial_fit`."""

    def _memory(self, num_models: int, dim: int) -> None:
        return None

    def learn(self, known: Models, models: Indices, rows: Rows) -> Models:
        known.sums.add(models, rows.rewards)
        for model in np.unique(models).tolist():
            of_model = rows.take(np.flatnonzero(models == model))
            for number in range(self._num_replicas):
                self._learn(known, model, number, of_model)
        return known

    def _learn(self, known: Models, model: int, number: int, rows: Rows) -> None:
        """Lets one replica learn rows of its model."""
        is_first = not known.is_fitted[model, number]
        if self._num_replicas > 1:
            rows = self._estimator.resample(known.rng, rows)
            if len(rows.rewards) == 0:
                return
        self._estimator.partial_fit(known.replica(model, number).estimator, rows, is_first)
        known.is_fitted[model, number] = True


class MemoryFitting(Fitting):
    """Each model is fitted anew on its rows in a memory, when enough of them are new.

    Args:
        estimator: what the models are copies of.
        num_replicas: how many replicas of each model there are.
        size: how many rows the memory has.
        refit_after: how many new rows are enough, as a share of those of the last fit.
        min_rewards: how many rewards of each kind a model must have seen to be fitted.
    """

    def __init__(
        self,
        estimator: RewardEstimator,
        num_replicas: int,
        *,
        size: int,
        refit_after: float,
        min_rewards: int,
    ) -> None:
        super().__init__(estimator, num_replicas)
        self._size = size
        self._refit_after = refit_after
        self._min_rewards = min_rewards

    def _memory(self, num_models: int, dim: int) -> Memory:
        return Memory.initial(self._size, dim, num_models)

    def learn(self, known: Models, models: Indices, rows: Rows) -> Models:
        assert known.memory is not None
        memory = known.memory.add(models, rows)
        known.sums.add(models, rows.rewards)
        is_due = memory.new_rows >= np.maximum(1, self._refit_after * memory.fitted_rows)
        is_due &= self._estimator.have_seen(known.sums, self._min_rewards)
        for model in np.flatnonzero(is_due).tolist():
            of_model = memory.rows_of(model)
            if self._estimator.can_fit(of_model.rewards):
                self._fit(known, model, of_model)
                memory.new_rows[model] = 0
                memory.fitted_rows[model] = len(of_model.rewards)
        return known._replace(memory=memory)

    def _fit(self, known: Models, model: int, rows: Rows) -> None:
        """Fits all replicas of a model."""
        for number in range(self._num_replicas):
            own = rows
            if self._num_replicas > 1:
                drawn = self._estimator.resample(known.rng, rows)
                own = drawn if self._estimator.can_fit(drawn.rewards) else rows
            with advise_to_wait(known.sums, model):
                self._estimator.fit(known.replica(model, number).estimator, own)
            known.is_fitted[model, number] = True
