"""Policies that spend a budget, against loops over single runs, and their regret."""

import math
import warnings

import numpy as np
import pytest

from bandit_envs import ConstantPolicy, KArmedTestbed, OutcomeStream, StepDriver
from bandit_envs.environments import KnapsackBandit
from bandit_envs.metrics import AverageRewardMetric, KnapsackRegretMetric, LostRewardMetric
from bandit_envs.policies import BudgetedThompsonSamplingPolicy, PrimalDualPolicy
from bandit_envs.trajectories import Trajectory
from bandit_envs.wrappers import Budget
from tests.cases import for_each

REWARDS = (0.3, 0.5, 0.6, 0.4)
COSTS = (0.2, 0.5, 0.8, 0.8)


def run(policy_class, budget, rounds, num_runs, steps):
    """Returns the regrets [num_runs] of a policy, and the rewards that it has earned."""
    env = KnapsackBandit(REWARDS, COSTS, budget, rounds, num_runs, seed=0)
    policy = policy_class(**policy_class.arguments_for(env), seed=1)
    regret = KnapsackRegretMetric(env)
    earned = AverageRewardMetric(lambda reward: reward[:, 0])
    StepDriver(env, policy, [policy, regret, earned], steps).run()
    return regret.totals, earned.totals


def play(choose, learn, budget, rounds, rng):
    """Returns what one run earns: a loop of plain numbers."""
    earned = 0
    spent = 0
    for _ in range(rounds):
        if spent >= budget:
            break
        action = choose(rng)
        reward = int(rng.random() < REWARDS[action])
        cost = int(rng.random() < COSTS[action])
        learn(action, reward, cost)
        earned += reward
        spent += cost
    return earned


def budgeted_thompson(budget, rounds):
    """Returns the two functions of a loop that draws ratios from Beta posteriors."""
    wins = [1] * 4
    losses = [1] * 4
    payments = [1] * 4
    savings = [1] * 4

    def choose(rng):
        ratios = []
        for action in range(4):
            reward = rng.beta(wins[action], losses[action])
            ratios.append(reward / rng.beta(payments[action], savings[action]))
        return ratios.index(max(ratios))

    def learn(action, reward, cost):
        wins[action] += reward
        losses[action] += 1 - reward
        payments[action] += cost
        savings[action] += 1 - cost

    return choose, learn


def primal_dual(budget, rounds):
    """Returns the two functions of a loop with weights of costs and of time."""
    epsilon = math.sqrt(math.log(2) / budget)
    weights = [1.0, 1.0]
    seen = [[] for _ in range(4)]

    def bound(numbers, sign):
        mean = sum(numbers) / len(numbers)
        radius = math.sqrt(mean / len(numbers)) + 1 / len(numbers)
        return min(max(mean + sign * radius, 0.0), 1.0)

    def lower_cost(action):
        return bound([cost for _, cost in seen[action]], -1)

    def choose(rng):
        new = [action for action in range(4) if not seen[action]]
        if new:
            return new[0]
        share = weights[0] / sum(weights)
        ratios = []
        for action in range(4):
            price = share * lower_cost(action) + (1 - share) * budget / rounds
            ratios.append(bound([reward for reward, _ in seen[action]], 1) / price)
        return ratios.index(max(ratios))

    def learn(action, reward, cost):
        if seen[action]:
            weights[0] *= (1 + epsilon) ** lower_cost(action)
            weights[1] *= (1 + epsilon) ** (budget / rounds)
        seen[action].append((reward, cost))

    return choose, learn


@pytest.mark.parametrize(
    ("policy_class", "loop", "budget", "rounds"),
    [
        (BudgetedThompsonSamplingPolicy, budgeted_thompson, 20, 200),
        pytest.param(PrimalDualPolicy, primal_dual, 40, 100, marks=pytest.mark.slow),
    ],
)
def test_policies_earn_as_much_as_a_loop(policy_class, loop, budget, rounds):
    _, earned = run(policy_class, budget, rounds, 2000, rounds)
    rng = np.random.default_rng(2)
    expected = [play(*loop(budget, rounds), budget, rounds, rng) for _ in range(400)]
    error = math.hypot(np.std(earned) / math.sqrt(2000), np.std(expected) / math.sqrt(400))
    assert np.mean(earned) == pytest.approx(np.mean(expected), abs=4 * error)


