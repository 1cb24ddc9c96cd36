"""Bayesian linear regression of each action's rewards, with an unknown variance."""

from __future__ import annotations

import typing
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Array, Floats, Indices, Rng
from bandit_envs.base.checks import MAX_PARAMETER, MIN_STD, check_integer, check_positive
from bandit_envs.nests import Nest
from bandit_envs.policies.features import ContextReader
from bandit_envs.policies.policy import PolicyOptions
from bandit_envs.policies.ridge import RidgeModels
from bandit_envs.policies.thompson import ThompsonSamplingPolicy
from bandit_envs.trajectories import TimeStep, Trajectory


class LinearPosteriors(NamedTuple):
    """Normal-inverse-gamma posteriors of K linear models; updated in place."""

    models: RidgeModels  # of the coefficients, given the variance
    counts: Floats  # [K], how many rows each has learned from
    losses: Floats  # [K], squared errors plus tikhonov_weight |mu|^2 of each

    @classmethod
    def initial(cls, num_models: int, dim: int, tikhonov_weight: float) -> LinearPosteriors:
        """Returns what is known of models of `dim` features before the first row."""
        return cls(
            models=RidgeModels.initial(num_models, dim, tikhonov_weight),
            counts=np.zeros(num_models),
            losses=np.zeros(num_models),
        )

    def update(
        self, model: Indices, features: Floats, rewards: Array, tikhonov_weight: float
    ) -> None:
        """Adds a batch of features [n, D] and rewards [n], each to the model in `model` [n]."""
        self.losses[:] += self.models.update(model, features, rewards, 1.0, tikhonov_weight)
        self.counts[:] += np.bincount(model, minlength=len(self.counts))

    def draw(self, rng: Rng, context: Floats, a0: float, b0: float) -> Floats:
        """Draws beta . x anew for every model and each of the contexts [B, D]: [B, K]."""
        # Given x, beta . x has Student's distribution with 2 a degrees of freedom.
        means, deviations = self.models.means_and_deviations(context)
        a = a0 + 0.5 * self.counts
        b = b0 + 0.5 * self.losses
        values = rng.standard_t(2.0 * a, means.shape)
        values *= np.sqrt(b / a) * deviations
        values += means
        return values

    def draw_shared(self, rng: Rng, items: Floats, a0: float, b0: float) -> Floats:
        """Draws beta of the only model for every row of items [B, K, D]: beta . x, [B, K]."""
        a = a0 + 0.5 * self.counts
        b = b0 + 0.5 * self.losses
        stds = np.sqrt(b / rng.standard_gamma(a, len(items)))
        (whitening,) = self.models.whitening
        noise = rng.standard_normal((len(items), len(whitening))) @ whitening
        beta = self.models.theta + stds[:, np.newaxis] * noise
        return np.asarray((items @ beta[:, :, np.newaxis])[..., 0])


class LinearFullPosteriorPolicy(ThompsonSamplingPolicy):
    """Draws a linear model and its variance for every row and action, and chooses the best.

        sigma^2[a] ~ InvGamma(a0, b0),    beta[a] ~ N(0, sigma^2[a] / tikhonov_weight I)
        r ~ N(beta[a] . x, sigma^2[a]),    x = [context, 1]

    is the prior, and after n rewards of an action the posterior is

        sigma^2 ~ InvGamma(a0 + n / 2, b0 + loss / 2),    beta ~ N(mu, sigma^2 A^-1)

    with A = X^T X + tikhonov_weight I and mu = A^-1 X^T r. The loss of mu is the sum of its squared
    errors, plus tikhonov_weight times its squared length. The context is that of
    `DisjointLinearPolicy`, and all rows share the models. An action with fewer than `initial_pulls`
    rewards goes first.

    Args:
        a0: the shape of the variance's prior, above 0.
        b0: its scale, above 0.
        tikhonov_weight: the precision of the coefficients' prior, in units of 1 / sigma^2.
        initial_pulls: how often each action is chosen at first.
        observation_spec: of the environment.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Source: Riquelme, Tucker & Snoek, Deep Bayesian Bandits Showdown (2018), LinFullPost, whose
    values are the defaults.

    >>> from bandit_envs import ArraySpec
    >>> spec = ArraySpec((3,), np.float32)
    >>> LinearFullPosteriorPolicy(observation_spec=spec, num_actions=4).num_actions
    4
    """

    learns_by_row = False

    def __init__(
        self,
        a0: float = 6.0,
        b0: float = 6.0,
        tikhonov_weight: float = 0.25,
        initial_pulls: int = 2,
        *,
        observation_spec: Nest,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        self._a0 = check_positive("a0", a0, MIN_STD, MAX_PARAMETER)
        self._b0 = check_positive("b0", b0, MIN_STD, MAX_PARAMETER)
        self._tikhonov_weight = check_positive(
            "tikhonov_weight", tikhonov_weight, MIN_STD, MAX_PARAMETER
        )
        self._initial_pulls = check_integer("initial_pulls", initial_pulls, minimum=0)
        self._context = ContextReader(observation_spec)
        super().__init__(**options)

    @classmethod
    def arguments_for(cls, env: Any) -> dict[str, Any]:
        return {**super().arguments_for(env), "observation_spec": env.observation_spec()}

    def _initial(self) -> LinearPosteriors:
        dim = self._context.dim + 1
        return LinearPosteriors.initial(self.num_actions, dim, self._tikhonov_weight)

    def _learn(self, learned: LinearPosteriors, trajectory: Trajectory) -> LinearPosteriors:
        learned.update(
            model=trajectory.action,
            features=self._features(trajectory.observation, len(trajectory.action)),
            rewards=trajectory.reward,
            tikhonov_weight=self._tikhonov_weight,
        )
        return learned

    def _draw_values(self, rng: Rng, learned: LinearPosteriors, time_step: TimeStep) -> Floats:
        context = self._features(time_step.observation, self.batch_size)
        values = learned.draw(rng, context, self._a0, self._b0)
        values[:, learned.counts < self._initial_pulls] = np.inf
        return values

    def _features(self, observation: Nest, size: int) -> Floats:
        """Returns the context and a constant: [size, D + 1]."""
        context = self._context.read(observation, size)
        return np.concatenate((context, np.ones((size, 1))), axis=1)
