import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandit_envs import ArraySpec, BoundedArraySpec, CascadeBandit, KArmedTestbed
from bandit_envs.specs import check_arrays_nest, value_range
from bandit_envs.wrappers import AffineReward, ClipReward, RescaleReward
from tests.cases import for_each
from tests.wrappers.examples import Payer, per_arm_bandit

INF = float("inf")
REWARDS = [-3.0, -1.0, 0.0, 0.5, 1.0, 2.0, 50.0]
# The range of the rewards, and what REWARDS become in (-5, 15).
RESCALED = {
    (0.0, 2.0): [-35, -15, -5, 0, 5, 15, 495],
    (-1.0, INF): [-20.23188, -5, 4.24234, 7.70298, 10.23188, 13.10297, 15],
    (-INF, 1.0): [-4.28055, -0.23188, 5.75766, 10.10163, 15, 24.24234, 35],
    (-INF, INF): [-4.05148, 0.37883, 5, 7.44919, 9.62117, 12.61594, 15],
}
RANGES = sorted(RESCALED)


def seen(env):
    """The rewards of a step."""
    env.reset()
    return env.step(np.zeros(env.batch_size, np.int32)).reward


@for_each(
    ("spec", "expected"),
    [
        (ArraySpec((), np.float32), (-INF, INF)),
        (BoundedArraySpec((), np.float32), (-INF, INF)),
        (BoundedArraySpec((), np.float64, 0.0), (0.0, INF)),
        (BoundedArraySpec((), np.float32, maximum=2.5), (-INF, 2.5)),
        (BoundedArraySpec((2,), np.float32, [-1.0, -2.0], [3.0, 1.0]), (-2.0, 3.0)),
        (BoundedArraySpec((), np.int8), (-128.0, 127.0)),
    ],
)
def test_the_reward_range_follows_from_the_spec(spec, expected):
    assert value_range(spec) == expected
    if spec.shape == () and spec.dtype == np.float64:
        assert Payer([1.0], 0.0).reward_range == expected


@for_each("bounds", RANGES)
@for_each("dtype", [np.float32, np.float64])
def test_rescaled_rewards_are_those_of_rlberry(bounds, dtype):
    env = RescaleReward(Payer(REWARDS, *bounds, dtype), (-5.0, 15.0))
    rewards = seen(env)
    assert rewards.dtype == dtype
    digits = 5 if dtype == np.float64 else 4
    assert np.round(rewards.astype(np.float64), digits).tolist() == pytest.approx(
        np.round(RESCALED[bounds], digits).tolist(), abs=1e-12
    )
    assert env.reward_range == (-5.0, 15.0)
    assert env.reward_spec() == BoundedArraySpec((), dtype, -5.0, 15.0)
    assert env.wrapped_env().reward_range == bounds


@for_each("bounds", RANGES)
def test_huge_rewards_raise_no_warning_and_reach_the_ends_exactly(bounds):
    low, high = bounds
    worst, best = (low if low > -INF else -1e300), (high if high < INF else 1e300)
    with warnings.catch_warnings(), np.errstate(over="raise", invalid="raise", divide="raise"):
        warnings.simplefilter("error")
        rewards = seen(RescaleReward(Payer([worst, best], *bounds), (-0.1, 0.2)))
    assert rewards.tolist() == [-0.1, 0.2]


def test_infinite_rewards_reach_the_ends():
    class Infinite(Payer):
        def reward_spec(self):
            return ArraySpec((), np.float64)

    assert seen(RescaleReward(Infinite([-INF, INF]), (2.0, 3.0))).tolist() == [2.0, 3.0]


def test_tiny_differences_far_below_zero_are_kept():
    rewards = seen(RescaleReward(Payer([-50.0, -40.0]), (0.0, 1.0)))
    assert rewards == pytest.approx(np.exp([-50.0, -40.0]), rel=1e-14)


@given(
    st.sampled_from(RANGES),
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=2, unique=True),
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20),
    st.sampled_from([np.float32, np.float64]),
)
def test_rewards_within_their_range_end_up_within_the_new_one(bounds, ends, shares, dtype):
    low, high = np.sort(np.array(ends, np.float32)).tolist()
    if low == high:
        return
    smallest, largest = np.clip(bounds, -1e3, 1e3)
    rewards = np.sort(smallest + np.array(shares) * (largest - smallest))
    rescaled = seen(RescaleReward(Payer(rewards, *bounds, dtype), (low, high)))
    # One rounding of the sum of two products may go astray.
    slack = 2 * np.spacing(dtype(max(abs(low), abs(high))))
    assert rescaled.min() >= low - slack
    assert rescaled.max() <= high + slack
    assert np.all(np.diff(rescaled) >= -slack)


