"""The subcommand `learn`: a policy from a log alone."""

import argparse
from pathlib import Path

from bandit_envs import evaluations
from bandit_envs.base.saving import check_replaceable
from bandit_envs.cli.console import OUT, RowProgress
from bandit_envs.cli.log_options import open_log, read_training


def learn(options: argparse.Namespace) -> int:
    """Learns a policy from the first rows of a log, and writes it to a file."""
    file = policy_file("output", options.output, options.overwrite)
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


def policy_file(name: str, file: Path, overwrite: bool) -> Path:
    """Returns the file of a policy; ValueError if there is one that should be kept.

    Args:
        name: of the option that names the file.
        file: that the user gave.
        overwrite: whether it may be replaced.
    """
    if file.suffix != ".npz":
        raise ValueError(f"{name} is {file}; expected a name that ends in .npz")
    if file.exists() and not overwrite:
        raise ValueError(f"{file} exists; --overwrite replaces it")
    check_replaceable(file)
    return file
