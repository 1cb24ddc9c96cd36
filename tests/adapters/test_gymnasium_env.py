import copy
import math
import pickle
import warnings

import numpy as np
import pytest

pytest.importorskip("gymnasium", minversion="1.1")

import gymnasium
from gymnasium.utils.env_checker import check_env

from bandit_envs import KArmedTestbed
from bandit_envs.adapters.gymnasium import GymnasiumEnv, StationaryStochasticPerArm
from bandit_envs.environments import StationaryStochasticPerArmPyEnvironment
from bandit_envs.rewards import LinearReward
from bandit_envs.sampling import Integers, Normal
from bandit_envs.wrappers import AffineReward, ClipReward

from .gymnasium_examples import Countdown, Listed

PER_ARM_ID = "bandit_envs.adapters.gymnasium:bandit_envs/StationaryStochasticPerArm-v0"
AVAILABLE = Integers(1, 1, 6)
ACTION = {"push": np.array([0.5, -0.25], np.float32), "choice": 2}


def k_armed(**options):
    return KArmedTestbed(5, **options)


def per_arm(num_actions_fn=AVAILABLE, **options):
    return StationaryStochasticPerArmPyEnvironment(
        Normal(2), Normal(3), 5, LinearReward(np.arange(5.0)), num_actions_fn, **options
    )


def leaves(nest):
    """Returns the leaves of a nest, of dicts in the order of their keys."""
    if isinstance(nest, dict):
        return [leaf for key in sorted(nest) for leaf in leaves(nest[key])]
    if isinstance(nest, tuple):
        return [leaf for part in nest for leaf in leaves(part)]
    return [nest]


@pytest.mark.parametrize("make", [k_armed, per_arm])
@pytest.mark.parametrize("horizon", [None, 40])
def test_its_trajectory_is_that_of_the_core(make, horizon):
    env, core = GymnasiumEnv(make(horizon=horizon)), make(seed=3, horizon=horizon)
    observation, info = env.reset(seed=3)
    time_step = core.reset()
    rng = np.random.default_rng(0)
    for step in range(1, 41):
        assert env.observation_space.contains(observation)
        for one, batch in zip(leaves(observation), leaves(time_step.observation), strict=True):
            np.testing.assert_array_equal(one, batch[0])
        np.testing.assert_array_equal(info["expected_rewards"], core.expected_rewards()[0])
        assert info["best_arm"] == core.optimal_action()[0]
        action = rng.choice(np.flatnonzero(info["expected_rewards"] > -np.inf))
        observation, reward, terminated, truncated, info = env.step(action)
        time_step = core.step([action])
        assert reward == time_step.reward[0]
        assert terminated == (horizon is None)
        assert truncated == (horizon == step)


@pytest.mark.parametrize(("start", "end"), [(2, (True, False)), (3, (False, True))])
def test_discount_0_is_termination_and_discount_1_truncation(start, end):
    env = GymnasiumEnv(Countdown([start]))
    env.reset()
    ends = [env.step(ACTION)[2:4] for _ in range(start)]
    assert ends == [(False, False)] * (start - 1) + [end]


def test_a_stream_goes_on_without_a_reset():
    env, core = GymnasiumEnv(k_armed()), k_armed(seed=1)
    env.reset(seed=1)
    core.reset()
    for _ in range(10):
        _, reward, terminated, truncated, _ = env.step(2)
        assert (reward, terminated, truncated) == (core.step([2]).reward[0], True, False)


def test_spaces_and_elements_are_nested_as_the_specs_are():
    env = GymnasiumEnv(Countdown([3]))
    observation, info = env.reset()
    assert info == {}
    assert observation["count"] == 3
    assert type(observation["count"]) is int
    assert env.observation_space.contains(observation)
    env.action_space.seed(0)
    action = env.action_space.sample()
    observation, reward, *_ = env.step(action)
    assert reward == pytest.approx(action["choice"] + action["push"].sum())
    assert env.observation_space.contains(observation)


