"""The reference of the command, written from its parser."""

import argparse
import re

from bandit_envs.cli.parser import make_parser


def command() -> str:
    """Returns the usage and the options of every subcommand as Markdown."""
    parser = make_parser()
    parts = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, subparser in action.choices.items():
                parts += [f"## {name}", *_subcommand(subparser)]
    return "\n\n".join(parts)


def _subcommand(parser: argparse.ArgumentParser) -> list[str]:
    text = parser.description or ""
    usage = parser.format_usage().removeprefix("usage: ").strip()
    parts = [f"{text[:1].upper()}{text[1:]}.", f"```text\n{usage}\n```"]
    for action in parser._actions:
        if not isinstance(action, argparse._HelpAction):
            parts.append(f"{_written(action)}\n: {_meaning(action)}")
    return parts


def _written(action: argparse.Action) -> str:
    """Returns how a user writes an option or argument."""
    value = str(action.metavar or action.dest.upper())
    if action.choices:
        value = "{" + ",".join(map(str, action.choices)) + "}"
    times = action.nargs if isinstance(action.nargs, int) else 1
    return f"`{' '.join([*action.option_strings[-1:], *[value] * times])}`"


def _meaning(action: argparse.Action) -> str:
    code = re.compile(r"`[^`]*`|--[a-z]+|\w+_\w+")
    text = code.sub(lambda found: f"`{found[0].strip('`')}`", action.help or "")
    return f"{text[:1].upper()}{text[1:]}."
