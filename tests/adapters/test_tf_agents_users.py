"""Users' own environments of TF-Agents in drivers, wrappers and recorders of this package."""

import numpy as np
import pytest

pytest.importorskip("tf_agents")

from tf_agents.environments import py_environment
from tf_agents.environments.tf_py_environment import TFPyEnvironment
from tf_agents.specs import array_spec
from tf_agents.trajectories import time_step as ts

from bandit_envs import (
    AverageRewardMetric,
    EpsilonGreedyPolicy,
    LinUCBPolicy,
    RandomPolicy,
    RegretMetric,
    StepDriver,
)
from bandit_envs.adapters.tf_agents import (
    BanditPyEnvironment,
    as_tf_agents,
    as_tf_environment,
    from_tf_agents,
    optimal_reward_fn,
)
from bandit_envs.logged import LogRecorder
from bandit_envs.testing import assert_identical
from bandit_envs.wrappers import RandomActionMask, RescaleReward


class Signs(BanditPyEnvironment):
    """An action from 0 to 2 pays its product with the observation, an integer from -2 to 2."""

    def __init__(self):
        self._rng = np.random.default_rng(0)
        super().__init__(
            array_spec.BoundedArraySpec((1,), np.int32, -2, 2, "observation"),
            array_spec.BoundedArraySpec((), np.int32, 0, 2, "action"),
        )

    def _observe(self):
        self._observation = self._rng.integers(-2, 3, 1, np.int32)
        return self._observation

    def _apply_action(self, action):
        return action * self._observation


class BatchOfSigns(Signs):
    @property
    def batched(self):
        return True

    @property
    def batch_size(self):
        return 4

    def _observe(self):
        self._observation = self._rng.integers(-2, 3, (4, 1), np.int32)
        return self._observation

    def _apply_action(self, action):
        return np.asarray(action * self._observation[:, 0], np.float32)


class TwoSteps(py_environment.PyEnvironment):
    """Not a bandit: an episode has two steps."""

    def observation_spec(self):
        return array_spec.ArraySpec((), np.float32)

    def action_spec(self):
        return array_spec.BoundedArraySpec((), np.int32, 0, 1)

    def _reset(self):
        return ts.restart(np.float32(0))

    def _step(self, action):
        return ts.transition(np.float32(0), 1.0)


@pytest.mark.parametrize(("make", "rows"), [(Signs, 1), (BatchOfSigns, 4)])
def test_rewards_and_observations_are_those_of_the_environment(make, rows):
    env = from_tf_agents(make())
    assert (env.batch_size, env.num_actions) == (rows, 3)
    observation = env.reset().observation
    assert observation.shape == (rows, 1)
    for action in (0, 1, 2):
        time_step = env.step(np.full(rows, action))
        np.testing.assert_array_equal(time_step.reward, action * observation[:, 0])
        observation = time_step.observation


def test_a_policy_learns_in_it():
    env = from_tf_agents(BatchOfSigns())
    policy = LinUCBPolicy(
        observation_spec=env.observation_spec(), num_actions=3, batch_size=4, seed=1
    )
    reward = AverageRewardMetric()
    StepDriver(env, policy, [policy, reward], num_steps=300).run()
    assert reward.result().per_step.mean[-200:].mean() > 0.9  # the best is 1.2 on average


def test_wrappers_and_recorders_take_it():
    env = RandomActionMask(RescaleReward(from_tf_agents(BatchOfSigns()), (-4.0, 4.0)), 0.5)
    policy = EpsilonGreedyPolicy(0.5, num_actions=3, batch_size=4, seed=1)
    recorder = LogRecorder(num_actions=3)
    driver = StepDriver(env, policy, [recorder], num_steps=10, emit_log_probability=True)
    with pytest.warns(UserWarning, match="has not learned"):
        driver.run()
    log = recorder.log()
    assert len(log) == 40
    assert np.abs(log.reward).max() <= 4.0


def test_a_saved_state_repeats_the_run_of_an_environment_with_its_own_generator():
    env = from_tf_agents(BatchOfSigns())
    env.reset()
    saved = env.get_state()
    actions = np.array([0, 1, 2, 2])
    steps = [env.step(actions) for _ in range(5)]
    env.set_state(saved)
    assert_identical([env.step(actions) for _ in range(5)], steps)


class Drifting(BatchOfSigns):
    """Signs whose rewards are multiplied by a hidden weight, which a step changes."""

    def __init__(self):
        super().__init__()
        self.weight = 1.0

    def _apply_action(self, action):
        paid = np.asarray(self.weight * action * self._observation[:, 0], np.float32)
        self.weight += 1.0
        return paid

    def means(self, observation):
        return self.weight * observation * np.arange(3)


def run_of_regrets(env, num_steps):
    regret = RegretMetric(env)
    policy = RandomPolicy(num_actions=3, batch_size=4, seed=2)
    StepDriver(env, policy, [regret], num_steps=num_steps).run()
    return regret.result().per_step.mean


@pytest.mark.parametrize("as_tensors", [False, True])
def test_a_function_of_its_means_makes_regret_exact_even_of_what_is_hidden(as_tensors):
    env = from_tf_agents(Drifting(), expected_rewards=Drifting.means)
    environment = TFPyEnvironment(as_tf_agents(env)) if as_tensors else env
    actions = np.array([0, 1, 2, 0], np.int32)
    observation = np.asarray(environment.reset().observation)
    for weight in (1.0, 2.0, 3.0):
        means = weight * observation * np.arange(3)
        observation = np.asarray(environment.step(actions).observation)
        info = env.get_info()
        np.testing.assert_array_equal(info["expected_reward"], means[range(4), actions])
        np.testing.assert_array_equal(info["optimal_reward"], means.max(axis=1))


