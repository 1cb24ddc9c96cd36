"""All public names, and what is promised of each.

A name is public if the package defines it and the `__all__` of a module has it. Names of other
libraries, which some modules hand on, are promised by those. The source is read and not imported,
so the page is the same whichever frameworks are installed.
"""

from __future__ import annotations

import ast
import functools
from typing import NamedTuple

from colab.pages.places import ROOT

PACKAGE = "bandit_envs"

INTERNAL = ("bandit_envs.names.notation", "bandit_envs.policies.learned")
"""Rooms whose `__all__` is for the package itself."""

EXPERIMENTAL = (
    "bandit_envs.adapters.text_gymnasium",
    "bandit_envs.adapters.torch",
    "bandit_envs.environments.arms.knapsack",
    "bandit_envs.environments.contexts.continuous",
    "bandit_envs.environments.registry",
    "bandit_envs.evaluations",
    "bandit_envs.logged.estimators.kernel_estimators",
    "bandit_envs.logged.estimators.late_rewards",
    "bandit_envs.logged.estimators.slate_estimators",
    "bandit_envs.logged.files.slate_tables",
    "bandit_envs.logged.intervals",
    "bandit_envs.logged.estimators.kernels",
    "bandit_envs.logged.learners.model_learner",
    "bandit_envs.logged.learners.warm_start",
    "bandit_envs.logged.registry",
    "bandit_envs.logged.slate_log",
    "bandit_envs.metrics.knapsack_regret",
    "bandit_envs.policies.number_policies",
    "bandit_envs.policies.knapsacks",
    "bandit_envs.policies.parts",
    "bandit_envs.policies.registry",
    "bandit_envs.policies.scikit_learn",
    "bandit_envs.rendering",
    "bandit_envs.serving",
    "bandit_envs.showing",
    "bandit_envs.studies",
    "bandit_envs.tables",
    "bandit_envs.text",
    "bandit_envs.wrappers.budget",
)
"""Modules and packages whose names are experimental. All other public names are stable."""


class Name(NamedTuple):
    """A public name."""

    name: str
    sources: list[str]
    """The modules that hand it on, those with the shortest paths first."""

    home: str
    """The module that defines it."""

    kind: str
    """What it names: "class", "function" or "data"."""

    text: str
    """Its docstring."""

    @property
    def source(self) -> str:
        """The module to import it from."""
        return self.sources[0]

    @property
    def path(self) -> str:
        """Its dotted name, as a user imports it."""
        return f"{self.source}.{self.name}"

    @property
    def room(self) -> str:
        """The module on whose page its entry is: its source, or the next below the package."""
        return self.sources[self.source == PACKAGE and len(self.sources) > 1]

    @property
    def is_experimental(self) -> bool:
        """Whether it may change in any minor version."""
        return is_experimental(self.home)


class Package:
    """The source of the package."""

    def __init__(self) -> None:
        self.trees: dict[str, ast.Module] = {}
        for path in sorted((ROOT / PACKAGE).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            self.trees[name] = ast.parse(path.read_text(encoding="utf-8"))

    def handed_on(self) -> dict[str, list[str]]:
        """Returns the `__all__` of each module that has one, but for internal rooms."""
        found = {}
        for module, tree in self.trees.items():
            for node in tree.body:
                is_list = isinstance(node, ast.Assign) and _targets(node) == ["__all__"]
                if is_list and module not in INTERNAL:
                    found[module] = list(ast.literal_eval(node.value))
        return found

    def names(self) -> list[Name]:
        """Returns all public names, each once, by the module to import it from."""
        found: dict[tuple[str, str], Name] = {}
        handed_on = self.handed_on()
        for module in sorted(handed_on, key=lambda module: (module.count("."), module)):
            for name in sorted(handed_on[module], key=str.lower):
                home, kind, text = self.find(module, name)
                if home in self.trees:
                    each = found.setdefault((home, name), Name(name, [], home, kind, text))
                    each.sources.append(module)
        return list(found.values())

    def find(self, module: str, name: str) -> tuple[str, str, str]:
        """Returns the module that defines a name, the kind of what it names, and its docstring."""
        body = self.trees[module].body
        for place, node in enumerate(body):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        return self._find_imported(str(node.module), alias.name)
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
                kind = "class" if isinstance(node, ast.ClassDef) else "function"
                return module, kind, ast.get_docstring(node) or ""
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and name in _targets(node):
                return module, "data", _text_of(body[place + 1 : place + 2])
        raise ValueError(f"{module} does not define {name}")

    def _find_imported(self, module: str, name: str) -> tuple[str, str, str]:
        """Returns what `find` does; of a name of another library, its module and no text."""
        return self.find(module, name) if module in self.trees else (module, "data", "")


@functools.cache
def package() -> Package:
    """Returns the source of the package, which is read once."""
    return Package()


def file_of(module: str) -> str:
    """Returns the path of the source of a module, in the repository."""
    path = module.replace(".", "/")
    return f"{path}/__init__.py" if (ROOT / path).is_dir() else f"{path}.py"


def is_experimental(module: str) -> bool:
    """Returns whether the names that a module defines are experimental."""
    return any(f"{module}.".startswith(f"{room}.") for room in EXPERIMENTAL)


def _targets(node: ast.Assign | ast.AnnAssign) -> list[str]:
    """Returns the names that a statement assigns to."""
    targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _text_of(nodes: list[ast.stmt]) -> str:
    """Returns the string that stands below an assignment, or ""."""
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return str(node.value.value)
    return ""
