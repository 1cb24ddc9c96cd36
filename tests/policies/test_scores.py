"""The scores of all actions, by which a policy with a model orders them."""

import numpy as np
import pytest

from bandit_envs import ContextualPolicy, LinUCBPolicy, StepDriver, UCBPolicy
from bandit_envs.environments import logistic_context
from bandit_envs.policies.models import BayesianRidge, Ridge
from bandit_envs.policies.row_by_row import RowByRowPolicy
from bandit_envs.policies.rules import EpsilonGreedy, ThompsonSampling, UpperBound
from bandit_envs.testing import assert_identical
from bandit_envs.wrappers import RandomActionMask

B, K, D = 5, 4, 3


def environment():
    return RandomActionMask(logistic_context(K, D, batch_size=B, seed=0), 0.5)


def trained(model, rule):
    env = environment()
    policy = ContextualPolicy(model, rule, **ContextualPolicy.arguments_for(env), seed=1)
    return policy, StepDriver(env, policy, [policy], num_steps=30).run()


def test_the_largest_score_of_lin_ucb_is_that_of_its_choice():
    policy, time_step = trained(Ridge(), UpperBound(2.0))
    scores = policy.scores(time_step)
    assert scores.shape == (B, K)
    np.testing.assert_array_equal(scores.argmax(axis=1), policy.action(time_step))
    np.testing.assert_array_equal(np.isfinite(scores), time_step.observation["mask"])
    described = policy.describe(2, time_step)
    np.testing.assert_array_equal(described.scores, scores[2])
    assert [heading for heading, _ in described.columns()] == ["score"]


@pytest.mark.parametrize(
    ("model", "rule"), [(Ridge(), EpsilonGreedy(0.5)), (BayesianRidge(), ThompsonSampling())]
)
def test_scores_of_rules_that_draw_are_predicted_rewards_and_draw_nothing(model, rule):
    policy, time_step = trained(model, rule)
    before = policy.get_state()
    scores = policy.scores(time_step)
    assert_identical(policy.get_state(), before)
    np.testing.assert_array_equal(policy.scores(time_step), scores)
    available = time_step.observation["mask"]
    assert np.abs(scores[available]).max() < 2.0  # rewards are 0 or 1


def test_the_best_items_follow_from_scores():
    policy, time_step = trained(Ridge(), UpperBound(2.0))
    best = np.argsort(-policy.scores(time_step), axis=1)[:, :2]
    np.testing.assert_array_equal(best[:, 0], policy.action(time_step))


def test_policies_of_single_rows_tell_the_scores_of_each():
    env = environment()
    arguments = {**LinUCBPolicy.arguments_for(env), "batch_size": 1}
    singles = [LinUCBPolicy(**arguments, seed=seed) for seed in range(B)]
    policy = RowByRowPolicy(singles)
    time_step = StepDriver(env, policy, [policy], num_steps=10).run()
    scores = policy.scores(time_step)
    np.testing.assert_array_equal(scores.argmax(axis=1), policy.action(time_step))
    np.testing.assert_array_equal(policy.describe(2, time_step).scores, scores[2])


def test_a_policy_without_a_model_says_that_it_has_no_scores():
    policy = UCBPolicy(1.0, num_actions=K)
    env = logistic_context(K, D, seed=0)
    with pytest.raises(NotImplementedError, match="UCBPolicy has no scores; policies with a model"):
        policy.scores(env.reset())
