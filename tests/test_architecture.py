"""What the modules may import, and that their examples are true."""

import ast
import collections
import doctest
import functools
import importlib
import inspect
import linecache
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bandit_envs
from bandit_envs.trajectories import restart
from colab.pages import public

ROOT = Path(bandit_envs.__file__).parent
STOREYS = (
    {
        "arrays",
        "seeding",
        "nests",
        "rounding",
        "specs",
        "syntax",
        "trajectories",
        "rendering",
        "base",
        "names",
    },
    {"environments", "wrappers", "rewards", "sampling", "tables", "datasets"},
    {"drivers", "metrics", "logged", "policies", "running", "showing", "testing"},
    {"bandit_envs"},
    {"studies", "evaluations", "text", "serving", "adapters", "cli", "__main__"},
)
ROOMS_OF_LIBRARIES = {
    "PIL": {"rendering"},
    "cycler": {"studies.showing"},
    "distributed": {"running"},
    "filelock": {"studies.results", "studies.running"},
    "gin": {"adapters.tf_agents"},
    "gym": {"adapters"},
    "gymnasium": {"adapters"},
    "joblib": {"running"},
    "matplotlib": {"evaluations", "rendering", "serving.reports", "showing", "studies"},
    "pandas": {
        "datasets",
        "evaluations",
        "logged.files",
        "policies.split_tests",
        "studies",
        "tables",
    },
    "plotly": {"showing"},
    "pooch": {"datasets"},
    "pyarrow": {"logged.files", "tables"},
    "ray": {"running"},
    "rich": {"cli"},
    "rlberry": {"adapters"},
    "scipy": {"policies.arms", "policies.beliefs", "policies.scikit_learn", "studies.results"},
    "sklearn": {"datasets", "policies.scikit_learn"},
    "skops": {"policies.scikit_learn"},
    "tensorflow": {"adapters.tf_agents"},
    "tensorflow_probability": {"adapters.tf_agents"},
    "tf_agents": {"adapters.tf_agents"},
    "threadpoolctl": {"studies.running"},
    "torch": {"adapters.torch"},
}
"""The packages whose modules may import a library, inside functions too."""

PUBLIC = [
    value
    for package in (bandit_envs, bandit_envs.environments, bandit_envs.policies)
    for value in vars(package).values()
    if inspect.isclass(value) and not inspect.isabstract(value)
]
PUBLIC = list(dict.fromkeys(PUBLIC))


def module_name(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def has_examples(path):
    """Whether a module has an example that doctest runs."""
    return ">>> " in path.read_text(encoding="utf-8")


MODULES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}


def room(name):
    """The module or package at the top level that a module belongs to."""
    return name.split(".")[1] if "." in name else name


def storey(name):
    """How far up a module stands: 0 for the base."""
    (level,) = (level for level, rooms in enumerate(STOREYS) if room(name) in rooms)
    return level


def parse(name):
    return public.package().trees[name]


@functools.cache
def nodes(name):
    """All nodes of the tree of a module."""
    return tuple(ast.walk(parse(name)))


@functools.cache
def imports(name):
    """The full names of all that a module imports, also inside its functions."""
    return tuple(imports_of(name, nodes(name)))


def imports_of(name, nodes):
    """Yields the full names of what some nodes of a module import."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} has a relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else node.module


def imports_at_once(name):
    """Yields what a module imports when it is imported itself."""
    yield from imports_of(name, parse(name).body)


def ours(modules):
    return {module for module in modules if module.split(".")[0] == "bandit_envs"}


def foreign(modules):
    """The packages at the top level that are neither Python's, nor NumPy, nor ours."""
    tops = {module.split(".")[0] for module in modules}
    return tops - {*sys.stdlib_module_names, "numpy", "bandit_envs"}


def check_no_circles(graph):
    """Fails if the nodes of a graph, a dict of what each needs, need each other in a circle."""
    while graph:
        leaves = {name for name, needed in graph.items() if not needed & graph.keys() - {name}}
        assert leaves, f"these import each other in a circle: {sorted(graph)}"
        graph = {name: needed for name, needed in graph.items() if name not in leaves}


def test_a_module_imports_only_from_its_own_storey_or_those_below():
    wrong = [
        f"{name} imports {module}"
        for name in MODULES
        for module in ours(imports(name))
        if storey(module) > storey(name)
    ]
    assert not wrong


@pytest.mark.parametrize(
    ("own", "others"),
    [
        ("studies", {"evaluations", "serving"}),
        ("evaluations", {"studies", "serving"}),
        ("serving", {"studies"}),
    ],
)
def test_rooms_that_show_results_do_not_import_each_other_but_the_service(own, others):
    wrong = []
    for name in MODULES:
        if room(name) == own:
            wrong += [module for module in ours(imports(name)) if room(module) in others]
    assert not wrong


