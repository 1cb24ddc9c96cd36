"""Tables of outcomes as bandits: exact means, what rows show, costs, masks and bad tables."""

import numpy as np
import pytest

from bandit_envs import (
    ConstantPolicy,
    OutcomeStream,
    OutcomeTableBandit,
    RandomPolicy,
    StepDriver,
)
from bandit_envs.metrics import AverageRewardMetric, RegretMetric
from bandit_envs.policies import Policy
from bandit_envs.wrappers import Budget, LinearScalarization
from tests.cases import for_each

CONTEXTS = np.arange(12.0).reshape(6, 2)
REWARDS = np.random.default_rng(0).random((6, 3))
COSTS = np.random.default_rng(1).random((6, 3))


class Always(Policy):
    """Chooses one action."""

    def __init__(self, choice, **options):
        self._choice = choice
        super().__init__(**options)

    def _select(self, rng, learned, time_step):
        return np.full(self.batch_size, self._choice)


class Oracle(Policy):
    """Chooses by the bandit's own means."""

    def __init__(self, env, **options):
        self._env = env
        super().__init__(**options)

    def _select(self, rng, learned, time_step):
        return self._env.optimal_action()


def mean_reward(env, policy, steps):
    metric = AverageRewardMetric()
    StepDriver(env, policy, [metric], steps).run()
    return metric.result().mean.mean.item()


@for_each("action", range(3))
def test_an_action_earns_the_mean_of_its_column(action):
    env = OutcomeTableBandit(CONTEXTS, REWARDS, batch_size=2, replace=False, seed=0)
    found = mean_reward(env, Always(action, num_actions=3, batch_size=2), 3)
    assert found == pytest.approx(REWARDS[:, action].mean(), rel=1e-12)


def test_the_optimum_earns_the_mean_of_the_largest():
    env = OutcomeTableBandit(CONTEXTS, REWARDS, batch_size=3, replace=False, seed=0)
    found = mean_reward(env, Oracle(env, num_actions=3, batch_size=3), 2)
    assert found == pytest.approx(REWARDS.max(axis=1).mean(), rel=1e-12)


def test_random_choice_and_the_cheapest_action_are_worth_their_means():
    env = OutcomeStream(CONTEXTS, REWARDS, COSTS)
    cheapest = int(COSTS.mean(axis=0).argmin())
    policies = [RandomPolicy(num_actions=3), ConstantPolicy(cheapest, num_actions=3)]
    sums = np.zeros((2, 2))
    time_step = env.reset()
    for _ in range(6):
        for number, policy in enumerate(policies):
            sums[number] += policy.probabilities(time_step)[0] @ env.expected_rewards()[0]
        time_step = env.step([0])
    expected = [
        [REWARDS.mean(), COSTS.mean()],
        [REWARDS[:, cheapest].mean(), COSTS.mean(axis=0).min()],
    ]
    assert sums / 6 == pytest.approx(np.array(expected), rel=1e-12)


def test_regret_is_exact():
    env = OutcomeStream(CONTEXTS, REWARDS)
    regret = RegretMetric(env)
    StepDriver(env, Always(1, num_actions=3, batch_size=1), [regret], 6).run()
    expected = (REWARDS.max(axis=1) - REWARDS[:, 1]).mean()
    assert regret.result().mean.mean.item() == pytest.approx(expected, rel=1e-12)


def test_noise_leaves_the_means_as_they_are():
    env = OutcomeTableBandit(CONTEXTS, REWARDS, batch_size=2, noise_std=0.1, seed=0)
    env.reset()
    means = env.expected_rewards()
    assert np.isin(means, REWARDS).all()
    assert (env.step([0, 0]).reward != means[:, 0]).all()


def test_a_stream_shows_each_example_once_in_order():
    env = OutcomeStream(CONTEXTS, REWARDS, batch_size=2)
    for _ in range(2):
        shown = [env.reset().observation]
        for _ in range(3):
            time_step = env.step([0, 0])
            shown.append(time_step.observation)
        assert time_step.is_last().all()
        assert (np.concatenate(shown[:3]) == CONTEXTS).all()
    with pytest.raises(ValueError, match="divisor of 6"):
        OutcomeStream(CONTEXTS, REWARDS, batch_size=4)


def test_a_price_makes_one_number_of_reward_and_cost():
    env = OutcomeStream(CONTEXTS, REWARDS, COSTS)
    priced = LinearScalarization(env, [1.0, -2.0])
    priced.reset()
    values = REWARDS[0] - 2.0 * COSTS[0]
    assert priced.expected_rewards()[0] == pytest.approx(values, rel=1e-12)
    assert priced.optimal_action()[0] == values.argmax()
    assert priced.step([1]).reward[0] == pytest.approx(values[1])


def test_an_episode_ends_when_the_budget_is_spent():
    spent = COSTS[:, 0].cumsum()
    env = Budget(OutcomeStream(CONTEXTS, REWARDS, COSTS), budget=spent[2])
    outer = LinearScalarization(env, [1.0, 0.0])
    outer.reset()
    steps = [outer.step([0]) for _ in range(3)]
    left = [step.observation["budget"].item() for step in steps]
    assert left == pytest.approx([1 - spent[0] / spent[2], 1 - spent[1] / spent[2], 0.0])
    assert [bool(step.is_last()) for step in steps] == [False, False, True]
    assert steps[2].discount == 0.0
    assert outer.step([0]).is_first()
    assert outer.step([0]).reward == pytest.approx(REWARDS[0, 0])


def test_what_is_not_available_is_masked_and_may_be_missing():
    available = np.ones((6, 3), bool)
    available[:3, 2] = False  # the last action appears after three examples
    table = np.where(available, REWARDS, np.nan)
    env = OutcomeStream(CONTEXTS, table, available=available)
    assert env.reset().observation["mask"].tolist() == [[True, True, False]]
    assert env.expected_rewards()[0, 2] == -np.inf
    with pytest.raises(ValueError, match="action"):
        env.step([2])
    for _ in range(3):
        time_step = env.step([0])
    assert time_step.observation["mask"].all()


def test_contexts_may_be_nests():
    contexts = {"user": CONTEXTS, "items": np.zeros((6, 3, 2))}
    env = OutcomeTableBandit(contexts, REWARDS, batch_size=4, seed=0)
    observation = env.reset().observation
    assert observation["user"].shape == (4, 2)
    assert observation["items"].shape == (4, 3, 2)


@for_each(
    ("arguments", "message"),
    [
        ({"rewards": REWARDS[:, 0]}, "rewards has shape"),
        ({"rewards": np.where(REWARDS > 0.9, np.nan, REWARDS)}, "rewards"),
        ({"rewards": REWARDS[:4]}, "contexts has shape"),
        ({"costs": COSTS[:, :2]}, "costs has shape"),
        ({"costs": -COSTS}, "costs"),
        ({"contexts": np.full((6, 2), np.nan)}, "example 0"),
        ({"available": np.zeros((6, 3), bool)}, "no action for example 0"),
        ({"available": np.ones((6, 2), bool)}, "available has shape"),
        ({"noise_std": -1.0}, "noise_std"),
    ],
)
def test_bad_tables_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        OutcomeTableBandit(**{"contexts": CONTEXTS, "rewards": REWARDS, **arguments})
