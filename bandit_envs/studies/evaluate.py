"""What policies would have earned, estimated from a log."""

import argparse
import contextlib
import operator
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bandit_envs import logged
from bandit_envs.base.registry import Entry
from bandit_envs.base.saving import atomic_write
from bandit_envs.cli.console import OUT, new_table
from bandit_envs.cli.studies import folder_of
from bandit_envs.logged import BanditLog
from bandit_envs.nests import map_structure
from bandit_envs.policies import Policy
from bandit_envs.studies.choice import Choice, PolicyChoice, printable
from bandit_envs.studies.figures import estimates_figure, weights_figure
from bandit_envs.studies.results import csv_rows
from bandit_envs.trajectories import Trajectory, restart, termination

ROWS = 1024  # of the log, shown to a policy at a time
SAMPLES = 100  # choices counted of a policy that does not know its probabilities


class EstimatorEntry(Entry):
    """An estimator."""

    what, kinds = "estimator", (logged.Estimator,)


class EstimatorChoice(Choice):
    """An estimator."""

    entries = EstimatorEntry
    table = EstimatorEntry.table(
        ("ips", "ips", logged.InversePropensityScoring),
        ("snips", "snips", logged.SelfNormalizedIPS),
        ("dm", "dm", logged.DirectMethod),
        ("dr", "dr", logged.DoublyRobust),
        ("sndr", "sndr", logged.SelfNormalizedDR),
        ("switch_dr", "switch_dr", logged.SwitchDR),
        ("dr_os", "dr_os", logged.DRWithOptimisticShrinkage),
        ("sg_ips", "sg_ips", logged.SubGaussianIPS),
        ("sg_dr", "sg_dr", logged.SubGaussianDR),
        ("replay", "replay", logged.ReplayMethod),
    )


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


_details = operator.attrgetter(*Row._fields[6:10])


def evaluate(options: argparse.Namespace) -> int:
    """Estimates what policies would have earned; writes and shows a table and figures."""

    def is_free(folder: Path) -> bool:
        return not (folder / "estimates.csv").exists()

    folder = folder_of(options, f"{options.log.stem}-estimates", is_free)
    if not (options.overwrite or is_free(folder)):
        raise ValueError(f"{folder} has estimates; --overwrite replaces them")
    log = _read(options)
    choices = [choice for spec in options.policy for choice in PolicyChoice.expand(spec)]
    specs = options.estimator or ("ips", "snips", "dr")
    chosen = [choice for spec in specs for choice in EstimatorChoice.expand(spec)]
    estimators = {str(choice): choice.entry.make(**choice.parameters) for choice in chosen}
    frozen, found, weights, predicted = [], [], {}, None
    for choice in choices:
        with _named(choice):
            frozen.append(_frozen(choice, log))
    start = max(start for _, start in frozen)
    rest = log[start:]
    if any(estimator.needs_predictions for estimator in estimators.values()):
        predicted = logged.RewardRegression().predict(rest)
    for choice, (policy, _) in zip(choices, frozen):
        label = str(choice)
        with _named(choice):
            samples = None if policy.knows_probabilities else SAMPLES
            chances = logged.probabilities_of(policy, rest, samples)
        truth: Any = ""
        if rest.expected_rewards is not None:  # those of unavailable actions may be infinite
            means = np.where(chances > 0.0, rest.expected_rewards, 0.0)
            truth = (chances * means).sum(axis=1).mean()
        weights[label] = chances[np.arange(len(rest)), rest.action] / rest.propensity
        for name, estimator in estimators.items():
            with warnings.catch_warnings(record=True) as caught, _named(choice):
                warnings.simplefilter("always")
                estimate = estimator.estimate(rest, chances, predicted)
            numbers = (
                estimate.value,
                *estimate.normal_interval(options.confidence),
                *_details(estimate),
            )
            texts = "; ".join(str(warning.message) for warning in caught)
            found.append(Row._make((label, name, len(rest), *numbers, texts, truth)))
    folder.mkdir(parents=True, exist_ok=True)
    atomic_write(folder / "estimates.csv", [csv_rows([Row._fields, *found])])
    atomic_write(folder / "estimates.png", [estimates_figure(found, rest.reward.mean())])
    atomic_write(folder / "weights.png", [weights_figure(weights)])
    _show(found, f"{options.log}\n{rest}", f"value ({100.0 * options.confidence:.4g}% interval)")
    if start:
        learned = f"Policies that learn have learned from the first {start} rows, and are frozen"
        OUT.print(f"{learned} then. The other {len(rest)} rows are evaluated.", soft_wrap=True)
    OUT.print(f"Results: {folder}", soft_wrap=True)
    return 0


