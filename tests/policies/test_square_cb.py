"""SquareCB and RegCB, held against their formulas and ridge regressions written out."""

import numpy as np
import pytest

from bandit_envs import policies
from bandit_envs.nests import map_structure
from bandit_envs.policies.inverse_gap import inverse_gap_probabilities
from bandit_envs.specs import ArraySpec
from bandit_envs.trajectories import Trajectory, restart, termination

G, P, K, B, STEPS = 2, 3, 4, 6, 20
DISJOINT = {"observation_spec": ArraySpec((P,), np.float64), "num_actions": K, "batch_size": B}
SHARED = {
    "observation_spec": {
        "global": ArraySpec((G,), np.float64),
        "per_arm": ArraySpec((K, P), np.float64),
    },
    "batch_size": B,
}
MASK = np.array([[True, True, False, True]] * B)


def observe(rng, policy, mask=None):
    """Returns a random observation, and the features of every action in it: [B, K, D]."""
    if isinstance(policy, (policies.LinearPolicy, policies.LogisticPolicy)):
        context = rng.normal(size=(B, G))
        actions = rng.normal(size=(B, K, P))
        seen = {"global": context, "per_arm": actions}
        x = np.concatenate((context[:, np.newaxis].repeat(K, axis=1), actions), axis=2)
        return (seen if mask is None else {**seen, "mask": mask}), x
    context = rng.normal(size=(B, P))
    x = context[:, np.newaxis].repeat(K, axis=1)
    return (context if mask is None else {"observation": context, "mask": mask}), x


def taught(policy_class, *arguments):
    """Returns a policy after some steps, and the models, features and rewards it learned from."""
    is_shared = issubclass(policy_class, (policies.LinearPolicy, policies.LogisticPolicy))
    policy = policy_class(*arguments, **(SHARED if is_shared else DISJOINT), seed=0)
    rng = np.random.default_rng(1)
    models, features, rewards = [], [], []
    for _ in range(STEPS):
        observation, x = observe(rng, policy)
        action = rng.integers(K, size=B)
        reward = rng.random(B)
        before = restart(observation, B)
        after = termination(observation, reward, np.float64)
        policy(Trajectory.from_transition(before, action, after))
        models.append(np.zeros(B, int) if is_shared else action)
        features.append(x[np.arange(B), action])
        rewards.append(reward)
    return policy, np.concatenate(models), np.concatenate(features), np.concatenate(rewards)


def ridge(models, features, rewards, x):
    """Returns the predictions of ridge regressions, and their deviations: [B, K] each."""
    means = np.empty(x.shape[:2])
    deviations = np.empty(x.shape[:2])
    for a in range(K):
        chosen = models == (a if models.any() else 0)
        inverse = np.linalg.inv(features[chosen].T @ features[chosen] + np.eye(x.shape[2]))
        means[:, a] = x[:, a] @ inverse @ features[chosen].T @ rewards[chosen]
        deviations[:, a] = np.sqrt(np.einsum("bi,ij,bj->b", x[:, a], inverse, x[:, a]))
    return means, deviations


LINEAR = ["Linear", "DisjointLinear"]
LOGISTIC = ["Logistic", "DisjointLogistic"]


@pytest.mark.parametrize("mask", [None, MASK])
@pytest.mark.parametrize(("scale", "exponent"), [(10.0, 0.5), (30.0, 0.0), (2.0, 1.0)])
@pytest.mark.parametrize("model", LINEAR)
def test_square_cb_weights_gaps_by_the_number_of_rewards_learned(model, scale, exponent, mask):
    policy_class = getattr(policies, f"{model}SquareCBPolicy")
    policy, *lessons = taught(policy_class, scale, exponent)
    observation, x = observe(np.random.default_rng(2), policy, mask)
    means, _ = ridge(*lessons, x)
    gamma = scale * (STEPS * B) ** exponent
    expected = inverse_gap_probabilities(means, gamma, mask)
    np.testing.assert_allclose(policy.probabilities(restart(observation, B)), expected, rtol=1e-8)


