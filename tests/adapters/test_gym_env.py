import inspect

import numpy as np
import pytest

pytest.importorskip("gym")

import gym
from gym.utils.env_checker import check_env

from bandit_envs import ArraySpec, BoundedArraySpec, KArmedTestbed
from bandit_envs.adapters.gym import GymEnv
from bandit_envs.trajectories import StepType
from bandit_envs.wrappers import AddActionMask, AffineReward, ClipReward, TransformObservation

from ..wrappers.examples import per_arm_bandit
from .gymnasium_examples import Countdown

OLD = tuple(int(number) for number in gym.__version__.split(".")[:2])


def per_arm(**options):
    return per_arm_bandit(batch_size=1, **options)


def leaves(observation):
    return list(observation.values()) if isinstance(observation, dict) else [observation]


def assert_same(observation, batch):
    for one, many in zip(leaves(observation), leaves(batch)):
        np.testing.assert_array_equal(one, many[0])


@pytest.mark.parametrize("make", [lambda **options: KArmedTestbed(4, **options), per_arm])
@pytest.mark.parametrize("wrap", [lambda env: env, lambda env: AffineReward(env, 2.0, 1.0)])
def test_its_trajectory_is_that_of_the_core(make, wrap):
    env, core = GymEnv(wrap(make())), wrap(make(seed=3))
    observation, info = env.reset(seed=3, return_info=True)
    time_step = core.reset()
    for _ in range(20):
        assert env.observation_space.contains(observation)
        assert_same(observation, time_step.observation)
        np.testing.assert_array_equal(info["expected_rewards"], core.expected_rewards()[0])
        assert info["best_arm"] == core.optimal_action()[0]
        action = info["best_arm"]
        observation, reward, done, info = env.step(action)
        time_step = core.step([action])
        assert reward == time_step.reward[0]
        assert done is True
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


def test_values_have_the_types_of_gym():
    env = GymEnv(KArmedTestbed(k=3, seed=0))
    observation = env.reset()
    assert type(observation) is np.ndarray
    observation, reward, done, info = env.step(np.int64(2))
    assert (observation.dtype, type(reward), type(done), type(info)) == (
        np.float32,
        float,
        bool,
        dict,
    )
    observation[:] = 7.0
    assert env.reset().tolist() == [1.0]


def test_a_step_before_the_first_reset_is_a_reset():
    observation, reward, done, _ = GymEnv(KArmedTestbed(k=3)).step(0)
    assert (observation.tolist(), reward, done) == ([1.0], 0.0, False)


def test_nested_observations_and_actions_are_passed_in_their_dtypes():
    env = GymEnv(Countdown([3]))
    assert isinstance(env.action_space, gym.spaces.Dict)
    assert isinstance(env.observation_space["details"], gym.spaces.Tuple)
    action = {"push": [0.5, -1], "choice": 2}
    observation = env.reset()
    assert env.observation_space.contains(observation)
    for count in (2, 1, 0):
        observation, reward, done, info = env.step(action)
        assert env.observation_space.contains(observation)
        assert observation["count"] == count
        assert (reward, done) == (1.5, count == 0)
    assert info == {"TimeLimit.truncated": True}


def test_spaces_follow_from_specs():
    env = KArmedTestbed(k=3)
    specs = {
        "counts from 0": BoundedArraySpec((), np.int32, 0, 6),
        "counts from 1": BoundedArraySpec((), np.int32, 1, 6),
        "unbounded": ArraySpec((2,), np.float32),
        "bounded": BoundedArraySpec((2,), np.float64, -1.0, [1.0, 2.0]),
        "switch": ArraySpec((), np.bool_),
        "switches": ArraySpec((2,), np.bool_),
        "any integer": ArraySpec((), np.int64),
    }

    def observe(_):
        return {
            "counts from 0": np.array([6], np.int32),
            "counts from 1": np.array([6], np.int32),
            "unbounded": np.full((1, 2), 1e30, np.float32),
            "bounded": np.array([[-1.0, 2.0]]),
            "switch": np.array([True]),
            "switches": np.array([[True, False]]),
            "any integer": np.array([-5], np.int64),
        }

    env = GymEnv(TransformObservation(env, observe, specs))
    spaces = env.observation_space.spaces
    assert spaces["counts from 0"] == gym.spaces.Discrete(7)
    assert spaces["counts from 1"] == gym.spaces.Box(1, 6, (), np.int32)
    assert spaces["unbounded"] == gym.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    assert spaces["bounded"].high.tolist() == [1.0, 2.0]
    assert spaces["switch"] == gym.spaces.Discrete(2)
    assert spaces["switches"].shape == (2,)
    observation = env.reset()
    assert env.observation_space.contains(observation)
    assert (observation["counts from 0"], observation["switch"]) == (6, 1)
    assert type(observation["switch"]) is int
    assert env.action_space == gym.spaces.Discrete(3)


@pytest.mark.parametrize("seed", [7, np.int64(7), np.random.SeedSequence(7)])
def test_seeding_repeats_the_stream(seed):
    env, core = GymEnv(KArmedTestbed(k=3)), KArmedTestbed(k=3, seed=7)
    assert env.seed(seed) == [seed]
    env.reset()
    core.reset()
    assert env.step(1)[1] == core.step([1]).reward[0]
    assert env.np_random is env.env.np_random