def bounded_bandit(seed=0):
    """A bandit, some of whose actions are not available, that says its rewards are from -2 to 4."""
    env = per_arm_bandit(seed)
    env.reward_spec = lambda: BoundedArraySpec((), np.float32, -2.0, 4.0, "reward")
    return env


def test_the_expected_rewards_of_a_bounded_bandit_are_rescaled_exactly():
    bare, env = bounded_bandit(), RescaleReward(bounded_bandit(), (0.0, 1.0))
    bare.reset()
    env.reset()
    available = np.isfinite(bare.expected_rewards())
    assert not available.all()
    expected = np.where(available, (bare.expected_rewards() + 2.0) / 6.0, -INF)
    assert env.expected_rewards() == pytest.approx(expected, abs=1e-6)
    assert np.array_equal(env.optimal_action(), bare.optimal_action())
    assert env.optimal_reward() == pytest.approx(expected.max(axis=1), abs=1e-6)
    action = env.optimal_action()
    env.step(action)
    bare.step(action)
    for key in ("expected_reward", "optimal_reward"):
        assert env.get_info()[key] == pytest.approx((bare.get_info()[key] + 2.0) / 6.0, abs=1e-6)
    assert np.array_equal(env.get_info()["optimal_action"], bare.get_info()["optimal_action"])


@for_each(
    "wrapped", [lambda env: RescaleReward(env, (0.0, 1.0)), lambda env: ClipReward(env, (0.0, 1.0))]
)
def test_expected_rewards_that_are_not_exact_are_refused(wrapped):
    env = wrapped(KArmedTestbed(k=3))
    env.reset()
    env.step([0])
    for question in (env.expected_rewards, env.optimal_action, env.optimal_reward, env.get_info):
        with pytest.raises(NotImplementedError, match=r"\(k-armed testbed\) does not know its exp"):
            question()


def test_the_mean_of_affine_rewards_is_the_expected_one():
    env = AffineReward(KArmedTestbed(k=2, batch_size=2, seed=0), 3.0, -1.0)
    env.reset()
    expected = env.expected_rewards()[:, 0]
    rewards = np.array([env.step([0, 0]).reward for _ in range(4000)])
    # Within 5 standard errors; the rewards' standard deviation is 3.
    assert np.all(np.abs(rewards.mean(axis=0) - expected) < 5 * 3.0 / np.sqrt(4000))


def test_affine_rewards_keep_what_is_not_available_at_minus_infinity():
    bare, env = per_arm_bandit(), AffineReward(per_arm_bandit(), 2.0, 5.0)
    bare.reset()
    env.reset()
    assert env.expected_rewards() == pytest.approx(2.0 * bare.expected_rewards() + 5.0, abs=1e-5)
    assert np.isneginf(env.expected_rewards()).any()
    assert np.array_equal(env.optimal_action(), bare.optimal_action())


@for_each(
    ("wrapped", "expected"),
    [
        (lambda env: AffineReward(env, 2.0, 1.0), (1.0, 5.0)),
        (lambda env: AffineReward(env, shift=-1.0), (-1.0, 1.0)),
        (lambda env: ClipReward(env, (0.5, 7.0)), (0.5, 2.0)),
        (lambda env: RescaleReward(env, (3.0, 4.0)), (3.0, 4.0)),
    ],
)
def test_the_reward_spec_says_the_new_range_and_even_the_first_reward_obeys_it(wrapped, expected):
    env = wrapped(Payer([0.0, 0.25, 2.0], 0.0, 2.0, np.float32))
    assert env.reward_range == expected
    assert env.reset().reward.tolist() == [np.clip(0.0, *expected)] * 3
    rewards = seen(env)
    assert check_arrays_nest(rewards, env.reward_spec().replace(shape=(3,)))
    assert (rewards.min(), rewards.max()) == expected


def test_clipped_rewards_are_within_the_range_and_others_unchanged():
    env = ClipReward(Payer(REWARDS), (-1.0, 1.5))
    assert seen(env).tolist() == [-1.0, -1.0, 0.0, 0.5, 1.0, 1.5, 1.5]


