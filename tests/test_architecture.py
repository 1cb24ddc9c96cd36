"""What the modules may import, and that their examples are true."""

import ast
import doctest
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import bandit_envs

ROOT = Path(bandit_envs.__file__).parent
STOREYS = (
    {"base", "specs", "trajectories", "rendering"},
    {"environments", "wrappers", "rewards", "sampling", "datasets"},
    {"drivers", "metrics", "logged", "policies", "testing"},
    {"bandit_envs"},
    {"studies", "adapters", "cli", "__main__"},
)
FOREIGN = {
    "cli": {"rich"},
    "datasets": {"pandas", "pooch", "sklearn"},
    "logged": {"pandas", "pyarrow", "sklearn"},
    "rendering": {"matplotlib"},
    "studies": {
        "distributed",
        "filelock",
        "joblib",
        "matplotlib",
        "pandas",
        "pyarrow",
        "ray",
        "threadpoolctl",
        "tomli",
        "tomllib",
    },
}
PUBLIC = [
    value
    for value in vars(bandit_envs).values()
    if inspect.isclass(value) and not inspect.isabstract(value)
]


def module_name(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}


def room(name):
    """The module or package at the top level that a module belongs to."""
    return name.split(".")[1] if "." in name else name


def storey(name):
    """How far up a module stands: 0 for the base."""
    (level,) = (level for level, rooms in enumerate(STOREYS) if room(name) in rooms)
    return level


def imports(name):
    """Yields the full names of all that a module imports, also inside its functions."""
    for node in ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} has a relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else node.module


def ours(name):
    return {module for module in imports(name) if module.split(".")[0] == "bandit_envs"}


def foreign(name):
    tops = {module.split(".")[0] for module in imports(name)}
    return {top for top in tops if top not in {*sys.stdlib_module_names, "numpy", "bandit_envs"}}


def test_a_module_imports_only_from_its_own_storey_or_those_below():
    wrong = [
        f"{name} imports {module}"
        for name in MODULES
        for module in ours(name)
        if storey(module) > storey(name)
    ]
    assert not wrong


def test_no_modules_import_each_other_in_a_circle():
    graph = {name: ours(name) & MODULES.keys() for name in MODULES}
    while graph:
        leaves = {name for name, needed in graph.items() if not needed & graph.keys() - {name}}
        assert leaves, f"these import each other in a circle: {sorted(graph)}"
        for name in leaves:
            del graph[name]


def test_only_adapters_studies_and_figures_import_more_than_numpy():
    found = {
        (name, package)
        for name in MODULES
        if room(name) != "adapters"
        for package in foreign(name) - FOREIGN.get(room(name), set())
    }
    assert not found


def run_python(program):
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT.parent,
    ).stdout


def test_importing_the_package_loads_numpy_and_nothing_else():
    loaded = run_python(
        "import sys, numpy\n"
        "before = set(sys.modules)\n"
        "import bandit_envs\n"
        "print(*{name.split('.')[0] for name in set(sys.modules) - before})"
    ).split()
    assert set(loaded) - sys.stdlib_module_names <= {"bandit_envs", "numpy"}


def test_everything_below_the_studies_works_with_numpy_alone():
    names = [name for name in MODULES if storey(name) < storey("bandit_envs.studies")]
    names.remove("bandit_envs.rendering.figure")
    run_python(
        "import importlib, importlib.abc, sys\n"
        "class Refuse(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        top = name.split('.')[0]\n"
        "        if top not in sys.stdlib_module_names and top not in ('numpy', 'bandit_envs'):\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Refuse())\n"
        f"for name in {names!r}:\n"
        "    importlib.import_module(name)\n"
    )


@pytest.mark.parametrize("name", [name for name in MODULES if name != "bandit_envs.__main__"])
def test_the_examples_of_a_module_are_true(name):
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        if error.name.split(".")[0] == "bandit_envs":
            raise
        pytest.skip(f"{name} needs {error.name}")
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("public", PUBLIC, ids=lambda public: public.__name__)
def test_every_public_class_has_a_short_example(public):
    source = inspect.getdoc(public).splitlines()
    starts = [index for index, line in enumerate(source) if line.startswith(">>>")]
    assert starts, f"{public} has no example"
    assert len(source) - starts[0] <= 8, f"the example of {public} has more than 8 lines"
