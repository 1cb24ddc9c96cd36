"""What words of code in a text name."""

import functools
import re

from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.policies.registry import POLICIES
from colab.pages.public import package

WORD = re.compile(r"(?:help\()?(?P<name>[\w.]+)(\(.*)?\)?", re.DOTALL)
"""A name, a call, or what a page says of `help`."""


def path_of(text: str) -> str:
    """Returns the dotted name of the entry that a word of code may name, or "".

    Words with a meaning of their own are no names, such as `run`, or the id `rising`; written as
    `studies.run` and `environments.rising`, they are.

    >>> path_of("UCBPolicy(c=2.0)"), path_of("StepDriver.run"), path_of("run")
    ('bandit_envs.UCBPolicy', 'bandit_envs.StepDriver.run', '')
    """
    found = WORD.fullmatch(text)
    if not found or found["name"] in {*ENVIRONMENTS, *POLICIES}:
        return ""
    name = found["name"].removeprefix("bandit_envs.")
    owner, _, member = name.rpartition(".")
    if name in paths():
        is_plain = name.islower() and name.isalpha()
        return "" if is_plain else paths()[name]
    return f"{paths()[owner]}.{member}" if owner in paths() else found["name"]


@functools.cache
def paths() -> dict[str, str]:
    """Returns the dotted names of all entries by the ways to write them.

    If two modules have a name, it means the one with the shorter path, or none if they are equal.
    """
    found: dict[str, str] = {}
    for each in package().names():  # the shortest paths come first
        first = found.setdefault(each.name, each.path)
        if first != each.path and first.count(".") == each.path.count("."):
            found[each.name] = ""
        for module in each.sources:
            found[f"{module}.{each.name}".removeprefix("bandit_envs.")] = each.path
    return found
