"""New actions start from what others are like, if they are asked to."""

import numpy as np
import pytest

from bandit_envs import UCBPolicy
from bandit_envs.policies import (
    BayesUCBPolicy,
    BetaGreedyPolicy,
    BetaThompsonSamplingPolicy,
    BudgetedThompsonSamplingPolicy,
    DiscountedThompsonSamplingPolicy,
    EpsilonGreedyPolicy,
    GaussianThompsonSamplingPolicy,
)
from bandit_envs.policies.beta_counts import BetaCounts
from bandit_envs.policies.models import BayesianRidge, FourierFeatures, HybridRidge, Logistic, Ridge
from bandit_envs.policies.rules import Greedy, ThompsonSampling, UpperBound
from bandit_envs.testing.comparison import assert_identical
from bandit_envs.trajectories import restart
from tests.policies.contextual_parts import CONTEXT, ITEMS, D, G, K, make_policy, observe, teach

SHARES = [0.12, 0.20, 0.05, 0.16]
USERS = [400, 100, 250, 50]

BETA_POLICIES = [
    BayesUCBPolicy,
    BetaGreedyPolicy,
    BetaThompsonSamplingPolicy,
    BudgetedThompsonSamplingPolicy,
    DiscountedThompsonSamplingPolicy,
]


def feed(policy, rewards):
    """Lets a policy of one row learn a list of rewards of each of the first actions."""
    for action, paid in enumerate(rewards):
        for reward in paid:
            teach(policy, np.ones((1, 1), np.float32), [action], [reward])


def start(shares, users, warm, prior=(1.0, 1.0)):
    """Returns the parameters of a new action after others with so many rewards of 1 and 0."""
    sums = np.multiply(shares, users)
    successes = np.array([[*(sums + prior[0]), prior[0]]])
    failures = np.array([[*(np.array(users) - sums + prior[1]), prior[1]]])
    BetaCounts(successes, failures).start_warm(len(users), warm)
    np.testing.assert_array_equal(successes[0, :-1], sums + prior[0])
    return successes[0, -1], failures[0, -1]


def test_empirical_bayes_is_the_beta_law_of_the_actions_so_far():
    successes, failures = start(SHARES, USERS, "empirical_bayes")
    assert successes == pytest.approx(3.057767257, rel=1e-8)
    assert failures == pytest.approx(21.848095504, rel=1e-8)


def test_of_equal_actions_it_knows_no_more_than_the_one_with_the_fewest_rewards():
    successes, failures = start([0.2, 0.2, 0.2], [100, 50, 20], "empirical_bayes")
    assert successes + failures == pytest.approx(19.0)  # mean (1 - mean) / V - 1
    assert successes / (successes + failures) == pytest.approx(0.2)


@pytest.mark.parametrize("users", [[0, 0, 0], [30, 0, 0]])
def test_fewer_than_two_actions_with_rewards_tell_no_spread(users):
    successes, failures = start([0.5, 0.0, 0.0], users, "empirical_bayes")
    assert successes + failures == 2.0