def test_seeding_without_a_seed_returns_one_that_repeats_the_stream():
    env = GymEnv(KArmedTestbed(k=3))
    seeds = env.seed()
    env.reset()
    reward = env.step(0)[1]
    env.seed(*seeds)
    env.reset()
    assert env.step(0)[1] == reward


@pytest.mark.parametrize(("seed", "error"), [(1.5, TypeError), ("7", TypeError), (-1, ValueError)])
def test_a_bad_seed_is_refused_and_nothing_changes(seed, error):
    env, twin = GymEnv(KArmedTestbed(k=3, seed=0)), GymEnv(KArmedTestbed(k=3, seed=0))
    env.reset()
    twin.reset()
    for seeding in (env.seed, lambda seed: env.reset(seed=seed)):
        with pytest.raises(error, match=r"^seed is "):
            seeding(seed)
    assert env.step(0)[1] == twin.step(0)[1]


@pytest.mark.parametrize(
    ("action", "error", "message"),
    [
        (-1, ValueError, r"action\[0\] is -1; expected 0 <= action < 3"),
        (3, ValueError, r"action\[0\] is 3; expected 0 <= action < 3"),
        (2**40, ValueError, r"action is 1099511627776; expected a number that int32 holds"),
        (1.0, TypeError, r"action is 1.0, float64; expected int32"),
        (True, TypeError, r"action is True, bool; expected int32"),
        (None, TypeError, r"action is None, object; expected int32"),
        ("1", TypeError, r"action is '1', <U1; expected int32"),
        ([0, 1], ValueError, r"action has shape \(1, 2\); expected \(1,\)"),
    ],
)
def test_a_bad_action_is_refused_and_nothing_changes(action, error, message):
    env, twin = GymEnv(KArmedTestbed(k=3, seed=0)), GymEnv(KArmedTestbed(k=3, seed=0))
    env.reset()
    twin.reset()
    with pytest.raises(error, match=message):
        env.step(action)
    assert env.step(0)[1] == twin.step(0)[1]


@pytest.mark.parametrize(
    "action", [{"push": [0.0, 0.0]}, [0.0, 0.0, 1], {"push": [0.0], "choice": 1}]
)
def test_an_action_of_another_structure_is_refused(action):
    env = GymEnv(Countdown([3]))
    env.reset()
    with pytest.raises((TypeError, ValueError)):
        env.step(action)
    assert env.env.current_time_step().step_type == StepType.FIRST


@pytest.mark.parametrize(
    ("env", "error", "message"),
    [
        (KArmedTestbed(batch_size=2), ValueError, "env has batch_size 2; expected 1"),
        (None, TypeError, "env is None; expected a PyEnvironment"),
    ],
)
def test_only_a_batch_of_one_can_be_adapted(env, error, message):
    with pytest.raises(error, match=message):
        GymEnv(env)


def test_what_gym_asks_for_is_there():
    env = GymEnv(ClipReward(KArmedTestbed(k=3), (-1.0, 1.0)))
    assert env.reward_range == (-1.0, 1.0)
    assert env.unwrapped is env
    assert env.spec is None
    assert env.metadata["render_modes"] == ["rgb_array", "human", "ansi"]
    assert str(env) == "<GymEnv instance>"
    with env as entered:
        assert entered is env
    env.close()


def test_rewards_that_are_not_known_in_advance_give_no_info():
    env = GymEnv(ClipReward(KArmedTestbed(k=3), (-1.0, 1.0)))
    env.reset()
    assert env.step(0)[3] == {}
    assert GymEnv(Countdown([3])).reset(return_info=True)[1] == {}


def test_render_passes_the_mode_on():
    class Drawn(Countdown):
        def render(self, mode="rgb_array", row=0):
            return mode, row

    env = GymEnv(Drawn([3]))
    assert env.render("ansi") == ("ansi", 0)
    assert env.render() == ("human", 0)


def test_the_wrappers_of_gym_run_on_it():
    env = gym.wrappers.TimeLimit(GymEnv(KArmedTestbed(k=3, horizon=10)), max_episode_steps=2)
    env.reset()
    assert [env.step(0)[2] for _ in range(2)] == [False, True]


@pytest.mark.parametrize(
    "env",
    [
        KArmedTestbed(k=3, seed=0),
        KArmedTestbed(k=3, seed=0, horizon=5),
        AffineReward(KArmedTestbed(k=3, seed=0), 2.0),
        per_arm(num_actions=1),
        AddActionMask(per_arm(num_actions=1)),
    ],
    ids=lambda env: env.name,
)
@pytest.mark.filterwarnings("ignore")
def test_the_checker_of_gym_passes(env, monkeypatch):
    if OLD == (0, 24) and isinstance(env.observation_spec(), dict):
        pytest.skip("the checker of gym 0.24 fails on dicts of its own")
    if OLD >= (0, 25):  # its checker uses a name that NumPy 2 has dropped
        monkeypatch.setattr(np, "bool8", np.bool_, raising=False)
    assert "skip_render_check" in inspect.signature(check_env).parameters
    check_env(GymEnv(env), skip_render_check=True)
