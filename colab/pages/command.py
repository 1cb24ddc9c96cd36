"""The options of the command."""

import argparse
from collections.abc import Iterable
from pathlib import Path

from bandit_envs.cli.help_examples import EXAMPLES
from bandit_envs.cli.parser import make_parser
from bandit_envs.metrics import QUANTITIES
from colab.pages.markdown import fence, paragraphs, table


def subcommands(_: str, page: Path) -> str:
    """Returns a section for each subcommand: what it does, examples, and its options.

    The last section has the panels of figures.
    """
    found = next(action for action in make_parser()._actions if isinstance(action.choices, dict))
    parsers: dict[str, argparse.ArgumentParser] = dict(found.choices or {})
    sections = [section(name, parser) for name, parser in parsers.items()]
    panels = [(f"`{name}`", each.axis) for name, each in QUANTITIES.items() if each.axis]
    panels.append(("`arms`", "The arms of one problem, in place of curves"))
    return paragraphs(*sections, "## Panels", table(("panel", "what it draws"), panels))


def section(name: str, parser: argparse.ArgumentParser) -> str:
    """Returns the section of a subcommand."""
    text = str(parser.description)
    actions = [action for action in parser._actions if not shows_help(action)]
    rows = [(names_of(action), help_of(action)) for action in actions]
    return paragraphs(
        f"## {name}",
        f"{text[0].upper()}{text[1:]}.",
        fence("text", "\n".join(EXAMPLES[name])),
        table(("argument or option", "what it does"), rows),
    )


def shows_help(action: argparse.Action) -> bool:
    """Whether an option only shows a text."""
    return any(name.startswith("--help") for name in action.option_strings)


def names_of(action: argparse.Action) -> str:
    """Returns the names of an option with its value, or the name of an argument."""
    value = value_of(action)
    if not action.option_strings:
        return f"`{value}`"
    return ", ".join(f"`{name} {value}".rstrip() + "`" for name in action.option_strings)


def value_of(action: argparse.Action) -> str:
    """Returns what the user writes for the value, or "" for an option without a value."""
    if action.nargs == 0:
        return ""
    names = action.metavar
    if names is None:
        names = as_choices(action.choices) if action.choices else action.dest.upper()
    if isinstance(names, tuple):
        return " ".join(names)
    if isinstance(action.nargs, int):
        return " ".join([names] * action.nargs)
    forms = {"?": f"[{names}]", "*": f"[{names} ...]", "+": f"{names} [{names} ...]"}
    return forms.get(str(action.nargs), names)


def as_choices(choices: Iterable[object]) -> str:
    """Returns the values that an option takes."""
    return "{" + ",".join(map(str, choices)) + "}"


def help_of(action: argparse.Action) -> str:
    """Returns what an option does."""
    return (action.help or "").replace("%%", "%").replace("*", r"\*")
