"""What the modules may import, and what each of them has to offer a reader."""

import ast
import dataclasses
import doctest
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import bandit_envs

ROOT = Path(bandit_envs.__file__).parent

# A module imports only what stands before it. `bandit_envs` is the package's own namespace.
ORDER = [
    "checks",
    "state",
    "specs",
    "trajectories",
    "py_environment",
    "bandit_py_environment",
    "sampling",
    "rewards",
    "rendering",
    "environments",
    "wrappers",
    "policies",
    "metrics",
    "drivers",
    "saving",
    "bandit_envs",
    "experiments",
    "plots",
    "commands",
    "cli",
    "__main__",
    "testing",
    "adapters",
]
SHAPE = re.compile(r"\[[A-Z][\w, .+*-]*\]|\[[a-z]\w*, |\[\.\.\.|\b[Ss]hapes?\b|\bnests?\b")
RAISE = re.compile(r"^\s+raise \w", re.MULTILINE)
OURS = {"BatchFunction", "CheckedSampler", "MetricResult"}  # of no model elsewhere
DESCRIBED_TOGETHER = {"TFAgentsBanditEnvironment", "TFAgentsEnvironment"}  # by `as_tf_agents`
LOADED_WHEN_NEEDED = {("rendering", "plots")}  # for a window; pictures and text need NumPy alone
FOREIGN = {
    "experiments": {"filelock", "joblib", "threadpoolctl"},
    "plots": {"matplotlib"},
    "commands": {"rich", "tomli", "tomllib"},  # tomllib is no standard module of 3.10
}


def module_name(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}


def room(name):
    """The name in ORDER of the module or package that a module belongs to."""
    return name.split(".")[1] if "." in name else name


def imports(name):
    """Yields the full names of all that a module imports, and whether at its top level."""
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} has a relative import"
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            found = [module if module in MODULES else node.module for module in inner]
        else:
            continue
        for imported in found:
            yield imported, node in tree.body


def foreign_imports(name):
    for imported, at_top in imports(name):
        top = imported.split(".")[0]
        if top not in sys.stdlib_module_names and top not in ("numpy", "bandit_envs"):
            yield top, at_top


def test_every_module_has_its_place_in_the_order():
    assert {room(name) for name in MODULES} == set(ORDER)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_only_what_stands_before_it(name):
    for imported, at_top in imports(name):
        if imported.split(".")[0] != "bandit_envs" or room(imported) == room(name):
            continue
        if (room(name), room(imported)) in LOADED_WHEN_NEEDED:
            assert not at_top, f"{name} imports {imported} at its top"
            continue
        assert ORDER.index(room(imported)) < ORDER.index(room(name)), f"{name} imports {imported}"


def test_no_two_modules_import_each_other():
    graph = {
        name: {module for module, at_top in imports(name) if module in MODULES and at_top}
        for name in MODULES
    }
    while graph:
        leaves = {name for name, needed in graph.items() if not needed & graph.keys() - {name}}
        assert leaves, f"these import each other in a circle: {sorted(graph)}"
        for name in leaves:
            del graph[name]


@pytest.mark.parametrize("target", ["adapters", "testing"])
def test_nothing_imports_what_is_for_others(target):
    assert not {
        name
        for name in MODULES
        for imported, _ in imports(name)
        if imported.split(".")[0] == "bandit_envs" and room(imported) == target != room(name)
    }


def test_only_running_the_package_imports_the_command_line():
    importers = {n for n in MODULES for module, _ in imports(n) if module == "bandit_envs.cli"}
    assert importers == {"bandit_envs.__main__"}


@pytest.mark.parametrize("name", [name for name in MODULES if room(name) != "adapters"])
def test_only_adapters_import_foreign_frameworks(name):
    assert {top for top, _ in foreign_imports(name)} <= FOREIGN.get(room(name), set())


@pytest.mark.parametrize("name", [name for name in MODULES if room(name) == "adapters"])
def test_adapters_import_their_frameworks_at_the_top(name):
    assert all(at_top for _, at_top in foreign_imports(name))


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