@pytest.mark.parametrize("mask", [None, MASK])
@pytest.mark.parametrize("mellowness", [0.001, 0.1])
@pytest.mark.parametrize("model", LINEAR)
def test_reg_cb_chooses_by_bounds_of_the_stated_width(model, mellowness, mask):
    radius = np.sqrt(mellowness * np.log(K * STEPS * B))
    available = np.ones((B, K), bool) if mask is None else mask
    optimistic, *lessons = taught(getattr(policies, f"{model}OptimisticRegCBPolicy"), mellowness)
    eliminating, *_ = taught(getattr(policies, f"{model}EliminationRegCBPolicy"), mellowness)
    observation, x = observe(np.random.default_rng(2), optimistic, mask)
    means, deviations = ridge(*lessons, x)
    upper = np.where(available, np.clip(means + radius * deviations, 0.0, 1.0), -1.0)
    lower = np.where(available, np.clip(means - radius * deviations, 0.0, 1.0), -1.0)
    is_best = upper == upper.max(axis=1, keepdims=True)
    is_candidate = upper >= lower.max(axis=1, keepdims=True)
    time_step = restart(observation, B)
    for policy, chosen in ((optimistic, is_best), (eliminating, is_candidate)):
        expected = chosen / chosen.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(policy.probabilities(time_step), expected)


@pytest.mark.parametrize("model", LOGISTIC)
def test_logistic_models_are_cut_off_by_the_sigmoid(model):
    policy, *_ = taught(getattr(policies, f"{model}SquareCBPolicy"), 5.0, 0.5)
    optimistic, *_ = taught(getattr(policies, f"{model}OptimisticRegCBPolicy"), 0.01)
    observation, x = observe(np.random.default_rng(2), policy)
    models = policy.get_state().content.learned.models
    logits = np.einsum("bkd,kd->bk", x, np.broadcast_to(models.mean, (K, x.shape[2])))
    variances = np.einsum(
        "bkd,kd->bk", x**2, np.broadcast_to(1.0 / models.precision, (K, x.shape[2]))
    )
    means = 1.0 / (1.0 + np.exp(-logits))
    expected = inverse_gap_probabilities(means, 5.0 * np.sqrt(STEPS * B))
    time_step = restart(observation, B)
    np.testing.assert_allclose(policy.probabilities(time_step), expected, rtol=1e-8)
    bounds = logits + np.sqrt(0.01 * np.log(K * STEPS * B) * variances)
    np.testing.assert_array_equal(optimistic.action(time_step), bounds.argmax(axis=1))


def test_a_shared_logistic_model_learns_what_a_disjoint_one_learns_of_its_features():
    policy, models, features, rewards = taught(policies.LogisticSquareCBPolicy)
    one = policies.DisjointLogisticSquareCBPolicy(
        observation_spec=ArraySpec((G + P,), np.float64), num_actions=1, batch_size=B
    )
    for step in range(STEPS):
        rows = slice(step * B, step * B + B)
        before = restart(features[rows], B)
        after = termination(features[rows], rewards[rows], np.float64)
        one(Trajectory.from_transition(before, models[rows], after))
    expected = one.get_state().content.learned
    map_structure(np.testing.assert_array_equal, policy.get_state().content.learned, expected)


@pytest.mark.parametrize("rule", ["SquareCB", "OptimisticRegCB", "EliminationRegCB"])
@pytest.mark.parametrize("model", LINEAR + LOGISTIC)
def test_only_rows_with_a_reward_count(model, rule):
    policy, *_ = taught(getattr(policies, f"{model}{rule}Policy"))
    observation, _ = observe(np.random.default_rng(2), policy)
    before = restart(observation, B)
    after = termination(observation, np.full(B, 0.5))
    trajectory = Trajectory.from_transition(before, np.zeros(B, int), after)
    policy.learn(trajectory, np.arange(B) < 2)
    assert policy.get_state().content.learned.num_rewards == STEPS * B + 2


def test_before_the_first_reward_all_available_actions_are_equally_likely():
    policy = policies.DisjointLinearSquareCBPolicy(1000.0, 0.0, **DISJOINT)
    observation, _ = observe(np.random.default_rng(2), policy, MASK)
    np.testing.assert_allclose(policy.probabilities(restart(observation, B)), MASK / 3.0)
