"""Rules that look for the best action, written out with loops, one row at a time."""

import numpy as np

from bandit_envs.trajectories import Trajectory, restart, termination

B = 4


class Row:
    """What one row has seen of K actions: lists of rewards, and the order of choices."""

    def __init__(self, num_actions):
        self.seen = [[] for _ in range(num_actions)]
        self.order = []

    def add(self, action, reward):
        self.seen[action].append(reward)
        self.order.append(action)

    def mean(self, action):
        return sum(self.seen[action]) / len(self.seen[action])

    def latest(self, action):
        return max(step for step, chosen in enumerate(self.order) if chosen == action)

    def best(self, actions, number=1, mean=None):
        """Returns the best actions, first the best; of equal ones, first that chosen last."""
        mean = mean or self.mean
        return sorted(actions, key=lambda a: (mean(a), self.latest(a)), reverse=True)[:number]


def assert_follows(policy, rule, rewards):
    """Requires the choices, the stops and the recommendations of a policy to be those of a rule.

    Args:
        policy: of B rows.
        rule: returns a generator for a `Row`. It yields the actions of which the next one is; at
            the end, it returns the recommendation.
        rewards: of each action, in each row and step: [T, B, K].
    """
    rows = [Row(policy.num_actions) for _ in range(B)]
    rules = [rule(row) for row in rows]
    before = restart(np.ones((B, 1)), B)
    expected = [next(each) for each in rules]
    for values in rewards:
        probabilities = policy.probabilities(before)
        action = policy.action(before)
        reward = values[np.arange(B), action]
        stopped = policy.stopped
        assert stopped.tolist() == [not isinstance(each, list) for each in expected]
        for row in range(B):
            chosen_from = np.flatnonzero(probabilities[row]).tolist()
            if stopped[row]:
                assert chosen_from == [expected[row]] == [policy.recommend(before)[row]]
                continue
            assert set(chosen_from) <= set(expected[row])
            rows[row].add(action[row], reward[row])
            try:
                expected[row] = next(rules[row])
            except StopIteration as end:
                expected[row] = end.value
        after = termination(before.observation, reward, np.float64)
        policy(Trajectory.from_transition(before, action, after))
