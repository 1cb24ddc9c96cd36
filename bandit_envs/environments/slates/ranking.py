"""Contextual bandits whose actions are slates: ordered lists of items."""

from __future__ import annotations

import functools
import typing

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandit_envs.arrays import Array, Floats, Indices, Rng, take_actions
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment, Options
from bandit_envs.base.checks import check_integer, check_number, check_table
from bandit_envs.base.slates import best_slate
from bandit_envs.environments.contexts.new_contexts import (
    ITEM_NAMES,
    NewContexts,
    Observation,
    UsersAndItems,
)
from bandit_envs.nests import Nest
from bandit_envs.rewards.item_models import CLICK_SPEC
from bandit_envs.sampling import Normal, SamplingFunction
from bandit_envs.seeding import Seed, split_seed
from bandit_envs.specs import ArraySpec, BoundedArraySpec, SlateSpec

SCORES = "scores_weight_matrix"
LOWEST_SCORE = -100.0
"""If all scores of a row are below, their sigmoids may underflow."""


class FeedbackModel:
    """What the reward tells of a click.

    >>> FeedbackModel.CASCADING
    1
    """

    UNKNOWN = 0
    CASCADING = 1
    SCORE_VECTOR = 2


class ClickModel:
    """How a user chooses from a slate.

    >>> ClickModel.DISTANCE_BASED
    2
    """

    UNKNOWN = 0
    GHOST_ACTIONS = 1
    DISTANCE_BASED = 2


