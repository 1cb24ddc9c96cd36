"""The subcommands `learn` and `apply`: a policy from a log alone, and what it decides."""

import argparse
import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bandit_envs import evaluations
from bandit_envs.base.saving import atomic_file, check_replaceable
from bandit_envs.cli.console import OUT, RowProgress
from bandit_envs.cli.log_options import open_log, read_training
from bandit_envs.cli.table_names import split_pattern
from bandit_envs.logged import read_policy
from bandit_envs.logged.learners.applied import Decided


def learn(options: argparse.Namespace) -> int:
    """Learns a policy from the first rows of a log, and writes it to a file."""
    file = output_file("output", options.output, options.overwrite)
    train, until = read_training(options.train)
    if train is None:
        raise ValueError("train is 'none'; expected rows that the learner can learn from")
    with RowProgress() as progress:
        found = evaluations.learn(
            open_log(options),
            options.learner,
            train=train,
            until=until,
            observer=progress,
        )
    file.parent.mkdir(parents=True, exist_ok=True)
    found.write(file)
    OUT.print(f"{options.log}\n{found.title}", soft_wrap=True)
    rows = found.learned_from.size
    text = f"{file}: learned by {found.learner} from the first {rows} rows."
    if rows < found.summary.size:
        text += " `evaluate` evaluates it on the others."
    OUT.print(text, soft_wrap=True)
    return 0


def apply(options: argparse.Namespace) -> int:
    """Writes what a policy does in the decisions of a table to a file."""
    file = output_file("output", options.output, options.overwrite, suffix=".csv")
    saved = read_policy(options.policy)
    path, only = split_pattern(options.table)
    scan = saved.scan(
        path,
        decision=options.decision,
        item=options.item,
        only=only,
        available=options.available,
        drop_missing=options.drop_missing,
    )
    for problem in scan.problems:
        OUT.print(problem, soft_wrap=True)
    header = [options.decision or "row", options.item or "action", "chosen", "probability"]
    if not options.probabilities:
        header.remove("chosen")
    number = 0
    file.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(file) as binary:
        text = io.TextIOWrapper(binary, "utf-8", newline="")
        writer = csv.writer(text)
        writer.writerow(header)
        for decided in saved.decide(scan, options.seed):
            rows = _rows_of_all if options.probabilities else _rows_of_chosen
            writer.writerows(rows(decided))
            number += len(decided.names)
        text.flush()
        text.detach()
    OUT.print(f"{file}: what {options.policy} does in {number} decisions.", soft_wrap=True)
    return 0


def _rows_of_chosen(decided: Decided) -> Iterator[tuple[Any, ...]]:
    """Yields a row for each decision: its name, what was chosen, and the probability of that."""
    known = decided.probability.tolist()
    return zip(decided.names.tolist(), decided.chosen.tolist(), map(_or_nothing, known))


def _rows_of_all(decided: Decided) -> Iterator[tuple[Any, ...]]:
    """Yields a row for each candidate: its decision and name, if it was chosen, its probability."""
    for name, offered, mask, action, table in zip(
        decided.names.tolist(),
        decided.offered.tolist(),
        decided.mask.tolist(),
        decided.action.tolist(),
        decided.probabilities.tolist(),
    ):
        for place, is_there in enumerate(mask):
            if is_there:
                chosen = int(place == action)
                yield name, offered[place], chosen, _or_nothing(table[place])


def _or_nothing(probability: float) -> float | str:
    """Returns a probability; nothing if it is not known."""
    return "" if probability != probability else probability


def output_file(name: str, file: Path, overwrite: bool, suffix: str = ".npz") -> Path:
    """Returns a file that is to be written; ValueError if there is one that should be kept.

    Args:
        name: of the option that names the file.
        file: that the user gave.
        overwrite: whether it may be replaced.
        suffix: with which its name ends.
    """
    if file.suffix != suffix:
        raise ValueError(f"{name} is {file}; expected a name that ends in {suffix}")
    if file.exists() and not overwrite:
        raise ValueError(f"{file} exists; --overwrite replaces it")
    check_replaceable(file)
    return file
