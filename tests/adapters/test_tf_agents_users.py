"""Users' own environments of TF-Agents in drivers, wrappers and recorders of this package."""

import numpy as np
import pytest

pytest.importorskip("tf_agents")

from tf_agents.environments import py_environment
from tf_agents.specs import array_spec
from tf_agents.trajectories import time_step as ts

from bandit_envs import (
    AverageRewardMetric,
    EpsilonGreedyPolicy,
    LinUCBPolicy,
    StepDriver,
)
from bandit_envs.adapters.tf_agents import BanditPyEnvironment, as_tf_agents, from_tf_agents
from bandit_envs.logged import LogRecorder
from bandit_envs.testing import assert_identical
from bandit_envs.wrappers import RandomActionMask, RescaleReward


class Signs(BanditPyEnvironment):
    """An action from 0 to 2 pays its product with the observation, an integer from -2 to 2."""

    def __init__(self):
        self._rng = np.random.default_rng(0)
        super().__init__(
            array_spec.BoundedArraySpec((1,), np.int32, -2, 2, "observation"),
            array_spec.BoundedArraySpec((), np.int32, 0, 2, "action"),
        )

    def _observe(self):
        self._observation = self._rng.integers(-2, 3, 1, np.int32)
        return self._observation

    def _apply_action(self, action):
        return action * self._observation


class BatchOfSigns(Signs):
    @property
    def batched(self):
        return True

    @property
    def batch_size(self):
        return 4

    def _observe(self):
        self._observation = self._rng.integers(-2, 3, (4, 1), np.int32)
        return self._observation

    def _apply_action(self, action):
        return np.asarray(action * self._observation[:, 0], np.float32)


class TwoSteps(py_environment.PyEnvironment):
    """Not a bandit: an episode has two steps."""

    def observation_spec(self):
        return array_spec.ArraySpec((), np.float32)

    def action_spec(self):
        return array_spec.BoundedArraySpec((), np.int32, 0, 1)

    def _reset(self):
        return ts.restart(np.float32(0))

    def _step(self, action):
        return ts.transition(np.float32(0), 1.0)


@pytest.mark.parametrize(("make", "rows"), [(Signs, 1), (BatchOfSigns, 4)])
def test_rewards_and_observations_are_those_of_the_environment(make, rows):
    env = from_tf_agents(make())
    assert (env.batch_size, env.num_actions) == (rows, 3)
    observation = env.reset().observation
    assert observation.shape == (rows, 1)
    for action in (0, 1, 2):
        time_step = env.step(np.full(rows, action))
        np.testing.assert_array_equal(time_step.reward, action * observation[:, 0])
        observation = time_step.observation


def test_a_policy_learns_in_it():
    env = from_tf_agents(BatchOfSigns())
    policy = LinUCBPolicy(
        observation_spec=env.observation_spec(), num_actions=3, batch_size=4, seed=1
    )
    reward = AverageRewardMetric()
    StepDriver(env, policy, [policy, reward], num_steps=300).run()
    assert reward.result().per_step.mean[-200:].mean() > 0.9  # the best is 1.2 on average


def test_wrappers_and_recorders_take_it():
    env = RandomActionMask(RescaleReward(from_tf_agents(BatchOfSigns()), (-4.0, 4.0)), 0.5)
    policy = EpsilonGreedyPolicy(0.5, num_actions=3, batch_size=4, seed=1)
    recorder = LogRecorder(num_actions=3)
    driver = StepDriver(env, policy, [recorder], num_steps=10, emit_log_probability=True)
    with pytest.warns(UserWarning, match="has not learned"):
        driver.run()
    log = recorder.log()
    assert len(log) == 40
    assert np.abs(log.reward).max() <= 4.0


def test_a_saved_state_repeats_the_run_of_an_environment_with_its_own_generator():
    env = from_tf_agents(BatchOfSigns())
    env.reset()
    saved = env.get_state()
    actions = np.array([0, 1, 2, 2])
    steps = [env.step(actions) for _ in range(5)]
    env.set_state(saved)
    assert_identical([env.step(actions) for _ in range(5)], steps)


def test_it_becomes_an_environment_of_tf_agents_again():
    adapted = as_tf_agents(from_tf_agents(Signs()))
    assert adapted.reset().is_first().all()
    assert adapted.step(np.array([1])).is_last().all()


def test_an_environment_with_longer_episodes_is_refused_when_it_steps():
    env = from_tf_agents(TwoSteps())
    env.reset()
    with pytest.raises(ValueError, match="expected a bandit, each of whose steps is LAST"):
        env.step([0])


class WrongShapes(Signs):
    """Its observations or rewards are not as its specs say."""

    def __init__(self, observation, reward):
        super().__init__()
        self._shown = observation
        self._paid = reward

    def _observe(self):
        return self._shown

    def _apply_action(self, action):
        return self._paid


@pytest.mark.parametrize(
    ("observation", "reward", "message"),
    [
        (np.ones(2, np.int32), 1.0, r"an observation of WrongShapes has shape \(2,\)"),
        (np.ones(1, np.int32), np.ones(3), r"a reward of WrongShapes has shape \(3,\)"),
    ],
)
def test_what_does_not_fit_the_spec_is_refused(observation, reward, message):
    env = from_tf_agents(WrongShapes(observation, reward))
    with pytest.raises(ValueError, match=message):
        env.step(env.reset().step_type)
