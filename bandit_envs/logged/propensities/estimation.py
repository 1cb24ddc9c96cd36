"""Propensities that are estimated from the actions of a log."""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bandit_envs.arrays import Array, Floats, Indices
from bandit_envs.base.checks import check_integer, check_number
from bandit_envs.logged.features import flat_features_of
from bandit_envs.logged.files.scan import Scan
from bandit_envs.logged.joining import concatenate
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.log_checks import (
    check_repeatable,
    require_equal_rows,
    require_numbered_actions,
    require_rows,
)
from bandit_envs.logged.propensities.calibration import Calibration
from bandit_envs.logged.propensities.left_out import find_predictive
from bandit_envs.logged.propensities.multinomial import MultinomialRegression, fit_multinomial
from bandit_envs.logged.reward_models.reward_sums import folds_of
from bandit_envs.policies.scikit_learn.model import (
    check_estimator,
    copy_estimator,
    name_failing_estimator,
)

ESTIMATE = "an estimate of propensities"  # in messages
MIN_PROPENSITY = 1e-3

NAMED = 5
"""So many actions are named that a model does not fit."""


@dataclasses.dataclass(frozen=True)
class PropensityModel:
    """What gives the rows of a log their propensities.

    Args:
        regression: of the actions.
        min_propensity: lower ones are raised to it.
        note: what the log says of its propensities.
    """

    regression: MultinomialRegression
    min_propensity: float
    note: str

    def __call__(self, batch: BanditLog) -> BanditLog:
        """Returns some rows with their propensities."""
        if not len(batch):
            return dataclasses.replace(batch, estimated=self.note)
        return _with_table(batch, self.table(batch), self.min_propensity, self.note)

    def calibrate(self, batch: BanditLog) -> Calibration:
        """Returns the calibration of some rows."""
        return _calibrate(batch, self.table(batch), self.min_propensity)

    def table(self, batch: BanditLog) -> Floats:
        """Returns the probabilities of all actions in some rows: [n, K]."""
        found = self.regression.probabilities(batch)
        missing = batch.num_actions - found.shape[1]  # of actions that were named since
        return np.pad(found, ((0, 0), (0, max(0, missing))))


@dataclasses.dataclass(frozen=True)
class EstimatedBatches:
    """The batches of a log, with estimated propensities. Every loop over them estimates anew.

    Args:
        batches: of the log.
        model: of the propensities.
    """

    batches: Iterable[BanditLog]
    model: PropensityModel

    def __iter__(self) -> Iterator[BanditLog]:
        """Yields the batches."""
        return map(self.model, self.batches)


@dataclasses.dataclass(frozen=True)
class EstimatedPropensities:
    """A log with estimated propensities; `print` shows how well they fit.

    Args:
        log: a `BanditLog`, or batches that can be passed over more than once.
        calibration: the mean of 1/p for each action, which is 1 on average if p is right.
        predictive: columns that are no features, and predict the actions beyond the model.
    """

    log: Any
    calibration: Calibration
    predictive: Sequence[str] = ()

    def __str__(self) -> str:
        return "\n".join([str(self.calibration), *map(_describe_predictive, self.predictive)])