def test_regrets_repeat_from_a_saved_state():
    env = from_tf_agents(Drifting(), expected_rewards=Drifting.means)
    run_of_regrets(env, 3)
    saved = env.get_state()
    regrets = run_of_regrets(env, 5)
    assert regrets.max() > 0.0
    env.set_state(saved)
    np.testing.assert_array_equal(run_of_regrets(env, 5), regrets)
    unknown = from_tf_agents(Drifting())
    unknown.reset()
    with pytest.raises(NotImplementedError, match="Drifting"):
        unknown.expected_rewards()


@pytest.mark.parametrize(
    ("means", "error", "message"),
    [
        (3, TypeError, "expected_rewards is 3; expected a function"),
        (lambda env, seen: seen, ValueError, r"^expected_rewards returned shape \(4, 1\)"),
        (lambda env, seen: None, TypeError, "expected_rewards returned object"),
    ],
)
def test_a_function_of_its_means_that_returns_something_else_is_refused(means, error, message):
    with pytest.raises(error, match=message):
        from_tf_agents(BatchOfSigns(), expected_rewards=means).reset()


class SomeSigns(BatchOfSigns):
    """Rows have the first one, two, three and two of the signs."""

    def __init__(self, as_mask):
        super().__init__()
        self._seen = "observation" if as_mask else "global"
        name = "mask" if as_mask else "num_actions"
        spec = array_spec.ArraySpec((3,) if as_mask else (), np.int32)
        self._observation_spec = {self._seen: self._observation_spec, name: spec}
        counts = np.array([1, 2, 3, 2], np.int32)
        mask = (np.arange(3) < counts[:, np.newaxis]).astype(np.int32)
        self._offered = {name: mask if as_mask else counts}

    def _observe(self):
        return {self._seen: super()._observe(), **self._offered}

    def means(self, observation):
        return observation[self._seen] * np.arange(3)


@pytest.mark.parametrize("as_mask", [False, True])
def test_actions_that_are_not_available_are_refused_and_are_not_the_optimum(as_mask):
    env = from_tf_agents(SomeSigns(as_mask), expected_rewards=SomeSigns.means)
    seen = env.reset().observation
    signs = np.asarray(next(iter(seen.values())), float)
    largest = np.array([[0.0], [1.0], [2.0], [1.0]])
    best = np.where(signs > 0.0, largest, 0.0) * signs
    np.testing.assert_array_equal(env.optimal_reward(), best[:, 0])
    np.testing.assert_array_equal(np.isneginf(env.expected_rewards()).sum(axis=1), [2, 1, 0, 1])
    env.step([0, 1, 2, 1])
    with pytest.raises(ValueError, match=r"action\[0\] is 1; expected one that is available"):
        env.step([1, 1, 2, 1])


class PairOfSigns(Signs):
    """Signs beside a mask, as TF-Agents' splitters take them apart."""

    def __init__(self):
        super().__init__()
        spec = array_spec.BoundedArraySpec((3,), np.int32, 0, 1, "mask")
        self._observation_spec = (self._observation_spec, spec)

    def _observe(self):
        return super()._observe(), np.array([1, 1, 0], np.int32)


def test_a_warning_says_that_no_part_of_a_tuple_is_a_mask():
    with pytest.warns(UserWarning, match='PairOfSigns is a tuple.* entry "mask" of a dict'):
        from_tf_agents(PairOfSigns())


def test_it_becomes_an_environment_of_tf_agents_again():
    adapted = as_tf_agents(from_tf_agents(Signs()))
    assert adapted.reset().is_first().all()
    assert adapted.step(np.array([1])).is_last().all()


@pytest.mark.parametrize("function", [as_tf_agents, as_tf_environment, optimal_reward_fn])
def test_where_one_of_this_package_is_expected_a_message_says_how_to_make_it(function):
    with pytest.raises(TypeError, match=r"such as from_tf_agents\(env\)$"):
        function(Signs())


def test_an_environment_with_longer_episodes_is_refused_when_it_steps():
    env = from_tf_agents(TwoSteps())
    env.reset()
    with pytest.raises(ValueError, match="expected a bandit, each of whose steps is LAST"):
        env.step([0])


class WrongShapes(Signs):
    """Its observations or rewards are not as its specs say."""

    def __init__(self, observation, reward):
        super().__init__()
        self._shown = observation
        self._paid = reward

    def _observe(self):
        return self._shown

    def _apply_action(self, action):
        return self._paid


@pytest.mark.parametrize(
    ("observation", "reward", "message"),
    [
        (np.ones(2, np.int32), 1.0, r"an observation of WrongShapes has shape \(2,\)"),
        (np.ones(1, np.int32), np.ones(3), r"a reward of WrongShapes has shape \(3,\)"),
    ],
)
def test_what_does_not_fit_the_spec_is_refused(observation, reward, message):
    env = from_tf_agents(WrongShapes(observation, reward))
    with pytest.raises(ValueError, match=message):
        env.step(env.reset().step_type)
