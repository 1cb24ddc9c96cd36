"""Actions that are real numbers, such as prices."""

from __future__ import annotations

import dataclasses
import functools
import operator
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.evaluations.candidates import Candidate
from bandit_envs.evaluations.contenders import Contender
from bandit_envs.evaluations.kinds.log_kind import ExpectedPolicies, LogKind, ShownSums, enter_as_is
from bandit_envs.evaluations.kinds.specs_of_log import SpecsOfLog
from bandit_envs.evaluations.logs import OpenLog
from bandit_envs.evaluations.passes import LogPart
from bandit_envs.evaluations.policy_sums import FEWEST, Found, Key, PolicySums
from bandit_envs.logged import BanditLog
from bandit_envs.logged.estimators import KernelIPS, actions_of
from bandit_envs.logged.estimators.estimate import EstimateSums
from bandit_envs.logged.estimators.kernel_estimators import (
    SHARES,
    KernelOfLog,
    NumberSums,
    find_moved,
)
from bandit_envs.logged.estimators.terms import Terms
from bandit_envs.logged.estimators.tuning import find_last_accepted
from bandit_envs.logged.features import spec_of_rows
from bandit_envs.policies import ContinuousPolicy
from bandit_envs.specs import BoundedArraySpec

EXPECTED = ExpectedPolicies(
    base=ContinuousPolicy,
    is_right=operator.attrgetter("is_number"),
    actions="numbers",
    advice="one that does, such as gaussian, or your own ContinuousPolicy",
)
DO_NOT_LEARN = "policies do not learn from numbers"


class Numbers(LogKind):
    """Real numbers: policies draw one for each row.

    Args:
        actions: what the log says of its actions.
    """

    name = "number"
    estimators = (KernelIPS, KernelOfLog)
    lacks: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(["train", "until", "all_rows"], DO_NOT_LEARN),
        "baseline": "gains of numbers are over the policy that made the log",
    }

    def __init__(self, actions: NumberSums) -> None:
        self._actions = actions

    @classmethod
    def of_log(cls, log: OpenLog) -> Numbers:
        """Returns the kind of the actions of a log, which is read once more."""
        parts = log.passes.over(log.parts, sum_actions, "reading actions")
        actions = functools.reduce(NumberSums.merge, parts)
        actions.bandwidth()  # an error if they are all the same
        return cls(actions)

    def default_estimators(self, rows: int) -> Sequence[str]:
        return [f"{name}:bandwidth=rule" for name in self.known_estimators()]

    def resolve(self, given: Mapping[str, Any]) -> Mapping[str, KernelIPS]:
        """Returns the estimators of all bandwidths by name, those that SLOPE chooses among too."""
        met: dict[str, KernelIPS] = {}
        for among in self._plan(given).values():
            met.update(among)
        return met

    def _plan(self, given: Mapping[str, Any]) -> Mapping[str, Mapping[str, KernelIPS]]:
        """Returns the estimators among which one is chosen, by the name that is shown.

        There is no choice but by SLOPE. The bandwidth of the rule stands in the place of `rule` in
        the name of an estimator.

        Args:
            given: the estimators that a user asks for, by name.
        """
        fixed = self._fix(given)
        plan: dict[str, Mapping[str, KernelIPS]] = {}
        for name, estimator in given.items():
            if isinstance(estimator, KernelOfLog) and estimator.bandwidth == "slope":
                plan[name] = self._among(name, estimator, fixed)
            else:
                own = self._name(name, estimator)
                plan[own] = {own: fixed[own]}
        return plan

    def _fix(self, given: Mapping[str, Any]) -> Mapping[str, KernelIPS]:
        """Returns the estimators whose bandwidths are given, or follow from the rule, by name."""
        fixed = {}
        for name, estimator in given.items():
            if isinstance(estimator, KernelIPS):
                fixed[name] = estimator
            elif estimator.bandwidth == "rule":
                fixed[self._name(name, estimator)] = KernelIPS(
                    self._actions.bandwidth(), self_normalized=estimator.self_normalized
                )
        return fixed

    def _name(self, name: str, estimator: KernelIPS | KernelOfLog) -> str:
        """Returns the name of an estimator that is shown."""
        if isinstance(estimator, KernelIPS):
            return name
        return name.replace("bandwidth=rule", f"bandwidth={self._actions.bandwidth():.4g}")

    def _among(
        self, name: str, slope: KernelOfLog, fixed: Mapping[str, KernelIPS]
    ) -> Mapping[str, KernelIPS]:
        """Returns the estimators that SLOPE chooses among: those given, or multiples of the rule.

        Args:
            name: that is shown.
            slope: says whether they are self-normalised.
            fixed: the estimators that are given with a bandwidth.
        """
        is_normalised = slope.self_normalized
        alike = {
            other: each for other, each in fixed.items() if each.self_normalized == is_normalised
        }
        if len(alike) > 1:
            return alike
        rule = self._actions.bandwidth()
        made = [KernelIPS(share * rule, self_normalized=is_normalised) for share in SHARES]
        return {f"{name} of {each.bandwidth:.4g}": each for each in made}

    def title(self, log: OpenLog, estimators: Iterable[str]) -> str:
        return f"{log.title}\nactions from {self._actions.low:.4g} to {self._actions.high:.4g}"

    def enter(self, contender: Contender, log: OpenLog, training_rows: int | None) -> Candidate:
        low = self._actions.low
        spec = BoundedArraySpec((), np.float64, low, self._actions.high, "action")
        env = SpecsOfLog(spec_of_rows(next(iter(log)).observation), spec, num_actions=0)
        return enter_as_is(contender, env, EXPECTED)

    def ask(self, policy: ContinuousPolicy, rows: BanditLog, rows_before: int) -> Floats:
        return actions_of(policy, rows)

    def terms(
        self, estimator: KernelIPS, rows: BanditLog, answer: Floats, predicted: Floats | None
    ) -> Terms:
        terms = estimator.terms(rows.reward, rows.propensity, rows.action, answer, unit=rows.unit)
        return dataclasses.replace(terms, counts=rows.weight)

    def weights(self, rows: BanditLog, answer: Floats, terms: Mapping[str, Terms]) -> Floats:
        return np.asarray(next(iter(terms.values())).weights[0])

    def show(
        self, given: Mapping[str, Any], found: Found, candidates: Sequence[Candidate]
    ) -> ShownSums:
        """Returns what is shown. SLOPE chooses by all rows of a policy, for its segments too."""
        plan = self._plan(given)
        shown = dict(found)
        remarks: dict[Key, Mapping[str, Sequence[str]]] = {}
        told = []
        for place, candidate in enumerate(candidates, start=1):
            chosen = {name: _choose(among, found[None, place]) for name, among in plan.items()}
            widths = {name: plan[name][own].bandwidth for name, own in chosen.items()}
            for key, sums in found.items():
                if key[1] == place:
                    shown[key] = _take(sums, chosen)
                    remarks[key] = _find_moved(shown[key], widths)
            slopes = [
                f"bandwidth={widths[name]:.4g} for {name}" for name in plan if len(plan[name]) > 1
            ]
            told.append(_add_remark(candidate, slopes))
        return ShownSums(shown, told, remarks)


