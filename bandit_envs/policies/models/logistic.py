"""Logistic regression of rewards from 0 to 1."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar

import numpy as np

from bandit_envs.arrays import Floats, Rng, sigmoid
from bandit_envs.base.checks import check_number
from bandit_envs.policies.draws import draw_normal
from bandit_envs.policies.models.inputs import Inputs, ModelSizes, TrainingRows
from bandit_envs.policies.models.logistic_models import LogisticModels
from bandit_envs.policies.models.ridge_models import start_with_mean
from bandit_envs.policies.models.single_precision import (
    check_dtype,
    check_rows_for,
    check_weight_of,
)
from bandit_envs.policies.models.value_model import ValueModel


@dataclasses.dataclass(frozen=True)
class Logistic(ValueModel):
    """Logistic regression with normal posteriors of independent weights, for rewards from 0 to 1.

        E[r] = sigma(s0 + w . x),    w[i] ~ N(m[i], 1 / q[i]),    sigma(s) = 1 / (1 + exp(-s))

    Of the rows (x, r) of a step, a model learns

        m   = argmin_w  sum_i q[i] (w[i] - m[i])^2 / 2 - sum_rows log P(r | s0 + w . x)
        q  += sum_rows x^2 p (1 - p),    p = sigma(s0 + m . x)

    which approximates the posterior by Laplace's method. At first m is 0 and q is tikhonov_weight.
    P(r | s) = sigma(s)^r (1 - sigma(s))^(1 - r). Its scores are log-odds, and a draw is of these.

    Args:
        tikhonov_weight: the precision of every weight's prior, from 1e-37 to 1e37.
        initial_value: sigma(s0), the reward that is predicted before anything was seen; above 0 and
            below 1.
        dtype: "float64" or "float32", of the numbers that are kept, two a feature. float32 takes
            features up to 1e9, and a tikhonov_weight from 1e-12 to 1e12.

    Source: Chapelle & Li, An Empirical Evaluation of Thompson Sampling (2011), algorithm 3.

    >>> Logistic().reward_range
    (0.0, 1.0)
    """

    tikhonov_weight: float = 1.0
    initial_value: float = 0.5
    dtype: str = dataclasses.field(default="float64", kw_only=True)

    reward_range: ClassVar[tuple[float, float]] = (0.0, 1.0)  # type: ignore[misc]
    can_have_rows: ClassVar[bool] = True
    needs_constant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", check_dtype(self.dtype))
        check_weight_of(self.dtype, self.tikhonov_weight)
        if not 0.0 < check_number("initial_value", self.initial_value, 0.0, 1.0) < 1.0:
            found = f"initial_value is {self.initial_value}"
            raise ValueError(f"{found}; expected a number above 0 and below 1")

    def initial(self, sizes: ModelSizes, rng: Rng) -> LogisticModels:
        shape = (sizes.num_rows, sizes.num_outputs, sizes.num_features)
        return LogisticModels.initial(shape, self.tikhonov_weight, self.dtype)

    def learn(self, learned: LogisticModels, rows: TrainingRows) -> LogisticModels:
        check_rows_for(learned.mean.dtype, rows.features, rows.reward)
        num_rows, num_outputs, dim = learned.mean.shape
        flat = (num_rows * num_outputs, dim)
        models = LogisticModels(learned.mean.reshape(flat), learned.precision.reshape(flat))
        models.learn(
            model=rows.models(num_outputs),
            context=rows.features,
            rewards=rows.reward.astype(np.float64),
            start=self._start,
            are_problems=rows.are_problems,
        )
        return learned

    def can_start_warm(self, are_of_actions: bool) -> bool:
        return not are_of_actions

    def start_warm(self, learned: LogisticModels, known: int) -> LogisticModels:
        weight = learned.precision.dtype.type(self.tikhonov_weight)
        has_learned = np.any(learned.precision[:, :known] > weight, axis=2)
        start_with_mean(learned.mean, has_learned)
        return learned

    def means(self, learned: LogisticModels, inputs: Inputs) -> Floats:
        return sigmoid(self.scores(learned, inputs))

    def scores(self, learned: LogisticModels, inputs: Inputs) -> Floats:
        scores = inputs.products(learned.mean)
        return scores if self.initial_value == 0.5 else scores + self._start

    def interval(
        self, learned: LogisticModels, inputs: Inputs, radius: Any
    ) -> tuple[Floats, Floats]:
        scores = self.scores(learned, inputs)
        widths = radius * self._deviations(learned, inputs)
        return sigmoid(scores - widths), sigmoid(scores + widths)

    def draw(self, rng: Rng, learned: LogisticModels, inputs: Inputs, scale: float) -> Floats:
        deviations = scale * self._deviations(learned, inputs)
        return draw_normal(rng, self.scores(learned, inputs), deviations)

    @property
    def _start(self) -> float:
        """s0, the log-odds before anything was seen."""
        return math.log(self.initial_value / (1.0 - self.initial_value))

    def _deviations(self, learned: LogisticModels, inputs: Inputs) -> Floats:
        """Returns the standard deviations of w . x of every action: [B, K]."""
        # The product of x and independent normal weights is normal.
        return np.sqrt(inputs.like(learned.precision).squared().products(1.0 / learned.precision))
