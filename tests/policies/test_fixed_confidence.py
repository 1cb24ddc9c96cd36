"""Policies that stop with confidence, held to rules written out with loops, and to their delta."""

import math
from functools import partial

import numpy as np
import pytest

from bandit_envs import (
    BernoulliPyEnvironment,
    KArmedBandit,
    StepDriver,
    SuccessiveEliminationPolicy,
    rewards,
)
from bandit_envs.metrics import ErrorMetric
from bandit_envs.policies import (
    CTrackingPolicy,
    KLLUCBPolicy,
    LikelihoodRatioTestPolicy,
    LUCBPolicy,
    TopTwoThompsonSamplingPolicy,
    TrackAndStopPolicy,
    characteristic_time,
)
from bandit_envs.policies.best_arm.optimal_proportions import optimal_weights
from bandit_envs.policies.best_arm.reward_laws import BernoulliLaw, NormalLaw
from bandit_envs.policies.best_arm.track_and_stop import with_floor
from bandit_envs.trajectories import restart
from tests.cases import for_each
from tests.policies.rows import B, assert_follows

K = 3
CONFIDENT = (
    SuccessiveEliminationPolicy,
    LUCBPolicy,
    KLLUCBPolicy,
    LikelihoodRatioTestPolicy,
    TrackAndStopPolicy,
    CTrackingPolicy,
    TopTwoThompsonSamplingPolicy,
)


def bernoulli(p, q):
    """Returns the divergence of Bernoulli laws."""
    q = min(max(q, 1e-15), 1 - 1e-15)
    left = p * math.log(p / q) if p > 0 else 0.0
    return left + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0)


def normal(std):
    return lambda p, q: (p - q) ** 2 / (2 * std**2)


def bisect(function, low, high):
    """Returns where an increasing function is 0."""
    for _ in range(28):
        middle = (low + high) / 2
        low, high = (low, middle) if function(middle) > 0 else (middle, high)
    return low


def practical(t, delta):
    return math.log((math.log(t) + 1) / delta)


def untried(row):
    return [a for a in range(K) if not row.seen[a]]


def in_pairs(row, upper, lower):
    """Yields the leader and its rival in turn."""
    while untried(row):
        yield untried(row)
    while True:
        leader = row.best(range(K))[0]
        bounds = {a: upper(a, len(row.order)) for a in range(K) if a != leader}
        rival = max(bounds, key=bounds.get)
        if bounds[rival] < lower(leader, len(row.order)):
            return leader
        yield [leader]
        yield [a for a in bounds if bounds[a] >= bounds[rival] - 1e-9]


def lucb(row, delta, reward_std=0.5):
    def radius(a, t):
        return reward_std * math.sqrt(2 * math.log(5 * K * t**4 / 4 / delta) / len(row.seen[a]))

    yield from ()
    return (
        yield from in_pairs(
            row,
            lambda a, t: row.mean(a) + radius(a, t),
            lambda a, t: row.mean(a) - radius(a, t),
        )
    )


def kl_lucb(row, delta, reward_std=None):
    def bound(a, t, end):
        level, mean = practical(t, delta) / len(row.seen[a]), row.mean(a)
        if reward_std is not None:
            return mean + math.copysign(reward_std * math.sqrt(2 * level), end - 0.5)
        if end == 1:
            return bisect(lambda q: bernoulli(mean, q) - level, mean, 1.0)
        return bisect(lambda q: level - bernoulli(mean, q), 0.0, mean)

    return (yield from in_pairs(row, lambda a, t: bound(a, t, 1), lambda a, t: bound(a, t, 0)))


def has_evidence(row, delta, divergence):
    """Whether Chernoff's rule stops."""
    if untried(row):
        return False
    leader = row.best(range(K))[0]
    ratios = []
    for other in set(range(K)) - {leader}:
        pair = [row.seen[leader], row.seen[other]]
        mean = sum(map(sum, pair)) / sum(map(len, pair))
        ratios.append(sum(len(seen) * divergence(sum(seen) / len(seen), mean) for seen in pair))
    return min(ratios) > practical(len(row.order), delta)


def likelihood_ratio_test(row, delta, divergence):
    while not has_evidence(row, delta, divergence):
        fewest = min(map(len, row.seen))
        yield [a for a in range(K) if len(row.seen[a]) == fewest]
    return row.best(range(K))[0]


