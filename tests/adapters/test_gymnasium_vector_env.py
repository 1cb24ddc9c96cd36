import copy
import pickle

import numpy as np
import pytest

pytest.importorskip("gymnasium", minversion="1.1")

import gymnasium
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import DictInfoToList, NormalizeReward, RecordEpisodeStatistics

from bandit_envs import KArmedTestbed
from bandit_envs.adapters.gymnasium import GymnasiumEnv, GymnasiumVectorEnv
from bandit_envs.environments import StationaryStochasticPerArmPyEnvironment
from bandit_envs.rewards import LinearReward
from bandit_envs.sampling import Normal
from bandit_envs.wrappers import AffineReward

from .gymnasium_examples import Countdown

B, K = 4, 5
IDS = ["KArmedTestbed-v0", "StationaryStochasticPerArm-v0"]
NEXT_STEP, SAME_STEP, DISABLED = AutoresetMode
STARTS = [1, 2, 3, 2, 5]


def full_id(name):
    return f"bandit_envs.adapters.gymnasium:bandit_envs/{name}"


def k_armed(**options):
    return KArmedTestbed(K, batch_size=B, **options)


def per_arm(**options):
    reward = LinearReward(np.arange(5.0))
    return StationaryStochasticPerArmPyEnvironment(
        Normal(2), Normal(3), K, reward, batch_size=B, **options
    )


def some_actions(steps):
    return np.random.default_rng(0).integers(K, size=(steps, B))


def assert_same(one, other):
    """Checks that nests of arrays, and dicts of them, are equal, down to their dtypes."""
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, tuple) or (isinstance(one, np.ndarray) and one.dtype == object):
        for left, right in zip(one, other, strict=True):
            assert_same(left, right)
    else:
        np.testing.assert_array_equal(one, other, strict=True)


@pytest.mark.parametrize("make", [k_armed, per_arm])
def test_with_next_step_a_trajectory_is_that_of_the_core(make):
    env, core = GymnasiumVectorEnv(make(horizon=3)), make(horizon=3, seed=2)
    observations, infos = env.reset(seed=2)
    time_step = core.reset()
    for actions in some_actions(20):
        assert_same(observations, copy.deepcopy(time_step.observation))
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
def test_a_stream_loses_no_step(make, mode):
    env, core = GymnasiumVectorEnv(make(), mode), make()
    core.seed(2)
    env.reset(seed=2)
    core.reset()
    for actions in some_actions(10):
        observations, rewards, terminations, truncations, infos = env.step(actions)
        time_step = core.step(actions)
        assert_same(observations, copy.deepcopy(time_step.observation))
        np.testing.assert_array_equal(rewards, time_step.reward)
        np.testing.assert_array_equal(infos["expected_rewards"], core.expected_rewards())
        # In NEXT_STEP, the step after a termination would have to be one without a reward.
        np.testing.assert_array_equal(terminations, [mode is not NEXT_STEP] * B)
        assert not truncations.any()
        assert ("final_obs" in infos) == (mode is SAME_STEP)


@pytest.mark.parametrize("mode", AutoresetMode)
def test_rows_end_and_restart_as_those_of_gymnasiums_own(mode):
    """Compares rows that end at different times, in all that is returned, over all step types."""
    env = GymnasiumVectorEnv(Countdown(STARTS), mode)
    single = [lambda start=start: GymnasiumEnv(Countdown([start])) for start in STARTS]
    reference = SyncVectorEnv(single, autoreset_mode=mode)
    assert env.action_space == reference.action_space
    assert env.observation_space == reference.observation_space
    assert env.metadata["autoreset_mode"] is reference.metadata["autoreset_mode"] is mode
    assert_same(env.reset(), reference.reset())
    env.action_space.seed(0)
    for _ in range(12):
        actions = env.action_space.sample()
        returned = env.step(actions)
        assert_same(returned, reference.step(actions))
        ended = returned[2] | returned[3]
        if mode is DISABLED and ended.any():
            options = [{"reset_mask": ended.copy()} for _ in range(2)]
            assert_same(env.reset(options=options[0]), reference.reset(options=options[1]))
            assert list(options[0]) == ["reset_mask"]  # the caller's own


def test_with_same_step_the_end_of_an_episode_is_in_the_infos():
    env, core = GymnasiumVectorEnv(k_armed(horizon=2), SAME_STEP), k_armed(horizon=2, seed=0)
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


def test_what_is_final_is_said_of_the_rows_that_ended():
    env = GymnasiumVectorEnv(k_armed(horizon=2), SAME_STEP)
    env.reset(seed=0)
    env.step(np.zeros(B, int))
    ends = np.arange(B) != 0
    env.reset(options={"reset_mask": ~ends})
    *_, infos = env.step(np.zeros(B, int))
    final = infos["final_info"]
    np.testing.assert_array_equal(infos["_final_info"], ends)
    for key in ("best_arm", "expected_rewards"):
        np.testing.assert_array_equal(final[f"_{key}"], ends)
        assert not final[key][~ends].any()
    assert final["expected_rewards"][ends].all()


