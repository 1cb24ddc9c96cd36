"""Whether runs of users' classes repeat: two runs with one seed must be the same."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from bandit_envs.drivers import StepDriver
from bandit_envs.environments.environment_choice import EnvironmentChoice
from bandit_envs.names.users_code import name_in_errors
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

DRAWN = (("observation", "an environment"), ("action", "a policy"), ("reward", "an environment"))
"""What a step has, in the order in which it is made, and what makes it."""


def check_repeats(pairs: Sequence[ChosenPair], runs: int, steps: int) -> None:
    """Tries each pair of classes twice, if one of them is a user's.

    Args:
        pairs: the environments and policies of a study.
        runs: of the study.
        steps: of the study.

    Raises:
        ValueError: the trials differ, as of a class that draws from `np.random`.
    """
    tried = set()
    for environment, policy in pairs:
        names = (environment.name, policy.name)
        modules = [*environment.modules, *policy.modules]
        if modules and names not in tried:
            tried.add(names)
            with name_in_errors(f"policy {policy} in environment {environment}", *modules):
                first = _try((environment, policy), runs, steps)
                _check_same(first, _try((environment, policy), runs, steps))


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
                draws = "draws are from the rng that its hooks are given, not from np.random"
                raise ValueError(f"{found}; expected {maker} that repeats itself: {draws}")


def _are_equal(first: Nest, second: Nest) -> bool:
    """Returns whether two nests of arrays have equal leaves."""
    return all(map(np.array_equal, flatten(first), flatten(second)))
