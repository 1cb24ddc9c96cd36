"""Options that several subcommands of `bandit-envs` have."""

import argparse
import itertools
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from bandit_envs.base.checks import short_repr
from bandit_envs.cli.help import Parser
from bandit_envs.running.backends import BACKENDS, CLUSTERS
from bandit_envs.tables.roles import ROLES


class Workers(NamedTuple):
    """Who does the work, as `start_workers` names it."""

    backend: str
    workers: int
    address: str | None = None


class StoreOnce(argparse.Action):
    """Keeps the value of an option, and refuses a second one."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Keeps the value; ends with an error if there is one already."""
        if getattr(namespace, self.dest) is not None:
            parser.error(f"{option_string} is given twice; expected one")
        setattr(namespace, self.dest, values)


def add_column(group: argparse._ActionsContainer, role: str, more: str, **options: Any) -> None:
    """Adds the option of the column of a role, which has its name.

    Args:
        group: of options, or a parser.
        role: one of `ROLES`, which says what the column is.
        more: what the help says after that.
        options: of `add_argument`.
    """
    text = f"column {ROLES[role].says}{more}"
    group.add_argument(f"--{role}", **{"metavar": "COLUMN", "help": text, **options})


def add_policies(parser: Parser, text: str) -> None:
    """Adds the option of policies, which may be repeated."""
    parser.add_argument("--policy", action="append", metavar="SPEC", help=text)


def add_sizes(parser: Parser) -> None:
    """Adds the options of how much is run."""
    text = "independent runs (default: 2000, or 10 where rows share a problem)"
    parser.add_argument("--runs", type=int, metavar="N", help=text)
    text = "steps in a run (default: 1000)"
    parser.add_argument("--steps", type=int, metavar="N", help=text)
    text = "base random seed (default: 0)"
    parser.add_argument("--seed", type=int, metavar="N", help=text)


def add_views(parser: Parser) -> None:
    """Adds the options of what tables and figures show."""
    add_panels(parser)
    text = "show medians and these quantiles over runs, such as 0.1 0.9, in place of means"
    parser.group("figures and tables").add_argument(
        "--quantiles", type=float, nargs=2, metavar="Q", help=text
    )


def add_panels(parser: Parser) -> None:
    """Adds the option of what figures draw."""
    text = "what the figure draws over steps, such as reward,regret; a wrong name lists all"
    parser.add_argument("--panels", type=split_names, metavar="A,B,C", help=text)


def add_latex(container: argparse._ActionsContainer) -> None:
    """Adds the option of a table of LaTeX."""
    text = "also write a table of LaTeX for a paper to a file ending in .tex"
    container.add_argument("--latex", type=Path, metavar="FILE", help=text)


def bound(text: str) -> float:
    """Returns the number in a text; ValueError for NaN, which no interval reaches."""
    number = float(text)
    if math.isnan(number):
        raise ValueError
    return number


def split_names(text: str) -> list[str]:
    """Returns the names in a text with commas; none if it is empty."""
    return [name for name in text.split(",") if name]


def split_shares(text: str) -> dict[str, float]:
    """Returns the numbers of names in a text with commas.

    Raises:
        argparse.ArgumentTypeError: a name has no number.

    >>> split_shares("red=2,blue=1")
    {'red': 2.0, 'blue': 1.0}
    """
    parts = [part.rpartition("=") for part in split_names(text)]
    try:
        return {name: float(share) for name, _, share in parts}
    except ValueError as error:
        problem = f"{short_repr(text)} has a name without a number"
        raise argparse.ArgumentTypeError(f"{problem}; expected A=X,B=Y") from error


def add_output(parser: Parser) -> None:
    """Adds the option of the folder of the results."""
    text = "folder of the results (default: one in results/)"
    parser.add_argument("--output", type=Path, metavar="DIR", help=text)


def folder_of(options: argparse.Namespace, name: str, is_usable: Callable[[Path], bool]) -> Path:
    """Returns --output, or the first of results/NAME, results/NAME-2, ... that is usable."""
    if options.output is not None:
        return Path(options.output)
    for number in itertools.count(1):
        folder = Path("results", name if number == 1 else f"{name}-{number}")
        if options.overwrite or is_usable(folder):
            break
    return folder


def add_overwrite(parser: Parser) -> None:
    """Adds the option that replaces results of others."""
    text = "delete the folder's results of another study or version"
    parser.group("results").add_argument("--overwrite", action="store_true", help=text)


def add_workers(
    container: argparse._ActionsContainer, what: str, number: int | None = None
) -> None:
    """Adds the option of who does the work.

    Args:
        container: the parser, or the group of options, that gets the option.
        what: the work, in the help text.
        number: how many workers there are if the user does not say it; None for one per core.
    """
    default = "one per core" if number is None else f"{number}"
    text = (
        f"in how many processes to {what}; or threading:N for threads, or dask:ADDRESS or "
        f"ray:ADDRESS for a running cluster (default: {default})"
    )
    count = one_per_core().workers if number is None else number
    container.add_argument(
        "--workers",
        type=lambda given: read_workers(given, count),
        metavar="N|KIND:N",
        default=Workers(BACKENDS[0], count),
        help=text,
    )


def one_per_core() -> Workers:
    """Returns as many processes as this machine has cores."""
    return Workers(BACKENDS[0], os.cpu_count() or 1)


def read_workers(text: str, number: int) -> Workers:
    """Returns the workers that a user names.

    Args:
        text: as the user gives it.
        number: how many workers there are if the text does not say it.

    Raises:
        argparse.ArgumentTypeError: the text names no workers.

    >>> read_workers("threading:4", 2)
    Workers(backend='threading', workers=4, address=None)
    >>> read_workers("dask:tcp://SCHEDULER:8786", 2)
    Workers(backend='dask', workers=2, address='tcp://SCHEDULER:8786')
    """
    kind, _, rest = text.partition(":")
    if text in BACKENDS:
        return Workers(text, number)
    if kind not in BACKENDS:
        kind = BACKENDS[0]
        rest = text
    if rest.isdecimal():
        return Workers(kind, int(rest))
    if kind in CLUSTERS and rest:
        return Workers(kind, number, rest)
    known = f"{', '.join(BACKENDS[:-1])} or {BACKENDS[-1]}"
    expected = f"a number, or {known}, with a number or a cluster's address after a colon"
    raise argparse.ArgumentTypeError(f"{short_repr(text)} names no workers; expected {expected}")
