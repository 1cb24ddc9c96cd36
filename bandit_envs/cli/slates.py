"""The options of logs of slates, for the subcommand `evaluate`."""

import argparse
from collections.abc import Sequence

from bandit_envs import evaluations
from bandit_envs.cli.logs import named_features
from bandit_envs.evaluations import Evaluation
from bandit_envs.evaluations.passes import needs_workers
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


def evaluate_slates(options: argparse.Namespace) -> Evaluation:
    """Returns the estimates that the options ask for of a log of slates."""
    if options.estimator or options.continuous or options.bandwidth is not None:
        expected = "no --estimator, --continuous or --bandwidth"
        raise ValueError(f"--slates estimates by the propensities of the log; expected {expected}")
    if options.logger is not None:
        raise ValueError("--slates is for one logging policy; expected no --logger")
    if options.estimate_propensities or options.train_until is not None:
        expected = "no --estimate-propensities or --train-until"
        raise ValueError(f"policies that show slates do not learn from logs; expected {expected}")
    if needs_workers(options.workers, options.backend, options.address):
        expected = "no --workers, --backend or --address"
        raise ValueError(f"--slates reads the whole log into memory; expected {expected}")
    return evaluations.evaluate_slates(
        _read(options),
        options.policy,
        baseline=options.baseline,
        by=options.by,
        confidence=options.confidence,
        name=options.log.name,
    )


def _read(options: argparse.Namespace) -> SlateLog:
    """Returns the log that the options name."""
    slot_propensity = _split(options.slot_propensity)
    prefix_propensity = _split(options.prefix_propensity)
    propensity = options.propensity
    if propensity == "propensity" and (slot_propensity or prefix_propensity):
        propensity = None  # no option names it
    try:
        return _read_columns(options, propensity, slot_propensity, prefix_propensity)
    except ValueError as error:
        if "no column 'propensity'" not in str(error):
            raise
        advice = "--propensity, --slot-propensity or --prefix-propensity names its probabilities"
        raise ValueError(f"{error}; {advice}") from error


def _read_columns(
    options: argparse.Namespace,
    propensity: str | None,
    slot_propensity: Sequence[str],
    prefix_propensity: Sequence[str],
) -> SlateLog:
    """Returns the log of some columns of probabilities, and of others that the options name."""
    return read_slates(
        options.log.absolute(),
        only=options.only,
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
