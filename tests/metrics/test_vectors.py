"""Metrics of vector rewards and of constraints."""

import numpy as np
import pytest

from bandit_envs import (
    BanditPyEnvironment,
    ConstraintViolationMetric,
    DelayedRewards,
    KArmedTestbed,
    ParetoRegretMetric,
    Policy,
    RandomActionMask,
    RandomPolicy,
    RegretMetric,
    StationaryStochasticPyEnvironment,
    StepDriver,
    rewards,
    sampling,
)
from bandit_envs.environments import CascadeBandit, KnapsackBandit, rising
from bandit_envs.metrics import METRICS
from bandit_envs.specs import ArraySpec
from bandit_envs.studies.definition.study import Study
from bandit_envs.trajectories import Trajectory
from tests.cases import for_each
from tests.statistical import within_standard_errors
from tests.wrappers.examples import Vectors


def is_dominated(vector, others):
    """Whether another vector is larger in every number."""
    return any((other > vector).all() for other in others)


def smallest_addition(vector, others):
    """Returns how much must be added to a vector so that it is not dominated, by trial."""
    low, high = 0.0, 100.0
    while high - low > 1e-9:
        middle = (low + high) / 2.0
        low, high = (middle, high) if is_dominated(vector + middle, others) else (low, middle)
    return high


@pytest.mark.parametrize("wrap", [lambda env: env, lambda env: DelayedRewards(env, 2)])
def test_pareto_regret_is_what_makes_an_action_undominated(wrap):
    env = wrap(Vectors(batch_size=40, seed=0))
    metric, time_step = ParetoRegretMetric(env), env.reset()
    rng = np.random.default_rng(0)
    for _ in range(3):
        means, action = env.expected_rewards().copy(), rng.integers(3, size=40)
        next_time_step = env.step(action)
        metric(Trajectory.from_transition(time_step, action, next_time_step))
        time_step = next_time_step
        expected = [smallest_addition(row[a], row) for row, a in zip(means, action)]
        assert metric.result().per_step.mean[-1] == pytest.approx(np.mean(expected), abs=1e-7)
        assert 0 < np.count_nonzero(np.array(expected) > 1e-6) < 40


def test_unavailable_actions_do_not_dominate():
    env = RandomActionMask(Vectors(batch_size=200, seed=0), 0.3)
    metric, time_step = ParetoRegretMetric(env), env.reset()
    mask = time_step.observation["mask"]
    action = mask.argmax(axis=1)
    means = env.expected_rewards().copy()
    metric(Trajectory.from_transition(time_step, action, env.step(action)))
    expected = [smallest_addition(m[a], m[k]) for m, a, k in zip(means, action, mask)]
    assert metric.result().per_step.mean[0] == pytest.approx(np.mean(expected), abs=1e-7)


def test_with_one_reward_it_is_the_regret():
    model = rewards.LinearActionReward(np.random.default_rng(0).normal(size=(4, 3, 1)))
    numbers = rewards.LinearActionReward(np.random.default_rng(0).normal(size=(4, 3)))
    found = []
    for each, kind in ((model, ParetoRegretMetric), (numbers, RegretMetric)):
        env = StationaryStochasticPyEnvironment(sampling.Normal(3), each, batch_size=50, seed=0)
        metric, before = kind(env), env.reset()
        action = np.arange(50) % 4
        metric(Trajectory.from_transition(before, action, env.step(action)))
        found.append(metric.result().totals)
    assert found[0] == pytest.approx(found[1])


def constrained(**options):
    pays = rewards.LinearActionReward([[1.0], [2.0], [3.0]])
    costs = rewards.LinearActionReward([[1.0], [0.0], [-1.0]], noise_std=1.0)
    return StationaryStochasticPyEnvironment(
        sampling.Normal(1, 1.0, 0.0), pays, costs, seed=0, **options
    )


def test_violations_are_counted_as_they_are_seen():
    env, size = constrained(batch_size=30_000), 10_000
    metric, before = ConstraintViolationMetric(env), env.reset()
    action = np.arange(3).repeat(size)
    after = env.step(action)
    metric(Trajectory.from_transition(before, action, after))
    violated = after.reward["constraint"] < 0.0
    assert np.array_equal(metric.result().totals, violated)
    shares = metric.result().totals.reshape(3, size).mean(axis=1)
    expected = np.array([0.158655, 0.5, 0.841345])
    assert within_standard_errors(shares, expected, np.sqrt(expected * (1 - expected) / size))


