"""Contextual policies with logistic models of rewards from 0 to 1."""

from __future__ import annotations

import typing
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Indices, Rng, sigmoid
from bandit_envs.base.checks import MAX_PARAMETER, MIN_STD, check_number, check_positive
from bandit_envs.nests import Nest
from bandit_envs.policies.draws import draw_normal
from bandit_envs.policies.features import ContextReader, ItemReader, item_products
from bandit_envs.policies.policy import BatchOptions, PolicyOptions
from bandit_envs.policies.predicting import PredictingPolicy
from bandit_envs.policies.ridge import add_rows
from bandit_envs.policies.thompson import ThompsonSamplingPolicy
from bandit_envs.trajectories import TimeStep, Trajectory

ACCURACY = 1e-9  # of the square of Newton's step, in units of the posterior's variance
MAX_STEPS = 100
MAX_HALVINGS = 60


class LogisticModels(NamedTuple):
    """Normal posteriors of the independent weights of M logistic models."""

    mean: Floats  # m, [M, D]
    precision: Floats  # q, [M, D]

    @classmethod
    def initial(cls, num_models: int, dim: int, tikhonov_weight: float) -> LogisticModels:
        """Returns models of nothing, whose weights have the mean 0."""
        shape = (num_models, dim)
        return cls(np.zeros(shape), np.full(shape, tikhonov_weight))

    def means_and_deviations(self, context: Floats) -> tuple[Floats, Floats]:
        """Returns the posteriors of w . x of every model, for contexts [B, D]: [B, M] each."""
        # The product of x and independent normal weights is normal.
        variances = np.square(context) @ (1.0 / self.precision).T
        return context @ self.mean.T, np.sqrt(variances)

    def updated(self, model: Indices, context: Floats, rewards: Floats) -> LogisticModels:
        """Returns what is known after contexts [n, D] and rewards [n] of the models `model` [n]."""
        order = model.argsort(kind="stable")
        models, first, place = np.unique(model[order], return_index=True, return_inverse=True)
        batch = _Batch(context[order], rewards[order], first, place)
        mean = self.mean.copy()
        precision = self.precision.copy()
        mean[models] = batch.mode(mean[models], precision[models])
        scores = batch.scores(mean[models])[:, np.newaxis]
        curvature = np.square(batch.context) * sigmoid(scores) * sigmoid(-scores)
        precision[models] += np.add.reduceat(curvature, first)
        return LogisticModels(mean, precision)


