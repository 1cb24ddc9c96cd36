"""Runs of TF-Agents go on from a checkpoint as if they had not been interrupted."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tf_agents")

import tensorflow as tf
import tensorflow_probability as tfp
from tf_agents.bandits.agents.examples.v2 import trainer
from tf_agents.drivers import dynamic_episode_driver, dynamic_step_driver
from tf_agents.environments import tf_py_environment, wrappers
from tf_agents.metrics import tf_metrics
from tf_agents.policies import random_tf_policy
from tf_agents.specs import array_spec
from tf_agents.utils import common

from bandit_envs import KArmedTestbed, load_state, save_state
from bandit_envs.adapters import tf_agents as adapter
from bandit_envs.sampling import Normal
from bandit_envs.wrappers import RandomActionMask

from . import saved_training
from .resumed_run import Run
from .test_tf_agents_tensorflow_bandits import (
    deterministic,
    drifting,
    piecewise,
    random_environment,
    remainders,
)
from .test_tf_agents_tensorflow_bandits import masked as random_masks

ROOT = Path(__file__).parents[2]
K = 4


class Ones(adapter.BanditPyEnvironment):
    """A user's own bandit of TF-Agents."""

    def __init__(self):
        super().__init__(
            array_spec.ArraySpec((1,), np.float32),
            array_spec.BoundedArraySpec((), np.int32, 0, K - 1),
        )

    def _observe(self):
        return np.ones(1, np.float32)

    def _apply_action(self, action):
        return np.float32(1)


@pytest.fixture(autouse=True)
def unseeded():
    """Leaves TensorFlow without the seed that a test has set."""
    yield
    tf.random.set_seed(None)


@pytest.mark.parametrize(
    ("agent", "in_graph"),
    [("LinUCB", False), ("neural", False), ("neural", True)],
    ids=["LinUCB, eager", "neural, eager", "neural, graph"],
)
def test_a_run_goes_on_in_new_objects(tmp_path, agent, in_graph):
    run = Run(agent, in_graph, env_seed=0)
    run.regrets(3)
    path = run.checkpoint.save(str(tmp_path / "run"))
    uninterrupted = run.regrets(4)
    other = Run(agent, in_graph, env_seed=1)
    other.checkpoint.restore(path).assert_existing_objects_matched()
    assert other.regrets(4) == uninterrupted
    assert len(set(uninterrupted)) == 4


def k_armed(seed, **keywords):
    env = KArmedTestbed(K, batch_size=2, seed=seed, **keywords)
    return tf_py_environment.TFPyEnvironment(adapter.as_tf_agents(env))


def examples_of_classes(seed):
    rewards = tfp.distributions.Independent(tfp.distributions.Normal(tf.eye(3), 1.0), 2)
    return adapter.ClassificationBanditEnvironment(remainders(), rewards, 2, seed=seed)


def masked(seed):
    env = RandomActionMask(KArmedTestbed(K, batch_size=2, seed=seed), 0.99)
    return tf_py_environment.TFPyEnvironment(adapter.as_tf_agents(env))


def masked_in_tensorflow(seed):
    return adapter.BernoulliActionMaskTFEnvironment(
        k_armed(seed), lambda observation, mask: (observation, mask), 1.0
    )


ENVIRONMENTS = {
    "testbed": k_armed,
    "testbed with a horizon": lambda seed: k_armed(seed, horizon=3),
    "wrapped": masked,
    "masks in TensorFlow": masked_in_tensorflow,
    "drifting": lambda seed: drifting(5, K, 2, seed=seed),
    "piecewise": lambda seed: piecewise(5, K, 2, seed=seed),
    "classification": examples_of_classes,
}


def time_steps(environment, num_steps):
    """Returns the current time step, and those after it."""
    found = [environment.current_time_step()]
    found += [environment.step(tf.constant([0, 2])) for _ in range(num_steps)]
    return tf.nest.map_structure(lambda tensor: tensor.numpy(), found)


def assert_same(left, right):
    tf.nest.map_structure(np.testing.assert_array_equal, left, right)


@pytest.mark.parametrize("steps", [None, 0, 2])
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_environment_goes_on_at_the_same_time_step(tmp_path, name, steps):
    environment = ENVIRONMENTS[name](seed=0)
    if steps is not None:
        environment.reset()
        time_steps(environment, steps)
    checkpoint = tf.train.Checkpoint(environment=adapter.TrackableEnvironment(environment))
    path = checkpoint.save(str(tmp_path / "run"))
    uninterrupted = time_steps(environment, 5)
    other = ENVIRONMENTS[name](seed=1)
    restored = tf.train.Checkpoint(environment=adapter.TrackableEnvironment(other))
    restored.restore(path).assert_existing_objects_matched()
    if name in ("drifting", "piecewise", "classification", "masks in TensorFlow"):
        assert int(other._env_time) == 2 * (steps or 0)
    assert_same(time_steps(other, 5), uninterrupted)


