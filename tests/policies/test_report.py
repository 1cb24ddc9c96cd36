"""What a test reports of each action: intervals that hold whenever one looks, also at a stop."""

import numpy as np
import pytest

from bandit_envs import BernoulliPyEnvironment, KArmedBandit, StepDriver, rewards
from bandit_envs.logged import BanditLog, learn_from_log, read_log
from bandit_envs.policies import (
    CTrackingPolicy,
    GOptimalPolicy,
    KLLUCBPolicy,
    LikelihoodRatioTestPolicy,
    LUCBPolicy,
    SequentialHalvingPolicy,
    SuccessiveEliminationPolicy,
    TopTwoThompsonSamplingPolicy,
    TrackAndStopPolicy,
    UCBEPolicy,
    UniformAllocationPolicy,
)
from tests.cases import for_each

MEANS = np.array([0.1, 0.12, 0.15, 0.25])
RUNS = 400


@pytest.mark.slow
def test_intervals_hold_at_a_stop_where_those_of_fixed_size_do_not():
    env = BernoulliPyEnvironment(MEANS, batch_size=RUNS, seed=0)
    policy = TrackAndStopPolicy(0.1, num_actions=4, batch_size=RUNS, seed=1)
    StepDriver(env, policy, [policy], num_steps=30_000).run_until_stopped()
    reports = [policy.report(row) for row in range(RUNS)]
    assert all(report.has_stopped for report in reports)
    means = np.array([report.means for report in reports])
    counts = np.array([report.counts for report in reports])
    low = np.array([report.low for report in reports])
    high = np.array([report.high for report in reports])
    assert ((low <= MEANS) & (high >= MEANS)).all(axis=1).mean() > 0.95
    assert (low <= means).all()
    assert (means <= high).all()
    errors = np.sqrt(means * (1.0 - means) / counts)
    assert (np.abs(means - MEANS) < 1.96 * errors).mean(axis=0).min() < 0.88
    best = [report.means[report.recommended] for report in reports]
    assert np.mean(best) > 0.26  # the mean of the recommended action is too large
    assert (means[:, :3].mean(axis=0) < MEANS[:3] - 0.01).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "reward_std"),
    [
        (rewards.Bernoulli([0.5, 0.05]), None),
        (rewards.Beta([2.0, 0.5], [2.0, 3.0]), None),
        (rewards.Beta([2.0, 0.5], [2.0, 3.0]), 0.5),
        (rewards.NormalReward([0.5, -3.0], 2.0), 2.0),
    ],
    ids=["bernoulli", "beta", "beta as sub-Gaussian", "normal"],
)
def test_intervals_hold_after_every_step_at_once(law, reward_std):
    confidence = 0.8
    runs = 200
    env = KArmedBandit(law, batch_size=runs, seed=0)
    policy = UCBEPolicy(10_000, 0.5, num_actions=2, batch_size=runs, seed=1)
    if reward_std is None:
        policy = KLLUCBPolicy(1e-9, num_actions=2, batch_size=runs, seed=1)
    have_held = np.ones(runs, np.bool_)
    driver = StepDriver(env, policy, [policy], num_steps=7)
    for _ in range(20):
        driver.run()
        for row in range(runs):
            report = policy.report(row, confidence, reward_std=reward_std)
            have_held[row] &= bool(((report.low <= law.mean) & (law.mean <= report.high)).all())
    assert have_held.mean() > confidence


def test_intervals_shrink_with_rewards_and_grow_with_confidence():
    policy = LUCBPolicy(0.1, num_actions=2)
    assert policy.report().low.tolist() == [-np.inf, -np.inf]
    assert TrackAndStopPolicy(0.1, num_actions=2).report().high.tolist() == [1.0, 1.0]
    log = BanditLog(np.ones((100, 1)), [0, 1] * 50, [1.0, 0.0, 0.0, 1.0] * 25)
    few = learn_from_log(TrackAndStopPolicy(0.1, num_actions=2), log[:50]).report()
    tests = learn_from_log(TrackAndStopPolicy(0.1, num_actions=2), log)
    many = tests.report()
    sure = tests.report(confidence=0.999)
    assert (many.high - many.low < few.high - few.low).all()
    assert (many.high - many.low < sure.high - sure.low).all()
    # Robbins' mixture: kl(1/2, q) = (ln(40) + ln(pi) - ln B(25.5, 25.5) - 50 ln 2) / 50
    assert many.low[0] == pytest.approx(1.0 - many.high[0])


