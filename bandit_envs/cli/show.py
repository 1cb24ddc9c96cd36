"""The subcommand `show`: results of a study, or a file of decisions, as one page of HTML."""

import argparse
from pathlib import Path

from bandit_envs.cli.console import OUT
from bandit_envs.cli.studies import show_study
from bandit_envs.evaluations.evaluation import PAGE as ESTIMATES_PAGE
from bandit_envs.logged.files.served.decision_tables import is_decisions
from bandit_envs.serving import read_report
from bandit_envs.showing.page import has_charts
from bandit_envs.studies.results.results import PAGE


def show(options: argparse.Namespace) -> int:
    """Writes a page of HTML with all that a study or a service has found."""
    if is_decisions(options.folder):
        return _show_decisions(options)
    if options.policy or options.range:
        expected = "expected a file of decisions, which --policy and --range are for"
        raise ValueError(f"{options.folder} does not hold decisions; {expected}")
    if not (options.folder / "config.json").is_file():
        raise ValueError(_describe_folder(options.folder))
    file = options.output or options.folder / PAGE
    _check_page(file)
    show_study(options, file)
    _say_where(file)
    return 0


def _describe_folder(folder: Path) -> str:
    """Returns why a folder has nothing to show."""
    if not folder.is_dir():
        return f"there is no folder {folder}"
    problem = f"folder {folder} holds no results of a study"
    has_estimates = (folder / ESTIMATES_PAGE).is_file()
    return f"{problem}; the page of its estimates is {ESTIMATES_PAGE}" if has_estimates else problem


def _show_decisions(options: argparse.Namespace) -> int:
    """Prints what a file of decisions tells, and writes it as a page of HTML."""
    if options.panels is not None:
        raise ValueError(f"{options.folder} has decisions; --panels is of studies")
    file = options.output or options.folder.with_suffix(".html")
    _check_page(file)
    report = read_report(options.folder, options.policy, reward_range=options.range)
    OUT.print(str(report), soft_wrap=True, highlight=False)
    report.write_page(file)
    _say_where(file)
    return 0


def _say_where(file: Path) -> None:
    """Prints where a page is, and what it lacks without Plotly."""
    OUT.print(f"Page: {file}", soft_wrap=True)
    if not has_charts():
        extra = 'in a checkout: pip install ".[show]"'
        OUT.print(f"It has pictures, and no charts to click on: these need Plotly; {extra}")


def _check_page(file: Path) -> None:
    """Raises ValueError if a file is not a page of HTML."""
    if file.suffix != ".html":
        raise ValueError(f"output is {file}; expected a file ending in .html")
