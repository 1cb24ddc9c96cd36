"""Policies, held to implementations for one row and written out with loops, step by step."""

import math

import numpy as np
import pytest

from bandit_envs import (
    BayesUCBPolicy,
    BetaGreedyPolicy,
    BetaThompsonSamplingPolicy,
    BoltzmannPolicy,
    DecayingEpsilonGreedyPolicy,
    DiscountedThompsonSamplingPolicy,
    DiscountedUCBPolicy,
    Exp3Policy,
    Exp3SPolicy,
    ExploreThenCommitPolicy,
    IMEDPolicy,
    KArmedBandit,
    KLUCBPolicy,
    MOSSPolicy,
    RandomActionMask,
    ReducedVarianceTsallisINFPolicy,
    SlidingWindowUCBPolicy,
    SuccessiveEliminationPolicy,
    TsallisINFPolicy,
    UCB1TunedPolicy,
    rewards,
)
from bandit_envs.policies.arms.kl_ucb import BELOW_1, kl_upper_bounds
from bandit_envs.trajectories import Trajectory, restart, termination

K, B = 4, 4


class Row:
    """What one row has seen: the actions and their rewards, in order."""

    def __init__(self, **parameters):
        self.history = []
        vars(self).update(parameters)

    @property
    def t(self):
        return len(self.history) + 1

    def seen(self, action):
        return [reward for chosen, reward in self.history if chosen == action]

    def mean(self, action):
        return sum(self.seen(action)) / len(self.seen(action))

    def learn(self, action, reward, available):
        self.history.append((action, reward))


class Index(Row):
    """Chooses one of the actions with the largest index; those never chosen come first."""

    def probabilities(self, available):
        indices = {a: self.index(a, available) if self.seen(a) else math.inf for a in available}
        best = [a for a in available if indices[a] >= max(indices.values()) - 1e-9]
        return [(a in best) / len(best) for a in range(K)]


class UCB1Tuned(Index):
    def index(self, action, available):
        seen, mean = self.seen(action), self.mean(action)
        variance = sum((reward - mean) ** 2 for reward in seen) / len(seen)
        width = variance + math.sqrt(2 * math.log(self.t) / len(seen))
        return mean + math.sqrt(math.log(self.t) / len(seen) * min(0.25, width))


class MOSS(Index):
    def index(self, action, available):
        n = len(self.seen(action))
        surplus = math.log((self.horizon or self.t) / (K * n))
        return self.mean(action) + math.sqrt(max(0.0, surplus) / n)


def kl(p, q):
    total = 0.0
    for x, y in ((p, q), (1 - p, 1 - q)):
        if x > 0:
            total += x * math.log(x / y) if y > 0 else math.inf
    return total


class KLUCB(Index):
    def index(self, action, available):
        n, mean = len(self.seen(action)), min(self.mean(action), 1.0)
        level = math.log(self.t)
        if level > 1:
            level += self.c * math.log(level)
        return self.bound(mean, level / n)

    def bound(self, mean, divergence):
        low, high = mean, 1.0
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if kl(mean, middle) <= divergence else (low, middle)
        return low


class DiscountedUCB(Index):
    def index(self, action, available):
        weights = [self.gamma ** (self.t - 1 - s) for s in range(1, self.t)]
        own = [chosen == action for chosen, _ in self.history]
        n = sum(weight for weight, mine in zip(weights, own) if mine)
        total = sum(w * reward for w, mine, (_, reward) in zip(weights, own, self.history) if mine)
        return total / n + 2 * math.sqrt(self.xi * math.log(sum(weights)) / n)


class SlidingWindowUCB(Index):
    def seen(self, action):
        return [reward for chosen, reward in self.history[-self.window :] if chosen == action]

    def index(self, action, available):
        level = self.xi * math.log(min(self.t, self.window))
        width = math.sqrt(level / len(self.seen(action)))
        return self.mean(action) + width


class Exp3S(Row):
    alpha = 0.0

    def probabilities(self, available):
        if not self.history:
            self.weights = [1.0] * K
        shares = [weight / sum(self.weights) for weight in self.weights]
        self.pi = [(1 - self.gamma) * share + self.gamma / K for share in shares]
        return given(self.pi, available)

    def learn(self, action, reward, available):
        super().learn(action, reward, available)
        estimate = reward / given(self.pi, available)[action]
        shared = math.e * self.alpha / K * sum(self.weights)
        self.weights[action] *= math.exp(self.gamma * estimate / K)
        self.weights = [weight + shared for weight in self.weights]


