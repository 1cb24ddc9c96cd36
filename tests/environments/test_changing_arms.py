"""Arms that rot, rise, follow Markov chains or an adversary."""

import itertools
import pickle

import numpy as np
import pytest

from bandit_envs import AdversarialBandit, RestedBandit, RestlessMarkovBandit
from bandit_envs.environments import rising, rotting
from tests.cases import for_each
from tests.statistical import is_near, is_near_std

CHAINS = [[[0.9, 0.1], [0.3, 0.7]], [[0.5, 0.5], [0.2, 0.8]]]
PAYS = [[0.0, 1.0], [2.0, -1.0]]


def test_a_rested_arm_changes_with_its_own_pulls_only():
    env = RestedBandit([[3.0, 2.0, 1.0], [5.0, 6.0, 7.0]], 0.0, batch_size=2, seed=0)
    env.reset()
    pulls = np.array([[0, 1], [0, 1], [1, 1], [0, 1], [0, 0]])
    rewards = [env.step(action).reward.tolist() for action in pulls]
    assert rewards == [[3, 5], [2, 6], [5, 7], [1, 7], [1, 3]]
    assert env.expected_rewards().tolist() == [[1, 6], [2, 7]]


def test_rewards_of_rested_arms_scatter_about_their_means():
    env = RestedBandit([[3.0, -2.0]], 0.5, batch_size=100_000, seed=0)
    env.reset()
    for mean in (3.0, -2.0, -2.0):
        reward = env.step(np.zeros(100_000, int)).reward
        assert is_near(reward, mean, 0.5)
        assert is_near_std(reward, 0.5)


@for_each(("make", "sign"), [(rotting, -1), (rising, 1)])
def test_arms_rot_and_rise(make, sign):
    env = make(std=0.0, seed=0)
    assert type(pickle.loads(pickle.dumps(env))) is RestedBandit
    env.reset()
    means = np.array([env.step([0]).reward.item() for _ in range(50)])
    assert (np.sign(np.diff(means)) == sign).all()


def test_rising_arms_follow_their_formula():
    env = rising(ends=[2.0], rates=[0.5], std=0.0)
    env.reset()
    rewards = [env.step([0]).reward.item() for _ in range(4)]
    assert rewards == pytest.approx(2.0 * (1.0 - np.exp(-0.5 * np.arange(1, 5))))


def most(means, steps):
    """Returns the largest sum of means of any sequence of so many pulls, by trial of all."""
    best = -np.inf
    for pulls in itertools.product(range(steps + 1), repeat=len(means)):
        if sum(pulls) == steps:
            best = max(best, sum(arm[:n].sum() for arm, n in zip(means, pulls)))
    return best


def test_the_optimal_actions_of_rotting_arms_are_optimal_in_the_long_run():
    means = -np.sort(-np.random.default_rng(0).normal(size=(3, 9)))
    env = RestedBandit(means, std=0.0)
    env.reset()
    earned = np.cumsum([env.step(env.optimal_action()).reward.item() for _ in range(9)])
    assert earned == pytest.approx([most(means, steps) for steps in range(1, 10)], abs=1e-5)


@for_each(
    ("make", "steps", "optimum"),
    [
        (rising, 100, 48.376350928),
        (rising, 1000, 900.503683999),
        (rotting, 100, 45.588347073),
        (rotting, 1000, 263.308312212),
    ],
)
def test_the_optimum_of_a_run_of_rested_arms(make, steps, optimum):
    found = make().optimum_of_run(steps)
    assert found.among == "all policies"
    assert found.earned[-1] == pytest.approx(optimum, rel=1e-7)
    assert make().optimum_of_run(7).earned == pytest.approx(found.earned[:7])


def test_the_best_rising_arm_depends_on_the_length_of_the_run():
    env = rising()
    alone = np.cumsum(env.unwrapped._means, axis=1, dtype=float)[:, :1000]
    assert env.optimum_of_run(1000).earned == pytest.approx(alone.max(axis=0))
    best = alone.argmax(axis=0)
    assert [np.argmax(best == arm) + 1 for arm in range(4)] == [1, 23, 123, 266]


def test_rested_arms_that_rise_and_fall_share_the_pulls_of_a_run():
    env = RestedBandit([[1.0, 0.0, 0.0, 3.0], [0.75] * 4])
    assert env.optimum_of_run(8).earned.tolist() == [1.0, 1.75, 2.5, 4.0, 7.0, 10.0, 13.0, 16.0]


@for_each("seed", range(6))
def test_the_optimum_of_a_run_is_that_of_all_ways_to_share_its_pulls(seed):
    means = np.random.default_rng(seed).normal(size=(3, 7)).astype(np.float32)
    if seed % 2:
        means[0].sort()
        means[1] = -np.sort(-means[1])
    if seed > 3:
        means[2] = np.sort(means[2]) if seed == 4 else means[0, ::-1]
    expected = [most(means, steps) for steps in range(1, 8)]
    assert RestedBandit(means).optimum_of_run(7).earned == pytest.approx(expected, abs=1e-5)


