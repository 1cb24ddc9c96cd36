"""The subcommand `learn`: a policy from a log alone."""

import argparse
from pathlib import Path

from bandit_envs.cli.console import OUT, RowProgress
from bandit_envs.cli.logs import check_fraction, open_log
from bandit_envs.logged import concatenate
from bandit_envs.logged.policy_files import write_policy
from bandit_envs.logged.registry import LEARNERS, LearnerEntry
from bandit_envs.logged.summary import LogRows
from bandit_envs.studies.choice import Choice


class LearnerChoice(Choice[LearnerEntry]):
    """A learner."""

    entry_class = LearnerEntry
    table = LEARNERS


def learn(options: argparse.Namespace) -> int:
    """Learns a policy from the first rows of a log, and writes it to a file."""
    file = _output_file(options)
    (choice,) = LearnerChoice.expand(options.learner)
    learner = choice.entry.make(**choice.parameters)
    fraction = check_fraction(options.train_fraction)
    with RowProgress() as progress:
        log = open_log(options, progress)
        rows = LogRows(log.batches, 0, log.summary.rows_of(fraction))
        if not len(rows):
            raise ValueError(f"train-fraction is {fraction:g}; expected at least one row")
        policy = learner.fit(concatenate(list(rows)))
    write_policy(file, policy, len(rows), str(log.summary))
    OUT.print(log.title, soft_wrap=True)
    learned = f"{file}: learned by {choice} from the first {len(rows)} rows"
    OUT.print(f"{learned}. `evaluate` evaluates it on the others.", soft_wrap=True)
    return 0


def _output_file(options: argparse.Namespace) -> Path:
    """Returns the file of the policy; ValueError if there is one that shall be kept."""
    file: Path = options.output
    if file.suffix != ".npz":
        raise ValueError(f"output is {file}; expected a name that ends in .npz")
    if file.exists() and not options.overwrite:
        raise ValueError(f"{file} exists; --overwrite replaces it")
    return file
