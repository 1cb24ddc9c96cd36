"""What the tests of all policies share."""

import numpy as np
import pytest

from bandit_envs.trajectories import Trajectory, restart, termination


def first_step(batch_size):
    return restart(np.ones((batch_size, 1), np.float32), batch_size)


@pytest.fixture
def time_step():
    """Makes the time step that a batch of the testbed starts with."""
    return first_step


@pytest.fixture
def teach():
    """Shows a policy the rewards [T, B] of actions [T, B], step by step."""

    def teach(policy, actions, rewards):
        for action, reward in zip(actions, rewards):
            before = first_step(len(action))
            after = termination(before.observation, reward, np.asarray(reward).dtype)
            policy(Trajectory.from_transition(before, action, after))

    return teach


@pytest.fixture
def learned():
    """Returns what a policy has learned."""
    return lambda policy: policy.get_state().content.learned


@pytest.fixture
def lesson():
    """Actions and rewards of 60 steps, 7 rows and 4 actions: some chosen often, some never."""
    rng = np.random.default_rng(20)
    actions = np.minimum(rng.integers(0, 5, (60, 7)), rng.integers(1, 5, 7) - 1).astype(np.int32)
    return actions, rng.normal(1.0, 2.0, (60, 7)).astype(np.float32)


@pytest.fixture
def chi_square():
    """Returns the chi-square statistic of counts against probabilities.

    With k cells, its mean is k - 1 and its standard deviation sqrt(2 (k - 1)).
    """

    def chi_square(counts, probabilities):
        expected = np.sum(counts) * np.asarray(probabilities)
        return float(np.sum((counts - expected) ** 2 / expected))

    return chi_square