def estimate_propensities(
    log: BanditLog | Iterable[BanditLog],
    model: Any = None,
    *,
    penalty: float = 1.0,
    min_propensity: float = MIN_PROPENSITY,
    folds: int = 3,
    others: Any = None,
) -> EstimatedPropensities:
    """Estimates the propensities of a log that lacks them, from its observations and actions.

    By default, a multinomial logistic regression of the actions is fitted to all rows. If it is
    right, estimates by inverse propensities vary less than with the true ones, and their intervals
    are a little too wide. A classifier is cross-fitted, for `DoublyRobust`: the model of each fold
    learns from the other folds.

    If actions depended on what is no feature, estimates are biased. So the columns that the
    features leave out are tested for predicting the actions. Nothing tells of what the log lacks.

    Args:
        log: a `BanditLog`; or what `scan_log` returns; or, for the default model, other batches
            that can be passed over more than once.
        model: a classifier of scikit-learn with `predict_proba`.
        penalty: of the squared weights of the regression but those of intercepts, at least 0.
        min_propensity: lower propensities are raised to it, which biases what these rows tell.
        folds: of the classifier, at least 2.
        others: of a `BanditLog`, the columns that its features leave out: a data frame, or a dict
            of columns [n]. What `scan_log` returns knows those of its table.

    Returns:
        The log with its propensities. It says in later tables that they were estimated.

    Warns:
        UserWarning: a column that is no feature predicts the actions, by Pearson's chi-squared test
            over the levels of the column. At most 1 of 1,000 logs without such a column warns.

    Raises:
        ValueError: actions are real numbers, an action is missing in a fold, or the regression has
            too many weights.

    >>> rng = np.random.default_rng(0)
    >>> action = rng.integers(0, 2, 1000)
    >>> log = BanditLog(rng.normal(size=(1000, 1)), action, 1.0 * action, None)
    >>> found = estimate_propensities(log)
    >>> bool(abs(found.log.propensity - 0.5).max() < 0.2), found.calibration.raised
    (True, 0)
    """
    check_number("penalty", penalty, 0.0)
    check_number("min_propensity", min_propensity, 1e-40, 1.0)
    check_integer("folds", folds, minimum=2)
    left_out = {} if others is None else _read_others(log, others)
    if model is None:
        found = _fit_regression(log, penalty, min_propensity, left_out)
    else:
        found = _cross_fit(log, check_estimator("model", model), min_propensity, folds, left_out)
    for name in found.predictive:
        warnings.warn(_describe_predictive(name), stacklevel=2)
    return found


def _fit_regression(
    log: Any, penalty: float, min_propensity: float, left_out: Mapping[str, Array]
) -> EstimatedPropensities:
    """Returns the log with the propensities of a logistic regression."""
    batches = [log] if isinstance(log, BanditLog) else check_repeatable(log)
    first = next(iter(batches), None)
    if first is not None:
        require_equal_rows(require_numbered_actions(first), ESTIMATE)
    regression = fit_multinomial(batches, penalty)
    found = PropensityModel(regression, min_propensity, note="")
    calibration = functools.reduce(Calibration.merge, map(found.calibrate, batches))
    pairs = log.scan_left_out() if isinstance(log, Scan) else ((each, left_out) for each in batches)
    predictive = find_predictive(
        (columns, batch.action, found.table(batch)) for batch, columns in pairs if columns
    )
    how = "by a logistic regression of the actions on the features"
    made = dataclasses.replace(found, note=_note(how, calibration, predictive))
    estimated = made(log) if isinstance(log, BanditLog) else EstimatedBatches(batches, made)
    return EstimatedPropensities(estimated, calibration, predictive)


def _read_others(log: Any, others: Any) -> dict[str, Array]:
    """Returns columns [n] that the features of a log leave out, by name."""
    if not isinstance(log, BanditLog):
        raise TypeError(f"others is given, and log is of type {type(log).__name__}, not BanditLog")
    columns = {str(name): np.asarray(column) for name, column in others.items()}
    for name, column in columns.items():
        if column.shape != (len(log),):
            found = f"others has {name!r} of shape {column.shape}"
            raise ValueError(f"{found}; expected {(len(log),)}")
    return columns


def _describe_predictive(name: str) -> str:
    """Returns the warning of a column that predicts the actions."""
    fault = "estimates are biased if it also tells of rewards"
    return f"column {name!r} is no feature, and predicts the action: {fault}"


