"""Reasons to distrust an estimate, in words, by the sums that it is made of."""

from __future__ import annotations

import math
from collections.abc import Iterator

from bandit_envs.logged.estimators.sums.ratio_sums import RatioSums
from bandit_envs.logged.estimators.sums.unlogged_actions import ActionSums
from bandit_envs.logged.estimators.sums.weight_sums import WeightSums
from bandit_envs.rounding import is_rounding

SMALL_SAMPLE = 200.0  # effective rows, below which an estimate is unreliable
HEAVY = 0.5  # shape of the tail of the weights, from which on their variance is infinite
DECISIVE = 0.01  # share of one row in the sum of squared weights, as heavy tails nearly always have
FAR = 4.0  # standard errors between a mean weight and 1
BIASED = 3.0  # standard errors between an estimated bias and 0
ROUNDING = 1e-6  # of propensities, which may be stored in single precision


def find_unlogged_actions(actions: ActionSums | None) -> Iterator[str]:
    """Yields a text if the policy takes an action that no row has."""
    unlogged = [] if actions is None else actions.find_unlogged()
    if unlogged:
        found = f"the policy takes actions that were never logged: {unlogged[:10]}"
        yield f"{found}; the log cannot tell their value"


def find_bias(bias: float, noise: float, error: float) -> Iterator[str]:
    """Yields a text if the bias of changed weights exceeds its noise and the standard error."""
    if abs(bias) > max(BIASED * noise, error):
        direction = "low" if bias < 0.0 else "high"
        found = f"the estimate is about {abs(bias):.4g} too {direction}"
        yield f"{found}: its weights leave out that much; a normal interval does not show it"


def find_wrong_assumption(
    compared: RatioSums | None, value: float, assumption: str
) -> Iterator[str]:
    """Yields a text if weights that assume nothing say something else, by more than noise.

    Args:
        compared: the sums that test what is assumed.
        value: the estimate.
        assumption: what the text says of it.
    """
    if compared is None:
        return
    difference, noise = compared.compare_first()
    if abs(difference) > BIASED * noise and not is_rounding(difference, value):
        direction = "low" if difference > 0.0 else "high"
        found = f"the estimate is about {abs(difference):.4g} too {direction}"
        yield f"{found}, by weights that assume nothing: {assumption}"


def find_few_rows(weights: WeightSums) -> Iterator[str]:
    """Yields a text if few rows count: by what is expected of the weights, if that is known.

    With units, the weights that there are count, too: they tell if a unit has one action alone. If
    the log itself is too short, the text says so first.
    """
    name = "expected effective sample size"
    expected = weights.expected_sample_size()
    effective = math.inf if expected is None else expected
    if expected is None or weights.units is not None:
        found_size = weights.effective_sample_size()
        if found_size < effective:
            name = "effective sample size"
            effective = found_size
    if effective < SMALL_SAMPLE:
        found = f"the {name} is {effective:.1f}"
        rows = weights.means.count
        if rows >= SMALL_SAMPLE:
            found += f" of {rows} rows"
        if weights.units is not None:
            found += ", as the rows of a unit belong together"
        if rows < SMALL_SAMPLE:
            only = f"there are only {rows} rows"
            found = only if round(effective, 1) == rows else f"{only}, and {found}"
        yield f"{found}; the estimate is unreliable"
    elif weights.expected_squares is None:
        shape = weights.tail.shape()
        if shape > HEAVY and weights.share_of_largest() > DECISIVE:
            found = f"the largest weights have a heavy tail (their Pareto k is {shape:.2f})"
            yield f"{found}; the estimate is unreliable"


def find_no_spread(deviation: float, value: float) -> Iterator[str]:
    """Yields a text if no row moves the estimate, as in a log without a single click.

    Args:
        deviation: the standard deviation of what a row adds to the estimate.
        value: the estimate.
    """
    if is_rounding(deviation, value):
        yield "all rows say the same, such as a log without a click; the error is not known"


def find_wrong_mean_weight(weights: WeightSums) -> Iterator[str]:
    """Yields a text if the mean weight is not near its expectation, 1."""
    mean, error = weights.mean_weight()
    if abs(mean - 1.0) > FAR * error + ROUNDING:
        found = f"the mean weight is {mean:.4g}, more than {FAR:g} standard errors from 1"
        reason = "propensities may be wrong, what the policy does was never logged"
        yield f"{found}; {reason}, or a feature is known only after the action"
