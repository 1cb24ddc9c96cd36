"""The replacement of TF-Agents' bandit of labelled data."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from bandit_envs.adapters.tf_agents.gin_names import configurable
from bandit_envs.adapters.tf_agents.numpy_calls import as_it_is
from bandit_envs.adapters.tf_agents.tf_environment import BanditTFPyEnvironment
from bandit_envs.adapters.tf_agents.tfp_distributions import (
    Distribution,
    DistributionRewards,
    check_distribution,
)
from bandit_envs.arrays import Array, Floats, Indices, Rng
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment
from bandit_envs.base.memo import Cache
from bandit_envs.rewards import RewardDistribution
from bandit_envs.seeding import Seed
from bandit_envs.specs import ArraySpec

BYTES_AHEAD = 2**20
"""The bytes of contexts that are read ahead, at most, unless one batch has more."""

BATCHES_AHEAD = 64
"""The batches that are read ahead, at most."""


class _StreamState(NamedTuple):
    """The examples that the rows see, and how many batches were read so far."""

    contexts: Array  # [B, ...]
    labels: Indices  # [B]
    position: int


class _Batches(Cache):
    """The batches of a data set by their positions: many are read at once, as a read takes long.

    Args:
        batches: yields contexts [B, ...] and labels, [B] or [B, 1].
        num_ahead: how many are read at once.
        name: of the environment, for messages.
    """

    def __init__(self, batches: tf.data.Dataset, num_ahead: int, name: str) -> None:
        self._batches = batches
        self._num_ahead = num_ahead
        self._name = name
        self._start = 0  # the position of the first batch that was read last
        self._read: list[tuple[Array, Array]] = []
        self._unread: Iterator[tuple[Array, Array]] = iter(())

    def at(self, position: int) -> tuple[Array, Array]:
        """Returns the batch at a position. Position 0, and one that has passed, reads anew.

        Raises:
            tf.errors.OutOfRangeError: the data set has ended.
        """
        if position == 0 or not self._start <= position < self._start + len(self._read):
            self._read_from(position)
        return self._read[position - self._start]

    def _read_from(self, position: int) -> None:
        if position == 0 or position != self._start + len(self._read):
            blocks = self._batches.skip(position).batch(self._num_ahead)
            self._unread = blocks.as_numpy_iterator()
        block = next(self._unread, None)
        if block is None:
            message = f"the data set of {self._name} has ended; see repeat_dataset"
            raise tf.errors.OutOfRangeError(None, None, message)
        self._read = list(zip(*block))
        self._start = position


class _StreamedClassificationBandit(BanditPyEnvironment[_StreamState]):
    """A bandit of labelled examples that a `tf.data.Dataset` yields in its own order.

    A saved state repeats the run if the data set yields the same examples each time it is read.

    Args:
        batches: yields contexts [B, ...] and labels, [B] or [B, 1].
        rewards: with means [C, K].
        batch_size: B.
        seed: of the draws of rewards.
        name: the environment's name.
    """

    def __init__(
        self,
        batches: tf.data.Dataset,
        rewards: RewardDistribution,
        batch_size: int,
        seed: Seed,
        name: str | None,
    ) -> None:
        context_spec = batches.element_spec[0]
        seen = ArraySpec(tuple(context_spec.shape[1:]), context_spec.dtype.as_numpy_dtype)
        super().__init__(
            seen,
            rewards.mean.shape[1],
            rewards.spec,
            batch_size=batch_size,
            seed=seed,
            name=name,
        )
        self._batches = _Batches(batches, _num_ahead(seen, batch_size), self._name)
        self._rewards = rewards

    def _state_owner(self) -> str:
        return "ClassificationBanditEnvironment"

    def _initial_state(self, rng: Rng) -> _StreamState:
        return self._read(0)

    def _next_episode(self, rng: Rng, state: _StreamState) -> _StreamState:
        return self._read(state.position)

    def _observe(self, state: _StreamState) -> Array:
        return state.contexts

    def _expected_rewards(self, state: _StreamState) -> Array:
        return np.asarray(self._rewards.mean[state.labels])

    def _draw_rewards(self, rng: Rng, state: _StreamState, action: Indices) -> Array:
        return self._rewards.draw(rng, action, state.labels)

    def _next_state(self, rng: Rng, state: _StreamState, action: Indices) -> _StreamState:
        return self._read(state.position)

    def _read(self, position: int) -> _StreamState:
        contexts, labels = self._batches.at(position)
        return _StreamState(contexts, labels.reshape(self.batch_size).astype(np.intp), position + 1)


@configurable("classification_environment")
class ClassificationBanditEnvironment(BanditTFPyEnvironment):
    """The replacement of TF-Agents' `ClassificationBanditEnvironment`.

    As there, actions may be [B, 1]. Up to 64 batches of the data set are read ahead, but at most
    1 MiB of contexts unless one batch has more.

    Args:
        dataset: yields a context and a label.
        reward_distribution: of TensorFlow Probability, with event shape [C, K], or a
            `RewardDistribution` with parameters [C, K]: the reward of action k for label c.
        batch_size: B.
        label_dtype_cast: not needed here, as labels of any integer dtype are taken.
        shuffle_buffer_size: the number of examples among which one is drawn; None for the order of
            the data set.
        repeat_dataset: whether to start again where the data set ends.
        prefetch_size: the number of batches that TensorFlow prepares; None for none.
        seed: of the shuffle, and of the draws of rewards.
        name: the environment's name.
    """

    def __init__(  # noqa: PLR0917 - the positional order of TF-Agents
        self,
        dataset: tf.data.Dataset,
        reward_distribution: Distribution | RewardDistribution,
        batch_size: int,
        label_dtype_cast: tf.DType | None = None,
        shuffle_buffer_size: int | None = None,
        repeat_dataset: bool | None = True,
        prefetch_size: int | None = None,
        seed: int | None = None,
        name: str | None = "classification",
    ) -> None:
        rewards = _rewards_of(reward_distribution)
        if not isinstance(dataset.element_spec, tuple) or len(dataset.element_spec) != 2:
            raise ValueError(f"Dataset must have exactly two outputs; got {dataset.element_spec}")
        if shuffle_buffer_size:
            dataset = dataset.shuffle(
                buffer_size=shuffle_buffer_size, seed=seed, reshuffle_each_iteration=True
            )
        if repeat_dataset:
            dataset = dataset.repeat()
        batches = dataset.batch(batch_size, drop_remainder=True)
        if prefetch_size:
            batches = batches.prefetch(prefetch_size)
        self._streamed = _StreamedClassificationBandit(batches, rewards, batch_size, seed, name)
        super().__init__(self._streamed)

    def _taken(self, spec: tf.TensorSpec, action: tf.Tensor) -> tf.Tensor:
        given = tf.convert_to_tensor(action)
        if given.shape.rank != 1:
            given = tf.reshape(given, [self.batch_size])
        return super()._taken(spec, given)

    @as_it_is
    def compute_optimal_reward(self) -> tf.Tensor:
        """Returns the largest mean of the rewards at the last step, or now before it: [B]."""

        def largest() -> Array:
            return np.asarray(self._means_of_last_step().max(axis=1))

        return self._clock.run_for_rows(largest, [], tf.float32)

    @as_it_is
    def compute_optimal_action(self) -> tf.Tensor:
        """Returns the action with the largest mean at the last step, or now before it: [B]."""

        def best() -> Array:
            return np.asarray(self._means_of_last_step().argmax(axis=1))

        return self._clock.run_for_rows(best, [], tf.int32)

    def _means_of_last_step(self) -> Floats:
        met = self._streamed.means_met()
        means = self._streamed.means_now() if met is None else met.means
        return np.asarray(means.table, np.float64)


def _num_ahead(context_spec: ArraySpec, batch_size: int) -> int:
    """Returns how many batches of contexts are read at once."""
    bytes_of_batch = batch_size * math.prod(context_spec.shape) * context_spec.dtype.itemsize
    return max(1, min(BATCHES_AHEAD, BYTES_AHEAD // max(1, bytes_of_batch)))


def _rewards_of(distribution: Distribution | RewardDistribution) -> RewardDistribution:
    """Returns rewards with means [C, K], or raises TypeError or ValueError."""
    if isinstance(distribution, RewardDistribution):
        shape = distribution.mean.shape
    else:
        shape = check_distribution("reward_distribution", distribution).event_shape
    if len(shape) != 2:
        expected = "reward_distribution must have event shape of rank 2"
        raise ValueError(f"{expected}; got event shape {tuple(shape)}")
    if isinstance(distribution, RewardDistribution):
        return distribution
    return DistributionRewards(distribution)
