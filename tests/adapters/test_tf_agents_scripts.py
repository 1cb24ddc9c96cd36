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

from bandit_envs import ClassificationBandit
from bandit_envs.adapters import tf_agents as adapter
from bandit_envs.datasets import load_covertype, load_mushroom, mushroom_rewards
from bandit_envs.environments.registry import ENVIRONMENTS, find_environment

MOVIELENS = {"RANK_K": 2, "NUM_ACTIONS": 4, "TRAINING_LOOPS": 30, "STEPS_PER_LOOP": 2}

SCRIPTS = {
    "bernoulli": ("bern_env", {"TRAINING_LOOPS": 8, "STEPS_PER_LOOP": 16}),
    "wheel": ("wheel_py_environment", {}),
    "stationary_linear": ("sspe", {}),
    "structured_linear": ("sspe", {"CONTEXT_DIM": 10, "NUM_ACTIONS": 3}),
    "sparse_features": ("sspe", {"TRAINING_LOOPS": 2}),
    "dqn": ("sspe", {"TRAINING_LOOPS": 4, "STEPS_PER_LOOP": 2}),  # it takes two steps at a time
    "per_arm_stationary_linear": ("sspe", {}),
    "ranking": ("ranking_environment", {"NUM_ITEMS": 20, "TRAINING_LOOPS": 2, "STEPS_PER_LOOP": 2}),
    "movielens": ("movielens_py_environment", MOVIELENS),
    "movielens --per_arm": ("movielens_per_arm_py_environment", MOVIELENS),
}
"""The name that a script gives the module of its environment, and constants of less work."""


def ratings():
    """Lines of u.data: 60 users rate 25 movies, which are good and bad, and little as they like."""
    rng = np.random.default_rng(0)
    table = rng.uniform(1, 5, 25) + 0.3 * rng.normal(size=(60, 1)) * rng.normal(size=25)
    return [f"{u + 1}\t{m + 1}\t{rating:.2f}\t0" for (u, m), rating in np.ndenumerate(table)]


def mushrooms():
    """Lines of agaricus-lepiota.data: those that smell are poisonous."""
    rng = np.random.default_rng(0)
    rows = rng.choice(["a", "b"], (60, 22))
    return [",".join(["p" if row[4] == "b" else "e", *row]) for row in rows]


def forests():
    """Lines of covtype.data: the first of the binary features is the kind of forest."""
    rng = np.random.default_rng(0)
    labels = rng.integers(7, size=60)
    rows = np.column_stack([rng.integers(3, size=(60, 10)), np.eye(44)[labels], labels + 1])
    return [",".join(map(str, row)) for row in rows.astype(int)]


FILES = {
    "movielens": ("data_path", ratings),
    "mushroom": ("mushroom_csv", mushrooms),
    "covertype": ("covertype_csv", forests),
}
"""The flag that names the file of a script, and its lines."""


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
    name, *given = request.param.split()
    module = f"tf_agents.bandits.agents.examples.v2.train_eval_{name}"
    before = set(flags.FLAGS)
    script = importlib.import_module(module)
    agents = {"sparse_features": "NeuralLinUCB", "covertype": "LinUCB"}
    given += [f"--agent={agents[name]}"] if name in agents else []
    if name in FILES:
        flag, lines = FILES[name]
        (tmp_path / "data").write_text("\n".join(lines()))
        given.append(f"--{flag}={tmp_path / 'data'}")
    flags.FLAGS(["script", f"--root_dir={tmp_path}", *given])
    script.given = request.param
    yield script
    for name in set(flags.FLAGS) - before:
        delattr(flags.FLAGS, name)
    del sys.modules[module]


def shorten(script, monkeypatch, **constants):
    """Changes the constants of a script, so that it is done in seconds."""
    for constant, value in {"TRAINING_LOOPS": 8, "STEPS_PER_LOOP": 8, **constants}.items():
        assert hasattr(script, constant)
        monkeypatch.setattr(script, constant, value)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("script", SCRIPTS, indirect=True)
def test_a_script_runs_with_the_import_changed(script, regrets, monkeypatch):
    alias, constants = SCRIPTS[script.given]
    assert hasattr(script, alias)
    monkeypatch.setattr(script, alias, adapter)
    shorten(script, monkeypatch, **constants)
    names = {entry.upstream for entry in ENVIRONMENTS.values() if entry.upstream}
    movielens = {"MovieLensPyEnvironment", "MovieLensPerArmPyEnvironment"}
    gin.parse_config([f"{name}.seed = 0" for name in names | movielens])
    try:
        script.main([])
    finally:
        gin.clear_config()
    if regrets and script.given != "dqn":  # which learns slowly; two scripts do not measure regret
        assert np.mean(regrets[-16:]) < 0.4 * np.mean(regrets[: max(8, script.STEPS_PER_LOOP)])


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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("script", ["mushroom", "covertype"], indirect=True)
def test_a_script_of_a_data_set_runs_on_ours(script, regrets, monkeypatch):
    law = {"mushroom": mushroom_rewards()}.get(script.given)

    def environment(data, theirs, batch_size):
        env = ClassificationBandit(data.contexts, data.labels, law, batch_size, seed=0)
        return tf_py_environment.TFPyEnvironment(adapter.as_tf_agents(env))

    def baseline(make):
        return lambda observation, environment: make(environment.pyenv)(observation)

    monkeypatch.setattr(script.ce, "ClassificationBanditEnvironment", environment)
    monkeypatch.setattr(
        script.dataset_utilities, "convert_mushroom_csv_to_tf_dataset", load_mushroom
    )
    monkeypatch.setattr(script.dataset_utilities, "convert_covertype_dataset", load_covertype)
    for what in ("reward", "action"):
        monkeypatch.setattr(
            script.env_util,
            f"compute_optimal_{what}_with_classification_environment",
            baseline(getattr(adapter, f"optimal_{what}_fn")),
        )
    shorten(script, monkeypatch, TRAINING_LOOPS=20, AGENT_ALPHA=1.0)
    script.main([])
    assert np.mean(regrets[-16:]) < 0.4 * np.mean(regrets[:8])