def test_the_regret_is_what_is_missing_to_the_linear_program():
    # A cost of 0.4 a round: a third of action 0 (cost 0.2), and two thirds of action 1 (cost 0.5).
    regret, earned = run(PrimalDualPolicy, 40, 100, 4000, 100)
    missing = 100 * (1 / 3 * 0.3 + 2 / 3 * 0.5) - earned
    error = np.std(missing) / math.sqrt(4000)
    assert regret.mean() == pytest.approx(missing.mean(), abs=4 * error)
    assert np.std(regret) < np.std(missing)


def test_the_prices_are_those_of_the_actions_on_both_sides_of_the_budget():
    of_cost, of_round = KnapsackBandit(REWARDS, COSTS, budget=40, rounds=100).shadow_prices
    assert of_cost * 40 + of_round * 100 == pytest.approx(100 * (1 / 3 * 0.3 + 2 / 3 * 0.5))
    rich = KnapsackBandit(REWARDS, COSTS, budget=95, rounds=100)
    assert rich.shadow_prices == pytest.approx((0.0, 0.6))


@pytest.mark.parametrize(
    ("budget", "rounds", "optimum"),
    [
        (100, None, 200.0),
        (1.5, None, 4.0),
        (100, 200, 122.729614542),
        (100, 300, 148.443900212),
        (99.5, 300, 148.443900212),
        (100, 500, 195.356322232),
    ],
)
def test_the_optimum_is_what_the_best_policy_earns(budget, rounds, optimum):
    env = KnapsackBandit(budget=budget, rounds=rounds)
    assert env.optimum == pytest.approx(optimum, rel=1e-10)
    for_steps = env.optimum_of_run(10_000 if rounds is None else rounds + 3)
    assert for_steps.earned[-1] == pytest.approx(optimum, rel=1e-10)
    assert for_steps.among == "all policies"
    assert for_steps.earned[0] == 0.9  # there is no tomorrow


def test_the_optimum_of_a_run_is_that_of_all_ways_to_play_it():
    def best(steps, budget):
        if steps == 0 or budget <= 0:
            return 0.0
        values = []
        for reward, cost in zip(REWARDS, COSTS):
            paid = best(steps - 1, budget - 1)
            kept = best(steps - 1, budget)
            values.append(reward + cost * paid + (1 - cost) * kept)
        return max(values)

    earned = KnapsackBandit(REWARDS, COSTS, budget=2.5, rounds=5).optimum_of_run(7).earned
    assert earned == pytest.approx([best(min(steps, 5), 2.5) for steps in range(1, 8)])


def test_a_budget_that_is_not_whole_pays_one_cost_more():
    env = KnapsackBandit(budget=1.5, batch_size=4000, seed=0)
    regret = KnapsackRegretMetric(env)
    lost = LostRewardMetric(env)
    policy = ConstantPolicy(0, num_actions=3, batch_size=4000)
    StepDriver(env, policy, [regret, lost], num_steps=200).run()
    assert regret.totals == pytest.approx(0.0, abs=1e-9)
    assert lost.totals == pytest.approx(0.0, abs=1e-9)


def best_choices(budget, rounds):
    """Returns the best action [rounds + 1, budget + 1], by the rounds and the costs left."""
    rewards = np.array(REWARDS)[:, np.newaxis]
    costs = np.array(COSTS)[:, np.newaxis]
    value = np.zeros(budget + 1)
    choices = [np.zeros(budget + 1, int)]
    for _ in range(rounds):
        options = rewards + costs * np.append(0.0, value[:-1]) + (1 - costs) * value
        choices.append(options.argmax(axis=0))
        value = np.append(0.0, options.max(axis=0)[1:])
    return np.array(choices)


