import copy
import pickle
import warnings

import numpy as np
import pytest

pytest.importorskip("gymnasium", minversion="1.1")

from gymnasium import spaces
from gymnasium.utils.env_checker import check_env

from bandit_envs import ArraySpec, BoundedArraySpec
from bandit_envs.adapters.gymnasium import GymnasiumEnv
from bandit_envs.adapters.spaces import space_from_spec
from bandit_envs.sampling import Integers
from bandit_envs.wrappers import AffineReward, ClipReward

from . import examples
from .examples import ACTION, Countdown, K, Listed, Slates, TwoRewards, assert_first_row, leaves


def k_armed(**options):
    return examples.k_armed(batch_size=1, **options)


def per_arm(num_actions=Integers(1, 1, K + 1), **options):  # noqa: B008
    return examples.per_arm(num_actions, batch_size=1, **options)


@pytest.mark.parametrize(
    ("spec", "space"),
    [
        (BoundedArraySpec((), np.int32, 0, 9), spaces.Discrete(10)),
        (BoundedArraySpec((), np.int32, 1, 9), spaces.Box(1, 9, (), np.int32)),
        (BoundedArraySpec((2,), np.uint8, 0, [3, 4]), spaces.MultiDiscrete([4, 5])),
        (ArraySpec((), np.int64), spaces.Box(-(2**63), 2**63 - 1, (), np.int64)),
        (ArraySpec((3,), np.bool_), spaces.MultiBinary([3])),
        (ArraySpec((), np.bool_), spaces.Discrete(2)),
        (ArraySpec((2,), np.float64), spaces.Box(-np.inf, np.inf, (2,), np.float64)),
        (BoundedArraySpec((), np.float32, 0), spaces.Box(0, np.inf, (), np.float32)),
    ],
)
def test_a_spec_becomes_the_space_of_its_values(spec, space):
    assert space_from_spec(spaces, spec) == space
    nest = {"b": [spec, spec], "a": ({"c": spec},)}
    assert space_from_spec(spaces, nest) == spaces.Dict(
        {"b": spaces.Tuple((space, space)), "a": spaces.Tuple((spaces.Dict(c=space),))}
    )


@pytest.mark.parametrize("make", [k_armed, per_arm])
@pytest.mark.parametrize("horizon", [None, 40])
def test_its_trajectory_is_that_of_the_core(make, horizon):
    env = GymnasiumEnv(make(horizon=horizon), expected_rewards=True)
    core = make(seed=3, horizon=horizon)
    observation, info = env.reset(seed=3)
    time_step = core.reset()
    rng = np.random.default_rng(0)
    for step in range(1, 41):
        assert env.observation_space.contains(observation)
        assert_first_row(observation, time_step.observation)
        np.testing.assert_array_equal(info["expected_rewards"], core.expected_rewards()[0])
        assert info["best_arm"] == core.optimal_action()[0]
        action = rng.choice(np.flatnonzero(info["expected_rewards"] > -np.inf))
        observation, reward, *ends, info = env.step(action)
        time_step = core.step([action])
        assert reward == time_step.reward[0]
        assert ends == [horizon is None, horizon == step]
        assert list(map(type, (reward, *ends))) == [float, bool, bool]


@pytest.mark.parametrize(("start", "end"), [(2, (True, False)), (3, (False, True))])
def test_discount_0_is_termination_and_discount_1_truncation(start, end):
    env = GymnasiumEnv(Countdown([start]))
    env.reset()
    ends = [env.step(ACTION)[2:4] for _ in range(start)]
    assert ends == [(False, False)] * (start - 1) + [end]


def test_infos_are_empty_unless_the_means_are_asked_for():
    env = GymnasiumEnv(k_armed())
    assert env.reset()[1] == {}
    assert env.step(0)[-1] == {}
    with pytest.raises(NotImplementedError):
        GymnasiumEnv(ClipReward(k_armed(), (-1.0, 1.0)), expected_rewards=True).reset()
    with pytest.raises(ValueError, match="expected_rewards"):
        GymnasiumEnv(Countdown([3]), expected_rewards=True)


def test_spaces_and_elements_are_nested_as_the_specs_are():
    env = GymnasiumEnv(Countdown([3]))
    observation, _ = env.reset()
    assert (type(observation["count"]), observation["count"]) == (int, 3)
    env.action_space.seed(0)
    action = env.action_space.sample()
    observation, reward, *_ = env.step(action)
    assert reward == pytest.approx(action["choice"] + action["push"].sum())
    assert env.observation_space.contains(observation)


def test_what_its_action_space_has_is_an_action_also_where_the_spec_has_lists():
    env, twin = GymnasiumEnv(Listed([9])), GymnasiumEnv(Countdown([9]))
    env.reset()
    twin.reset()
    for _ in range(3):
        action = env.action_space.sample()
        assert env.step(action)[1] == twin.step(action[0])[1]


def test_slates_are_multi_discrete():
    env = GymnasiumEnv(Slates())
    assert env.action_space == spaces.MultiDiscrete([K, K])
    env.reset()
    assert env.step(np.array([4, 3]))[1] == 7.0


