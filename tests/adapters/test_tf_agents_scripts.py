"""TF-Agents' example scripts, with our environments in the place of its own."""

import importlib
import sys

import numpy as np
import pytest

pytest.importorskip("tf_agents")

import gin
import tensorflow as tf
from absl import flags
from tf_agents.bandits.agents import lin_ucb_agent
from tf_agents.bandits.agents.examples.v2 import trainer
from tf_agents.bandits.metrics import tf_metrics
from tf_agents.environments import tf_py_environment

from bandit_envs.adapters import tf_agents as adapter
from bandit_envs.environments.registry import ENVIRONMENTS, find_environment

SCRIPTS = {
    "bernoulli": ("bern_env", {"TRAINING_LOOPS": 8, "STEPS_PER_LOOP": 16}),
    "wheel": ("wheel_py_environment", {}),
    "stationary_linear": ("sspe", {}),
    "structured_linear": ("sspe", {"CONTEXT_DIM": 10, "NUM_ACTIONS": 3}),
    "sparse_features": ("sspe", {"TRAINING_LOOPS": 2}),
    "dqn": ("sspe", {"TRAINING_LOOPS": 4, "STEPS_PER_LOOP": 2}),  # it takes two steps at a time
    "per_arm_stationary_linear": ("sspe", {}),
    "ranking": ("ranking_environment", {"NUM_ITEMS": 20, "TRAINING_LOOPS": 2, "STEPS_PER_LOOP": 2}),
}
"""The name that a script gives the module of its environment, and constants of less work."""


@pytest.fixture
def regrets(monkeypatch):
    """The regret of every step."""
    seen, call = [], tf_metrics.RegretMetric.call

    def recorded(metric, trajectory):
        called = call(metric, trajectory)
        tf.py_function(lambda regret: seen.append(float(regret)), [metric.result()], [])
        return called

    monkeypatch.setattr(tf_metrics.RegretMetric, "call", recorded)
    np.random.seed(0)
    tf.random.set_seed(0)
    return seen


@pytest.fixture
def script(request, tmp_path):
    """The module of a script. Its flags, which scripts share, are forgotten afterwards."""
    module = f"tf_agents.bandits.agents.examples.v2.train_eval_{request.param}"
    before = set(flags.FLAGS)
    script = importlib.import_module(module)
    agent = ["--agent=NeuralLinUCB"] if request.param == "sparse_features" else []
    flags.FLAGS(["script", f"--root_dir={tmp_path}", *agent])
    yield script
    for name in set(flags.FLAGS) - before:
        delattr(flags.FLAGS, name)
    del sys.modules[module]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("script", SCRIPTS, indirect=True)
def test_a_script_runs_with_the_import_changed(script, regrets, monkeypatch):
    name = script.__name__.partition("train_eval_")[2]
    alias, constants = SCRIPTS[name]
    assert hasattr(script, alias)
    monkeypatch.setattr(script, alias, adapter)
    for constant, value in {"TRAINING_LOOPS": 8, "STEPS_PER_LOOP": 8, **constants}.items():
        assert hasattr(script, constant)
        monkeypatch.setattr(script, constant, value)
    gin.parse_config(
        [f"{entry.upstream}.seed = 0" for entry in ENVIRONMENTS.values() if entry.upstream]
    )
    try:
        script.main([])
    finally:
        gin.clear_config()
    if regrets and name != "dqn":  # which learns slowly; two scripts do not measure regret
        assert np.mean(regrets[-16:]) < 0.4 * np.mean(regrets[: script.STEPS_PER_LOOP])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["drifting_linear", "piecewise_linear"])
def test_a_script_of_a_tensorflow_environment_runs_on_ours(name, regrets, tmp_path):
    env = find_environment(name).make(batch_size=8, seed=0)
    environment = tf_py_environment.TFPyEnvironment(adapter.as_tf_agents(env))
    agent = lin_ucb_agent.LinearUCBAgent(
        environment.time_step_spec(), environment.action_spec(), alpha=1.0, gamma=0.95
    )
    metrics = [
        tf_metrics.RegretMetric(adapter.optimal_reward_fn(env)),
        tf_metrics.SuboptimalArmsMetric(adapter.optimal_action_fn(env)),
    ]
    trainer.train(str(tmp_path), agent, environment, 8, 8, additional_metrics=metrics)
    assert np.mean(regrets[-16:]) < 0.1 * np.mean(regrets[:8])
