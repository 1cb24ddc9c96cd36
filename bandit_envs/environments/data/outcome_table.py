"""A table of what every action would have earned on every example, as a bandit."""

from __future__ import annotations

import functools
import os
import typing

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.arrays import Array, Floats, Indices, Mask, Rng, as_numbers
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment, Options
from bandit_envs.base.checks import MAX_PARAMETER, check_integer, check_number, check_table
from bandit_envs.environments.data.shown_examples import Examples, ExampleSampler, OrderedExamples
from bandit_envs.nests import Nest, map_structure, read_only_nest
from bandit_envs.seeding import split_seed
from bandit_envs.specs import ArraySpec, BoundedArraySpec
from bandit_envs.wrappers.shared import with_entries

if typing.TYPE_CHECKING:
    from bandit_envs.datasets import Outcomes


class OutcomeTableBandit(BanditPyEnvironment[Examples]):
    """A table of outcomes as a contextual bandit: choose an action for each example.

        x_t = contexts[i_t],    R_t = rewards[i_t, A_t] + N(0, noise_std^2)

    The table tells what every action would have earned, such as the score of every language model
    on every prompt. So the expected rewards, the optimum and the regret are exact. A row is a user
    of a shared problem.

    With `costs`, the reward is a vector [2] of the reward and the cost, and so are the expected
    rewards, [B, K, 2]. `wrappers.LinearScalarization` with the weights [1, -price] pays the reward
    less the price of the cost, and knows its regret. `wrappers.Budget` ends an episode when a
    budget is spent.

    Args:
        contexts: features [n, d] of n examples, or a nest of arrays [n, ...].
        rewards: [n, K], the rewards of K actions; their means, if there is noise.
        costs: [n, K], what the actions cost, at least 0. They have no noise.
        batch_size: B.
        replace: whether to draw examples with replacement. Without it, the examples of an epoch are
            drawn without replacement, and epochs go on through `reset`.
        available: [n, K] bool, the actions that each example can have; all by default. Then the
            observation is a dict with `mask`. What is not available may be NaN in the tables.
        noise_std: the standard deviation of the noise of rewards.

    Source: Agarwal et al., Taming the Monster (2014), section 1, for full tables of rewards.

    >>> prompts = [[0.0], [1.0], [1.0]]
    >>> scores = [[1.0, 0.2], [0.0, 0.9], [0.1, 1.0]]
    >>> env = OutcomeTableBandit(prompts, scores, batch_size=3, replace=False, seed=0)
    >>> time_step = env.reset()
    >>> sorted(env.step(env.optimal_action()).reward.tolist())
    [0.9, 1.0, 1.0]
    """

    skips_nan_check = True  # the tables have been checked

    names_features: bool = False
    """Whether its features have names: those of the columns of a table."""

    def __init__(
        self,
        contexts: Nest,
        rewards: ArrayLike,
        costs: ArrayLike | None = None,
        batch_size: int = 1,
        *,
        replace: bool = True,
        available: ArrayLike | None = None,
        noise_std: float = 0.0,
        **options: typing.Unpack[Options],
    ) -> None:
        self._mask = None if available is None else _check_mask(available)
        self._outcomes = _check_outcomes("rewards", rewards, self._mask)
        count, num_actions = self._outcomes.shape
        if costs is not None:
            paid = _check_outcomes("costs", costs, self._mask, low=0.0)
            if paid.shape != self._outcomes.shape:
                expected = f"that of rewards, {self._outcomes.shape}"
                raise ValueError(f"costs has shape {paid.shape}; expected {expected}")
            self._outcomes = np.stack((self._outcomes, paid), axis=-1)
        features = np.asarray(contexts) if isinstance(contexts, list) else contexts
        self._contexts = map_structure(lambda leaf: _check_features(leaf, count), features)
        self._noise_std = check_number("noise_std", noise_std, 0.0, MAX_PARAMETER)
        size = check_integer("batch_size", batch_size, minimum=1)
        self._sampler = self._make_sampler(count, size, replace)
        super().__init__(
            self._spec_of_observations(),
            num_actions=num_actions,
            reward_spec=self._spec_of_rewards(),
            batch_size=size,
            **options,
        )

    @property
    def contexts(self) -> Nest:
        """The features of all examples, in a nest of arrays [n, ...]."""
        return read_only_nest(self._contexts)

    def _make_sampler(self, count: int, batch_size: int, replace: bool) -> ExampleSampler:
        return ExampleSampler(count, batch_size, replace)

    def _spec_of_observations(self) -> Nest:
        features = map_structure(_spec_of_features, self._contexts)
        if self._mask is None:
            return features
        return with_entries(features, mask=ArraySpec(self._mask.shape[1:], np.bool_, "mask"))

    def _spec_of_rewards(self) -> ArraySpec:
        shape = self._outcomes.shape[2:]
        if self._noise_std > 0.0:
            return ArraySpec(shape, np.float64, "reward")
        low = self._outcomes.min(axis=(0, 1))
        high = self._outcomes.max(axis=(0, 1))
        return BoundedArraySpec(shape, np.float64, low, high, "reward")

    def _initial_state(self, rng: Rng) -> Examples:
        return self._sampler.draw(rng)

    def _observe(self, state: Examples) -> Nest:
        features = map_structure(lambda leaf: leaf.take(state.now, axis=0), self._contexts)
        if self._mask is None:
            return features
        return with_entries(features, mask=self._mask.take(state.now, axis=0))

    def _available(self, state: Examples) -> Mask | None:
        return None if self._mask is None else self._mask.take(state.now, axis=0)

    def _expected_rewards(self, state: Examples) -> Array:
        return self._outcomes.take(state.now, axis=0)

    def _draw_rewards(self, rng: Rng, state: Examples, action: Indices) -> Array:
        outcomes = self._outcomes[state.now, action]
        if self._noise_std > 0.0:
            noise = self._noise_std * rng.standard_normal(self._batch_size)
            outcomes.reshape(self._batch_size, -1)[:, 0] += noise
        return outcomes

    def _next_state(self, rng: Rng, state: Examples, action: Indices) -> Examples:
        return self._sampler.draw(rng, state.rest)

    def _next_episode(self, rng: Rng, state: Examples) -> Examples:
        return self._sampler.draw(rng, state.rest)


