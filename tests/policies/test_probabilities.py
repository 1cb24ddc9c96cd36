"""What policies say of their probabilities, held against how often they choose."""

from functools import partial

import numpy as np
import pytest

from bandit_envs import (
    BayesUCBPolicy,
    BetaThompsonSamplingPolicy,
    BoltzmannPolicy,
    DecayingEpsilonGreedyPolicy,
    DiscountedThompsonSamplingPolicy,
    DiscountedUCBPolicy,
    EpsilonGreedyPolicy,
    Exp3Policy,
    Exp3SPolicy,
    ExploreThenCommitPolicy,
    GaussianThompsonSamplingPolicy,
    GradientBanditPolicy,
    IMEDPolicy,
    KLUCBPolicy,
    LinearEpsilonGreedyPolicy,
    LinearThompsonSamplingPolicy,
    LinUCBPolicy,
    MOSSPolicy,
    RandomPolicy,
    ReducedVarianceTsallisINFPolicy,
    SlidingWindowUCBPolicy,
    StationaryStochasticPerArmPyEnvironment,
    StepDriver,
    SuccessiveEliminationPolicy,
    TsallisINFPolicy,
    UCB1TunedPolicy,
    UCBPolicy,
)
from bandit_envs.rewards import LinearReward, LogisticReward
from bandit_envs.sampling import Integers
from bandit_envs.testing import assert_identical
from bandit_envs.trajectories import Trajectory, restart, termination

K, B, CHOICES = 4, 25, 1000  # 25,000 choices
SPEC = StationaryStochasticPerArmPyEnvironment(
    Integers(2, 0, 2), Integers(2, 0, 2), K, LinearReward(np.ones(4)), batch_size=B
).observation_spec()

EXACT = {
    "random": RandomPolicy,
    "greedy": partial(EpsilonGreedyPolicy, 0.0),
    "epsilon_greedy": partial(EpsilonGreedyPolicy, 0.3),
    "epsilon_greedy_only_explores": partial(EpsilonGreedyPolicy, 1.0),
    "ucb": partial(UCBPolicy, 0.5),
    "gradient": partial(GradientBanditPolicy, 0.5),
    "ucb1_tuned": UCB1TunedPolicy,
    "moss": MOSSPolicy,
    "kl_ucb": KLUCBPolicy,
    "explore_then_commit": partial(ExploreThenCommitPolicy, 1),
    "decaying_epsilon_greedy": partial(DecayingEpsilonGreedyPolicy, 0.5, 1.0),
    "bayes_ucb": BayesUCBPolicy,
    "imed": IMEDPolicy,
    "boltzmann": partial(BoltzmannPolicy, 0.5),
    "successive_elimination": partial(SuccessiveEliminationPolicy, 0.1),
    "discounted_ucb": partial(DiscountedUCBPolicy, 0.7, 0.1),
    "sliding_window_ucb": partial(SlidingWindowUCBPolicy, 3, 0.1),
    "exp3": partial(Exp3Policy, 0.3),
    "exp3_s": partial(Exp3SPolicy, 0.3, 0.1),
    "tsallis_inf": TsallisINFPolicy,
    "tsallis_inf_rv": ReducedVarianceTsallisINFPolicy,
    "lin_ucb": partial(LinUCBPolicy, 0.2),
    "linear_greedy": partial(LinearEpsilonGreedyPolicy, 0.0),
    "linear_epsilon_greedy": partial(LinearEpsilonGreedyPolicy, 0.3),
}
SAMPLED = {
    "thompson": GaussianThompsonSamplingPolicy,
    "beta_thompson": BetaThompsonSamplingPolicy,
    "discounted_thompson": partial(DiscountedThompsonSamplingPolicy, 0.9),
    "linear_thompson": partial(LinearThompsonSamplingPolicy, 0.5),
}
AVAILABLE = {
    "all": lambda rng: {},
    "the first": lambda rng: {"num_actions": rng.integers(1, K + 1, B).astype(np.int32)},
    "any": lambda rng: {"mask": rng.random((B, K)) < np.array([0.6, 0.6, 0.6, 1.0])},
}


