"""TF-Agents' example scripts as they are installed, with their imports changed and nothing else."""

import importlib.util
import pathlib
import shutil
import types

import numpy as np
import pytest

pytest.importorskip("tf_agents")

import gin
import tensorflow as tf
from absl import flags
from tf_agents.bandits.metrics import tf_metrics

from tests.adapters.changed_imports import change_imports, run_sed

MANY_ROWS = {"BATCH_SIZE": 32, "TRAINING_LOOPS": 5}
MOVIELENS = {"RANK_K": 2, "NUM_ACTIONS": 4}

SCRIPTS = {
    "bernoulli": {"BATCH_SIZE": 32, "TRAINING_LOOPS": 4, "STEPS_PER_LOOP": 12},
    "wheel": {},
    "stationary_linear --num_disabled_actions=2": {},
    "structured_linear": {**MANY_ROWS, "CONTEXT_DIM": 10, "NUM_ACTIONS": 3},
    "sparse_features --agent=NeuralLinUCB": {"TRAINING_LOOPS": 2, "STEPS_PER_LOOP": 2},
    "dqn": {"TRAINING_LOOPS": 4, "STEPS_PER_LOOP": 2},  # it takes two steps at a time
    "per_arm_stationary_linear": {"TRAINING_LOOPS": 4},
    "ranking": {"NUM_ITEMS": 20, "TRAINING_LOOPS": 2, "STEPS_PER_LOOP": 2},
    "movielens": {**MOVIELENS, "TRAINING_LOOPS": 30, "STEPS_PER_LOOP": 2},
    "movielens --per_arm": {**MOVIELENS, **MANY_ROWS},
    "drifting_linear": {**MANY_ROWS, "AGENT_ALPHA": 1.0},
    "piecewise_linear": {**MANY_ROWS, "AGENT_ALPHA": 1.0},
    "mushroom": {**MANY_ROWS, "AGENT_ALPHA": 1.0},
    "covertype --agent=LinUCB": {
        "BATCH_SIZE": 32,
        "TRAINING_LOOPS": 20,
        "STEPS_PER_LOOP": 2,
        "AGENT_ALPHA": 1.0,
    },
}
"""A script with flags, and the constants that make it less work."""


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
    """The module of a script with changed imports. Its flags are forgotten afterwards."""
    name, *given = request.param.split()
    before = set(flags.FLAGS)
    path = copy_script(name, tmp_path)
    change_imports(tmp_path)
    script = types.ModuleType(name)
    exec(compile(path.read_text(), path, "exec"), vars(script))
    if name in FILES:
        flag, lines = FILES[name]
        (tmp_path / "data").write_text("\n".join(lines()))
        given.append(f"--{flag}={tmp_path / 'data'}")
    flags.FLAGS(["script", f"--root_dir={tmp_path}", *given])
    for constant, value in {"TRAINING_LOOPS": 8, "STEPS_PER_LOOP": 8}.items():
        setattr(script, constant, value)
    for constant, value in SCRIPTS[request.param].items():
        assert hasattr(script, constant)
        setattr(script, constant, value)
    yield script
    for name in set(flags.FLAGS) - before:
        delattr(flags.FLAGS, name)


def copy_script(name, folder):
    """Copies an installed script into a folder; returns the path of the copy."""
    found = importlib.util.find_spec(f"tf_agents.bandits.agents.examples.v2.train_eval_{name}")
    return pathlib.Path(shutil.copy(found.origin, folder))


@pytest.mark.posix
@pytest.mark.skipif(shutil.which("sed") is None, reason="needs sed")
def test_one_line_of_sed_changes_scripts_as_the_lines_of_python_do(tmp_path):
    folders = [tmp_path / "by_sed", tmp_path / "by_python"]
    for folder in folders:
        folder.mkdir()
        for script in SCRIPTS:
            copy_script(script.split()[0], folder)
    run_sed(folders[0], ".py")
    change_imports(folders[1])
    paths = sorted(folders[1].iterdir())
    assert len(paths) == 13
    for path in paths:
        text = path.read_text(encoding="utf-8")
        assert "from bandit_envs.adapters.tf_agents.environments import" in text
        assert (folders[0] / path.name).read_text(encoding="utf-8") == text


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("script", SCRIPTS, indirect=True)
def test_a_script_runs_with_its_imports_changed_and_its_agent_learns(script, regrets):
    classes = [
        "BernoulliPyEnvironment",
        "ClassificationBanditEnvironment",
        "DriftingLinearDynamics",
        "MovieLensPerArmPyEnvironment",
        "MovieLensPyEnvironment",
        "PiecewiseStationaryDynamics",
        "RankingPyEnvironment",
        "StationaryStochasticPerArmPyEnvironment",
        "StationaryStochasticPyEnvironment",
        "WheelPyEnvironment",
    ]
    gin.parse_config([f"{name}.seed = 0" for name in classes])
    try:
        script.main([])
    finally:
        gin.clear_config()
    if regrets and script.__name__ != "dqn":  # which learns slowly; two scripts measure no regret
        first = regrets[: max(8, script.STEPS_PER_LOOP)]
        assert np.mean(regrets[-16:]) < 0.4 * np.mean(first)
