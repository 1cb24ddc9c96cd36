"""What an action met, for metrics of the package and of users."""

import numpy as np
import pytest

from bandit_envs import KArmedTestbed, OptimalActionMetric, RandomPolicy, RegretMetric, StepDriver
from bandit_envs.environments import CascadeBandit, ContinuousBandit, KnapsackBandit
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.metrics import Metric
from bandit_envs.policies import RandomSlatePolicy
from bandit_envs.testing import assert_identical
from bandit_envs.wrappers import (
    AffineReward,
    DelayedRewards,
    ExtraDisabledActions,
    OneProblem,
    RandomActionMask,
)
from tests.cases import for_each

B = 3


class OwnMetric(Metric):
    """A metric of a user's, which keeps the environment to ask it."""

    def __init__(self, env):
        super().__init__()
        self._env = env


class RankMetric(OwnMetric):
    """How many actions were better than the one that was taken."""

    def _values(self, trajectory):
        met = self._env.means_met()
        taken = met.means.of(met.action)
        return (met.means.table > taken[:, np.newaxis]).sum(axis=1)


class LostMetric(OwnMetric):
    """Regret, of any kind of action."""

    def _values(self, trajectory):
        met = self._env.means_met()
        return met.means.optimum.reward - met.means.of(met.action)


def drifting(**options):
    return KArmedTestbed(5, batch_size=B, drift_std=1.0, seed=0, **options)


def masked_problem():
    return RandomActionMask(AffineReward(OneProblem(drifting()), 2.0, 1.0), 0.6)


ENVS = {
    "testbed": drifting,
    "episodes": lambda: drifting(horizon=4),
    "affine": lambda: AffineReward(drifting(), 2.0, 1.0),
    "masked": lambda: RandomActionMask(drifting(), 0.6),
    "extra": lambda: ExtraDisabledActions(drifting(), 2),
    "delayed": lambda: DelayedRewards(drifting(), 2),
    "one problem": lambda: OneProblem(drifting()),
    "masked problem": masked_problem,
    **{
        name: lambda name=name: ENVIRONMENTS[name].make(batch_size=B, seed=0)
        for name in ("wheel", "per_arm", "rotting", "restless_markov", "piecewise_bernoulli")
    },
}


@pytest.mark.parametrize("make", ENVS.values(), ids=ENVS)
def test_a_metric_of_a_user_reads_the_means_that_the_action_met(make):
    env = make()
    policy = RandomPolicy(**RandomPolicy.arguments_for(env), seed=1)
    rank, lost, best, regret = (
        kind(env) for kind in (RankMetric, LostMetric, OptimalActionMetric, RegretMetric)
    )
    StepDriver(env, policy, [rank, lost, best, regret], 30).run()
    assert_identical(lost.totals, regret.totals, "regret by the means met")
    is_best = rank.result().per_step.mean == 0.0
    assert ((best.result().per_step.mean == 100.0) == is_best).all()
    assert rank.totals.min() > 0.0


@for_each("make", ENVS.values())
def test_the_means_met_are_those_before_the_step(make):
    env = make()
    policy = RandomPolicy(**RandomPolicy.arguments_for(env), seed=1)
    time_step = env.reset()
    assert env.means_met() is None
    for _ in range(9):
        now = env.means_now()
        before = np.array(now.table), now.optimum
        assert_identical(before[0], env.expected_rewards(), "the table")
        action = policy.action(time_step)
        time_step = env.step(action)
        met = env.means_met()
        if time_step.is_first().all():
            assert met is None
            continue
        np.testing.assert_array_equal(met.action, action)
        assert_identical(met.means.table, before[0], "the table that was met")
        assert_identical(met.means.optimum, before[1], "the optimum that was met")


@for_each("make", ENVS.values())
def test_nobody_writes_into_the_means_that_an_environment_keeps(make):
    env = make()
    env.reset()
    env.step(env.optimal_action())
    met = env.means_met()
    kept = (met.action, met.means.table, *met.means.optimum, *env.means_now().optimum)
    for array in (*kept, env.means_now().table):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.setflags(write=True)


def test_slates_and_numbers_have_means_of_the_action_taken():
    slates = CascadeBandit(num_slots=2, batch_size=B, seed=0)
    lost, regret = LostMetric(slates), RegretMetric(slates)
    policy = RandomSlatePolicy(**RandomSlatePolicy.arguments_for(slates), seed=1)
    StepDriver(slates, policy, [lost, regret], 20).run()
    assert_identical(lost.totals, regret.totals, "regret by the means met")
    numbers = ContinuousBandit(batch_size=B, seed=0)
    numbers.reset()
    numbers.step(numbers.optimal_action())
    met = numbers.means_met()
    assert (met.means.of(met.action) == met.means.optimum.reward).all()
    with pytest.raises(NotImplementedError):
        _ = met.means.table


def test_means_of_vectors_are_tables_of_vectors():
    env = KnapsackBandit([1.0, 0.0], [1.0, 0.5], budget=2, batch_size=B, seed=0)
    env.reset()
    env.step([0, 1, 0])
    met = env.means_met()
    assert met.means.of(met.action).tolist() == [[1.0, 1.0], [0.0, 0.5], [1.0, 1.0]]
    with pytest.raises(NotImplementedError):
        _ = met.means.optimum


def test_means_are_unknown_before_the_first_reset():
    for env in (drifting(), AffineReward(drifting())):
        assert env.means_met() is None
        with pytest.raises(ValueError, match="reset"):
            env.means_now()
