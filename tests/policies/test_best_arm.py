"""Policies that look for the best action: what they recommend, and rows that have stopped."""

import numpy as np
import pytest

from bandit_envs import BernoulliPyEnvironment, StepDriver, SuccessiveEliminationPolicy, UCBPolicy
from bandit_envs.policies import UniformAllocationPolicy
from bandit_envs.policies.best_arm.best_arm_policy import BestArmPolicy, Pulls
from bandit_envs.testing import assert_identical
from bandit_envs.trajectories import Trajectory, restart, termination

B, K = 6, 3


class StaggeredPolicy(BestArmPolicy):
    """Stops row i after i + 1 steps."""

    def _exploration_scores(self, search):
        return -search.pulls.counts

    def _update(self, search, rows):
        search.stopped[rows] = search.pulls.steps[rows] > rows


def make(seed=0):
    env = BernoulliPyEnvironment([0.3, 0.5, 0.7], batch_size=B, seed=seed)
    return env, StaggeredPolicy(num_actions=K, batch_size=B, seed=seed + 1)


def test_a_batch_runs_until_all_rows_have_stopped():
    env, policy = make()
    seen = []
    StepDriver(env, policy, [policy, seen.append], num_steps=100).run_until_stopped()
    assert len(seen) == B
    assert policy.steps.tolist() == [1, 2, 3, 4, 5, 6]
    assert policy.has_stopped


def test_a_limit_ends_a_run_whose_rows_have_not_all_stopped():
    env, policy = make()
    StepDriver(env, policy, [policy], num_steps=4).run_until_stopped()
    assert policy.stopped.tolist() == [True] * 4 + [False] * 2


def test_a_run_until_stopped_goes_on_where_one_has_ended():
    (env, policy), (other_env, other) = make(), make()
    for _ in range(2):
        StepDriver(env, policy, [policy], num_steps=4).run_until_stopped()
    StepDriver(other_env, other, [other], num_steps=100).run_until_stopped()
    assert_identical(policy.get_state(), other.get_state(), "the state of the policy")


def test_rows_that_have_stopped_learn_nothing_and_play_what_they_recommend():
    env, policy = make()
    StepDriver(env, policy, [policy], num_steps=3).run()
    stopped = policy.stopped
    before = policy.get_state().content.learned.pulls
    recommended = policy.recommend(env.current_time_step())
    actions = []
    StepDriver(env, policy, [policy, lambda seen: actions.append(seen.action)], 20).run()
    for name, array in policy.get_state().content.learned.pulls._asdict().items():
        assert_identical(array[stopped], getattr(before, name)[stopped], name)
    assert (np.array(actions)[:, stopped] == recommended[stopped]).all()
    assert policy.steps.tolist() == [1, 2, 3, 4, 5, 6]


def test_an_ordinary_run_takes_all_steps():
    env, policy = make()
    seen = []
    StepDriver(env, policy, [policy, seen.append], num_steps=20).run()
    assert len(seen) == 20


def test_only_a_policy_that_learns_and_stops_can_be_run_until_it_stops():
    env, policy = make()
    with pytest.raises(ValueError, match="not among the observers"):
        StepDriver(env, policy, [], num_steps=4).run_until_stopped()
    ucb = UCBPolicy(1.0, num_actions=K, batch_size=B)
    with pytest.raises(TypeError, match="expected a BestArmPolicy"):
        StepDriver(env, ucb, [ucb], num_steps=4).run_until_stopped()


def test_recommended_is_the_available_action_with_the_largest_mean_reward(teach):
    policy = UniformAllocationPolicy(100, num_actions=K, batch_size=2, seed=0)
    teach(policy, [[0, 0], [1, 1], [0, 2]], [[1.0, 0.0], [0.8, 0.3], [0.0, 0.2]])
    mask = np.array([[True, True, True], [True, False, True]])
    time_step = restart({"observation": np.ones((2, 1)), "mask": mask}, 2)
    assert policy.recommend(time_step).tolist() == [1, 2]


def test_of_equal_means_the_one_chosen_last_leads_and_never_one_not_chosen():
    pulls = Pulls.initial(2, K)
    for action, reward in [([0, 1], [1.0, -1.0]), ([1, 2], [1.0, -1.0])]:
        pulls.add(np.arange(2), np.array(action), np.array(reward))
    assert pulls.leaders().tolist() == [1, 2]


def test_ties_favour_no_action():
    """Every mean is 0: each of three actions is recommended in a third of the rows."""
    size = 9000
    env = BernoulliPyEnvironment([0.0, 0.0, 0.0], batch_size=size, seed=0)
    policy = UniformAllocationPolicy(9, num_actions=K, batch_size=size, seed=1)
    time_step = StepDriver(env, policy, [policy], num_steps=9).run()
    shares = np.bincount(policy.recommend(time_step)) / size
    np.testing.assert_allclose(shares, 1 / 3, atol=4 * np.sqrt(2 / 9 / size))


def test_a_dropped_action_that_a_mask_leaves_alone_drops_no_candidates():
    policy = SuccessiveEliminationPolicy(0.5, num_actions=3, seed=0)
    context = np.ones((1, 1), np.float32)

    def learn(action, reward):
        after = termination(context, np.array([reward]))
        policy.learn(Trajectory.from_transition(restart(context, 1), [action], after))

    for _ in range(900):
        for action, reward in enumerate((0.0, 0.5, 0.5)):
            learn(action, reward)
    for _ in range(3000):
        learn(0, 1.0)  # it was dropped, and now seems to be the best
    assert not policy.has_stopped
    assert policy.recommend(restart(context, 1)).item() in (1, 2)