def given(probabilities, available):
    total = sum(probabilities[action] for action in available)
    return [probabilities[a] / total if a in available else 0.0 for a in range(K)]


class TsallisINF(Row):
    rate = 2.0

    def probabilities(self, available):
        if not self.history:
            self.losses = [0.0] * K
        self.eta = self.rate / math.sqrt(self.t)
        low, high = min(self.losses) - 2 * math.sqrt(K) / self.eta, min(self.losses)
        for _ in range(100):
            x = (low + high) / 2
            total = sum(4 / (self.eta * (loss - x)) ** 2 for loss in self.losses)
            low, high = (x, high) if total < 1 else (low, x)
        self.pi = [4 / (self.eta * (loss - low)) ** 2 for loss in self.losses]
        return given(self.pi, available)

    def baseline(self, action):
        return 0.0

    def learn(self, action, reward, available):
        super().learn(action, reward, available)
        chosen = given(self.pi, available)[action]
        for a in range(K):
            self.losses[a] += self.baseline(a)
            if a == action:
                self.losses[a] += (1 - reward - self.baseline(a)) / chosen


class ReducedVarianceTsallisINF(TsallisINF):
    rate = 4.0

    def baseline(self, action):
        return 0.5 if self.pi[action] >= self.eta**2 else 0.0


class IMED(Index):
    def index(self, action, available):
        best = min(max(self.mean(a) if self.seen(a) else 0.0 for a in available), BELOW_1)
        n = len(self.seen(action))
        return -n * kl(self.mean(action), best) - math.log(n)


class BayesUCB(Index):
    def __init__(self, **parameters):
        super().__init__(**parameters)
        self.special = pytest.importorskip("scipy.special")

    def probabilities(self, available):
        if self.t == 1:
            return [(a in available) / len(available) for a in range(K)]
        total = [sum(self.seen(a)) for a in range(K)]
        a = [self.prior_successes + total[action] for action in range(K)]
        b = [self.prior_failures + len(self.seen(i)) - total[i] for i in range(K)]
        quantiles = self.special.betaincinv(a, b, 1 - 1 / self.t)
        best = [i for i in available if quantiles[i] >= max(quantiles[available]) - 1e-9]
        return [(i in best) / len(best) for i in range(K)]


class BetaGreedy(Row):
    def probabilities(self, available):
        wins = [self.prior_successes + sum(self.seen(a)) for a in range(K)]
        total = self.prior_successes + self.prior_failures
        means = {a: wins[a] / (total + len(self.seen(a))) for a in available}
        best = [a for a in available if means[a] >= max(means.values()) - 1e-9]
        return [(a in best) / len(best) for a in range(K)]


class Boltzmann(Row):
    def probabilities(self, available):
        values = [self.mean(a) if self.seen(a) else 0.0 for a in range(K)]
        return given([math.exp(value / self.temperature) for value in values], available)


class SuccessiveElimination(Row):
    def __init__(self, **parameters):
        super().__init__(**parameters)
        self.active = set(range(K))

    def probabilities(self, available):
        turn = self.active.intersection(available) or available
        fewest = min(len(self.seen(a)) for a in turn)
        first = [a for a in turn if len(self.seen(a)) == fewest]
        return [(a in first) / len(first) for a in range(K)]

    def learn(self, action, reward, available):
        super().learn(action, reward, available)
        n = {a: len(self.seen(a)) for a in range(K) if self.seen(a)}
        width = {a: math.sqrt(math.log(5 * K * n[a] ** 2 / self.delta) / n[a]) for a in n}
        best = max(self.mean(a) - width[a] for a in n)
        self.active -= {a for a in n if self.mean(a) + width[a] < best}


class ExploreThenCommit(Row):
    def probabilities(self, available):
        scores = {}
        for action in available:
            first = self.seen(action)[: self.m]
            scores[action] = sum(first) / self.m if len(first) == self.m else math.inf
        best = [a for a in available if scores[a] >= max(scores.values()) - 1e-9]
        return [(a in best) / len(best) for a in range(K)]