@pytest.mark.parametrize("in_graph", [False, True], ids=["eager", "graph"])
def test_a_driver_of_episodes_goes_on_in_the_middle_of_one(tmp_path, in_graph):
    def make(seed):
        environment = k_armed(seed, horizon=4)
        policy = random_tf_policy.RandomTFPolicy(
            environment.time_step_spec(), environment.action_spec()
        )
        steps = dynamic_step_driver.DynamicStepDriver(environment, policy, num_steps=2)
        episodes = dynamic_episode_driver.DynamicEpisodeDriver(environment, policy, num_episodes=4)
        run = common.function(episodes.run) if in_graph else episodes.run
        return environment, common.function(steps.run) if in_graph else steps.run, run

    environment, steps, episodes = make(0)
    tf.random.set_seed(0)
    steps()
    assert environment.current_time_step().is_mid().numpy().all()
    trackable = adapter.TrackableEnvironment(environment)
    path = tf.train.Checkpoint(environment=trackable).save(str(tmp_path / "run"))
    tf.random.set_seed(0)
    uninterrupted, _ = episodes()
    other, _, other_episodes = make(1)
    trackable = adapter.TrackableEnvironment(other)
    tf.train.Checkpoint(environment=trackable).restore(path)
    tf.random.set_seed(0)
    restored, _ = other_episodes()
    assert_same(restored, uninterrupted)


def test_a_checkpoint_manager_keeps_the_newest_runs(tmp_path):
    def make(seed):
        environment = k_armed(seed)
        checkpoint = tf.train.Checkpoint(environment=adapter.TrackableEnvironment(environment))
        return environment, tf.train.CheckpointManager(checkpoint, str(tmp_path), max_to_keep=2)

    environment, manager = make(0)
    for _ in range(4):
        time_steps(environment, 2)
        manager.save()
    other, manager = make(1)
    assert len(manager.checkpoints) == 2
    manager.restore_or_initialize()
    assert_same(time_steps(other, 3), time_steps(environment, 3))


@pytest.mark.parametrize("make", [k_armed, lambda seed: drifting(5, K, 2, seed=seed)])
def test_the_current_time_step_is_the_restored_one_in_the_same_process(tmp_path, make):
    environment = make(0)
    trackable = adapter.TrackableEnvironment(environment)
    time_steps(environment, 2)
    save_state(tmp_path / "state.npz", trackable.get_state())
    seen = time_steps(environment, 3)
    trackable.set_state(load_state(tmp_path / "state.npz"))
    assert_same(time_steps(environment, 3), seen)


def test_a_replacement_in_tensorflow_returns_to_the_time_step_of_a_state():
    environment = drifting(5, K, 2)
    time_steps(environment, 2)
    saved = environment.get_state()
    seen = time_steps(environment, 3)
    environment.set_state(saved)
    assert_same(time_steps(environment, 3), seen)
    environment.set_state(drifting(5, K, 2).get_state())
    assert environment.current_time_step().is_first().numpy().all()


def test_functions_that_draw_from_numpys_global_generator_go_on_too():
    np.random.seed(0)
    env = adapter.StationaryStochasticPyEnvironment(
        lambda: np.random.normal(size=(2, 3)), [lambda x: np.random.normal(x[0])] * K, batch_size=2
    )
    environment = tf_py_environment.TFPyEnvironment(env)
    trackable = adapter.TrackableEnvironment(environment)
    time_steps(environment, 2)
    saved = trackable.get_state()
    seen = time_steps(environment, 3)
    trackable.set_state(saved)
    assert_same(time_steps(environment, 3), seen)


@pytest.mark.slow
def test_the_trainer_goes_on_with_an_agent_that_has_its_environment(tmp_path):
    regrets = []

    def train(folder, num_loops, resume=True):
        run = Run("LinUCB", in_graph=False, env_seed=len(regrets))
        run.agent.environment = adapter.TrackableEnvironment(run.environment)
        trainer.train(
            str(folder),
            run.agent,
            run.environment,
            training_loops=num_loops,
            steps_per_loop=2,
            additional_metrics=[run.regret],
            save_policy=False,
            resume_training_loops=resume,
        )
        regrets.append(float(run.regret.result()))

    train(tmp_path / "run", 5)
    uninterrupted = regrets.pop()
    train(tmp_path / "parts", 3)
    train(tmp_path / "parts", 5)
    assert regrets[-1] == uninterrupted