class DisjointLogisticPolicy(PredictingPolicy):
    """A policy with a logistic model of the reward for each action.

        E[r] = sigma(w[a] . x),    w[a, i] ~ N(m[a, i], 1 / q[a, i])

    Of the rows (x, r) of a step whose action was a, with sigma(s) = 1 / (1 + exp(-s)):

        m   = argmin_w  sum_i q[i] (w[i] - m[i])^2 / 2 - sum_rows log P(r | w . x)
        q  += sum_rows x^2 p (1 - p),    p = sigma(m . x)

    which approximates the posterior by Laplace's method. At first m is 0 and q is tikhonov_weight.
    The rewards must be from 0 to 1: P(r | s) = sigma(s)^r (1 - sigma(s))^(1 - r). The context x is
    that of `DisjointLinearPolicy`, and all rows share the models.

    A subclass says how to choose: it also derives from `IndexPolicy` or `ThompsonSamplingPolicy`,
    or implements `_probabilities`. It asks `_means` or `_logits_and_deviations` for predictions.

    Args:
        tikhonov_weight: the precision of every weight's prior, from 1e-37 to 1e37.
        observation_spec: of the environment.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: Chapelle & Li, An Empirical Evaluation of Thompson Sampling (2011), algorithm 3.
    """

    learns_by_row = False
    reward_range = 0.0, 1.0

    def __init__(
        self,
        tikhonov_weight: float = 1.0,
        *,
        observation_spec: Nest,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        self._tikhonov_weight = _check_tikhonov_weight(tikhonov_weight)
        self._context = ContextReader(observation_spec)
        super().__init__(**options)

    @classmethod
    def arguments_for(cls, env: Any) -> dict[str, Any]:
        return {**super().arguments_for(env), "observation_spec": env.observation_spec()}

    def _initial(self) -> LogisticModels:
        return LogisticModels.initial(self.num_actions, self._context.dim, self._tikhonov_weight)

    def _learn(self, learned: LogisticModels, trajectory: Trajectory) -> LogisticModels:
        context = self._context.read(trajectory.observation, len(trajectory.action))
        return learned.updated(trajectory.action, context, trajectory.reward.astype(np.float64))

    def _means(self, learned: LogisticModels, time_step: TimeStep) -> Floats:
        """Returns sigma(m[a] . x) of every action: [B, K]."""
        context = self._context.read(time_step.observation, self.batch_size)
        return sigmoid(context @ learned.mean.T)

    def _logits_and_deviations(
        self, learned: LogisticModels, time_step: TimeStep
    ) -> tuple[Floats, Floats]:
        """Returns the means and standard deviations of w[a] . x of every action: [B, K] each."""
        context = self._context.read(time_step.observation, self.batch_size)
        return learned.means_and_deviations(context)

    def _interval(
        self, learned: LogisticModels, time_step: TimeStep, radius: float
    ) -> tuple[Floats, Floats]:
        logits, deviations = self._logits_and_deviations(learned, time_step)
        return sigmoid(logits - radius * deviations), sigmoid(logits + radius * deviations)


class LogisticPolicy(PredictingPolicy):
    """A policy with one logistic model of the reward on features of the context and the actions.

        E[r] = sigma(w . x),    x = [global, per_arm] of the action

    The model is that of `DisjointLogisticPolicy`, and the features are those of `LinearPolicy`. It
    is shared: each step teaches it all rows. The rewards must be from 0 to 1.

    A subclass says how to choose: it also derives from `IndexPolicy` or `ThompsonSamplingPolicy`,
    or implements `_probabilities`. It asks `_means` or `_logits_and_deviations` for predictions.

    Args:
        tikhonov_weight: the precision of every weight's prior, from 1e-37 to 1e37.
        observation_spec: of the environment, whose number of actions it tells.
        **options: `batch_size` and `seed`, as in `Policy`.

    Source: Chapelle & Li, An Empirical Evaluation of Thompson Sampling (2011), algorithm 3.
    """

    learns_by_row = False
    reward_range = 0.0, 1.0

    def __init__(
        self,
        tikhonov_weight: float = 1.0,
        *,
        observation_spec: Nest,
        **options: typing.Unpack[BatchOptions],
    ) -> None:
        self._tikhonov_weight = _check_tikhonov_weight(tikhonov_weight)
        self._items = ItemReader(observation_spec)
        super().__init__(num_actions=self._items.num_actions, **options)

    @classmethod
    def arguments_for(cls, env: Any) -> dict[str, Any]:
        return {"observation_spec": env.observation_spec(), "batch_size": env.batch_size}

    def _state_key(self) -> dict[str, int | None]:
        return {
            **super()._state_key(),
            "global_dim": self._items.global_dim,
            "arm_dim": self._items.arm_dim,
        }

    def _initial(self) -> LogisticModels:
        dim = self._items.global_dim + self._items.arm_dim
        return LogisticModels.initial(1, dim, self._tikhonov_weight)

    def _learn(self, learned: LogisticModels, trajectory: Trajectory) -> LogisticModels:
        features = self._items.read_chosen(trajectory.observation, trajectory.action)
        the_model = np.zeros(len(features), np.intp)
        return learned.updated(the_model, features, trajectory.reward.astype(np.float64))

    def _means(self, learned: LogisticModels, time_step: TimeStep) -> Floats:
        """Returns sigma(m . x) of every action: [B, K]."""
        context, actions = self._items.read(time_step.observation, self.batch_size)
        return sigmoid(item_products(learned.mean, context, actions))

    def _logits_and_deviations(
        self, learned: LogisticModels, time_step: TimeStep
    ) -> tuple[Floats, Floats]:
        """Returns the mean and the standard deviation of w . x of every action: [B, K] each."""
        context, actions = self._items.read(time_step.observation, self.batch_size)
        logits = item_products(learned.mean, context, actions)
        variances = item_products(1.0 / learned.precision, np.square(context), np.square(actions))
        return logits, np.sqrt(variances)

    def _interval(
        self, learned: LogisticModels, time_step: TimeStep, radius: float
    ) -> tuple[Floats, Floats]:
        logits, deviations = self._logits_and_deviations(learned, time_step)
        return sigmoid(logits - radius * deviations), sigmoid(logits + radius * deviations)


class LogisticThompsonSamplingPolicy(ThompsonSamplingPolicy, DisjointLogisticPolicy):
    """Draws a logistic model for every row and action and chooses the action that looks best.

        argmax_a  w[a] . x,    w[a, i] ~ N(m[a, i], alpha^2 / q[a, i])

    The models are those of `DisjointLogisticPolicy`: one for each action.

    Args:
        alpha: how far to explore, in standard deviations of a weight; at least 0.
        tikhonov_weight: the precision of every weight's prior, from 1e-37 to 1e37.
        observation_spec: of the environment.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: Chapelle & Li, An Empirical Evaluation of Thompson Sampling (2011), algorithm 3.

    >>> from bandit_envs import ArraySpec
    >>> spec = ArraySpec((3,), np.float32)
    >>> LogisticThompsonSamplingPolicy(observation_spec=spec, num_actions=4).num_actions
    4
    """

    def __init__(
        self,
        alpha: float = 1.0,
        tikhonov_weight: float = 1.0,
        *,
        observation_spec: Nest,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        self._alpha = check_number("alpha", alpha, 0.0, MAX_PARAMETER)
        super().__init__(tikhonov_weight, observation_spec=observation_spec, **options)

    def _draw_values(self, rng: Rng, learned: LogisticModels, time_step: TimeStep) -> Floats:
        logits, deviations = self._logits_and_deviations(learned, time_step)
        return draw_normal(rng, logits, self._alpha * deviations)


def _check_tikhonov_weight(weight: float) -> float:
    return check_positive("tikhonov_weight", weight, MIN_STD, MAX_PARAMETER)


class _Batch(NamedTuple):
    """n rows, sorted by their k models. These are numbered from 0 to k - 1 in this order."""

    context: Floats  # x, [n, D]
    rewards: Floats  # [n]
    first: Indices  # the first row of each model, [k]
    place: Indices  # the number of each row's model, [n]

    def mode(self, prior: Floats, precision: Floats) -> Floats:
        """Returns the most likely weights of each model: [k, D].

        It is found by Newton's method, with steps that are halved until the loss does not grow.

        Args:
            prior: the means of the weights before these rows, [k, D].
            precision: the precisions of the weights before these rows, [k, D].
        """
        weights = prior
        loss = self.loss(prior, prior, precision)
        for _ in range(MAX_STEPS):
            step, decrement = self.newton_step(weights, prior, precision)
            rounding = 1e-12 * (1.0 + loss)
            for _ in range(MAX_HALVINGS):
                trial = weights - step
                trial_loss = self.loss(trial, prior, precision)
                is_worse = ~(trial_loss <= loss + rounding)
                if not is_worse.any():
                    break
                step[is_worse] *= 0.5
            weights = trial
            loss = trial_loss
            if (decrement <= ACCURACY).all():
                break
        return weights

    def newton_step(
        self, weights: Floats, prior: Floats, precision: Floats
    ) -> tuple[Floats, Floats]:
        """Returns Newton's step from `weights`, to be subtracted, and its squared length.

        The length is measured by the Hessian at `weights`, so its unit is the posterior's standard
        deviation: [k, D] and [k].
        """
        scores = self.scores(weights)
        errors = (sigmoid(scores) - self.rewards)[:, np.newaxis] * self.context
        gradient = precision * (weights - prior) + np.add.reduceat(errors, self.first)
        # The Hessian is R^T R. It is not formed, for that would square R's condition number.
        root = np.sqrt(precision)[:, :, np.newaxis] * np.eye(weights.shape[1])
        spread = np.sqrt(sigmoid(scores) * sigmoid(-scores))
        add_rows(root, self.place, spread[:, np.newaxis] * self.context)
        inverse = np.linalg.inv(root)
        half = np.einsum("kij,ki->kj", inverse, gradient)
        step = np.einsum("kij,kj->ki", inverse, half)
        return step, np.square(half).sum(axis=1)

    def loss(self, weights: Floats, prior: Floats, precision: Floats) -> Floats:
        """Returns minus the logarithm of the posterior density, but for a constant: [k]."""
        scores = self.scores(weights)
        losses = np.logaddexp(0.0, scores) - self.rewards * scores
        distances = 0.5 * (precision * np.square(weights - prior)).sum(axis=1)
        return np.asarray(distances + np.add.reduceat(losses, self.first))

    def scores(self, weights: Floats) -> Floats:
        """Returns w . x of each row: [n]."""
        return np.asarray(np.einsum("nd,nd->n", self.context, weights[self.place]))