def _read(options: argparse.Namespace) -> BanditLog:
    if options.features is None:
        try:
            return logged.read_log(options.log)
        except ValueError as error:
            advice = 'for a table of your own, name its columns with --features ("" for none)'
            raise ValueError(f"{error}; {advice}") from error
    if options.log.suffix == ".parquet":
        from pyarrow import parquet  # noqa: PLC0415

        frame = parquet.read_table(options.log).to_pandas()
    else:
        import pandas  # noqa: PLC0415

        frame = pandas.read_csv(options.log)
    names = options.action, options.reward, options.propensity
    features = [name for name in options.features.split(",") if name]
    return logged.from_frame(frame, *names, features=features, num_actions=options.num_actions)


def _frozen(choice: PolicyChoice, log: BanditLog) -> tuple[Policy, int]:
    """Returns a policy that has learned from the first half of a log, and where the rest begins.

    For a policy that does not learn, that is 0. A log that a `LogRecorder` made has a row for each
    row of the policy; of any other, one row learns, and in the end all rows know the same.
    """
    row = log.columns().get("row", np.ones(1, int))
    size = int(row.max()) + 1
    if not np.array_equal(row, np.arange(len(log)) % size):
        size = 1
    policy = _made(choice, log, size)
    half = len(log) // 2 // size * size * policy.can_learn
    before, after, observations = restart((), size), termination((), np.zeros(size)), log.seen()
    for start in range(0, half, size):
        rows = slice(start, start + size)
        now = before._replace(observation=map_structure(operator.itemgetter(rows), observations))
        after = after._replace(reward=log.reward[rows])
        policy(Trajectory.from_transition(now, log.action[rows], after))
    learned = policy.get_state().content.learned
    if size == 1:
        wide = _made(choice, log, min(ROWS, len(log)))
        state = wide.get_state()
        with contextlib.suppress(ValueError):  # a class may keep something else than rows
            learned = map_structure(_spread, learned, state.content.learned)
            wide.set_state(state._replace(content=state.content._replace(learned=learned)))
            policy = wide
    return policy, half


def _spread(one: Any, many: Any) -> Any:
    return one if np.shape(one) == np.shape(many) else np.broadcast_to(one, np.shape(many))


def _made(choice: PolicyChoice, log: BanditLog, size: int) -> Policy:
    policy: Policy = choice.make(logged.ReplayEnvironment(log, size), 0)
    return policy


@contextlib.contextmanager
def _named(choice: PolicyChoice) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # users' classes raise any
        raise ValueError(f"policy {choice}: {printable(error, choice)}") from error


def _show(found: list[Row], title: str, value: str) -> None:
    texts, last = list(dict.fromkeys(row.warnings for row in found if row.warnings)), ""
    names = ["warning"] * bool(texts)
    table = new_table(title, "policy, estimator", value, "effective\nrows", *names)
    for row in found:
        numbers = f"{row.value:.4f} ({row.low:.4f} to {row.high:.4f})"
        cells = [numbers, f"{row.effective_sample_size:.0f}"]
        if row.warnings:
            cells.append(f"[{texts.index(row.warnings) + 1}]")
        if row.policy != last:
            table.add_row(row.policy)
            if row.truth != "":
                table.add_row("  truth", f"{row.truth:.4f}")
        table.add_row(f"  {row.estimator}", *cells)
        last = row.policy
    OUT.print(table)
    for number, text in enumerate(texts, start=1):
        OUT.print(f"[{number}] {text}", soft_wrap=True)
