"""What `gymnasium.make` and `gymnasium.make_vec` make, and river's testbed among it."""

import copy
import functools
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

pytest.importorskip("gymnasium", minversion="1.1")

import gymnasium
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from bandit_envs import KArmedTestbed as CoreTestbed
from bandit_envs.adapters.gymnasium import GymnasiumVectorEnv, KArmedTestbed, register
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.rewards import LinearReward
from bandit_envs.sampling import Normal

TESTBED, PER_ARM = "bandit_envs/KArmedTestbed-v0", "bandit_envs/StationaryStochasticPerArm-v0"
POSITIONAL_BIAS = "ExplicitPositionalBiasRankingEnvironment"
VALUES = {"means": [0.1, 0.9]}  # of parameters without a default
BEST_ARM, REWARD = 3, 1.1841150546172599  # of `river.bandit.envs.KArmedTestbed`, from seed 42


def test_an_id_needs_no_import():
    code = (
        "import gymnasium\n"
        f"env = gymnasium.make('bandit_envs.adapters.gymnasium:{TESTBED}', k=10)\n"
        "print(env, env.spec.to_json())"
    )
    printed = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert "KArmedTestbed" in printed


@pytest.mark.parametrize("entry", ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def test_every_environment_of_the_registry_has_an_id_and_passes_the_check(entry):
    (id_,) = [
        spec.id
        for spec in gymnasium.registry.values()
        if spec.kwargs.get("environment") == entry.id
    ]
    needed = [name for name, p in entry.parameters().items() if p.default is p.empty]
    try:
        made = gymnasium.make(id_, **{name: VALUES[name] for name in needed})
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*infinity")
        warnings.filterwarnings("ignore", message=".*alternative render modes")
        check_env(made.unwrapped, skip_render_check=True)


@pytest.mark.parametrize("id_", [TESTBED, PER_ARM])
def test_an_episode_is_truncated_after_1000_steps_or_as_many_as_are_asked_for(id_):
    for options, steps in (({}, 1000), ({"max_episode_steps": 3}, 3)):
        env = gymnasium.make(id_, **options)
        with pytest.raises(gymnasium.error.ResetNeeded):
            env.step(0)
        env.reset(seed=0)
        ends = [env.step(0)[2:4] for _ in range(steps)]
        assert ends == [(False, False)] * (steps - 1) + [(False, True)]
        envs = gymnasium.make_vec(id_, num_envs=2, **options)
        envs.reset(seed=0)
        ends = [envs.step([0, 0])[3].tolist() for _ in range(steps)]
        assert ends == [[False] * 2] * (steps - 1) + [[True] * 2]
    envs = gymnasium.make_vec(id_, num_envs=2, max_episode_steps=None)
    envs.reset(seed=0)
    assert not any(np.any(envs.step([0, 0])[2:4]) for _ in range(20))


@pytest.mark.parametrize("id_", [TESTBED, PER_ARM])
@pytest.mark.parametrize("mode", AutoresetMode)
def test_the_vectorized_environment_has_the_spaces_of_the_single_one(id_, mode):
    env = gymnasium.make_vec(id_, num_envs=7, autoreset_mode=mode)
    assert isinstance(env, GymnasiumVectorEnv)
    observations, infos = env.reset(seed=0)
    assert infos == {}
    assert env.observation_space.contains(observations)
    observations, rewards, *_ = env.step(env.action_space.sample())
    assert env.observation_space.contains(observations)
    assert rewards.shape == (env.num_envs,) == (7,)
    single = gymnasium.make(id_)
    assert env.single_observation_space == single.observation_space
    assert env.single_action_space == single.action_space
    env.close()
    assert env.closed


@pytest.mark.parametrize("id_", [TESTBED, PER_ARM])
def test_reset_with_a_seed_repeats_exactly_in_another_make(id_):
    runs = []
    for _ in range(2):
        env = gymnasium.make(id_, expected_rewards=True)
        _, info = env.reset(seed=4)
        runs.append((info["expected_rewards"].tolist(), [env.step(1)[1] for _ in range(5)]))
    assert runs[0] == runs[1]
    fresh = [gymnasium.make(id_, expected_rewards=True).reset()[1]["best_arm"] for _ in range(20)]
    assert len(set(fresh)) > 1


def test_an_id_takes_the_parameters_of_the_preset_or_those_of_the_class():
    preset = gymnasium.make(PER_ARM, global_dim=2, arm_dim=3, max_num_actions=4)
    assert preset.reset()[0]["per_arm"].shape == (4, 3)
    other = gymnasium.make(
        PER_ARM,
        global_context_sampling_fn=Normal(2),
        arm_context_sampling_fn=Normal(3),
        max_num_actions=4,
        reward_fn=LinearReward(np.arange(5.0), noise_std=0.0),
        num_actions_fn=lambda: 3,
    )
    observation, _ = other.reset()
    assert observation["num_actions"] == 3
    features = np.concatenate((observation["global"], observation["per_arm"][2]))
    assert other.step(2)[1] == pytest.approx(features @ np.arange(5.0), rel=1e-5)
    with pytest.raises(ValueError, match="available"):
        other.step(3)
    with pytest.raises(TypeError, match="unknown"):
        gymnasium.make(PER_ARM, unknown=3)


@pytest.mark.parametrize("options", [{"num_envs": 0}, {"max_episode_steps": 0}])
def test_bad_numbers_for_an_id_are_refused(options):
    for id_ in (TESTBED, PER_ARM):
        with pytest.raises(ValueError, match="expected at least 1"):
            gymnasium.make_vec(id_, **options)


WHEEL = "bandit_envs/Wheel-v0"


@pytest.mark.parametrize("make", [gymnasium.make, gymnasium.make_vec])
@pytest.mark.parametrize(
    ("id_", "options", "message"),
    [
        (TESTBED, {"horizon": 3}, "horizon is not .* expected max_episode_steps"),
        (PER_ARM, {"batch_size": 3}, "batch_size is not .* expected num_envs"),
        (PER_ARM, {"max_num_action": 3}, "'max_num_action'"),
        (
            PER_ARM,
            {"reward_fn": sum},
            "reward_fn belongs to Stationary.*, which also needs global_",
        ),
    ],
)
def test_parameters_that_do_not_fit_are_named(make, id_, options, message):
    with pytest.raises(TypeError, match=message):
        make(id_, **options)


@pytest.mark.parametrize("id_", [TESTBED, PER_ARM, WHEEL])
def test_an_environment_of_an_id_takes_a_name(id_):
    assert gymnasium.make(id_, name="x").unwrapped.env.name == "x"
    assert gymnasium.make_vec(id_, name="x").unwrapped.env.name == "x"


@pytest.mark.parametrize(
    ("environment", "steps", "message"),
    [("wheeel", 5, "did you mean wheel"), ("mine:No", 5, "mine:No"), ("wheel", 0, "max_episode")],
)
def test_what_cannot_be_made_is_not_registered(environment, steps, message):
    with pytest.raises(ValueError, match=message):
        register("mine/Nothing-v0", environment, steps)
    assert "mine/Nothing-v0" not in gymnasium.registry


def test_a_class_of_ones_own_is_registered_by_its_name():
    register("mine/Bernoulli-v0", "tests.adapters.examples:Mine", max_episode_steps=5)
    env = gymnasium.make("mine/Bernoulli-v0", means=[0.0, 1.0], expected_rewards=True)
    _, info = env.reset(seed=0)
    assert (info["best_arm"], info["expected_rewards"].tolist()) == (1, [0.0, 1.0])
    assert [env.step(1)[1:4] for _ in range(5)] == [(1.0, False, False)] * 4 + [(1.0, False, True)]
    envs = gymnasium.make_vec("mine/Bernoulli-v0", num_envs=3, means=[0.0, 1.0])
    envs.reset()
    assert envs.step([0, 1, 1])[1].tolist() == [0.0, 1.0, 1.0]


class TestRiversTestbed:
    def test_it_draws_what_river_draws(self):
        env = KArmedTestbed(k=10)
        assert env.reset(seed=42) == (0, {})
        result = env.step(0)
        assert result == (0, REWARD, False, False, {})
        assert list(map(type, result)) == [int, float, bool, bool, dict]
        told = KArmedTestbed(k=10, expected_rewards=True)
        assert told.reset(seed=42)[1]["best_arm"] == BEST_ARM
        assert told.step(0)[1] == REWARD

    def test_the_best_arm_can_be_observed_as_with_river(self):
        env = KArmedTestbed(k=10, observe_best_arm=True)
        assert env.observation_space == gymnasium.spaces.Discrete(10)
        assert env.reset(seed=42)[0] == BEST_ARM
        assert env.step(0)[0] == BEST_ARM

    def test_river_itself_agrees(self):
        river = pytest.importorskip("river.bandit.envs").KArmedTestbed(7)
        env = KArmedTestbed(7, observe_best_arm=True)
        for seed in (5, None, None):
            assert env.reset(seed=seed)[0] == river.reset(seed=seed)[0]
            for arm in (0, 6, 3):
                assert env.step(arm)[:4] == river.step(arm)[:4]
        members = {name for name in dir(river) if not name.startswith("_")}
        assert members <= set(dir(env))

    @pytest.mark.parametrize("options", [{"drift_std": 0.1}, {"dtype": np.float32}])
    def test_other_laws_of_the_core_are_drawn_too(self, options):
        env = KArmedTestbed(5, **options)
        core = CoreTestbed(5, seed=11, **{"dtype": np.float64, **options})
        env.reset(seed=11)
        core.reset()
        for action in [0, 1, 2, 2]:
            assert env.step(action)[1] == core.step([action]).reward[0]

    @pytest.mark.parametrize("action_of", [int, np.int64, lambda action: np.array([action])])
    def test_its_trajectory_is_that_of_the_core(self, action_of):
        env, core = KArmedTestbed(5), CoreTestbed(5, seed=11, dtype=np.float64)
        env.reset(seed=11)
        core.reset()
        for step in range(60):
            if step == 30:
                env.reset()
                core.reset()
            action = action_of(step % 5)
            assert env.step(action)[1] == core.step(action).reward[0]

    def test_its_environment_takes_every_step_once_it_has_been_read(self):
        env = KArmedTestbed(5)
        env.reset(seed=0)
        env.step(1)
        core = env.env
        state = core.get_state()
        rewards = [env.step(2)[1] for _ in range(3)]
        assert core.current_time_step().reward == rewards[-1]
        assert core.get_info()["expected_reward"] == core.expected_rewards()[0, 2]
        core.set_state(state)
        assert [env.step(2)[1] for _ in range(3)] == rewards

    @pytest.mark.parametrize("pull", [{"arm": 0}, {"action": 0}, {"arm": np.int32(0)}], ids=str)
    def test_an_arm_can_be_named_either_way(self, pull):
        env = KArmedTestbed()
        env.reset(seed=42)
        assert env.step(**pull)[1] == REWARD

    @pytest.mark.parametrize(
        ("action", "error"),
        [
            (-1, ValueError),
            (10, ValueError),
            (np.int64(-1), ValueError),
            (1.0, TypeError),
            (None, TypeError),
            (True, TypeError),
            ("0", TypeError),
        ],
    )
    def test_what_is_no_arm_is_refused_and_changes_nothing(self, action, error):
        env = KArmedTestbed()
        env.reset(seed=42)
        with pytest.raises(error, match="action"):
            env.step(action)
        assert env.step(0)[1] == REWARD

    def test_its_generator_can_be_seeded_and_exchanged(self):
        env = KArmedTestbed(expected_rewards=True)
        for seed in (42, np.int64(42), np.random.SeedSequence(42)):
            assert env.reset(seed=seed)[1]["best_arm"] == BEST_ARM
        env = KArmedTestbed()
        env.reset(seed=0)
        env.np_random = np.random.default_rng(42)
        env.reset()
        assert env.step(0)[1] == REWARD

    @pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
    def test_a_copy_goes_on_alike_and_by_itself(self, copied):
        env = KArmedTestbed()
        env.reset(seed=42)
        other = copied(env)
        assert env.step(0)[1] == other.step(0)[1] == REWARD

    def test_vectorized_one_by_one_it_is_seeded_as_river_is(self):
        envs = gymnasium.make_vec(
            TESTBED, num_envs=3, vectorization_mode="sync", observe_best_arm=True
        )
        assert envs.reset(seed=0)[0].tolist() == [6, 4, 4]

    @pytest.mark.parametrize("observe_best_arm", [False, True])
    def test_vectorized_it_observes_what_a_single_one_does(self, observe_best_arm):
        env = gymnasium.make_vec(TESTBED, num_envs=4, observe_best_arm=observe_best_arm)
        core = CoreTestbed(batch_size=4, seed=0, dtype=np.float64)
        core.reset()
        expected = core.optimal_action() if observe_best_arm else np.zeros(4)
        np.testing.assert_array_equal(env.reset(seed=0)[0], expected)
        observations, rewards, *_ = env.step([0] * 4)
        np.testing.assert_array_equal(observations, expected)
        np.testing.assert_array_equal(rewards, core.step([0] * 4).reward)

    def test_rivers_policies_are_evaluated_on_the_id(self):
        bandit = pytest.importorskip("river.bandit")
        stats = pytest.importorskip("river.stats")
        trace = list(
            bandit.evaluate(
                [bandit.EpsilonGreedy(0.1, seed=1), bandit.UCB(delta=1, seed=1)],
                gymnasium.make(TESTBED),
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
    def test_make_collects_frames(self, mode, frame):
        if mode == "rgb_array":
            pytest.importorskip("matplotlib")
        env = gymnasium.make(TESTBED, render_mode=f"{mode}_list")
        env.reset(seed=0)
        _, reward, *_ = env.step(2)
        frames = env.render()
        assert [type(one) for one in frames] == [frame, frame]
        if mode == "ansi":
            assert f"{reward:.2f}" in frames[1].splitlines()[0]

    def test_without_a_render_mode_nothing_is_rendered(self):
        env = KArmedTestbed()
        env.reset()
        assert env.render() is None


def test_a_seeded_reset_starts_anew_what_goes_on_through_other_resets():
    env = gymnasium.make("bandit_envs/PiecewiseLinearBandit-v0", interval=3)
    first = env.reset(seed=1)[0], [env.step(0)[1] for _ in range(7)]
    again = env.reset(seed=1)[0], [env.step(0)[1] for _ in range(7)]
    np.testing.assert_array_equal(first[0], again[0])
    assert first[1] == again[1]


@pytest.mark.parametrize(
    "make", [gymnasium.make, functools.partial(gymnasium.make_vec, num_envs=3)]
)
@pytest.mark.parametrize(
    "name", ["CascadeBandit", "PositionBasedBandit", "Ranking", POSITIONAL_BIAS]
)
def test_slates_are_multi_discrete_and_their_items_are_distinct(name, make):
    env = make(f"bandit_envs/{name}-v0")
    env.reset(seed=0)
    space = pickle.loads(pickle.dumps(env.action_space))
    assert isinstance(space, gymnasium.spaces.MultiDiscrete)
    for _ in range(20):
        action = space.sample()
        assert space.contains(action)
        env.step(action)
    action[..., 1] = action[..., 0]
    assert not space.contains(action)
    with pytest.raises(ValueError, match="action"):
        env.step(action)