@pytest.mark.slow
def test_a_run_goes_on_bit_for_bit_in_a_new_process_from_what_is_left_of_it(tmp_path):
    """The files are copied between two checkpoints: a kill would leave no others."""
    undisturbed = saved_training.train(tmp_path / "undisturbed", num_iterations=8, seed=0)
    expected = [next(undisturbed) for _ in range(5)]
    shutil.copytree(tmp_path / "undisturbed", tmp_path / "left")
    expected += undisturbed
    resumed = subprocess.run(
        [sys.executable, "-m", "tests.adapters.saved_training", tmp_path / "left", "8", "1"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    assert len(expected) == 8
    assert resumed.stdout.splitlines() == [f"{number} {digest}" for number, digest in expected[3:]]


@pytest.mark.parametrize(
    ("environment", "error"),
    [
        (KArmedTestbed(K), "expected a TFPyEnvironment"),
        (
            adapter.as_tf_agents(KArmedTestbed(K)),
            r"is a TFAgentsBanditEnvironment; expected TFPyEnvironment\(environment\)",
        ),
        (
            tf_py_environment.TFPyEnvironment(
                wrappers.TimeLimit(adapter.as_tf_agents(KArmedTestbed(K, horizon=5)), 3)
            ),
            "TFPyEnvironment of a TimeLimit; expected one of as_tf_agents",
        ),
        (
            tf_py_environment.TFPyEnvironment(
                adapter.as_tf_agents(RandomActionMask(adapter.from_tf_agents(Ones()), 0.5))
            ),
            "Ones of from_tf_agents, .* to which its class can be ported",
        ),
    ],
)
def test_what_it_cannot_save_is_refused(environment, error):
    with pytest.raises(TypeError, match=error):
        adapter.TrackableEnvironment(environment)


def test_a_state_of_another_environment_is_refused_and_changes_nothing():
    environment = k_armed(0)
    trackable = adapter.TrackableEnvironment(environment)
    before = time_steps(environment, 1)[-1]
    other = adapter.TrackableEnvironment(drifting(5, K, 2))
    with pytest.raises(ValueError, match="state belongs to a"):
        trackable.set_state(other.get_state())
    with pytest.raises(TypeError, match="expected what TrackableEnvironment"):
        trackable.set_state(environment.pyenv.get_state())
    assert_same(time_steps(environment, 0)[0], before)


def per_arm(batch_size):
    env = adapter.StationaryStochasticPerArmPyEnvironment(
        Normal(2), Normal(2), 3, lambda features: 0.0, batch_size=batch_size
    )
    return tf_py_environment.TFPyEnvironment(env)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (per_arm, "StationaryStochasticPerArmPyEnvironment"),
        (lambda batch_size: drifting(5, K, batch_size), "DriftingLinearBandit"),
        (
            lambda batch_size: adapter.ClassificationBanditEnvironment(
                remainders(), deterministic(tf.eye(3)), batch_size
            ),
            "ClassificationBanditEnvironment",
        ),
        (lambda batch_size: random_environment((3,), (), batch_size), "RandomBanditEnvironment"),
        (lambda batch_size: random_masks(batch_size, K, 0.5), "RandomActionMask"),
    ],
)
def test_a_refused_state_is_named_by_a_class_that_users_know(make, name):
    other = adapter.TrackableEnvironment(make(2))
    with pytest.raises(ValueError, match=rf"belongs to a {name} with .*; expected a {name} with"):
        adapter.TrackableEnvironment(make(3)).set_state(other.get_state())


def test_metrics_that_count_go_on_in_a_checkpoint_and_windows_start_empty(tmp_path):
    def make():
        environment = k_armed(seed=0)
        metrics = {
            "steps": tf_metrics.EnvironmentSteps(),
            "episodes": tf_metrics.NumberOfEpisodes(),
            "returns": tf_metrics.AverageReturnMetric(batch_size=2),
        }
        policy = random_tf_policy.RandomTFPolicy(
            environment.time_step_spec(), environment.action_spec()
        )
        driver = dynamic_step_driver.DynamicStepDriver(
            environment, policy, list(metrics.values()), num_steps=10
        )
        return metrics, driver, tf.train.Checkpoint(**metrics)

    metrics, driver, checkpoint = make()
    driver.run()
    assert metrics["returns"].result() != 0.0
    path = checkpoint.save(str(tmp_path / "run"))
    restored, _, checkpoint = make()
    checkpoint.restore(path)
    for name in ("steps", "episodes"):
        assert metrics[name].result() > 0
        assert restored[name].result() == metrics[name].result()
    assert restored["returns"].result() == 0.0