def sum_actions(part: LogPart) -> NumberSums:
    """Returns what a part of a log says of its actions."""
    found = NumberSums.from_actions(np.zeros(0))
    for _, batch in part:
        found = found.merge(NumberSums.from_actions(batch.action))
    return found


def _find_moved(sums: PolicySums, widths: Mapping[str, float]) -> Mapping[str, Sequence[str]]:
    """Returns where an estimate moves with its bandwidth, by estimator.

    Args:
        sums: of a policy.
        widths: the bandwidths, by estimator.
    """
    return {
        name: find_moved(each, widths[name])
        for name, each in sums.estimates.items()
        if each.size >= FEWEST
    }


def _add_remark(candidate: Candidate, slopes: Sequence[str]) -> Candidate:
    """Returns a policy with a remark of the bandwidths that SLOPE chose, if it did."""
    if not slopes:
        return candidate
    remark = f"has {' and '.join(slopes)}"
    return dataclasses.replace(candidate, remarks=[*candidate.remarks, remark])


def _choose(among: Mapping[str, KernelIPS], sums: PolicySums) -> str:
    """Returns the name of the estimator that SLOPE selects, of one or more.

    Args:
        among: some estimators, by name.
        sums: of a policy.
    """
    names = list(among)
    if len(names) == 1:
        return names[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of those that are not chosen
        found = [sums.estimates[name].estimate() for name in names]
    return names[find_last_accepted(found)]


def _take(sums: PolicySums, chosen: Mapping[str, str]) -> PolicySums:
    """Returns the sums of the estimators that were chosen, by the names that are shown."""
    return dataclasses.replace(
        sums,
        estimates=_take_named(sums.estimates, chosen),
        gains=_take_named(sums.gains, chosen),
    )


def _take_named(
    named: Mapping[str, EstimateSums], chosen: Mapping[str, str]
) -> Mapping[str, EstimateSums]:
    return {name: named[own] for name, own in chosen.items() if own in named}