class RankingPyEnvironment(NewContexts, BanditPyEnvironment[Observation]):
    """A user sees a slate of items and clicks on one of them, or on none. Rows share the problem.

        x ~ global_sampling_fn,   z_j ~ item_sampling_fn,   s_j = z_j' M x
        P(click on j) = sigmoid(u_j) / sum_i sigmoid(u_i),   u_i ~ N(s_i, 1)    (GHOST_ACTIONS)

    The sum is over the items of the slate and one ghost for each feature of an item, which is a
    unit vector; a click on a ghost counts as no click. With `DISTANCE_BASED`, the item with the
    largest score s_j is clicked if it reaches `distance_threshold`; with `real_cascade`, it is the
    first that reaches it. The expected reward of a slate is the probability of a click. That of
    ghosts is an integral, which is computed numerically to about four digits.

    The reward is a dict of `chosen_index` and `chosen_value` (`CASCADING`; the index is S if there
    is no click), or a vector with a 1 at the slot clicked (`SCORE_VECTOR`). Every step has new
    users and items. The observation is a dict: `global` [B, G] and `per_arm` [B, K, P].

    Args:
        global_sampling_fn: a `ContextSampler`, or a function that returns one context [G].
        item_sampling_fn: the same for an item: [P].
        num_items: K.
        num_slots: S. The action is [B, S].
        scores_weight_matrix: M, [P, G].
        feedback_model: what the reward tells, of `FeedbackModel`.
        click_model: how the user chooses, of `ClickModel`.
        real_cascade: for `DISTANCE_BASED`, whether the first item that reaches the threshold is
            clicked, in place of the one with the largest score.
        distance_threshold: for `DISTANCE_BASED`, the smallest score that is clicked.
        batch_size: B.

    Source: TF-Agents' `RankingPyEnvironment`, whose signature is kept; there, a slate may show an
    item twice.

    >>> from bandit_envs.sampling import Normal
    >>> env = RankingPyEnvironment(Normal(2), Normal(3), 9, 4, np.ones((3, 2)), batch_size=2)
    >>> time_step = env.reset()
    >>> env.step(env.optimal_action()).reward["chosen_index"].shape
    (2,)
    """

    skips_nan_check = True  # the samplers check the contexts

    def __init__(  # noqa: PLR0917 - the positional order of TF-Agents
        self,
        global_sampling_fn: SamplingFunction,
        item_sampling_fn: SamplingFunction,
        num_items: int,
        num_slots: int,
        scores_weight_matrix: ArrayLike,
        feedback_model: int = FeedbackModel.CASCADING,
        click_model: int = ClickModel.GHOST_ACTIONS,
        real_cascade: bool = False,
        distance_threshold: float | None = None,
        batch_size: int = 1,
        name: str | None = "ranking_environment",
        *,
        seed: Seed = None,
        horizon: int | None = None,
    ) -> None:
        check_integer("num_items", num_items, minimum=1)
        self._contexts = UsersAndItems(ITEM_NAMES, global_sampling_fn, item_sampling_fn, num_items)
        self._num_slots = check_integer("num_slots", num_slots, 1, num_items)
        self._matrix = check_table(SCORES, scores_weight_matrix, ndim=2)
        expected = (*self._contexts.items.spec.shape, *self._contexts.users.spec.shape)
        if self._matrix.shape != expected:
            raise ValueError(f"{SCORES} has shape {self._matrix.shape}; expected {expected}")
        if click_model not in (ClickModel.GHOST_ACTIONS, ClickModel.DISTANCE_BASED):
            raise NotImplementedError(f"click_model is {click_model}; expected one of ClickModel")
        self._has_ghosts = click_model == ClickModel.GHOST_ACTIONS
        self._threshold = 0.0
        if not self._has_ghosts:
            self._threshold = check_number("distance_threshold", distance_threshold)
        self._is_cascade = bool(real_cascade)
        super().__init__(
            self._contexts.spec,
            reward_spec=_make_reward_spec(feedback_model, num_slots),
            action_spec=SlateSpec.of(num_slots, num_items),
            batch_size=batch_size,
            seed=seed,
            horizon=horizon,
            name=name,
        )

    def _initial_state(self, rng: Rng) -> Observation:
        return self._contexts.draw(rng, self._batch_size)

    def _draw_rewards(self, rng: Rng, state: Observation, action: Indices) -> Nest:
        taste = self._taste(state)
        scores = _multiply(take_actions(state["per_arm"], action), taste)
        if self._has_ghosts:
            index = self._draw_ghost_clicks(rng, scores, taste)
        else:
            index = self._find_clicks(scores)
        value = (index < self._num_slots).astype(np.float32)
        if isinstance(self._reward_spec, ArraySpec):
            return self._cascading_to_scorevector(index, value)
        return {"chosen_index": index.astype(np.int32), "chosen_value": value}

    def _draw_ghost_clicks(self, rng: Rng, scores: Floats, ghosts: Floats) -> Indices:
        """Draws the slot that is clicked, for scores [B, S] and [B, P]: [B]; S for a ghost."""
        means = np.concatenate([scores, ghosts], axis=1)
        noisy = means + rng.standard_normal(means.shape)
        bounds = _shifted_sigmoid(noisy, _find_shift(means)).cumsum(axis=1)
        drawn = rng.random((self._batch_size, 1)) * bounds[:, -1:]
        index = np.count_nonzero(bounds <= drawn, axis=1)
        return np.asarray(np.minimum(index, self._num_slots))

    def _find_clicks(self, scores: Floats) -> Indices:
        """Returns the slot that is clicked by distance, for scores [B, S]: [B]; S for none."""
        is_close = scores >= self._threshold
        clicked = is_close.argmax(axis=1) if self._is_cascade else scores.argmax(axis=1)
        return np.where(is_close.any(axis=1), clicked, self._num_slots)

    def _expected_reward(self, state: Observation, action: Indices) -> Array:
        taste = self._taste(state)
        scores = _multiply(take_actions(state["per_arm"], action), taste)
        if self._has_ghosts:
            return _ghost_click_probability(scores, taste)
        return np.asarray(scores.max(axis=1) >= self._threshold, np.float64)

    def _optimal_action(self, state: Observation) -> Indices:
        return best_slate(self._rendered_values(state), np.ones(self._num_slots))

    def _rendered_values(self, state: Observation) -> Floats:
        return _multiply(state["per_arm"], self._taste(state))

    def _taste(self, state: Observation) -> Floats:
        """Returns M x for each user, which is also the scores of the ghosts: [B, P]."""
        return np.asarray(state["global"] @ self._matrix.T)

    def _cascading_to_scorevector(
        self, chosen_items: Indices, chosen_values: Array
    ) -> NDArray[np.float32]:
        vector = np.zeros((len(chosen_items), self._num_slots + 1), np.float32)
        vector[np.arange(len(chosen_items)), chosen_items] = chosen_values
        return vector[:, :-1]


