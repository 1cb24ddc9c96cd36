"""The notebooks: they run from top to bottom, and are stored without outputs."""

import ast
import importlib.util
import re
import sys
import time
from configparser import ConfigParser
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "colab").glob("*.ipynb"))
NEEDED = {
    "evaluate_your_policy": ["gymnasium", "joblib", "rich"],
    "first_bandit_tf_agents": ["tf_agents"],
    "neural_bandits": ["torch"],
    "per_arm_bandits_end_to_end": ["pandas", "joblib", "rich"],
    "per_arm_bandits_tf_agents": ["tf_agents"],
    "ranking_tf_agents": ["tf_agents"],
}
SMALL = {
    "evaluate_your_policy": {"NUM_ROWS": 40, "NUM_STEPS": 20, "NUM_PARTS": 2, "NUM_ENVS": 3},
    "first_bandit_tf_agents": {"NUM_STEPS": 5},
    "find_the_best_arm": {"NUM_TESTS": 5, "MOST_USERS": 2000},
    "from_simulation_to_service": {
        "NUM_ROWS": 20,
        "NUM_STEPS": 50,
        "NUM_VISITORS": 600,
        "KILLED_AFTER": (0.7,),
    },
    "k_armed_testbed": {
        "NUM_ROWS": 20,
        "NUM_STEPS": 20,
        "NUM_SWEEP_ROWS": 5,
        "NUM_DRIFT_ROWS": 5,
        "NUM_DRIFT_STEPS": 20,
    },
    "neural_bandits": {
        "NUM_ROWS": 20,
        "NUM_LOOKING_STEPS": 5,
        "FEW_STEPS": 5,
        "NUM_STEPS": 20,
        "TRAIN_STEPS": 1,
    },
    "off_policy_evaluation": {
        "NUM_LOGS": 3,
        "NUM_ROWS": 200,
        "NUM_LEARNING_STEPS": 3,
        "LOG_SIZES": (100, 200),
    },
    "non_stationary_bandits": {
        "NUM_ROWS": 10,
        "NUM_STEPS": 20,
        "NUM_ABRUPT_STEPS": 20,
        "NUM_SWEEP_ROWS": 5,
    },
    "per_arm_bandits_end_to_end": {"BATCH_SIZE": 20, "NUM_STEPS": 30},
    "per_arm_bandits_tf_agents": {
        "NUM_SEEDS": 2,
        "NUM_STEPS": 4,
        "NUM_LIN_UCB_STEPS": 4,
        "BATCH_SIZE": 5,
        "NUM_ARMS": 6,
    },
    "ranking_tf_agents": {"NUM_STEPS": 5},
    "the_zoo": {"NUM_STEPS": 20, "NUM_SLATE_STEPS": 20},
}
LIMIT = 180.0  # seconds

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=nbformat.NO_CONVERT)


def code(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shows_its_pictures(notebook: nbformat.NotebookNode) -> bool:
    source = "".join(cell.source for cell in code(notebook))
    outputs = [output for cell in code(notebook) for output in cell.outputs]
    shown = sum("image/png" in output.get("data", {}) for output in outputs)
    return shown >= source.count("plt.show()") + source.count("Image.fromarray(") > 0


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Returns a function that runs a notebook in an empty folder and checks its pictures."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.delenv("MPLBACKEND", raising=False)
    folder = tmp_path / "notebook"
    folder.mkdir()

    def run_notebook(notebook, name):
        for needed in NEEDED.get(name, []):
            if importlib.util.find_spec(needed) is None:  # without this, it would be installed
                pytest.skip(f"{needed} is not installed")
        resources = {"metadata": {"path": str(folder)}}
        nbclient.NotebookClient(notebook, timeout=LIMIT, resources=resources).execute()
        assert not code(notebook)[0].outputs  # nothing was installed
        assert shows_its_pictures(notebook)

    return run_notebook


@pytest.mark.slow
@each_notebook
def test_a_notebook_its_solutions_and_its_commands_run_with_small_sizes(path, run):
    notebook = read(path)
    (sizes,) = (cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", []))
    assigned = {statement.targets[0].id for statement in ast.parse(sizes.source).body}
    small = SMALL[path.stem]
    assert small.keys() <= assigned
    sizes.source += "".join(f"\n{name} = {size}" for name, size in small.items())
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    solutions = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    commands = re.findall(r"```sh\nbandit-envs (.*?)\n```", text, re.DOTALL)
    solutions += [f"!{sys.executable} -m bandit_envs {command}" for command in commands]
    solutions += ["assert _exit_code == 0"] * bool(commands)
    notebook.cells += map(nbformat.v4.new_code_cell, solutions)
    run(notebook, path.stem)


@pytest.mark.slow
@each_notebook
def test_a_notebook_runs_as_it_is_in_three_minutes(path, run):
    started = time.monotonic()
    run(read(path), path.stem)
    assert time.monotonic() - started < LIMIT


@each_notebook
def test_a_notebook_is_valid_and_of_format_4(path):
    notebook = read(path)
    nbformat.validate(notebook)
    assert notebook.nbformat == 4


@each_notebook
def test_a_notebook_is_stored_without_outputs(path):
    for cell in code(read(path)):
        assert cell.outputs == []
        assert cell.execution_count is None


@each_notebook
def test_a_notebook_opens_and_installs_from_the_address_of_the_project(path):
    setup_cfg = ConfigParser()
    setup_cfg.read(ROOT / "setup.cfg")
    address = setup_cfg["metadata"]["url"]
    repository = address.removeprefix("https://github.com/")
    notebook = read(path)
    colab = f"https://colab.research.google.com/github/{repository}/blob/main/colab/{path.name}"
    assert f"]({colab})" in notebook.cells[0].source
    assert re.findall(r"git\+(\S+?)\"", code(notebook)[0].source) == [address]
    assert f"]({colab})" in (ROOT / "colab/docs/index.md").read_text("utf-8")
