"""The command `bandit-envs`."""

import argparse
import contextlib
import inspect
import io
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from bandit_envs import __version__
from bandit_envs.base.checks import shown
from bandit_envs.base.registry import near_miss
from bandit_envs.environments.registry import ENVIRONMENTS, EnvironmentEntry, find_environment
from bandit_envs.metrics import QUANTITIES
from bandit_envs.policies.registry import POLICIES, PolicyEntry
from bandit_envs.studies.choice import printable, written

DESCRIPTION = "Compare policies on bandits, and evaluate them on logs."
EXAMPLES = """examples:
  bandit-envs testbed --figure 2.6
  bandit-envs run testbed:k=5 --policy ucb:c=2 --policy epsilon_greedy:epsilon=0.1
  bandit-envs run "mine:Bernoulli:means=[0.1,0.9]" --policy mine:Greedy
  bandit-envs evaluate clicks.csv --policy mine:Greedy --action arm --features age,visits

ENV and SPEC are ids that `bandit-envs list` shows, or your own MODULE:CLASS in the current folder.
Parameters follow as key=value,key=value, with values as in TOML."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns 0; 1 after failures, 2 for wrong input, 130 after Ctrl-C."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # ± and ε are not in every encoding
        sys.stdout.reconfigure(errors="replace")
    options, unknown = _parser().parse_known_args(arguments)
    try:
        if unknown:
            known = [f"--{name.replace('_', '-')}" for name in vars(options)]
            hint = near_miss(unknown[0], known) or f"{options.command} --help shows all options"
            if unknown[0].partition(":")[0] in POLICIES and "--policy" in known:
                hint = f"did you mean --policy {unknown[0]}?"
            elif unknown[0].partition("=")[0].isidentifier():
                hint = f"parameters follow a colon, as in ID:{unknown[0]}"
            raise ValueError(f"{options.command} does not take {shown(unknown[0])}; {hint}")
        if options.command == "list":
            print(_listed(options.id))
            return 0
        from bandit_envs.studies import commands, evaluate  # noqa: PLC0415 - need more than NumPy

        functions = {**vars(commands), "evaluate": evaluate.evaluate}
        return int(functions[options.command](options))
    except ModuleNotFoundError as error:
        logged = dict.fromkeys(("pandas", "pyarrow"), "logged")
        extra = {"distributed": "dask", "ray": "ray", **logged}.get(str(error.name), "cli")
        problem = f'{error.name} is not installed; in a checkout: pip install ".[{extra}]"'
    except BrokenPipeError:  # the reader has enough, as `head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (TypeError, ValueError, OSError) as error:
        problem = printable(error)
    except KeyboardInterrupt:
        print("interrupted: the same command resumes it", file=sys.stderr)
        return 130
    print(f"bandit-envs: {problem}", file=sys.stderr)
    return 2


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; {self.prog} --help shows all options\n")


def _parser() -> argparse.ArgumentParser:
    style: Any = {"formatter_class": argparse.RawDescriptionHelpFormatter, "epilog": EXAMPLES}
    parser = _Parser("bandit-envs", description=DESCRIPTION, **style)
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    subparsers = parser.add_subparsers(required=True, dest="command", metavar="COMMAND")

    def command(name: str, text: str) -> Any:
        return subparsers.add_parser(name, help=text, description=text, **style)

    testbed = command("testbed", "reproduce the figures of Sutton & Barto, chapter 2")
    run = command("run", "compare policies in an environment")
    sweep = command("sweep", "run every combination in a study file")
    reproduce = command("reproduce", "run a published figure, and compare it with published values")
    report = command("report", "summarise a results folder as tables and a figure")
    evaluate = command("evaluate", "estimate from a log what policies would have earned")
    listed = command("list", "list environments and policies with parameters and defaults")
    figures = ("2.1", "2.2", "2.3", "2.4", "2.5", "2.6")
    testbed.add_argument("--figure", choices=figures, help="the figure (default: 2.2)")
    testbed.add_argument("--arms", type=int, default=10, metavar="N", help="arms (default: 10)")
    run.add_argument("environment", metavar="ENV", help="the environment, with its parameters")
    sweep.add_argument("study", type=Path, metavar="STUDY.toml", help="the study's file")
    text = "also write a log of one policy's run: a file ending in .parquet, .csv or .npz"
    run.add_argument("--record", type=Path, metavar="LOG", help=text)
    _add_evaluate_options(evaluate)
    listed.add_argument(
        "id", metavar="ID", nargs="?", help="show all about one of them, or your own"
    )
    reproduce.add_argument("name", metavar="NAME", nargs="?", help="the figure")
    reproduce.add_argument("--list", action="store_true", help="only list all figures")
    report.add_argument("folder", type=Path, metavar="DIR", help="a folder of results")
    text = "a policy in place of the default ones; may be repeated"
    for each, more in ((run, ""), (testbed, "; with --figure, beside those of the figure")):
        each.add_argument("--policy", action="append", metavar="SPEC", help=f"{text}{more}")
    number: Any = {"type": int, "metavar": "N"}
    for each in (testbed, run):
        text = "independent runs (default: 2000, or 10 where rows share a problem)"
        each.add_argument("--runs", **number, help=text)
        each.add_argument("--steps", **number, help="steps in a run (default: 1000)")
        each.add_argument("--seed", **number, help="base random seed (default: 0)")
    for each in (testbed, run, report):
        names = ", ".join(name for name, quantity in QUANTITIES.items() if quantity.axis)
        text = f"draw these over steps, as reward,regret: some of {names}; or arms, one problem"
        each.add_argument("--panels", type=lambda names: names.split(","), help=text)
        text = "show medians and these quantiles over runs, such as 0.1 0.9, in place of means"
        each.add_argument("--quantiles", type=float, nargs=2, metavar="Q", help=text)
    text = "independent runs (default: as published)"
    reproduce.add_argument("--runs", **number, help=text)
    for each in (testbed, run, sweep, reproduce, evaluate):
        text = "folder of the results (default: one in results/)"
        each.add_argument("--output", type=Path, metavar="DIR", help=text)
    for each in (testbed, run, sweep, reproduce):
        backends = ("loky", "threading", "dask", "ray")
        text = "processes (loky), threads, or a cluster (default: loky)"
        each.add_argument("--backend", choices=backends, default="loky", help=text)
        text = "processes or threads (default: one per core)"
        each.add_argument("--workers", **number, default=os.cpu_count() or 1, help=text)
        each.add_argument("--address", help="address of a running Dask or Ray cluster")
        text = "delete the folder's results of another study or version"
        each.add_argument("--overwrite", action="store_true", help=text)
        each.add_argument("--dry-run", action="store_true", help="only count the tasks")
    return parser


def _add_evaluate_options(parser: Any) -> None:
    text = "a log that `run --record` or `write_log` wrote, or with --features, any CSV or Parquet"
    parser.add_argument("log", type=Path, metavar="LOG", help=text)
    text = "a policy to be evaluated; may be repeated"
    parser.add_argument("--policy", action="append", required=True, metavar="SPEC", help=text)
    text = "one of ips, snips, dm, dr, sndr, switch_dr:threshold=X, dr_os:shrinkage=X,"
    text += " sg_ips:shrinkage=X, sg_dr:shrinkage=X or replay; may be repeated"
    text += " (default: ips, snips and dr)"
    parser.add_argument("--estimator", action="append", metavar="NAME", help=text)
    text = "actions in your table (default: the largest plus 1)"
    parser.add_argument("--num-actions", type=int, metavar="K", help=text)
    text = "replace the estimates in the folder (default: refuse, or a new folder in results/)"
    parser.add_argument("--overwrite", action="store_true", help=text)
    text = "probability that an interval holds (default: 0.95)"
    parser.add_argument("--confidence", type=float, default=0.95, metavar="C", help=text)
    for name, default, metavar, text in (
        ("action", "action", "COLUMN", "column of actions (default: action)"),
        ("reward", "reward", "COLUMN", "column of rewards (default: reward)"),
        ("propensity", "propensity", "COLUMN", "column of propensities (default: propensity)"),
        ("features", None, "A,B,C", 'columns of features in your table ("" for none)'),
    ):
        parser.add_argument(f"--{name}", default=default, metavar=metavar, help=text)


def _listed(name: str | None) -> str:
    """Returns what stands for an id, or a list of all ids."""
    table: Mapping[str, Any] = {**ENVIRONMENTS, **POLICIES}
    if name is None:
        note = "give a value for ?; parameters after 'Also' have no default and may be left out"
        environments = f"environments, with defaults ({note}):\n{_listing(ENVIRONMENTS.values())}"
        return f"{environments}\n\npolicies:\n{_listing(POLICIES.values())}"
    entry = table.get(name)
    if entry is None and ":" in name:
        sys.path.insert(0, os.getcwd())
        with contextlib.suppress(ValueError):
            entry = find_environment(name)
        entry = entry or PolicyEntry.find(name, POLICIES)
    if entry is None:
        hint = near_miss(name, table) or "list shows all ids"
        raise ValueError(f"no id is {shown(name)}; {hint}")
    makers = [entry.make, *([entry.environment] if isinstance(entry, EnvironmentEntry) else [])]
    texts = [_listing([entry]).partition("\n")[0].strip(), *map(inspect.getdoc, makers)]
    return "\n\n".join(dict.fromkeys(map(str, texts)))


def _listing(entries: Iterable[Any]) -> str:
    """Returns each entry as a user may give it, with defaults, and its summary."""
    lines = []
    for entry in entries:
        defaults = {name: parameter.default for name, parameter in entry.parameters().items()}
        also = ", ".join(name for name, default in defaults.items() if default is None)
        values = [
            f"{name}={'?' if default is inspect.Parameter.empty else written(default)}"
            for name, default in defaults.items()
            if default is not None
        ]
        text = f"{entry.id}:{','.join(values)}".rstrip(":").replace('"', "'")
        text = f'"{text}"' if set(text) & set("['") else text
        lines.append(f"  {text}\n      {entry.summary}{also and f' Also: {also}.'}")
    return "\n".join(lines)
