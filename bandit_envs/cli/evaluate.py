"""The subcommand `evaluate`: what policies would have earned, estimated from a log."""

import argparse
import contextlib
import functools
import operator
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bandit_envs import logged
from bandit_envs.arrays import Floats
from bandit_envs.base.saving import atomic_write
from bandit_envs.cli.console import OUT, new_table
from bandit_envs.cli.studies import folder_of
from bandit_envs.datasets.tables import read_table
from bandit_envs.logged import BanditLog, Estimate, Estimator
from bandit_envs.logged.registry import ESTIMATORS, EstimatorEntry
from bandit_envs.nests import map_structure
from bandit_envs.policies import Policy
from bandit_envs.studies.choice import Choice, PolicyChoice, printable
from bandit_envs.studies.estimate_figures import estimates_figure, weights_figure
from bandit_envs.studies.tables import csv_rows
from bandit_envs.trajectories import Trajectory, restart, termination

DEFAULT_ESTIMATORS = ("ips", "snips", "dr")
SAMPLES = 100  # choices counted of a policy that does not know its probabilities


class EstimatorChoice(Choice[EstimatorEntry]):
    """An estimator."""

    entry_class = EstimatorEntry
    table = ESTIMATORS


class Row(NamedTuple):
    """A row of `estimates.csv`."""

    policy: str
    estimator: str
    rows: int
    value: float
    low: float
    high: float
    standard_error: float
    effective_sample_size: float
    max_weight: float
    share_of_large_weights: float
    warnings: str
    truth: float | str  # by the log's expected rewards, if it has them


class Part:
    """The rows of a log on which policies are evaluated, and the rewards predicted for them."""

    def __init__(self, log: BanditLog) -> None:
        self.log = log

    @functools.cached_property
    def predicted_rewards(self) -> Floats:
        """Predictions [n, K], for the estimators that need them."""
        return logged.RewardRegression().predict(self.log)


class Evaluated(NamedTuple):
    """A policy, and what it would have done in the rows on which it is evaluated."""

    choice: PolicyChoice
    part: Part
    probabilities: Floats  # [n, K]

    def weights(self) -> Floats:
        """Returns the weights of the rows: [n]."""
        log = self.part.log
        taken = self.probabilities[np.arange(len(log)), log.action]
        return np.asarray(taken / log.propensity)

    def truth(self) -> float | str:
        """Returns the mean expected reward, or "" if the log does not know it."""
        means = self.part.log.expected_rewards
        if means is None:
            return ""
        # Those of actions that are not available may be infinite.
        means = np.where(self.probabilities > 0.0, means, 0.0)
        return float((self.probabilities * means).sum(axis=1).mean())


def evaluate(options: argparse.Namespace) -> int:
    """Estimates what policies would have earned; writes and shows a table and figures."""
    folder = _output_folder(options)
    log, title = _read(options)
    policies = [each for spec in options.policy for each in PolicyChoice.expand(spec)]
    specs = options.estimator or DEFAULT_ESTIMATORS
    choices = [each for spec in specs for each in EstimatorChoice.expand(spec)]
    estimators = {str(each): each.entry.make(**each.parameters) for each in choices}
    evaluated = _evaluate_policies(policies, log)
    found = [
        _estimate(each, name, estimator, options.confidence)
        for each in evaluated
        for name, estimator in estimators.items()
    ]
    _write(folder, found, evaluated, log)
    _show(found, title, options.confidence)
    _explain_parts(evaluated, log)
    OUT.print(f"Results: {folder}", soft_wrap=True)
    return 0


def _output_folder(options: argparse.Namespace) -> Path:
    """Returns the folder of the results; ValueError if it has some that shall be kept."""

    def is_free(folder: Path) -> bool:
        return not (folder / "estimates.csv").exists()

    folder = folder_of(options, f"{options.log.stem}-estimates", is_free)
    if not (options.overwrite or is_free(folder)):
        raise ValueError(f"{folder} has estimates; --overwrite replaces them")
    return folder


def _read(options: argparse.Namespace) -> tuple[BanditLog, str]:
    """Returns the log of a file, and a text that describes it."""
    if options.features is not None:
        return _read_table(options)
    if options.drop_missing:
        raise ValueError("--drop-missing is for a table of your own; name its --features")
    try:
        log = logged.read_log(options.log)
    except ValueError as error:
        advice = 'for a table of your own, name its columns with --features ("" for none)'
        raise ValueError(f"{error}; {advice}") from error
    return log, f"{options.log}\n{log}"


def _read_table(options: argparse.Namespace) -> tuple[BanditLog, str]:
    """Returns the log of a table with the user's columns, and a text that describes it."""
    frame = read_table(options.log)
    features = [name for name in options.features.split(",") if name]
    size = len(frame)
    if options.drop_missing:
        used = [options.action, options.reward, options.propensity, *features]
        frame = frame.dropna(subset=[name for name in used if name in frame])
    log = logged.from_frame(
        frame,
        action=options.action,
        reward=options.reward,
        propensity=options.propensity,
        features=features,
        num_actions=options.num_actions,
    )
    title = f"{options.log}\n{log}"
    if options.drop_missing:
        title += f"\n{size - len(log)} of {size} rows miss values, and are left out"
    return log, title


