import numpy as np
import pytest

from bandit_envs import (
    KArmedTestbed,
    RandomPolicy,
    RegretMetric,
    StepDriver,
)
from bandit_envs.specs import BoundedArraySpec
from bandit_envs.wrappers import AffineReward, RandomActionMask, Wrapper
from tests.cases import for_each
from tests.wrappers.examples import Payer, RewardSoFar, Unchanged, per_arm_bandit

ACTIONS = [[0, 1, 2], [2, 2, 2], [1, 0, 1], [0, 0, 2]]


def make_testbed(seed=0, **arguments):
    return KArmedTestbed(k=3, batch_size=3, seed=seed, **arguments)


class Undiscounted(KArmedTestbed):
    def discount_spec(self):
        return BoundedArraySpec((), np.float32, 0.0, 0.0, "discount")


def assert_same(time_step, other):
    assert np.array_equal(time_step.step_type, other.step_type)
    assert np.array_equal(time_step.reward, other.reward)
    assert np.array_equal(time_step.discount, other.discount)
    assert np.array_equal(time_step.observation, other.observation)


def test_what_is_not_changed_is_the_same():
    env, bare = Unchanged(make_testbed(name="bare")), make_testbed(name="bare")
    assert env.name == "Unchanged(bare)"
    assert env.batched is True
    assert (env.batch_size, env.num_actions, env.horizon) == (3, 3, None)
    assert env.independent_rows is True
    assert Unchanged(per_arm_bandit()).independent_rows is False
    for spec in ("action_spec", "observation_spec", "reward_spec", "discount_spec"):
        assert getattr(env, spec)() == getattr(bare, spec)()
    assert env.time_step_spec() == bare.time_step_spec()
    assert Unchanged(Undiscounted(k=3)).discount_spec() == Undiscounted(k=3).discount_spec()
    assert env.reward_range == (-np.inf, np.inf)
    assert_same(env.reset(), bare.reset())
    for action in ACTIONS:
        assert_same(env.step(action), bare.step(action))
        assert_same(env.current_time_step(), bare.current_time_step())
        assert np.array_equal(env.expected_rewards(), bare.expected_rewards())
        assert np.array_equal(env.optimal_action(), bare.optimal_action())
        assert np.array_equal(env.optimal_reward(), bare.optimal_reward())
        assert env.get_info().keys() == bare.get_info().keys()
        assert all(
            np.array_equal(env.get_info()[key], bare.get_info()[key]) for key in bare.get_info()
        )


def test_wrappers_compose_in_the_order_in_which_they_are_put_on():
    env = AffineReward(AffineReward(make_testbed(), shift=1.0), scale=2.0)
    bare = make_testbed()
    env.reset()
    bare.reset()
    assert np.allclose(env.expected_rewards(), 2.0 * (bare.expected_rewards() + 1.0))
    assert np.allclose(env.step([0, 1, 2]).reward, 2.0 * (bare.step([0, 1, 2]).reward + 1.0))
    assert env.name == "AffineReward(AffineReward(k-armed testbed))"
    assert env.wrapped_env().wrapped_env().name == "k-armed testbed"


@for_each(
    ("token", "error"),
    [
        (lambda: make_testbed().get_state(), ValueError),
        (lambda: None, TypeError),
        (lambda: Unchanged(make_testbed()).get_state(), ValueError),
        (lambda: RewardSoFar(KArmedTestbed(k=3, batch_size=4)).get_state(), ValueError),
        (lambda: RewardSoFar(Unchanged(make_testbed())).get_state(), ValueError),
    ],
)
def test_a_token_of_another_environment_is_refused_and_nothing_changes(token, error):
    env, twin = RewardSoFar(make_testbed()), RewardSoFar(make_testbed())
    env.step([0, 0, 0])
    twin.step([0, 0, 0])
    with pytest.raises(error, match=r"^state "):
        env.set_state(token())
    assert_same(env.step([0, 1, 2]), twin.step([0, 1, 2]))


