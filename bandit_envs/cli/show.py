"""The subcommand `show`: a folder of results as one page of HTML."""

import argparse

from bandit_envs.base.saving import atomic_write
from bandit_envs.cli.console import OUT
from bandit_envs.cli.studies import show_study
from bandit_envs.evaluations.showing.report import REPORT, Report


def show(options: argparse.Namespace) -> int:
    """Writes a page of HTML with all that a study, or an evaluation, has found."""
    is_evaluation = (options.folder / REPORT).is_file()
    default = "evaluation.html" if is_evaluation else "study.html"
    file = options.output or options.folder / default
    if file.suffix != ".html":
        raise ValueError(f"output is {file}; expected a file ending in .html")
    if is_evaluation:
        if options.panels or options.quantiles:
            raise ValueError(
                f"{options.folder} has an evaluation; --panels and --quantiles are of studies"
            )
        from bandit_envs.evaluations.showing.page import report_page  # noqa: PLC0415

        atomic_write(file, [report_page(Report.read(options.folder)).encode()])
    else:
        show_study(options, file)
    OUT.print(f"Page: {file}", soft_wrap=True)
    return 0
