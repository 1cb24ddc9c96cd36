"""The subcommand `show`: a study, a file of decisions, or a test of variants as a page of HTML."""

import argparse
from pathlib import Path

from bandit_envs.cli.console import OUT
from bandit_envs.evaluations.evaluation import PAGE as ESTIMATES_PAGE
from bandit_envs.logged.files.served.decision_tables import is_decisions
from bandit_envs.policies import compare_variants
from bandit_envs.serving import read_report
from bandit_envs.showing.page import has_charts
from bandit_envs.studies import load
from bandit_envs.studies.results.results import PAGE

OF_TESTS = (
    "reward",
    "time",
    "closes_by_results",
    "delta",
    "tolerance",
    "shares",
    "control",
)
"""The options of tests of variants, as `compare_variants` calls them."""


def show(options: argparse.Namespace) -> int:
    """Writes a page of HTML with all that a study, a service or a test has found."""
    if options.variant is not None:
        return _show_test(options)
    given = [name for name in OF_TESTS if getattr(options, name) not in (None, False)]
    if given:
        found = f"--{given[0].replace('_', '-')} is of a test of variants"
        raise ValueError(f"{found}; expected --variant, the column of the variants")
    if is_decisions(options.folder):
        return _show_decisions(options)
    if options.policy or options.range:
        expected = "expected a file of decisions, which --policy and --range are for"
        page = ""
        if options.policy and (options.folder / "config.json").is_file():
            call = f"studies.load({str(options.folder)!r}).only({options.policy!r}).write_page"
            page = f"; in Python, {call} makes a page of some policies of a study"
        raise ValueError(f"{options.folder} does not hold decisions; {expected}{page}")
    if not (options.folder / "config.json").is_file():
        raise ValueError(_describe_folder(options.folder))
    file = options.output or options.folder / PAGE
    _check_page(file)
    study = load(options.folder)
    for sentence in study.headline():
        OUT.print(sentence, soft_wrap=True, highlight=False)
    study.write_page(file)
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
    file = options.output or options.folder.with_suffix(".html")
    _check_page(file)
    report = read_report(options.folder, options.policy, reward_range=options.range)
    OUT.print(str(report), soft_wrap=True, highlight=False)
    report.write_page(file)
    _say_where(file)
    return 0


def _show_test(options: argparse.Namespace) -> int:
    """Prints who won a test of variants, and writes it as a page of HTML."""
    for name in ("policy", "range"):
        if getattr(options, name) is not None:
            raise ValueError(f"--{name} is not of a test of variants; expected no --variant")
    file = options.output or options.folder.with_suffix(".html")
    _check_page(file)
    given = {name: getattr(options, name) for name in OF_TESTS}
    named = {name: value for name, value in given.items() if value is not None}
    report = compare_variants(options.folder, variant=options.variant, **named)
    OUT.print(str(report), soft_wrap=True, highlight=False)
    report.write_page(file)
    OUT.print(f"Page: {file}", soft_wrap=True)
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