def test_seeding_seeds_the_wrapped_environment():
    env, bare = Unchanged(make_testbed(seed=1)), make_testbed(seed=2)
    assert env.seed(2) == [2]
    assert env.np_random is env.wrapped_env().np_random
    assert_same(env.reset(), bare.reset())
    assert_same(env.step([0, 1, 2]), bare.step([0, 1, 2]))


def test_render_and_close_reach_the_wrapped_environment():
    calls = []

    class Watched(Payer):
        def render(self, mode="rgb_array", row=0):
            calls.append((mode, row))
            return "picture"

        def close(self):
            calls.append("closed")

    with Unchanged(Watched([0.0, 1.0])) as env:
        assert env.render("ansi", 1) == "picture"
    assert calls == [("ansi", 1), "closed"]


def test_what_is_no_bandit_has_nothing_of_a_bandit():
    env = Unchanged(Payer([1.0, 2.0]))
    for question in (lambda: env.num_actions, lambda: env.horizon, env.optimal_reward):
        with pytest.raises(NotImplementedError, match="Payer is not a bandit"):
            question()
    with pytest.raises(NotImplementedError, match=r"Payer has no get_info\(\)"):
        env.get_info()


def test_an_info_of_any_other_kind_is_passed_on():
    class Informed(Payer):
        def get_info(self):
            return "anything"

    assert Unchanged(Informed([1.0])).get_info() == "anything"


def test_expected_rewards_are_refused_where_only_rewards_are_mapped():
    class Squared(Wrapper):
        def _map_rewards(self, rewards):
            return rewards**2

    env = Squared(make_testbed())
    env.reset()
    env.step([0, 1, 2])
    for question in (env.expected_rewards, env.optimal_action, env.optimal_reward, env.get_info):
        with pytest.raises(NotImplementedError, match=r"^Squared\(k-armed testbed\) does not know"):
            question()


@for_each(
    ("mapped", "message"),
    [
        (lambda rewards: np.where(rewards == 2, np.nan, rewards), "returned NaN for row 1"),
        (lambda rewards: rewards[:2], r"returned shape \(2,\); expected \(3,\)"),
    ],
)
def test_a_bad_mapped_reward_is_refused(mapped, message):
    class Mapped(Wrapper):
        def _map_rewards(self, rewards):
            return mapped(rewards) if rewards.any() else rewards

    env = Mapped(Payer([1.0, 2.0, 3.0]))
    env.reset()
    with pytest.raises(ValueError, match=r"Mapped\(Payer\)\._map_rewards " + message):
        env.step(np.zeros(3, np.int32))


@for_each("env", [None, "testbed", KArmedTestbed])
def test_only_environments_can_be_wrapped(env):
    with pytest.raises(TypeError, match=r"^env is .*; expected a PyEnvironment$"):
        Unchanged(env)


def test_regret_is_measured_in_the_rewards_that_are_seen():
    regrets = []
    for scale in (1.0, 10.0):
        env = AffineReward(per_arm_bandit(), scale, shift=3.0)
        policy = RandomPolicy(num_actions=env.num_actions, batch_size=3, seed=1)
        regret = RegretMetric(env)
        StepDriver(env, policy, [regret], num_steps=20).run()
        regrets.append(regret.result().per_step.mean)
    assert regrets[0].max() > 0
    assert np.allclose(10.0 * regrets[0], regrets[1], rtol=1e-5, atol=1e-5)


@for_each(
    "wrap", [Unchanged, lambda env: AffineReward(env, 2.0), lambda env: RandomActionMask(env, 0.5)]
)
def test_a_wrapper_knows_nothing_before_its_own_reset(wrap):
    bandit = make_testbed()
    env = wrap(bandit)
    bandit.reset()
    bandit.step([0, 1, 2])
    assert env.get_info() is None
    means = env.expected_rewards, env.optimal_action, env.optimal_reward
    for question in (env.current_time_step, *means):
        with pytest.raises(ValueError, match="reset"):
            question()
