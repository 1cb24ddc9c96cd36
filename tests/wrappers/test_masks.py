import itertools

import numpy as np
import pytest

from bandit_envs import (
    ArraySpec,
    BanditPyEnvironment,
    BernoulliPyEnvironment,
    ConstantPolicy,
    ExtraDisabledActions,
    KArmedTestbed,
    OptimalActionMetric,
    RandomActionMask,
    RandomPolicy,
    RegretMetric,
    StepDriver,
    UCBPolicy,
)
from bandit_envs.environments.registry import scheduled_arms, scheduled_contexts
from bandit_envs.studies import Study, run
from bandit_envs.testing import EnvironmentContract
from bandit_envs.wrappers import AffineReward, ScheduledActionMask
from tests.cases import for_each
from tests.contracts import one_test
from tests.wrappers.examples import Coins, Payer, Vectors, per_arm_bandit


class MaskedContract(EnvironmentContract):
    num_rewards = 2000


@one_test
class TestRandomActionMask(MaskedContract):
    def make_environment(self, seed):
        return RandomActionMask(KArmedTestbed(k=4, batch_size=3, horizon=4, seed=seed), 0.5)


@pytest.mark.slow
@one_test
class TestRandomActionMaskOfContexts(MaskedContract):
    num_steps = 5

    def make_environment(self, seed):
        return AffineReward(RandomActionMask(per_arm_bandit(seed), 0.7), 2.0)


@pytest.mark.slow
@one_test
class TestRandomActionMaskTwice(MaskedContract):
    num_steps = 5

    def make_environment(self, seed):
        return RandomActionMask(RandomActionMask(Coins(seed=seed), 0.8), 0.8)


@pytest.mark.slow
@one_test
class TestRandomActionMaskOfVectors(MaskedContract):
    num_steps = 5

    def make_environment(self, seed):
        return RandomActionMask(Vectors(seed=seed), 0.5)


@one_test
class TestExtraDisabledActions(MaskedContract):
    num_steps = 5

    def make_environment(self, seed):
        return ExtraDisabledActions(Coins(seed=seed), 2)


@pytest.mark.slow
@one_test
class TestExtraDisabledActionsOfContexts(MaskedContract):
    num_steps = 5

    def make_environment(self, seed):
        return RandomActionMask(ExtraDisabledActions(per_arm_bandit(seed), 2), 0.5)


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_an_action_is_available_with_the_probability_of_the_formula(p):
    env = RandomActionMask(KArmedTestbed(k=4, batch_size=100_000, seed=0), p)
    mask = env.reset().observation["mask"]
    assert mask.any(axis=1).all()
    chance = p + (1 - p) ** 4 / 4
    error = np.sqrt(chance * (1 - chance) / 100_000)
    assert (abs(mask.mean(axis=0) - chance) <= 5 * error).all()


def test_each_time_step_has_a_new_mask():
    env = RandomActionMask(KArmedTestbed(k=4, batch_size=1000, seed=0), 0.5)
    masks = [env.reset().observation["mask"]]
    for _ in range(3):
        masks.append(env.step(masks[-1].argmax(axis=1)).observation["mask"])
    for before, after in itertools.pairwise(masks):
        assert 0.4 < (before == after).mean() < 0.6


def test_a_masked_action_is_refused_and_changes_nothing():
    env = RandomActionMask(KArmedTestbed(k=4, batch_size=5, seed=0), 0.4)
    mask = env.reset().observation["mask"]
    action = mask.argmax(axis=1)
    row, masked = np.argwhere(~mask)[0]
    bad = action.copy()
    bad[row] = masked
    wrapped = env.wrapped_env().current_time_step()
    with pytest.raises(
        ValueError, match=rf"action\[{row}\] is {masked}; expected one that is available"
    ):
        env.step(bad)
    assert np.array_equal(env.current_time_step().observation["mask"], mask)
    assert np.array_equal(env.wrapped_env().current_time_step().reward, wrapped.reward)
    env.step(action)


def test_the_optimum_is_among_the_available_actions():
    env = RandomActionMask(KArmedTestbed(k=4, batch_size=50, seed=0), 0.5)
    mask = env.reset().observation["mask"]
    for _ in range(3):
        means = np.where(mask, env.wrapped_env().expected_rewards(), -np.inf)
        assert np.array_equal(env.expected_rewards(), means)
        assert np.array_equal(env.optimal_action(), means.argmax(axis=1))
        assert np.array_equal(env.optimal_reward(), means.max(axis=1))
        action = np.where(mask, np.arange(4), 9).min(axis=1)
        time_step = env.step(action)
        info = env.get_info()
        assert np.array_equal(info["expected_reward"], means[np.arange(50), action])
        assert np.array_equal(info["optimal_reward"], means.max(axis=1))
        assert np.array_equal(info["optimal_action"], means.argmax(axis=1))
        mask = time_step.observation["mask"]


