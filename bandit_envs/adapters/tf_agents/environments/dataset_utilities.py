"""The replacement of TF-Agents' module `dataset_utilities`."""

# TF-Agents has no types: to mypy, what comes from it is Any.
# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

import os

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from tf_agents.bandits.environments.dataset_utilities import (
    MOVIELENS_NUM_MOVIES,
    MOVIELENS_NUM_USERS,
    load_movielens_data,
)

from bandit_envs.adapters.tf_agents.gin_names import configurable
from bandit_envs.adapters.tf_agents.tfp_distributions import Distribution
from bandit_envs.datasets import Dataset, load_covertype, load_mushroom

__all__ = [
    "MOVIELENS_NUM_MOVIES",
    "MOVIELENS_NUM_USERS",
    "convert_covertype_dataset",
    "convert_mushroom_csv_to_tf_dataset",
    "load_movielens_data",
    "mushroom_reward_distribution",
]


@configurable("dataset_utilities")
def convert_mushroom_csv_to_tf_dataset(
    file_path: str | os.PathLike[str], buffer_size: int = 40000
) -> tf.data.Dataset:
    """Returns the examples of `load_mushroom`, repeated and shuffled.

    Args:
        file_path: the file agaricus-lepiota.data.
        buffer_size: the number of examples among which one is drawn.
    """
    return _repeated_and_shuffled(load_mushroom(file_path), buffer_size)


def convert_covertype_dataset(
    file_path: str | os.PathLike[str], buffer_size: int = 40000
) -> tf.data.Dataset:
    """Returns the examples of `load_covertype`, repeated and shuffled.

    Args:
        file_path: the file covtype.data.
        buffer_size: the number of examples among which one is drawn.
    """
    return _repeated_and_shuffled(load_covertype(file_path), buffer_size)


@configurable("dataset_utilities")
def mushroom_reward_distribution(
    r_noeat: float,
    r_eat_safe: float,
    r_eat_poison_bad: float,
    r_eat_poison_good: float,
    prob_poison_bad: float,
) -> Distribution:
    """Returns the rewards of mushrooms, as a distribution of TensorFlow Probability: [2, 2].

    In TF-Agents, `prob_poison_bad` is the probability of `r_eat_poison_good`.
    `bandit_envs.datasets.mushroom_rewards` are the same rewards for NumPy, and faster.
    """
    bad = tfp.distributions.Bernoulli(probs=[[0.0, prob_poison_bad], [0.0, 0.0]], dtype=tf.float32)
    gain = tfp.bijectors.Scale([[1.0, r_eat_poison_bad - r_eat_poison_good], [1.0, 1.0]])
    least = tfp.bijectors.Shift([[r_noeat, r_eat_poison_good], [r_noeat, r_eat_safe]])
    return tfp.distributions.Independent(least(gain(bad)), reinterpreted_batch_ndims=2)


def _repeated_and_shuffled(data: Dataset, buffer_size: int) -> tf.data.Dataset:
    examples = (data.contexts.astype(np.float32), data.labels.astype(np.int32))
    return tf.data.Dataset.from_tensor_slices(examples).repeat().shuffle(buffer_size)
