"""`bandit-envs watch`: an animation of one row of a bandit, and of what a policy knows of it."""

import argparse
import contextlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import check_integer
from bandit_envs.base.saving import check_replaceable
from bandit_envs.cli.console import OUT
from bandit_envs.drivers import StepDriver
from bandit_envs.environments.environment_choice import Environment, EnvironmentChoice
from bandit_envs.names.users_code import name_in_errors
from bandit_envs.policies import Policy
from bandit_envs.policies.delayed import learner
from bandit_envs.policies.policy_choice import PolicyChoice
from bandit_envs.rendering import Knowledge
from bandit_envs.rendering.animation import check_animation_file, write_animation
from bandit_envs.trajectories import Trajectory

PICTURES_A_SECOND = 4


def watch(options: argparse.Namespace) -> int:
    """Writes an animation of the first row."""
    check_animation_file(options.output)
    check_replaceable(options.output)
    steps = check_integer("steps", options.steps, 1)
    (place,) = EnvironmentChoice.expand(options.environment)
    (rule,) = PolicyChoice.expand(options.policy)
    seeds = np.random.SeedSequence(0).spawn(2)
    subject = f"policy {rule} in environment {place}"
    with name_in_errors(subject, *place.modules, *rule.modules):
        env = place.make(1, seeds[0])
        policy = rule.make(env, seeds[1])
        images = _draw_steps(env, policy, steps, ", ".join(rule.parts()))
        number = write_animation(images, options.output, PICTURES_A_SECOND)
    OUT.print(f"{options.output}: {number} pictures", soft_wrap=True)
    return 0


def _draw_steps(
    env: Environment, policy: Policy, steps: int, label: str
) -> Iterator[NDArray[np.uint8]]:
    """Yields a picture before each step, and one in the end."""
    choices = _Choices(env)
    driver = StepDriver(env, policy, (learner(env, policy), choices), 1)
    env.reset()
    yield _draw(env, policy, choices, label)
    for _ in range(steps):
        driver.run()
        yield _draw(env, policy, choices, label)


class _Choices:
    """Counts how often each action was chosen in the first row, if an action is one integer."""

    def __init__(self, env: Environment) -> None:
        kind = env.action_kind
        self.counts: Floats | None = np.zeros(kind.num_actions) if kind.is_single else None

    def __call__(self, trajectory: Trajectory) -> None:
        if self.counts is not None:
            self.counts[trajectory.action[0]] += 1.0


def _draw(env: Environment, policy: Policy, choices: _Choices, label: str) -> NDArray[np.uint8]:
    """Returns a picture of the first row, with what the policy knows of it if it can tell that."""
    knowledge = Knowledge(label, None, choices.counts)
    with contextlib.suppress(NotImplementedError):
        knowledge = policy.describe(0)._replace(title=label)
    image: NDArray[np.uint8] = env.render("rgb_array", 0, knowledge)
    return image
