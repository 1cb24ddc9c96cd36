"""What a policy has lost to the best one for a whole run."""

import numpy as np
import pytest

from bandit_envs import (
    ConstantPolicy,
    KArmedTestbed,
    RegretMetric,
    RestedBandit,
    RestlessMarkovBandit,
    StepDriver,
    UCBPolicy,
)
from bandit_envs.environments import rising, rotting
from bandit_envs.metrics import GreedyChoiceMetric, LostRewardMetric, SuffixFailureMetric
from bandit_envs.wrappers import AffineReward, OneProblem, RandomActionMask
from tests.cases import for_each
from tests.wrappers.examples import Unchanged

B = 50


def play(env, policy, steps=1000):
    """Returns the lost reward and the one-step regret of each run: [2, B]."""
    metrics = [LostRewardMetric(env), RegretMetric(env)]
    StepDriver(env, policy, [policy, *metrics], steps).run()
    return np.array([metric.totals for metric in metrics])


@pytest.mark.parametrize(
    ("make", "arm", "lost", "regret"),
    [(rising, 0, 504.31, 0.0), (rising, 3, 0.0, 0.05), (rotting, 0, 26.93, 563.86)],
)
def test_lost_rewards_rank_arms_and_one_step_regrets_do_not(make, arm, lost, regret):
    found = play(make(), ConstantPolicy(arm, num_actions=4))
    assert found.ravel() == pytest.approx([lost, regret], abs=0.005)


def test_the_lost_reward_and_what_was_earned_make_the_optimum():
    env = rotting(batch_size=B, seed=0)
    lost = LostRewardMetric(env)
    earned = np.zeros(B)
    policy = UCBPolicy(c=1.0, num_actions=4, batch_size=B, seed=1)

    def add(trajectory):
        earned[:] += env.get_info()["expected_reward"]

    StepDriver(env, policy, [policy, lost, add], num_steps=300).run()
    assert lost.totals + earned == pytest.approx(env.optimum_of_run(300).earned[-1])
    assert (lost.totals > 0.0).all()


def test_each_episode_has_an_optimum_of_its_own():
    env = RestedBandit([[0.5, 0.5, 0.5], [0.0, 0.75, 1.0]], std=0.0, horizon=3)
    lost, _ = play(env, ConstantPolicy(0, num_actions=2), steps=9)
    assert lost == pytest.approx(3 * 0.25)


@pytest.mark.parametrize("steps", [150, 600])
def test_a_saved_metric_goes_on_where_it_was(steps):
    env = rising(batch_size=2, seed=0)
    policy = ConstantPolicy(1, num_actions=4, batch_size=2)
    metric = LostRewardMetric(env)
    driver = StepDriver(env, policy, [metric], num_steps=steps)
    driver.run()
    state = driver.get_state()
    driver.run()
    other = LostRewardMetric(env)
    again = StepDriver(env, policy, [other], num_steps=steps)
    again.set_state(state)
    again.run()
    assert other.totals.tolist() == metric.totals.tolist()


@pytest.mark.parametrize("kind", [LostRewardMetric, GreedyChoiceMetric, SuffixFailureMetric])
def test_a_state_of_another_number_of_rows_is_refused(kind):
    env = rising(batch_size=3)
    metric = kind(env)
    StepDriver(env, ConstantPolicy(1, num_actions=4, batch_size=3), [metric], 5).run()
    other = kind(rising(batch_size=2))
    with pytest.raises(ValueError, match="memory: "):
        other.set_state(metric.get_state())


@pytest.mark.parametrize("wrap", [Unchanged, OneProblem])
def test_wrappers_that_change_no_rewards_keep_the_optimum(wrap):
    env = wrap(rising(batch_size=3))
    assert env.actions_change_state
    assert env.optimum_of_run(20).earned == pytest.approx(rising().optimum_of_run(20).earned)


@for_each(
    "env",
    [
        RandomActionMask(rising(), 0.5),
        AffineReward(rising(), scale=2.0),
        KArmedTestbed(),
        Unchanged(KArmedTestbed()),
    ],
)
def test_an_unknown_optimum_is_refused(env):
    with pytest.raises(NotImplementedError, match="the optimum of a whole run is unknown"):
        LostRewardMetric(env)


class Wrong(RestedBandit):
    def __init__(self, **found):
        super().__init__([[0.0]])
        self._found = found

    def optimum_of_run(self, num_steps):
        return super().optimum_of_run(num_steps)._replace(**self._found)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ({"among": "some policies"}, "among is 'some policies'; expected one of all policies"),
        ({"earned": [1.0, 2.0]}, "earned has 2 numbers; expected 128"),
        ({"earned": np.full(128, np.nan)}, "earned is "),
    ],
)
def test_a_wrong_optimum_is_refused(found, message):
    with pytest.raises(ValueError, match=rf"Wrong.optimum_of_run\(128\).{message}"):
        LostRewardMetric(Wrong(**found))


def test_only_chains_that_the_actions_move_are_changed_by_them():
    assert not RestlessMarkovBandit().actions_change_state
    assert RestlessMarkovBandit(rested=True).actions_change_state
    assert OneProblem(RestlessMarkovBandit(rested=True)).actions_change_state
    assert not OneProblem(KArmedTestbed()).actions_change_state
