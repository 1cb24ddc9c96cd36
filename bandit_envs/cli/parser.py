"""The options of the command `bandit-envs`, subcommand by subcommand.

Each subcommand names the function that does it as `module:function`. `main` imports it when it is
called, because it needs more than NumPy.
"""

import argparse
from pathlib import Path

from bandit_envs import __version__
from bandit_envs.cli.help import (
    FirstHelp,
    Parser,
    Subcommands,
    format_examples,
)
from bandit_envs.cli.help_examples import EXAMPLES
from bandit_envs.cli.options import (
    StoreOnce,
    add_column,
    add_latex,
    add_output,
    add_overwrite,
    add_policies,
    add_sizes,
    add_views,
    add_workers,
    bound,
    one_per_core,
    split_names,
    split_shares,
)
from bandit_envs.cli.table_names import add_available, add_log, add_missing, add_slates
from bandit_envs.logged.registry import LEARNERS

DESCRIPTION = "Compare policies on bandits, and evaluate them on logs."

FIRST_COMMANDS = ("reproduce", "run", "evaluate", "list")
"""The commands of which the help text has an example."""


def make_parser(called: str | None = None) -> Parser:
    """Returns the parser of the command.

    Args:
        called: the name of its only subcommand; it has all if it is not one of them.
    """
    parser = Parser(
        "bandit-envs",
        description=DESCRIPTION,
        epilog=format_examples(
            (EXAMPLES[name][0] for name in FIRST_COMMANDS),
            "bandit-envs COMMAND --help shows the options that a command needs first.",
        ),
        formatter_class=FirstHelp,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    _add_subcommands(Subcommands(parser, EXAMPLES, called))
    return parser


def _add_subcommands(subcommands: Subcommands) -> None:
    """Adds all subcommands, in the order in which the help text has them."""
    subcommands.add(
        "reproduce",
        needed="[NAME]",
        text="run a published figure, and compare the values",
        function="bandit_envs.cli.studies:reproduce",
        add_options=_add_reproduce,
    )
    subcommands.add(
        "run",
        needed="ENV [--policy SPEC]...",
        text="compare policies in an environment",
        function="bandit_envs.cli.studies:run",
        add_options=_add_run,
    )
    subcommands.add(
        "sweep",
        needed="STUDY.toml",
        text="run every combination in a study file",
        function="bandit_envs.cli.studies:sweep",
        add_options=_add_sweep,
    )
    subcommands.add(
        "report",
        needed="DIR",
        text="summarise a results folder as tables and a figure",
        function="bandit_envs.cli.studies:report",
        add_options=_add_report,
    )
    subcommands.add(
        "show",
        needed="DIR",
        text="write results, a service's decisions or a test of variants as a page of HTML",
        function="bandit_envs.cli.show:show",
        add_options=_add_show,
    )
    subcommands.add(
        "watch",
        needed="ENV --policy SPEC",
        text="animate a policy, and what it knows of the arms",
        function="bandit_envs.cli.watch:watch",
        add_options=_add_watch,
    )
    subcommands.add(
        "evaluate",
        needed="LOG --policy SPEC...",
        text="estimate from a log what policies would have earned",
        function="bandit_envs.cli.evaluate:evaluate",
        add_options=_add_evaluate,
    )
    subcommands.add(
        "learn",
        needed="LOG --output FILE",
        text="learn a policy from a log alone",
        function="bandit_envs.cli.learn:learn",
        add_options=_add_learn,
    )
    subcommands.add(
        "apply",
        needed="POLICY TABLE --output FILE",
        text="decide by a learned policy",
        function="bandit_envs.cli.learn:apply",
        add_options=_add_apply,
    )
    subcommands.add(
        "route",
        needed="TABLE --policy SPEC...",
        text="compare routers of requests by score and cost",
        function="bandit_envs.cli.route:route",
        add_options=_add_route,
    )
    subcommands.add(
        "list",
        needed="[ID | environments [KIND] | policies [KIND]]",
        text="list environments and policies with their parameters",
        function="bandit_envs.cli.listing:show_list",
        add_options=_add_list,
    )


def _add_run(parser: Parser) -> None:
    parser.add_argument("environment", metavar="ENV", help="the environment, with its parameters")
    text = (
        "also write a log of one policy's run: a file ending in .parquet, .csv or .npz, or a folder"
    )
    parser.group("results").add_argument("--record", type=Path, metavar="LOG", help=text)
    add_policies(parser, "a policy in place of the default ones; may be repeated")
    add_sizes(parser)
    add_views(parser)
    add_output(parser)
    add_overwrite(parser)
    add_workers(parser, "run tasks")


def _add_sweep(parser: Parser) -> None:
    parser.add_argument("study", type=Path, metavar="STUDY.toml", help="the study's file")
    add_output(parser)
    add_overwrite(parser)
    add_workers(parser, "run tasks")
    text = "only count the tasks, and try them for seconds to say how long all will take"
    parser.add_argument("--dry-run", action="store_true", help=text)


def _add_reproduce(parser: Parser) -> None:
    text = "the figure; without it, all are listed"
    parser.add_argument("name", metavar="NAME", nargs="?", help=text)
    text = "independent runs (default: as published)"
    parser.add_argument("--runs", type=int, metavar="N", help=text)
    add_output(parser)
    parser.set_defaults(workers=one_per_core(), overwrite=False)


def _add_report(parser: Parser) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR", help="a folder of results")
    text = "the figure's file, ending in .png, .svg or .pdf (default: one in the folder)"
    parser.add_argument("--figure", type=Path, metavar="FILE", help=text)
    add_policies(parser, "show this policy alone, by its id or its label; may be repeated")
    text = "the policy that others are compared with: its id or its label (default: the first)"
    parser.add_argument("--baseline", metavar="SPEC", help=text)
    add_views(parser)
    add_latex(parser)


def _add_show(parser: Parser) -> None:
    text = (
        "a folder of results; or a .sqlite file of decisions, which may be in use; or with "
        "--variant, a CSV or Parquet file with a row for each user of a test, or a folder of such"
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help=text)
    text = (
        "the page's file, ending in .html (default: study.html in the folder, or beside"
        " the decisions or the table)"
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help=text)
    text = "also estimate what a policy would have earned, of decisions; may be repeated"
    parser.group("decisions").add_argument("--policy", action="append", metavar="SPEC", help=text)
    text = "the smallest and the largest possible reward, for intervals of decisions"
    parser.group("decisions").add_argument(
        "--range", type=float, nargs=2, metavar=("LOW", "HIGH"), help=text
    )
    _add_test(parser, parser.group("a test of variants"))


def _add_test(parser: Parser, group: argparse._ArgumentGroup) -> None:
    """Adds the options of a table of a test: the columns to a parser, and others to a group."""
    add_column(parser, "variant", ", of a test of variants")
    text = (
        "columns of what a user did; the first one decides, and others are shown (default: reward)"
    )
    parser.add_argument("--reward", type=split_names, metavar="A,B,C", help=text)
    add_column(parser, "time", ", or days, on which variants may join and leave")
    text = "variants may have been closed because of what the test has shown"
    group.add_argument("--closes-by-results", action="store_true", help=text)
    text = "the largest probability of a wrong winner (default: 0.05)"
    group.add_argument("--delta", type=float, metavar="D", help=text)
    text = "the winner may be worse than the best by so much (default: 0)"
    group.add_argument("--tolerance", type=float, metavar="X", help=text)
    text = "of the variants, in proportion, which the numbers of users should fit (default: equal)"
    group.add_argument("--shares", type=split_shares, metavar="A=X,B=Y", help=text)
    text = "the variant that others are compared with (default: all with all)"
    group.add_argument("--control", metavar="VARIANT", help=text)


def _add_watch(parser: Parser) -> None:
    parser.add_argument("environment", metavar="ENV", help="the environment, with its parameters")
    parser.add_argument("--policy", required=True, metavar="SPEC", help="the policy")
    text = "steps, with a picture each (default: 50)"
    parser.add_argument("--steps", type=int, default=50, metavar="N", help=text)
    text = "the file: .gif, .html with buttons, or .mp4, which needs ffmpeg (default: lesson.gif)"
    parser.add_argument("--output", type=Path, default="lesson.gif", metavar="FILE", help=text)


def _add_evaluate(parser: Parser) -> None:
    text = "a policy to be evaluated, or a file that `learn` wrote; may be repeated"
    parser.add_argument("--policy", action="append", required=True, metavar="SPEC", help=text)
    text = (
        "such as ips, snips, dm, dr, switch_dr:threshold=10, kernel_snips:bandwidth=slope or "
        "slot_ips; a wrong name lists all; may be repeated (default: as the notes say)"
    )
    parser.add_argument("--estimator", action="append", metavar="NAME", help=text)
    text = "the policy that gains are over, one of those given (default: the one that made the log)"
    parser.group("estimates").add_argument(
        "--baseline", default="logged", metavar="SPEC", help=text
    )
    add_log(parser, "none lets no policy learn, and all are evaluated on all rows")
    text = (
        ", if there are several; then --propensity has NAME=COLUMN,NAME=COLUMN, with which "
        "probability each of them takes the logged action"
    )
    add_column(parser.group("the log"), "logger", text)
    text = (
        "also a table for the rows of each value of a column, such as a feature, or step; or of "
        "each day, week, month or year of a column of dates, as DATE:month"
    )
    parser.group("estimates").add_argument("--by", action=StoreOnce, metavar="COLUMN", help=text)
    add_slates(parser)
    text = "replace the estimates in the folder (default: refuse, or a new folder in results/)"
    parser.group("results").add_argument("--overwrite", action="store_true", help=text)
    text = "probability that an interval holds (default: 0.95)"
    parser.group("estimates").add_argument(
        "--confidence", type=float, default=0.95, metavar="C", help=text
    )
    text = "return 1 if an interval reaches below VALUE, as a gate in scripts"
    parser.group("results").add_argument("--fail-below", type=bound, metavar="VALUE", help=text)
    add_workers(parser.group("the log"), "read the files of a folder", number=1)
    add_output(parser)


def _add_learn(parser: Parser) -> None:
    add_log(parser, "1 is all of them")
    text = f"one of {', '.join(LEARNERS)} (default: doubly_robust)"
    parser.add_argument("--learner", default="doubly_robust", metavar="NAME", help=text)
    text = "the file of the policy, which ends in .npz"
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help=text)
    text = "replace the file (default: refuse)"
    parser.add_argument("--overwrite", action="store_true", help=text)


