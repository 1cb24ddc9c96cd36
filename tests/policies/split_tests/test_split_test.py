"""Tests of variants on a random split: what they compare, when they stop, and what they report."""

import numpy as np
import pytest

from bandit_envs import BernoulliPyEnvironment, StepDriver
from bandit_envs.policies import SplitTestPolicy
from bandit_envs.policies.split_tests.bets import PairBets, split_evidence
from bandit_envs.policies.split_tests.openings import count_opened, count_pairs
from bandit_envs.policies.split_tests.pair_sums import PairSums, log_normal_cdf
from bandit_envs.policies.split_tests.user_sums import UserSums
from bandit_envs.trajectories import Trajectory, restart
from tests.cases import for_each
from tests.policies.split_tests.laws import clicks_of

COUNTS = np.array([[100.0, 98.0], [110.0, 105.0]])
CLICKS = np.array([[12.0, 8.0], [25.0, 17.0]])
SCALE = np.array(5.0)


def sums_of_two_days():
    """Two variants on two days, 12 clicks of 100 users of the first one, and so on."""
    return PairSums.of_strata(clicks_of(COUNTS, CLICKS)).total(axis=0)


def test_sums_over_strata_are_those_of_an_independent_calculation():
    sums = sums_of_two_days()
    assert sums.difference[0, 1] == pytest.approx(5.410617806, abs=1e-9)
    assert sums.variance[0, 1] == pytest.approx(13.001032544, abs=1e-9)
    assert sums.weight[0, 1] == pytest.approx(103.215879728, abs=1e-9)


def test_evidence_and_intervals_of_sums_are_those_of_an_independent_calculation():
    sums = sums_of_two_days()
    assert sums.log_evidence(SCALE, 0.0)[0, 1] == pytest.approx(0.759199996, abs=1e-9)
    assert sums.log_evidence(SCALE, 0.02)[0, 1] == pytest.approx(1.564802666, abs=1e-9)
    assert sums.log_evidence(SCALE, 0.0)[1, 0] == pytest.approx(-1.425763509, abs=1e-9)
    low, high = sums.bounds(SCALE, 0.05)
    assert low[0, 1] == pytest.approx(-0.058431395, abs=1e-9)
    assert high[0, 1] == pytest.approx(0.163272197, abs=1e-9)


def test_the_logarithm_of_the_normal_distribution_has_no_jump_where_its_formula_changes():
    z = np.array([-30.0001, -29.9999])
    assert np.diff(log_normal_cdf(z))[0] == pytest.approx(0.0002 * 30.0, rel=0.01)


def bet(users, tolerance=0.0):
    """What bets earn on pairs of a variant and a reward, which come in turn."""
    bets = PairBets.initial(1, 2)
    for action, reward in users:
        bets.add(
            np.array([0]),
            np.array([action]),
            np.array([float(reward)]),
            is_open=np.ones((1, 2), np.bool_),
            shares=np.full(2, 0.5),
            tolerance=tolerance,
        )
    return bets


def test_bets_are_those_of_an_independent_calculation():
    users = [(0, 1), (1, 0), (0, 0), (1, 1), (0, 1), (0, 1), (1, 0)]
    assert bet(users).log_evidence()[0, 0, 1] == pytest.approx(0.183256665, abs=1e-9)


@for_each("tolerance", [0.0, 0.02])
def test_a_sequence_of_bets_earns_what_one_bet_after_the_other_does(tolerance):
    rng = np.random.default_rng(0)
    users = np.stack([rng.integers(0, 2, 50), rng.integers(0, 2, 50)], axis=1)
    one_by_one = bet(users.tolist(), tolerance)
    at_once = PairBets.initial(1, 2)
    for part in (users[:20], users[20:]):
        at_once.add_sequence(
            part[:, 0],
            part[:, 1].astype(np.float64),
            is_open=np.ones(2, np.bool_),
            shares=np.full(2, 0.5),
            tolerance=tolerance,
        )
    for found, expected in zip(at_once, one_by_one):
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_the_check_of_the_split_is_that_of_an_independent_calculation():
    found = split_evidence(np.array([1000.0, 1100.0]), np.full(2, 0.5))
    assert found == pytest.approx(0.740966246, abs=1e-9)
    periods = ([500.0, 480.0, 520.0, 500.0], [210.0, 190.0, 200.0, 205.0, 150.0])
    parts = [split_evidence(np.array(each), np.full(len(each), 1 / len(each))) for each in periods]
    assert sum(parts) == pytest.approx(0.271048850, abs=1e-9)