class OutcomeStream(OutcomeTableBandit):
    """A table of outcomes in its order, as a log of traffic: each example once in an episode.

    Step t shows the examples t B to (t + 1) B - 1. After the last one, the episode ends, and a
    reset returns to the first. So `horizon` is n / B, or smaller.

    Args:
        contexts: features [n, d] of n examples, or a nest of arrays [n, ...].
        rewards: [n, K], as for `OutcomeTableBandit`.
        costs: [n, K], as for `OutcomeTableBandit`.
        batch_size: B, which divides n.
        available: [n, K] bool. Actions that appear or retire over time are available in some of the
            rows only.
        noise_std: the standard deviation of the noise of rewards.

    >>> env = OutcomeStream([[1.0], [2.0]], [[1.0, 0.0], [0.0, 5.0]])
    >>> env.reset().observation.item(), env.step([0]).observation.item(), env.horizon
    (1.0, 2.0, 2)
    """

    def __init__(
        self,
        contexts: Nest,
        rewards: ArrayLike,
        costs: ArrayLike | None = None,
        batch_size: int = 1,
        *,
        available: ArrayLike | None = None,
        noise_std: float = 0.0,
        **options: typing.Unpack[Options],
    ) -> None:
        steps = len(np.asarray(rewards)) // check_integer("batch_size", batch_size, minimum=1)
        horizon = options.pop("horizon", None)
        options["horizon"] = (
            steps if horizon is None else check_integer("horizon", horizon, 1, steps)
        )
        super().__init__(
            contexts,
            rewards,
            costs,
            batch_size,
            available=available,
            noise_std=noise_std,
            **options,
        )

    def _make_sampler(self, count: int, batch_size: int, replace: bool) -> ExampleSampler:
        if count % batch_size:
            raise ValueError(f"batch_size is {batch_size}; expected a divisor of {count} examples")
        return OrderedExamples(count, batch_size)

    def _next_episode(self, rng: Rng, state: Examples) -> Examples:
        return self._initial_state(rng)


def _check_outcomes(
    name: str, outcomes: ArrayLike, mask: Mask | None, low: float = -MAX_PARAMETER
) -> Floats:
    """Returns a table of outcomes [n, K], with 0 for what is not available.

    Raises:
        TypeError, ValueError: it is not such a table, or has NaN, infinite or too small numbers.
    """
    table = np.array(as_numbers(f"{name} is", outcomes), np.float64)
    if table.ndim != 2 or not table.size:
        raise ValueError(f"{name} has shape {table.shape}; expected (n, K), n and K at least 1")
    if mask is None:
        return check_table(name, table, 2, low)
    if mask.shape != table.shape:
        raise ValueError(f"available has shape {mask.shape}; expected {table.shape}, as {name}")
    return check_table(name, np.where(mask, table, 0.0), 2, low)


