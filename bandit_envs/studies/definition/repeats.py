"""Whether runs of users' classes repeat: two runs with one seed must be the same."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from bandit_envs.drivers import StepDriver
from bandit_envs.environments.environment_choice import EnvironmentChoice
from bandit_envs.names.users_code import name_in_errors, name_in_interrupts
from bandit_envs.nests import Nest, flatten
from bandit_envs.policies.delayed import learner
from bandit_envs.policies.policy_choice import PolicyChoice
from bandit_envs.studies.definition.made_policy import make_policy
from bandit_envs.trajectories import Trajectory

ChosenPair: TypeAlias = tuple[EnvironmentChoice, PolicyChoice]

TRIED_RUNS = 8
"""A trial has at most so many runs: enough to meet choices at random that are rare."""

TRIED_STEPS = 8
"""They have at most so many steps."""

EXPECTED = "draws are from the rng that its hooks are given, not from np.random"
"""What keeps a class from repeating itself if it is not so."""

DRAWN = (("observation", "an environment"), ("action", "a policy"), ("reward", "an environment"))
"""What a step has, in the order in which it is made, and what makes it."""


class ChangingPolicyError(ValueError):
    """A user's policy does not repeat itself."""


def find_failing(pairs: Sequence[ChosenPair], runs: int, steps: int) -> Mapping[str, str]:
    """Tries each pair of classes twice, if one of them is a user's.

    Args:
        pairs: the environments and policies of a study.
        runs: of the study.
        steps: of the study.

    Returns:
        what is wrong with users' policies whose trials fail or differ, or that draw from
        `np.random`, by their texts.

    Raises:
        ValueError: an environment fails or differs.
    """
    tried = set()
    found: dict[str, str] = {}
    for environment, policy in pairs:
        names = (environment.name, policy.name)
        modules = [*environment.modules, *policy.modules]
        if modules and names not in tried:
            tried.add(names)
            subject = f"policy {policy} in environment {environment}"
            try:
                with name_in_interrupts(subject, *modules), name_in_errors(subject, *modules):
                    _check_repeats((environment, policy), runs, steps)
            except ValueError as error:
                changes = isinstance(error.__cause__, ChangingPolicyError)
                if environment.is_users and not changes:
                    raise
                same_class = [each for _, each in pairs if each.name == policy.name]
                alike = same_class if changes else [policy]
                found.update({str(each): str(error) for each in alike})
    return found


def _check_repeats(pair: ChosenPair, runs: int, steps: int) -> None:
    """Raises ValueError if two trials differ, or if their classes draw from `np.random`."""
    before = np.random.get_state(legacy=False)
    first = _try(pair, runs, steps)
    _check_same(first, _try(pair, runs, steps))
    if not _are_equal(np.random.get_state(legacy=False), before):
        error = ChangingPolicyError if pair[1].is_users else ValueError
        raise error(f"a trial has drawn from np.random; expected a class that repeats: {EXPECTED}")


def _try(pair: ChosenPair, runs: int, steps: int) -> list[Trajectory]:
    """Returns the steps of a trial, which has the same seeds each time."""
    environment, policy = pair
    env_seed, policy_seed = np.random.SeedSequence(0).spawn(2)
    env = environment.make(min(runs, TRIED_RUNS), env_seed)
    made = make_policy(environment, policy, env, env_seed, policy_seed)
    seen: list[Trajectory] = []

    def keep(trajectory: Trajectory) -> None:
        seen.append(copy.deepcopy(trajectory))

    observers = (learner(env, made), keep)
    StepDriver(env, made, observers, min(steps, TRIED_STEPS)).run()
    return seen


def _check_same(first: list[Trajectory], second: list[Trajectory]) -> None:
    """Raises ValueError if the steps of two trials differ; it names what differs first."""
    for number, (one, other) in enumerate(zip(first, second), 1):
        for field, maker in DRAWN:
            if not _are_equal(getattr(one, field), getattr(other, field)):
                found = f"two runs with one seed differ in the {field} of step {number}"
                error = ChangingPolicyError if field == "action" else ValueError
                raise error(f"{found}; expected {maker} that repeats itself: {EXPECTED}")


def _are_equal(first: Nest, second: Nest) -> bool:
    """Returns whether two nests of arrays have equal leaves."""
    return all(map(np.array_equal, flatten(first), flatten(second)))
