"""The reference of public names, read from their docstrings without an import.

A comment in a page names a module: all names of its `__all__` follow, or those after a colon.
"""

import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import griffe

from bandit_envs.environments.registry import ENVIRONMENTS
from colab.pages import docstrings
from colab.pages.markdown import fence, first_sentence, paragraphs, prose, table
from colab.pages.places import DOCS, PART, ROOT, relative
from colab.pages.signatures import call_of, line_of

HOOKS = {
    "BanditPyEnvironment": (
        "_initial_state",
        "_draw_rewards",
        "_observe",
        "_available",
        "_expected_rewards",
        "_next_state",
        "_next_episode",
        "_expected_reward",
        "_optimal_action",
        "_state_of",
        "_rendered_values",
    )
}
"""Methods that users override, whose names start with an underscore."""

WITH_INHERITED = "bandit_envs.testing"
"""A module whose classes show what they inherit, too: it is what users call and override."""

WITHOUT_CALL = ("Protocol", "Exception", "Error", "Enum")
"""Ends of names of bases whose classes are shown without a signature."""


@functools.cache
def package() -> Any:
    """Returns the package as its source has it."""
    return griffe.load("bandit_envs", search_paths=[str(ROOT)], resolve_aliases=True)


@functools.cache
def pages_of_names() -> dict[str, Path]:
    """Returns the page on which each name is documented, with its module and without.

    If several names without their modules are equal, it is the page of the last one.
    """
    found = {}
    for page in sorted(DOCS.glob("api/*.md")):
        for part in PART.finditer(page.read_text(encoding="utf-8")):
            if part["writer"] == "reference":
                for name, documented in entries(part["argument"]).items():
                    found[name] = page
                    found[documented.canonical_path] = page
    return found


def entries(argument: str) -> dict[str, Any]:
    """Returns the documented objects of a module by name: those of `__all__`, or of a list."""
    name, _, listed = argument.partition(": ")
    found = find(name)
    names = listed.split(", ") if listed else sorted(found.exports or ())
    if not names:
        raise ValueError(f"{name} has no __all__: name what to document after a colon")
    unknown = [each for each in names if each not in found.members]
    if unknown:
        raise ValueError(f"{name} has no {', '.join(unknown)}")
    return {each: found[each] for each in in_order(names) if is_ours(found[each])}


def is_ours(found: Any) -> bool:
    """Returns whether a name is defined in the package, and not handed on from another one."""
    while found.is_alias:
        if not found.target_path.startswith("bandit_envs."):
            return False
        found = find(found.target_path)
    return True


def in_order(names: Iterable[str]) -> list[str]:
    """Returns names in the order of the alphabet, whatever their case."""
    return sorted(names, key=str.lower)


def find(path: str) -> Any:
    """Returns the object of a dotted path."""
    try:
        return functools.reduce(lambda found, name: found[name], path.split(".")[1:], package())
    except KeyError:
        raise ValueError(f"the package has no {path}, which a page names") from None


def link(name: str, page: Path, home: str = "") -> str:
    """Returns a link from a page to the entry of a name, or the name if it has none.

    Args:
        name: without its module.
        page: where the link stands.
        home: the module that defines the name; by default, any.
    """
    target = pages_of_names().get(f"{home}.{name}" if home else name)
    if target is None:
        return f"`{name}`"
    file = "" if target == page else relative(target, page)
    return f"[`{name}`]({file}#{name.lower()})"


def module(argument: str, page: Path) -> str:
    """Returns the reference of a module, or of some of its names."""
    found = entries(argument)
    name = argument.partition(": ")[0]
    docstring = find(name).docstring
    text = docstring.value if docstring and ": " not in argument else ""
    return paragraphs(prose(text), index(found), *texts(found, page, name))


def docstring(argument: str, page: Path) -> str:
    """Returns the docstring of a module."""
    return docstrings.body(find(argument))


def presets(_: str, page: Path) -> str:
    """Returns the reference of functions that make environments and have no entry elsewhere."""
    makers = [entry.make for entry in ENVIRONMENTS.values() if entry.make is not entry.environment]
    found = {
        make.__name__: find(f"{make.__module__}.{make.__name__}")
        for make in makers
        if make.__name__ not in pages_of_names()
    }
    return paragraphs(index(found), *texts(found, page, ""))


def index(found: dict[str, Any]) -> str:
    """Returns a line for each name."""
    lines = []
    for name, documented in found.items():
        text = documented.docstring.value if documented.docstring else ""
        lines.append((f"[`{name}`](#{name.lower()})", first_sentence(text)))
    return table(("name", "what it is"), lines) if len(lines) > 2 else ""


def texts(found: dict[str, Any], page: Path, name: str) -> Iterable[str]:
    """Yields the entry of each name."""
    for each, documented in found.items():
        target = documented.final_target if documented.is_alias else documented
        yield paragraphs(
            f"### {each}",
            head_of(target),
            docstrings.body(target),
            members_of(target, inherits=name == WITH_INHERITED),
            origin_of(target, page),
        )


def head_of(target: Any) -> str:
    """Returns how to call a function or a class, or the value of anything else."""
    if target.is_function:
        return fence("text", call_of(target, returns=True))
    if not target.is_class:
        is_alias = target.docstring is None
        return fence("text", f"{target.name} = {target.value}") if is_alias else ""
    is_called = not any(str(base).endswith(WITHOUT_CALL) for base in target.bases)
    return fence("text", call_of(target)) if is_called else ""


def origin_of(target: Any, page: Path) -> str:
    """Returns from what a class derives, and a link to the source."""
    source = f"[Source]({relative(target.filepath, page)})"
    bases = [link(name, page) for name in documented_bases(target)] if target.is_class else []
    return f"Derives from {' and '.join(bases)}. {source}" if bases else source


def documented_bases(target: Any) -> list[str]:
    """Returns the names of the nearest bases of a class that have an entry."""
    names: dict[str, None] = {}
    for base in target.resolved_bases:
        is_known = base.name in pages_of_names()
        names.update(dict.fromkeys([base.name] if is_known else documented_bases(base)))
    return list(names)


def members_of(target: Any, *, inherits: bool) -> str:
    """Returns the documented attributes and methods of a class, and the tests of a contract."""
    if not target.is_class:
        return ""
    members = {**target.inherited_members, **target.members} if inherits else target.members
    shown = []
    tests = []
    for name, found in members.items():
        member = found.final_target if found.is_alias else found
        if name.startswith("test_"):
            tests.append(f"- `{name}`")
        elif member.docstring and (not name.startswith("_") or name in hooks_of(target)):
            shown += [f"**`{line_of(member)}`**", docstrings.body(member)]
    return paragraphs(*shown, "**Tests**" if tests else "", "\n".join(tests))


def hooks_of(target: Any) -> tuple[str, ...]:
    """Returns the names of the hooks of a class that its entry shows."""
    return HOOKS.get(target.name, ())