def test_no_rooms_of_the_base_import_each_other_in_a_circle():
    graph = {}
    for name in MODULES:
        if storey(name) == 0:
            needed = {room(module) for module in ours(imports(name)) if storey(module) == 0}
            graph.setdefault(room(name), set()).update(needed)
    check_no_circles(graph)


def test_no_modules_import_each_other_in_a_circle():
    check_no_circles({name: ours(imports(name)) & MODULES.keys() for name in MODULES})


OF_TUPLES = {"_asdict", "_field_defaults", "_fields", "_make", "_replace"}
"""What named tuples have for everyone."""

OF_LIBRARIES = {("adapters", "_policies")}
"""Attributes that objects of other libraries have, too: a mixture of TF-Agents, its policies."""


def is_private(name):
    return name.startswith("_") and not name.startswith("__") and name not in {"_", *OF_TUPLES}


def is_own(node):
    """Whether an expression is `self`, `cls` or `super()`."""
    if isinstance(node, ast.Call):
        node = node.func
    return isinstance(node, ast.Name) and node.id in ("self", "cls", "super")


def is_set(node):
    """Whether a name or an attribute is assigned to."""
    return isinstance(node.ctx, ast.Store)


def defined_in(name):
    """Yields the names that a module defines: functions, classes, attributes, variables."""
    for node in nodes(name):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Name) and is_set(node):
            yield node.id
        elif isinstance(node, ast.Attribute) and is_set(node) and is_own(node.value):
            yield node.attr


def imported_from_other_rooms(name):
    """The names in a module that it imports from other rooms of the package."""
    return {
        alias.asname or alias.name
        for node in nodes(name)
        if isinstance(node, ast.ImportFrom) and node.module.startswith("bandit_envs")
        for alias in node.names
        if room(f"{node.module}.{alias.name}") != room(name)
    }


@functools.cache
def private_names():
    """The private names that each room defines."""
    names = {}
    for name in MODULES:
        found = set(filter(is_private, defined_in(name)))
        names.setdefault(room(name), set()).update(found)
    return names


@functools.cache
def all_private_names():
    return set().union(*private_names().values())


def private_reads(name):
    """Yields the private attributes of other rooms that a module reads or sets."""
    own = private_names()[room(name)]
    all_names = all_private_names()
    others = imported_from_other_rooms(name)
    for node in nodes(name):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and not is_own(node.value):
            is_of_other = isinstance(node.value, ast.Name) and node.value.id in others
            if is_of_other or (node.attr in all_names and node.attr not in own):
                yield node.attr, f"{name}:{node.lineno} reads {ast.unparse(node)}"
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.name in others and is_private(alias.name):
                    yield alias.name, f"{name}:{node.lineno} imports {alias.name}"


def test_no_room_reads_what_is_private_to_another():
    wrong = [
        found
        for name in MODULES
        for attribute, found in private_reads(name)
        if (room(name), attribute) not in OF_LIBRARIES
    ]
    assert not wrong


def imports_by_name(name):
    """Yields what a module imports by `import_extra` or `import_module`, from a text."""
    for node in nodes(name):
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
            function = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            given = node.args[0] if node.args else None
            if function in ("import_extra", "import_module") and isinstance(given, ast.Constant):
                yield given.value


def is_in(name, package):
    """Whether a module is a package of `bandit_envs` or in it."""
    return f"{name}.".startswith(f"bandit_envs.{package}.")


ROOMS_OF_POLICIES = ("learned", "models", "rules", "scikit_learn", "parts")
"""What contextual policies are made of: each room imports only from itself and those before it."""


def room_of_policies(name):
    """The place of the room that a module is in, among `ROOMS_OF_POLICIES`; -1 in no room."""
    for place, inner in enumerate(ROOMS_OF_POLICIES):
        if is_in(name, f"policies.{inner}"):
            return place
    return -1


def test_the_rooms_of_contextual_policies_import_in_one_direction():
    wrong = [
        f"{name} imports {module}"
        for name in MODULES
        for module in ours(imports(name))
        if -1 < room_of_policies(name) < room_of_policies(module)
    ]
    assert not wrong


def test_a_library_is_imported_only_in_its_rooms():
    used = set()
    wrong = []
    for name in MODULES:
        for library in foreign([*imports(name), *imports_by_name(name)]):
            rooms = ROOMS_OF_LIBRARIES.get(library, set())
            used.add(library)
            if not any(is_in(name, package) for package in rooms):
                wrong.append(f"{name} imports {library}")
    assert not wrong
    assert used == ROOMS_OF_LIBRARIES.keys()


def test_one_module_changes_where_python_looks_for_modules():
    found = [name for name, path in MODULES.items() if "sys.path" in path.read_text("utf-8")]
    assert found == ["bandit_envs.names.users_code"]


STAND_INS = (
    "adapters.gym",
    "adapters.gymnasium",
    "adapters.rlberry",
    "adapters.tf_agents.environments",
)
"""Modules that stand in for those of other libraries: they keep the names of these."""

