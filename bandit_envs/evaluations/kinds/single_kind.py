"""Actions of which each is one of K."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.evaluations.candidates import Candidate, name_candidate
from bandit_envs.evaluations.contenders import Contender, first_batch
from bandit_envs.evaluations.kinds.log_kind import LogKind
from bandit_envs.evaluations.logs import OpenLog
from bandit_envs.logged import BanditLog, Estimator
from bandit_envs.logged.estimators.terms import Terms
from bandit_envs.logged.features import has_items, spec_of_rows
from bandit_envs.logged.probabilities import tabulate
from bandit_envs.logged.translation import see_as
from bandit_envs.policies import ConstantPolicy, Policy
from bandit_envs.policies.contextual import ContextualPolicy, lacks_constant
from bandit_envs.policies.models.constant_feature import LACKS_CONSTANT
from bandit_envs.policies.models.inputs import InputReader
from bandit_envs.policies.parts.registry import MOST_PRODUCTS

SAMPLES = 100
"""Choices that are counted of a policy that does not know its probabilities."""

ROWS_OF_AN_ACTION = 10
"""From so many rows an action on, the error of DR is not above that of SNIPS by more than noise.

Where features tell rewards it is half of it. With fewer, the regressions of rewards have little to
learn from.
"""


LACKS_PRODUCTS = (
    "is linear, so it ranks items alike in every context; with interactions=true, its model learns "
    f"from products of columns, which is the default for up to {MOST_PRODUCTS} products"
)
"""A sentence without its subject, the name of a policy."""


class SingleActions(LogKind):
    """One of K actions: policies tell the probabilities of all of them.

    Args:
        num_models: of rewards, which need rows to learn from: one for each action; or the features
            of the model that all items share.
    """

    name = "single action"
    estimators = (Estimator,)
    learns = True

    def __init__(self, num_models: int) -> None:
        self._num_models = num_models

    @classmethod
    def of_log(cls, log: OpenLog) -> SingleActions:
        """Returns the kind of the actions of a log."""
        empty = log.summary.empty
        if empty is None or not has_items(empty):
            return cls(log.summary.num_actions)
        reader = InputReader(spec_of_rows(empty.observation))
        return cls(reader.sizes(num_rows=1).num_features)

    def default_estimators(self, rows: int) -> Sequence[str]:
        is_long = rows >= ROWS_OF_AN_ACTION * self._num_models
        return ["dr"] if is_long else ["ips", "snips"]

    def title(self, log: OpenLog, estimators: Iterable[str]) -> str:
        return log.title

    def enter(self, contender: Contender, log: OpenLog, training_rows: int | None) -> Candidate:
        candidate = contender.enter(log, training_rows)
        remarks = [*candidate.remarks, *find_remarks(candidate, log)]
        return dataclasses.replace(candidate, remarks=remarks)

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


def find_remarks(candidate: Candidate, log: OpenLog) -> Iterator[str]:
    """Yields what a policy lacks in a log: a constant, products of columns, or its item."""
    policy = candidate.policy
    with name_candidate(candidate):
        observation = see_as(policy.encoding, first_batch(log))
        if lacks_constant(policy, observation):
            yield LACKS_CONSTANT
    encoding = log.summary.encoding
    is_linear = isinstance(policy, ContextualPolicy) and policy.model.is_linear
    if is_linear and encoding is not None and encoding.features and encoding.item_features:
        yield LACKS_PRODUCTS
    if not isinstance(policy, ConstantPolicy):
        return
    if policy.item is not None:
        without = log.size - log.summary.items.count_offers(policy.item)
        yield f"chooses uniformly in {without} of {log.size} rows, where its item is not offered"
    elif log.summary.offers is not None:
        without = log.size - int(log.summary.offers[policy.number])
        if without:
            found = f"chooses uniformly in {without} of {log.size} rows"
            yield f"{found}, where its action is not available"