@pytest.mark.parametrize(
    ("make", "action", "error"),
    [
        (k_armed, -1, ValueError),
        (k_armed, K, ValueError),
        (k_armed, 1.0, TypeError),
        (lambda: ClipReward(k_armed(), (-1, 1)), -1, ValueError),
        (Slates, [0, K], ValueError),
        (lambda: Countdown([9]), {**ACTION, "choice": 0}, ValueError),
        (lambda: Countdown([9]), {**ACTION, "choice": 1.5}, TypeError),
        (lambda: Countdown([9]), {"choice": 1}, TypeError),
        (lambda: Listed([9]), (ACTION,), TypeError),
    ],
)
def test_a_bad_action_is_refused_and_changes_nothing(make, action, error):
    env = GymnasiumEnv(make())
    env.reset(seed=0)
    before = pickle.dumps(env.env.get_state())
    with pytest.raises(error, match="action"):
        env.step(action)
    assert pickle.dumps(env.env.get_state()) == before


def test_the_first_step_resets_as_in_the_core_and_nothing_is_rendered_before():
    env = GymnasiumEnv(k_armed(), render_mode="ansi")
    with pytest.raises(ValueError, match="reset"):
        env.render()
    assert env.step(0)[1:4] == (0.0, False, False)


@pytest.mark.parametrize(
    ("environment", "options", "error", "name"),
    [
        (k_armed(horizon=2), {"render_mode": "x"}, ValueError, "render_mode"),
        (examples.k_armed(), {}, ValueError, "batch_size"),
        (TwoRewards(), {}, ValueError, "reward_spec.*LinearScalarization"),
        ("testbed", {}, TypeError, "env"),
    ],
)
def test_bad_arguments_are_refused(environment, options, error, name):
    with pytest.raises(error, match=name):
        GymnasiumEnv(environment, **options)


def test_its_generator_is_that_of_the_environment():
    env = GymnasiumEnv(k_armed(seed=9))
    assert env.np_random is env.env.np_random
    assert env.np_random_seed == 9
    env.reset(seed=np.int32(7))
    assert env.np_random_seed == 7
    first = env.step(0)[1]
    env.np_random = np.random.default_rng(7)
    assert env.np_random_seed == -1
    env.reset()
    assert env.step(0)[1] == first
    env.reset(seed=np.random.SeedSequence(7))
    assert (env.step(0)[1], env.np_random_seed) == (first, -1)


def test_the_seed_that_an_environment_has_drawn_repeats_its_run_as_in_gymnasium():
    env = GymnasiumEnv(k_armed(seed=None))
    seed = env.np_random_seed
    env.reset()
    first = env.step(0)[1]
    env.reset(seed=seed)
    assert env.step(0)[1] == first
    used = k_armed(seed=7)
    used.reset()
    spawned = k_armed(seed=np.random.SeedSequence(7).spawn(1)[0])
    for other in (used, spawned, k_armed(seed=np.random.RandomState(7))):
        assert GymnasiumEnv(other).np_random_seed == -1


@pytest.mark.parametrize(("seed", "error"), [(1.5, TypeError), (-1, ValueError)])
def test_a_bad_seed_is_refused(seed, error):
    with pytest.raises(error, match="seed"):
        GymnasiumEnv(k_armed()).reset(seed=seed)


def test_rewards_of_a_wrapper_are_rewards_of_the_adapter():
    env, plain = GymnasiumEnv(AffineReward(k_armed(), 2.0, 1.0)), GymnasiumEnv(k_armed())
    env.reset(seed=0)
    plain.reset(seed=0)
    assert env.step(1)[1] == pytest.approx(2.0 * plain.step(1)[1] + 1.0)
    assert plain.reward_range == (-np.inf, np.inf)
    assert GymnasiumEnv(ClipReward(k_armed(), (-1.0, 1.0))).reward_range == (-1.0, 1.0)


@pytest.mark.parametrize("make", [k_armed, per_arm, lambda: Countdown([100])])
def test_what_is_returned_is_the_callers_own(make):
    env = GymnasiumEnv(make(), expected_rewards=make is not None and make in (k_armed, per_arm))
    env.reset(seed=0)
    observation, *_, info = env.step(ACTION if isinstance(env.env, Countdown) else 0)
    kept = copy.deepcopy(env.env.get_state())
    for leaf in leaves((observation, info)):
        if isinstance(leaf, np.ndarray):
            leaf[...] = 9
    assert pickle.dumps(env.env.get_state()) == pickle.dumps(kept)


@pytest.mark.filterwarnings("ignore:.*(maximum|minimum) value is -?infinity")
@pytest.mark.filterwarnings("ignore:.*alternative render modes")
@pytest.mark.parametrize(
    "make",
    [
        lambda: k_armed(horizon=100),
        lambda: per_arm(None, horizon=100),  # the check takes arms without looking for their number
        lambda: per_arm(None),
        Slates,
        lambda: Countdown([100]),
        lambda: Listed([100]),
    ],
)
def test_gymnasiums_own_check_passes(make):
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*(share|should|must)")
        check_env(GymnasiumEnv(make()), skip_render_check=True)
