"""What an intercept changes: how far LinUCB stays from the best action, in problems at once."""

from typing import ClassVar

import numpy as np
import pytest

from bandit_envs import LinUCBPolicy, RandomPolicy, RegretMetric, StepDriver
from bandit_envs.environments import logistic_context
from bandit_envs.logged import LogRecorder, learn_from_log
from bandit_envs.specs import ArraySpec
from bandit_envs.trajectories import restart
from tests.policies.contextual_parts import teach

PROBLEMS = 40

STEPS = 600


class Ages:
    """Two actions, of which one is better for ages above 45. Random choice loses 0.3 a step."""

    spec = ArraySpec((1,), float)
    num_actions = 2
    noise = 0.3

    def draw(self, rng):
        ages = rng.uniform(18.0, 80.0, (PROBLEMS, 1))
        return ages, np.where((ages > 45.0) == [True, False], 0.8, 0.2)


class Prices:
    """Four items that are the better the cheaper they are. Random choice loses 0.12 a step."""

    spec: ClassVar = {"global": ArraySpec((1,), float), "per_arm": ArraySpec((4, 1), float)}
    num_actions = 4
    noise = 0.1

    def draw(self, rng):
        prices = rng.uniform(1.0, 5.0, (PROBLEMS, 4, 1))
        observation = {"global": rng.normal(size=(PROBLEMS, 1)), "per_arm": prices}
        return observation, 0.7 - 0.1 * prices[..., 0]


class Levels:
    """Four actions whose rewards are near 100. Random choice loses about 1.5 a step."""

    spec = ArraySpec((2,), float)
    num_actions = 4
    noise = 0.5

    def draw(self, rng):
        x = rng.normal(size=(PROBLEMS, 2))
        return x, 100.0 + x @ [[1.0, -1.0, 0.5, 0.0], [0.5, 1.0, -1.0, 0.0]] + [0.0, 0.5, 1.0, 1.5]


def regret_of(law, **options):
    """Returns the mean regret a step of LinUCB, which learns each problem by itself."""
    rng = np.random.default_rng(0)
    sizes = {"num_actions": law.num_actions, "batch_size": PROBLEMS, "independent_rows": True}
    policy = LinUCBPolicy(observation_spec=law.spec, **sizes, **options, seed=0)
    lost = np.empty(STEPS)
    rows = np.arange(PROBLEMS)
    for step in range(STEPS):
        observation, means = law.draw(rng)
        action = policy.action(restart(observation, PROBLEMS))
        paid = means[rows, action]
        lost[step] = np.mean(means.max(axis=1) - paid)
        teach(policy, observation, action, paid + law.noise * rng.normal(size=PROBLEMS))
    return lost.mean()


@pytest.mark.parametrize(
    ("law", "without", "highest"),
    [
        (Ages(), 0.2, 0.05),
        pytest.param(Prices(), 0.2, 0.005, marks=pytest.mark.slow),
        pytest.param(Levels(), 1.0, 0.1, marks=pytest.mark.slow),
    ],
    ids=["ages", "prices", "levels"],
)
def test_an_intercept_finds_what_features_alone_do_not(law, without, highest):
    assert regret_of(law) > without
    assert regret_of(law, intercept=True) < highest


@pytest.mark.parametrize(("intercept", "low", "high"), [(False, 0.06, 0.12), (True, 0.0, 0.03)])
def test_a_log_of_logistic_contexts_teaches_what_actions_pay_on_average(intercept, low, high):
    env = logistic_context(num_actions=3, context_dim=4, batch_size=5, seed=0)
    random = RandomPolicy(num_actions=3, batch_size=5, seed=1)
    recorder = LogRecorder(3, env)
    StepDriver(env, random, [recorder], num_steps=400, emit_log_probability=True).run()
    sizes = {"observation_spec": env.observation_spec(), "num_actions": 3, "batch_size": 5}
    policy = learn_from_log(LinUCBPolicy(intercept=intercept, **sizes, seed=1), recorder.log())
    regret = RegretMetric(env)
    StepDriver(env, policy, [regret], num_steps=200).run()
    assert low <= regret.result().cumulative.mean[-1] / 200 < high
