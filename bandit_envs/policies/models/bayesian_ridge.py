"""Bayesian linear regression of rewards with an unknown variance."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Indices, Rng
from bandit_envs.base.checks import (
    MAX_PARAMETER,
    MAX_REWARD,
    MIN_STD,
    check_bool,
    check_number,
    check_positive,
)
from bandit_envs.policies.models.diagonal_ridge import (
    draw_errors,
    initial_models,
    ridge_models,
)
from bandit_envs.policies.models.inputs import Contexts, Inputs, Items, ModelSizes, TrainingRows
from bandit_envs.policies.models.ridge_models import start_with_mean
from bandit_envs.policies.models.single_precision import (
    check_dtype,
    check_rows_for,
    check_weight_of,
)
from bandit_envs.policies.models.value_model import ValueModel


class LinearPosteriors(NamedTuple):
    """Normal-inverse-gamma posteriors of linear models.

    Fields:
        theta: [R, M, D], the means of the coefficients.
        whitening: [R, M, D, D], W of each model: W^T W = A^-1; [R, M, D] if A is diagonal.
        counts: [R, M], how many rows each has learned from.
        losses: [R, M], squared errors plus tikhonov_weight |theta|^2 of each.
    """

    theta: Floats
    whitening: Floats
    counts: Floats
    losses: Floats

    @classmethod
    def initial(
        cls,
        num_rows: int,
        num_outputs: int,
        dim: int,
        tikhonov_weight: float,
        *,
        diagonal: bool = False,
        dtype: str = "float64",
    ) -> LinearPosteriors:
        """Returns what is known of models of `dim` features before the first row."""
        shape = (num_rows, num_outputs)
        models = initial_models(
            num_rows * num_outputs, dim, tikhonov_weight, diagonal=diagonal, dtype=dtype
        )
        theta, whitening = models.reshaped(*shape)
        return cls(theta, whitening, counts=np.zeros(shape), losses=np.zeros(shape))

    def learn(
        self,
        model: Indices,
        features: Floats,
        rewards: Floats,
        tikhonov_weight: float,
        are_problems: bool = False,
    ) -> LinearPosteriors:
        """Adds a batch of features [n, D] and rewards [n], each to the model in `model` [n].

        Returns:
            What is known after it; the arrays are updated in place.
        """
        check_rows_for(self.theta.dtype, features, rewards)
        models = ridge_models(self.theta, self.whitening).reshaped(self.counts.size)
        growth = models.learn(
            model=model,
            features=features,
            rewards=rewards,
            gamma=1.0,
            tikhonov_weight=tikhonov_weight,
            are_problems=are_problems,
        )
        shape = self.counts.shape
        self.losses[...] += growth.reshape(shape)
        self.counts[...] += np.bincount(model, minlength=self.counts.size).reshape(shape)
        return self

    def deviations(self, inputs: Inputs, a0: float, b0: float) -> Floats:
        """Returns sqrt(b / a x . A^-1 x) of every action, of its posterior: [B, K]."""
        a = a0 + 0.5 * self.counts
        b = b0 + 0.5 * self.losses
        return np.asarray(np.sqrt(b / a) * inputs.lengths(self.whitening))

    def draw(self, rng: Rng, inputs: Inputs, a0: float, b0: float, scale: float = 1.0) -> Floats:
        """Draws beta . x of every action from its posterior: [B, K].

        A model of features of actions is drawn once for every row.
        """
        a = a0 + 0.5 * self.counts
        b = b0 + 0.5 * self.losses
        if isinstance(inputs, Contexts):
            # Given x, beta . x has Student's distribution with 2 a degrees of freedom.
            means = inputs.products(self.theta)
            values = rng.standard_t(2.0 * a, means.shape)
            values *= scale * self.deviations(inputs, a0, b0)
            values += means
            return values
        size = len(inputs.context)
        stds = scale * np.sqrt(b[:, 0] / rng.standard_gamma(a[:, 0], size))
        errors = draw_errors(rng, self.whitening[:, 0], size, inputs.are_problems)
        beta = self.theta[:, 0] + stds[:, np.newaxis] * errors
        return inputs.products(beta[:, np.newaxis])


@dataclasses.dataclass(frozen=True)
class BayesianRidge(ValueModel):
    """Bayesian linear regression with a constant, whose noise has an unknown variance.

        sigma^2 ~ InvGamma(a0, b0),    beta ~ N(0, sigma^2 / tikhonov_weight I)
        r ~ N(v0 + beta . x, sigma^2),    x = [context, 1]

    is the prior of each model, and after n rewards its posterior is

        sigma^2 ~ InvGamma(a0 + n / 2, b0 + loss / 2),    beta ~ N(mu, sigma^2 A^-1)

    with A = X^T X + tikhonov_weight I and mu = A^-1 X^T (r - v0). The loss of mu is the sum of its
    squared errors, plus tikhonov_weight times its squared length. A bound is `radius` times
    sqrt(b / a x . A^-1 x) from the prediction, with the parameters a and b of the posterior. With
    `diagonal`, only the diagonal of A is kept, as in `Ridge`.

    Args:
        a0: the shape of the variance's prior, above 0.
        b0: its scale, above 0.
        tikhonov_weight: the precision of the coefficients' prior, in units of 1 / sigma^2.
        initial_value: v0, the reward that is predicted before anything was seen.
        diagonal: whether only the diagonal of A is kept.
        dtype: "float64" or "float32", of the numbers that are kept, as in `Ridge`.

    Source: Riquelme, Tucker & Snoek, Deep Bayesian Bandits Showdown (2018), LinFullPost, whose
    values are the defaults.

    >>> BayesianRidge(a0=3.0).b0
    6.0
    """

    a0: float = 6.0
    b0: float = 6.0
    tikhonov_weight: float = 0.25
    initial_value: float = 0.0
    diagonal: bool = dataclasses.field(default=False, kw_only=True)
    dtype: str = dataclasses.field(default="float64", kw_only=True)

    can_have_rows: ClassVar[bool] = True
    is_linear: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_positive("a0", self.a0, MIN_STD, MAX_PARAMETER)
        check_positive("b0", self.b0, MIN_STD, MAX_PARAMETER)
        object.__setattr__(self, "dtype", check_dtype(self.dtype))
        check_weight_of(self.dtype, self.tikhonov_weight)
        check_bool("diagonal", self.diagonal)
        check_number("initial_value", self.initial_value, -MAX_REWARD, MAX_REWARD)

    def initial(self, sizes: ModelSizes, rng: Rng) -> LinearPosteriors:
        dim = sizes.num_features + 1
        return LinearPosteriors.initial(
            sizes.num_rows,
            sizes.num_outputs,
            dim,
            self.tikhonov_weight,
            diagonal=self.diagonal,
            dtype=self.dtype,
        )

    def learn(self, learned: LinearPosteriors, rows: TrainingRows) -> LinearPosteriors:
        return learned.learn(
            model=rows.models(learned.counts.shape[1]),
            features=_with_constant(rows.features),
            rewards=rows.reward - self.initial_value if self.initial_value else rows.reward,
            tikhonov_weight=self.tikhonov_weight,
            are_problems=rows.are_problems,
        )

    def can_start_warm(self, are_of_actions: bool) -> bool:
        return not are_of_actions

    def start_warm(self, learned: LinearPosteriors, known: int) -> LinearPosteriors:
        start_with_mean(learned.theta, learned.counts[:, :known] > 0.0)
        return learned

    def means(self, learned: LinearPosteriors, inputs: Inputs) -> Floats:
        return self.initial_value + _constant_added(inputs).products(learned.theta)

    def interval(
        self, learned: LinearPosteriors, inputs: Inputs, radius: Any
    ) -> tuple[Floats, Floats]:
        extended = _constant_added(inputs)
        means = self.initial_value + extended.products(learned.theta)
        widths = radius * learned.deviations(extended, self.a0, self.b0)
        return means - widths, means + widths

    def draw(self, rng: Rng, learned: LinearPosteriors, inputs: Inputs, scale: float) -> Floats:
        values = learned.draw(rng, _constant_added(inputs), self.a0, self.b0, scale)
        return values + self.initial_value if self.initial_value else values


def _with_constant(features: Floats) -> Floats:
    """Returns features [..., D] and a constant: [..., D + 1]."""
    return np.concatenate((features, np.ones((*features.shape[:-1], 1))), axis=-1)


def _constant_added(inputs: Inputs) -> Inputs:
    """Returns inputs with a constant as the last feature."""
    if isinstance(inputs, Items):
        return inputs._replace(actions=_with_constant(inputs.actions))
    return inputs._replace(context=_with_constant(inputs.context))