def _cross_fit(
    log: Any, model: Any, min_propensity: float, folds: int, left_out: Mapping[str, Array]
) -> EstimatedPropensities:
    """Returns the log with the propensities of a cross-fitted classifier."""
    if isinstance(log, Scan):
        pairs = list(log.scan_left_out())
        names = pairs[0][1] if pairs else {}
        left_out = {name: np.concatenate([each[name] for _, each in pairs]) for name in names}
        log = concatenate([batch for batch, _ in pairs])
    if not isinstance(log, BanditLog):
        found = f"log is of type {type(log).__name__}"
        expected = "a BanditLog, or what scan_log returns, for a classifier"
        raise TypeError(f"{found}; expected {expected}")
    require_rows(require_equal_rows(require_numbered_actions(log), ESTIMATE))
    table = cross_fitted_table(log, model, folds_of(0, len(log), folds, log.unit))
    calibration = _calibrate(log, table, min_propensity)
    predictive = find_predictive([(left_out, log.action, table)])
    how = f"by {type(model).__name__}, cross-fitted in {folds} folds"
    made = _with_table(log, table, min_propensity, _note(how, calibration, predictive))
    return EstimatedPropensities(made, calibration, predictive)


def cross_fitted_table(log: BanditLog, model: Any, fold: Indices) -> Floats:
    """Returns the probabilities [n, K] of actions by classifiers that have not seen the row.

    Args:
        log: n decisions.
        model: a classifier, of which each fold gets a copy.
        fold: [n], of the rows.

    Raises:
        ValueError: the rows outside of a fold lack an action that it has.
    """
    features = flat_features_of(log)
    table = np.zeros((len(log), log.num_actions))
    for index in np.unique(fold):
        test = np.flatnonzero(fold == index)
        train = np.flatnonzero(fold != index)
        new = np.setdiff1d(log.action[test], log.action[train])
        if len(new):
            name = log.action_names[new[0]] if log.action_names else new[0]
            problem = f"action {name} is in one fold alone, so its propensity there would be 0"
            raise ValueError(f"{problem}; expected more rows of it, or no model")
        made = copy_estimator(model, np.random.default_rng(index))
        with name_failing_estimator(made, "learn from", len(train)):
            made.fit(features[train], log.action[train])
            found = made.predict_proba(features[test])
        table[np.ix_(test, made.classes_)] = found
    return table


def _with_table(log: BanditLog, table: Floats, min_propensity: float, note: str) -> BanditLog:
    """Returns a log with the probabilities of all actions, and the propensities that they say."""
    taken = table[np.arange(len(log)), log.action]
    return dataclasses.replace(
        log,
        propensity=np.clip(taken, min_propensity, 1.0),
        action_probabilities=table,
        estimated=note,
    )


def _calibrate(log: BanditLog, table: Floats, min_propensity: float) -> Calibration:
    """Returns the calibration of some rows by the probabilities of all actions."""
    taken = table[np.arange(len(log)), log.action]
    raised = int(np.count_nonzero(taken < min_propensity))
    made = _with_table(log, table, min_propensity, note="")
    return Calibration.from_log(made, raised, min_propensity)


def _note(how: str, calibration: Calibration, predictive: Sequence[str]) -> str:
    """Returns what a log says of its propensities.

    Args:
        how: they were estimated.
        calibration: how well they fit.
        predictive: the columns that are no features, and predict the actions.
    """
    text = f"propensities were estimated {how}"
    if calibration.raised:
        count = f"{calibration.raised} of {calibration.rows}"
        text += f"; {count} were below {calibration.min_propensity:g}, and raised to it"
    far = [calibration.name_action(action) for action in calibration.find_far()]
    if far:
        more = ", ..." if len(far) > NAMED else ""
        text += f"; their model is wrong where it predicts {', '.join(far[:NAMED])}{more}"
    if predictive:
        more = ", ..." if len(predictive) > NAMED else ""
        names = ", ".join(map(repr, predictive[:NAMED]))
        text += f"; columns that are no features predict the actions, too: {names}{more}"
    return text