def test_affine_rewards_of_an_unbounded_environment_are_unbounded():
    assert AffineReward(Payer([1.0]), 2.0).reward_spec() == ArraySpec((), np.float64)


@for_each("dtype", [np.int8, np.int64])
def test_integer_rewards_become_floating_point_numbers(dtype):
    env = RescaleReward(Payer([0, 1, 4], 0, 4, dtype), (0.0, 1.0))
    assert env.reward_spec().dtype == (np.float32 if dtype is np.int8 else np.float64)
    assert seen(env).tolist() == [0.0, 0.25, 1.0]


@for_each("wrapper", [RescaleReward, ClipReward])
@for_each(
    ("reward_range", "error", "message"),
    [
        ((1.0, 1.0), ValueError, r"reward_range is \(1.0, 1.0\)"),
        ((2.0, 1.0), ValueError, r"reward_range is \(2.0, 1.0\)"),
        ((0.0, INF), ValueError, r"reward_range is \(0.0, inf\)"),
        ((np.nan, 1.0), ValueError, r"reward_range is \(nan, 1.0\)"),
        ((0.0, 1.0, 2.0), ValueError, r"reward_range is \(0.0, 1.0, 2.0\)"),
        (1.0, ValueError, r"reward_range has shape \(\)"),
        (None, TypeError, "reward_range is .*None"),
        (("0", "1"), TypeError, "reward_range is <U1"),
    ],
)
def test_a_bad_range_is_refused(wrapper, reward_range, error, message):
    with pytest.raises(error, match=message):
        wrapper(KArmedTestbed(), reward_range)


def test_rewards_that_are_all_the_same_cannot_be_rescaled():
    with pytest.raises(ValueError, match="Payer are all 1"):
        RescaleReward(Payer([1.0], 1.0, 1.0), (0.0, 1.0))


@for_each(
    ("arguments", "error", "message"),
    [
        ({"scale": 0.0}, ValueError, "scale is 0; expected more than 0"),
        ({"scale": -1.0}, ValueError, "scale is -1; expected more than 0"),
        ({"scale": 1e38}, ValueError, "scale is 1e[+]38; expected at most 1e[+]37"),
        ({"scale": INF}, ValueError, "scale is inf; expected a finite number"),
        ({"shift": np.nan}, ValueError, "shift is nan; expected a finite number"),
        ({"shift": "1"}, TypeError, "shift is '1'; expected a number"),
    ],
)
def test_a_bad_scale_or_shift_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        AffineReward(KArmedTestbed(), **arguments)


def test_an_affine_reward_leaves_the_optimum_to_the_wrapped_environment():
    bare = KArmedTestbed(5, batch_size=6, seed=1)
    env = AffineReward(bare, 1.0, 1e8)  # float32 rounds all mapped means to one number
    env.reset()
    assert np.array_equal(env.optimal_action(), bare.optimal_action())
    env.step(np.zeros(6, int))
    assert np.array_equal(env.get_info()["optimal_action"], bare.optimal_action())


@pytest.mark.filterwarnings("error")
def test_the_widest_finite_range_can_be_rescaled():
    env = RescaleReward(Payer([-1e308, 0.0, 1e308], -1e308, 1e308), (0.0, 1.0))
    assert seen(env).tolist() == [0.0, 0.5, 1.0]


def test_rewards_of_several_arrays_are_refused():
    class Nested(Payer):
        def reward_spec(self):
            return {"reward": ArraySpec((), np.float32)}

    with pytest.raises(TypeError, match="env has reward_spec"):
        AffineReward(Nested([1.0]))


def test_means_are_not_rounded_to_the_dtype_of_rewards():
    env = AffineReward(KArmedTestbed(10, batch_size=100, seed=1), 1.0, 1e8)
    env.reset()
    env.step(np.zeros(100, int))
    info = env.get_info()
    assert (info["expected_reward"] < info["optimal_reward"]).mean() > 0.5


def test_the_reward_of_every_slot_is_mapped():
    env = AffineReward(CascadeBandit([0.5, 0.4, 0.3], 2, batch_size=20_000, seed=0), 2.0, 1.0)
    env.reset()
    reward = env.step(np.tile([0, 1], (20_000, 1))).reward.sum(axis=1)
    expected = env.get_info()["expected_reward"]
    assert expected == pytest.approx(2.0 * (1.0 - 0.5 * 0.6) + 2.0)
    assert reward.mean() == pytest.approx(expected[0], abs=0.05)
