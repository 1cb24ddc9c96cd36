"""Learning from some rows of several steps, and from rewards that arrive later."""

import numpy as np
import pytest

from bandit_envs import (
    AffineReward,
    BernoulliPyEnvironment,
    DelayedLearning,
    DelayedRewards,
    KArmedTestbed,
    RegretMetric,
    StepDriver,
    Trajectory,
    UCBPolicy,
    load_state,
    policies,
    rewards,
    save_state,
)
from bandit_envs.base.slates import SlateProbabilities
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.nests import map_structure
from bandit_envs.policies.delayed import learner
from bandit_envs.testing import assert_identical
from bandit_envs.trajectories import restart, termination
from bandit_envs.wrappers import ClipReward, RandomActionMask, Wrapper
from tests.cases import for_each
from tests.policies.examples import make_environment, make_policy

B, K = 6, 3


def make(name):
    """Returns an environment and a policy that fits it."""
    env = make_environment(name, B)
    return env, make_policy(name, env, seed=1)


def bernoulli(batch_size, seed=0):
    return BernoulliPyEnvironment([0.2, 0.5, 0.8], batch_size, seed=seed)


def learned(policy):
    return policy.get_state().content.learned


@pytest.mark.parametrize(
    "name", ["random", "ucb", "exp3", "lin_ucb", "linear_thompson", "cascade_ucb"]
)
@pytest.mark.parametrize("delay", [0, 4])
def test_a_constant_delay_shifts_what_is_learned(name, delay):
    env, policy = make(name)
    delayed_env, delayed = make(name)
    delayed_env = DelayedRewards(delayed_env, delay)
    StepDriver(env, policy, [policy], 12).run()
    actions = []

    def look(trajectory):
        actions.append(trajectory.action)

    StepDriver(delayed_env, delayed, [DelayedLearning(delayed_env, delayed), look], 12).run()
    if delay == 0:
        assert_identical(delayed.get_state(), policy.get_state())
        return
    # Another policy sees the first steps in time, with the actions that the delayed one chose.
    env, shifted = make(name)
    time_step = env.reset()
    for action in actions[: 12 - delay]:
        next_time_step = env.step(action)
        shifted(Trajectory.from_transition(time_step, action, next_time_step))
        time_step = next_time_step
    assert_identical(learned(delayed), learned(shifted))


def linear_models(policy):
    known = learned(policy)
    return getattr(known, "model", known)


def run_delayed(policy, env, steps, learn=None):
    """Lets a policy learn from delayed rewards; returns the feedback of every step."""
    seen = []

    def look(trajectory):
        seen.append(env.current_time_step().observation["feedback"])

    StepDriver(env, policy, [learn or DelayedLearning(env, policy), look], steps).run()
    return seen


@pytest.mark.parametrize("name", ["epsilon_greedy", "sliding_window_ucb", "exp3"])
def test_each_row_learns_what_it_would_learn_alone(name):
    env = DelayedRewards(bernoulli(B), rewards.Geometric(0.4), max_delay=5)
    policy = make_policy(name, env, seed=1)
    seen = run_delayed(policy, env, 40)
    for row in range(B):
        alone = make_policy(name, bernoulli(1))
        for feedback in seen:
            for lag in np.flatnonzero(feedback["arrived"][row])[::-1]:
                action, reward = (feedback[key][row, [lag]] for key in ("action", "reward"))
                before = restart(np.ones((1, 1), np.float32), 1)
                after = termination(before.observation, reward)
                alone(Trajectory.from_transition(before, action, after))
        rows = map_structure(lambda leaf, row=row: leaf[row : row + 1], learned(policy))
        assert_identical(map_structure(np.copy, rows), learned(alone))


def test_a_row_counts_the_rewards_that_it_has_learned_from():
    env = DelayedRewards(bernoulli(B), rewards.Poisson(1.0), max_delay=3)
    policy = UCBPolicy(1.0, num_actions=K, batch_size=B, seed=1)
    arrived = np.array([feedback["arrived"] for feedback in run_delayed(policy, env, 30)])
    np.testing.assert_array_equal(learned(policy).steps, arrived.sum(axis=(0, 2)))
    np.testing.assert_array_equal(learned(policy).counts.sum(axis=1), arrived.sum(axis=(0, 2)))


