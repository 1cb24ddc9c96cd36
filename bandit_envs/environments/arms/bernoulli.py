"""The bandit whose arms pay 1 or 0."""

from __future__ import annotations

import typing

import numpy as np
from numpy.typing import ArrayLike

from bandit_envs.base.bandit_py_environment import Options
from bandit_envs.base.checks import check_integer, check_parameters, check_positive
from bandit_envs.environments.arms.k_armed_bandit import KArmedBandit
from bandit_envs.rewards.arm_rewards import Bernoulli
from bandit_envs.seeding import Seed, split_seed
from bandit_envs.specs import ArraySpec


class BernoulliPyEnvironment(KArmedBandit):
    """A bandit whose arms pay 1 or 0. Each row is an independent run.

        P(R_t = 1) = means[A_t]

    The observation [B] is 1.0 in every row. One uniform float64 is drawn a reward.

    Args:
        means: [K], or [B, K] for a problem a row: the probabilities of a reward of 1.
        batch_size: B.

    Source: TF-Agents' `BernoulliPyEnvironment`, whose signature is kept.

    >>> env = BernoulliPyEnvironment([0.0, 1.0], batch_size=3, seed=0)
    >>> time_step = env.reset()
    >>> env.step([0, 1, 1]).reward, env.optimal_action()
    (array([0., 1., 1.], dtype=float32), array([1, 1, 1], dtype=int32))
    """

    def __init__(
        self,
        means: ArrayLike = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
        batch_size: int = 1,
        *,
        seed: Seed = None,
        horizon: int | None = None,
        name: str | None = None,
    ) -> None:
        (probabilities,) = check_parameters(means=(means, 0.0, 1.0))
        super().__init__(
            Bernoulli(probabilities), batch_size, seed=seed, horizon=horizon, name=name
        )
        self._observation_spec = ArraySpec((), np.float32, "observation")
        self._constant_feature = np.ones(self._batch_size, np.float32)


def beta_bernoulli(
    num_actions: int = 3,
    successes: float = 1.0,
    failures: float = 1.0,
    batch_size: int = 1,
    **options: typing.Unpack[Options],
) -> BernoulliPyEnvironment:
    """Arms that pay 1 or 0, whose means are drawn once for each row, from `seed`.

        P(R_t = 1) = means[A_t],    means[a] ~ Beta(successes, failures)

    Source: Russo et al., A Tutorial on Thompson Sampling (2018), example 3.1.
    """
    rng, options["seed"] = split_seed(options.get("seed"))
    rows = check_integer("batch_size", batch_size, minimum=1)
    num_arms = check_integer("num_actions", num_actions, minimum=1)
    means = rng.beta(
        check_positive("successes", successes),
        check_positive("failures", failures),
        (rows, num_arms),
    )
    return BernoulliPyEnvironment(means, rows, **options)