@pytest.mark.parametrize(
    ("make", "action", "error", "message"),
    [
        (k_armed, -1, ValueError, "action[0] is -1; expected 0 <= action < 5"),
        (k_armed, 5, ValueError, "action[0] is 5; expected 0 <= action < 5"),
        (k_armed, 1.0, TypeError, "action is 1.0, float64; expected int32"),
        (lambda: ClipReward(k_armed(), (-1, 1)), -1, ValueError, "action[0] is -1"),
        (lambda: Countdown([9]), {**ACTION, "choice": 0}, ValueError, "action does not fit"),
        (lambda: Countdown([9]), {**ACTION, "choice": 1.5}, TypeError, "action is 1.5, float64"),
        (lambda: Countdown([9]), {"choice": 1}, ValueError, "keys are ['choice']"),
    ],
)
def test_a_bad_action_is_refused_and_changes_nothing(make, action, error, message):
    env = GymnasiumEnv(make())
    env.reset(seed=0)
    before = pickle.dumps(env.env.current_time_step())
    position = env.np_random.bit_generator.state
    with pytest.raises(error) as caught:
        env.step(action)
    assert message in str(caught.value)
    assert pickle.dumps(env.env.current_time_step()) == before
    assert env.np_random.bit_generator.state == position


def test_what_its_action_space_has_is_an_action_also_where_the_spec_has_lists():
    env, twin = GymnasiumEnv(Listed([9])), GymnasiumEnv(Countdown([9]))
    env.reset()
    twin.reset()
    for _ in range(3):
        action = env.action_space.sample()
        assert env.step(action)[1] == twin.step(action[0])[1]
    with pytest.raises(ValueError, match="length is 1; expected 2"):
        env.step(action[:1])


def test_nothing_is_rendered_before_the_first_reset():
    with pytest.raises(gymnasium.error.ResetNeeded):
        GymnasiumEnv(k_armed(), render_mode="ansi").render()


def test_a_step_before_the_first_reset_is_refused():
    with pytest.raises(gymnasium.error.ResetNeeded, match="call reset"):
        GymnasiumEnv(k_armed()).step(0)


@pytest.mark.parametrize(
    ("environment", "options", "error", "message"),
    [
        (k_armed(batch_size=2), {}, ValueError, "env has batch_size 2; expected 1"),
        ("testbed", {}, TypeError, "env is 'testbed'; expected a PyEnvironment"),
        (k_armed(), {"render_mode": "x"}, ValueError, "render_mode is 'x'; expected None or one"),
    ],
)
def test_bad_arguments_are_refused(environment, options, error, message):
    with pytest.raises(error) as caught:
        GymnasiumEnv(environment, **options)
    assert message in str(caught.value)


def test_its_generator_is_that_of_the_environment():
    env = GymnasiumEnv(k_armed(seed=7))
    assert env.np_random is env.env.np_random
    assert env.np_random_seed == -1
    env.reset(seed=np.int32(7))
    assert env.np_random_seed == 7
    first = env.step(0)[1]
    env.np_random = np.random.default_rng(7)
    assert env.np_random_seed == -1
    env.reset()
    assert env.step(0)[1] == first
    env.reset(seed=np.random.SeedSequence(7))
    assert (env.step(0)[1], env.np_random_seed) == (first, -1)


@pytest.mark.parametrize(("seed", "error"), [(1.5, TypeError), (-1, ValueError)])
def test_a_bad_seed_is_refused(seed, error):
    with pytest.raises(error, match="seed is"):
        GymnasiumEnv(k_armed()).reset(seed=seed)


def test_rewards_of_a_wrapper_are_rewards_of_the_adapter():
    env, plain = GymnasiumEnv(AffineReward(k_armed(), 2.0, 1.0)), GymnasiumEnv(k_armed())
    info, plain_info = env.reset(seed=0)[1], plain.reset(seed=0)[1]
    np.testing.assert_allclose(info["expected_rewards"], 2.0 * plain_info["expected_rewards"] + 1.0)
    assert env.step(1)[1] == pytest.approx(2.0 * plain.step(1)[1] + 1.0)
    assert plain.reward_range == (-math.inf, math.inf)