def test_shares_of_the_error_sum_to_one_however_many_variants_join():
    counts = np.zeros(40)
    for number in (3, 4, 4, 6, 40):
        counts = count_opened(counts, np.arange(40) < number, None)
        shares = 1.0 / counts[counts > 0.0]
        assert shares.sum() <= 1.0 + 1e-12
    assert counts[:4].tolist() == [4.0, 4.0, 4.0, 20.0]
    pairs = 1.0 / count_pairs(counts, None)
    assert pairs.sum() - np.trace(pairs) <= 1.0


def test_more_variants_than_planned_are_refused():
    with pytest.raises(ValueError, match="planned is 2; expected at least 3"):
        SplitTestPolicy(planned=2, num_actions=3)
    with pytest.raises(ValueError, match="planned is 3; expected at least 4"):
        SplitTestPolicy(planned=3, num_actions=3).with_actions(4)


def show(policy, mask, pay):
    """Shows a user one of the open variants [K]; returns what the policy may learn of it.

    `pay` returns the reward of an action.
    """
    seen = {"observation": np.ones((1, 1)), "mask": mask[np.newaxis]}
    time_step = restart(seen, batch_size=1)
    action = policy.action(time_step)
    return Trajectory(
        step_type=time_step.step_type,
        observation=seen,
        action=action,
        policy_info=(),
        next_step_type=time_step.step_type,
        reward=np.array([pay(action[0])], np.float32),
        discount=time_step.discount,
    )


@pytest.mark.parametrize("last", [5.0, 1e9])
def test_one_reward_that_is_larger_than_all_others_is_told(last):
    policy = SplitTestPolicy(num_actions=2, seed=0)
    for user in range(80):
        reward = last if user == 79 else 5.0
        policy.learn(show(policy, np.ones(2, np.bool_), lambda _, reward=reward: reward))
    notes = " ".join(policy.report(names=["a", "b"]).notes)
    assert ("of size 1e+09, is larger than all others of this variant together" in notes) == (
        last > 5.0
    )


def simulate(rates, users, *, policy, seed=0):
    """Shows variants to users, whose click rates [n, K] are 0 where a variant is not open."""
    rng = np.random.default_rng(seed)
    for row in rates[:users]:
        policy.learn(show(policy, row > 0.0, lambda action, row=row: rng.random() < row[action]))
        if policy.has_stopped:
            break
    return policy


def equal_variants(days, users_a_day, joins):
    """Rates of five equal variants, .10 and on weekends .16; the last one joins on a day."""
    day = np.repeat(np.arange(days), users_a_day)
    rates = np.where(day % 7 >= 5, 0.16, 0.1)[:, np.newaxis] * np.ones(5)
    rates[day < joins, 4] = 0.0
    return rates


@pytest.mark.slow
def test_a_variant_that_joins_on_a_weekend_is_not_compared_with_the_users_of_weekdays():
    """Means of all users would say that it is the best by far."""
    policy = SplitTestPolicy(num_actions=5, seed=1)
    rates = equal_variants(7, 600, joins=5)
    report = simulate(rates, len(rates), policy=policy).report()
    assert report.means[4] > 1.1 * report.means[:4].max()
    assert not report.has_stopped
    pairs = [row for row in report.differences if "4" in (row.first, row.second)]
    assert all(row.low < 0.0 < row.high for row in pairs)
    assert all(row.users < 3.0 * report.counts[4] for row in pairs)


@pytest.mark.slow
def test_a_test_of_equal_variants_stops_with_a_tolerance():
    env = BernoulliPyEnvironment([0.2, 0.2, 0.1], batch_size=20, seed=0)
    policy = SplitTestPolicy(tolerance=0.05, num_actions=3, batch_size=20, seed=1)
    time_step = StepDriver(env, policy, [policy], num_steps=20_000).run_until_stopped()
    assert policy.has_stopped
    assert (policy.recommend(time_step) < 2).all()