def test_the_best_policy_for_a_run_with_rounds_loses_nothing():
    env = KnapsackBandit(REWARDS, COSTS, budget=20, rounds=40, batch_size=4000, seed=0)
    lost = LostRewardMetric(env)
    of_linear_program = KnapsackRegretMetric(env)
    earned = np.zeros(4000)
    choices = best_choices(20, 40)
    time_step = env.reset()
    for step in range(45):
        costs_left = np.rint(20 * time_step.observation["budget"]).astype(int)
        action = choices[max(40 - step, 0), costs_left]
        next_time_step = env.step(action)
        trajectory = Trajectory.from_transition(time_step, action, next_time_step)
        lost(trajectory)
        of_linear_program(trajectory)
        earned += next_time_step.reward[:, 0]
        time_step = next_time_step
    assert lost.totals.mean() == pytest.approx(0.0, abs=4 * lost.totals.std() / math.sqrt(4000))
    assert earned.mean() == pytest.approx(env.optimum, abs=4 * earned.std() / math.sqrt(4000))
    assert of_linear_program.totals.mean() > 0.3
    assert lost.totals.std() < 0.6 * earned.std()


@pytest.mark.slow
def test_with_a_budget_alone_the_regret_grows_like_its_logarithm():
    means = []
    for budget in (40, 160, 640):
        steps = int(5.75 * budget) + 100
        regret, _ = run(BudgetedThompsonSamplingPolicy, budget, None, 300, steps)
        means.append(regret.mean())
    first, second = np.diff(means)
    assert 0 < second < 1.3 * first  # of a square root, 2 times; of a line, 4 times


@pytest.mark.slow
def test_with_a_limit_of_rounds_the_regret_grows_like_a_square_root():
    means = []
    for rounds in (100, 400, 1600):
        regret, _ = run(PrimalDualPolicy, 0.4 * rounds, rounds, 200, rounds)
        means.append(regret.mean())
    assert means[2] / means[1] < 2.6  # sqrt(4), and a logarithm
    alone, _ = run(BudgetedThompsonSamplingPolicy, 640, 1600, 200, 1600)
    assert means[2] < alone.mean() / 2  # ratios alone leave most of the budget unspent


def test_policies_spend_the_budget_of_a_table():
    rng = np.random.default_rng(0)
    rewards = rng.random((600, 3)) < [0.4, 0.6, 0.9]
    costs = np.tile([0.01, 0.03, 0.05], (600, 1))
    env = Budget(OutcomeStream(np.ones((600, 1)), rewards, costs), budget=18.0)
    arguments = PrimalDualPolicy.arguments_for(env)
    assert (arguments["budget"], arguments["rounds"]) == (18.0, 600)
    policy = PrimalDualPolicy(max_cost=0.05, seed=0, **arguments)
    time_step = env.reset()
    earned = 0.0
    while not time_step.is_last():
        action = policy.action(time_step)
        next_time_step = env.step(action)
        policy(Trajectory.from_transition(time_step, action, next_time_step))
        earned += next_time_step.reward[0, 0]
        time_step = next_time_step
    assert time_step.observation["budget"] < 0.1
    assert earned > 0.9 * 600 * 0.65  # the best mix has half of the first and half of the last


def spent_in_vain(budget, c):
    """Returns whether a budget earns less than half of what the best action alone earns with it."""
    env = KnapsackBandit([0.5, 0.7, 0.9], [0.03, 0.1, 0.33], budget, 3000, batch_size=100, seed=0)
    policy = PrimalDualPolicy(c=c, seed=1, **PrimalDualPolicy.arguments_for(env))
    earned = AverageRewardMetric(lambda reward: reward[:, 0])
    StepDriver(env, policy, [policy, earned], 3000).run()
    return earned.totals.mean() < 0.5 * max(0.5 * min(3000, budget / 0.03), 7.0 * budget)