def best_of_seen_chains(chains, pays, states, steps):
    """Returns the most that a run of rested chains earns, by going through all that may happen."""
    if steps == 0:
        return 0.0
    values = []
    for arm, state in enumerate(states):
        value = pays[arm][state]
        for after, probability in enumerate(chains[arm][state]):
            moved = (*states[:arm], after, *states[arm + 1 :])
            value += probability * best_of_seen_chains(chains, pays, moved, steps - 1)
        values.append(value)
    return max(values)


def test_the_optimum_of_a_run_of_rested_chains_is_a_bound_of_who_sees_their_states():
    default = RestlessMarkovBandit(rested=True).optimum_of_run(1000)
    assert default.among == "bound"
    assert default.earned[[99, 999]] == pytest.approx([52.252147029, 502.252147028], rel=1e-8)
    env = RestlessMarkovBandit(CHAINS, PAYS, rested=True)
    first = [[0.75, 0.25], [2 / 7, 5 / 7]]  # the stationary distributions
    expected = sum(
        first[0][i] * first[1][j] * best_of_seen_chains(CHAINS, PAYS, (i, j), 5)
        for i, j in itertools.product(range(2), repeat=2)
    )
    assert env.optimum_of_run(5).earned[-1] == pytest.approx(expected)


def test_chains_with_many_states_together_have_the_optimum_of_the_best_fixed_arm():
    chains = [[[0.5, 0.5], [0.5, 0.5]]] * 17
    env = RestlessMarkovBandit(chains, [[0.0, 1.0]] * 16 + [[0.0, 3.0]], rested=True)
    found = env.optimum_of_run(4)
    assert found.among == "best fixed arm"
    assert found.earned == pytest.approx([1.5, 3.0, 4.5, 6.0])


@for_each("env", [RestlessMarkovBandit(), AdversarialBandit([[0.5, 1.0]])])
def test_arms_that_change_by_themselves_need_no_optimum_of_a_run(env):
    assert not env.actions_change_state
    with pytest.raises(NotImplementedError, match="the optimum of a whole run is unknown"):
        env.optimum_of_run(5)


def test_stationary_means_are_those_of_the_literature():
    chains = [[[0.7, 0.3], [0.5, 0.5]], [[0.2, 0.8], [0.6, 0.4]]]
    env = RestlessMarkovBandit(chains, [[0.0, 1.0], [0.0, 1.0]])
    assert env.stationary_means == pytest.approx([0.375, 0.571], abs=5e-4)


@for_each("rested", [False, True])
def test_an_arm_pays_its_stationary_mean_in_the_long_run(rested):
    env = RestlessMarkovBandit(CHAINS, PAYS, rested, batch_size=2000, seed=0)
    env.reset()
    paid = np.array([env.step(np.arange(2000) % 2).reward for _ in range(60)])
    for arm, mean in enumerate(env.stationary_means):
        assert is_near(paid[:, arm::2].mean(axis=0), mean)


def test_restless_chains_move_as_their_transitions_say():
    size = 200_000
    env = RestlessMarkovBandit(CHAINS, PAYS, batch_size=size, seed=0)
    env.reset()
    before = env.expected_rewards().copy()
    env.step(np.zeros(size, int))
    after = env.expected_rewards()
    for arm in range(2):
        for state in range(2):
            rows = before[:, arm] == PAYS[arm][state]
            moved = after[rows, arm] == PAYS[arm][1 - state]
            assert is_near(moved, CHAINS[arm][state][1 - state])


def test_chains_start_from_their_stationary_distributions():
    env = RestlessMarkovBandit(CHAINS, PAYS, batch_size=200_000, seed=0)
    assert env.stationary_means == pytest.approx([0.25, 2 * 2 / 7 - 5 / 7])
    env.reset()
    assert is_near(env.expected_rewards(), env.stationary_means)


def test_rested_chains_stand_still_unless_pulled():
    env = RestlessMarkovBandit(CHAINS, PAYS, True, batch_size=1000, seed=0)
    env.reset()
    before = env.expected_rewards().copy()
    env.step(np.ones(1000, int))
    assert (env.expected_rewards()[:, 0] == before[:, 0]).all()
    assert (env.expected_rewards()[:, 1] != before[:, 1]).any()


def test_an_adversary_pays_its_table_through_resets():
    table = np.arange(6.0).reshape(3, 2)
    env = AdversarialBandit(table, batch_size=2, horizon=2)
    env.reset()
    paid = []
    for _ in range(6):
        time_step = env.step([0, 1])
        if not time_step.is_first().all():
            paid.append(time_step.reward.tolist())
    assert paid == [[0, 1], [2, 3], [4, 5], [0, 1]]