def _check_mask(available: ArrayLike) -> Mask:
    """Returns a mask [n, K] with an action for each example."""
    mask = np.array(available)
    if mask.dtype != np.bool_ or mask.ndim != 2:
        found = f"dtype {mask.dtype} and shape {mask.shape}"
        raise ValueError(f"available has {found}; expected bool and (n, K)")
    has_action = mask.any(axis=1)
    if not has_action.all():
        raise ValueError(f"available has no action for example {has_action.argmin()}")
    return mask


def _check_features(contexts: ArrayLike, count: int) -> Array:
    """Returns features [n, ...] of `count` examples; those of float64 become float32."""
    features = as_numbers("contexts is", contexts)
    if features.ndim < 2 or len(features) != count:
        raise ValueError(f"contexts has shape {features.shape}; expected ({count}, d)")
    if not np.isfinite(features).all():
        row = np.argwhere(~np.isfinite(features))[0][0]
        raise ValueError(f"contexts has NaN or infinite entries, first in example {row}")
    return features.astype(np.float32) if features.dtype.kind == "f" else features.copy()


def _spec_of_features(features: Array) -> ArraySpec:
    return ArraySpec(features.shape[1:], features.dtype, "observation")


def _draw_outcomes(rng: Rng) -> tuple[Array, Floats, Floats]:
    """Draws 1,000 prompts, and the scores and the costs of five models that answer them.

    Larger models cost more and know more, but not of everything: [1000, 6], [1000, 5], [1000, 5].
    """
    topics = rng.standard_normal((1000, 6)).astype(np.float32)
    skills = rng.standard_normal((6, 5))
    sizes = np.arange(5)
    logits = topics @ skills + 0.5 * (sizes - 1.0)
    scores = (rng.random(logits.shape) < 1.0 / (1.0 + np.exp(-logits))).astype(np.float64)
    lengths = rng.gamma(4.0, 0.25, (1000, 1))
    return topics, scores, 0.01 * 2.0**sizes * lengths


def outcomes(
    path: str = "",
    *,
    features: str = "",
    reward: str = "",
    cost: str = "",
    example: str = "",
    action: str = "",
    price: float = 0.0,
    drop_missing: bool = False,
    batch_size: int = 32,
    **options: typing.Unpack[Options],
) -> OutcomeTableBandit:
    """Outcomes of every action, from a table of your own: what they earn, less what they cost.

        R_t = reward - price * cost

    Args:
        path: of a CSV or Parquet file; by default, synthetic scores of five language models on
            1,000 prompts, drawn from `seed`.
        features: columns of features, or patterns such as "e*", joined by commas, as for
            `datasets.read_outcomes`.
        reward: columns of rewards.
        cost: columns of costs, or a pattern such as "{}_cost".
        example: of a table with a line for each outcome, the column that tells examples apart.
        action: of such a table, the column of the names of actions.
        price: of a unit of cost, in units of the reward.
        drop_missing: whether to drop lines with missing values.
        batch_size: B.
    """
    rng, options["seed"] = split_seed(options.get("seed"))
    worth = check_number("price", price, 0.0, MAX_PARAMETER)
    if example and not action:
        problem = "has no effect in a table of one line for each example"
        raise ValueError(f"example is {example!r}, which {problem}; expected action, too")
    if path:
        modified = os.stat(path).st_mtime_ns
        table = _read_outcomes(
            path,
            modified,
            features=features,
            reward=reward,
            cost=cost,
            example=example,
            action=action,
            drop_missing=drop_missing,
        )
        contexts = table.contexts
        paid = table.rewards
        spent = table.costs
        available = table.available
    elif features or reward or cost or example or action:
        raise ValueError("path is empty, but columns are named; expected the path of their table")
    else:
        contexts, paid, spent = _draw_outcomes(rng)
        available = None
    if spent is not None:
        paid = paid - worth * spent
    elif worth > 0.0:
        raise ValueError(f"price is {worth:g}, but cost names no columns")
    env = OutcomeTableBandit(
        contexts, paid, batch_size=batch_size, replace=False, available=available, **options
    )
    env.names_features = bool(path)
    return env


@functools.lru_cache(maxsize=1)
def _read_outcomes(
    path: str,
    modified: int,
    *,
    features: str,
    reward: str,
    cost: str,
    example: str,
    action: str,
    drop_missing: bool,
) -> Outcomes:
    """Returns the table in a file, which was `modified` then: a study reads it once a process."""
    from bandit_envs.datasets import read_outcomes  # noqa: PLC0415 - the package starts without it

    return read_outcomes(
        path,
        features=_columns(features),
        reward=_columns(reward),
        cost=_columns(cost) or None,
        example=example or None,
        action=action or None,
        drop_missing=drop_missing,
    )


def _columns(names: str) -> list[str]:
    """Returns the columns in a text with commas."""
    return [name.strip() for name in names.split(",") if name.strip()]
