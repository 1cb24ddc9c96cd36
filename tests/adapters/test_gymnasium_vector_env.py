import copy
import pickle

import numpy as np
import pytest

pytest.importorskip("gymnasium", minversion="1.1")

import gymnasium
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from bandit_envs.adapters.gymnasium import GymnasiumEnv, GymnasiumVectorEnv
from bandit_envs.testing import assert_identical
from bandit_envs.wrappers import AffineReward

from .examples import ACTION, B, Countdown, K, Slates, TwoRewards, k_armed, per_arm

NEXT_STEP, SAME_STEP, DISABLED = AutoresetMode


def some_actions(steps):
    return np.random.default_rng(0).integers(K, size=(steps, B))


@pytest.mark.parametrize("make", [k_armed, per_arm])
def test_with_next_step_a_trajectory_is_that_of_the_core(make):
    env, core = GymnasiumVectorEnv(make(horizon=3), expected_rewards=True), make(horizon=3, seed=2)
    observations, infos = env.reset(seed=2)
    time_step = core.reset()
    for actions in some_actions(20):
        assert_identical(observations, copy.deepcopy(time_step.observation))
        np.testing.assert_array_equal(infos["expected_rewards"], core.expected_rewards())
        np.testing.assert_array_equal(infos["best_arm"], core.optimal_action())
        observations, rewards, terminations, truncations, infos = env.step(actions)
        time_step = core.step(actions)
        np.testing.assert_array_equal(rewards, time_step.reward)
        np.testing.assert_array_equal(truncations, time_step.is_last())
        assert not terminations.any()
        assert rewards.dtype == np.float64


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("make", [k_armed, per_arm, lambda: AffineReward(k_armed(), 2.0)])
def test_without_a_horizon_no_step_is_lost(make, mode):
    env, core = GymnasiumVectorEnv(make(), mode), make()
    core.seed(2)
    env.reset(seed=2)
    core.reset()
    for actions in some_actions(10):
        observations, rewards, terminations, truncations, infos = env.step(actions)
        time_step = core.step(actions)
        assert_identical(observations, copy.deepcopy(time_step.observation))
        np.testing.assert_array_equal(rewards, time_step.reward)
        # In NEXT_STEP, the step after a termination would have to be one without a reward.
        np.testing.assert_array_equal(terminations, [mode is not NEXT_STEP] * B)
        assert not truncations.any()
        assert ("final_obs" in infos) == (mode is SAME_STEP)


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("start", [2, 3])
def test_rows_end_and_restart_as_those_of_gymnasiums_own(mode, start):
    """Compares all that is returned, over all step types."""
    env = GymnasiumVectorEnv(Countdown([start] * 4), mode)
    single = [lambda: GymnasiumEnv(Countdown([start]))] * 4
    reference = SyncVectorEnv(single, autoreset_mode=mode)
    assert env.action_space == reference.action_space
    assert env.observation_space == reference.observation_space
    assert env.metadata["autoreset_mode"] is reference.metadata["autoreset_mode"] is mode
    assert_identical(env.reset(), reference.reset())
    env.action_space.seed(0)
    for _ in range(12):
        actions = env.action_space.sample()
        returned = env.step(actions)
        assert_identical(returned, reference.step(actions))
        if mode is DISABLED and (returned[2] | returned[3]).all():
            options = [{"reset_mask": np.ones(4, np.bool_)} for _ in range(2)]
            assert_identical(env.reset(options=options[0]), reference.reset(options=options[1]))
            assert list(options[0]) == ["reset_mask"]  # the caller's own


def test_rows_that_end_at_different_times_are_refused():
    env = GymnasiumVectorEnv(Countdown([1, 5]))
    env.reset()
    actions = {key: np.stack([value, value]) for key, value in ACTION.items()}
    env.step(actions)
    with pytest.raises(NotImplementedError, match="rows"):
        env.step(actions)


def test_with_same_step_the_end_of_an_episode_is_in_the_infos():
    env = GymnasiumVectorEnv(k_armed(horizon=2), SAME_STEP, expected_rewards=True)
    core = k_armed(horizon=2, seed=0)
    _, infos = env.reset(seed=0)
    core.reset()
    values = infos["expected_rewards"]
    for step, actions in enumerate(some_actions(6)):
        _, rewards, _, truncations, infos = env.step(actions)
        np.testing.assert_array_equal(rewards, core.step(actions).reward)
        np.testing.assert_array_equal(truncations, [step % 2 == 1] * B)
        if step % 2 == 0:
            assert "final_obs" not in infos
            continue
        core.reset()
        assert infos["_final_obs"].all()
        assert infos["_final_info"].all()
        assert [obs.tolist() for obs in infos["final_obs"]] == [[1.0]] * B
        np.testing.assert_array_equal(infos["final_info"]["expected_rewards"], values)
        values = infos["expected_rewards"]
        np.testing.assert_array_equal(values, core.expected_rewards())


