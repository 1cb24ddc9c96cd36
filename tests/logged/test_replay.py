import dataclasses
import warnings

import numpy as np
import pytest

from bandit_envs import (
    EpsilonGreedyPolicy,
    KArmedTestbed,
    RandomPolicy,
    StepDriver,
    UCBPolicy,
)
from bandit_envs.logged import (
    BanditLog,
    ReplayMethod,
    SelfNormalizedIPS,
    evaluate_by_replay,
    merge_sums,
)
from bandit_envs.logged.estimators import estimate_logged, gain_over
from bandit_envs.logged.replay import MatchedRows, ReplayEnvironment
from bandit_envs.testing import EnvironmentContract
from tests.logged.logs import drawn, small_log


class TestReplay(EnvironmentContract):
    def make_environment(self, seed):
        log = drawn(np.random.default_rng(0), 20)
        return ReplayEnvironment(log, 4, seed=seed)


class TestReplayOfAvailableActions(EnvironmentContract):
    def make_environment(self, seed):
        log = drawn(np.random.default_rng(0), 20)
        available = np.eye(3, dtype=bool)[log.action] | (np.arange(3) == 1)
        return ReplayEnvironment(dataclasses.replace(log, available=available), 4, seed=seed)


def test_every_row_walks_through_all_events_in_its_own_order():
    log = small_log()
    env = ReplayEnvironment(log, 50, seed=0)
    seen = [env.reset().observation]
    for _ in range(5):
        seen.append(env.step(np.zeros(50, int)).observation)
    events = np.array(seen)[:, :, 0] / 2
    assert np.array_equal(np.sort(events, axis=0), np.tile(np.arange(6.0)[:, None], 50))
    assert len(np.unique(events, axis=1).T) > 30


def test_a_step_pays_only_where_the_action_is_the_logged_one():
    log = drawn(np.random.default_rng(0), 30)
    env = ReplayEnvironment(log, 200, seed=0)
    observation = env.reset().observation
    event = (observation[:, None, 0] == log.observation[:, 0]).argmax(axis=1)
    reward = env.step(np.ones(200, int)).reward
    matched = env.get_info()["matched"]
    assert np.array_equal(matched, log.action[event] == 1)
    assert np.array_equal(reward, np.where(matched, log.reward[event], 0.0))


def test_events_count_as_if_they_had_been_logged_uniformly():
    rng = np.random.default_rng(0)
    chances = np.array([0.7, 0.2, 0.1])
    action = rng.choice(3, 3000, p=chances)
    log = BanditLog(np.ones((3000, 1)), action, action, chances[action])
    result = evaluate_by_replay(RandomPolicy(3, 4, seed=1), log, seed=2)
    assert result.value == pytest.approx(1.0, abs=0.15)
    assert result.matches == pytest.approx(300, rel=0.25)


@pytest.mark.parametrize("batch_size", [1, 3])
def test_a_policy_learns_only_where_it_matched(batch_size):
    log = drawn(np.random.default_rng(0), 100)
    env = ReplayEnvironment(log, batch_size, seed=1)
    policy = EpsilonGreedyPolicy(1.0, num_actions=3, batch_size=batch_size, seed=2)
    seen = []

    def look(each):
        seen.append((each.action, each.reward, env.get_info()["matched"]))

    StepDriver(env, policy, [MatchedRows(env, policy), look], 60).run()
    actions, rewards, matched = map(np.array, zip(*seen))
    expected = np.empty((batch_size, 3))
    for row, action in np.ndindex(batch_size, 3):
        learned_from = matched[:, row] & (actions[:, row] == action)
        expected[row, action] = rewards[learned_from, row].mean()
    assert np.allclose(policy.get_state().content.learned.values, expected)


@pytest.mark.slow
def test_replay_tells_what_a_learning_policy_earns():
    env = KArmedTestbed(4, batch_size=1, seed=3, dtype=np.float64)
    env.reset()
    means = env.expected_rewards()[0]
    rng = np.random.default_rng(4)
    action = rng.integers(4, size=8000)
    reward = means[action] + rng.normal(size=8000)
    log = BanditLog(np.ones((8000, 1)), action, reward, np.full(8000, 0.25), 4)
    result = evaluate_by_replay(UCBPolicy(2.0, num_actions=4, batch_size=1, seed=5), log, seed=6)
    assert 1800 < result.matches.mean() < 2200
    assert means.max() - 0.25 < result.value <= means.max() + 4 * result.standard_error


def test_a_replay_of_several_rows_of_a_batch_is_warned_of():
    log = drawn(np.random.default_rng(0), 100, row=np.arange(100) % 2)
    with pytest.warns(UserWarning, match="several rows"):
        evaluate_by_replay(UCBPolicy(1.0, num_actions=3), log, seed=0)


def test_a_policy_that_is_replayed_and_learns_nothing_is_not_warned_of():
    class Constant(RandomPolicy):
        def _initial(self):
            return np.zeros(1)

        def _learn(self, learned, trajectory):
            return learned

    log = drawn(np.random.default_rng(0), 100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate_by_replay(Constant(3, 1), log, seed=0)


def log_of_two_groups(chances):
    """A log of two actions, the second of which two groups get with different chances."""
    rng = np.random.default_rng(1)
    group = np.repeat([0, 1], 2000)
    chance = np.array(chances)[group]
    action = (rng.random(4000) < chance).astype(int)
    reward = (rng.random(4000) < 0.3 + 0.4 * group + 0.1 * action).astype(float)
    propensity = np.where(action == 1, chance, 1.0 - chance)
    return BanditLog(group[:, np.newaxis] * 1.0, action, reward, propensity, 2)


ALWAYS = np.tile([0.0, 1.0], (4000, 1))


def test_a_log_that_is_not_uniform_is_no_log_for_replay_also_in_parts():
    log = log_of_two_groups([0.75, 0.25])
    with pytest.raises(ValueError, match="with different propensities; expected a log of a uni"):
        ReplayMethod().estimate(log, ALWAYS)
    parts = [
        ReplayMethod().terms(log[rows], ALWAYS[rows]).sums()
        for rows in (slice(2000), slice(2000, 4000))
    ]
    with pytest.raises(ValueError, match="with different propensities"):
        merge_sums(parts).estimate()


@pytest.mark.parametrize("chances", [[0.5, 0.5], [0.7, 0.7], [0.3333, 0.33334]])
def test_replay_is_right_where_the_policy_meets_all_contexts_alike(chances):
    log = log_of_two_groups(chances)
    found = ReplayMethod().estimate(log, ALWAYS)
    assert found.value == pytest.approx(log.reward[log.action == 1].mean())
    assert found.value == pytest.approx(SelfNormalizedIPS().estimate(log, ALWAYS).value, abs=1e-4)
    gain = gain_over(found, estimate_logged(log))
    assert gain.value == pytest.approx(found.value - log.reward.mean())
