"""The command `bandit-envs`."""

import argparse
import io
import os
import pkgutil
import shlex
import signal
import sys
import threading
import warnings
from collections.abc import Sequence
from pathlib import Path

from bandit_envs.base.checks import short_repr
from bandit_envs.cli.parser import make_parser
from bandit_envs.names.registry import closest
from bandit_envs.names.users_code import ExitError, exits_as_errors, printable
from bandit_envs.names.visible import visible_lines
from bandit_envs.policies.registry import POLICIES

EXTRAS = {
    "distributed": "dask",
    "ray": "ray",
    "pandas": "logged",
    "pooch": "datasets",
    "pyarrow": "logged",
    "sklearn": "scikit-learn",
    "skops": "scikit-learn",
    "torch": "torch",
}
"""The extra that installs a package, if it is not "cli"."""

FORMAT_WARNING = warnings.formatwarning
"""Python's own."""

INTERRUPTED = 130
"""The exit code after Ctrl-C, as of shells."""


def command() -> int:
    """Runs the command in a process of its own. Once it is done, Ctrl-C has nothing to end."""
    warnings.formatwarning = _format_warning
    code = main()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    names = [thread.name for thread in threading.enumerate() if thread.daemon]
    if names and (code == INTERRUPTED or any(name.endswith("(worker)") for name in names)):
        # Threads of workers may still be in a step. Python ends them where they are, and the
        # process aborts if one of them is in C++ code then.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns 0; 1 after failures, 2 for wrong input, 130 after Ctrl-C."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # ± and ε are not in every encoding
        sys.stdout.reconfigure(errors="replace")
    given = sys.argv[1:] if arguments is None else arguments
    options, unknown = make_parser(given[0] if given else None).parse_known_args(given)
    options.line = shlex.join(["bandit-envs", *given])
    try:
        if unknown:
            hint = _hint(unknown[0], options)
            raise ValueError(f"{options.command} does not take {short_repr(unknown[0])}; {hint}")
        function = pkgutil.resolve_name(options.func)
        with exits_as_errors():
            return int(function(options))
    except ModuleNotFoundError as error:
        extra = EXTRAS.get(str(error.name).partition(".")[0], "cli")
        problem = f'{error.name} is not installed; in a checkout: pip install ".[{extra}]"'
    except ImportError as error:  # what pandas raises without an optional library
        problem = printable(error)
    except BrokenPipeError:  # the reader has enough, as `head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (TypeError, ValueError, OSError, ExitError) as error:
        problem = printable(error)
    except MemoryError as error:
        problem = f"the memory is full: {printable(error)}"
    except KeyboardInterrupt as error:
        is_short = options.command in ("evaluate", "learn", "route", "watch")
        rest = "nothing was written" if is_short else f"this resumes it: {options.line}"
        where = f" in {error}" if str(error) else ""
        print(f"interrupted{where}: {rest}", file=sys.stderr)
        return INTERRUPTED
    print(f"bandit-envs: {problem}", file=sys.stderr)
    return 2


def _format_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    line: str | None = None,
) -> str:
    """Returns what Python prints of a warning, which may have names of columns."""
    shown = visible_lines(str(message))
    return FORMAT_WARNING(shown, category, filename, lineno, line)


def _hint(unknown: str, options: argparse.Namespace) -> str:
    """Returns what somebody may have meant by an argument that a subcommand does not take."""
    known = options.parser.option_names()
    if unknown.partition(":")[0] in POLICIES and "policy" in known:
        return f"did you mean --policy {unknown}?"
    if options.command in ("evaluate", "learn", "apply") and Path(unknown).exists():
        return 'one log is read: a file, a folder, or a pattern in quotes, as "clicks/*.csv"'
    if unknown.partition("=")[0].isidentifier():
        return f"parameters follow a colon, as in ID:{unknown}"
    # Dashes would make any two options resemble each other.
    near = closest(unknown.lstrip("-"), known)
    if near:
        return f"did you mean {' or '.join(f'--{name}' for name in near)}?"
    return f"{options.command} --help all shows all options"