def make(name, seed=0):
    """Makes a policy of `K` actions and `B` rows."""
    linear = name.startswith("lin")
    sizes = {"observation_spec": SPEC} if linear else {"num_actions": K}
    return {**EXACT, **SAMPLED}[name](**sizes, batch_size=B, seed=seed)


def time_step(rng, available="all"):
    """Returns a time step with features of 0 and 1, so that arms are often equally good."""
    features = {"global": rng.integers(0, 2, (B, 2)), "per_arm": rng.integers(0, 2, (B, K, 2))}
    return restart({**features, **AVAILABLE[available](rng)}, B)


def mask(observation):
    if "num_actions" in observation:
        return np.arange(K) < observation["num_actions"][:, np.newaxis]
    return observation.get("mask", np.ones((B, K), bool))


def taught(name, rng, available="all"):
    """Returns a policy that has seen a few rewards of 0 and 1, so that values are often equal."""
    policy = make(name)
    for _ in range(5):
        before = time_step(rng, available)
        action = policy.action(before)
        after = termination(before.observation, rng.integers(0, 2, B))
        policy(Trajectory.from_transition(before, action, after))
    return policy


@pytest.mark.parametrize(
    "available",
    ["all", *(pytest.param(n, marks=pytest.mark.slow) for n in AVAILABLE if n != "all")],
)
@pytest.mark.parametrize("name", EXACT)
def test_actions_are_as_frequent_as_their_probabilities(name, available):
    rng = np.random.default_rng(5)
    policy, asked = taught(name, rng, available), time_step(rng, available)
    probabilities = policy.probabilities(asked)
    counts = np.zeros((B, K))
    for _ in range(CHOICES):
        counts[np.arange(B), policy.action(asked)] += 1
    assert probabilities.shape == (B, K)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    assert (probabilities[~mask(asked.observation)] == 0.0).all()
    standard_error = np.sqrt(probabilities * (1.0 - probabilities) / CHOICES)
    assert (np.abs(counts / CHOICES - probabilities) <= 5 * standard_error + 1e-12).all()


@pytest.mark.parametrize("available", AVAILABLE)
@pytest.mark.parametrize("name", EXACT)
def test_the_probability_of_one_action_is_exactly_that_of_the_table(name, available):
    rng = np.random.default_rng(8)
    for policy in (make(name), taught(name, rng, available)):
        asked = time_step(rng, available)
        found = [policy.probability_of(asked, np.full(B, action)) for action in range(K)]
        np.testing.assert_array_equal(np.transpose(found), policy.probabilities(asked))


def test_a_policy_that_chooses_in_its_own_way_has_its_own_probabilities():
    class First(EpsilonGreedyPolicy):
        def _select(self, rng, learned, time_step):
            return np.zeros(B, int)

        def _probabilities(self, learned, time_step):
            return np.tile(np.eye(K)[0], (B, 1))

    policy, asked = First(0.3, num_actions=K, batch_size=B), time_step(np.random.default_rng(0))
    assert (policy.probability_of(asked, policy.action(asked)) == 1.0).all()


@pytest.mark.parametrize("available", AVAILABLE)
@pytest.mark.parametrize("name", [*SAMPLED, "epsilon_greedy"])
def test_estimates_are_frequencies_and_move_nothing(name, available):
    rng = np.random.default_rng(6)
    policy, asked = taught(name, rng, available), time_step(rng, available)
    before = policy.get_state()
    one, other = (
        policy.estimated_probabilities(asked, CHOICES, np.random.default_rng(seed))
        for seed in (1, 2)
    )
    assert_identical(policy.get_state(), before, "the policy's state")
    np.testing.assert_allclose(one.sum(axis=1), 1.0, rtol=1e-12)
    assert (one[~mask(asked.observation)] == 0.0).all()
    mean = (one + other) / 2
    standard_error = np.sqrt(2 * mean * (1 - mean) / CHOICES)
    assert (np.abs(one - other) <= 5 * standard_error + 1e-12).all()
    if name not in SAMPLED:
        exact = policy.probabilities(asked)
        assert (
            np.abs(mean - exact) <= 5 * np.sqrt(exact * (1 - exact) / (2 * CHOICES)) + 1e-12
        ).all()


