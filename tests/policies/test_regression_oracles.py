"""Rules of choice by the same linear models: regrets against those of independent code.

Each of 40 runs has 5,000 steps and models of its own. Contexts x are uniform on a sphere. Action a
is paid 0 or 1, with the mean 0.5 + 0.4 x . theta_a. Ridge regressions on (x, 1) learn at each step.
"""

import numpy as np
import pytest
from bandit_envs.policies.counted import CountedModels

from bandit_envs import policies
from bandit_envs.policies.models.ridge_models import RidgeModels
from bandit_envs.specs import ArraySpec
from bandit_envs.trajectories import Trajectory, restart, termination

K, D, RUNS, STEPS = 10, 5, 40, 5000


class OwnModels:
    """Gives each row of a policy with linear models its own models, as if it were a run."""

    def _initial(self):
        return CountedModels(RidgeModels.initial(RUNS * K, D + 1, 1.0), 0)

    def _learn(self, learned, trajectory):
        model = np.arange(RUNS) * K + trajectory.action
        learned.models.update(model, trajectory.observation, trajectory.reward, 1.0, 1.0)
        return learned._replace(num_rewards=learned.num_rewards + 1)

    def _means(self, models, time_step):
        theta = models.theta.reshape(RUNS, K, D + 1)
        return np.einsum("bkd,bd->bk", theta, time_step.observation)

    def _means_and_deviations(self, models, time_step):
        roots = models.whitening.reshape(RUNS, K * (D + 1), D + 1)
        whitened = (roots @ time_step.observation[:, :, np.newaxis]).reshape(RUNS, K, D + 1)
        return self._means(models, time_step), np.linalg.norm(whitened, axis=2)


class EpsilonGreedy(OwnModels, policies.DisjointLinearEpsilonGreedyPolicy):
    def _scores(self, learned, time_step):
        return self._means(learned.models, time_step)


class SquareCB(OwnModels, policies.DisjointLinearSquareCBPolicy):
    pass


class OptimisticRegCB(OwnModels, policies.DisjointLinearOptimisticRegCBPolicy):
    pass


class EliminationRegCB(OwnModels, policies.DisjointLinearEliminationRegCBPolicy):
    pass


def regrets(policy):
    """Returns the regret of each run, [40], after checking the probabilities of every step."""
    theta = np.random.default_rng(7).normal(size=(K, D))
    theta /= np.linalg.norm(theta, axis=1, keepdims=True)
    rng = np.random.default_rng(8)
    rows = np.arange(RUNS)
    total = np.zeros(RUNS)
    context = np.ones((RUNS, D + 1))
    for _ in range(STEPS):
        x = rng.normal(size=(RUNS, D))
        context[:, :D] = x / np.linalg.norm(x, axis=1, keepdims=True)
        means = 0.5 + 0.4 * context[:, :D] @ theta.T
        before = restart(context, RUNS)
        probabilities = policy.probabilities(before)
        assert (probabilities >= 0.0).all()
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
        action = policy.action(before)
        assert (probabilities[rows, action] > 0.0).all()
        total += means.max(axis=1) - means[rows, action]
        reward = (rng.random(RUNS) < means[rows, action]).astype(np.float64)
        policy(Trajectory.from_transition(before, action, termination(context, reward, np.float64)))
    return total


FALCON = (K / 60) ** 0.5  # the schedule of a network with 60 weights and coefficient 1

CASES = {
    "greedy": (EpsilonGreedy, (0.0,), 963.4, 36.4),
    "epsilon-greedy, 0.05": (EpsilonGreedy, (0.05,), 306.6, 8.3),
    "SquareCB, 10 sqrt(n)": (SquareCB, (10.0, 0.5), 290.2, 7.0),
    "SquareCB, 100 sqrt(n)": (SquareCB, (100.0, 0.5), 437.1, 14.7),
    "SquareCB, sqrt(n)": (SquareCB, (1.0, 0.5), 586.9, 3.2),
    "SquareCB, 1000 n^0.25": (SquareCB, (1000.0, 0.25), 524.8, 18.3),
    "SquareCB, 1000": (SquareCB, (1000.0, 0.0), 377.8, 10.3),
    "Falcon, 1": (SquareCB, (FALCON, 0.5), 803.2, 3.0),
    "Falcon, 10": (SquareCB, (10 * FALCON, 0.5), 342.7, 5.0),
    "Falcon, 100": (SquareCB, (100 * FALCON, 0.5), 344.7, 11.7),
    "optimistic RegCB, 0.1": (OptimisticRegCB, (0.1,), 201.0, 3.9),
    "optimistic RegCB, 0.001": (OptimisticRegCB, (0.001,), 725.2, 17.8),
    "RegCB by elimination, 0.1": (EliminationRegCB, (0.1,), 710.2, 6.2),
    "RegCB by elimination, 0.001": (EliminationRegCB, (0.001,), 624.2, 20.9),
}
"""A class, its parameters, and the regret of independent code with its standard error."""


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_regrets_are_those_of_independent_code(name):
    policy_class, arguments, expected, error = CASES[name]
    spec = ArraySpec((D + 1,), np.float64)
    policy = policy_class(*arguments, observation_spec=spec, num_actions=K, batch_size=RUNS, seed=9)
    found = regrets(policy)
    own_error = found.std(ddof=1) / np.sqrt(RUNS)
    print(f"{name}: {found.mean():.1f} ± {own_error:.1f}")
    assert abs(found.mean() - expected) < 3.0 * np.hypot(own_error, error)