def test_with_disabled_some_rows_can_be_reset_and_no_ended_row_is_stepped():
    env = GymnasiumVectorEnv(k_armed(horizon=2), DISABLED)
    _, infos = env.reset(seed=0)
    values = infos["expected_rewards"]
    for actions in some_actions(2):
        _, _, _, truncations, _ = env.step(actions)
    assert truncations.all()
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"rows \[0 1 2 3\] have ended"):
        env.step(actions)
    _, infos = env.reset(options={"reset_mask": np.array([True, False, True, False])})
    changed = (infos["expected_rewards"] != values).all(axis=1)
    np.testing.assert_array_equal(changed, [True, False, True, False])
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"rows \[1 3\] have ended"):
        env.step(actions)
    env.reset(options={"reset_mask": np.array([False, True, False, True])})
    assert not env.step(actions)[3].any()


@pytest.mark.parametrize("mode", AutoresetMode)
def test_rows_reset_at_different_times_end_at_different_times(mode):
    env = GymnasiumVectorEnv(k_armed(horizon=3), mode)
    env.reset(seed=0)
    first, others = np.arange(B) == 0, np.arange(B) != 0
    env.step([0] * B)
    env.reset(options={"reset_mask": first})
    env.step([0] * B)
    assert_same(env.step([0] * B)[3], others)
    if mode is DISABLED:
        env.reset(options={"reset_mask": others})
    _, rewards, _, truncations, _ = env.step([0] * B)
    assert_same(truncations, first)
    assert_same(rewards == 0.0, others if mode is NEXT_STEP else np.zeros(B, np.bool_))


@pytest.mark.parametrize(
    ("mask", "error", "message"),
    [
        ([True] * B, TypeError, "expected a NumPy array"),
        (np.ones(B), TypeError, "options['reset_mask'] is float64"),
        (np.ones(B + 1, np.bool_), ValueError, "has shape (5,); expected (4,)"),
        (np.zeros(B, np.bool_), ValueError, "expected at least one True"),
    ],
)
def test_a_bad_mask_is_refused_and_changes_nothing(mask, error, message):
    env = GymnasiumVectorEnv(k_armed(), DISABLED)
    env.reset(seed=0)
    before = pickle.dumps(env.env.get_state())
    with pytest.raises(error) as caught:
        env.reset(seed=1, options={"reset_mask": mask})
    assert message in str(caught.value)
    assert pickle.dumps(env.env.get_state()) == before


@pytest.mark.parametrize(
    ("make", "actions", "error", "message"),
    [
        (k_armed, [0, 0, -1, 0], ValueError, "action[2] is -1; expected 0 <= action < 5"),
        (k_armed, [0, 0, 0], ValueError, "action has shape (3,); expected (4,)"),
        (k_armed, [0.0] * 4, TypeError, "action is float64"),
        (lambda: AffineReward(k_armed(), 2.0), [9] * 4, ValueError, "action[0] is 9"),
        (lambda: Countdown([9]), {"choice": [1]}, ValueError, "expected an element of"),
        (
            lambda: Countdown([9]),
            {"choice": np.array([1.5]), "push": np.zeros((1, 2), np.float32)},
            (TypeError, ValueError),
            "1.5",
        ),
    ],
)
def test_bad_actions_are_refused_and_change_nothing(make, actions, error, message):
    env = GymnasiumVectorEnv(make())
    env.reset(seed=0)
    before = pickle.dumps(env.env.get_state())
    with pytest.raises(error) as caught:
        env.step(actions)
    assert message in str(caught.value)
    assert pickle.dumps(env.env.get_state()) == before


def test_a_step_before_the_first_reset_is_refused():
    with pytest.raises(gymnasium.error.ResetNeeded, match="call reset"):
        GymnasiumVectorEnv(k_armed()).step([0] * B)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled", *AutoresetMode])
def test_the_mode_is_said_in_the_metadata_of_this_environment_alone(mode):
    env = GymnasiumVectorEnv(k_armed(), mode)
    assert env.metadata["autoreset_mode"] is AutoresetMode(mode)
    assert "autoreset_mode" not in GymnasiumVectorEnv.metadata


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"autoreset_mode": "SAME_STEP"}, "autoreset_mode is 'SAME_STEP'; expected one of"),
        ({"render_mode": "human"}, "render_mode is 'human'; expected None or one of"),
    ],
)
def test_bad_modes_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        GymnasiumVectorEnv(k_armed(), **options)


@pytest.mark.parametrize("seed", [3, np.int64(3), np.random.SeedSequence(3)], ids=repr)
def test_whatever_numpy_takes_is_a_seed(seed):
    env, core = GymnasiumVectorEnv(k_armed()), k_armed(seed=3)
    _, infos = env.reset(seed=seed)
    core.reset()
    np.testing.assert_array_equal(infos["expected_rewards"], core.expected_rewards())
    assert env.np_random is env.env.np_random
    assert env.np_random_seed == (-1 if isinstance(seed, np.random.SeedSequence) else 3)


