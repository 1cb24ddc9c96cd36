"""Regrets, held to bounds and exact laws."""

import math
from functools import partial

import numpy as np
import pytest

from bandit_envs import (
    BayesUCBPolicy,
    BetaThompsonSamplingPolicy,
    DecayingEpsilonGreedyPolicy,
    Exp3Policy,
    Exp3SPolicy,
    ExploreThenCommitPolicy,
    IMEDPolicy,
    KArmedBandit,
    KLUCBPolicy,
    MOSSPolicy,
    ReducedVarianceTsallisINFPolicy,
    SlidingWindowUCBPolicy,
    StepDriver,
    SuccessiveEliminationPolicy,
    TsallisINFPolicy,
    UCBPolicy,
    rewards,
)
from bandit_envs.trajectories import Trajectory, restart, termination

B, T = 100, 1000


def play(make, means, batch_size=B):
    """Returns a policy and its actions [T, B], after rewards of 0 or 1 with the means [T, K]."""
    policy = make(num_actions=len(means[0]), batch_size=batch_size, seed=7)
    before, rng, chosen = (
        restart(np.ones((batch_size, 1)), batch_size),
        np.random.default_rng(6),
        [],
    )
    for mean in np.asarray(means):
        action = policy.action(before)
        reward = (rng.random(batch_size) < mean[action]).astype(np.float64)
        after = termination(before.observation, reward, np.float64)
        policy(Trajectory.from_transition(before, action, after))
        chosen.append(action)
    return policy, np.array(chosen)


def regret(chosen, means):
    """Returns the mean regret of actions [T, B], at means [T, K]."""
    means = np.asarray(means)
    return float((means.max(axis=1) - means[np.arange(len(means)), chosen.T]).sum(axis=1).mean())


def kl(p, q):
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


def ucb1_bound(gap):
    """The bound of Auer, Cesa-Bianchi & Fischer (2002) for two arms."""
    return 8 * math.log(T) / gap + (1 + math.pi**2 / 3) * gap


def kl_ucb_bound(best, other):
    """The bound of Lattimore & Szepesvári (2020), Theorem 10.6, for two arms.

    They explore ln(1 + t ln^2 t), which is less than ln t + 3 ln ln t if t is above 3.
    """
    gap, level = best - other, math.log(T) + 3 * math.log(math.log(T))
    steps = [i * gap / 40 for i in range(1, 40)]
    plays = min(
        2 / up**2 + level / kl(other + down, best - up) + 1 / (2 * down**2)
        for up in steps
        for down in steps
        if up + down < gap - 1e-9
    )
    return gap * (plays + 3)


TWO, FIVE = [[0.9, 0.1]] * T, [[0.7, *[0.4] * 4]] * T
EXP3_GAMMA = math.sqrt(5 * math.log(5) / ((math.e - 1) * 0.7 * T))


@pytest.mark.parametrize(
    ("make", "means", "bound"),
    [
        (partial(UCBPolicy, math.sqrt(2)), TWO, ucb1_bound(0.8)),
        (partial(KLUCBPolicy, 3.0), TWO, kl_ucb_bound(0.9, 0.1)),
        (partial(MOSSPolicy, T), FIVE, 39 * math.sqrt(5 * T) + 4 * 0.3),  # as above, Theorem 9.1
        (partial(Exp3Policy, EXP3_GAMMA), FIVE, 2.63 * math.sqrt(0.7 * T * 5 * math.log(5))),
        (TsallisINFPolicy, FIVE, 4 * math.sqrt(5 * T) + 1),
        (ReducedVarianceTsallisINFPolicy, FIVE, 2 * math.sqrt(5 * T) + 50 * math.log(T) + 16),
    ],
)
def test_regret_is_within_the_bound_of_the_source(make, means, bound):
    found = regret(play(make, means)[1], means)
    chance = T * (np.max(means[0]) - np.mean(means[0]))
    assert found < min(bound, 0.8 * chance)