def _evaluate_policies(choices: Sequence[PolicyChoice], log: BanditLog) -> list[Evaluated]:
    """Trains the policies that learn on the first half of a log, and asks all on other rows.

    A policy that does not learn is asked on all rows.
    """
    size = _batch_size(log)
    half = len(log) // 2 // size * size
    whole = Part(log)
    rest = Part(log[half:])
    evaluated = []
    for choice in choices:
        with _name_in_errors(choice):
            policy = _make(choice, log, size)
            if policy.can_learn:
                part = rest
                _train(policy, log[:half])
            else:
                part = whole
                policy = _make(choice, log, batch_size=1)  # which is shown many rows at a time
            samples = None if policy.knows_probabilities else SAMPLES
            table = logged.probabilities_of(policy, part.log, samples)
        evaluated.append(Evaluated(choice, part, table))
    return evaluated


def _batch_size(log: BanditLog) -> int:
    """Returns how many rows of a policy made the log: 1 if no `LogRecorder` wrote it.

    Such a log is one problem, which one row of a policy learns.
    """
    if log.row is None or not len(log):
        return 1
    size = int(log.row.max()) + 1
    is_complete = np.array_equal(log.row, np.arange(len(log)) % size)
    return size if is_complete else 1


def _make(choice: PolicyChoice, log: BanditLog, batch_size: int) -> Policy:
    """Returns a new policy that fits a log."""
    policy: Policy = choice.make(logged.ReplayEnvironment(log, batch_size), 0)
    return policy


def _train(policy: Policy, log: BanditLog) -> None:
    """Lets a policy learn from a log, as if it had made these decisions itself."""
    size = policy.batch_size
    observations = log.seen()
    before = restart((), size)
    after = termination((), np.zeros(size))
    for start in range(0, len(log), size):
        rows = slice(start, start + size)
        observation = map_structure(operator.itemgetter(rows), observations)
        now = before._replace(observation=observation)
        then = after._replace(reward=log.reward[rows])
        policy.learn(Trajectory.from_transition(now, log.action[rows], then))


def _estimate(each: Evaluated, name: str, estimator: Estimator, confidence: float) -> Row:
    """Returns the row of a policy and an estimator."""
    part = each.part
    predicted = part.predicted_rewards if estimator.needs_predictions else None
    with warnings.catch_warnings(record=True) as caught, _name_in_errors(each.choice):
        warnings.simplefilter("always")
        estimate: Estimate = estimator.estimate(part.log, each.probabilities, predicted)
    low, high = estimate.normal_interval(confidence)
    return Row(
        policy=str(each.choice),
        estimator=name,
        rows=len(part.log),
        value=estimate.value,
        low=low,
        high=high,
        standard_error=estimate.standard_error,
        effective_sample_size=estimate.effective_sample_size,
        max_weight=estimate.max_weight,
        share_of_large_weights=estimate.share_of_large_weights,
        warnings="; ".join(str(warning.message) for warning in caught),
        truth=each.truth(),
    )


@contextlib.contextmanager
def _name_in_errors(choice: PolicyChoice) -> Iterator[None]:
    """Names the policy in the error of a user's class."""
    try:
        yield
    except Exception as error:  # users' classes raise any
        raise ValueError(f"policy {choice}: {printable(error, choice)}") from error


def _write(
    folder: Path, found: Sequence[Row], evaluated: Sequence[Evaluated], log: BanditLog
) -> None:
    """Writes the table and the figures."""
    weights = {str(each.choice): each.weights() for each in evaluated}
    values = {(row.policy, row.estimator): (row.value, row.low, row.high) for row in found}
    folder.mkdir(parents=True, exist_ok=True)
    atomic_write(folder / "estimates.csv", [csv_rows([Row._fields, *found])])
    atomic_write(folder / "estimates.png", [estimates_figure(values, log.reward.mean())])
    atomic_write(folder / "weights.png", [weights_figure(weights)])


def _show(found: Sequence[Row], title: str, confidence: float) -> None:
    """Prints a table of the estimates, and the warnings below it, each once."""
    texts = list(dict.fromkeys(row.warnings for row in found if row.warnings))
    headings = ["policy, estimator", f"value ({100.0 * confidence:.4g}% interval)"]
    headings += ["effective\nrows"]
    if texts:
        headings.append("warning")
    table = new_table(title, *headings)
    last = ""
    for row in found:
        if row.policy != last:
            table.add_row(row.policy)
            if row.truth != "":
                table.add_row("  truth", f"{row.truth:.4f}")
            last = row.policy
        cells = [f"{row.value:.4f} ({row.low:.4f} to {row.high:.4f})"]
        cells.append(f"{row.effective_sample_size:.0f}")
        if row.warnings:
            cells.append(f"[{texts.index(row.warnings) + 1}]")
        table.add_row(f"  {row.estimator}", *cells)
    OUT.print(table)
    for number, text in enumerate(texts, start=1):
        OUT.print(f"[{number}] {text}", soft_wrap=True)


def _explain_parts(evaluated: Sequence[Evaluated], log: BanditLog) -> None:
    """Says on which rows policies that learn have learned, if there are such."""
    learners = [each for each in evaluated if len(each.part.log) < len(log)]
    if not learners:
        return
    rest = len(learners[0].part.log)
    learned = f"Policies that learn have learned from the first {len(log) - rest} rows"
    text = f"{learned}, and are frozen then. They are evaluated on the other {rest} rows"
    if len(learners) < len(evaluated):
        text += f", and the other policies on all {len(log)}"
    OUT.print(f"{text}.", soft_wrap=True)
