"""The choice of one of several off-policy estimates, by the log that they are made of.

Candidates are anything that an estimate can be made of: estimators, bandwidths of a kernel,
dimensions of embeddings. `estimate` says how; by default, candidates have a method of that name.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from bandit_envs.base.checks import check_number, short_repr
from bandit_envs.logged.estimators.estimate import Estimate
from bandit_envs.metrics.statistics import student_quantile

FEWEST = 10.0  # effective rows, below which a standard error says little

CONFIDENCE = 0.9
"""Of the one-sided intervals that SLOPE compares."""

Candidate = TypeVar("Candidate")


@dataclasses.dataclass(frozen=True)
class _Tried(Generic[Candidate]):
    """A candidate, its estimate, and what this has warned of."""

    candidate: Candidate
    estimate: Estimate
    warned: list[warnings.WarningMessage]


def tuned(
    estimators: Iterable[Candidate],
    *data: Any,
    estimate: Callable[..., Estimate] | None = None,
    **named: Any,
) -> tuple[Candidate, Estimate]:
    """Returns the candidate with the smallest estimated mean squared error, and its estimate.

    The error is the squared standard error plus the square of the bias. Where weights are changed,
    such as by a limit or a bandwidth, the bias is `Estimate.bias`. If no estimate knows what its
    weights leave out, such as those of embeddings, the bias is told by the one with the largest
    standard error, as if this one had none:

        bias^2 = max(0, (V - V_0)^2 - (se_0^2 - se^2))

    Candidates that leave fewer than ten effective rows are not chosen, if another leaves more, as
    their standard errors say little. Warnings are those of the chosen estimate alone.

    Args:
        estimators: to choose from, as for `slope`.
        *data: what each is given, as for `slope`.
        estimate: as for `slope`.
        **named: as for `slope`.

    Source: Su et al. (2020), section 5; the tuning classes of the Open Bandit Pipeline. The
    variance of the difference: Hausman, Specification tests in econometrics (1978).
    """
    tried = _try_all(estimate, estimators, data, named)
    tried = [tried[place] for place in _find_known([each.estimate for each in tried])]
    found = [each.estimate for each in tried]
    squared_biases = [each.bias**2 for each in found]
    if not any(each.sums.changes_weights for each in found):
        widest = max(found, key=lambda each: each.standard_error)
        squared_biases = [_squared_bias(each, widest) for each in found]
    errors = [
        each.standard_error**2 + bias for each, bias in zip(found, squared_biases, strict=True)
    ]
    return _choose(tried[int(np.argmin(errors))])


def slope(
    estimators: Iterable[Candidate],
    *data: Any,
    confidence: float = CONFIDENCE,
    estimate: Callable[..., Estimate] | None = None,
    **named: Any,
) -> tuple[Candidate, Estimate]:
    """Selects an estimate by comparing intervals (SLOPE); returns its candidate, and it.

    Estimates are ordered by decreasing width of their intervals, as their bias is assumed to grow.
    The first whose value is farther from that of an earlier one than

        width of its own interval + (sqrt(6) - 1) * width of the earlier one's

    is refuted, and so are all after it. It needs no estimate of the bias. What it selects may be
    biased by about as much as the intervals are wide. Candidates that leave fewer than ten
    effective rows are left out, as by `tuned`.

    Args:
        estimators: to choose from, such as one estimator with several limits of its weights, or
            several bandwidths; or with `estimate`, the parameters themselves.
        *data: what each `estimate` is given: for estimators of numbered actions the log, the
            policy's probabilities and, if they need them, predicted rewards.
        confidence: of the one-sided intervals by Student's t; above 0.5.
        estimate: returns the estimate of a candidate, which it is given before the data. By
            default, the method `estimate` of the candidate. With `estimate_batches`, the data are
            the batches of a log and a function of the probabilities.
        **named: data by name, such as `predicted_rewards`.

    Source: Su, Srinath & Krishnamurthy, Adaptive estimator selection for off-policy evaluation
    (2020); Tucker & Lee, Improved estimator selection for off-policy evaluation (2021).

    >>> from bandit_envs.logged import KernelIPS
    >>> dose = np.random.default_rng(0).uniform(0.0, 2.0, 20_000)
    >>> columns = (1.0 - (dose - 1.0) ** 2, np.full(20_000, 0.5), dose, np.full(20_000, 1.0))
    >>> candidates = [KernelIPS(width) for width in (0.05, 0.1, 0.8)]
    >>> slope(candidates, *columns)[0].bandwidth
    0.1
    """
    level = check_number("confidence", confidence, 0.5, 1.0)
    if not 0.5 < level < 1.0:
        raise ValueError(f"confidence is {level:g}; expected a number above 0.5 and below 1")
    tried = _try_all(estimate, estimators, data, named)
    found = [each.estimate for each in tried]
    return _choose(tried[find_last_accepted(found, level)])


def find_last_accepted(found: Sequence[Estimate], confidence: float = CONFIDENCE) -> int:
    """Returns the place of the estimate that SLOPE selects, of at least one.

    Args:
        found: of the same rows. Those of fewer than ten effective rows are left out, as by `slope`.
        confidence: as for `slope`.
    """
    quantile = student_quantile(2.0 * confidence - 1.0, found[0].sums.size - 1)
    widths = [quantile * each.standard_error for each in found]
    known = _find_known(found)
    order = [place for place in np.argsort(widths, kind="stable")[::-1].tolist() if place in known]
    chosen: int = order[0]
    for place, index in enumerate(order):
        is_refuted = any(
            abs(found[index].value - found[earlier].value)
            > widths[index] + (math.sqrt(6.0) - 1.0) * widths[earlier]
            for earlier in order[:place]
        )
        if is_refuted:
            break
        chosen = index
    return chosen


def _try_all(
    estimate: Callable[..., Estimate] | None,
    candidates: Iterable[Candidate],
    data: tuple[Any, ...],
    named: dict[str, Any],
) -> list[_Tried[Candidate]]:
    """Returns the estimates of all candidates, without warnings."""
    make = _estimate_with if estimate is None else estimate
    tried = []
    for candidate in candidates:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            found = make(candidate, *data, **named)
        tried.append(_Tried(candidate, found, warned))
    if not tried:
        raise ValueError("estimators is empty; expected at least one")
    return tried


def _find_known(found: Sequence[Estimate]) -> list[int]:
    """Returns the places of estimates of rows enough to know their errors; all if none is."""
    sizes = [each.effective_sample_size for each in found]
    known = [place for place, size in enumerate(sizes) if size >= FEWEST]
    return known or list(range(len(found)))


def _choose(tried: _Tried[Candidate]) -> tuple[Candidate, Estimate]:
    """Returns a candidate and its estimate, and warns of what this has warned of."""
    for each in tried.warned:
        warnings.warn(each.message, each.category, stacklevel=3)
    return tried.candidate, tried.estimate


def _estimate_with(candidate: Any, *data: Any, **named: Any) -> Estimate:
    """Returns what the method `estimate` of a candidate does."""
    if not hasattr(candidate, "estimate"):
        expected = "estimators, or parameters with an argument `estimate`"
        raise TypeError(f"estimators has {short_repr(candidate)}; expected {expected}")
    estimate: Estimate = candidate.estimate(*data, **named)
    return estimate


def _squared_bias(estimate: Estimate, unbiased: Estimate) -> float:
    """Returns the estimated square of a bias, by an estimate that has none and varies more."""
    of_difference = unbiased.standard_error**2 - estimate.standard_error**2
    return max(0.0, (estimate.value - unbiased.value) ** 2 - of_difference)