def test_exp3_s_follows_a_change_within_its_bound():
    """Auer, Cesa-Bianchi, Freund & Schapire (2002): two pieces, gamma and alpha as they choose."""
    steps, pieces = 3000, 2
    hardness = 2 * steps * (pieces * math.log(2 * steps) + math.e)
    gamma = math.sqrt(hardness / (math.e - 1)) / steps
    means = [[1.0, 0.0]] * (steps // 2) + [[0.0, 1.0]] * (steps // 2)
    found = regret(play(partial(Exp3SPolicy, gamma, 1 / steps), means, 30)[1], means)
    assert found < 2 * math.sqrt((math.e - 1) * hardness) < 0.7 * steps / 2
    exp3 = partial(Exp3Policy, gamma)
    assert found < 0.8 * regret(play(exp3, means, 30)[1], means)


def test_sliding_window_ucb_follows_a_change_within_its_bound():
    """Garivier & Moulines (2011), on how often each arm is chosen while it is not the best."""
    steps, window, xi, changes, gap = 4000, 500, 0.6, 1, 0.8
    log = math.log(window)
    slow = math.ceil(log / math.log(1 + 4 * math.sqrt(1 - 1 / (2 * xi))))
    factor = 4 * xi / gap**2 * math.ceil(steps / window) / (steps / window) + 2 / log * slow
    bound = factor * steps * log / window + window * changes + log**2
    means = np.repeat([[0.9, 0.1], [0.1, 0.9]], steps // 2, axis=0)
    _, chosen = play(partial(SlidingWindowUCBPolicy, window, xi), means, 30)
    for action in (0, 1):
        wrong = (chosen == action) & (means.argmax(axis=1) != action)[:, np.newaxis]
        assert wrong.sum(axis=0).mean() < bound < 0.5 * steps / 2


def test_beta_thompson_sampling_chooses_an_action_as_often_as_it_is_the_best():
    """The probability that one Beta law exceeds another is a finite sum, if a is an integer."""
    successes, failures, size = np.array([3, 4]), np.array([5, 3]), 40_000
    policy = BetaThompsonSamplingPolicy(num_actions=2, batch_size=size, seed=0)
    before = restart(np.ones((size, 1)), size)
    for action, reward in ((0, 1.0), (1, 1.0), (0, 0.0), (1, 0.0)):
        for _ in range((successes if reward else failures)[action] - 1):  # the prior has one
            after = termination(before.observation, np.full(size, reward), np.float64)
            policy(Trajectory.from_transition(before, np.full(size, action), after))

    def beta(a, b):
        return math.gamma(a) * math.gamma(b) / math.gamma(a + b)

    (a, c), (b, d) = successes.tolist(), failures.tolist()
    expected = sum(beta(a + i, b + d) / ((d + i) * beta(1 + i, d) * beta(a, b)) for i in range(c))
    share = np.mean(policy.action(before) == 1)
    assert abs(share - expected) < 4 * math.sqrt(expected * (1 - expected) / size)


def test_decaying_epsilon_greedy_errs_as_rarely_as_its_theorem_says():
    """The bound of Auer, Cesa-Bianchi & Fischer (2002) on the probability of the worse arm."""
    c, d, n = 6.0, 0.5, T + 1
    policy, _ = play(partial(DecayingEpsilonGreedyPolicy, c, d), [[0.9, 0.4]] * T)
    told = policy.probabilities(restart(np.ones((B, 1)), B))[:, 1]
    ratio = c * 2 / ((n - 1) * d**2 * math.sqrt(math.e))
    explored = c / (d**2 * n)
    most = explored + 2 * c / d**2 * math.log(1 / ratio) * ratio ** (c / (5 * d**2))
    assert explored - 1e-12 <= told.mean() <= most + 4 * math.e / d**2 * ratio ** (c / 2)


@pytest.mark.parametrize(
    ("make", "low", "high"),
    [
        (KLUCBPolicy, 0.3, 1.3),
        pytest.param(BayesUCBPolicy, 0.3, 1.3, marks=pytest.mark.slow),
        pytest.param(IMEDPolicy, 0.3, 1.3, marks=pytest.mark.slow),
        (BetaThompsonSamplingPolicy, 0.3, 1.3),
        (partial(UCBPolicy, math.sqrt(2)), 2.0, math.inf),
    ],
)
def test_regret_stays_near_the_rate_of_lai_and_robbins(make, low, high):
    """The bounds of these policies are asymptotic; UCB1 does not have this rate."""
    if make is BayesUCBPolicy:
        pytest.importorskip("scipy")
    means = [[0.9, 0.6]] * T
    rate = 0.3 * math.log(T) / kl(0.6, 0.9)
    assert low * rate < regret(play(make, means)[1], means) < high * rate


def test_successive_elimination_errs_as_rarely_as_delta_says():
    """With probability 1 - delta, all means are within alpha: 4 alpha < gap drops an action."""
    means, delta, most = [0.9, 0.1, 0.3], 0.1, []
    for gap in (0.8, 0.6):
        n = np.arange(1, 2000)
        alpha = np.sqrt(np.log(5 * 3 * n**2 / delta) / n)
        most.append(n[4 * alpha < gap][0])
    policy, chosen = play(partial(SuccessiveEliminationPolicy, delta), [means] * 2500)
    active = policy.get_state().content.learned.plan.active
    plays = np.array([(chosen == action).sum(axis=0) for action in (1, 2)])
    good = active[:, 0] & (plays <= np.array(most)[:, np.newaxis]).all(axis=0)
    assert good.mean() >= 1 - delta
    assert not active[:, 1:].any()


def test_the_regret_of_explore_then_commit_is_that_of_its_formula():
    gap, m, steps, size = 0.5, 20, 200, 20_000
    env = KArmedBandit(rewards.NormalReward([0.0, -gap], [1.0, 1.0]), size, seed=3)
    policy = ExploreThenCommitPolicy(m, num_actions=2, batch_size=size, seed=4)
    chosen = []
    StepDriver(env, policy, [policy, lambda step: chosen.append(step.action)], steps).run()
    wrong = gap * np.sum(chosen, axis=0)
    committed_wrongly = 0.5 * math.erfc(gap * math.sqrt(m / 2) / math.sqrt(2))
    expected = m * gap + (steps - 2 * m) * gap * committed_wrongly
    assert abs(wrong.mean() - expected) < 4 * wrong.std() / math.sqrt(size)
