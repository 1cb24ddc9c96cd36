"""Training loops in one graph: environments, agents, metrics, logs and checkpoints."""

import numpy as np
import pytest

pytest.importorskip("tf_agents")

import tensorflow as tf
from tf_agents.bandits.agents.lin_ucb_agent import LinearUCBAgent
from tf_agents.bandits.agents.linear_thompson_sampling_agent import LinearThompsonSamplingAgent
from tf_agents.bandits.metrics.tf_metrics import RegretMetric
from tf_agents.bandits.replay_buffers.bandit_replay_buffer import BanditReplayBuffer
from tf_agents.drivers.dynamic_step_driver import DynamicStepDriver
from tf_agents.environments.tf_py_environment import TFPyEnvironment

from bandit_envs import KArmedTestbed
from bandit_envs.adapters.tf_agents import (
    TrackableDraws,
    TrackableEnvironment,
    as_tf_agents,
    as_tf_environment,
    log_observer,
    optimal_reward_fn,
    tensor_specs,
)
from bandit_envs.environments import logistic_context
from bandit_envs.logged import LogRecorder
from bandit_envs.testing import assert_identical

B, STEPS = 4, 6


def contexts():
    return logistic_context(3, 4, batch_size=B, seed=0)


class Run:
    """An agent in an environment, with a regret and a log; a checkpoint has all but the log."""

    def __init__(self, agent_class, make=as_tf_environment, **options):
        bandit = contexts()
        self.environment = make(bandit)
        self.agent = agent_class(*tensor_specs(bandit), **options)
        self.buffer = BanditReplayBuffer(
            self.agent.policy.trajectory_spec, batch_size=B, max_length=1
        )
        self.regret = RegretMetric(optimal_reward_fn(self.environment))
        self.regrets = tf.Variable(tf.zeros([0]), shape=[None])
        self.recorder = LogRecorder(3, bandit)
        observers = [self.buffer.add_batch, self.regret]
        if self.agent.collect_policy.emit_log_probability:
            observers.append(log_observer(self.recorder, self.agent.collect_policy))
        self.driver = DynamicStepDriver(
            self.environment, self.agent.collect_policy, observers, num_steps=B
        )
        self.draws = TrackableDraws(seed=7)
        self.checkpoint = tf.train.Checkpoint(
            agent=self.agent,
            environment=TrackableEnvironment(self.environment),
            draws=self.draws,
        )

    @tf.autograph.experimental.do_not_convert  # AutoGraph takes long, and the loop alone needs it
    def iterate(self):
        self.driver.run()
        self.agent.train(self.buffer.gather_all())
        self.buffer.clear()
        self.regrets.assign(tf.concat([self.regrets, [self.regret.result()]], axis=0))

    def loop(self, num_steps):
        for _ in tf.range(num_steps):
            self.iterate()

    def found(self):
        variables = [variable.numpy() for variable in self.agent.variables]
        return variables, self.regrets.numpy()


@pytest.fixture(scope="module")
def apart():
    """A run whose steps are calls of one graph each."""
    run = Run(LinearUCBAgent, emit_log_probability=True)
    iterate = tf.function(run.iterate)
    for _ in range(STEPS):
        iterate()
    return run


@pytest.mark.parametrize(
    ("compiler", "make"),
    [
        (tf.function, lambda env: TFPyEnvironment(as_tf_agents(env))),
        (TrackableDraws(seed=1).compile, as_tf_environment),
    ],
    ids=["TFPyEnvironment", "as_tf_environment"],
)
def test_a_loop_in_one_graph_does_what_single_calls_do(compiler, make, apart):
    run = Run(LinearUCBAgent, make, emit_log_probability=True)
    compiler(run.loop)(STEPS)
    assert_identical(run.found(), apart.found())
    log, expected = run.recorder.log(), apart.recorder.log()
    assert len(log) == STEPS * B
    for name in ("observation", "action", "reward", "propensity"):
        np.testing.assert_array_equal(getattr(log, name), getattr(expected, name))


def test_a_loop_over_tensors_that_draws_goes_on_from_a_checkpoint(tmp_path):
    run = Run(LinearThompsonSamplingAgent)
    loop = run.draws.compile(run.loop)
    loop(STEPS)
    path = run.checkpoint.save(str(tmp_path / "run"))
    seen = len(run.regrets.numpy())
    loop(STEPS)
    resumed = Run(LinearThompsonSamplingAgent)
    resumed.checkpoint.restore(path).assert_existing_objects_matched()
    resumed.draws.compile(tf.function(resumed.loop))(STEPS)
    variables, regrets = resumed.found()
    assert_identical(variables, run.found()[0])
    np.testing.assert_array_equal(regrets, run.found()[1][seen:])


@pytest.mark.parametrize("in_graph", [False, True])
def test_an_environment_for_compiled_loops_has_the_streams_of_the_other(in_graph):
    pair = as_tf_environment(contexts()), TFPyEnvironment(as_tf_agents(contexts()))
    found = []
    for environment in pair:
        step = tf.function(environment.step) if in_graph else environment.step
        seen = [environment.reset()] + [step(tf.constant([0, 1, 2, 0])) for _ in range(STEPS)]
        found.append([tf.nest.map_structure(lambda tensor: tensor.numpy(), each) for each in seen])
    assert_identical(*found)
    assert pair[0].time_step_spec() == pair[1].time_step_spec()


def test_it_warns_and_refuses_as_the_other_does():
    with pytest.warns(UserWarning, match="problem of its own") as caught:
        as_tf_environment(KArmedTestbed(k=3, batch_size=2))
    assert caught[0].filename == __file__
    already = "which is an environment of TF-Agents already"
    with pytest.raises(TypeError, match=rf"{already}; .* such as its wrapped_env\(\)$"):
        as_tf_environment(as_tf_agents(contexts()))
    with (
        pytest.warns(UserWarning, match="has a horizon"),
        pytest.raises(ValueError, match="without a horizon"),
    ):
        as_tf_environment(KArmedTestbed(k=3, horizon=5))
