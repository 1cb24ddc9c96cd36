"""Experiments: studies of policies, and the figures of the book."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from bandit_envs.drivers import StepDriver
from bandit_envs.environments import KArmedTestbed
from bandit_envs.metrics import AverageRewardMetric, MetricResult, OptimalActionMetric, RegretMetric
from bandit_envs.policy_specs import PolicySpec

RUNS_A_BLOCK = 2000
"""Runs simulated as one batch. Fixed, so that results do not depend on how a study is run."""

STEPS_A_REPORT = 50
"""Steps between two calls of a progress callback."""


@dataclasses.dataclass(frozen=True)
class TestbedStudy:
    """Policies on k-armed testbeds. Each policy meets the same ones.

    Args:
        policies: the policies.
        runs: how many testbeds.
        steps: pulls in each.
        arms: k.
        value_mean: mean of the arm values.
        seed: of testbeds and policies.
    """

    policies: tuple[PolicySpec, ...]
    runs: int = 2000
    steps: int = 1000
    arms: int = 10
    value_mean: float = 0.0
    seed: int = 0


@dataclasses.dataclass(frozen=True)
class Result:
    """How one policy did.

    Fields:
        policy: the policy.
        reward: of the average reward.
        percent_optimal: of the percentage of optimal actions, 0 to 100.
        regret: of the regret.
        steps_per_second: steps of single runs simulated in a second.
    """

    policy: PolicySpec
    reward: MetricResult
    percent_optimal: MetricResult
    regret: MetricResult
    steps_per_second: float


def run_testbed(
    study: TestbedStudy, policy: PolicySpec, on_steps: Callable[[int], None] = lambda steps: None
) -> Result:
    """Runs one policy of a study.

    Args:
        study: what to run it on.
        policy: the policy.
        on_steps: called now and then with the number of steps of single runs done since.
    """
    started = time.perf_counter()
    parts = [
        _run_block(study, policy, block, runs, on_steps)
        for block, runs in enumerate(_blocks(study.runs))
    ]
    reward, optimal, regret = (
        functools.reduce(MetricResult.merge, results) for results in zip(*parts)
    )
    seconds = time.perf_counter() - started
    return Result(policy, reward, optimal, regret, study.runs * study.steps / seconds)


def _blocks(runs: int) -> Iterator[int]:
    for start in range(0, runs, RUNS_A_BLOCK):
        yield min(RUNS_A_BLOCK, runs - start)


def _run_block(
    study: TestbedStudy,
    policy_spec: PolicySpec,
    block: int,
    runs: int,
    on_steps: Callable[[int], None],
) -> tuple[MetricResult, ...]:
    # By position alone, so that every policy meets the same problems, whichever others there are.
    env_seed, policy_seed = np.random.SeedSequence(study.seed, spawn_key=(block,)).spawn(2)
    env = KArmedTestbed(study.arms, batch_size=runs, seed=env_seed, value_mean=study.value_mean)
    policy = policy_spec.make(env, policy_seed)
    metrics = AverageRewardMetric(), OptimalActionMetric(env), RegretMetric(env)
    for start in range(0, study.steps, STEPS_A_REPORT):
        steps = min(STEPS_A_REPORT, study.steps - start)
        StepDriver(env, policy, (policy, *metrics), steps).run()
        on_steps(runs * steps)
    return tuple(metric.result() for metric in metrics)


@dataclasses.dataclass(frozen=True)
class Figure:
    """A figure of the book: what runs, and what is drawn of it.

    Fields:
        title: what it shows.
        policies: their specs.
        panels: which results are drawn, from top to bottom: `reward`, `percent_optimal`; none for
            the parameter study.
        value_mean: mean of the arm values.
    """

    title: str
    policies: tuple[str, ...]
    panels: tuple[str, ...]
    value_mean: float = 0.0


def _powers_of_two(spec: str, low: int, high: int) -> tuple[str, ...]:
    return tuple(f"{spec}={2.0**power!r}" for power in range(low, high + 1))


FIGURES: Mapping[str, Figure] = {
    "2.2": Figure(
        "Average performance of epsilon-greedy action-value methods",
        ("greedy", "epsilon_greedy:epsilon=0.01", "epsilon_greedy:epsilon=0.1"),
        ("reward", "percent_optimal"),
    ),
    "2.3": Figure(
        "The effect of optimistic initial values",
        (
            "greedy:initial_value=5,step_size=0.1",
            "epsilon_greedy:epsilon=0.1,initial_value=0,step_size=0.1",
        ),
        ("percent_optimal",),
    ),
    "2.4": Figure(
        "Average performance of UCB action selection",
        ("ucb:c=2", "epsilon_greedy:epsilon=0.1"),
        ("reward",),
    ),
    "2.5": Figure(
        "Gradient bandits with and without a baseline, arm values about 4",
        (
            "gradient:step_size=0.1",
            "gradient:step_size=0.4",
            "gradient:step_size=0.1,baseline=false",
            "gradient:step_size=0.4,baseline=false",
        ),
        ("percent_optimal",),
        value_mean=4.0,
    ),
    "2.6": Figure(
        "Parameter study",
        (
            *_powers_of_two("epsilon_greedy:epsilon", -7, -2),
            *_powers_of_two("gradient:step_size", -5, 2),
            *_powers_of_two("ucb:c", -4, 2),
            *_powers_of_two("greedy:step_size=0.1,initial_value", -2, 2),
        ),
        (),
    ),
}
"""The book's figures of chapter 2 that the testbed reproduces.

Source: Sutton & Barto, Reinforcement Learning, 2nd ed., figures 2.2 to 2.6.
"""
