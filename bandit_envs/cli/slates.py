"""The subcommand `evaluate` for logs of slates."""

import argparse
import math
from pathlib import Path

from bandit_envs import evaluations
from bandit_envs.cli.console import ERR, OUT, new_table
from bandit_envs.cli.logs import named_features
from bandit_envs.evaluations import SlateEvaluation
from bandit_envs.evaluations.candidates import LOGGED
from bandit_envs.logged.files import read_slates
from bandit_envs.logged.slates import SlateLog

OF_SLATES = ("slate", "slot", "slot_propensity", "prefix_propensity")
"""The options that are of slates alone."""


def refuse_options_of_slates(options: argparse.Namespace) -> None:
    """Raises ValueError if an option is of slates, and the log has none."""
    for name in OF_SLATES:
        if getattr(options, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise ValueError(f"{option} is for logs of slates; expected --slates")


def evaluate_slates(options: argparse.Namespace, folder: Path) -> int:
    """Estimates what policies would have earned that show slates; writes and shows a table.

    Returns 1 if an interval reaches below --fail-below.
    """
    if options.estimator or options.continuous:
        expected = "no --estimator or --continuous"
        raise ValueError(f"--slates estimates by the propensities of the log; expected {expected}")
    if options.by is not None or options.baseline != LOGGED:
        raise ValueError("--slates has no segments or gains; expected no --by or --baseline")
    if options.logger is not None:
        raise ValueError("--slates is for one logging policy; expected no --logger")
    if options.estimate_propensities or options.train_until is not None:
        expected = "no --estimate-propensities or --train-until"
        raise ValueError(f"policies that show slates do not learn from logs; expected {expected}")
    found = evaluations.evaluate_slates(
        _read(options), options.policy, confidence=options.confidence
    )
    found.write(folder)
    OUT.print(f"{options.log}\n{found.title}", soft_wrap=True)
    _show(found)
    OUT.print(f"Results: {folder}", soft_wrap=True)
    bound = -math.inf if options.fail_below is None else options.fail_below
    low = [row for row in found.rows if not row.low >= bound]  # NaN is no number that passes
    for row in low:
        text = f"{row.policy}: the interval of {row.estimator} begins at {row.low:.4f}"
        ERR.print(f"{text}, below {bound:g}", soft_wrap=True)
    return 1 if low else 0


def _read(options: argparse.Namespace) -> SlateLog:
    """Returns the log that the options name."""
    slot_propensity = _split(options.slot_propensity)
    prefix_propensity = _split(options.prefix_propensity)
    propensity = options.propensity
    if propensity == "propensity" and (slot_propensity or prefix_propensity):
        propensity = None  # no option names it
    return read_slates(
        options.log.absolute(),
        options.only,
        action=_split(options.action),
        reward=_split(options.reward),
        propensity=propensity,
        slot_propensity=slot_propensity,
        prefix_propensity=prefix_propensity,
        slate=options.slate,
        slot=options.slot,
        features=named_features(options),
        num_actions=options.num_actions,
        drop_missing=options.drop_missing,
    )


def _split(text: str | None) -> list[str]:
    """Returns the names in a text with commas."""
    return [name for name in (text or "").split(",") if name]


def _show(found: SlateEvaluation) -> None:
    """Prints a table of the estimates, and the warnings below it, each once."""
    texts = list(dict.fromkeys(row.warnings for row in found.rows if row.warnings))
    interval = f"value ({100.0 * found.confidence:.4g}% interval)"
    headings = ["policy", "estimator", interval, "effective\nslates"]
    table = new_table("", *headings, *(["warning"] if texts else []))
    for row in found.rows:
        value = f"{row.value:.4f} ({row.low:.4f} to {row.high:.4f})"
        cells = [row.policy, row.estimator, value, f"{row.effective_sample_size:.0f}"]
        if row.warnings:
            cells.append(f"[{texts.index(row.warnings) + 1}]")
        table.add_row(*cells)
    OUT.print(table)
    for number, text in enumerate(texts, start=1):
        OUT.print(f"[{number}] {text}", soft_wrap=True)
