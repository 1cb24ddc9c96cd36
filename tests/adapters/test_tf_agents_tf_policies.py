"""Policies of this package in TF-Agents' drivers, metrics and replay buffers."""

import traceback

import numpy as np
import pytest

pytest.importorskip("tf_agents")

import tensorflow as tf
from tf_agents.bandits.agents import lin_ucb_agent
from tf_agents.bandits.metrics import tf_metrics
from tf_agents.bandits.replay_buffers import bandit_replay_buffer
from tf_agents.drivers import dynamic_step_driver, py_driver
from tf_agents.environments import tf_py_environment
from tf_agents.policies import py_tf_eager_policy

from bandit_envs import (
    EpsilonGreedyPolicy,
    KArmedTestbed,
    LinearThompsonSamplingPolicy,
    LinUCBPolicy,
    RandomPolicy,
    RandomSlatePolicy,
    StepDriver,
)
from bandit_envs.adapters.tf_agents import (
    as_policy,
    as_tf_agents,
    as_tf_policy,
    optimal_reward_fn,
    policy_observer,
    tensor_specs,
)
from bandit_envs.environments import per_arm
from bandit_envs.environments.slates.ranking import ranking
from bandit_envs.wrappers import RandomActionMask

B = 4


def greedy(env, seed=1):
    return EpsilonGreedyPolicy(0.3, num_actions=3, batch_size=env.batch_size, seed=seed)


def actions_of_step_driver(num_steps):
    """What our driver sees of an ε-greedy policy that learns."""
    env = KArmedTestbed(3, batch_size=B, seed=0)
    policy = greedy(env)
    seen = []
    StepDriver(env, policy, [policy, seen.append], num_steps).run()
    return np.concatenate([step.action for step in seen])


@pytest.mark.parametrize("in_graph", [False, True], ids=["eager", "graph"])
def test_a_policy_learns_in_a_driver_of_tf_agents_as_in_ours(in_graph):
    env = KArmedTestbed(3, batch_size=B, seed=0)
    environment = tf_py_environment.TFPyEnvironment(as_tf_agents(env))
    ours = greedy(env)
    policy = as_tf_policy(ours, environment.time_step_spec(), environment.action_spec())
    buffer = bandit_replay_buffer.BanditReplayBuffer(
        policy.trajectory_spec, batch_size=B, max_length=20
    )
    regret = tf_metrics.RegretMetric(optimal_reward_fn(environment))
    observers = [policy_observer(ours), buffer.add_batch, regret]
    driver = dynamic_step_driver.DynamicStepDriver(environment, policy, observers, num_steps=20 * B)
    run = tf.function(driver.run) if in_graph else driver.run
    run(environment.reset())
    seen = buffer.gather_all().action.numpy()  # [B, steps]
    assert np.array_equal(seen.T.reshape(-1), actions_of_step_driver(20))
    assert np.isfinite(regret.result().numpy())


def test_it_acts_in_a_driver_of_python():
    env = KArmedTestbed(3, batch_size=B, seed=0)
    ours = greedy(env)
    policy = as_tf_policy(ours, *tensor_specs(env))
    seen = []
    adapted = as_tf_agents(env)
    py_driver.PyDriver(
        adapted,
        py_tf_eager_policy.PyTFEagerPolicy(policy, batch_time_steps=False),
        [policy_observer(ours), lambda step: seen.append(np.asarray(step.action))],
        max_steps=None,
        max_episodes=20 * B,
    ).run(adapted.reset())
    expected = actions_of_step_driver(20)
    assert np.array_equal(np.concatenate(seen)[: len(expected)], expected[: B * len(seen)])


def test_its_info_tells_the_log_probability():
    env = KArmedTestbed(3, batch_size=B, seed=0)
    ours = greedy(env)
    policy = as_tf_policy(ours, *tensor_specs(env), emit_log_probability=True)
    time_step = tf.nest.map_structure(tf.convert_to_tensor, as_tf_agents(env).reset())
    step = policy.action(time_step)
    np.testing.assert_allclose(step.info.log_probability, np.log(1 / 3), rtol=1e-6)
    chances = policy.distribution(time_step).action.probs
    np.testing.assert_allclose(chances, np.full((B, 3), 1 / 3))


def test_an_agent_of_tf_agents_trains_on_its_steps():
    env = per_arm(global_dim=2, arm_dim=2, max_num_actions=3, batch_size=B, seed=0)
    environment = tf_py_environment.TFPyEnvironment(as_tf_agents(env))
    specs = environment.time_step_spec(), environment.action_spec()
    ours = LinUCBPolicy(observation_spec=env.observation_spec(), batch_size=B, seed=1)
    policy = as_tf_policy(ours, *specs)
    agent = lin_ucb_agent.LinearUCBAgent(*specs, accepts_per_arm_features=True)
    buffer = bandit_replay_buffer.BanditReplayBuffer(
        policy.trajectory_spec, batch_size=B, max_length=10
    )
    observers = [policy_observer(ours), buffer.add_batch]
    dynamic_step_driver.DynamicStepDriver(environment, policy, observers, num_steps=10 * B).run()
    agent.train(buffer.gather_all())
    theta = ours.get_state().content.learned.model.theta[0, 0]
    np.testing.assert_allclose(agent.theta.numpy()[0], theta, rtol=1e-3, atol=1e-4)