@pytest.mark.parametrize("name", ["lin_ucb", "linear_thompson", "top_k_lin_ucb"])
def test_a_regression_learns_from_the_rows_that_arrived(name):
    bandit, policy = make(name)
    env = DelayedRewards(bandit, rewards.Geometric(0.3), max_delay=4)
    alone = policy.replicate(1)
    learn, steps, count = DelayedLearning(env, policy), [], 0

    def look(trajectory):
        nonlocal count
        observation = {**trajectory.observation}
        del observation["feedback"]
        steps.insert(
            0, trajectory._replace(observation=observation.pop("observation", observation))
        )
        feedback = env.current_time_step().observation["feedback"]
        for row, lag in np.argwhere(feedback["arrived"]):
            step = steps[lag]._replace(reward=feedback["reward"][:, lag])
            alone(map_structure(lambda leaf, row=row: leaf[row : row + 1], step))
            count += 1

    StepDriver(env, policy, [learn, look], 30).run()
    assert 0 < count < 30 * B
    found, expected = (linear_models(each) for each in (policy, alone))
    assert found.theta == pytest.approx(expected.theta)
    inverses = [np.swapaxes(each.whitening, -1, -2) @ each.whitening for each in (found, expected)]
    assert inverses[0] == pytest.approx(inverses[1])


@pytest.mark.slow
def test_ucb_finds_the_best_arm_in_spite_of_delays():
    env = DelayedRewards(bernoulli(300), rewards.Exponential(5.0), max_delay=20)
    policy = UCBPolicy(0.5, num_actions=K, batch_size=300, seed=1)
    regret = RegretMetric(env)
    StepDriver(env, policy, [DelayedLearning(env, policy), regret], 300).run()
    early, middle, late = regret.result().per_step.mean.reshape(3, 100).mean(axis=1)
    assert early > 2.0 * middle > 2.0 * late


def test_a_run_with_delays_replays_exactly_from_a_file(tmp_path):
    def driver(seed):
        env = DelayedRewards(bernoulli(B, seed), rewards.Geometric(0.3), max_delay=4)
        policy = UCBPolicy(1.0, num_actions=K, batch_size=B, seed=seed + 10)
        observers = [DelayedLearning(env, policy), RegretMetric(env)]
        return StepDriver(env, policy, observers, 15)

    first, second = driver(0), driver(1)
    first.run()
    save_state(tmp_path / "state.npz", first.get_state())
    second.set_state(load_state(tmp_path / "state.npz"))
    assert_identical(second.run(), first.run())
    assert_identical(second.get_state(), first.get_state())


def test_rewards_of_steps_that_were_not_seen_are_not_learned():
    env = DelayedRewards(bernoulli(B), rewards.Poisson(2.0), max_delay=4)
    env.reset()
    for _ in range(6):
        env.step(np.zeros(B, int))
    policy = UCBPolicy(1.0, num_actions=K, batch_size=B, seed=1)
    seen = [feedback["arrived"] for feedback in run_delayed(policy, env, 10)]
    learnable = sum(arrived[:, : step + 1].sum() for step, arrived in enumerate(seen))
    assert learned(policy).counts.sum() == learnable < np.sum(seen)


def test_what_is_outstanding_at_a_reset_is_never_learned():
    env = DelayedRewards(KArmedTestbed(k=K, batch_size=B, seed=0, horizon=4), 2)
    policy = UCBPolicy(1.0, num_actions=K, batch_size=B, seed=1)
    run_delayed(policy, env, 12)
    assert (learned(policy).counts.sum(axis=1) == 3 * 2).all()


class WholeSlates(policies.RandomSlatePolicy):
    """Knows the probabilities of whole slates only."""

    def _probability_of(self, learned, time_step, action):
        return SlateProbabilities(super()._probability_of(learned, time_step, action).slate)


def test_what_a_policy_tells_of_its_choices_may_have_empty_fields():
    bandit = ENVIRONMENTS["cascade"].make(num_slots=2, batch_size=B, seed=0)
    env = DelayedRewards(bandit, rewards.Poisson(1.0), max_delay=3)
    policy, told = WholeSlates(2, num_actions=10, batch_size=B, seed=1), []
    policy.learn = lambda seen, rows: told.append(seen.policy_info)
    StepDriver(env, policy, [DelayedLearning(env, policy)], 8, emit_log_probability=True).run()
    assert all(info.slot is None and info.slate.shape == (B,) for info in told)
    assert len(told) > 8


