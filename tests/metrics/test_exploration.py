"""Metrics of exploration, against a loop over rows and steps."""

import numpy as np
import pytest

from bandit_envs import (
    ArraySpec,
    BanditPyEnvironment,
    BernoulliPyEnvironment,
    EpsilonGreedyPolicy,
    RandomPolicy,
    StepDriver,
)
from bandit_envs.metrics import GreedyChoiceMetric, MinimalFractionMetric, SuffixFailureMetric
from tests.cases import for_each

MEANS = [0.6, 0.4, 0.4]
ROWS, STEPS = 30, 25


@pytest.fixture(scope="module")
def run():
    """Returns the metrics, actions [T, B] and rewards [T, B] of a run."""
    env = BernoulliPyEnvironment(MEANS, batch_size=ROWS, seed=0)
    policy = EpsilonGreedyPolicy(0.1, num_actions=3, batch_size=ROWS, seed=1)
    metrics = [SuffixFailureMetric(env), MinimalFractionMetric(env), GreedyChoiceMetric(env)]
    seen = []
    observers = [policy, *metrics, lambda step: seen.append((step.action, step.reward))]
    StepDriver(env, policy, observers, STEPS).run()
    actions, rewards = map(np.array, zip(*seen))
    return metrics, actions, rewards


@for_each("steps", [1, 2, 9, STEPS])
def test_a_suffix_failure_is_a_second_half_without_the_best_action(run, steps):
    (metric, _, _), actions, _ = run
    failed = (actions[steps // 2 : steps] != 0).all(axis=0)
    assert metric.result().cumulative.mean[steps - 1] == pytest.approx(failed.mean())


@pytest.mark.parametrize("steps", [1, 4, STEPS])
def test_the_minimal_fraction_is_that_of_the_action_played_least(run, steps):
    (_, metric, _), actions, _ = run
    counts = [(actions[:steps] == action).sum(axis=0) for action in range(3)]
    expected = 3 * np.min(counts, axis=0) / steps
    assert metric.result().cumulative.mean[steps - 1] == pytest.approx(expected.mean())


def test_a_greedy_choice_had_the_best_mean_so_far(run):
    (_, _, metric), actions, rewards = run
    greedy = np.zeros((STEPS, ROWS))
    for row in range(ROWS):
        for step in range(STEPS):
            means = []
            for action in range(3):
                paid = rewards[:step, row][actions[:step, row] == action]
                means.append(paid.mean() if len(paid) else -np.inf)
            greedy[step, row] = 100 * (means[actions[step, row]] == max(means))
    assert metric.result().per_step.mean == pytest.approx(greedy.mean(axis=1))


def test_a_state_goes_on_where_it_was_saved(run):
    env = BernoulliPyEnvironment(MEANS, batch_size=2, seed=0)
    policy = EpsilonGreedyPolicy(0.1, num_actions=3, batch_size=2, seed=1)
    driver = StepDriver(env, policy, [policy, metric := SuffixFailureMetric(env)], 10)
    driver.run()
    state = driver.get_state()
    driver.run()
    first = metric.totals
    driver.set_state(state)
    driver.run()
    assert (metric.totals == first).all()


class UnknownMeans(BanditPyEnvironment):
    """Pays 1 for each of two actions, and does not tell what it expects to pay."""

    def __init__(self):
        super().__init__(ArraySpec((1,), np.float32), num_actions=2, seed=0)

    def _initial_state(self, rng):
        return np.zeros(1)

    def _draw_rewards(self, rng, state, action):
        return np.ones(1)


@pytest.mark.parametrize("kind", [GreedyChoiceMetric, MinimalFractionMetric])
def test_only_suffix_failures_need_expected_rewards(kind):
    env = UnknownMeans()
    policy = RandomPolicy(num_actions=2, seed=1)
    metric = kind(env)
    StepDriver(env, policy, [metric], num_steps=3).run()
    assert len(metric.result().per_step.mean) == 3
    with pytest.raises(NotImplementedError, match="expected rewards"):
        StepDriver(env, policy, [SuffixFailureMetric(env)], num_steps=3).run()