OF_ONE_KIND = {"__init__", "__main__", "presets", "registry"}
"""Names of files that hold the same of different rooms."""


def named_twice(pairs):
    """The names that several modules have, of pairs of a name and a module."""
    found = collections.defaultdict(set)
    for name, module in pairs:
        if not any(is_in(module, place) for place in STAND_INS):
            found[name].add(module)
    return {name for name, modules in found.items() if len(modules) > 1}


def test_no_two_classes_have_one_name():
    """Private ones count, too: one word means one thing to who reads a traceback or a search."""
    classes = [
        (node.name, module)
        for module in MODULES
        for node in nodes(module)
        if isinstance(node, ast.ClassDef)
    ]
    assert not named_twice(classes)


def test_no_two_files_have_one_name():
    files = [(path.stem, module) for module, path in MODULES.items()]
    assert named_twice(files) <= OF_ONE_KIND


def test_a_room_holds_at_most_16_files():
    rooms = collections.Counter(path.parent for path in MODULES.values())
    assert not [f"{room} has {count}" for room, count in rooms.items() if count > 16]


BELOW_STUDIES = [name for name in MODULES if storey(name) < storey("bandit_envs.studies")]


@functools.cache
def need_more():
    """The modules below the studies that import more than NumPy when they are imported."""
    return {name for name in BELOW_STUDIES if foreign(imports_at_once(name))}


def test_modules_that_need_more_than_numpy_are_imported_inside_functions():
    others = set(BELOW_STUDIES) - need_more()
    wrong = {name for name in others if set(imports_at_once(name)) & need_more()}
    assert not wrong


def run_python(program):
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT.parent,
    ).stdout


def test_an_action_of_lin_ucb_goes_through_nine_files_at_most():
    spec = bandit_envs.ArraySpec((3,), "float64")
    policy = bandit_envs.LinUCBPolicy(observation_spec=spec, num_actions=4)
    time_step = restart(np.ones((1, 3)))
    files = set()

    def note(frame, event, argument):
        if event == "call":
            files.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    policy.action(time_step)
    sys.setprofile(before)
    root = str(Path(bandit_envs.__file__).parent)
    assert 1 < len([file for file in files if file.startswith(root)]) <= 9


def test_the_package_loads_numpy_alone_and_so_does_everything_below_the_studies():
    names = [name for name in BELOW_STUDIES if name not in need_more()]
    loaded = run_python(
        "import importlib, importlib.abc, sys, numpy\n"
        "before = set(sys.modules)\n"
        "import bandit_envs\n"
        "print(*{name.split('.')[0] for name in set(sys.modules) - before})\n"
        "class Refuse(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        top = name.split('.')[0]\n"
        "        if top not in sys.stdlib_module_names and top not in ('numpy', 'bandit_envs'):\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Refuse())\n"
        f"for name in {names!r}:\n"
        "    importlib.import_module(name)\n"
    ).split()
    assert set(loaded) - sys.stdlib_module_names <= {"bandit_envs", "numpy"}


NEEDED_BY_EXAMPLES = {
    "bandit_envs.policies.scikit_learn.estimators": "sklearn",
    "bandit_envs.policies.arms.bayes_ucb": "scipy",
    "bandit_envs.policies.scikit_learn.fitted_estimators": "sklearn",
    "bandit_envs.logged.learners.ips_learner": "sklearn",
    "bandit_envs.policies.split_tests.variant_tables": "pandas",
}


def import_module(name):
    """Returns a module, or None and the package that it lacks."""
    try:
        return importlib.import_module(name), None
    except ImportError as error:
        if error.name.split(".")[0] == "bandit_envs":
            raise
        return None, error.name


def test_every_module_can_be_imported_where_its_packages_are_installed():
    for name in MODULES.keys() - {"bandit_envs.__main__"}:
        module, lacking = import_module(name)
        assert (module is None) == (lacking is not None)


@pytest.mark.filterwarnings("ignore::UserWarning")  # of short logs
@pytest.mark.parametrize("name", [name for name, path in MODULES.items() if has_examples(path)])
def test_the_examples_of_a_module_are_true(name):
    module, lacking = import_module(name)
    if lacking is not None:
        pytest.skip(f"{name} needs {lacking}")
    if name in NEEDED_BY_EXAMPLES:
        pytest.importorskip(NEEDED_BY_EXAMPLES[name])
    linecache.clearcache()  # doctest compares each file in it with the disk, for each docstring
    assert doctest.testmod(module).failed == 0


def test_every_public_class_has_a_short_example():
    for each in PUBLIC:
        source = inspect.getdoc(each).splitlines()
        starts = [index for index, line in enumerate(source) if line.startswith(">>>")]
        assert starts, f"{each} has no example"
        assert len(source) - starts[0] <= 8, f"the example of {each} has more than 8 lines"
