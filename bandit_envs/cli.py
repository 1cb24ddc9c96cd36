"""The command `bandit-envs`."""

from __future__ import annotations

import _thread
import argparse
import contextlib
import io
import math
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from bandit_envs import __version__
from bandit_envs.base.checks import MAX_PARAMETER
from bandit_envs.studies.book import FIGURES

USAGE_ERROR = 2
INTERRUPTED = 130
AGAIN_SECONDS = 0.05
"""How often is looked for an interrupt that was dropped."""
BACKENDS = ("loky", "threading", "dask", "ray")
SPECS = """A SPEC is name or name:key=value,key=value, for example
  greedy, random, epsilon_greedy:epsilon=0.1,initial_value=0,step_size=0.1,
  ucb:c=2, gradient:step_size=0.1,baseline=false, thompson,
  lin_ucb:alpha=1, linear_thompson:alpha=1, linear_epsilon_greedy:epsilon=0.1"""


class _Parser(argparse.ArgumentParser):
    """Says in one line what is wrong."""

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE_ERROR, f"{self.prog}: {' '.join(message.split())}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command.

    Args:
        arguments: those of the command line if None.

    Returns:
        The exit code: 0; 1 if something failed while it ran; 2 for wrong input; 130 after Ctrl-C.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):  # ± and ε are not in every encoding
        sys.stdout.reconfigure(errors="replace")
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        from bandit_envs import commands  # noqa: PLC0415  # needs more than NumPy

        run: Callable[[argparse.Namespace], int] = getattr(commands, options.run)
        with _no_interrupt_dropped():
            return run(options)
    except ModuleNotFoundError as error:
        extra = error.name if error.name in ("distributed", "ray") else "cli"
        extra = extra.replace("distributed", "dask")
        parser.error(f"{error.name} is not installed; expected pip install 'bandit_envs[{extra}]'")
    except (ValueError, OSError) as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        print("interrupted: what was finished is in the output folder", file=sys.stderr)
        return INTERRUPTED


@contextlib.contextmanager
def _no_interrupt_dropped() -> Iterator[None]:
    """Sends Ctrl-C again where it met a destructor, out of which Python lets no exception."""
    hook = sys.unraisablehook
    was_dropped = False
    over = threading.Event()

    def note(dropped: Any) -> None:
        nonlocal was_dropped
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            was_dropped = True
        else:
            hook(dropped)

    def send_again() -> None:
        nonlocal was_dropped
        while not over.wait(AGAIN_SECONDS):
            if was_dropped:
                was_dropped = False
                if sys.platform == "win32":
                    _thread.interrupt_main()
                else:  # as a terminal does, which also wakes a main thread that waits
                    os.kill(os.getpid(), signal.SIGINT)

    sys.unraisablehook = note
    sender = threading.Thread(target=send_again, daemon=True)
    sender.start()
    try:
        yield
    finally:
        sys.unraisablehook = hook
        over.set()
        sender.join()  # lest it interrupts what comes after


def _parser() -> _Parser:
    parser = _Parser(prog="bandit-envs", description="Batched bandit experiments.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, text: str, epilog: str = "") -> _Parser:
        subparser: _Parser = commands.add_parser(
            name,
            help=text,
            description=text,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        subparser.set_defaults(run=name.replace("-", "_"))
        return subparser

    testbed = command("testbed", "the figures of Sutton & Barto, chapter 2", SPECS)
    testbed.add_argument("--figure", choices=FIGURES, help="the figure to reproduce (default: 2.2)")
    _add_number(testbed, "--arms", 10, "arms of each testbed", _count)
    _add_study_options(testbed, runs=2000, workers=1, folder="results/testbed-FIGURE")

    per_arm = command("per-arm", "contextual policies on a bandit with per-arm features", SPECS)
    _add_number(per_arm, "--global-dim", 40, "features of a row", _count)
    _add_number(per_arm, "--arm-dim", 50, "features of an arm", _count)
    _add_number(per_arm, "--arms", 70, "arms", _count)
    _add_number(per_arm, "--batch-size", 20, "rows", _count)
    _add_number(per_arm, "--noise", 1.0, "standard deviation of a reward", _noise)
    _add_study_options(per_arm, runs=10, workers=_cores(), folder="results/per-arm")

    sweep = command("sweep", "all that a study file names, on one machine or a cluster")
    sweep.add_argument("study", type=Path, metavar="STUDY.toml")
    sweep.add_argument("--backend", choices=BACKENDS, default="loky", help="(default: loky)")
    _add_number(sweep, "--workers", _cores(), "processes or threads", _count)
    sweep.add_argument("--address", metavar="ADDR", help="of a running Dask or Ray cluster")
    _add_output(sweep, "results/STUDY")
    sweep.add_argument("--dry-run", action="store_true", help="only say what would be done")

    report = command("report", "the table and the figure of what is in a results folder")
    report.add_argument("folder", type=Path, metavar="DIR")
    return parser


def _add_study_options(parser: _Parser, runs: int, workers: int, folder: str) -> None:
    parser.add_argument(
        "--policy",
        action="append",
        type=_argument(_policy),
        metavar="SPEC",
        help="a policy; may be given again",
    )
    _add_number(parser, "--runs", runs, "independent repetitions", _count)
    _add_number(parser, "--steps", 1000, "pulls in each", _count)
    _add_number(parser, "--seed", 0, "of everything", _seed)
    _add_number(parser, "--workers", workers, "processes", _count)
    _add_output(parser, folder)


def _add_number(
    parser: _Parser, name: str, default: float, text: str, parse: Callable[[str], Any]
) -> None:
    text = f"{text} (default: {default})"
    parser.add_argument(name, type=_argument(parse), default=default, metavar="N", help=text)


def _add_output(parser: _Parser, default: str) -> None:
    text = f"where the results go (default: {default})"
    parser.add_argument("--output", type=Path, metavar="DIR", help=text)


def _argument(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """Makes argparse show what `parse` says is wrong, which it does for its own error only."""

    def parsed(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return parsed


def _policy(text: str) -> Any:
    from bandit_envs.studies.specs import PolicySpec  # noqa: PLC0415  # slow for --help

    return PolicySpec.parse(text)


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


def _noise(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 <= value <= MAX_PARAMETER:
        raise ValueError(f"{text!r}; expected a number, at least 0 and at most {MAX_PARAMETER:g}")
    return value


def _cores() -> int:
    return os.cpu_count() or 1
