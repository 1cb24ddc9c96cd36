"""Which names are public, what is promised of each, and that pages import no others."""

import ast
import functools
import importlib
import json
import re
from pathlib import Path

import pytest

import bandit_envs
from colab.pages import public
from colab.pages.places import pages

ROOT = Path(__file__).parents[1]
PACKAGE = Path(bandit_envs.__file__).parent
MAX_AT_THE_TOP = 90
MAX_IN_LOGGED = 56
EXPERIMENTAL = "Experimental: "


@functools.cache
def public_names():
    return public.package().names()


@functools.cache
def handed_on():
    """The `__all__` of each module that has one."""
    return public.package().handed_on()


MODULES = [
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(PACKAGE.rglob("*.py"))
    if re.search("^__all__ = ", path.read_text(encoding="utf-8"), re.M)
]


def test_few_names_are_at_the_top_and_all_of_them_are_stable():
    assert len(bandit_envs.__all__) <= MAX_AT_THE_TOP
    assert len(handed_on()["bandit_envs.logged"]) <= MAX_IN_LOGGED
    at_the_top = [each for each in public_names() if each.source == "bandit_envs"]
    assert {each.name for each in at_the_top} == set(bandit_envs.__all__)
    assert [each.name for each in at_the_top if each.is_experimental] == []


def test_every_public_name_is_explained_in_a_sentence():
    assert [each.name for each in public_names() if not each.text] == []


def test_nothing_is_promised_of_the_names_of_other_libraries():
    room = "bandit_envs.adapters.tf_agents.environments.environment_utilities"
    assert "context_sampling_fn" in handed_on()[room]
    assert [each for each in public_names() if not each.home.startswith("bandit_envs.")] == []


@pytest.mark.parametrize("module", [name for name in MODULES if name not in public.INTERNAL])
def test_a_module_has_all_names_that_it_hands_on(module):
    try:
        imported = importlib.import_module(module)
    except ImportError as error:
        pytest.skip(f"{module} needs {error.name}")
    assert [name for name in handed_on()[module] if not hasattr(imported, name)] == []


@pytest.mark.parametrize("room", public.EXPERIMENTAL)
def test_what_is_experimental_says_so(room):
    assert EXPERIMENTAL in ast.get_docstring(public.package().trees[room])
    for each in public_names():
        if f"{each.home}.".startswith(f"{room}.") and not public.is_experimental(each.source):
            assert EXPERIMENTAL in each.text, f"{each.home}.{each.name} does not say it"


def test_what_is_stable_does_not_say_that_it_is_experimental():
    wrong = [
        each.name
        for each in public_names()
        if EXPERIMENTAL in each.text and not each.is_experimental
    ]
    assert wrong == []


def blocks_of(path):
    """Yields the Python code of a page or a notebook."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        yield from ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    else:
        yield from re.findall(r"^```(?:\{code-block\} )?python\n(.*?)^```", text, re.M | re.S)


def imports_of(code):
    """Yields the modules and names that lines of code import from the package."""
    pattern = r"^(?:>>> )?from (bandit_envs[\w.]*) import (?:\(([^)]*)\)|([^\n(]+))"
    for module, many, one in re.findall(pattern, code, re.M):
        for given in (many or one.partition("#")[0]).split(","):
            if given.strip():
                yield module, given.split()[0]


PAGES = [
    ROOT / "README.md",
    *pages(),
    *sorted((ROOT / "colab").glob("*.ipynb")),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_imports_public_names_only(page):
    for code in blocks_of(page):
        for module, name in imports_of(code):
            is_module = f"{module}.{name}" in public.package().trees
            assert is_module or name in handed_on().get(module, ()), f"{module} hands on no {name}"


def bindings_of(module):
    """Returns the names that a module defines or imports."""
    found = set()
    for node in public.package().trees[module].body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update(alias.asname or alias.name for alias in node.names)
        else:
            found.update(each.id for each in ast.walk(node) if isinstance(each, ast.Name))
    return found


def leads_somewhere(dotted):
    """Returns whether a dotted name is one of the package, as far as its modules say."""
    parts = ["bandit_envs", *dotted.removeprefix("bandit_envs.").split(".")]
    known = [n for n in range(1, len(parts) + 1) if ".".join(parts[:n]) in public.package().trees]
    module = ".".join(parts[: max(known)])
    return max(known) == len(parts) or parts[max(known)] in bindings_of(module)


@functools.cache
def rooms():
    """Packages by which pages call names; matplotlib has names that begin with `text`, too."""
    return {name.split(".")[1] for name in public.package().trees if name.count(".") > 1} - {"text"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_dotted_name_in_a_text_is_one_of_the_package(page):
    text = page.read_text(encoding="utf-8")
    found = re.findall(r"`((?:bandit_envs\.)?(\w+)\.[A-Za-z_][\w.]*\w)(?:\(.*?\))?`", text)
    wrong = [dotted for dotted, room in found if room in rooms() and not leads_somewhere(dotted)]
    assert not wrong


LIBRARY = ("datasets", "evaluations", "logged", "serving", "showing", "studies", "tables", "text")
"""The rooms above the core, without the command."""


def names_above_the_core():
    """Returns the names in an `__all__` of any module of these rooms, each once."""
    names = set()
    for module, found in handed_on().items():
        if module.split(".")[1:2] and module.split(".")[1] in LIBRARY:
            names |= set(found)
    return names


def test_few_names_are_public_above_the_core():
    assert len(names_above_the_core()) <= 130


def test_a_page_or_notebook_names_all_that_is_public_above_the_core():
    named = set()
    for page in PAGES:
        spans = re.findall(r"`([^`\n]+)`", page.read_text(encoding="utf-8"))
        for code in (*spans, *blocks_of(page)):
            named.update(re.findall(r"\w+", code))
    assert names_above_the_core() - named == set()