def test_all_but_commands_and_adapters_works_with_numpy_alone():
    names = [name for name in MODULES if ORDER.index(room(name)) <= ORDER.index("bandit_envs")]
    names += [name for name in MODULES if room(name) == "testing"]
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


def load(name):
    """Imports a module, or skips the test where what it needs is not installed, or too old."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if error.name.split(".")[0] == "bandit_envs":
            raise
        pytest.skip(f"{name} needs {error.name}")


READ = [name for name in MODULES if name != "bandit_envs.__main__"]


@pytest.mark.parametrize("name", READ)
def test_the_examples_of_a_module_are_true(name):
    assert doctest.testmod(load(name)).failed == 0


@pytest.mark.parametrize("name", READ)
def test_every_public_name_has_a_docstring(name):
    module = load(name)
    assert module.__doc__, f"{name} has no docstring"
    for key, value in vars(module).items():
        if key.startswith("_") or getattr(value, "__module__", None) != name:
            continue
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), f"{name}.{key} has no docstring"
        if inspect.isclass(value):
            for attribute, member in vars(value).items():
                # gym 0.25 puts a function of its own, without docstring, in the place of `render`.
                ours = getattr(member, "__module__", name).startswith("bandit_envs")
                described = ours and (inspect.isroutine(member) or isinstance(member, property))
                if described and not attribute.startswith(("_", "test_")):
                    place = getattr(value, attribute)
                    assert inspect.getdoc(place) or inspect.getdoc(member), (
                        f"{name}.{key}.{attribute} has no docstring"
                    )


def public(name):
    """Yields the classes and functions that a module offers by `__all__`, with their names."""
    module = load(name)
    for key in getattr(module, "__all__", ()):
        value = getattr(module, key)
        if key not in DESCRIBED_TOGETHER and (inspect.isclass(value) or inspect.isfunction(value)):
            yield f"{name}.{key}", value


def routines(name):
    """Yields the functions that a module offers, and the methods of the classes that it offers.

    Each comes with its name and with what a reader is told of it; of a method, its class says some.
    """
    for place, value in public(name):
        if inspect.isfunction(value):
            yield place, value, inspect.getdoc(value) or ""
            continue
        for key, member in vars(value).items():
            if key == "__init__" and not dataclasses.is_dataclass(value):
                yield f"{place}.{key}", member, inspect.getdoc(value)
            elif inspect.isfunction(member) and not key.startswith("_"):
                told = inspect.getdoc(getattr(value, key))
                yield f"{place}.{key}", member, f"{told}\n{inspect.getdoc(value)}"


@pytest.mark.parametrize("name", READ)
def test_what_takes_or_returns_arrays_says_their_shapes(name):
    for place, routine, told in routines(name):
        if "NDArray" in str(inspect.signature(routine)):
            assert SHAPE.search(told), f"{place} does not say the shapes of its arrays"


@pytest.mark.parametrize("name", READ)
def test_what_raises_says_so(name):
    for place, routine, told in routines(name):
        takes_arguments = len(inspect.signature(routine).parameters) > 1
        if (place.endswith(".__init__") and takes_arguments) or RAISE.search(
            inspect.getsource(routine)
        ):
            assert "Raises:" in told, f"{place} does not say what it raises"


@pytest.mark.parametrize("name", READ)
def test_public_classes_name_their_source(name):
    for place, value in public(name):
        ours = inspect.isclass(value) and value.__module__.startswith("bandit_envs")
        if ours and not inspect.isabstract(value) and value.__name__ not in OURS:
            assert "Source:" in inspect.getdoc(value), f"{place} does not name its source"


@pytest.mark.parametrize("name", bandit_envs.__all__)
def test_every_public_class_has_a_short_example(name):
    value = getattr(bandit_envs, name)
    if not inspect.isclass(value) or inspect.isabstract(value):
        pytest.skip(f"{name} is no class that could be made")
    source = inspect.getdoc(value).splitlines()
    starts = [index for index, line in enumerate(source) if line.startswith(">>>")]
    assert starts, f"{name} has no example"
    assert len(source) - starts[0] <= 8, f"the example of {name} has more than 8 lines"
