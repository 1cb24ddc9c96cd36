"""The notebooks: they run from top to bottom, and are stored without what they print."""

import ast
import re
import time
from configparser import ConfigParser
from pathlib import Path

import pytest

from tests import documents

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")

SMALL = {
    "evaluate_your_policy": {"NUM_ROWS": 40, "NUM_STEPS": 20, "NUM_PARTS": 2, "NUM_ENVS": 3},
    "k_armed_testbed": {"NUM_ROWS": 20, "NUM_STEPS": 20},
    "per_arm_bandits_tf_agents": {"NUM_STEPS": 4, "BATCH_SIZE": 5, "NUM_ARMS": 6},
}
PICTURES = {"evaluate_your_policy": 2, "k_armed_testbed": 3, "per_arm_bandits_tf_agents": 4}
LIMIT = 120.0  # seconds
NOTEBOOKS = sorted((documents.ROOT / "colab").glob("*.ipynb"))

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=nbformat.NO_CONVERT)


def code(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def the_sizes(notebook: nbformat.NotebookNode) -> int:
    """Returns the index of the one cell that the sizes stand in."""
    tags = [cell.metadata.get("tags", []) for cell in notebook.cells]
    (index,) = (index for index, of_cell in enumerate(tags) if "parameters" in of_cell)
    return index


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Returns a function that runs a notebook in an empty folder, with its pictures inline."""
    monkeypatch.setenv("PYTHONPATH", str(documents.ROOT))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.delenv("MPLBACKEND", raising=False)
    folder = tmp_path / "notebook"
    folder.mkdir()

    def run_notebook(notebook):
        for cell in code(notebook):
            for match in documents.FRAMEWORKS.finditer(cell.source):
                pytest.importorskip(match["name"], minversion=documents.OLDEST.get(match["name"]))
        resources = {"metadata": {"path": str(folder)}}
        nbclient.NotebookClient(notebook, timeout=LIMIT, resources=resources).execute()
        install = code(notebook)[0]
        assert "pip install" in install.source
        assert not [output for output in install.outputs if "pip" in str(output)]

    return run_notebook


def pictures(notebook: nbformat.NotebookNode) -> int:
    outputs = [output for cell in code(notebook) for output in cell.outputs]
    return sum("image/png" in output.get("data", {}) for output in outputs)


@pytest.mark.parametrize(
    "path",
    [  # TensorFlow takes its time to compile, whatever the sizes
        pytest.param(path, marks=pytest.mark.slow if "tf_agents" in path.stem else ())
        for path in NOTEBOOKS
    ],
    ids=lambda path: path.stem,
)
def test_a_notebook_runs_with_small_sizes(path, run):
    notebook = read(path)
    index = the_sizes(notebook)
    assigned = {
        statement.targets[0].id for statement in ast.parse(notebook.cells[index].source).body
    }
    sizes = SMALL[path.stem]
    assert sizes.keys() <= assigned
    source = "\n".join(f"{name} = {size}" for name, size in sizes.items())
    notebook.cells.insert(index + 1, nbformat.v4.new_code_cell(source))
    run(notebook)
    assert pictures(notebook) == PICTURES[path.stem]


@pytest.mark.slow
@each_notebook
def test_a_notebook_runs_as_it_is_in_two_minutes(path, run):
    notebook = read(path)
    started = time.monotonic()
    run(notebook)
    assert time.monotonic() - started < LIMIT
    assert pictures(notebook) == PICTURES[path.stem]


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
    setup_cfg.read(documents.ROOT / "setup.cfg")
    address = setup_cfg["metadata"]["url"]
    repository = address.removeprefix("https://github.com/")
    notebook = read(path)
    colab = f"https://colab.research.google.com/github/{repository}/blob/main/colab/{path.name}"
    assert f"]({colab})" in notebook.cells[0].source
    installed_from = re.findall(r"git\+(\S+?)\"", code(notebook)[0].source)
    assert installed_from == [address]
    assert f"]({colab})" in (documents.ROOT / "colab/docs/tutorials.md").read_text("utf-8")