@pytest.mark.parametrize("name", SAMPLED)
def test_without_a_closed_form_there_are_no_probabilities(name):
    policy = make(name)
    assert not policy.knows_probabilities
    with pytest.raises(NotImplementedError, match=r"estimated_probabilities\(\)"):
        policy.probabilities(time_step(np.random.default_rng(0)))


@pytest.mark.parametrize("name", EXACT)
def test_nobody_changes_a_policy_through_its_probabilities(name):
    rng = np.random.default_rng(7)
    policy, asked = taught(name, rng), time_step(rng)
    before = policy.get_state()
    probabilities = policy.probabilities(asked)
    kept = probabilities.copy()
    probabilities[...] = -1.0
    np.testing.assert_array_equal(policy.probabilities(asked), kept)
    assert_identical(policy.get_state(), before, "the policy's state")


@pytest.mark.parametrize(
    ("samples", "rng", "error"),
    [
        (0, np.random.default_rng(0), ValueError),
        (1.0, np.random.default_rng(0), TypeError),
        (1, 0, TypeError),
    ],
)
def test_wrong_samples_or_generators_are_refused(samples, rng, error):
    with pytest.raises(error, match="samples" if isinstance(rng, np.random.Generator) else "rng"):
        make("thompson").estimated_probabilities(time_step(np.random.default_rng(0)), samples, rng)


@pytest.mark.parametrize("name", [*EXACT, *SAMPLED])
def test_every_policy_runs_where_few_actions_are_available(name):
    env = StationaryStochasticPerArmPyEnvironment(
        Integers(2, 0, 2),
        Integers(2, 0, 2),
        K,
        LogisticReward(np.ones(4)),
        Integers(1, 1, K + 1),
        B,
        seed=0,
    )
    policy, seen = make(name), set()
    StepDriver(env, policy, [policy, lambda step: seen.update(step.action)], 40).run()
    assert seen == set(range(K))


@pytest.mark.parametrize(
    "wrong",
    [
        {"num_actions": np.int32(2)},
        {"num_actions": np.full(B + 1, 2)},
        {"num_actions": np.zeros(B, int)},
        {"mask": np.ones((B, K + 1), bool)},
        {"mask": np.zeros((B, K), bool)},
    ],
)
@pytest.mark.parametrize("name", [*EXACT, *SAMPLED])
def test_an_observation_that_makes_nothing_or_something_else_available_is_refused(name, wrong):
    good = time_step(np.random.default_rng(0))
    with pytest.raises(ValueError, match="observation"):
        make(name).action(good._replace(observation={**good.observation, **wrong}))


def test_scores_are_computed_anew_once_something_was_learned():
    policy = UCBPolicy(1.0, num_actions=2, batch_size=1, seed=0)
    time_step = restart(np.ones((1, 1)), 1)
    for action, reward in ((0, 1.0), (1, 0.0)):
        assert policy.probability_of(time_step, policy.action(time_step)) > 0.0
        after = termination(time_step.observation, [reward])
        policy(Trajectory.from_transition(time_step, [action], after))
    assert policy.probabilities(time_step).tolist() == [[1.0, 0.0]]
    state = policy.get_state()
    policy.set_state(UCBPolicy(1.0, num_actions=2).get_state())
    assert policy.probabilities(time_step).tolist() == [[0.5, 0.5]]
    policy.set_state(state)
    assert policy.probabilities(time_step).tolist() == [[1.0, 0.0]]


def test_a_class_that_chooses_in_another_way_tells_no_inherited_probabilities():
    class First(EpsilonGreedyPolicy):
        def _select(self, rng, learned, time_step):
            return np.zeros(1, int)

    with pytest.raises(NotImplementedError):
        First(0.5, num_actions=3).probabilities(restart(np.ones((1, 1)), 1))