class DecayingEpsilonGreedy(Row):
    def value(self, action):
        value = 0.0
        for n, reward in enumerate(self.seen(action), 1):
            value += (reward - value) / n
        return value

    def probabilities(self, available):
        values = {a: self.value(a) for a in available}
        best = [a for a in available if values[a] == max(values.values())]
        epsilon = min(1.0, self.c * K / (self.d**2 * self.t))
        return [
            (1 - epsilon) * (a in best) / len(best) + epsilon * (a in available) / len(available)
            for a in range(K)
        ]


RULES = {
    "ucb1_tuned": (UCB1TunedPolicy, UCB1Tuned, {}),
    "moss": (MOSSPolicy, MOSS, {"horizon": 300}),
    "moss_without_horizon": (MOSSPolicy, MOSS, {"horizon": None}),
    "kl_ucb": (KLUCBPolicy, KLUCB, {"c": 0.0}),
    "kl_ucb_of_the_theory": (KLUCBPolicy, KLUCB, {"c": 3.0}),
    "discounted_ucb": (
        DiscountedUCBPolicy,
        DiscountedUCB,
        {"gamma": 0.9, "xi": 0.2},
    ),
    "sliding_window_ucb": (
        SlidingWindowUCBPolicy,
        SlidingWindowUCB,
        {"window": 11, "xi": 0.2},
    ),
    "exp3": (Exp3Policy, Exp3S, {"gamma": 0.2}),
    "exp3_s": (Exp3SPolicy, Exp3S, {"gamma": 0.2, "alpha": 0.05}),
    "tsallis_inf": (TsallisINFPolicy, TsallisINF, {}),
    "tsallis_inf_rv": (ReducedVarianceTsallisINFPolicy, ReducedVarianceTsallisINF, {}),
    "imed": (IMEDPolicy, IMED, {}),
    "bayes_ucb": (BayesUCBPolicy, BayesUCB, {"prior_successes": 0.5, "prior_failures": 2.0}),
    "beta_greedy": (BetaGreedyPolicy, BetaGreedy, {"prior_successes": 1.0, "prior_failures": 2.0}),
    "boltzmann": (BoltzmannPolicy, Boltzmann, {"temperature": 0.2}),
    "successive_elimination": (SuccessiveEliminationPolicy, SuccessiveElimination, {"delta": 1.0}),
    "explore_then_commit": (ExploreThenCommitPolicy, ExploreThenCommit, {"m": 5}),
    "decaying_epsilon_greedy": (
        DecayingEpsilonGreedyPolicy,
        DecayingEpsilonGreedy,
        {"c": 0.5, "d": 0.4},
    ),
}


@pytest.mark.parametrize(("binary", "sleeping"), [(False, False), (True, True)])
@pytest.mark.parametrize("name", RULES)
def test_probabilities_are_those_of_the_rule_at_every_step(name, sleeping, binary):
    make, rule, parameters = RULES[name]
    rng = np.random.default_rng(11)
    rows = [rule(**parameters) for _ in range(B)]
    policy = make(**parameters, num_actions=K, batch_size=B, seed=0)
    means = rng.random((B, K))
    for _ in range(40):
        mask = np.ones((B, K), bool)
        if sleeping:
            mask = rng.random((B, K)) < 0.6
            mask[:, 0] |= ~mask.any(axis=1)
        before = restart({"observation": np.ones((B, 1)), "mask": mask}, B)
        found = policy.probabilities(before)
        action = policy.action(before)
        reward = rng.random(B) < means[np.arange(B), action]
        reward = (reward if binary else rng.beta(2.0, 1.0 + reward)).astype(np.float64)
        for row in range(B):
            available = np.flatnonzero(mask[row]).tolist()
            expected = np.array(rows[row].probabilities(available))
            if isinstance(rows[row], Index):  # indices closer than 1e-9 are equal in `rows` only
                assert (expected[found[row] > 0] > 0).all()
                expected = (found[row] > 0) / np.count_nonzero(found[row])
            np.testing.assert_allclose(found[row], expected, rtol=1e-9, atol=1e-9)
            rows[row].learn(action[row], reward[row], available)
        after = termination(before.observation, reward, np.float64)
        policy(Trajectory.from_transition(before, action, after))


