"""The options of logs of slates, for the subcommand `evaluate`."""

import argparse
from collections.abc import Sequence

from bandit_envs.cli.log_options import named_features
from bandit_envs.logged.files import read_slates
from bandit_envs.logged.slate_log import SlateLog

OF_SLATES = ("slate", "slot", "slot_propensity", "prefix_propensity")
"""The options that are of slates alone."""

OF_PROPENSITIES = ("logger", "balance", "estimate_propensities")
"""The options that say which propensities single actions have."""

OF_SETS = ("rewards", "window", "available", "decision", "item", "item_features")
"""The options of logs of actions from sets that change, and of rewards in a second table."""


def names_slates(options: argparse.Namespace) -> bool:
    """Returns whether options say that actions are slates: their own, or one with a comma."""
    return "," in options.action or any(getattr(options, name) is not None for name in OF_SLATES)


def open_slates(options: argparse.Namespace) -> SlateLog:
    """Returns the log that the options name."""
    for name in (*OF_PROPENSITIES, *OF_SETS):
        if getattr(options, name) not in (None, False):
            option = f"--{name.replace('_', '-')}"
            which = "propensities" if name in OF_PROPENSITIES else "slates"
            raise ValueError(f"slates have no {option}; expected the columns of {which}")
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
        unit=options.unit,
        features=named_features(options),
        num_actions=options.num_actions,
        drop_missing=options.drop_missing,
    )


def _split(text: str | None) -> list[str]:
    """Returns the names in a text with commas."""
    return [name for name in (text or "").split(",") if name]
