"""Policies of slates, beside scalar implementations of their sources."""

import math

import numpy as np
import pytest

from bandit_envs import (
    ArraySpec,
    BanditPyEnvironment,
    CascadeBandit,
    PositionBasedBandit,
    RegretMetric,
    SlatePolicy,
    StepDriver,
    Trajectory,
)
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.policies import (
    CascadeUCBPolicy,
    LinUCBPolicy,
    PBMUCBPolicy,
    RandomSlatePolicy,
)
from bandit_envs.policies.registry import POLICIES
from bandit_envs.specs import SlateSpec
from bandit_envs.testing import EnvironmentContract, PolicyContract
from bandit_envs.trajectories import restart
from tests.contracts import one_test

ATTRACTIONS, LOOKS = [0.1, 0.6, 0.3, 0.5, 0.2], [0.4, 0.9, 0.6]


ARGUMENTS = {
    "pbm_ucb": {"observation_probs": [1.0, 0.6, 0.4, 0.3]},
    "contextual": {"model": "hybrid_ridge", "rule": "upper_bound"},
}


def scores_of(policy, time_step):
    return policy._scores(policy._state.learned, time_step)


def learn(policy, time_step, action, reward):
    after = time_step._replace(reward=np.asarray(reward, np.float32))
    policy(Trajectory.from_transition(time_step, action, after))


def regret(env, policy, steps):
    metric = RegretMetric(env)
    StepDriver(env, policy, [policy, metric], steps).run()
    return metric.result().cumulative.mean[-1]


def test_cascade_ucb_counts_what_the_user_saw():
    env = CascadeBandit(ATTRACTIONS, 3, batch_size=2, seed=0)
    policy = CascadeUCBPolicy(3, num_actions=5, batch_size=2, seed=1)
    clicks, seen, time_step = np.zeros((2, 5)), np.zeros((2, 5)), env.reset()
    for step in range(60):
        expected = np.full((2, 5), np.inf)
        for row in range(2):
            for item in range(5):
                if seen[row, item]:
                    width = math.sqrt(1.5 * math.log(step) / seen[row, item]) if step > 1 else 0.0
                    expected[row, item] = clicks[row, item] / seen[row, item] + width
        assert scores_of(policy, time_step) == pytest.approx(expected)
        action = policy.action(time_step)
        chosen = np.take_along_axis(expected, action, 1)
        assert (chosen == -np.sort(-expected)[:, :3]).all()
        after = env.step(action)
        for row in range(2):
            for slot in range(3):
                seen[row, action[row, slot]] += 1
                clicks[row, action[row, slot]] += after.reward[row, slot]
                if after.reward[row, slot]:
                    break
        policy(Trajectory.from_transition(time_step, action, after))
        time_step = after


def test_pbm_ucb_weighs_what_was_shown_by_the_looks_at_its_slot():
    env = PositionBasedBandit(ATTRACTIONS, LOOKS, batch_size=2, seed=0)
    policy = PBMUCBPolicy(3, LOOKS, num_actions=5, batch_size=2, seed=1)
    clicks, shown, looks = np.zeros((3, 2, 5))
    time_step = env.reset()
    for step in range(60):
        expected = np.full((2, 5), np.inf)
        for row, item in np.argwhere(shown):
            n, m = shown[row, item], looks[row, item]
            width = math.sqrt(n / m) * math.sqrt(math.log(max(step, 1)) / (2 * m))
            expected[row, item] = clicks[row, item] / m + width
        assert scores_of(policy, time_step) == pytest.approx(expected)
        action = policy.action(time_step)
        ranked = np.take_along_axis(expected, action, 1)[:, [1, 2, 0]]  # by LOOKS
        assert (np.diff(np.where(np.isinf(ranked), 1e9, ranked)) <= 0).all()
        after = env.step(action)
        for row in range(2):
            for slot, item in enumerate(action[row]):
                shown[row, item] += 1
                looks[row, item] += LOOKS[slot]
                clicks[row, item] += after.reward[row, slot]
        policy(Trajectory.from_transition(time_step, action, after))
        time_step = after


def test_top_k_lin_ucb_regresses_on_every_slot():
    rng = np.random.default_rng(0)
    spec = {"global": ArraySpec((2,), np.float32), "per_arm": ArraySpec((6, 3), np.float32)}
    policy = LinUCBPolicy(0.7, num_slots=2, observation_spec=spec, batch_size=4, seed=0)
    gram, response = np.eye(5), np.zeros(5)
    for _ in range(20):
        observation = {
            "global": rng.normal(size=(4, 2)).astype(np.float32),
            "per_arm": rng.normal(size=(4, 6, 3)).astype(np.float32),
        }
        time_step = restart(observation, 4)
        theta, inverse = np.linalg.solve(gram, response), np.linalg.inv(gram)
        features = np.concatenate(
            [np.repeat(observation["global"][:, None], 6, axis=1), observation["per_arm"]], axis=2
        ).astype(float)
        widths = np.sqrt(np.einsum("bkd,de,bke->bk", features, inverse, features))
        expected = features @ theta + 0.7 * widths
        action, reward = policy.action(time_step), rng.normal(size=(4, 2))
        assert (action == (-expected).argsort(axis=1)[:, :2]).all()
        learn(policy, time_step, action, reward)
        for row, slot in np.ndindex(4, 2):
            x = features[row, action[row, slot]]
            gram += np.outer(x, x)
            response += x * np.float32(reward[row, slot])