class Sums(policies.RandomPolicy):
    """Keeps an array whose first dimension is not the batch."""

    def _initial(self):
        return np.zeros((2, *self._table_shape))

    def _learn(self, learned, trajectory):
        learned[:, np.arange(self.batch_size), trajectory.action] += 1.0
        return learned


def test_rows_of_arrays_that_are_not_by_row_are_refused_and_nothing_is_learned():
    policy, rows = Sums(num_actions=K, batch_size=B), np.arange(B) < 2
    before = restart(np.ones((B, 1), np.float32), B)
    after = termination(before.observation, np.ones(B))
    trajectory = Trajectory.from_transition(before, np.zeros(B, int), after)
    with pytest.raises(ValueError, match=r"not \[B, ...\]"):
        policy.learn(trajectory, rows)
    assert policy.is_untrained


def test_a_batch_of_one_may_keep_arrays_of_any_shape():
    env = DelayedRewards(bernoulli(1), [2, 1, 0])
    policy = Sums(num_actions=K, seed=1)
    seen = run_delayed(policy, env, 30)
    assert max(feedback["arrived"].sum() for feedback in seen) > 1
    assert learned(policy)[0].sum() == sum(feedback["arrived"].sum() for feedback in seen)


def test_a_policy_that_would_learn_from_delayed_rewards_as_if_they_came_at_once_is_refused():
    env, policy = DelayedRewards(bernoulli(B), 5), UCBPolicy(1.0, num_actions=K, batch_size=B)
    with pytest.raises(ValueError, match="DelayedLearning"):
        StepDriver(env, policy, [policy])
    with pytest.raises(ValueError, match="DelayedLearning"):
        StepDriver(
            AffineReward(env, 2.0), policies.RandomPolicy(num_actions=K, batch_size=B), [policy]
        )
    StepDriver(
        env,
        policies.RandomPolicy(num_actions=K, batch_size=B),
        [policies.RandomPolicy(num_actions=K, batch_size=B)],
    ).run()
    StepDriver(DelayedRewards(bernoulli(B), 0), policy, [policy]).run()
    assert not policy.is_untrained


def test_a_policy_that_waits_for_its_rewards_is_not_warned_about(recwarn):
    env, policy = DelayedRewards(bernoulli(B), 5), UCBPolicy(1.0, num_actions=K, batch_size=B)
    StepDriver(env, policy, [DelayedLearning(env, policy)], 3).run()
    assert policy.is_untrained
    assert not recwarn.list
    other = UCBPolicy(1.0, num_actions=K, batch_size=B)
    with pytest.warns(UserWarning, match="policy"):
        StepDriver(env, other, [DelayedLearning(env, policy)], 3).run()


class Unchanged(Wrapper):
    """Changes nothing."""


class Doubled(Wrapper):
    """Changes rewards without the hook, and says so."""

    def __init__(self, env):
        super().__init__(env)
        self.maps_rewards = True

    def _step(self, action):
        latent, time_step = super()._step(action)
        return latent, time_step._replace(reward=2 * time_step.reward)


@for_each(
    "wrap", [lambda env: AffineReward(env, 10.0), lambda env: ClipReward(env, (0.0, 0.5)), Doubled]
)
def test_a_wrapper_that_changes_rewards_goes_inside_of_the_delays(wrap):
    policy = UCBPolicy(1.0, num_actions=K, batch_size=B)
    outside = RandomActionMask(wrap(Unchanged(DelayedRewards(bernoulli(B), 2))), 0.5)
    for learn in (DelayedLearning, learner):
        with pytest.raises(ValueError, match=r"changes rewards, .* inside of DelayedRewards"):
            learn(outside, policy)
    inside = RandomActionMask(DelayedRewards(wrap(bernoulli(B)), 2), 0.5)
    StepDriver(inside, policy, [DelayedLearning(inside, policy)], 5).run()
    assert not policy.is_untrained


def test_an_environment_without_delays_is_refused():
    with pytest.raises(TypeError, match="env"):
        DelayedLearning(bernoulli(1), UCBPolicy(1.0, num_actions=K))