def test_with_disabled_nothing_is_stepped_before_all_rows_are_reset():
    env = GymnasiumVectorEnv(k_armed(horizon=2), DISABLED)
    observations, _ = env.reset(seed=0)
    for actions in some_actions(2):
        *_, truncations, _ = env.step(actions)
    assert truncations.all()
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(actions)
    assert_identical(env.reset(options={"reset_mask": np.zeros(B, np.bool_)})[0], observations)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(actions)
    env.reset(options={"reset_mask": truncations})
    assert not env.step(actions)[3].any()


@pytest.mark.parametrize(
    "mask",
    [np.ones(B), np.ones(B + 1, np.bool_), np.arange(B) == 0, np.ones((), np.bool_)],
    ids=["floats", "too many", "some rows", "a number"],
)
def test_a_bad_mask_is_refused_and_changes_nothing(mask):
    env = GymnasiumVectorEnv(k_armed(), DISABLED)
    env.reset(seed=0)
    before = pickle.dumps(env.env.get_state())
    with pytest.raises(ValueError, match="reset_mask"):
        env.reset(seed=1, options={"reset_mask": mask})
    assert pickle.dumps(env.env.get_state()) == before


@pytest.mark.parametrize(
    ("make", "actions", "error"),
    [
        (k_armed, [0, -1], ValueError),
        (k_armed, [0, 0, 0], ValueError),
        (k_armed, [0.0] * B, TypeError),
        (lambda: AffineReward(k_armed(), 2.0), [9] * B, ValueError),
        (lambda: Slates(batch_size=B), [0] * B, ValueError),
        (lambda: Countdown([9]), {"choice": [1]}, TypeError),
        (lambda: Countdown([9]), {"choice": [1.5], "push": [[0, 0]]}, TypeError),
    ],
)
def test_bad_actions_are_refused_and_change_nothing(make, actions, error):
    env = GymnasiumVectorEnv(make())
    env.reset(seed=0)
    before = pickle.dumps(env.env.get_state())
    with pytest.raises(error, match="action"):
        env.step(actions)
    assert pickle.dumps(env.env.get_state()) == before


def test_slates_are_stepped_in_a_batch():
    env = GymnasiumVectorEnv(Slates(batch_size=B))
    env.reset()
    actions = env.action_space.sample()
    np.testing.assert_array_equal(env.step(actions)[1], actions.sum(axis=1))


def test_a_step_or_picture_before_the_first_reset_is_refused():
    env = GymnasiumVectorEnv(k_armed(), render_mode="ansi")
    with pytest.raises(ValueError, match="reset"):
        env.step([0] * B)
    with pytest.raises(ValueError, match="reset"):
        env.render()


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled", *AutoresetMode])
def test_the_mode_is_said_in_the_metadata_of_this_environment_alone(mode):
    env = GymnasiumVectorEnv(k_armed(), mode)
    assert env.metadata["autoreset_mode"] is AutoresetMode(mode)
    assert "autoreset_mode" not in GymnasiumVectorEnv.metadata


@pytest.mark.parametrize(
    ("env", "options", "message"),
    [
        (k_armed(), {"autoreset_mode": "SAME_STEP"}, "AutoresetMode"),
        (k_armed(), {"render_mode": "human"}, "render_mode"),
        (TwoRewards(batch_size=B), {}, "reward_spec"),
    ],
)
def test_bad_arguments_are_refused(env, options, message):
    with pytest.raises(ValueError, match=message):
        GymnasiumVectorEnv(env, **options)


def test_one_stream_serves_all_rows_and_whatever_numpy_takes_seeds_it():
    env, core = GymnasiumVectorEnv(k_armed()), k_armed(seed=3)
    core.reset()
    reward = core.step([0] * B).reward
    for seed in (3, np.int64(3), np.random.SeedSequence(3)):
        env.reset(seed=seed)
        np.testing.assert_array_equal(env.step([0] * B)[1], reward)
        assert env.np_random is env.env.np_random
        assert env.np_random_seed == (-1 if isinstance(seed, np.random.SeedSequence) else 3)


def test_what_is_returned_is_the_callers_own():
    env, other = (GymnasiumVectorEnv(k_armed(horizon=9), expected_rewards=True) for _ in range(2))
    for one in (env, other):
        one.reset(seed=0)
    *returned, infos = env.step([0] * B)
    other.step([0] * B)
    for array in (*returned, *infos.values()):
        array[...] = 1
    assert_identical(env.step([1] * B), other.step([1] * B))


@pytest.mark.parametrize("mode", [NEXT_STEP, DISABLED])
def test_gymnasium_records_episodes_of_it(mode):
    env = RecordEpisodeStatistics(GymnasiumVectorEnv(k_armed(horizon=3), mode))
    core = k_armed(seed=0)
    core.reset()
    env.reset(seed=0)
    returns = sum(core.step([1] * B).reward.astype(np.float64) for _ in range(3))
    for _ in range(3):
        *_, infos = env.step([1] * B)
    np.testing.assert_array_equal(infos["episode"]["l"], [3] * B)
    np.testing.assert_allclose(infos["episode"]["r"], returns)


def test_every_row_is_rendered():
    env = GymnasiumVectorEnv(k_armed(), render_mode="ansi")
    env.reset(seed=0)
    first, second = env.render()
    assert "row 0" in first
    assert "row 1" in second
    assert GymnasiumVectorEnv(k_armed()).render() is None
