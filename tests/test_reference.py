"""The testbed and the book's policies against reference numbers of chapter 2."""

import csv
import math
from functools import partial
from pathlib import Path

import pytest

from bandit_envs import (
    AverageRewardMetric,
    EpsilonGreedyPolicy,
    GradientBanditPolicy,
    KArmedTestbed,
    OptimalActionMetric,
    RandomPolicy,
    RegretMetric,
    StepDriver,
    UCBPolicy,
)

RUNS, STEPS, ARMS = 500, 1000, 10

POLICIES = {
    "random": RandomPolicy,
    "greedy": partial(EpsilonGreedyPolicy, 0.0),
    "epsilon_greedy_0.01": partial(EpsilonGreedyPolicy, 0.01),
    "epsilon_greedy_0.1": partial(EpsilonGreedyPolicy, 0.1),
    "optimistic_greedy_q5_step_0.1": partial(EpsilonGreedyPolicy, 0.0, 5.0, 0.1),
    "realistic_epsilon_greedy_0.1_step_0.1": partial(EpsilonGreedyPolicy, 0.1, 0.0, 0.1),
    "ucb_2": partial(UCBPolicy, 2.0),
    "gradient_0.1_baseline": partial(GradientBanditPolicy, 0.1),
    "gradient_0.1_no_baseline": partial(GradientBanditPolicy, 0.1, False),
    "gradient_0.4_baseline": partial(GradientBanditPolicy, 0.4),
    "gradient_0.4_no_baseline": partial(GradientBanditPolicy, 0.4, False),
}


def reference():
    """Returns the rows of the reference table."""
    path = Path(__file__).parent / "reference" / "testbed_chapter_2.csv"
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


@pytest.mark.parametrize("row", reference(), ids=lambda row: row["policy"])
def test_the_figures_of_the_book_are_reproduced(row):
    value_mean = 4.0 if row["figure"] == "2.5" else 0.0
    env = KArmedTestbed(ARMS, batch_size=RUNS, seed=0, value_mean=value_mean)
    policy = POLICIES[row["policy"]](num_actions=ARMS, batch_size=RUNS, seed=1)
    metrics = AverageRewardMetric(), OptimalActionMetric(env), RegretMetric(env)
    StepDriver(env, policy, [policy, *metrics], STEPS).run()
    reward, optimal, regret = (metric.result() for metric in metrics)
    measured = {
        "reward_t1000": reward.per_step.at(-1),
        "percent_optimal_t1000": optimal.per_step.at(-1),
        "mean_reward_1_to_1000": reward.mean,
        "cumulative_regret": regret.cumulative.at(-1),
    }
    for name, statistics in measured.items():
        expected, error = float(row[name]), float(row[f"{name}_se"])
        standard_error = math.hypot(float(statistics.standard_error), error)
        assert abs(float(statistics.mean) - expected) < 4 * standard_error, name


def test_every_policy_of_the_reference_is_run():
    assert {row["policy"] for row in reference()} == set(POLICIES)