def test_what_can_be_written_has_no_effect():
    env, other = GymnasiumVectorEnv(k_armed(horizon=9)), GymnasiumVectorEnv(k_armed(horizon=9))
    for one in (env, other):
        one.reset(seed=0)
    observations, rewards, terminations, truncations, infos = env.step([0] * B)
    other.step([0] * B)
    for array in (observations, rewards, terminations, truncations):
        array[...] = 1
    for array in infos.values():
        assert not array.flags.writeable
    assert_same(env.step([1] * B), other.step([1] * B))


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("mode", AutoresetMode)
def test_the_ids_are_made_vectorized_with_their_limit(name, mode):
    env = gymnasium.make_vec(full_id(name), num_envs=7, autoreset_mode=mode)
    assert isinstance(env, GymnasiumVectorEnv)
    assert env.num_envs == 7
    assert env.env.horizon == 1000
    observations, _ = env.reset(seed=0)
    assert env.observation_space.contains(observations)
    observations, rewards, *_ = env.step(env.action_space.sample())
    assert env.observation_space.contains(observations)
    assert rewards.shape == (7,)
    single = gymnasium.make(full_id(name))
    assert env.single_observation_space == single.observation_space
    assert env.single_action_space == single.action_space
    env.close()
    assert env.closed


@pytest.mark.parametrize("name", IDS)
def test_the_limit_of_an_id_can_be_chosen(name):
    env = gymnasium.make_vec(full_id(name), num_envs=2, max_episode_steps=2)
    env.reset(seed=0)
    ends = [env.step([0, 0])[3].all() for _ in range(6)]
    assert ends == [False, True, False] * 2
    endless = gymnasium.make_vec(full_id(name), num_envs=2, max_episode_steps=None)
    endless.reset(seed=0)
    assert not any(end.any() for _ in range(50) for end in endless.step([0, 0])[2:4])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_envs": 0}, "num_envs is 0; expected at least 1"),
        ({"max_episode_steps": 0}, "max_episode_steps is 0; expected at least 1"),
    ],
)
@pytest.mark.parametrize("name", IDS)
def test_bad_numbers_for_an_id_are_refused(name, options, message):
    with pytest.raises(ValueError, match=message):
        gymnasium.make_vec(full_id(name), **options)


@pytest.mark.parametrize("observe_best_arm", [False, True])
def test_vectorized_testbeds_observe_what_a_single_one_does(observe_best_arm):
    env = gymnasium.make_vec(full_id(IDS[0]), num_envs=B, k=K, observe_best_arm=observe_best_arm)
    core = k_armed(seed=0, dtype=np.float64)
    core.reset()
    observations, infos = env.reset(seed=0)
    np.testing.assert_array_equal(infos["expected_rewards"], core.expected_rewards())
    expected = core.optimal_action() if observe_best_arm else np.zeros(B)
    np.testing.assert_array_equal(observations, expected)
    np.testing.assert_array_equal(env.step([0] * B)[0], expected)


def test_infos_are_like_those_of_gymnasiums_own():
    ours, reference = (
        gymnasium.make_vec(full_id(IDS[0]), num_envs=3, vectorization_mode=mode)
        for mode in ("vector_entry_point", "sync")
    )
    pairs = [(env.reset()[1], env.step([0, 1, 2])[4]) for env in (ours, reference)]
    for infos, others in zip(*pairs):
        assert infos.keys() == others.keys()
        for key in infos:
            assert infos[key].shape == others[key].shape
            assert infos[key].dtype.kind == others[key].dtype.kind


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


def test_gymnasium_normalizes_rewards_and_lists_infos_of_it():
    env = DictInfoToList(NormalizeReward(GymnasiumVectorEnv(k_armed(horizon=3), SAME_STEP)))
    _, infos = env.reset(seed=0)
    assert [sorted(info) for info in infos] == [["best_arm", "expected_rewards"]] * B
    for _ in range(3):
        _, rewards, _, _, infos = env.step([1] * B)
    assert np.isfinite(rewards).all()
    assert [sorted(info["final_info"]) for info in infos] == [["best_arm", "expected_rewards"]] * B
    assert [info["final_obs"].tolist() for info in infos] == [[1.0]] * B


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_goes_on_alike_and_by_itself(copied):
    env = gymnasium.make_vec(full_id(IDS[0]), num_envs=B)
    env.reset(seed=0)
    other = copied(env)
    assert_same(env.step([1] * B), other.step([1] * B))


def test_every_row_is_rendered():
    env = gymnasium.make_vec(full_id(IDS[0]), num_envs=2, render_mode="ansi")
    env.reset(seed=0)
    first, second = env.render()
    assert first.startswith("k_armed_testbed, row 0: 0 pulls")
    assert second.startswith("k_armed_testbed, row 1: 0 pulls")


def test_nothing_is_rendered_before_the_first_reset():
    with pytest.raises(gymnasium.error.ResetNeeded):
        GymnasiumVectorEnv(k_armed(), render_mode="ansi").render()


def test_without_a_render_mode_nothing_is_rendered():
    env = GymnasiumVectorEnv(k_armed())
    env.reset()
    with pytest.warns(UserWarning, match="made without a render_mode"):
        assert env.render() is None
