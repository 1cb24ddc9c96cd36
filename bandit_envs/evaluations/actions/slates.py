"""Evaluates policies on a log of slates."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bandit_envs.base.checks import check_confidence
from bandit_envs.base.extras import import_extra
from bandit_envs.base.saving import atomic_write
from bandit_envs.evaluations.actions.specs_of_log import SpecsOfLog
from bandit_envs.evaluations.candidates import (
    AnyPolicy,
    ChosenPolicy,
    Contender,
    GivenPolicy,
    name_policies,
)
from bandit_envs.logged import (
    RewardInteractionIPS,
    SlateIndependentIPS,
    SlateProbabilities,
    SlateStandardIPS,
)
from bandit_envs.logged.estimators.slates import SlateEstimator
from bandit_envs.logged.features import spec_of_rows
from bandit_envs.logged.slates import SlateLog
from bandit_envs.policies import SlatePolicy
from bandit_envs.specs import BoundedArraySpec
from bandit_envs.studies.definition.choice import name_in_errors
from bandit_envs.studies.showing.tables import csv_rows, text_cell

if TYPE_CHECKING:
    from pandas import DataFrame

EXPECTED = "expected one that shows slates, such as random_slate, or your own SlatePolicy"

ESTIMATORS: Mapping[str, SlateEstimator] = {
    "slate": SlateStandardIPS(),
    "slot": SlateIndependentIPS(),
    "prefix": RewardInteractionIPS(),
}
"""By the probabilities that they compare."""


class SlateRow(NamedTuple):
    """What an estimator says of a policy: a row of `estimates.csv`."""

    policy: str
    estimator: str
    slates: int
    value: float
    low: float
    high: float
    standard_error: float
    effective_sample_size: float
    warnings: str  # reasons to distrust the estimate


@dataclasses.dataclass(frozen=True)
class SlateEvaluation:
    """What an evaluation on a log of slates has found.

    Args:
        rows: one for each policy and estimator.
        title: describes the log.
        confidence: the probability that an interval holds.
    """

    rows: tuple[SlateRow, ...]
    title: str
    confidence: float

    @property
    def estimates(self) -> DataFrame:
        """The table with the columns of `SlateRow`. Needs pandas."""
        pandas = import_extra("pandas", "logged")
        found: DataFrame = pandas.DataFrame(self.rows, columns=SlateRow._fields)
        return found

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Writes the table to `estimates.csv` in a folder."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        cells = [row._replace(policy=text_cell(row.policy)) for row in self.rows]
        content = csv_rows([SlateRow._fields, *cells])
        atomic_write(path / "estimates.csv", [content])


def evaluate_slates(
    log: SlateLog,
    policies: AnyPolicy | Mapping[str, AnyPolicy] | Iterable[AnyPolicy],
    *,
    confidence: float = 0.95,
) -> SlateEvaluation:
    """Estimates what policies would have earned that show slates, as `evaluate --slates` does.

    There is an estimate for each kind of propensity that the log has: `SlateStandardIPS` of
    slates, `SlateIndependentIPS` of slots and `RewardInteractionIPS` of prefixes. If only whole
    slates are rewarded, it is the first alone. Policies do not learn.

    Args:
        log: such as `read_slates` returns.
        policies: instances of `SlatePolicy`, or texts such as "random_slate" or "module:Class" of
            your own; one, several, or several by name.
        confidence: the probability that an interval holds.

    Raises:
        TypeError: the log or a policy is something else.
        ValueError: the log has no slates, a policy does not fit, or no estimator does.
    """
    check_confidence(confidence)
    if not isinstance(log, SlateLog):
        raise TypeError(f"log is of type {type(log).__name__}; expected a SlateLog")
    if not len(log):
        raise ValueError("log has 0 slates; expected at least one")
    rows: list[SlateRow] = []
    for contender in name_policies(policies):
        modules = contender.choice.modules if isinstance(contender, ChosenPolicy) else ()
        with name_in_errors(f"policy {contender.name}", *modules):
            policy = _make_policy(contender, log)
            given = log.probabilities_of(policy)
            rows.extend(_estimate(contender.name, log, given, confidence))
    mean = log.reward.sum(axis=1).mean()
    sizes = f"{len(log)} slates of {log.num_slots} slots, {log.num_actions} items"
    title = f"{sizes}, mean reward {mean:.4g}"
    return SlateEvaluation(tuple(rows), title, confidence)


def _make_policy(contender: Contender, log: SlateLog) -> SlatePolicy:
    """Returns a policy that meets a log; ValueError if it shows no slates."""
    policy: Any = None
    if isinstance(contender, ChosenPolicy):
        last = log.num_actions - 1
        action_spec = BoundedArraySpec((log.num_slots,), np.int32, 0, last, "action")
        env = SpecsOfLog(spec_of_rows(log.observation), action_spec, log.num_actions)
        policy = contender.choice.make(env, 0)
    elif isinstance(contender, GivenPolicy):
        policy = contender.policy
    if not isinstance(policy, SlatePolicy):
        raise ValueError(f"it shows no slates; {EXPECTED}")
    return policy


def _estimate(
    name: str, log: SlateLog, given: SlateProbabilities, confidence: float
) -> Iterator[SlateRow]:
    """Yields the estimates of a policy, whose probabilities of the logged slates are `given`."""
    kinds = [kind for kind in ESTIMATORS if getattr(log.propensity, kind) is not None]
    if log.reward.shape != log.action.shape:
        kinds = [kind for kind in kinds if kind == "slate"]
        if not kinds:
            raise ValueError("whole slates are rewarded; expected a log with their propensities")
    for kind in kinds:
        estimator = ESTIMATORS[kind]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            estimate = estimator.estimate(log.reward, log.propensity, given)
        low, high = estimate.interval(confidence)
        yield SlateRow(
            policy=name,
            estimator=type(estimator).__name__,
            slates=len(log),
            value=estimate.value,
            low=low,
            high=high,
            standard_error=estimate.standard_error,
            effective_sample_size=estimate.effective_sample_size,
            warnings="; ".join(str(each.message) for each in caught),
        )