def test_the_bound_is_that_of_the_mixture():
    log = BanditLog(np.ones((10, 1)), [0, 0, 0, 0, 1, 1, 1, 1, 1, 1], [1.0] * 3 + [0.0] * 7)
    report = learn_from_log(TrackAndStopPolicy(0.1, num_actions=2), log).report()
    # The likelihood of 3 successes of 4, mixed over Beta(1/2, 1/2), is B(3.5, 1.5) / pi = 5 / 128.
    for q in (report.low[0], report.high[0]):
        assert 5.0 / 128.0 / (q**3 * (1.0 - q)) == pytest.approx(2.0 / 0.05)


@for_each(
    "policy",
    [
        TrackAndStopPolicy(0.1, num_actions=2),
        CTrackingPolicy(0.1, reward_std=2.0, num_actions=2),
        LikelihoodRatioTestPolicy(0.1, num_actions=2),
        TopTwoThompsonSamplingPolicy(0.1, num_actions=2),
        KLLUCBPolicy(0.1, num_actions=2),
        LUCBPolicy(0.1, num_actions=2),
        SuccessiveEliminationPolicy(0.1, num_actions=2),
        GOptimalPolicy(0.1, [[1, 0], [0, 1]], num_actions=2),
    ],
)
def test_what_describes_a_policy_that_knows_a_law_has_intervals(policy):
    known = policy.describe()
    report = policy.report()
    assert known.interval == "95%, for all actions and steps at once"
    assert known.low.tolist() == report.low.tolist()
    assert known.high.tolist() == report.high.tolist()


def test_without_a_law_of_rewards_the_user_says_their_deviation():
    policy = SequentialHalvingPolicy(20, num_actions=2)
    assert policy.describe().low is None
    assert policy.report().low is None
    assert "give reward_std" in str(policy.report())
    assert np.isinf(policy.report(reward_std=0.5).high).all()


def test_a_report_is_a_table_with_the_names_of_the_actions():
    log = BanditLog(np.ones((4, 1)), [0, 1, 0, 1], [1.0, 0.0, 1.0, 0.0], num_actions=3)
    policy = learn_from_log(TrackAndStopPolicy(0.1, num_actions=3), log)
    text = str(policy.report(names=["red", "green", "blue"]))
    lines = text.splitlines()
    assert lines[0] == "not stopped after 4 rewards; best: red"
    assert lines[1].split() == ["action", "rewards", "mean", "95%", "interval"]
    assert lines[2].split()[:3] == ["red", "2", "1"]
    assert lines[4].split() == ["blue", "0", "-", "0", "to", "1"]
    assert "too large" in text


@for_each(
    "wrong",
    [
        {"row": 1},
        {"confidence": 1.0},
        {"confidence": 0.0},
        {"reward_std": 0.0},
        {"names": ["red"]},
    ],
)
def test_bad_arguments_of_a_report_are_refused(wrong):
    with pytest.raises(ValueError):
        UniformAllocationPolicy(10, num_actions=2).report(**wrong)


def test_a_report_names_the_best_of_the_actions_that_are_still_open():
    action = np.array([0, 1, 2] * 5 + [1, 2] * 100)
    available = np.ones((len(action), 3), np.bool_)
    available[15:, 0] = False
    log = BanditLog(
        np.ones((len(action), 1)), action, (action == 0) * 1.0, num_actions=3, available=available
    )
    policy = KLLUCBPolicy(1e-9, num_actions=3)
    assert learn_from_log(policy, log[:15]).report().recommended == 0
    assert learn_from_log(policy, log).report().recommended != 0


def test_a_test_goes_on_from_users_in_a_table(tmp_path):
    pytest.importorskip("pandas")
    file = tmp_path / "users.csv"
    file.write_text("action,reward\nred,1\nblue,0\nblue,1\ngreen,0\nred,1\n")
    log = read_log(file, propensity=None)
    policy = learn_from_log(TrackAndStopPolicy(0.1, num_actions=3, seed=0), log)
    report = policy.report()
    assert report.names == ("blue", "green", "red")
    assert report.counts.tolist() == [2.0, 1.0, 2.0]
    assert report.means.tolist() == [0.5, 0.0, 1.0]
    assert report.steps == 5
    assert report.names[report.recommended] == "red"
    assert policy.with_actions(4).report().names == ("blue", "green", "red", "3")


def test_a_table_may_lack_actions_that_begin_now():
    log = BanditLog(np.ones((2, 1)), [0, 1], [1.0, 0.0], num_actions=3)
    policy = learn_from_log(TrackAndStopPolicy(0.1, num_actions=3), log)
    assert policy.report().counts.tolist() == [1.0, 1.0, 0.0]
    assert policy.probabilities(_start()).tolist() == [[0.0, 0.0, 1.0]]


def _start():
    return BernoulliPyEnvironment([0.5] * 3).reset()
