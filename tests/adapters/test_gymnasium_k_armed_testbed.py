import copy
import math
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

pytest.importorskip("gymnasium", minversion="1.1")

import gymnasium
from gymnasium.utils.env_checker import check_env

from bandit_envs import KArmedTestbed as CoreTestbed
from bandit_envs.adapters.gymnasium import KArmedTestbed

ID = "bandit_envs/KArmedTestbed-v0"
LOADING_ID = f"bandit_envs.adapters.gymnasium:{ID}"

# What `river.bandit.envs.KArmedTestbed` draws: five of its arms after `reset(seed=42)`, the best
# one, and what arm 0 then pays.
VALUES = [
    0.30471707975443135,
    -1.0399841062404955,
    0.7504511958064572,
    0.9405647163912139,
    -1.9510351886538364,
]
BEST_ARM, REWARD = 3, 1.1841150546172599


def reset_env(**options):
    env = KArmedTestbed(**options)
    env.reset(seed=42)
    return env


def test_it_draws_what_river_draws():
    env = KArmedTestbed(k=10)
    observation, info = env.reset(seed=42)
    assert info["expected_rewards"][:5].tolist() == VALUES
    assert (observation, info["best_arm"]) == (0, BEST_ARM)
    observation, reward, terminated, truncated, info = env.step(0)
    assert (observation, reward, terminated, truncated) == (0, REWARD, False, False)
    assert list(map(type, (observation, reward, terminated, truncated))) == [int, float, bool, bool]
    assert info["best_arm"] == BEST_ARM


def test_the_best_arm_can_be_observed_as_with_river():
    env = KArmedTestbed(k=10, observe_best_arm=True)
    assert env.observation_space == gymnasium.spaces.Discrete(10)
    assert env.reset(seed=42)[0] == BEST_ARM
    assert env.step(0)[0] == BEST_ARM


def test_river_itself_agrees():
    river = pytest.importorskip("river.bandit.envs").KArmedTestbed(7)
    env = KArmedTestbed(7, observe_best_arm=True)
    for seed in (5, None, None):
        assert env.reset(seed=seed)[0] == river.reset(seed=seed)[0]
        for arm in (0, 6, 3):
            assert env.step(arm)[:4] == river.step(arm)[:4]


def test_its_trajectory_is_that_of_the_core():
    env, core = KArmedTestbed(5), CoreTestbed(5, seed=11, dtype=np.float64, horizon=1000)
    _, info = env.reset(seed=11)
    core.reset()
    np.testing.assert_array_equal(info["expected_rewards"], core.expected_rewards()[0])
    for action in np.random.default_rng(0).integers(5, size=200):
        _, reward, *_, info = env.step(action)
        assert reward == core.step([action]).reward[0]
        assert info["best_arm"] == core.optimal_action()[0]


@pytest.mark.parametrize("pull", [{"arm": 0}, {"action": 0}, {"arm": np.int32(0)}], ids=str)
def test_an_arm_can_be_named_either_way(pull):
    assert reset_env().step(**pull)[1] == REWARD


@pytest.mark.parametrize(
    ("action", "error", "message"),
    [
        (-1, ValueError, "action is -1; expected 0 <= action < 10"),
        (10, ValueError, "action is 10; expected 0 <= action < 10"),
        (1.0, TypeError, "action is 1.0; expected an integer"),
        (None, TypeError, "action is None; expected an integer"),
        (True, TypeError, "action is True; expected an integer"),
        (np.False_, TypeError, "expected an integer"),
        ("0", TypeError, "action is '0'; expected an integer"),
        (np.array([0]), TypeError, "expected an integer"),
    ],
)
def test_what_is_no_arm_is_refused_and_changes_nothing(action, error, message):
    env = reset_env()
    with pytest.raises(error) as caught:
        env.step(action)
    assert message in str(caught.value)
    assert env.step(0)[1] == REWARD


def test_two_arms_at_once_are_refused():
    with pytest.raises(TypeError, match="action is 0 and arm 1; expected one of the two"):
        reset_env().step(0, arm=1)


def test_a_step_or_a_picture_before_the_first_reset_is_refused():
    env = KArmedTestbed(render_mode="ansi")
    with pytest.raises(gymnasium.error.ResetNeeded, match="call reset"):
        env.step(0)
    with pytest.raises(gymnasium.error.ResetNeeded, match="call reset"):
        env.render()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"k": 0}, ValueError, "k is 0; expected at least 1"),
        ({"k": 2.5}, TypeError, "k is 2.5; expected an integer"),
        ({"render_mode": "gif"}, ValueError, "render_mode is 'gif'; expected None or one of"),
    ],
)
def test_bad_arguments_are_refused(options, error, message):
    with pytest.raises(error) as caught:
        KArmedTestbed(**options)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "seed", [np.int64(42), np.uint8(42), np.random.SeedSequence(42), np.random.PCG64(42)], ids=repr
)
def test_whatever_numpy_takes_is_a_seed(seed):
    env = KArmedTestbed()
    assert env.reset(seed=seed)[1]["best_arm"] == BEST_ARM
    assert env.step(0)[1] == REWARD
    assert env.np_random_seed == (42 if isinstance(seed, np.integer) else -1)