def _make_reward_spec(feedback_model: int, num_slots: int) -> Nest:
    """Returns the spec of the rewards of a `FeedbackModel`."""
    if feedback_model == FeedbackModel.CASCADING:
        return {
            "chosen_index": BoundedArraySpec((), np.int32, 0, num_slots, "chosen_index"),
            "chosen_value": CLICK_SPEC.replace(name="chosen_value"),
        }
    if feedback_model == FeedbackModel.SCORE_VECTOR:
        return CLICK_SPEC.replace(shape=(num_slots,), name="score_vector")
    raise NotImplementedError(f"feedback_model is {feedback_model}; expected one of FeedbackModel")


def _multiply(items: Array, vectors: Floats) -> Floats:
    """Returns the products of items [B, n, P] with a vector [B, P] each row: [B, n]."""
    return np.asarray((items @ vectors[:, :, np.newaxis])[:, :, 0])


def _shifted_sigmoid(scores: Floats, shift: Floats) -> Floats:
    """Returns sigmoid(scores) exp(-shift)."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -scores) - shift))


def _find_shift(scores: Floats) -> Floats:
    """Returns what to shift log sigmoids of scores [B, n] by, so that no row underflows: [B, 1].

    Only shares of the weights count, which a shift leaves as they are.
    """
    largest = scores.max(axis=1, keepdims=True)
    return np.where(largest < LOWEST_SCORE, largest, 0.0)


def _ghost_click_probability(scores: Floats, ghosts: Floats) -> Floats:
    """Returns E[A / (A + G)], A and G sums of sigmoid(N(s, 1)) over scores and ghosts: [B].

    It is the integral of -f'(t) g(t) over t > 0, where f(t) = E[exp(-t A)], g(t) = E[exp(-t G)].
    """
    nodes, masses, times, weights = _quadratures()
    num_slots = scores.shape[1]
    means = np.concatenate([scores, ghosts], axis=1)
    both = _shifted_sigmoid(means[:, :, np.newaxis] + nodes, _find_shift(means)[:, :, np.newaxis])
    # The integral is over t times the mean of A + G, as the integrand is as wide in that.
    scale = 1.0 / (both @ masses).sum(axis=1)
    total = np.zeros(len(scores))
    for time, weight in zip(times, weights):
        decay = np.exp(-time * scale[:, np.newaxis, np.newaxis] * both)
        # The means of exp(-t sigmoid), for each item and ghost: [B, S + P].
        decays = np.maximum(decay @ masses, np.finfo(np.float64).tiny)
        slopes = (both * decay) @ masses
        ratios = slopes[:, :num_slots] / decays[:, :num_slots]
        total += weight * scale * decays.prod(axis=1) * ratios.sum(axis=1)
    return total


@functools.cache
def _quadratures() -> tuple[Floats, Floats, Floats, Floats]:
    """Returns nodes and masses of N(0, 1), and nodes and weights of an integral over t > 0."""
    nodes, masses = np.polynomial.hermite_e.hermegauss(16)
    masses = masses / masses.sum()
    points, weights = np.polynomial.legendre.leggauss(32)
    share = (points + 1.0) / 2.0  # of t / (1 + t)
    times = share / (1.0 - share)
    weights = weights / 2.0 / (1.0 - share) ** 2
    return nodes, masses, times, weights


def ranking(
    num_items: int = 20,
    num_slots: int = 5,
    dim: int = 4,
    batch_size: int = 20,
    **options: typing.Unpack[Options],
) -> RankingPyEnvironment:
    """Slates of items for users, who click on one item or none: score vectors, ghost actions.

    Scores are products of features of users and items, of which a linear model learns nothing.
    """
    rng, options["seed"] = split_seed(options.get("seed"))
    features = Normal(check_integer("dim", dim, minimum=1))
    return RankingPyEnvironment(
        features,
        features,
        num_items,
        num_slots,
        scores_weight_matrix=rng.standard_normal((dim, dim)),
        feedback_model=FeedbackModel.SCORE_VECTOR,
        batch_size=batch_size,
        **options,
    )