def test_a_replay_buffer_takes_trajectories_of_step_driver_with_the_info_of_the_agents_spec():
    env = per_arm(global_dim=2, arm_dim=2, max_num_actions=3, batch_size=B, seed=0)
    agent = lin_ucb_agent.LinearUCBAgent(*tensor_specs(env), accepts_per_arm_features=True)
    spec = agent.collect_data_spec
    buffer = bandit_replay_buffer.BanditReplayBuffer(spec, batch_size=B, max_length=10)

    def add(step):
        chosen = step.observation["per_arm"][np.arange(B), step.action]
        info = spec.policy_info._replace(chosen_arm_features=chosen)
        buffer.add_batch(step._replace(policy_info=info))

    StepDriver(env, as_policy(agent, B, 0), [add], num_steps=2).run()
    assert np.isfinite(agent.train(buffer.gather_all()).loss)


def test_slates_are_actions():
    env = ranking(num_items=6, num_slots=3, dim=2, batch_size=B, seed=0)
    environment = tf_py_environment.TFPyEnvironment(as_tf_agents(env))
    specs = environment.time_step_spec(), environment.action_spec()
    policy = as_tf_policy(RandomSlatePolicy(3, num_actions=6, batch_size=B, seed=0), *specs)
    seen = []
    dynamic_step_driver.DynamicStepDriver(environment, policy, [seen.append], num_steps=2 * B).run()
    assert [step.action.shape for step in seen] == [(B, 3)] * 2


def test_what_does_not_fit_is_refused():
    env = per_arm(global_dim=2, arm_dim=2, max_num_actions=3, seed=0)
    specs = tensor_specs(env)
    with pytest.raises(TypeError, match="policy is 5; expected a Policy"):
        as_tf_policy(5, *specs)
    with pytest.raises(ValueError, match="policy has num_actions 4; expected 3"):
        as_tf_policy(EpsilonGreedyPolicy(0.1, num_actions=4), *specs)
    thompson = LinearThompsonSamplingPolicy(observation_spec=env.observation_spec())
    with pytest.raises(NotImplementedError, match="does not know the probabilities"):
        as_tf_policy(thompson, *specs, emit_log_probability=True)


def test_an_observer_of_a_tf_policy_is_refused_at_once():
    env = KArmedTestbed(3, batch_size=B, seed=0)
    with pytest.raises(TypeError, match="the Policy of bandit_envs that learns, not its TFPolicy"):
        policy_observer(as_tf_policy(greedy(env), *tensor_specs(env)))


class SeesItsCallers(RandomPolicy):
    """Keeps the names of the files from which it is called."""

    def __init__(self, **options):
        super().__init__(**options)
        self.files = set()

    def action(self, time_step):
        self.files.update(frame.filename for frame in traceback.extract_stack())
        return super().action(time_step)

    def learn(self, trajectory, rows=None):
        self.files.update(frame.filename for frame in traceback.extract_stack())
        super().learn(trajectory, rows)


def test_graphs_call_a_policy_without_rewriting_its_functions():
    env = KArmedTestbed(3, batch_size=B, seed=0)
    environment = tf_py_environment.TFPyEnvironment(as_tf_agents(env))
    ours = SeesItsCallers(num_actions=3, batch_size=B, seed=1)
    driver = dynamic_step_driver.DynamicStepDriver(
        environment, as_tf_policy(ours, *tensor_specs(env)), [policy_observer(ours)], num_steps=B
    )
    tf.function(driver.run)()
    assert ours.files
    assert not [name for name in ours.files if "autograph_generated" in name]


def driven(ours, env, observers, num_steps):
    environment = tf_py_environment.TFPyEnvironment(as_tf_agents(env))
    policy = as_tf_policy(ours, *tensor_specs(env))
    driver = dynamic_step_driver.DynamicStepDriver(
        environment, policy, observers, num_steps=num_steps * env.batch_size
    )
    driver.run()
    driver.run()


def test_a_policy_that_never_learns_warns_once():
    env = KArmedTestbed(3, batch_size=B, seed=0)
    with pytest.warns(UserWarning, match="learned nothing; put policy_observer") as caught:
        driven(greedy(env), env, [], 120)
    found = [str(each.message) for each in caught]
    assert len([text for text in found if "learned nothing" in text]) == 1


@pytest.mark.filterwarnings("error:EpsilonGreedyPolicy has acted")
@pytest.mark.filterwarnings("error:RandomPolicy has acted")
def test_policies_that_learn_and_those_that_cannot_do_not_warn():
    env = KArmedTestbed(3, batch_size=B, seed=0)
    ours = greedy(env)
    driven(ours, env, [policy_observer(ours)], 120)
    driven(RandomPolicy(num_actions=3, batch_size=B, seed=0), env, [], 120)


def test_a_policy_of_this_package_sees_masks_of_booleans():
    env = RandomActionMask(KArmedTestbed(3, batch_size=B, seed=0), 0.5)
    seen = []

    class Watching(EpsilonGreedyPolicy):
        def _learn(self, learned, trajectory):
            seen.append(trajectory)
            return super()._learn(learned, trajectory)

    ours = Watching(0.3, num_actions=3, batch_size=B, seed=0)
    driven(ours, env, [policy_observer(ours)], 5)
    assert len(seen) == 10
    for step in seen:
        mask = step.observation["mask"]
        assert mask.dtype == np.bool_
        assert mask[np.arange(B), step.action].all()