def test_actions_that_the_wrapped_environment_lacks_stay_unavailable():
    env = RandomActionMask(per_arm_bandit(batch_size=10_000), 0.25)
    observation = env.reset().observation
    inside = np.arange(4) < observation["num_actions"][:, np.newaxis]
    assert not (observation["mask"] & ~inside).any()
    assert observation["mask"].any(axis=1).all()
    two = observation["mask"][observation["num_actions"] == 2]
    chance = 0.25 + 0.75**2 / 2
    assert abs(two[:, :2].mean() - chance) < 5 * np.sqrt(0.25 / len(two))


def test_a_dict_gets_a_mask_and_another_observation_becomes_a_dict():
    env = RandomActionMask(KArmedTestbed(k=4, batch_size=2), 0.5)
    spec = env.observation_spec()
    assert spec["observation"] == ArraySpec((1,), np.float32)
    assert spec["mask"] == ArraySpec((4,), np.bool_)
    keys = per_arm_bandit().observation_spec().keys()
    assert RandomActionMask(per_arm_bandit(), 0.5).observation_spec().keys() == {*keys, "mask"}


def test_extra_actions_are_never_available():
    env = ExtraDisabledActions(KArmedTestbed(k=3, batch_size=2, seed=0), 2)
    bare = KArmedTestbed(k=3, batch_size=2, seed=0)
    bare.reset()
    time_step = env.reset()
    assert env.num_actions == 5
    assert env.action_spec().maximum == 4
    assert time_step.observation["mask"].tolist() == [[True] * 3 + [False] * 2] * 2
    assert np.array_equal(env.expected_rewards()[:, :3], bare.expected_rewards())
    assert np.isneginf(env.expected_rewards()[:, 3:]).all()
    with pytest.raises(ValueError, match=r"action\[1\] is 4; expected one that is available"):
        env.step([0, 4])
    assert np.array_equal(env.step([0, 2]).reward, bare.step([0, 2]).reward)
    assert env.get_info()["optimal_action"].tolist() == bare.optimal_action().tolist()


@for_each(
    "policy",
    [RandomPolicy(num_actions=13, batch_size=20), UCBPolicy(1.0, num_actions=13, batch_size=20)],
)
def test_policies_choose_among_the_available_actions(policy):
    env = ExtraDisabledActions(RandomActionMask(KArmedTestbed(batch_size=20, seed=0), 0.3), 3)
    regret, optimal = RegretMetric(env), OptimalActionMetric(env)
    StepDriver(env, policy, [policy, regret, optimal], 50).run()
    assert (regret.result().per_step.mean >= 0.0).all()
    assert (optimal.result().per_step.mean <= 100.0).all()


def test_only_bandits_with_one_integer_as_action_have_masks():
    with pytest.raises(TypeError, match="env"):
        RandomActionMask(Payer([1.0, 2.0]), 0.5)
    with pytest.raises(ValueError, match="action_probability"):
        RandomActionMask(KArmedTestbed(), 1.5)
    with pytest.raises(ValueError, match="num_extra_actions"):
        ExtraDisabledActions(KArmedTestbed(), -1)


def test_expected_rewards_that_are_integers_can_be_masked():
    class Counts(Coins):
        def _expected_rewards(self, state):
            return np.array([[1, 2, 3]] * 3)

    env = ExtraDisabledActions(Counts(seed=0), 1)
    env.reset()
    assert env.expected_rewards().tolist() == [[1, 2, 3, -np.inf]] * 3
    assert env.optimal_action().tolist() == [2, 2, 2]


class Halves(BanditPyEnvironment):
    """Shows a number, and a mask of the actions on its side; action a pays a."""

    def __init__(self, **keywords):
        spec = {"mask": ArraySpec((4,), np.bool_), "number": ArraySpec((), np.float32)}
        super().__init__(spec, 4, **keywords)

    def _initial_state(self, rng):
        return rng.normal(size=self.batch_size).astype(np.float32)

    def _observe(self, number):
        return {"mask": self._available(number), "number": number}

    def _available(self, number):
        return (np.arange(4) < 2) == (number < 0)[:, np.newaxis]

    def _state_of(self, observation):
        return observation["number"]

    def _expected_rewards(self, number):
        return np.tile(np.arange(4.0, dtype=np.float32), (len(number), 1))

    def _draw_rewards(self, rng, number, action):
        return action.astype(np.float32)


def test_what_an_observation_determines_is_masked_as_the_observation_says():
    env = RandomActionMask(Halves(batch_size=50, seed=0), 0.5)
    observation = env.reset().observation
    means = env.expected_rewards_for(observation)
    np.testing.assert_array_equal(means > -np.inf, observation["mask"])
    np.testing.assert_array_equal(means, env.expected_rewards())
    assert means.dtype == np.float32
    few = {key: leaf[:7] for key, leaf in observation.items()}
    np.testing.assert_array_equal(env.expected_rewards_for(few), means[:7])


