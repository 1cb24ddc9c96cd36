"""Ridge regression of rewards."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Rng
from bandit_envs.base.checks import MAX_REWARD, check_bool, check_number, short_repr
from bandit_envs.policies.draws import draw_normal
from bandit_envs.policies.models.centres import Centres
from bandit_envs.policies.models.diagonal_ridge import (
    draw_errors,
    initial_models,
    ridge_models,
)
from bandit_envs.policies.models.inputs import Inputs, Items, ModelSizes, TrainingRows
from bandit_envs.policies.models.ridge_models import differs, start_with_mean
from bandit_envs.policies.models.single_precision import (
    check_dtype,
    check_rows_for,
    check_weight_of,
)
from bandit_envs.policies.models.value_model import ValueModel


class Baselines(NamedTuple):
    """What predicts how far a model still believes in the mean of all rewards.

    Fields:
        totals: [R, M, D], the sum of the features of each model's rows.
        theta: [R, M, D], A^-1 times that: ridge regression of the number 1.
        counts: [R], rewards.
        rewards: [R], their sum.
    """

    totals: Floats
    theta: Floats
    counts: Floats
    rewards: Floats


class LinearModels(NamedTuple):
    """What `Ridge` has learned.

    Fields:
        theta: [R, M, D], the weights of features.
        whitening: [R, M, D, D], W of each model: W^T W = A^-1; [R, M, D] if A is diagonal.
        baselines: `Centres` if models have an intercept, `Baselines` if they start at the mean of
            all rewards, and else ().
    """

    theta: Floats
    whitening: Floats
    baselines: Any


@dataclasses.dataclass(frozen=True)
class Ridge(ValueModel):
    """Ridge regression of rewards on features: one of each action, or of features of actions.

        r ~ v0 + theta . x,    theta = A^-1 sum gamma^t (r - v0) x
        A = tikhonov_weight I + sum gamma^t x x^T

    The sums are over the rows of the model, of t learned trajectories ago. The regularisation does
    not decay. A prediction has the standard deviation sqrt(x . A^-1 x), in units of the noise of
    rewards; a draw is theta' . x with theta' ~ N(theta, scale^2 A^-1).

    With an `intercept`, which is not penalised, features and rewards are measured from their
    weighted means m and v of the model's rows, whose weights have the sum n:

        r ~ v + theta . (x - m)    with the variance  1 / n + (x - m) . A^-1 (x - m)

    Before the first row, bounds and draws are larger than all rewards. Rules then let the action
    share the choices with the best one, until its first reward is known.

    A model of D features keeps D^2 numbers. With `diagonal`, it keeps 2 D: the diagonal of A alone.
    Before the rows of a step, weights are taken for independent, N(theta[i], 1 / A[i, i]), and

        theta = argmin_w  sum_i A[i, i] (w[i] - theta[i])^2 / 2 + sum_rows (r - v0 - w . x)^2 / 2

    is the estimate after them, as in `Logistic`. This is exact if features are uncorrelated.
    Otherwise predictions depend on the order of rows, and deviations are too small for some x and
    too large for others.

    Args:
        gamma: forgetting factor, from 0 to 1: what was seen t steps ago has the weight gamma^t.
        tikhonov_weight: the weight of the L2 regularisation, from 1e-37 to 1e37.
        initial_value: v0, the reward that is predicted before anything was seen. "mean" is the mean
            of all rewards so far, which may change: where little was seen, it is predicted; with an
            intercept, where nothing was.
        diagonal: whether only the diagonal of A is kept. Then "mean" needs an intercept.
        dtype: "float64" or "float32", of the numbers that are kept. float32 takes features up to
            1e9, rewards up to 1e12 and a tikhonov_weight from 1e-12 to 1e12. The means of an
            intercept are float64.
        intercept: whether a constant is added, without a penalty.

    Source: TF-Agents' `LinearBanditAgent`, whose parameter names are kept; the diagonal: Chapelle &
    Li, An Empirical Evaluation of Thompson Sampling (2011), algorithm 3, with squared errors.

    >>> Ridge(tikhonov_weight=0.5).abilities() >= {"interval", "draw"}
    True
    """

    gamma: float = 1.0
    tikhonov_weight: float = 1.0
    initial_value: float | Literal["mean"] = 0.0
    diagonal: bool = dataclasses.field(default=False, kw_only=True)
    dtype: str = dataclasses.field(default="float64", kw_only=True)
    intercept: bool = dataclasses.field(default=False, kw_only=True)

    can_have_rows: ClassVar[bool] = True
    is_linear: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_number("gamma", self.gamma, 0.0, 1.0)
        object.__setattr__(self, "dtype", check_dtype(self.dtype))
        check_weight_of(self.dtype, self.tikhonov_weight)
        check_bool("diagonal", self.diagonal)
        check_bool("intercept", self.intercept)
        if self.diagonal and self.initial_value == "mean" and not self.intercept:
            found = 'initial_value is "mean" and diagonal True'
            raise ValueError(f"{found}; expected a number, as the mean needs all of A")
        if self.initial_value != "mean":
            if isinstance(self.initial_value, str):
                found = short_repr(self.initial_value)
                raise ValueError(f'initial_value is {found}; expected a number or "mean"')
            check_number("initial_value", self.initial_value, -MAX_REWARD, MAX_REWARD)

    @property
    def needs_constant(self) -> bool:
        return not self.intercept

    def initial(self, sizes: ModelSizes, rng: Rng) -> LinearModels:
        num_rows, num_outputs, dim = sizes.num_rows, sizes.num_outputs, sizes.num_features
        models = initial_models(
            num_rows * num_outputs,
            dim,
            self.tikhonov_weight,
            diagonal=self.diagonal,
            dtype=self.dtype,
        )
        theta, whitening = models.reshaped(num_rows, num_outputs)
        shape = (num_rows, num_outputs, dim)
        baselines: Any = ()
        if self.intercept:
            start = 0.0 if isinstance(self.initial_value, str) else self.initial_value
            baselines = Centres.initial(sizes, start)
        elif self.initial_value == "mean":
            counts = np.zeros(num_rows)
            totals = np.zeros(shape, self.dtype)
            baselines = Baselines(totals, totals.copy(), counts, counts.copy())
        return LinearModels(theta, whitening, baselines)

    def learn(self, learned: LinearModels, rows: TrainingRows) -> LinearModels:
        theta, whitening, baselines = learned
        check_rows_for(theta.dtype, rows.features, rows.reward)
        num_rows, num_outputs = theta.shape[:2]
        models = ridge_models(theta, whitening).reshaped(num_rows * num_outputs)
        of_row = rows.models(num_outputs)
        if self.intercept:
            features, errors = baselines.add(of_row, rows.features, rows.reward, self.gamma)
        else:
            features = rows.features
            errors = self._errors(rows.reward)
        models.learn(
            model=of_row,
            features=features,
            rewards=errors,
            gamma=self.gamma,
            tikhonov_weight=self.tikhonov_weight,
            are_problems=rows.are_problems,
        )
        if isinstance(baselines, Baselines):
            self._learn_baselines(baselines, rows, of_row, models[1])
        return learned

    def can_start_warm(self, are_of_actions: bool) -> bool:
        return not are_of_actions

    def start_warm(self, learned: LinearModels, known: int) -> LinearModels:
        if self.intercept:
            has_learned = learned.baselines.start_warm(known)
            start_with_mean(learned.theta, has_learned)
            return learned
        has_learned = differs(learned.whitening[:, :known], 1.0 / np.sqrt(self.tikhonov_weight))
        start_with_mean(learned.theta, has_learned)
        if learned.baselines != ():
            start_with_mean(learned.baselines.theta, has_learned)
            learned.baselines.totals[:, known:] = (
                self.tikhonov_weight * learned.baselines.theta[:, known:]
            )
        return learned

    def means(self, learned: LinearModels, inputs: Inputs) -> Floats:
        if self.intercept:
            centred = learned.baselines.centred(inputs)
            return np.asarray(centred.products(learned.theta) + self._levels(learned))
        predicted = inputs.products(learned.theta)
        if self.initial_value == 0.0:
            return predicted
        return predicted + self._starts(learned, inputs)

    def interval(self, learned: LinearModels, inputs: Inputs, radius: Any) -> tuple[Floats, Floats]:
        means = self.means(learned, inputs)
        widths = radius * self._deviations(learned, inputs)
        return means - widths, means + widths

    def draw(self, rng: Rng, learned: LinearModels, inputs: Inputs, scale: float) -> Floats:
        if isinstance(inputs, Items):  # one draw of the only model for each row
            return self._draw_weights(rng, learned, inputs, scale)
        means = self.means(learned, inputs)
        deviations = scale * self._deviations(learned, inputs)
        draws = draw_normal(rng, means, deviations)
        return learned.baselines.new_first(draws, means + deviations) if self.intercept else draws

    def _draw_weights(self, rng: Rng, learned: LinearModels, inputs: Items, scale: float) -> Floats:
        """Returns theta' . x of every action, with a theta' for each row: [B, K].

        The error of an intercept is that of all actions of a row, and is left out.
        """
        size = len(inputs.context)
        errors = draw_errors(rng, learned.whitening[:, 0], size, inputs.are_problems)
        theta = learned.theta[:, 0] + scale * errors
        if self.intercept:
            centred = learned.baselines.centred(inputs)
            return np.asarray(centred.products(theta[:, np.newaxis]) + self._levels(learned))
        values = inputs.products(theta[:, np.newaxis])
        if self.initial_value == 0.0:
            return values
        return values + self._starts(learned, inputs)

    def _deviations(self, learned: LinearModels, inputs: Inputs) -> Floats:
        """Returns the standard deviation of the prediction for every action: [B, K]."""
        if self.intercept:
            lengths = learned.baselines.centred(inputs).lengths(learned.whitening)
            deviations: Floats = learned.baselines.lengthened(lengths)
            return deviations
        return inputs.lengths(learned.whitening)

    def _levels(self, learned: LinearModels) -> Floats:
        """Returns what models with an intercept predict in their centres: [R, M]."""
        centres: Centres = learned.baselines
        if self.initial_value == "mean":
            return np.where(centres.are_new, centres.mean_level(), centres.levels)
        return centres.levels

    def _errors(self, reward: Any) -> Any:
        """Returns what the weights have to explain of rewards [n]."""
        is_shifted = self.initial_value not in (0.0, "mean")
        return reward - self.initial_value if is_shifted else reward

    def _starts(self, learned: LinearModels, inputs: Inputs) -> float | Floats:
        """Returns what predictions are beside theta . x: a number, or [B, K]."""
        if isinstance(self.initial_value, str):
            counts = learned.baselines.counts
            means = learned.baselines.rewards / np.maximum(counts, 1.0)
            return np.asarray(
                means[:, np.newaxis] * (1.0 - inputs.products(learned.baselines.theta))
            )
        return self.initial_value

    def _learn_baselines(
        self, baselines: Baselines, rows: TrainingRows, model: Any, whitening: Floats
    ) -> None:
        """Adds rows to the baselines, in place, after the models have learned from them."""
        shape = whitening.shape[:2]
        totals = baselines.totals.reshape(shape)
        theta = baselines.theta.reshape(shape)
        if self.gamma < 1.0:
            totals *= self.gamma
        np.add.at(totals, model, rows.features)
        changed = np.unique(model) if self.gamma == 1.0 else np.arange(len(totals))
        roots = whitening[changed]
        whitened = roots @ totals[changed][:, :, np.newaxis]
        theta[changed] = (np.swapaxes(roots, 1, 2) @ whitened)[..., 0]
        if rows.are_problems:
            baselines.counts[:] += 1.0
            baselines.rewards[:] += rows.reward
        else:
            baselines.counts[:] += len(rows.reward)
            baselines.rewards[:] += rows.reward.sum()
