"""The subcommand `learn`: a policy from a log alone."""

import argparse
from pathlib import Path

from bandit_envs.cli.console import ERR, OUT, RowProgress
from bandit_envs.cli.logs import (
    IN_MEMORY,
    count_bytes,
    count_training_rows,
    named_features,
    open_log,
)
from bandit_envs.cli.passes import PassesHere
from bandit_envs.logged import Learner
from bandit_envs.logged.learners.policy_files import write_policy
from bandit_envs.logged.registry import LEARNERS, LearnerEntry
from bandit_envs.logged.summary import LogRows
from bandit_envs.studies.definition.choice import Choice, name_in_errors


class LearnerChoice(Choice[LearnerEntry]):
    """A learner."""

    entry_class = LearnerEntry
    table = LEARNERS


def learn(options: argparse.Namespace) -> int:
    """Learns a policy from the first rows of a log, and writes it to a file."""
    file = _output_file(options)
    (choice,) = LearnerChoice.expand(options.learner)
    with name_in_errors(f"learner {choice}", *choice.modules):
        learner = choice.entry.make(**choice.parameters)
    with RowProgress() as progress:
        log = open_log(options, PassesHere(progress))
        rows = log.rows(0, count_training_rows(options, log))
        if not len(rows):
            raise ValueError(f"the log has {log.summary.size} rows, too few to learn from a part")
        _say_what_is_kept(choice, learner, rows)
        progress_of_rows = log.passes.watch(rows, f"{choice} learns")
        with progress_of_rows as batches, name_in_errors(f"learner {choice}", *choice.modules):
            policy = learner.fit_batches(batches)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_policy(file, policy, rows, named_features(options))
    OUT.print(log.title, soft_wrap=True)
    text = f"{file}: learned by {choice} from the first {len(rows)} rows."
    if len(rows) < log.summary.size:
        text += " `evaluate` evaluates it on the others."
    OUT.print(text, soft_wrap=True)
    return 0


def _say_what_is_kept(choice: LearnerChoice, learner: Learner, rows: LogRows) -> None:
    """Says how much memory rows take that a learner keeps, if they are many."""
    batch = next(iter(rows))
    size = len(rows) * count_bytes(batch) // len(batch)
    if size > IN_MEMORY and not learner.streams:
        text = f"{choice} keeps all {len(rows)} rows in memory, {size / 2**20:.0f} MB"
        ERR.print(f"{text}, and needs several times as much", soft_wrap=True)


def _output_file(options: argparse.Namespace) -> Path:
    """Returns the file of the policy; ValueError if there is one that shall be kept."""
    file: Path = options.output
    if file.suffix != ".npz":
        raise ValueError(f"output is {file}; expected a name that ends in .npz")
    if file.exists() and not options.overwrite:
        raise ValueError(f"{file} exists; --overwrite replaces it")
    return file