@one_test
class TestScheduledActionMask(MaskedContract):
    num_steps = 8

    def make_environment(self, seed):
        bandit = KArmedTestbed(k=4, batch_size=3, horizon=6, seed=seed)
        return ScheduledActionMask(bandit, [0, 0, 2, 5], [3, 1e9, np.inf, np.inf])


@one_test
class TestScheduledActionMaskOfContexts(MaskedContract):
    num_steps = 6

    def make_environment(self, seed):
        return ScheduledActionMask(per_arm_bandit(seed), [0, 2, 1, 0], [np.inf, np.inf, 4, 3])


@pytest.mark.slow
@one_test
class TestScheduledActionMaskOfRandomMasks(MaskedContract):
    num_steps = 6

    def make_environment(self, seed):
        env = RandomActionMask(Vectors(seed=seed), 0.7)
        return AffineReward(ScheduledActionMask(env, close_at=[3, np.inf, 2]), 2.0)


def test_actions_open_and_close_at_their_steps_after_each_reset():
    env = ScheduledActionMask(
        KArmedTestbed(k=3, batch_size=2, horizon=4, seed=0), [0, 1, 2], [3, np.inf, 3]
    )
    expected = [[1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 0]]
    time_step = env.reset()
    for _ in range(2):
        for step, mask in enumerate(expected):
            assert time_step.observation["mask"].astype(int).tolist() == [mask] * 2
            time_step = env.step(np.full(2, mask.index(1)))
            assert step < 3 or time_step.is_last().all()
        time_step = env.step([0, 0])  # begins the next episode
        assert time_step.is_first().all()


def test_regret_is_that_to_the_best_action_which_was_open():
    env = BernoulliPyEnvironment([0.1, 0.5, 0.9], batch_size=4, seed=0)
    env = ScheduledActionMask(env, [0, 0, 3], [np.inf, 6, np.inf])
    policy = ConstantPolicy(0, num_actions=3, batch_size=4)
    regret = RegretMetric(env)
    StepDriver(env, policy, [regret], num_steps=10).run()
    np.testing.assert_allclose(regret.result().per_step.mean, [0.4] * 3 + [0.8] * 7, rtol=1e-6)


def test_a_row_that_would_have_no_action_keeps_those_of_the_wrapped_environment():
    env = RandomActionMask(KArmedTestbed(k=2, batch_size=200, seed=0), 0.0)
    mask = ScheduledActionMask(env, open_at=[0, 5]).reset().observation["mask"]
    assert (mask.sum(axis=1) == 1).all()
    assert 50 < mask[:, 1].sum() < 150


@for_each(
    ("open_at", "close_at", "message"),
    [
        ([0, 0], None, "open_at is .* expected a step, from 0 on, for each of 3 actions"),
        ([0, 0, -1], None, "open_at is"),
        ([0, 0, 0.5], None, "open_at is"),
        ([0, 0, np.nan], None, "open_at is"),
        ([1, 1, 1], None, "none is open in step 0"),
        ([0, 9, 9], [4, 9, np.inf], "none is open in step 4"),
    ],
)
def test_schedules_without_an_open_action_are_refused(open_at, close_at, message):
    with pytest.raises(ValueError, match=message):
        ScheduledActionMask(KArmedTestbed(k=3), open_at, close_at)


@for_each(
    ("make", "environment", "other"),
    [
        (scheduled_arms, "logistic_context", "scheduled_contexts"),
        (scheduled_contexts, "testbed", "scheduled_arms"),
    ],
)
def test_an_environment_of_other_rows_is_refused_with_the_id_for_it(make, environment, other):
    with pytest.raises(ValueError, match=f"environment is {environment}, .*; {other} is for"):
        make(environment)


def test_studies_open_and_close_actions(tmp_path):
    pytest.importorskip("threadpoolctl")
    pytest.importorskip("pandas")
    schedules = {
        "scheduled_arms": "bernoulli:means=[0.2, 0.5, 0.8]",
        "scheduled_contexts": "per_arm:max_num_actions=3",
    }
    for name, environment in schedules.items():
        masked = {"open_at": [[0, 0, 8]], "close_at": [[np.inf, 12, np.inf]]}
        values = {
            "title": "Actions that come and go",
            "steps": 20,
            "runs": 3,
            "environment": [{"name": name, "environment": environment, **masked}],
            "policy": ["ucb:c=0.5", "lin_ucb"],
            "metrics": ["regret"],
        }
        found = run(Study.from_dict(values), tmp_path / name)
        assert len(found.differences()) == 1
