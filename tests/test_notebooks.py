"""The notebooks: they run from top to bottom, and are stored without outputs."""

import ast
import importlib.util
import os
import re
import shlex
from configparser import ConfigParser
from pathlib import Path

import pytest

from tests import command_line
from tests.notebooks import Notebook, run_code, source

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "colab" / "docs"
NOTEBOOKS = sorted((ROOT / "colab").glob("*.ipynb"))
NEEDED = {
    "evaluate_your_policy": ["IPython", "gymnasium", "joblib", "rich"],
    "first_bandit_tf_agents": ["tf_agents"],
    "neural_bandits": ["torch"],
    "per_arm_bandits_end_to_end": ["pandas", "joblib", "rich"],
    "per_arm_bandits_tf_agents": ["tf_agents"],
    "ranking_tf_agents": ["tf_agents"],
    "the_zoo": ["IPython"],
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
        "NUM_SEEDS": 1,
        "NUM_STEPS": 4,
        "NUM_LIN_UCB_STEPS": 4,
        "BATCH_SIZE": 5,
        "NUM_ARMS": 6,
    },
    "ranking_tf_agents": {"NUM_STEPS": 5},
    "the_zoo": {"NUM_STEPS": 20, "NUM_SLATE_STEPS": 20},
}
LIMIT = 180.0  # seconds of CPU
SCREEN = 50  # lines
SHOWS = "plt.show()", "Image.fromarray("
WITHOUT_EXERCISES = {"from_simulation_to_service", "the_zoo"}  # these show, and do not teach
NUMBERS = {"Two": 2, "Three": 3, "Four": 4, "Six": 6}

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Returns a function that runs cells, and then commands, in an empty folder."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    folder = tmp_path / "notebook"
    scripts = tmp_path / "scripts"
    folder.mkdir()
    scripts.mkdir()

    def run_cells(name, cells, commands=()):
        for needed in NEEDED.get(name, []):
            if importlib.util.find_spec(needed) is None:
                pytest.skip(f"{needed} is not installed")
        expected = sum(cell.count(shows) for cell in cells for shows in SHOWS)
        assert run_code(cells, folder, scripts) >= expected > 0
        monkeypatch.chdir(folder)
        for command in commands:
            assert command_line.run(*shlex.split(command.replace("\\\n", ""))).code == 0

    return run_cells


@pytest.mark.slow
@each_notebook
def test_a_notebook_its_solutions_and_its_commands_run_with_small_sizes(path, run):
    notebook = Notebook(path)
    sizes = notebook.code[notebook.parameters]
    assigned = {statement.targets[0].id for statement in ast.parse(sizes).body}
    small = SMALL[path.stem]
    assert small.keys() <= assigned
    cells = notebook.code.copy()
    cells[notebook.parameters] += "".join(f"\n{name} = {size}" for name, size in small.items())
    cells += re.findall(r"```python\n(.*?)```", notebook.text, re.DOTALL)
    run(path.stem, cells, re.findall(r"```sh\nbandit-envs (.*?)\n```", notebook.text, re.DOTALL))


@pytest.mark.slow
@each_notebook
def test_a_notebook_runs_as_it_is_in_three_minutes(path, run):
    started = sum(os.times()[:4])
    run(path.stem, Notebook(path).code)
    assert sum(os.times()[:4]) - started < LIMIT


@each_notebook
def test_a_notebook_is_valid_and_of_format_4(path):
    nbformat = pytest.importorskip("nbformat")
    content = Notebook(path).content
    nbformat.validate(content)
    assert content["nbformat"] == 4


@each_notebook
def test_a_notebook_is_stored_without_outputs(path):
    for cell in Notebook(path).cells:
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None


@each_notebook
def test_a_notebook_shows_a_picture_within_the_first_screen(path):
    lines = 0
    for cell in Notebook(path).cells:
        lines += 1 if cell["metadata"].get("cellView") == "form" else len(cell["source"])
        if cell["cell_type"] == "code" and any(shows in source(cell) for shows in SHOWS):
            break
    assert lines <= SCREEN


@each_notebook
def test_the_cells_that_install_and_import_are_folded_below_a_title(path):
    notebook = Notebook(path)
    folded = [cell for cell in notebook.cells if cell["metadata"].get("cellView") == "form"]
    assert list(map(source, folded)) == notebook.code[:2]
    assert all(cell.startswith("# @title ") for cell in notebook.code[:2])


@each_notebook
def test_each_size_of_a_notebook_is_a_field_of_a_form(path):
    notebook = Notebook(path)
    lines = notebook.code[notebook.parameters].splitlines()
    assigned = [line for line in lines if " = " in line and not line.startswith("#")]
    assert assigned
    assert all(re.search(r'  # @param \{type:"(integer|number|raw)"\}$', line) for line in assigned)


@each_notebook
def test_a_notebook_that_teaches_has_the_exercises_that_it_promises(path):
    text = Notebook(path).text
    promised = re.findall(r"(\w+)\s+exercises\s+with\s+solutions", text)
    solutions = text.count("<summary>Solution</summary>")
    assert [NUMBERS[number] for number in promised] == ([solutions] if solutions else [])
    assert bool(solutions) == (path.stem not in WITHOUT_EXERCISES)


@each_notebook
def test_each_page_that_a_notebook_names_is_there(path):
    titles = {page.read_text("utf-8").partition("\n")[0] for page in DOCS.glob("*.md")}
    for names in re.findall(r"[Pp]ages?\s+(\*.*?)\s+of\s+the\s+documentation", Notebook(path).text):
        assert {f"# {name}" for name in re.findall(r"\*(.+?)\*", names)} <= titles


@each_notebook
def test_a_notebook_opens_and_installs_from_the_address_of_the_project(path):
    setup_cfg = ConfigParser()
    setup_cfg.read(ROOT / "setup.cfg")
    address = setup_cfg["metadata"]["url"]
    repository = address.removeprefix("https://github.com/")
    notebook = Notebook(path)
    colab = f"https://colab.research.google.com/github/{repository}/blob/main/colab/{path.name}"
    assert f"]({colab})" in notebook.text
    assert re.findall(r"git\+(\S+?)\"", notebook.code[0]) == [address]
    assert f"]({colab})" in (DOCS / "index.md").read_text("utf-8")
