import numpy as np
import pytest

pytest.importorskip("gym")
pytest.importorskip("tf_agents")

import gym
from tf_agents.environments import gym_wrapper, suite_gym, utils
from tf_agents.policies import random_py_policy

from bandit_envs import KArmedTestbed
from bandit_envs.adapters.gym import GymEnv, RandomizedEnv
from bandit_envs.wrappers import AddActionMask

from ..wrappers.examples import per_arm_bandit
from .gymnasium_examples import Countdown


class Coin(RandomizedEnv):
    """Pays 1 for a guess that is right."""

    def __init__(self, seed=None):
        super().__init__(seed=seed)
        self.action_space = gym.spaces.Discrete(2)
        self.observation_space = gym.spaces.Box(0.0, 1.0, (1,), np.float32)

    def reset(self, *, seed=None, return_info=False, options=None):
        super().reset(seed=seed)
        return np.zeros(1, np.float32)

    def step(self, action):
        reward = float(self.np_random.randint(2) == action)
        return np.zeros(1, np.float32), reward, True, {}


ENVIRONMENTS = {
    "testbed, a stream": lambda: GymEnv(KArmedTestbed(k=3, seed=0)),
    "testbed with a horizon": lambda: GymEnv(KArmedTestbed(k=3, seed=0, horizon=4)),
    "per-arm bandit": lambda: GymEnv(per_arm_bandit(batch_size=1, num_actions=1)),
    "masked": lambda: GymEnv(AddActionMask(per_arm_bandit(batch_size=1, num_actions=1))),
    "randomized": lambda: Coin(seed=0),
}


@pytest.mark.parametrize("make", ENVIRONMENTS.values(), ids=ENVIRONMENTS)
@pytest.mark.parametrize("wrap", [gym_wrapper.GymWrapper, suite_gym.wrap_env])
def test_tf_agents_runs_it(make, wrap):
    env = wrap(make())
    utils.validate_py_environment(env, episodes=3)
    policy = random_py_policy.RandomPyPolicy(env.time_step_spec(), env.action_spec(), seed=0)
    time_step = env.reset()
    assert time_step.is_first()
    ends = 0
    for _ in range(20):
        time_step = env.step(policy.action(time_step).action)
        ends += bool(time_step.is_last())
    assert ends >= 4


def test_its_episodes_are_those_of_the_core():
    env = gym_wrapper.GymWrapper(GymEnv(KArmedTestbed(k=3, seed=5, horizon=3)))
    core = KArmedTestbed(k=3, seed=5, horizon=3)
    env.reset()
    core.reset()
    for action in [0, 1, 2, 0, 1, 1, 2, 0, 0]:
        time_step, expected = env.step(np.array(action)), core.step([action])
        assert time_step.step_type == expected.step_type[0]
        assert time_step.reward == expected.reward[0]
        assert np.array_equal(time_step.observation, expected.observation[0])


def test_a_time_limit_of_tf_agents_ends_its_episodes():
    env = suite_gym.wrap_env(GymEnv(KArmedTestbed(k=3, horizon=100)), max_episode_steps=2)
    env.reset()
    assert [bool(env.step(np.array(0)).is_last()) for _ in range(2)] == [False, True]


def test_seeding_through_tf_agents_reaches_it():
    rewards = []
    for _ in range(2):
        env = gym_wrapper.GymWrapper(GymEnv(KArmedTestbed(k=3)))
        assert env.seed(9) == [9]
        env.reset()
        rewards.append(float(env.step(np.array(1)).reward))
        assert set(env.get_info()) == {"best_arm", "expected_rewards"}
    assert rewards[0] == rewards[1]
    assert gym_wrapper.GymWrapper(Coin()).seed(9) == [9]


def test_the_action_mask_keeps_tf_agents_to_the_actions_that_are_available():
    env = gym_wrapper.GymWrapper(GymEnv(AddActionMask(per_arm_bandit(batch_size=1))))
    policy = random_py_policy.RandomPyPolicy(
        env.time_step_spec(),
        env.action_spec(),
        seed=0,
        observation_and_action_constraint_splitter=lambda seen: (seen, seen["action_mask"]),
    )
    time_step, actions = env.reset(), []
    for _ in range(100):  # an action that is not available would be refused
        actions.append(int(policy.action(time_step).action))
        time_step = env.step(np.array(actions[-1]))
    assert set(actions) == {0, 1, 2, 3}


def test_nested_actions_reach_it():
    env = gym_wrapper.GymWrapper(GymEnv(Countdown([3])))
    env.reset()
    time_step = env.step({"push": np.array([0.5, -1.0], np.float32), "choice": np.array(2)})
    assert float(time_step.reward) == 1.5