@pytest.mark.parametrize(("seed", "error"), [(1.0, TypeError), (-1, ValueError)])
def test_a_bad_seed_is_refused_and_changes_nothing(seed, error):
    env = reset_env()
    with pytest.raises(error, match="seed is"):
        env.reset(seed=seed)
    assert env.step(0)[1] == REWARD


def test_the_generator_is_made_when_it_is_needed_and_can_be_exchanged():
    env = KArmedTestbed()
    assert isinstance(env.np_random_seed, int)
    env.np_random = np.random.default_rng(42)
    assert env.np_random_seed == -1
    rng = np.random.default_rng(42)
    for _ in range(2):
        values = rng.normal(size=10)
        np.testing.assert_array_equal(env.reset()[1]["expected_rewards"], values)


def test_the_members_of_river_are_there():
    env = KArmedTestbed(k=3)
    assert (env.k, env.n_steps, env.reward_range) == (3, 1000, (-math.inf, math.inf))
    assert env.action_space == gymnasium.spaces.Discrete(3)
    assert env.observation_space == gymnasium.spaces.Discrete(1)
    assert (env.spec, env.render_mode, env.unwrapped) == (None, None, env)
    assert env.get_wrapper_attr("k") == 3
    with pytest.raises(AttributeError):
        env.get_wrapper_attr("arms")
    assert env.close() is None
    assert env.close() is None


def test_info_is_the_callers_own():
    env = reset_env()
    info = env.step(0)[-1]
    info["expected_rewards"][:] = 100.0
    assert env.step(0)[-1]["expected_rewards"].max() < 10.0


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_goes_on_alike_and_by_itself(copied):
    env = reset_env()
    other = copied(env)
    assert env.step(0)[1] == other.step(0)[1] == REWARD


def test_the_id_needs_no_import():
    code = f"import gymnasium; env = gymnasium.make({LOADING_ID!r}, k=10); print(env)"
    printed = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert printed.strip() == f"<TimeLimit<OrderEnforcing<PassiveEnvChecker<KArmedTestbed<{ID}>>>>>"


def test_episodes_of_the_id_are_cut_off_after_n_steps():
    env = gymnasium.make(LOADING_ID, k=3)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    env.reset(seed=0)
    ends = [env.step(0)[2:4] for _ in range(KArmedTestbed.n_steps + 1)]
    assert ends[:-2] == [(False, False)] * (KArmedTestbed.n_steps - 1)
    assert ends[-2:] == [(False, True)] * 2
    assert env.spec.id == ID
    assert env.spec.max_episode_steps == 1000
    assert gymnasium.make(env.spec).unwrapped.k == 3


@pytest.mark.parametrize("options", [{}, {"observe_best_arm": True}, {"k": 1}], ids=str)
def test_gymnasiums_own_check_passes_without_a_warning(options):
    env = gymnasium.make(LOADING_ID, **options).unwrapped
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env, skip_render_check=True)


def test_vectorized_one_by_one_it_is_seeded_as_river_is():
    envs = gymnasium.make_vec(
        LOADING_ID, num_envs=3, vectorization_mode="sync", observe_best_arm=True
    )
    assert envs.reset(seed=0)[0].tolist() == [6, 4, 4]


def test_rivers_policies_are_evaluated_on_the_id():
    bandit = pytest.importorskip("river.bandit")
    stats = pytest.importorskip("river.stats")
    trace = list(
        bandit.evaluate(
            [bandit.EpsilonGreedy(0.1, seed=1), bandit.UCB(delta=1, seed=1)],
            gymnasium.make(LOADING_ID),
            reward_stat=stats.Mean(),
            n_episodes=1,
            seed=42,
        )
    )
    assert len(trace) == 2 * KArmedTestbed.n_steps
    # The same as with river's own environment.
    assert trace[0]["reward"] == 1.3116338086689354
    assert trace[-2]["reward_stat"] == pytest.approx(0.8535687824197269, rel=1e-12)


@pytest.mark.parametrize(("mode", "frame"), [("rgb_array", np.ndarray), ("ansi", str)])
def test_make_collects_frames(mode, frame):
    if mode == "rgb_array":
        pytest.importorskip("matplotlib")
    env = gymnasium.make(LOADING_ID, render_mode=f"{mode}_list")
    env.reset(seed=0)
    env.step(0)
    frames = env.render()
    assert [type(one) for one in frames] == [frame, frame]


def test_a_picture_tells_pulls_and_the_last_reward():
    env = KArmedTestbed(k=3, render_mode="ansi")
    env.reset(seed=0)
    assert env.render().startswith("3-armed testbed: 0 pulls\n")
    env.step(1)
    _, reward, *_ = env.step(2)
    title, header, *arms = env.render().splitlines()
    assert title == f"3-armed testbed: 2 pulls, the last of arm 2 for {reward:.2f}"
    assert header.endswith("pulls")
    assert [int(line.split()[-1]) for line in arms] == [0, 1, 1]


def test_gymnasiums_check_of_pictures_passes():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    check_env(gymnasium.make(LOADING_ID, render_mode="rgb_array").unwrapped)


def test_without_a_render_mode_nothing_is_rendered():
    with pytest.warns(UserWarning, match="made without a render_mode"):
        assert reset_env().render() is None