def test_expected_rewards_that_are_not_known_are_left_out():
    env = GymnasiumEnv(ClipReward(k_armed(), (-1.0, 1.0)))
    assert env.reset()[1] == {}
    assert env.reward_range == (-1.0, 1.0)


@pytest.mark.parametrize("make", [k_armed, per_arm, lambda: Countdown([100])])
def test_what_is_returned_is_the_callers_own(make):
    env = GymnasiumEnv(make(), render_mode=None)
    env.reset(seed=0)
    action = ACTION if isinstance(env.env, Countdown) else 0
    observation, *_, info = env.step(action)
    kept = copy.deepcopy(env.env.current_time_step().observation)
    for leaf in leaves((observation, info)):
        if isinstance(leaf, np.ndarray):
            leaf[...] = 9
    for one, other in zip(leaves(env.env.current_time_step().observation), leaves(kept)):
        np.testing.assert_array_equal(one, other)


@pytest.mark.filterwarnings("ignore:.*(maximum|minimum) value is -?infinity")
@pytest.mark.filterwarnings("ignore:.*alternative render modes")
@pytest.mark.parametrize(
    "make",
    [
        lambda: k_armed(horizon=100),
        lambda: per_arm(None, horizon=100),  # the check takes arms without looking for their number
        lambda: per_arm(None),
        lambda: Countdown([100]),
        lambda: Listed([100]),
    ],
)
def test_gymnasiums_own_check_passes(make):
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*(share|should|must)")
        check_env(GymnasiumEnv(make()))


class TestStationaryStochasticPerArm:
    def test_the_id_makes_a_problem_of_ten_items_by_default(self):
        env = gymnasium.make(PER_ARM_ID)
        observation, _ = env.reset(seed=0)
        assert {key: leaf.shape for key, leaf in observation.items()} == {
            "global": (5,),
            "per_arm": (10, 5),
        }
        assert env.action_space == gymnasium.spaces.Discrete(10)
        assert env.spec.max_episode_steps == StationaryStochasticPerArm.n_steps == 1000
        ends = [env.step(0)[2:4] for _ in range(1000)]
        assert ends == [(False, False)] * 999 + [(False, True)]

    def test_the_id_takes_the_arguments_of_the_environment(self):
        rng = np.random.default_rng(0)
        env = gymnasium.make(
            PER_ARM_ID,
            global_context_sampling_fn=lambda: rng.normal(size=2),
            arm_context_sampling_fn=lambda: rng.normal(size=3),
            max_num_actions=4,
            reward_fn=np.sum,
            num_actions_fn=lambda: 3,
        )
        observation, info = env.reset()
        assert observation["num_actions"] == 3
        assert observation["per_arm"].shape == (4, 3)
        assert info == {}  # a function of TF-Agents' kind tells no mean
        features = np.concatenate((observation["global"], observation["per_arm"][2]))
        assert env.step(2)[1] == pytest.approx(features.sum(), rel=1e-6)
        with pytest.raises(ValueError, match="the num_actions of its row"):
            env.step(3)

    @pytest.mark.filterwarnings("ignore:.*(maximum|minimum) value is -?infinity")
    def test_gymnasiums_own_check_passes_with_pictures(self):
        pytest.importorskip("matplotlib").use("Agg")
        check_env(gymnasium.make(PER_ARM_ID).unwrapped)

    def test_a_picture_shows_the_items_of_the_user(self):
        env = gymnasium.make(PER_ARM_ID, render_mode="ansi", max_num_actions=3)
        _, info = env.reset(seed=0)
        title, _, *arms = env.render().splitlines()
        assert title == "stationary_stochastic_per_arm: 0 pulls"
        assert [line.split()[1] for line in arms] == [
            f"{mean:.2f}" for mean in info["expected_rewards"]
        ]
