"""Actions that are slates: several items at once."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.slates import SlateProbabilities
from bandit_envs.evaluations.candidates import Candidate
from bandit_envs.evaluations.contenders import Contender
from bandit_envs.evaluations.kinds.log_kind import ExpectedPolicies, LogKind, enter_as_is
from bandit_envs.evaluations.kinds.specs_of_log import SpecsOfLog
from bandit_envs.evaluations.logs import BY_UNITS, OpenLog
from bandit_envs.evaluations.passes import LogPart, Passes
from bandit_envs.evaluations.policy_sums import PolicyRows, PolicySums
from bandit_envs.evaluations.sources import Source
from bandit_envs.logged.estimators.gains import mean_terms
from bandit_envs.logged.estimators.slate_estimators import SlateEstimator
from bandit_envs.logged.estimators.terms import Terms
from bandit_envs.logged.features import spec_of_rows
from bandit_envs.logged.files.scan import BatchScan
from bandit_envs.logged.rows.row_order import RowOrder
from bandit_envs.logged.slate_log import SlateLog
from bandit_envs.logged.summary import LogSummary, count_slices
from bandit_envs.metrics.statistics import Statistics
from bandit_envs.policies import SlatePolicy
from bandit_envs.specs import SlateSpec

EXPECTED = ExpectedPolicies(
    base=SlatePolicy,
    is_right=operator.attrgetter("is_slate"),
    actions="slates",
    advice="one that does, such as random_slate, or your own SlatePolicy",
)


class Slates(LogKind):
    """Several items at once: policies tell the probabilities of slates, slots and prefixes.

    Args:
        log: the log.
    """

    name = "slate"
    estimators = (SlateEstimator,)
    lacks: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(["train", "until", "all_rows"], "policies do not learn from slates"),
        **dict.fromkeys(["workers", "backend", "address"], "a log of slates is in memory"),
    }

    def __init__(self, log: SlateLog) -> None:
        self._log = log

    def default_estimators(self, rows: int) -> Sequence[str]:
        known = [
            name for name, given in self._log.propensity._asdict().items() if given is not None
        ]
        if self._log.reward.shape != self._log.action.shape:
            known = [name for name in known if name == "slate"]
            if not known:
                expected = "expected a log with their propensities"
                raise ValueError(f"whole slates are rewarded; {expected}")
        return [name for name in self.known_estimators() if name.partition("_")[0] in known]

    def title(self, log: OpenLog, estimators: Iterable[str]) -> str:
        return f"{log.title}\nrows are slates, and weights those of {next(iter(estimators))}"

    def enter(self, contender: Contender, log: OpenLog, training_rows: int | None) -> Candidate:
        spec = SlateSpec.of(self._log.num_slots, self._log.num_actions)
        observed = spec_of_rows(self._log.observation)
        env = SpecsOfLog(observed, spec, self._log.num_actions)
        return enter_as_is(contender, env, EXPECTED)

    def ask(self, policy: SlatePolicy, rows: SlateLog, rows_before: int) -> SlateProbabilities:
        return rows.probabilities_of(policy)

    def terms(
        self,
        estimator: SlateEstimator,
        rows: SlateLog,
        answer: SlateProbabilities,
        predicted: Floats | None,
    ) -> Terms:
        return estimator.terms(rows.reward, rows.propensity, answer, unit=rows.unit)

    def weights(self, rows: SlateLog, answer: Any, terms: Mapping[str, Terms]) -> Floats:
        return np.asarray(next(iter(terms.values())).weights.mean(axis=0))

    def logged(self, rows: SlateLog) -> Terms:
        return mean_terms(_rewards_of(rows), rows.unit)

    def sums(self, rows: PolicyRows) -> PolicySums:
        return rows.sums_of_all()  # a log of slates is one batch, and ratios of slots need it whole


def open_slates(log: SlateLog, passes: Passes) -> OpenLog:
    """Returns a log of slates, with what it holds, as other logs are opened."""
    if not len(log):
        raise ValueError("log has 0 slates; expected at least one")
    batch: Any = log  # parts of other logs have batches of single actions or numbers
    known = [given for given in log.propensity if given is not None]
    summary = LogSummary(
        empty=None,
        rewards=Statistics.from_values(_rewards_of(log)),
        lowest_propensity=min(float(given.min(initial=math.inf)) for given in known),
        highest_propensity=max(float(given.max(initial=0.0)) for given in known),
        order=RowOrder(),
        fingerprint=0,
        slices=None if log.unit is None else count_slices(log.unit),
    )
    slots = "1 slot" if log.num_slots == 1 else f"{log.num_slots} slots"
    sizes = f"{len(log)} slates of {slots}, {log.num_actions} items"
    lines = [f"{sizes}, mean reward {float(_rewards_of(log).mean()):.4g}"]
    if log.unit is not None:
        lines.append(BY_UNITS)
    return OpenLog(
        source=Source(BatchScan([batch])),
        parts=[LogPart([batch], 0, len(log))],
        summaries=[summary],
        summary=summary,
        title="\n".join(lines),
        passes=passes,
        name=log.name,
    )


def _rewards_of(log: SlateLog) -> Floats:
    """Returns the rewards of whole slates: [n]."""
    return np.asarray(log.reward.sum(axis=1))
