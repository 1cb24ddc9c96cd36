"""Off-policy estimation as a bandit problem, so that studies compare estimators like policies."""

from __future__ import annotations

import functools
import operator
import warnings
from typing import Any, ClassVar

import numpy as np

from bandit_envs.arrays import Floats, Rng
from bandit_envs.base.checks import check_integer
from bandit_envs.environments.contextual import ContextualBandit
from bandit_envs.environments.logistic_context import LogisticContextBandit
from bandit_envs.logged import estimators
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.models import RewardRegression
from bandit_envs.nests import map_structure
from bandit_envs.policies import Policy
from bandit_envs.policies.draws import draw_indices, normalized
from bandit_envs.specs import ArraySpec
from bandit_envs.trajectories import TimeStep

LOGGING, EVALUATED = -3.0, 3.0  # how much the policies prefer good actions


class EstimationBandit(ContextualBandit):
    """An action estimates, from a log, what another policy earns: its regret is a squared error.

        R = -(100 (A - V))^2,    V = E[sum_a pi(a | x) q(x, a)]

    Each step has a new log of `log_size` decisions in `LogisticContextBandit`, with mean rewards q.
    In it, probabilities of actions are proportional to exp(-3 q); under the policy pi, to exp(3 q).

    Source: Saito et al., Open Bandit Dataset and Pipeline (2021), for the law and the policies.
    """

    def __init__(self, log_size: int = 1000, batch_size: int = 1, **options: Any) -> None:
        size = check_integer("log_size", log_size, minimum=2)
        columns = dict.fromkeys(("reward", "propensity"), ArraySpec((size,), np.float64))
        columns["action"] = ArraySpec((size,), np.int64)
        columns["context"] = ArraySpec((size, 5), np.float64)
        columns["probabilities"] = ArraySpec((size, 10), np.float64)
        rest = {"reward_spec": ArraySpec((), np.float64), "batch_size": batch_size, **options}
        super().__init__(columns, action_spec=ArraySpec((), np.float64, "estimate"), **rest)
        self._size, self._value = size, _law()[1]

    def _initial_state(self, rng: Rng) -> Any:
        law, rows = _law()[0], np.arange(self._batch_size * self._size)
        context = rng.standard_normal((len(rows), 5))
        means = law.expected_rewards_for(context)
        chances = normalized(np.exp(LOGGING * means))
        action = draw_indices(rng, chances)
        reward = (rng.random(len(rows)) < means[rows, action]).astype(np.float64)
        columns = {"context": context, "action": action, "reward": reward}
        columns["propensity"] = chances[rows, action]
        columns["probabilities"] = normalized(np.exp(EVALUATED * means))
        return {k: v.reshape(-1, self._size, *v.shape[1:]) for k, v in columns.items()}

    def _draw_rewards(self, rng: Rng, state: Any, action: Floats) -> Floats:
        return self._expected_reward(state, action)

    def _expected_reward(self, state: Any, action: Floats) -> Floats:
        return np.asarray(-((100.0 * (action - self._value)) ** 2))

    def _optimal_action(self, state: Any) -> Floats:
        return np.full(self._batch_size, self._value)


class EstimatePolicy(Policy):
    """Takes an estimate as its action, with rewards predicted by ridge regression."""

    _estimator: ClassVar[estimators.Estimator]

    @classmethod
    def arguments_for(cls, env: Any) -> dict[str, Any]:
        return {"num_actions": 1, "batch_size": env.batch_size}

    def action(self, time_step: TimeStep) -> Any:
        rows, observation = range(self.batch_size), time_step.observation
        logs = (map_structure(operator.itemgetter(row), observation) for row in rows)
        return np.array([self._value(**log) for log in logs])

    def _value(self, probabilities: Floats, context: Floats, **columns: Any) -> float:
        log, predicted = BanditLog(context, num_actions=10, **columns), None
        if self._estimator.needs_predictions:
            predicted = RewardRegression().predict(log)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of small samples
            return self._estimator.estimate(log, probabilities, predicted).value

    def _checked(self, action: Any, reward: Any) -> tuple[Floats, Floats]:
        return action, reward


class IPS(EstimatePolicy):
    """Estimates by inverse propensity scoring."""

    _estimator = estimators.InversePropensityScoring()


class SNIPS(EstimatePolicy):
    """Estimates by self-normalised inverse propensity scoring."""

    _estimator = estimators.SelfNormalizedIPS()


class DM(EstimatePolicy):
    """Estimates by the direct method."""

    _estimator = estimators.DirectMethod()


class DR(EstimatePolicy):
    """Estimates by the doubly robust method."""

    _estimator = estimators.DoublyRobust()


@functools.cache
def _law() -> tuple[LogisticContextBandit, float]:
    """Returns the law of the logs, and what the policy earns that is evaluated."""
    law = LogisticContextBandit()
    means = law.expected_rewards_for(np.random.default_rng(0).normal(size=(200_000, 5)))
    return law, float((normalized(np.exp(EVALUATED * means)) * means).sum(axis=1).mean())
