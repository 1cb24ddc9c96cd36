"""Actions of which each is one of K."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.evaluations.candidates import Candidate, Contender
from bandit_envs.evaluations.kinds.log_kind import LogKind
from bandit_envs.evaluations.logs import OpenLog
from bandit_envs.logged import BanditLog, Estimator
from bandit_envs.logged.estimators.estimate import Terms
from bandit_envs.logged.probabilities import tabulate
from bandit_envs.policies import Policy

SAMPLES = 100
"""Choices that are counted of a policy that does not know its probabilities."""

ROWS_OF_AN_ACTION = 10
"""From so many rows an action on, the error of DR is not above that of SNIPS by more than noise.

Where features tell rewards it is half of it. With fewer, the regressions of rewards have little to
learn from.
"""


class SingleActions(LogKind):
    """One of K actions: policies tell the probabilities of all of them.

    Args:
        num_actions: K.
    """

    name = "single action"
    estimators = (Estimator,)
    learns = True

    def __init__(self, num_actions: int) -> None:
        self._num_actions = num_actions

    def default_estimators(self, rows: int) -> Sequence[str]:
        is_long = rows >= ROWS_OF_AN_ACTION * self._num_actions
        return ["dr"] if is_long else ["ips", "snips"]

    def title(self, log: OpenLog, estimators: Iterable[str]) -> str:
        return log.title

    def enter(self, contender: Contender, log: OpenLog, training_rows: int | None) -> Candidate:
        return contender.enter(log, training_rows).meet(log)

    def ask(self, policy: Policy, rows: BanditLog, rows_before: int) -> Floats:
        samples = None if policy.knows_probabilities else SAMPLES
        # The choices that are counted depend on the rows' place in the log, not on who reads them.
        return tabulate(policy, rows, samples, seed=rows_before, first_row=rows_before)

    def needs_predictions(self, estimator: Estimator) -> bool:
        return estimator.needs_predictions

    def terms(
        self, estimator: Estimator, rows: BanditLog, answer: Floats, predicted: Floats | None
    ) -> Terms:
        return estimator.terms(rows, answer[len(answer) - len(rows) :], predicted)

    def weights(self, rows: BanditLog, answer: Floats, terms: Mapping[str, Terms]) -> Floats:
        return np.asarray(answer[np.arange(len(rows)), rows.action] / rows.propensity)

    def table(self, answer: Floats) -> Floats:
        return answer

    def means(self, rows: BanditLog, answer: Floats | None) -> Floats:
        if rows.expected_rewards is None or rows.weight is not None:
            return np.zeros(0)
        table: Any = rows.action_probabilities if answer is None else answer
        if table is None:
            return np.asarray(rows.expected_rewards[np.arange(len(rows)), rows.action])
        # Those of actions that are not available may be infinite.
        means = np.where(table > 0.0, rows.expected_rewards, 0.0)
        return np.asarray((table * means).sum(axis=1))