def test_a_constraint_of_several_numbers_is_violated_if_one_of_them_is():
    costs = rewards.LinearActionReward([[[1.0, -1.0]], [[1.0, 1.0]]], noise_std=0.0)
    pays = rewards.LinearActionReward([[1.0], [1.0]])
    env = StationaryStochasticPyEnvironment(sampling.Normal(1, 1.0, 0.0), pays, costs, 2)
    metric, before = ConstraintViolationMetric(env), env.reset()
    metric(Trajectory.from_transition(before, [0, 1], env.step([0, 1])))
    assert metric.result().totals.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("metric", "env", "message"),
    [
        (ParetoRegretMetric, KArmedTestbed(), "vectors of rewards"),
        (ParetoRegretMetric, CascadeBandit(), "CascadeBandit is a bandit of slates"),
        (ConstraintViolationMetric, KArmedTestbed(), "no constraint"),
    ],
)
def test_other_rewards_are_refused_when_the_metric_is_made(metric, env, message):
    with pytest.raises(NotImplementedError, match=message):
        metric(env)


def test_pareto_regret_needs_the_step_that_it_is_of():
    env = Vectors(seed=0)
    before, after, metric = env.reset(), env.step([0, 1, 2]), ParetoRegretMetric(env)
    env.reset()
    with pytest.raises(ValueError, match="env"):
        metric(Trajectory.from_transition(before, [0, 1, 2], after))


class Pairs(BanditPyEnvironment):
    """Each action pays a fixed pair of rewards."""

    independent_rows = True

    def __init__(self, *, batch_size=1, seed=None, horizon=None):
        spec = ArraySpec((2,), np.float32)
        super().__init__(None, 3, spec, batch_size=batch_size, seed=seed, horizon=horizon)

    def _initial_state(self, rng):
        return np.tile(np.array([[3.0, 0.0], [0.0, 3.0], [1.0, -2.0]]), (self.batch_size, 1, 1))

    def _expected_rewards(self, state):
        return state

    def _draw_rewards(self, rng, state, action):
        return state[np.arange(self.batch_size), action]


class Always(Policy):
    """Chooses one action again and again, whatever it pays."""

    def __init__(self, action=0, **options):
        self._action = action
        super().__init__(**options)

    def _select(self, rng, learned, time_step):
        return np.full(self.batch_size, self._action)


def test_a_policy_that_learns_nothing_takes_any_rewards():
    for env, policy in ((Pairs(), Always(num_actions=3)), (constrained(), RandomPolicy(3))):
        assert StepDriver(env, policy, [policy], num_steps=3).run().is_last().all()


def test_studies_of_vector_rewards_show_pareto_regret():
    here = __name__
    values = {"title": "pairs", "runs": 2, "steps": 3}
    choices = {"environment": [{"name": f"{here}:Pairs"}], "policy": [{"name": f"{here}:Always"}]}
    study = Study.from_dict({**values, **choices})
    assert study.metrics == ("pareto_regret",)
    assert study.panels == ("pareto_regret", "cumulative_pareto_regret")


ONE_STEP = ["one_step_percent_optimal", "one_step_regret"]
EXPLORATION = ["suffix_failure", "minimal_fraction", "greedy"]


@for_each(
    ("env", "known"),
    [
        (Pairs, ["pareto_regret"]),
        (constrained, ["reward", "percent_optimal", "regret", *ONE_STEP, "violations"]),
        (KArmedTestbed, ["reward", "percent_optimal", "regret", *ONE_STEP, *EXPLORATION]),
        (rising, ["reward", *ONE_STEP, "lost_reward", *EXPLORATION]),
        (KnapsackBandit, ["lost_reward", "knapsack_regret"]),
    ],
)
def test_studies_find_the_metrics_that_an_environment_knows(env, known):
    env, found = env(), []
    policy = RandomPolicy(num_actions=env.num_actions)
    before = env.reset()
    trajectory = Trajectory.from_transition(before, [0], env.step([0]))
    for name, make in METRICS.items():
        try:
            make(env, policy)(trajectory)
            found.append(name)
        except NotImplementedError:
            continue
    assert found == known