def proportions(means, leader, divergence, gap=1e-6):
    """Returns the optimal proportions, by nested bisection; others are worse by a small gap."""
    others = [a for a in range(K) if a != leader]
    if divergence is bernoulli:
        means = [min(max(mean, 1e-9), 1 - 1e-9) for mean in means]
    p = means[leader]
    means = [means[a] if a == leader else min(means[a], p - gap) for a in range(K)]

    def between(a, x):
        return (p + x * means[a]) / (1 + x)

    def cost(a, x):
        m = between(a, x)
        return divergence(p, m) + x * divergence(means[a], m)

    def ratios(y):
        return {
            a: math.exp(bisect(lambda u, a=a: cost(a, math.exp(u)) - y, -40, 9)) for a in others
        }

    def excess(y):
        shares = []
        for a, x in ratios(y).items():
            m = between(a, x)
            shares.append(divergence(p, m) / max(divergence(means[a], m), 1e-300))
        return sum(shares) - 1

    best = ratios(bisect(excess, 0.0, min(divergence(p, means[a]) for a in others)))
    best[leader] = 1.0
    return [best[a] / sum(best.values()) for a in range(K)]


def track(row, delta, divergence, cumulative=False):
    sums = [0.0] * K
    weights = [1 / K] * K
    while not has_evidence(row, delta, divergence):
        t = len(row.order)
        counts = [len(seen) for seen in row.seen]
        if untried(row):
            yield untried(row)
        elif not cumulative and min(counts) < math.sqrt(t) - K / 2:
            yield [a for a in range(K) if counts[a] == min(counts)]
        else:
            due = sums if cumulative else [t * weight for weight in weights]
            scores = [due[a] - counts[a] for a in range(K)]
            yield [a for a in range(K) if scores[a] >= max(scores) - 1e-3]
        if untried(row):
            sums = [each + 1 / K for each in sums]
        else:
            means = [row.mean(a) for a in range(K)]
            weights = proportions(means, row.best(range(K))[0], divergence)
            sums = [each + more for each, more in zip(sums, floored(weights, len(row.order)))]
    return row.best(range(K))[0]


def floored(weights, t):
    eps = 0.5 / math.sqrt(K**2 + t)
    above = [max(weight - eps, 0.0) for weight in weights]
    return [eps + each * (1 - K * eps) / sum(above) for each in above]


RULES = {
    "lucb": (LUCBPolicy, lucb, {}),
    "lucb, normal": (LUCBPolicy, lucb, {"reward_std": 0.3}),
    "kl_lucb": (KLLUCBPolicy, kl_lucb, {}),
    "kl_lucb, normal": (KLLUCBPolicy, kl_lucb, {"reward_std": 0.3}),
    "test": (LikelihoodRatioTestPolicy, likelihood_ratio_test, {"divergence": bernoulli}),
    "test, normal": (LikelihoodRatioTestPolicy, likelihood_ratio_test, {"divergence": normal(0.3)}),
    "d": (TrackAndStopPolicy, track, {"divergence": bernoulli}),
    "d, normal": (TrackAndStopPolicy, track, {"divergence": normal(0.3)}),
    "c": (CTrackingPolicy, partial(track, cumulative=True), {"divergence": bernoulli}),
    "c, normal": (
        CTrackingPolicy,
        partial(track, cumulative=True),
        {"divergence": normal(0.3)},
    ),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in ("c", "d, normal"))) for name in RULES],
)
def test_choices_stops_and_recommendations_are_those_of_the_rule(name):
    make, rule, parameters = RULES[name]
    rng = np.random.default_rng(5)
    options = {"reward_std": 0.3} if "normal" in name else {}
    means = np.array([0.3, 0.5, 0.8])
    values = rng.random((40, B, K)) < means
    if options:
        values = rng.normal(means, 0.3, (40, B, K))
    policy = make(0.6, **options, num_actions=K, batch_size=B, seed=0)
    assert_follows(policy, partial(rule, delta=0.6, **parameters), values.astype(float))
    assert policy.stopped.any() or "lucb" in name


def test_top_two_thompson_sampling_chooses_challengers_as_often_as_the_posterior_says(
    teach, time_step, chi_square
):
    size, beta = 40_000, 0.3
    policy = TopTwoThompsonSamplingPolicy(1e-9, beta, num_actions=K, batch_size=size, seed=0)
    lesson = [(0, 1), (0, 1), (0, 1), (1, 1), (1, 0), (2, 0), (2, 0)]
    teach(policy, *[np.tile(np.array(part)[:, np.newaxis], size) for part in zip(*lesson)])
    draws = np.random.default_rng(1).beta([4, 2, 1], [1, 2, 3], (500_000, K))
    best = np.bincount(draws.argmax(axis=1)) / len(draws)
    odds = best / (1 - best)
    expected = [best[a] * (beta + (1 - beta) * (odds.sum() - odds[a])) for a in range(K)]
    found = np.bincount(policy.action(time_step(size)))
    # Two degrees of freedom: 4 standard deviations above the mean.
    assert chi_square(found, expected) < 2 + 4 * 2