def test_random_slates_are_uniform():
    policy = RandomSlatePolicy(2, num_actions=4, batch_size=60_000, seed=0)
    action = policy.action(CascadeBandit(batch_size=60_000).reset())
    assert (action[:, 0] != action[:, 1]).all()
    counts = np.bincount(action[:, 0] * 4 + action[:, 1], minlength=16).reshape(4, 4)
    assert counts[~np.eye(4, dtype=bool)] == pytest.approx(5000, abs=5 * 68)


@pytest.mark.parametrize(
    ("environment", "learner", "share", "steps"),
    [
        ("cascade", "cascade_ucb", 0.6, 1000),
        pytest.param("position_based", "pbm_ucb", 0.6, 1000, marks=pytest.mark.slow),
        ("positional_bias", "top_k_lin_ucb", 0.6, 300),
        pytest.param("positional_bias", "contextual", 0.8, 100, marks=pytest.mark.slow),
        pytest.param("positional_bias", "linear_thompson", 0.6, 300, marks=pytest.mark.slow),
    ],
)
def test_policies_learn(environment, learner, share, steps):
    regrets = []
    for name in (learner, "random_slate"):
        env = ENVIRONMENTS[environment].make(batch_size=20, seed=0)
        policy = POLICIES[name].make_for(env, ARGUMENTS.get(name, {}), seed=1)
        regrets.append(regret(env, policy, steps))
    assert regrets[0] < share * regrets[1]


def test_a_trajectory_that_does_not_fit_changes_nothing():
    policy = CascadeUCBPolicy(2, num_actions=5, batch_size=2, seed=0)
    time_step = CascadeBandit(batch_size=2).reset()
    for action, reward in (([[0, 0], [1, 2]], np.zeros((2, 2))), ([[0, 1], [1, 2]], [0.0, 0.0])):
        with pytest.raises(ValueError, match=r"action|reward"):
            learn(policy, time_step, np.array(action), reward)
    assert policy.is_untrained


class LastItems(SlatePolicy):
    def _scores(self, learned, time_step):
        return np.tile(np.arange(float(self.num_actions)), (self.batch_size, 1))


def test_a_policy_of_ones_own_gives_scores():
    policy = LastItems(3, num_actions=5, batch_size=2)
    assert policy.action(CascadeBandit(batch_size=2).reset()).tolist() == [[4, 3, 2]] * 2


def test_a_policy_of_slates_needs_an_environment_of_slates():
    with pytest.raises(ValueError, match="slates"):
        RandomSlatePolicy.arguments_for(ENVIRONMENTS["bernoulli"].make())


def test_a_state_of_slates_of_another_length_is_refused():
    state = CascadeUCBPolicy(3, num_actions=4).get_state()
    with pytest.raises(ValueError, match="num_slots"):
        CascadeUCBPolicy(2, num_actions=4).set_state(state)


class SoldOut(BanditPyEnvironment):
    """Shows two of four items, of which one or two are sold out. Each row is a problem."""

    independent_rows = True

    def __init__(self, batch_size=3, seed=None, least=2):
        self._least = least
        paid = ArraySpec((2,), np.float32)
        spec = SlateSpec.of(2, 4)
        super().__init__(None, None, paid, action_spec=spec, batch_size=batch_size, seed=seed)

    def _initial_state(self, rng):
        order = rng.random((self.batch_size, 4)).argsort(axis=1)
        return order < rng.integers(self._least, 4, (self.batch_size, 1))

    def _available(self, state):
        return state

    def _draw_rewards(self, rng, state, action):
        return rng.random((self.batch_size, 2))

    def _next_state(self, rng, state, action):
        return self._initial_state(rng)

    def _share(self, state):
        return np.repeat(state[:1], self.batch_size, axis=0)


@one_test
class TestSoldOut(EnvironmentContract):
    def make_environment(self, seed):
        return SoldOut(seed=seed)


@one_test
class TestSlatesOfWhatIsAvailable(PolicyContract):
    def make_environment(self, batch_size, seed):
        return SoldOut(batch_size, seed)

    def make_policy(self, env, seed):
        return RandomSlatePolicy(**RandomSlatePolicy.arguments_for(env), seed=seed)


def test_policies_of_slates_show_available_items_only():
    env = SoldOut(batch_size=50, seed=0)
    policies = [
        RandomSlatePolicy(2, num_actions=4, batch_size=50, seed=1),
        CascadeUCBPolicy(2, num_actions=4, batch_size=50, seed=1),
        PBMUCBPolicy(2, [1.0, 0.5], num_actions=4, batch_size=50, seed=1),
    ]
    for policy in policies:
        StepDriver(env, policy, [policy], num_steps=20).run()  # the environment refuses others


def test_the_probabilities_of_random_slates_are_those_of_available_items():
    env = SoldOut(batch_size=1, seed=0)
    policy = RandomSlatePolicy(2, num_actions=4)
    time_step = env.reset()
    mask = np.array([[True, False, True, True]])
    time_step = time_step._replace(observation={**time_step.observation, "mask": mask})
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    told = {pair: policy.info_of(time_step, [pair]) for pair in pairs}
    for pair, found in told.items():
        slate = 1 / 6 if 1 not in pair else 0.0
        slots = [0.0 if item == 1 else 1 / 3 for item in pair]
        np.testing.assert_allclose(found.slate, [slate])
        np.testing.assert_allclose(found.slot, [slots])


def test_a_row_with_fewer_items_than_slots_is_refused():
    with pytest.raises(ValueError, match=r"1 items for row \d+; expected one"):
        SoldOut(batch_size=50, seed=0, least=1).reset()
