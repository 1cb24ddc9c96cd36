"""How a service draws an action from a policy, and with which probability."""

from __future__ import annotations

import abc
import copy
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Mask, Rng, read_only
from bandit_envs.base.checks import check_integer, check_number
from bandit_envs.nests import Nest, map_structure
from bandit_envs.policies import Policy
from bandit_envs.policies.contextual import ContextualPolicy
from bandit_envs.policies.draws import draw_indices, uniform
from bandit_envs.policies.rules import Mixed
from bandit_envs.trajectories import TimeStep, restart

SAMPLES = 100
"""The choices of a rule inside `Mixed`, if it does not know its probabilities."""


FIRST: TimeStep = map_structure(read_only, restart((), 1))
"""The time step of a decision, without its observation."""


class DrawnAction(NamedTuple):
    """An action, and the probability with which it was drawn."""

    action: int
    probability: float


class ChoiceLaw(abc.ABC):
    """Draws actions from what a policy knows.

        p(a) = (1 - epsilon) p_policy(a) + epsilon / K

    Args:
        epsilon: the probability of drawing any of K available actions instead.
    """

    def __init__(self, epsilon: float) -> None:
        self.epsilon = check_number("epsilon", epsilon, 0.0, 1.0)

    def choose(self, policy: Policy, observation: Nest, available: Mask, rng: Rng) -> DrawnAction:
        """Draws an action, as a function of what is given and nothing else.

        Args:
            policy: with one row.
            observation: of one row.
            available: [K], which actions may be drawn.
            rng: draws.
        """
        table = self._tabulate(policy, observation, rng)
        if self.epsilon:
            table = (1.0 - self.epsilon) * table + self.epsilon * uniform(available[np.newaxis])
        action = int(draw_indices(rng, table)[0])
        return DrawnAction(action, min(1.0, float(table[0, action])))

    def forget(self) -> None:  # noqa: B027  # most laws keep nothing
        """Forgets what it keeps of a policy, as the policy has changed."""

    @abc.abstractmethod
    def _tabulate(self, policy: Policy, observation: Nest, rng: Rng) -> Floats:
        """Returns the probabilities of the policy: [1, K]."""


class KnownLaw(ChoiceLaw):
    """Of a policy that knows its probabilities."""

    def _tabulate(self, policy: Policy, observation: Nest, rng: Rng) -> Floats:
        return policy.probabilities(FIRST._replace(observation=observation))


class SampledLaw(ChoiceLaw):
    """Of a policy that can only choose: the frequencies in some choices are the probabilities.

    One of the choices is drawn. So the action has the law of the policy; given the choices, its
    probability is its frequency, which is at least 1 / samples.

    Args:
        epsilon: as for `ChoiceLaw`.
        samples: the number of choices.
    """

    def __init__(self, epsilon: float, samples: int) -> None:
        super().__init__(epsilon)
        self._samples = samples
        self._wide: Policy | None = None

    def forget(self) -> None:
        self._wide = None

    def _tabulate(self, policy: Policy, observation: Nest, rng: Rng) -> Floats:
        if self._wide is None:
            self._wide = _without_epsilon(policy).replicate(self._samples)
        repeated = map_structure(self._repeat, observation)
        chosen = self._wide.estimated_probabilities(restart(repeated, self._samples), 1, rng)
        return np.asarray(chosen.mean(axis=0, keepdims=True))

    def _repeat(self, row: Any) -> Any:
        return np.repeat(row, self._samples, axis=0)


def make_law(policy: Policy, samples: int | None, epsilon: float) -> ChoiceLaw:
    """Returns how to draw actions.

    Raises:
        TypeError: the policy does not know its probabilities, and `samples` is None.
        ValueError: the policy knows them, and `samples` is given.
    """
    if samples is not None:
        check_integer("samples", samples, minimum=1)
    if policy.knows_probabilities:
        if samples is not None:
            found = f"samples is {samples}, and {type(policy).__name__} knows its probabilities"
            raise ValueError(f"{found}; expected None")
        return KnownLaw(epsilon)
    mixed = _epsilon_of(policy)
    if samples is None and not mixed:
        name = type(policy).__name__
        problem = f"{name} does not know the probabilities of its actions"
        advice = "samples=100 takes them from 100 choices, and epsilon=0.05 bounds them from below"
        raise TypeError(f"{problem}: {policy!r}; {advice}")
    total = 1.0 - (1.0 - check_number("epsilon", epsilon, 0.0, 1.0)) * (1.0 - mixed)
    return SampledLaw(total, SAMPLES if samples is None else samples)


def _epsilon_of(policy: Policy) -> float:
    """Returns `epsilon` of a policy whose rule is `Mixed`; 0 for any other policy."""
    rule = policy.rule if isinstance(policy, ContextualPolicy) else None
    return rule.epsilon if isinstance(rule, Mixed) else 0.0


def _without_epsilon(policy: Policy) -> Policy:
    """Returns a policy with the rule inside `Mixed`; another one as it is."""
    if not isinstance(policy, ContextualPolicy) or not isinstance(policy.rule, Mixed):
        return policy
    inner = copy.copy(policy)
    inner.rule = policy.rule.rule
    return inner