@pytest.mark.parametrize("std", [None, 1.0])
def test_the_characteristic_time_is_the_least_that_any_proportions_reach(std):
    rng = np.random.default_rng(2)
    means = rng.uniform(0.05, 0.95, (6, 4))
    found = characteristic_time(means, std)
    divergence = np.vectorize(bernoulli if std is None else normal(std))
    for row, time, best in zip(means, found.time, found.proportions):

        def speed(w, row=row):
            a = row.argmax()
            others = np.arange(4) != a
            m = (w[a] * row[a] + w[others] * row[others]) / (w[a] + w[others])
            return min(w[a] * divergence(row[a], m) + w[others] * divergence(row[others], m))

        assert speed(best) == pytest.approx(1 / time, rel=1e-9)
        for _ in range(50):
            other = best * np.exp(rng.normal(0, 0.1, 4))
            assert speed(other / other.sum()) < 1 / time


def test_the_characteristic_time_of_the_paper():
    best = characteristic_time([0.3, 0.21, 0.2, 0.19, 0.18]).proportions
    np.testing.assert_allclose(best, [0.336, 0.251, 0.177, 0.132, 0.104], atol=6e-4)
    assert characteristic_time([[0.5, 0.45, 0.43, 0.4]]).time == pytest.approx([989.79], abs=0.01)
    assert characteristic_time([0.5, 0.5, 0.1]).time == math.inf
    with pytest.raises(ValueError, match=r"expected numbers above 0\.0 and below 1\.0"):
        characteristic_time([0.5, 1.0])


@for_each(("mean", "std"), [(1e6, 1.0), (-1e6, 1.0), (0.0, 1e-9), (0.0, 1e9)])
def test_the_characteristic_time_of_normal_rewards_has_no_unit_and_no_origin(mean, std):
    found = characteristic_time(mean + std * np.array([1.0, 0.5]), reward_std=std)
    assert found.time == pytest.approx(8 / 0.5**2)
    np.testing.assert_allclose(found.proportions, 0.5)


@for_each("mean", [0.0, 1e10, -1e14])
def test_equal_means_have_proportions_wherever_their_origin_is(mean, teach, learned):
    policy = TrackAndStopPolicy(0.1, reward_std=1.0, num_actions=2, batch_size=1, seed=0)
    teach(policy, [[0], [1], [0]], np.full((3, 1), mean))
    np.testing.assert_allclose(learned(policy).plan.weights, 0.5, atol=0.01)


def test_the_evidence_of_normal_rewards_does_not_depend_on_their_origin():
    law = NormalLaw(1.0)
    for origin in (0.0, 1e6, -1e6):
        p, q = origin + np.array([1.0, 0.5])
        # 1000 (1/6)^2 / 2 + 500 (1/3)^2 / 2
        assert law.likelihood_ratio(1000.0, p, 500.0, q) == pytest.approx(125 / 3, rel=1e-9)


def test_a_floor_leaves_a_sum_of_one():
    found = with_floor(np.array([[0.9, 0.1, 0.0]]), np.array([7]), np.ones((1, 3), bool))
    assert found.sum() == pytest.approx(1.0)
    assert found.min() == pytest.approx(0.125)


def test_an_unknown_threshold_is_refused():
    with pytest.raises(ValueError, match="expected one of practical, chernoff, kl_lucb"):
        TrackAndStopPolicy(0.1, threshold="proven", num_actions=3)


@for_each("make", CONFIDENT)
def test_normal_rewards_need_their_standard_deviation_and_are_learned_from(make):
    law = rewards.NormalReward([-4.0, 6.0], [2.0, 2.0])
    env = KArmedBandit(law, 40, seed=0)
    policy = make(0.1, reward_std=2.0, num_actions=2, batch_size=40, seed=1)
    error = ErrorMetric(env, policy)
    StepDriver(env, policy, [policy, error], 500).run_until_stopped()
    assert policy.has_stopped
    assert error.totals.mean() <= 0.1


@for_each("make", CONFIDENT)
def test_no_row_stops_while_an_action_is_never_available(make, teach):
    mask = np.tile([True, True, False], (5, 1))
    before = restart({"observation": np.ones((5, 1)), "mask": mask}, 5)
    policy = make(0.1, num_actions=K, batch_size=5, seed=0)
    for _ in range(100):
        action = policy.action(before)
        teach(policy, [action], [np.where(action == 0, 1.0, 0.0)])
    assert not policy.stopped.any()


PROBLEMS = ([0.8, 0.5], [0.6, 0.3, 0.2], [0.1, 0.3, 0.2, 0.5])