def test_a_budget_that_is_too_tight_to_learn_in_is_told():
    with pytest.warns(UserWarning, match="budget is 5, too tight .* 3 actions cost; .* least 30"):
        PrimalDualPolicy(5.0, 3000, c=1.0, num_actions=3)
    with pytest.warns(UserWarning, match="budget is 8.9, .* at least 9"):
        PrimalDualPolicy(8.9, 3000, c=0.1, num_actions=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PrimalDualPolicy(30.0, 3000, c=1.0, num_actions=3)
        PrimalDualPolicy(9.0, 3000, c=0.1, num_actions=3)
        PrimalDualPolicy(3.0, 3000, max_cost=0.1, num_actions=3)


@pytest.mark.slow
def test_a_budget_is_spent_in_vain_where_it_is_told_to_be_too_tight():
    with pytest.warns(UserWarning, match="budget is 5, too tight"):
        assert spent_in_vain(5.0, c=1.0)
    assert not spent_in_vain(30.0, c=1.0)


def test_rows_without_budget_learn_nothing():
    env = KnapsackBandit(REWARDS, COSTS, budget=1, batch_size=3, seed=0)
    policy = BudgetedThompsonSamplingPolicy(num_actions=4, batch_size=3, seed=1)
    time_step = StepDriver(env, policy, [policy], num_steps=50).run()
    assert not time_step.observation["budget"].any()
    before = policy.get_state().content.learned
    StepDriver(env, policy, [policy], num_steps=5).run()
    after = policy.get_state().content.learned
    assert (before.rewards.failures == after.rewards.failures).all()


def test_prices_start_anew_with_an_episode():
    env = KnapsackBandit(REWARDS, COSTS, budget=50, rounds=100, horizon=100, seed=0)
    policy = PrimalDualPolicy(50, 100, num_actions=4, seed=1)
    driver = StepDriver(env, policy, [policy], num_steps=100)
    driver.run()
    learned = policy.get_state().content.learned
    assert abs(learned.log_odds) > 0.2
    StepDriver(env, policy, [policy], num_steps=1).run()
    after = policy.get_state().content.learned
    assert after.counts.sum() > 50.0
    assert abs(after.log_odds) < 0.1  # a step after the reset


@for_each(
    ("env", "message"),
    [
        (KArmedTestbed(k=4), r"reward has shape \(1,\); expected \(1, 2\)"),
        (OutcomeStream([[1.0]], [[1.0] * 4], [[2.0] * 4]), "expected a number from 0 to 1"),
    ],
)
def test_other_rewards_are_refused(env, message):
    policy = BudgetedThompsonSamplingPolicy(num_actions=4)
    with pytest.raises(ValueError, match=message):
        StepDriver(env, policy, [policy], num_steps=1).run()


@for_each(
    ("arguments", "message"),
    [
        ({"rewards": [0.5, 1.5]}, "rewards"),
        ({"costs": [0.5]}, "costs has 1 numbers; expected 3"),
        ({"costs": [0.0, 0.1, 0.2]}, "rounds is None"),
        ({"budget": 0.0}, "budget"),
        ({"rounds": 0}, "rounds"),
    ],
)
def test_bad_problems_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        KnapsackBandit(**arguments)


def test_a_budget_that_nobody_tells_is_refused():
    with pytest.raises(ValueError, match="budget is None"):
        PrimalDualPolicy(**PrimalDualPolicy.arguments_for(KArmedTestbed()))


def test_the_regret_needs_a_budget():
    with pytest.raises(NotImplementedError, match="KnapsackBandit"):
        KnapsackRegretMetric(KArmedTestbed())
    env = KnapsackBandit([1.0, 0.5], [1.0, 1.0], budget=4)
    metric = KnapsackRegretMetric(env)
    StepDriver(env, ConstantPolicy(0, num_actions=2), [metric], num_steps=6).run()
    assert metric.totals == 0.0