@pytest.mark.parametrize("warm", ["mean", "empirical_bayes"])
@pytest.mark.parametrize("shares", [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
def test_actions_that_always_paid_the_same_leave_a_proper_prior(shares, warm):
    for number in start(shares, [20, 30], warm):
        assert 0.0 < number < np.inf


def test_a_warm_mean_has_the_weight_of_the_prior():
    successes, failures = start(SHARES, USERS, "mean", prior=(2.0, 3.0))
    means = [(p * n + 2.0) / (n + 5.0) for p, n in zip(SHARES, USERS)]
    assert successes == pytest.approx(5.0 * np.mean(means))
    assert successes + failures == pytest.approx(5.0)


@pytest.mark.parametrize("warm", ["mean", "empirical_bayes"])
@pytest.mark.parametrize("kind", BETA_POLICIES)
def test_policies_with_beta_posteriors_start_actions_by_them(kind, warm):
    if kind is BayesUCBPolicy:
        pytest.importorskip("scipy")
    options = {"gamma": 0.9} if kind is DiscountedThompsonSamplingPolicy else {}
    policy = kind(num_actions=2, prior_successes=2.0, prior_failures=3.0, **options)
    rewards = np.array([[0.25, 0.5], [1.0, 0.75]])
    if kind is BudgetedThompsonSamplingPolicy:  # with costs
        rewards = np.stack((rewards, 1.0 - rewards), axis=2)
    feed(policy, rewards)
    found = policy.with_actions(5, warm=warm).get_state().content.learned
    expected = policy.with_actions(5).get_state().content.learned
    for part in [expected] if isinstance(expected, BetaCounts) else expected:
        if isinstance(part, BetaCounts):
            part.start_warm(2, warm)
    assert_identical(found, expected, "what is known of new actions")


def test_normal_posteriors_start_warm():
    policy = GaussianThompsonSamplingPolicy(0.0, 10.0, 1.0, num_actions=3, seed=0)
    feed(policy, [[1.0] * 4, [3.0] * 9])
    mean = policy.with_actions(4, warm="mean").get_state().content.learned
    known = policy.get_state().content.learned.mean[0, :2]
    assert mean.mean[0, 3] == pytest.approx(known.mean())
    assert mean.std[0, 3] == 10.0
    empirical = policy.with_actions(4, warm="empirical_bayes").get_state().content.learned
    inverse = np.array([4.0, 9.0])  # by hand: the moments of 1 and 3 with the variances 1/4, 1/9
    center = (inverse * [1.0, 3.0]).sum() / 13.0
    surplus = (inverse * (np.array([1.0, 3.0]) - center) ** 2).sum() - 1.0
    excess = surplus / (13.0 - (16.0 + 81.0) / 13.0)
    weights = 1.0 / (1.0 / inverse + excess)
    assert empirical.mean[0, 3] == pytest.approx((weights * [1.0, 3.0]).sum() / weights.sum())
    assert empirical.std[0, 3] ** 2 == pytest.approx(excess + 1.0 / weights.sum())


def test_estimated_values_start_at_the_mean_of_those_with_rewards():
    policy = EpsilonGreedyPolicy(0.0, num_actions=3, seed=0)
    feed(policy, [[1.0, 0.0], [1.0, 1.0, 1.0, 0.0]])
    wide = policy.with_actions(5, warm="mean")
    learned = wide.get_state().content.learned
    np.testing.assert_allclose(learned.values, [[0.5, 0.75, 0.0, 0.625, 0.625]])
    assert learned.greedy[0] == 1
    assert learned.rivals[0] == 0.625


def test_linear_models_start_at_the_mean_of_the_weights():
    policy = make_policy(Ridge(), Greedy(), batch_size=1)
    state = policy.get_state()
    theta = state.content.learned.model.theta
    theta[0, :3, :3] = [(0.4, -0.2, 0.5), (0.6, 0.0, 0.3), (0.1, 0.3, 0.4)]
    state.content.learned.model.whitening[0, :3] *= 0.5  # they have learned; others have not
    policy.set_state(state._replace(content=state.content._replace(is_trained=True)))
    wide = policy.with_actions(K + 1, warm="mean").get_state().content.learned.model
    expected = [0.366666667, 0.033333333, 0.4]
    np.testing.assert_allclose(wide.theta[0, K, :3], expected, atol=1e-9)
    np.testing.assert_array_equal(wide.whitening[0, K], np.eye(D))


def test_a_warm_model_learns_as_a_ridge_whose_prior_has_this_mean():
    policy = make_policy(Ridge(tikhonov_weight=2.0), Greedy(), batch_size=1)
    state = policy.get_state()
    state.content.learned.model.theta[0, 0, :2] = (0.3, -0.1)
    state.content.learned.model.whitening[0, 0] *= 0.5
    policy.set_state(state._replace(content=state.content._replace(is_trained=True)))
    wide = policy.with_actions(K + 1, warm="mean")
    for features, reward in (((1.0, 0.5), 1.0), ((1.0, -1.0), 0.0)):
        teach(wide, np.array([[*features, *[0.0] * (D - 2)]]), [K], [reward])
    theta = wide.get_state().content.learned.model.theta[0, K]
    np.testing.assert_allclose(theta[:2], [0.419607843, 0.156862745], atol=1e-9)


WARM_MODELS = {
    "ridge": Ridge(),
    "ridge from the mean": Ridge(initial_value="mean"),
    "diagonal ridge": Ridge(diagonal=True),
    "logistic": Logistic(),
    "bayesian ridge": BayesianRidge(),
    "diagonal bayesian ridge": BayesianRidge(diagonal=True),
    "fourier ridge": FourierFeatures(Ridge(), num_features=16),
}


def lessons(policy, spec, actions, steps=15):
    rng = np.random.default_rng(5)
    for _ in range(steps):
        action = rng.choice(actions, size=policy.batch_size)
        teach(policy, observe(rng, spec, policy.batch_size), action, rng.random(policy.batch_size))
    return observe(rng, spec, policy.batch_size)


@pytest.mark.parametrize("independent_rows", [False, True])
@pytest.mark.parametrize("name", WARM_MODELS)
def test_a_new_action_is_predicted_as_the_mean_of_those_with_rewards(name, independent_rows):
    policy = make_policy(WARM_MODELS[name], Greedy(), independent_rows=independent_rows)
    seen = [1, 3]  # in some rows of problems, one of them has no rewards
    if independent_rows:
        for action in seen:
            lessons(policy, CONTEXT, [action], 4)
    observation = lessons(policy, CONTEXT, seen)
    wide = policy.with_actions(K + 2, warm="mean")
    learned = wide.get_state().content.learned
    scores = wide._seen(learned, observation, policy.batch_size).scores()
    for new in (K, K + 1):
        np.testing.assert_allclose(scores[:, new], scores[:, seen].mean(axis=1), atol=1e-9)


@pytest.mark.parametrize("independent_rows", [False, True])
def test_a_new_action_of_a_hybrid_model_has_the_mean_of_the_own_weights(independent_rows):
    policy = make_policy(HybridRidge(), Greedy(), ITEMS, independent_rows=independent_rows)
    for action in (0, 2):
        lessons(policy, ITEMS, [action])
    wide = policy.with_actions(K + 1, warm="mean")
    learned = wide.get_state().content.learned.model
    beta = learned.shared.theta[:, np.newaxis, :, np.newaxis]
    weights = learned.own.theta - (learned.crossed @ beta)[..., 0]
    np.testing.assert_allclose(weights[:, K], weights[:, [0, 2]].mean(axis=1), atol=1e-12)
    assert learned.own.theta.shape[2] == G


@pytest.mark.parametrize(
    ("policy", "warm"),
    [
        (UCBPolicy(1.0, num_actions=2), "mean"),
        (EpsilonGreedyPolicy(0.1, num_actions=2), "empirical_bayes"),
        (make_policy(Ridge(), UpperBound()), "empirical_bayes"),
        (make_policy(Ridge(), UpperBound(), ITEMS), "mean"),
    ],
    ids=["ucb", "epsilon greedy", "ridge", "features of actions"],
)
def test_a_policy_without_such_a_prior_says_so(policy, warm):
    with pytest.raises(ValueError, match=f"warm is '{warm}', which .* does not support"):
        policy.with_actions(policy.num_actions + 1, warm=warm)


def test_other_starts_and_fewer_actions_are_refused():
    policy = UCBPolicy(1.0, num_actions=3)
    with pytest.raises(ValueError, match="warm is 'hot'; expected"):
        policy.with_actions(4, warm="hot")
    with pytest.raises(ValueError, match="num_actions is 2; expected"):
        policy.with_actions(2)


def test_a_warm_action_is_tried_less_where_others_are_bad():
    context = np.eye(D)[:1]
    chosen = {}
    for warm in (None, "mean"):
        policy = make_policy(Ridge(), ThompsonSampling(0.3), batch_size=1)
        for _ in range(50):
            for action in range(K):
                teach(policy, context, [action], [-0.5])
        wide = policy.with_actions(K + 1, warm=warm)
        actions = [int(wide.action(restart(context, 1))[0]) for _ in range(300)]
        chosen[warm] = np.mean(np.array(actions) == K)
    assert chosen["mean"] < chosen[None] - 0.1
