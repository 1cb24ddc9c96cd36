"""The numbers of a study's tables as texts, with what they vary by over runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bandit_envs.metrics import Quantity, Statistics
from bandit_envs.showing.tables import Cell, rounded, with_decimals
from bandit_envs.studies.definition.study import Study

if TYPE_CHECKING:
    from bandit_envs.studies.results.results import PairResult


def summary_cell(study: Study, pair: PairResult, name: str) -> Cell:
    """Returns the last value of a quantity, with the decimals that a summary has."""
    numbers = pair.last(name, study)
    value, _, high = numbers
    error = high - value
    fewest = study.quantities[name].decimals
    return _cell(study, pair, name, with_decimals(*numbers, error, fewest=fewest, error=error))


def paper_cell(study: Study, pair: PairResult, name: str) -> Cell:
    """Returns the last value of a quantity, rounded to two digits of what it varies by."""
    numbers = pair.last(name, study)
    value, low, high = numbers
    error = max(high - value, value - low)
    return _cell(study, pair, name, _round([*numbers, error], error, study.quantities[name]))


def difference_cell(statistics: Statistics, p_value: float, quantity: Quantity) -> Cell:
    """Returns a mean difference of runs, rounded to two digits of its standard error."""
    mean = float(statistics.mean)
    error = float(statistics.standard_error)
    center, spread = _round([mean, error], error, quantity)
    return Cell(center, spread, p_value=p_value)


def _round(numbers: Sequence[float], error: float, quantity: Quantity) -> list[str]:
    """Returns numbers with two digits of their error, or as a summary has them without one."""
    texts = rounded(*numbers, error=error)
    return texts or with_decimals(*numbers, fewest=quantity.decimals, error=error)


def _cell(study: Study, pair: PairResult, name: str, texts: Sequence[str]) -> Cell:
    """Returns a cell of the texts of a value, of the ends of its interval, and of its error."""
    center, low, high, error = texts
    if pair.runs == 1:
        return Cell(center)
    if study.quantiles or study.quantities[name].is_probability:
        return Cell(center, ends=(low, high))
    return Cell(center, error)