@pytest.mark.slow
@pytest.mark.parametrize("means", PROBLEMS, ids=str)
@for_each("make", CONFIDENT)
def test_errors_are_at_most_delta_in_800_runs(make, means):
    size, delta = 800, 0.1
    env = BernoulliPyEnvironment(means, batch_size=size, seed=0)
    policy = make(delta, num_actions=len(means), batch_size=size, seed=1)
    error = ErrorMetric(env, policy)
    StepDriver(env, policy, [policy, error], 60_000).run_until_stopped()
    assert policy.has_stopped
    assert error.totals.mean() <= delta


def test_proportions_of_an_action_that_had_none_are_found_as_without_a_start():
    means = np.array([[0.5, 0.4, 0.45], [0.2, 0.7, 0.3]])
    leaders = np.array([0, 1])
    start = np.array([[0.6, 0.4, 0.0], [0.0, 1.0, 0.0]])
    expected, _ = optimal_weights(BernoulliLaw(), means, leaders, tolerance=1e-10)
    found, _ = optimal_weights(BernoulliLaw(), means, leaders, tolerance=1e-10, start=start)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.slow
def test_a_tolerance_makes_the_time_of_equal_actions_finite():
    """T* and the proportions are those of an independent calculation."""
    time, proportions = characteristic_time([0.2, 0.2, 0.1], tolerance=0.02)
    assert time == pytest.approx(3219.4752, abs=1e-3)
    assert np.sort(proportions) == pytest.approx([0.0063, 0.4845, 0.5093], abs=1e-4)


@pytest.mark.parametrize("std", [None, 0.4])
def test_a_tolerance_of_nearly_nothing_changes_nothing(std):
    means = [[0.1, 0.12, 0.25], [0.5, 0.3, 0.45]]
    expected = characteristic_time(means, std)
    time, proportions = characteristic_time(means, std, tolerance=1e-9)
    np.testing.assert_allclose(time, expected.time, rtol=1e-5)
    np.testing.assert_allclose(proportions, expected.proportions, atol=1e-4)


def test_proportions_with_a_tolerance_are_the_best_of_many():
    """Of normal laws, for which the evidence against an action has a closed form."""
    means = np.array([0.3, 0.28, 0.1])
    time, proportions = characteristic_time(means, 0.5, tolerance=0.05)
    rng = np.random.default_rng(0)
    for answer in (0, 1):
        for weights in [proportions, *rng.dirichlet(np.ones(3), 2000)]:
            others = np.delete(np.arange(3), answer)
            share = weights[answer] * weights[others] / (weights[answer] + weights[others])
            found = share * (means[answer] - means[others] + 0.05) ** 2 / 0.5
            assert found.min() <= 1.0 / time + 1e-9


@for_each("tolerance", [-0.1, 1.0])
def test_a_tolerance_out_of_range_is_refused(tolerance):
    with pytest.raises(ValueError, match="tolerance is"):
        characteristic_time([0.1, 0.2], tolerance=tolerance)


def test_the_evidence_with_a_tolerance_is_that_of_an_independent_calculation():
    numbers = [np.array([each]) for each in (1000.0, 0.21, 800.0, 0.19)]
    law = BernoulliLaw()
    assert law.tolerant_ratio(*numbers, 0.02)[0] == pytest.approx(2.205491171, abs=1e-8)
    assert law.tolerant_ratio(*numbers, 1e-12)[0] == pytest.approx(0.554973916, abs=1e-8)
    assert law.likelihood_ratio(*numbers)[0] == pytest.approx(0.554973916, abs=1e-8)
    bound = law.tolerant_bound(*numbers, 0.02)[0]
    assert 2.205491171 <= bound < 2.21
    worse = [numbers[0], numbers[3], numbers[2], numbers[1]]
    assert law.tolerant_ratio(*worse, 0.01)[0] == 0.0
    normal = NormalLaw(0.4)
    expected = 1000.0 * 800.0 / 1800.0 * 0.04**2 / (2.0 * 0.16)
    assert normal.tolerant_ratio(*numbers, 0.02)[0] == pytest.approx(expected)


@pytest.mark.parametrize("rule", [TrackAndStopPolicy, LikelihoodRatioTestPolicy])
def test_a_test_of_equal_actions_stops_with_a_tolerance(rule):
    env = BernoulliPyEnvironment([0.3, 0.3], batch_size=5, seed=0)
    policy = rule(delta=0.1, tolerance=0.2, num_actions=2, batch_size=5, seed=1)
    StepDriver(env, policy, [policy], num_steps=1500).run_until_stopped()
    assert policy.has_stopped