@pytest.mark.parametrize("threshold", ["practical", "proven"])
def test_it_finds_the_best_variant(threshold):
    env = BernoulliPyEnvironment([0.1, 0.2, 0.5], batch_size=40, seed=0)
    policy = SplitTestPolicy(threshold=threshold, num_actions=3, batch_size=40, seed=1)
    time_step = StepDriver(env, policy, [policy], num_steps=3000).run_until_stopped()
    assert policy.has_stopped
    assert (policy.recommend(time_step) == 2).all()
    report = policy.report(names=["red", "green", "blue"])
    assert report.winner == "blue"
    assert not report.is_split_wrong


def test_fixed_shares_are_kept_among_the_open_variants():
    policy = SplitTestPolicy(shares=(1.0, 2.0, 1.0), num_actions=3)
    seen = {"observation": np.ones((1, 1)), "mask": np.array([[True, True, False]])}
    assert policy.probabilities(restart(seen, batch_size=1)).tolist() == [[1 / 3, 2 / 3, 0.0]]


def test_a_row_with_many_open_sets_keeps_the_sums_of_all():
    rng = np.random.default_rng(0)
    policy = SplitTestPolicy(num_actions=8, seed=1)
    rates = np.where(rng.random((300, 8)) < 0.5, 0.3, 0.0)
    rates[:, 0] = 0.3
    policy = simulate(rates, 300, policy=policy)
    plan = policy.get_state().content.learned.plan
    assert plan.closed.users.sum() > 0.0
    assert plan.users.counts.sum() <= 300


def test_before_the_first_users_a_report_has_no_intervals():
    report = SplitTestPolicy(num_actions=2, seed=0).report()
    assert not report.has_stopped
    assert report.winner is None
    assert "No interval before 200 users." in str(report)


def test_arguments_are_told_and_a_state_of_others_is_refused():
    policy = SplitTestPolicy(0.1, tolerance=0.02, planned=4, shares=(1.0, 2.0), num_actions=2)
    assert "delta=0.1, tolerance=0.02, planned=4, shares=(1.0, 2.0)" in repr(policy)
    with pytest.raises(ValueError, match="SplitTestPolicy"):
        SplitTestPolicy(0.05, num_actions=2).set_state(policy.get_state())


def test_late_rewards_count_in_the_stratum_of_their_decision():
    """Rewards of weekdays come on a weekend, when another variant has joined."""
    rng = np.random.default_rng(0)
    policy = SplitTestPolicy(num_actions=3, seed=1)
    waiting = []
    for user in range(600):
        rate = 0.1 if user < 300 else 0.4
        mask = np.array([True, True, user >= 300])
        waiting.append(show(policy, mask, lambda _, rate=rate: rng.random() < rate))
    for place in rng.permutation(600):
        policy.learn(waiting[place])
    plan = policy.get_state().content.learned.plan
    assert sorted(plan.users.counts[0].sum(axis=1).tolist())[-2:] == [300.0, 300.0]
    rows = {(row.first, row.second): row for row in policy.report().differences}
    assert all(row.users <= 300 for pair, row in rows.items() if "2" in pair)


def test_a_user_after_the_other_counts_as_all_at_once():
    rng = np.random.default_rng(0)
    actions = rng.integers(0, 3, 200)
    rewards = rng.lognormal(size=200)
    found = UserSums.zeros((4,))
    for action, reward in zip(actions, rewards):
        found.add(np.array([action]), np.array([reward]))
    expected = UserSums.of_users(actions, rewards, 4)
    for table, other in zip(found, expected):
        np.testing.assert_allclose(table, other, rtol=1e-12)
    assert found.means[3] == 0.0


def test_a_shift_of_all_rewards_and_their_scale_change_a_test_by_rounding_alone():
    rng = np.random.default_rng(0)
    earned = rng.normal([0.0, 0.2, 0.4], size=(300, 3))
    reports = []
    for rewards in (earned, 10.0 * (earned + 1e8)):
        policy = SplitTestPolicy(num_actions=3, seed=0)
        for row in rewards:
            seen = show(policy, np.ones(3, np.bool_), lambda action: 0.0)
            policy.learn(seen._replace(reward=row[seen.action]))
        reports.append(policy.report())
    plain, moved = reports
    assert moved.recommended == plain.recommended
    for row, expected in zip(moved.differences, plain.differences, strict=True):
        found = np.array([row.difference, row.low, row.high]) / 10.0
        wanted = [expected.difference, expected.low, expected.high]
        np.testing.assert_allclose(found, wanted, atol=1e-6)
