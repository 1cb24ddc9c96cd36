import inspect
import pickle

import numpy as np
import pytest

pytest.importorskip("gym")

import gym
from gym.utils.env_checker import check_env

from bandit_envs import KArmedTestbed
from bandit_envs.adapters.gym import GymEnv
from bandit_envs.environments.registry import find_environment
from bandit_envs.testing import assert_identical
from bandit_envs.wrappers import AddActionMask, AffineReward, ClipReward

from . import examples
from .examples import Countdown, assert_first_row

OLD = tuple(int(number) for number in gym.__version__.split(".")[:2])


def per_arm(**options):
    return examples.per_arm(batch_size=1, **options)


@pytest.mark.parametrize("make", [lambda **options: KArmedTestbed(4, **options), per_arm])
@pytest.mark.parametrize("wrap", [lambda env: env, lambda env: AffineReward(env, 2.0, 1.0)])
def test_its_trajectory_is_that_of_the_core(make, wrap):
    env, core = GymEnv(wrap(make()), expected_rewards=True), wrap(make(seed=3))
    observation, info = env.reset(seed=3, return_info=True)
    time_step = core.reset()
    for _ in range(20):
        assert env.observation_space.contains(observation)
        assert_first_row(observation, time_step.observation)
        np.testing.assert_array_equal(info["expected_rewards"], core.expected_rewards()[0])
        assert info["best_arm"] == core.optimal_action()[0]
        action = info["best_arm"]
        observation, reward, done, info = env.step(action)
        time_step = core.step([action])
        assert reward == time_step.reward[0]
        assert (type(reward), done) == (float, True)
        assert "TimeLimit.truncated" not in info


def test_a_horizon_cuts_episodes_off():
    env = GymEnv(KArmedTestbed(k=3, seed=0, horizon=3))
    env.reset()
    outcomes = [env.step(0)[2:] for _ in range(3)]
    assert [done for done, _ in outcomes] == [False, False, True]
    assert [info.get("TimeLimit.truncated") for _, info in outcomes] == [None, None, True]
    before = env.env.expected_rewards()
    env.reset()
    assert not np.array_equal(env.env.expected_rewards(), before)


def test_a_step_before_the_first_reset_is_a_reset():
    observation, reward, done, _ = GymEnv(KArmedTestbed(k=3)).step(0)
    assert (observation.tolist(), reward, done) == ([1.0], 0.0, False)


@pytest.mark.parametrize("seed", [7, np.int64(7), np.random.SeedSequence(7)])
def test_seeding_repeats_the_stream(seed):
    env, core = GymEnv(KArmedTestbed(k=3)), KArmedTestbed(k=3, seed=7)
    core.reset()
    assert env.seed(seed) == [seed]
    env.reset()
    assert env.step(0)[1] == core.step([0]).reward[0]
    assert env.np_random is env.env.np_random


def test_seeding_repeats_what_goes_on_through_resets():
    env = GymEnv(find_environment("piecewise_linear").make(interval=3, batch_size=1))
    runs = []
    for _ in range(2):
        env.seed(7)
        env.reset()
        runs.append([env.step(0)[:2] for _ in range(7)])
        env.reset()
    assert_identical(runs[0], runs[1])


@pytest.mark.parametrize(
    ("action", "error"),
    [(-1, ValueError), (2**40, ValueError), (1.0, TypeError), (True, TypeError), (None, TypeError)],
)
def test_a_bad_action_or_seed_is_refused_and_nothing_changes(action, error):
    env = GymEnv(KArmedTestbed(k=3, seed=0))
    env.reset()
    before = pickle.dumps(env.env.get_state())
    with pytest.raises(error, match="action"):
        env.step(action)
    with pytest.raises(TypeError, match="seed"):
        env.seed("7")
    with pytest.raises(ValueError, match="seed"):
        env.reset(seed=-1)
    assert pickle.dumps(env.env.get_state()) == before


def test_what_gym_asks_for_is_there():
    env = GymEnv(ClipReward(KArmedTestbed(k=3), (-1.0, 1.0)))
    assert env.reward_range == (-1.0, 1.0)
    assert env.unwrapped is env
    assert env.spec is None
    assert env.metadata["render_modes"] == ["rgb_array", "human", "ansi"]
    with env as entered:
        assert entered is env
    env = GymEnv(Countdown([3]))
    assert (env.render("ansi")[0], env.render()[0]) == ("ansi", "human")


def test_the_wrappers_of_gym_run_on_it():
    env = gym.wrappers.TimeLimit(GymEnv(KArmedTestbed(k=3, horizon=10)), max_episode_steps=2)
    env.reset()
    assert [env.step(0)[2] for _ in range(2)] == [False, True]


CHECKED = [
    KArmedTestbed(k=3, seed=0),
    KArmedTestbed(k=3, seed=0, horizon=5),
    AffineReward(KArmedTestbed(k=3, seed=0), 2.0),
]
if OLD != (0, 24):  # its checker fails on dicts of its own
    CHECKED += [per_arm(), AddActionMask(per_arm(num_actions=lambda: 5))]


@pytest.mark.parametrize("env", CHECKED, ids=lambda env: env.name)
@pytest.mark.filterwarnings("ignore")
def test_the_checker_of_gym_passes(env, monkeypatch):
    if OLD >= (0, 25):  # its checker uses a name that NumPy 2 has dropped
        monkeypatch.setattr(np, "bool8", np.bool_, raising=False)
    assert "skip_render_check" in inspect.signature(check_env).parameters
    check_env(GymEnv(env), skip_render_check=True)


TF_WRAPPED = {
    "testbed": lambda: GymEnv(KArmedTestbed(k=3, seed=0)),
    "testbed with a horizon": lambda: GymEnv(KArmedTestbed(k=3, seed=0, horizon=4)),
    "per-arm bandit": lambda: GymEnv(per_arm()),
    "masked": lambda: GymEnv(AddActionMask(per_arm(num_actions=lambda: 5))),
}


@pytest.mark.parametrize("make", TF_WRAPPED.values(), ids=TF_WRAPPED)
def test_tf_agents_runs_it(make):
    suite_gym = pytest.importorskip("tf_agents.environments.suite_gym")
    utils = pytest.importorskip("tf_agents.environments.utils")
    random_py_policy = pytest.importorskip("tf_agents.policies.random_py_policy")

    env = suite_gym.wrap_env(make())
    utils.validate_py_environment(env, episodes=3)
    policy = random_py_policy.RandomPyPolicy(env.time_step_spec(), env.action_spec(), seed=0)
    time_step, ends = env.reset(), 0
    for _ in range(20):
        time_step = env.step(policy.action(time_step).action)
        ends += bool(time_step.is_last())
    assert ends >= 4
    assert env.seed(9) == [9]


def test_the_action_mask_keeps_tf_agents_to_the_actions_that_are_available():
    gym_wrapper = pytest.importorskip("tf_agents.environments.gym_wrapper")
    random_py_policy = pytest.importorskip("tf_agents.policies.random_py_policy")

    env = gym_wrapper.GymWrapper(GymEnv(AddActionMask(per_arm(num_actions=lambda: 2))))
    policy = random_py_policy.RandomPyPolicy(
        env.time_step_spec(),
        env.action_spec(),
        seed=0,
        observation_and_action_constraint_splitter=lambda seen: (seen, seen["mask"]),
    )
    time_step, actions = env.reset(), []
    for _ in range(50):  # an action that is not available would be refused
        actions.append(int(policy.action(time_step).action))
        time_step = env.step(np.array(actions[-1]))
    assert set(actions) == {0, 1}