def _add_apply(parser: Parser) -> None:
    parser.add_argument("policy", type=Path, metavar="POLICY", help="a file that `learn` wrote")
    text = (
        "a CSV or Parquet file of decisions that are still to be made, or a folder of such files, "
        'or a pattern of them, as "new/*.csv"; '
        "it has the columns of the features that the policy has learned from"
    )
    parser.add_argument("table", type=Path, metavar="TABLE", help=text)
    add_missing(parser, "the table")
    add_column(parser, "decision", " (default: the numbers of the rows, from 0)")
    text = ", if the table has one row for each candidate of a decision; or of lists of them"
    add_column(parser, "item", text)
    add_available(parser, "the table")
    text = "write a row for each action or item, not only for the chosen one"
    parser.add_argument("--probabilities", action="store_true", help=text)
    text = "seed of a policy that draws its actions (default: fresh entropy)"
    parser.add_argument("--seed", type=int, metavar="N", help=text)
    text = "the file of the choices, which ends in .csv"
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help=text)
    text = "replace the file (default: refuse)"
    parser.add_argument("--overwrite", action="store_true", help=text)


def _add_route(parser: Parser) -> None:
    text = "a CSV or Parquet file of what all models score and cost on requests, or a folder"
    parser.add_argument("table", type=Path, metavar="TABLE", help=text)
    _add_outcomes(parser)
    text = "a policy that routes; may be repeated"
    parser.add_argument("--policy", action="append", required=True, metavar="SPEC", help=text)
    text = "prices of a unit of cost (default: 8, around those where the best single model changes)"
    parser.add_argument("--prices", type=split_names, metavar="A,B,C", help=text)
    text = "mean cost of a request; also find the price at which each policy spends it"
    parser.add_argument("--budget", type=float, metavar="COST", help=text)
    text = "learn from what all models earn on a request (default: from the one that is chosen)"
    parser.add_argument("--all-outcomes", action="store_true", help=text)
    text = (
        "also write the router to a file that ends in .npz, as it has learned from all requests at "
        "the price of the budget, or at the only one of --prices"
    )
    parser.group("results").add_argument("--router", type=Path, metavar="FILE", help=text)
    text = (
        "return 1 if the interval of a gain, over a mix or over the best single model, reaches "
        "below VALUE at the budget, or at the only one of --prices, or no price keeps to the budget"
    )
    parser.group("results").add_argument("--fail-below", type=bound, metavar="VALUE", help=text)
    add_output(parser)
    text = "replace the results in the folder (default: refuse, or a new folder in results/)"
    parser.group("results").add_argument("--overwrite", action="store_true", help=text)


