"""The command `bandit-envs`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from bandit_envs import __version__
from bandit_envs.experiments import FIGURES
from bandit_envs.policy_specs import PolicySpec

USAGE_ERROR = 2
INTERRUPTED = 130


class _Parser(argparse.ArgumentParser):
    """Says in one line what is wrong."""

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE_ERROR, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command.

    Args:
        arguments: those of the command line if None.

    Returns:
        The exit code: 0; 2 for wrong input; 130 after Ctrl-C.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        from bandit_envs import commands  # noqa: PLC0415  # needs more than NumPy
    except ModuleNotFoundError as error:
        parser.error(f"{error.name} is not installed; expected pip install 'bandit_envs[cli]'")
    try:
        return commands.testbed(options)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        print("interrupted: what was finished is in the output folder", file=sys.stderr)
        return INTERRUPTED


def _parser() -> _Parser:
    parser = _Parser(prog="bandit-envs", description="Batched bandit experiments.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    testbed = commands.add_parser(
        "testbed",
        help="policies on k-armed testbeds: the figures of Sutton & Barto, chapter 2",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Simulates k-armed testbeds (Sutton & Barto, section 2.3) as one batch.",
        epilog="A SPEC is name or name:key=value,key=value, for example\n"
        "  greedy, random, epsilon_greedy:epsilon=0.1,initial_value=0,step_size=0.1,\n"
        "  ucb:c=2, gradient:step_size=0.1,baseline=false, thompson",
    )
    testbed.add_argument(
        "--figure", choices=FIGURES, help="the figure of the book to reproduce (default: 2.2)"
    )
    testbed.add_argument(
        "--policy",
        action="append",
        type=_argument(PolicySpec.parse),
        metavar="SPEC",
        help="a policy; may be given again. Without --figure, these are all that run",
    )
    count = _argument(_count)
    testbed.add_argument("--runs", type=count, default=2000, help="testbeds (default: 2000)")
    testbed.add_argument("--steps", type=count, default=1000, help="pulls in each (default: 1000)")
    testbed.add_argument("--arms", type=count, default=10, help="arms of each (default: 10)")
    testbed.add_argument("--seed", type=_argument(_seed), default=0, help="(default: 0)")
    testbed.add_argument(
        "--output", type=Path, metavar="DIR", help="(default: results/testbed-FIGURE)"
    )
    return parser


def _argument(parse: Any) -> Any:
    """Makes argparse show what `parse` says is wrong, which it does for its own error only."""

    def parsed(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return parsed


def _count(text: str) -> int:
    return _integer(text, minimum=1)


def _seed(text: str) -> int:
    return _integer(text, minimum=0)


def _integer(text: str, minimum: int) -> int:
    expected = f"{text!r}; expected an integer, at least {minimum}"
    try:
        value = int(text)
    except ValueError:
        raise ValueError(expected) from None
    if value < minimum:
        raise ValueError(expected)
    return value
