"""Models of random Fourier features: Gaussian processes in linear time."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import (
    MAX_PARAMETER,
    MIN_STD,
    check_integer,
    check_positive,
    short_repr,
)
from bandit_envs.policies.models.inputs import Contexts, Inputs, ModelSizes, TrainingRows
from bandit_envs.policies.models.ridge import Ridge
from bandit_envs.policies.models.value_model import Model, ValueModel


@dataclasses.dataclass(frozen=True)
class FourierFeatures(Model):
    """A model of random Fourier features phi(x) in place of the features x.

        phi(x) = sqrt(2 / D) [cos(W x), sin(W x)],    W [D / 2, d] ~ N(0, 1 / length_scale^2)

        phi(x) . phi(y) = exp(-|x - y|^2 / (2 length_scale^2))    except for an error of the draw

    With `Ridge`, the policy is that of a Gaussian process with this kernel: with signals of the
    standard deviation s and noise of the standard deviation n,

        Ridge(tikhonov_weight=n^2 / s^2),    alpha = n kappa    of UpperBound and ThompsonSampling

    are GP-UCB with kappa standard deviations, and Thompson sampling with kappa = 1. Far from what
    was seen, the deviations are too small if there are more rewards than features: half of those of
    the Gaussian process with D = 50 features and 500 rewards. Take D of at least half the rewards.
    Scale the features first: the kernel has one length for all of them.

    Args:
        model: learns from phi(x).
        length_scale: over which distance of x rewards are alike, above 0.
        num_features: D, even.
        smoothness: nu of a Matern kernel in place of the squared exponential; None for that.
        seed: of W. It is the same for all rows and actions.

    Source: Rahimi & Recht, Random Features for Large-Scale Kernel Machines (2007); Srinivas,
    Krause, Kakade & Seeger, Gaussian Process Optimization in the Bandit Setting (2010), for GP-UCB.

    >>> FourierFeatures(Ridge(0.99), length_scale=0.5).num_features
    200
    """

    model: Model = Ridge()  # noqa: RUF009  # it is frozen
    length_scale: float = 1.0
    num_features: int = 200
    smoothness: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.model, Model):
            raise TypeError(f"model is {short_repr(self.model)}; expected a Model")
        check_positive("length_scale", self.length_scale, MIN_STD, MAX_PARAMETER)
        if check_integer("num_features", self.num_features, minimum=2) % 2:
            raise ValueError(f"num_features is {self.num_features}; expected an even number")
        if self.smoothness is not None:
            check_positive("smoothness", self.smoothness, MIN_STD, MAX_PARAMETER)
        check_integer("seed", self.seed, minimum=0)

    @property
    def predictor(self) -> ValueModel:
        """The model that learns from phi(x)."""
        return self.model.predictor

    def for_actions(self, num_actions: int) -> FourierFeatures:
        return dataclasses.replace(self, model=self.model.for_actions(num_actions))

    def map_sizes(self, sizes: ModelSizes) -> ModelSizes:
        if sizes.action_dim is None:
            mapped = sizes._replace(context_dim=self.num_features)
        else:
            mapped = sizes._replace(context_dim=0, action_dim=self.num_features)
        return self.model.map_sizes(mapped)

    def map_inputs(self, inputs: Inputs) -> Inputs:
        features = inputs.features()
        leading = features.shape[:-1]
        flat = features.reshape(math.prod(leading), features.shape[-1])
        mapped = self._map(flat, inputs.are_problems).reshape(*leading, self.num_features)
        if isinstance(inputs, Contexts):
            return self.model.map_inputs(inputs._replace(context=mapped))
        return self.model.map_inputs(inputs._replace(context=inputs.context[:, :0], actions=mapped))

    def map_rows(self, rows: TrainingRows) -> TrainingRows:
        has_actions = rows.context_dim < rows.features.shape[1]
        features = self._map(rows.features, rows.are_problems)
        context_dim = 0 if has_actions else self.num_features
        return self.model.map_rows(rows._replace(features=features, context_dim=context_dim))

    def _map(self, features: Floats, are_problems: bool) -> Floats:
        """Returns phi of features [n, d]: [n, D]."""
        weights = _frequencies(
            self.seed, self.num_features // 2, features.shape[1], self.length_scale, self.smoothness
        )
        if are_problems:  # no row depends on the others, not even by rounding
            angles = (weights @ features[:, :, np.newaxis])[..., 0]
        else:
            angles = features @ weights.T
        joined = np.concatenate((np.cos(angles), np.sin(angles)), axis=1)
        joined *= math.sqrt(2.0 / self.num_features)
        return joined


@functools.lru_cache(maxsize=64)
def _frequencies(
    seed: int, num_waves: int, dim: int, length_scale: float, smoothness: float | None
) -> Floats:
    """Returns W, which is the same for the same numbers: [D / 2, d]."""
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((num_waves, dim)) / length_scale
    if smoothness is not None:  # Student's distribution is the spectrum of a Matern kernel
        degrees = 2.0 * smoothness
        weights /= np.sqrt(rng.chisquare(degrees, (num_waves, 1)) / degrees)
    weights.setflags(write=False)
    return weights
