import math

import numpy as np
import pytest

from bandit_envs import UCBPolicy


class Row:
    """One row of the book's algorithm, written out."""

    def __init__(self, c, num_actions):
        self.c = c
        self.rewards = [[] for _ in range(num_actions)]

    def candidates(self):
        untried = {action for action, seen in enumerate(self.rewards) if not seen}
        if untried:
            return untried
        t = 1 + sum(len(seen) for seen in self.rewards)
        bounds = [
            sum(seen) / len(seen) + self.c * math.sqrt(math.log(t) / len(seen))
            for seen in self.rewards
        ]
        return {a for a, bound in enumerate(bounds) if bound >= max(bounds) - 1e-12}


@pytest.mark.parametrize("c", [0.01, 1.0, 2.0, 50.0])
def test_actions_are_those_of_the_book(teach, time_step, c):
    rng = np.random.default_rng(0)
    rows = [Row(c, num_actions=5) for _ in range(6)]
    policy = UCBPolicy(c, num_actions=5, batch_size=6, seed=0)
    means = rng.normal(size=(6, 5))
    for _ in range(150):
        actions = policy.action(time_step(6))
        rewards = rng.normal(means[np.arange(6), actions]).astype(np.float32)
        for row, action, reward in zip(rows, actions, rewards):
            assert action in row.candidates()
            row.rewards[action].append(float(reward))
        teach(policy, [actions], [rewards])


def test_untried_actions_come_first_in_random_order(teach, time_step, chi_square):
    size = 30_000
    policy = UCBPolicy(2.0, num_actions=3, batch_size=size, seed=0)
    tried = []
    for _ in range(3):
        tried.append(policy.action(time_step(size)))
        teach(policy, [tried[-1]], [np.full(size, 1000.0)])
    np.testing.assert_array_equal(np.sort(tried, axis=0), np.tile([[0], [1], [2]], size))
    orders = np.bincount(tried[0] * 3 + tried[1], minlength=9)
    # Six orders, five degrees of freedom: 6 standard deviations above the mean.
    assert chi_square(orders[orders > 0], np.full(6, 1 / 6)) < 5 + 6 * np.sqrt(10)