def _add_outcomes(parser: Parser) -> None:
    """Adds the options of tables of outcomes."""
    text = 'columns of the features of requests, or patterns such as "e*"; texts become features'
    parser.add_argument(
        "--features", action=StoreOnce, type=split_names, metavar="A,B,C", help=text
    )
    text = "columns of scores, which name the models; of a table with a line for each answer, one"
    parser.add_argument("--reward", type=split_names, metavar="A,B,C", help=text)
    text = 'columns of costs, or a pattern such as "{}_cost" with the names of the models'
    parser.add_argument("--cost", type=split_names, metavar="A,B,C", help=text)
    text = "column that tells requests apart (default: rows with equal features are one request)"
    parser.group("the table").add_argument("--example", metavar="COLUMN", help=text)
    text = "column of the names of the models, of a table with a line for each answer"
    parser.group("the table").add_argument("--action", metavar="COLUMN", help=text)
    text = ", such as user: intervals and hold-outs are by units"
    add_column(parser.group("the table"), "unit", text, action=StoreOnce)
    text = "also show each value of a column of whole numbers or texts"
    parser.group("the table").add_argument("--by", action=StoreOnce, metavar="COLUMN", help=text)
    text = "the table is one of these, whose columns are known"
    parser.group("the table").add_argument(
        "--layout", choices=("routerbench", "routerarena"), help=text
    )
    text = "leave out the rows that miss values (default: an error)"
    parser.group("the table").add_argument("--drop-missing", action="store_true", help=text)


def _add_list(parser: Parser) -> None:
    text = (
        "an id or your own class, to show all about it; or environments or policies, and one of "
        "their kinds if you like (default: the ids of all kinds)"
    )
    parser.add_argument("what", metavar="WHAT", nargs="*", help=text)
