"""Logistic regression of rewards from 0 to 1."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Rng, sigmoid
from bandit_envs.base.checks import check_bool, check_number
from bandit_envs.policies.draws import draw_normal
from bandit_envs.policies.models.centres import Centres
from bandit_envs.policies.models.inputs import Inputs, ModelSizes, TrainingRows
from bandit_envs.policies.models.logistic_models import LogisticModels, learn_centred
from bandit_envs.policies.models.ridge_models import start_with_mean
from bandit_envs.policies.models.single_precision import (
    check_dtype,
    check_rows_for,
    check_weight_of,
)
from bandit_envs.policies.models.value_model import ValueModel

ONE_ROW = 0.25
"""What a row tells of log-odds, at most: the largest p (1 - p)."""


class CentredModels(NamedTuple):
    """What `Logistic` has learned if it has an intercept.

    Fields:
        models: of features that are measured from the centres.
        centres: of the models; their levels are log-odds.
    """

    models: LogisticModels
    centres: Centres


@dataclasses.dataclass(frozen=True)
class Logistic(ValueModel):
    """Logistic regression with normal posteriors of independent weights, for rewards from 0 to 1.

        E[r] = sigma(s0 + w . x),    w[i] ~ N(m[i], 1 / q[i]),    sigma(s) = 1 / (1 + exp(-s))

    Of the rows (x, r) of a step, a model learns

        m   = argmin_w  sum_i q[i] (w[i] - m[i])^2 / 2 - sum_rows log P(r | s0 + w . x)
        q  += sum_rows x^2 p (1 - p),    p = sigma(s0 + m . x)

    which approximates the posterior by Laplace's method. At first m is 0 and q is tikhonov_weight.
    P(r | s) = sigma(s)^r (1 - sigma(s))^(1 - r). Its scores are log-odds, and a draw is of these.

    With an `intercept`, features are measured from their mean m with the weights p (1 - p) of rows:

        E[r] = sigma(b + w . (x - m)),    b ~ N(l, 1 / n)

    where b does not depend on w. Before the first row, l is s0, and n is 1 / 4: as much as one row
    can tell, since rewards that are all alike have no finite log-odds. Then n grows by the weights.

    Args:
        tikhonov_weight: the precision of every weight's prior, from 1e-37 to 1e37.
        initial_value: sigma(s0), the reward that is predicted before anything was seen; above 0 and
            below 1.
        dtype: "float64" or "float32", of the numbers that are kept, two a feature. float32 takes
            features up to 1e9, and a tikhonov_weight from 1e-12 to 1e12. The means of an intercept
            are float64.
        intercept: whether a constant is added, without a penalty by `tikhonov_weight`.

    Source: Chapelle & Li, An Empirical Evaluation of Thompson Sampling (2011), algorithm 3.

    >>> Logistic().reward_range
    (0.0, 1.0)
    """

    tikhonov_weight: float = 1.0
    initial_value: float = 0.5
    dtype: str = dataclasses.field(default="float64", kw_only=True)
    intercept: bool = dataclasses.field(default=False, kw_only=True)

    reward_range: ClassVar[tuple[float, float]] = (0.0, 1.0)  # type: ignore[misc]
    can_have_rows: ClassVar[bool] = True
    is_linear: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", check_dtype(self.dtype))
        check_weight_of(self.dtype, self.tikhonov_weight)
        if not 0.0 < check_number("initial_value", self.initial_value, 0.0, 1.0) < 1.0:
            found = f"initial_value is {self.initial_value}"
            raise ValueError(f"{found}; expected a number above 0 and below 1")
        check_bool("intercept", self.intercept)

    @property
    def needs_constant(self) -> bool:
        return not self.intercept

    def initial(self, sizes: ModelSizes, rng: Rng) -> LogisticModels | CentredModels:
        shape = (sizes.num_rows, sizes.num_outputs, sizes.num_features)
        models = LogisticModels.initial(shape, self.tikhonov_weight, self.dtype)
        if self.intercept:
            return CentredModels(models, Centres.initial(sizes, self._start, ONE_ROW))
        return models

    def learn(self, learned: Any, rows: TrainingRows) -> Any:
        models: LogisticModels = learned.models if self.intercept else learned
        check_rows_for(models.mean.dtype, rows.features, rows.reward)
        num_rows, num_outputs, dim = models.mean.shape
        shape = (num_rows * num_outputs, dim)
        flat = LogisticModels(models.mean.reshape(shape), models.precision.reshape(shape))
        model = rows.models(num_outputs)
        rewards = rows.reward.astype(np.float64)
        if self.intercept:
            centres = learned.centres.flat()
            learn_centred(
                flat,
                centres,
                model=model,
                context=rows.features,
                rewards=rewards,
                are_problems=rows.are_problems,
                first_weight=ONE_ROW,
            )
            return learned
        flat.learn(
            model=model,
            context=rows.features,
            rewards=rewards,
            start=self._start,
            are_problems=rows.are_problems,
        )
        return learned

    def can_start_warm(self, are_of_actions: bool) -> bool:
        return not are_of_actions

    def start_warm(self, learned: Any, known: int) -> Any:
        if self.intercept:
            has_rows = learned.centres.start_warm(known, ONE_ROW)
            start_with_mean(learned.models.mean, has_rows)
            return learned
        weight = learned.precision.dtype.type(self.tikhonov_weight)
        has_learned = np.any(learned.precision[:, :known] > weight, axis=2)
        start_with_mean(learned.mean, has_learned)
        return learned

    def means(self, learned: Any, inputs: Inputs) -> Floats:
        return sigmoid(self.scores(learned, inputs))

    def scores(self, learned: Any, inputs: Inputs) -> Floats:
        if self.intercept:
            models, centres = learned
            return np.asarray(centres.centred(inputs).products(models.mean) + centres.levels)
        scores = inputs.products(learned.mean)
        return scores if self.initial_value == 0.5 else scores + self._start

    def interval(self, learned: Any, inputs: Inputs, radius: Any) -> tuple[Floats, Floats]:
        scores = self.scores(learned, inputs)
        widths = radius * self._deviations(learned, inputs)
        return sigmoid(scores - widths), sigmoid(scores + widths)

    def draw(self, rng: Rng, learned: Any, inputs: Inputs, scale: float) -> Floats:
        deviations = scale * self._deviations(learned, inputs)
        return draw_normal(rng, self.scores(learned, inputs), deviations)

    @property
    def _start(self) -> float:
        """s0, the log-odds before anything was seen."""
        return math.log(self.initial_value / (1.0 - self.initial_value))

    def _deviations(self, learned: Any, inputs: Inputs) -> Floats:
        """Returns the standard deviations of log-odds of every action: [B, K]."""
        # The product of x and independent normal weights is normal.
        if self.intercept:
            models, centres = learned
            lengths = centres.centred(inputs).lengths(models.precision**-0.5)
            deviations: Floats = centres.lengthened(lengths)
            return deviations
        return np.sqrt(inputs.like(learned.precision).squared().products(1.0 / learned.precision))