def test_the_bounds_of_kl_ucb_are_exact():
    rng = np.random.default_rng(0)
    n = rng.integers(1, 100, 500)
    p = np.concatenate([rng.integers(0, n + 1) / n, [0.0, 1.0, 1e-12, 1 - 1e-12]])
    level = np.concatenate([np.exp(rng.uniform(-12, 3, 500)), [0.1] * 4])
    rule = KLUCB(c=0.0)
    for mean, divergence, found in zip(p, level, kl_upper_bounds(p, level)):
        assert found == pytest.approx(rule.bound(mean, divergence), abs=1e-10)


def test_the_posterior_of_beta_thompson_is_that_of_bayes(teach, learned):
    rng = np.random.default_rng(5)
    actions, seen = rng.integers(0, K, (50, B)), rng.integers(0, 2, (50, B))
    policy = BetaThompsonSamplingPolicy(0.5, 2.0, num_actions=K, batch_size=B)
    teach(policy, actions, seen)
    for row in range(B):
        for action in range(K):
            own = seen[actions[:, row] == action, row].tolist()
            posterior = [table[row, action] for table in learned(policy)]
            assert posterior == [0.5 + own.count(1), 2.0 + own.count(0)]


def test_the_posterior_of_discounted_thompson_sampling_forgets(teach, learned):
    rng = np.random.default_rng(5)
    actions, seen = rng.integers(0, K, (30, B)), rng.random((30, B))
    policy = DiscountedThompsonSamplingPolicy(0.8, 0.5, 2.0, num_actions=K, batch_size=B)
    teach(policy, actions, seen)
    weights = 0.8 ** np.arange(30)[::-1]
    for row in range(B):
        for action in range(K):
            own = weights * (actions[:, row] == action)
            found = [table[row, action] for table in learned(policy)]
            expected = [0.5 + own @ seen[:, row], 2.0 + own @ (1.0 - seen[:, row])]
            np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("prior", [(1.0, 1.0), (0.5, 3.0), (1e6, 0.1)])
@pytest.mark.filterwarnings("error")
def test_bayes_ucb_chooses_the_largest_quantile_of_the_available_actions(learned, prior):
    special = pytest.importorskip("scipy.special")
    means = np.array([0.4, 0.5, 0.45, 0.99])
    law = rewards.Beta(3 * means, 3 * (1 - means))
    env = RandomActionMask(KArmedBandit(law, 30, seed=0), 0.5)
    policy = BayesUCBPolicy(*prior, num_actions=4, batch_size=30, seed=1)
    time_step, worst = env.reset(), []
    for t in range(1, 181):
        action = policy.action(time_step)
        if t > 1:
            successes, failures = learned(policy).counts
            exact = special.betaincinv(successes, failures, 1 - 1 / t)
            exact[~time_step.observation["mask"]] = -1.0
            worst.append((exact.max(axis=1) - exact[np.arange(30), action]).max())
        after = env.step(action)
        policy(Trajectory.from_transition(time_step, action, after))
        time_step = after
    assert max(worst) < 1e-10


def test_a_huge_reward_leaves_no_trace_in_a_later_window(teach, learned):
    policy = SlidingWindowUCBPolicy(5, num_actions=2)
    rewards = np.concatenate([[1e30], np.random.default_rng(0).random(14)])
    teach(policy, np.arange(15)[:, np.newaxis] % 2, rewards[:, np.newaxis])
    expected = [[sum(rewards[a] for a in range(10, 15) if a % 2 == action) for action in (0, 1)]]
    np.testing.assert_allclose(learned(policy).sums, expected, rtol=1e-15)


@pytest.mark.parametrize("policy", [TsallisINFPolicy, ReducedVarianceTsallisINFPolicy])
def test_tsallis_inf_may_learn_from_actions_of_another_policy(policy):
    rng, learner = np.random.default_rng(0), policy(num_actions=3, seed=0)
    time_step = restart(np.ones((1, 1)), 1)
    for _ in range(2000):
        action = rng.integers(3, size=1)
        reward = (rng.random(1) < [0.9, 0.1, 0.1][action[0]]).astype(float)
        learner(Trajectory.from_transition(time_step, action, termination(np.ones((1, 1)), reward)))
    assert learner.probabilities(time_step).argmax() == 0
