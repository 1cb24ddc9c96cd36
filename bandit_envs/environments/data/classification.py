"""A data set of labelled examples as a contextual bandit."""

from __future__ import annotations

import typing
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs.arrays import Array, Indices, Rng, read_only
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment, Options
from bandit_envs.base.checks import check_numbers, check_table, short_repr
from bandit_envs.environments.data.shown_examples import Examples, ExampleSampler
from bandit_envs.rewards import RewardDistribution, as_distribution
from bandit_envs.rewards.item_models import CLICK_SPEC
from bandit_envs.specs import ArraySpec


class ClassificationBandit(BanditPyEnvironment[Examples]):
    """A data set as a contextual bandit: see features, and guess the label.

        (x_t, y_t) ~ the data set,    R_t = 1 if A_t = y_t, else 0

    With a `reward_distribution`, R_t is drawn from that of label y_t and action A_t instead. A row
    is a user of a shared problem. The examples of an epoch are drawn without replacement; epochs go
    on through `reset`.

    Args:
        contexts: features [n, d] of n examples, of which a float32 copy is kept.
        labels: [n], integers from 0 to C - 1; `datasets.Dataset` has them.
        reward_distribution: a `rewards.RewardDistribution` with parameters [C, K], or a table of
            distributions: C sequences of K. Without it, K is C.
        batch_size: B.
        replace: whether to draw examples with replacement.

    Source: Dudik, Langford & Li (2011), section 5; TF-Agents' `ClassificationBanditEnvironment`.

    >>> env = ClassificationBandit([[0.0], [1.0], [2.0]], [0, 1, 1], batch_size=3, seed=0)
    >>> time_step = env.reset()
    >>> env.step(env.optimal_action()).reward
    array([1., 1., 1.], dtype=float32)
    """

    def __init__(
        self,
        contexts: ArrayLike,
        labels: ArrayLike,
        reward_distribution: Any = None,
        batch_size: int = 1,
        *,
        replace: bool = False,
        **options: typing.Unpack[Options],
    ) -> None:
        features = check_table("contexts", contexts, ndim=2).astype(np.float32)
        classes = check_numbers("labels", labels, ndim=1)
        if len(classes) != len(features):
            raise ValueError(f"labels has length {len(classes)}; expected {len(features)}")
        if classes.dtype.kind not in "iu" or classes.min() < 0:
            raise ValueError(f"labels is {short_repr(labels)}; expected integers from 0")
        num_labels = int(classes.max()) + 1
        self._contexts = features
        self._labels: Indices = classes.astype(np.intp)
        self._sampler = ExampleSampler(len(features), batch_size, replace)
        self._distribution: RewardDistribution | None = None
        self._means: Array = np.eye(num_labels, dtype=np.float32)
        reward_spec: ArraySpec = CLICK_SPEC
        if reward_distribution is not None:
            self._distribution = _check_distribution(reward_distribution, num_labels)
            self._means = self._distribution.mean
            reward_spec = self._distribution.spec
        super().__init__(
            ArraySpec(features.shape[1:], np.float32, "observation"),
            num_actions=self._means.shape[1],
            reward_spec=reward_spec,
            batch_size=batch_size,
            **options,
        )

    @property
    def contexts(self) -> NDArray[np.float32]:
        """The features of all examples: [n, d]."""
        return read_only(self._contexts)

    def _initial_state(self, rng: Rng) -> Examples:
        return self._sampler.draw(rng)

    def _observe(self, state: Examples) -> NDArray[np.float32]:
        return self._contexts.take(state.now, axis=0)

    def _expected_rewards(self, state: Examples) -> Array:
        return np.asarray(self._means.take(self._labels.take(state.now), axis=0))

    def _draw_rewards(self, rng: Rng, state: Examples, action: Indices) -> Array:
        labels = self._labels.take(state.now)
        if self._distribution is None:
            return np.asarray(labels == action)
        return self._distribution.draw(rng, action, row=labels)

    def _next_state(self, rng: Rng, state: Examples, action: Indices) -> Examples:
        return self._sampler.draw(rng, state.rest)

    def _next_episode(self, rng: Rng, state: Examples) -> Examples:
        return self._sampler.draw(rng, state.rest)


def _check_distribution(distribution: Any, num_labels: int) -> RewardDistribution:
    """Returns the distribution of rewards if it has finite means [C, K] for all labels."""
    checked = as_distribution("reward_distribution", distribution)
    means = checked.mean
    if means.ndim != 2 or len(means) < num_labels or not np.isfinite(means).all():
        expected = f"finite means [C, K] for {num_labels} labels"
        raise ValueError(f"reward_distribution has means {means.shape}; expected {expected}")
    return checked


def classification(
    data: str = "digits", batch_size: int = 32, **options: typing.Unpack[Options]
) -> ClassificationBandit:
    """A data set of scikit-learn as a bandit, with standardized features and a constant one.

    Args:
        data: "digits", images with 64 features and 10 labels; "wine", analyses with 13 and 3; or
            "breast_cancer", diagnoses with 30 and 2.
        batch_size: B.
        options: `seed`, `horizon` and `name`.
    """
    from bandit_envs import datasets  # noqa: PLC0415 - the package starts without it

    load = {
        "digits": datasets.load_digits,
        "wine": datasets.load_wine,
        "breast_cancer": datasets.load_breast_cancer,
    }
    if data not in load:
        raise ValueError(f"data is {short_repr(data)}; expected one of {', '.join(load)}")
    examples = load[data]()
    features = examples.standardized().contexts
    contexts = np.column_stack([features, np.ones(len(features))])
    return ClassificationBandit(contexts, examples.labels, batch_size=batch_size, **options)
