"""Options that several subcommands of `bandit-envs` have."""

import argparse
import math
import os
from pathlib import Path

from bandit_envs.cli.help import Parser
from bandit_envs.running.backends import BACKENDS


def add_published(parser: Parser) -> None:
    """Adds the options of published figures, which this machine runs."""
    text = "independent runs (default: as published)"
    parser.add_argument("--runs", type=int, metavar="N", help=text)
    add_output(parser)
    add_overwrite(parser)
    here = {"backend": BACKENDS[0], "address": None, "workers": os.cpu_count() or 1}
    parser.set_defaults(dry_run=False, **here)


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


def add_output(parser: Parser) -> None:
    """Adds the option of the folder of the results."""
    text = "folder of the results (default: one in results/)"
    parser.add_argument("--output", type=Path, metavar="DIR", help=text)


def add_overwrite(parser: Parser) -> None:
    """Adds the option that replaces results of others."""
    text = "delete the folder's results of another study or version"
    parser.group("results").add_argument("--overwrite", action="store_true", help=text)


def add_number_of_workers(parser: Parser) -> None:
    """Adds the option of how many workers there are."""
    text = "processes or threads (default: one per core)"
    parser.add_argument("--workers", type=int, metavar="N", default=os.cpu_count() or 1, help=text)


def add_workers(parser: Parser) -> None:
    """Adds the options of where and whether tasks run."""
    add_number_of_workers(parser)
    text = "only count the tasks, and try them for seconds to say how long all will take"
    parser.add_argument("--dry-run", action="store_true", help=text)
    add_overwrite(parser)
    add_backend(parser)


def add_backend(parser: Parser) -> None:
    """Adds the options of where workers are."""
    more = parser.group("workers")
    text = "processes (loky), threads, or a cluster (default: loky)"
    more.add_argument("--backend", choices=BACKENDS, default="loky", help=text)
    more.add_argument("--address", help="address of a running Dask or Ray cluster")
