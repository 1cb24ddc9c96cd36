"""Draws the actions of a service, and writes its decisions."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.policies import Policy, SplitTestPolicy
from bandit_envs.serving.action_table import check_id
from bandit_envs.serving.contexts import FirstContexts
from bandit_envs.serving.offers import Available, ItemSets, one_each
from bandit_envs.serving.session import Session
from bandit_envs.serving.stored_rows import DecisionRow


class Decision(NamedTuple):
    """What a service has decided.

    Fields:
        id: names the decision, for its reward.
        action: the name of the action.
        probability: with which it was drawn.
    """

    id: str
    action: str
    probability: float


class Decider:
    """Decides by the policy of a session, and warns if other policies cannot be estimated well.

    Args:
        session: of the file.
        policy: as the user has made it.
    """

    def __init__(self, session: Session, policy: Policy) -> None:
        self._session = session
        self._first_contexts = FirstContexts(policy)
        # An action had the probability 1, though others were offered, and no test was over.
        self._was_certain = False
        self._is_warned = False

    def decide(
        self,
        contexts: Sequence[Any],
        available: Available,
        ids: Sequence[str] | None,
        actions: ItemSets,
    ) -> list[Decision]:
        """Returns the decisions of several contexts, as `DecisionService.decide_many` does."""
        session = self._session
        requests = session.offers.read(contexts, available, actions)
        if not requests:
            return []
        given = one_each("ids", ids, len(requests))
        names = [secrets.token_hex(16) if ids is None else check_id(name) for name in given]
        decisions = []
        with session.transaction():
            session.offers.prepare(requests)
            if not self._first_contexts.is_done:
                features = [*map(session.offers.features_of, requests)]
                self._first_contexts.add(np.concatenate(features))
            for name, request in zip(names, requests):
                row = None if ids is None else session.find(name)
                if row is None:
                    decisions.append(self._decide(name, request))
                    session.keeper.prepare()
                else:
                    decisions.append(self._repeat(row, request))
            session.keeper.finish()
        self._warn_of_certainty()
        return decisions

    def _repeat(self, row: DecisionRow, request: Any) -> Decision:
        """Returns an earlier decision; ValueError if the request does not offer its action."""
        action = self._session.offers.name(row)
        if not self._session.offers.is_offered(request, row):
            problem = f"id {row.id!r} has chosen {action!r} before, which is not available now"
            raise ValueError(f"{problem}; expected it among the actions, or a new id")
        return Decision(row.id, action, row.probability)

    def _decide(self, name: str, request: Any) -> Decision:
        """Draws and writes the next decision."""
        session = self._session
        offer = session.offers.offer(request)
        number = session.store.number + 1
        rng = np.random.default_rng([session.seed, number])
        choice = session.law.choose(session.keeper.policy, offer.observation, offer.mask, rng)
        row = DecisionRow(
            number=number,
            id=name,
            time=session.store.time,
            learned=session.keeper.number,
            action=choice.action,
            probability=choice.probability,
            available=offer.available,
            features=offer.features,
        )
        session.store.add_decision(row)
        if choice.probability == 1.0 and np.count_nonzero(offer.mask) > 1:
            self._was_certain |= not _is_over(session.keeper.policy)
        return Decision(name, offer.names[choice.action], choice.probability)

    def _warn_of_certainty(self) -> None:
        """Warns once if an action was certain, though there were others."""
        if self._was_certain and not self._is_warned:
            self._is_warned = True
            problem = "an action was drawn with the probability 1: the log tells nothing of others"
            warnings.warn(f"{problem}; epsilon=0.05 gives each a chance", stacklevel=4)


def _is_over(policy: Policy) -> bool:
    """Returns whether a policy is a test of variants that has stopped, so all see its winner."""
    return isinstance(policy, SplitTestPolicy) and policy.has_stopped
