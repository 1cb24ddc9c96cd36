"""Differences between policies of a study, run by run, with intervals and p-values."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import check_confidence, check_integer
from bandit_envs.base.extras import import_extra
from bandit_envs.metrics import Quantity, Statistics, of_runs
from bandit_envs.metrics.holm import holm
from bandit_envs.policies.policy_choice import PolicyChoice
from bandit_envs.rounding import is_constant, merge_ties, subtract
from bandit_envs.studies.definition.row_names import RowNames
from bandit_envs.studies.definition.study import Study

if TYPE_CHECKING:
    from bandit_envs.studies.results.results import PairResult

MANY_RUNS = 1000
"""With more runs, bootstrap intervals are of percentiles: a correction of order 1/n takes n^2."""


EXACT_TIES = 13
"""With more runs, Wilcoxon's test takes sums of ranks with ties for normally distributed."""

AT_ONCE = 1000
"""So many differences are tested in one call, which saves time, and bounds the memory."""


class PairDifference(NamedTuple):
    """How the runs of a pair differ from those of another policy on the same problems."""

    pair: PairResult
    runs: dict[str, Floats]
    """The differences of the runs, by quantity."""

    def statistics(self, quantity: str) -> Statistics:
        """Returns the statistics over runs of the differences in a quantity."""
        return Statistics.from_values(self.runs[quantity])


class Difference(NamedTuple):
    """How a policy differs from another one in a quantity: a row of `LoadedStudy.differences`."""

    environment: str
    policy: str
    quantity: str

    difference: float
    """The mean over runs."""

    low: float
    high: float
    """The ends of the interval by Student's t."""

    bootstrap_low: float
    bootstrap_high: float
    """The ends of the bootstrap interval."""

    p_t: float
    """The p-value of the paired t-test."""

    p_wilcoxon: float
    """The p-value of Wilcoxon's signed-rank test."""

    p_t_holm: float
    p_wilcoxon_holm: float
    """The p-values, corrected for the number of policies in the environment."""


class PValues(NamedTuple):
    """The p-values of two tests of no difference."""

    t: float
    wilcoxon: float


def compared_quantities(study: Study) -> dict[str, Quantity]:
    """Returns the quantities of a summary by which policies are compared, run by run."""
    return {
        name: each for name, each in study.summary.items() if each.kind != "per_step" and each.ranks
    }


def pairs_to_compare(
    baseline: PolicyChoice, study: Study, pairs: Sequence[PairResult]
) -> list[PairResult]:
    """Returns the pairs that `compare_to` returns differences of, without reading results."""
    finished = [pair for pair in pairs if pair.runs == study.runs >= 2]
    places = {str(pair.environment) for pair in finished if pair.policy == baseline}
    return [
        pair for pair in finished if pair.policy != baseline and str(pair.environment) in places
    ]


def compare_to(
    baseline: PolicyChoice, study: Study, pairs: Sequence[PairResult]
) -> list[PairDifference]:
    """Returns the differences of all other policies to one policy, in each environment.

    Args:
        baseline: the policy that all others are compared with.
        study: the study.
        pairs: its results. Those that have not finished all runs, or have one run, are left out.
    """
    quantities = compared_quantities(study)
    baselines = {str(pair.environment): pair for pair in pairs if pair.policy == baseline}
    found = []
    compared = pairs_to_compare(baseline, study, pairs)
    for place, group in itertools.groupby(compared, lambda pair: str(pair.environment)):
        theirs = of_runs(baselines[place].result)
        for pair in group:
            ours = of_runs(pair.result)
            differences = {name: _subtract(ours[name], theirs[name]) for name in quantities}
            found.append(PairDifference(pair, differences))
    return found


def _subtract(ours: Floats, theirs: Floats) -> Floats:
    """Returns ours - theirs, [R], in which rounding is no difference, and breaks no tie."""
    differences = subtract(ours, theirs)
    sizes = np.maximum(np.abs(ours), np.abs(theirs))
    return np.copysign(merge_ties(np.abs(differences), sizes), differences)


def describe_differences(
    found: Sequence[PairDifference], names: RowNames, confidence: float, resamples: int
) -> list[Difference]:
    """Returns a row for each difference and quantity.

    Args:
        found: the differences.
        names: of the environments and policies.
        confidence: the probability that the intervals hold.
        resamples: how often the bootstrap draws all runs anew.
    """
    level = check_confidence(confidence)
    number = check_integer("resamples", resamples, minimum=1)
    plain = _test_all(found)
    corrected = correct_by_holm(found, plain)
    rows = []
    for difference, before, after in zip(found, plain, corrected):
        for name, values in difference.runs.items():
            statistics = difference.statistics(name)
            low, high = statistics.interval(level)
            bootstrap_low, bootstrap_high = _bootstrap(values, level, number)
            row = Difference(
                environment=names.environments[str(difference.pair.environment)],
                policy=names.policies[str(difference.pair.policy)],
                quantity=name,
                difference=float(statistics.mean),
                low=float(low),
                high=float(high),
                bootstrap_low=bootstrap_low,
                bootstrap_high=bootstrap_high,
                p_t=before[name].t,
                p_wilcoxon=before[name].wilcoxon,
                p_t_holm=after[name].t,
                p_wilcoxon_holm=after[name].wilcoxon,
            )
            rows.append(row)
    return rows


def corrected_p_values(found: Sequence[PairDifference]) -> list[dict[str, PValues]]:
    """Returns the p-values of differences by quantity, corrected for the number of policies."""
    return correct_by_holm(found, _test_all(found))


def correct_by_holm(
    found: Sequence[PairDifference], plain: Sequence[dict[str, PValues]]
) -> list[dict[str, PValues]]:
    """Returns p-values, corrected over the policies of each environment and quantity."""
    groups: dict[tuple[str, str], list[int]] = {}
    for index, difference in enumerate(found):
        for name in difference.runs:
            groups.setdefault((str(difference.pair.environment), name), []).append(index)
    corrected: list[dict[str, PValues]] = [{} for _ in found]
    for (_, name), members in groups.items():
        t = holm([plain[index][name].t for index in members])
        wilcoxon = holm([plain[index][name].wilcoxon for index in members])
        for place, index in enumerate(members):
            corrected[index][name] = PValues(t[place], wilcoxon[place])
    return corrected


def _test_all(found: Sequence[PairDifference]) -> list[dict[str, PValues]]:
    """Returns the p-values of differences, by quantity."""
    plain: list[dict[str, PValues]] = [{} for _ in found]
    for start in range(0, len(found), AT_ONCE):
        some = found[start : start + AT_ONCE]
        for name in some[0].runs:
            t, wilcoxon = _test(np.stack([each.runs[name] for each in some], axis=1))
            for place in range(len(some)):
                plain[start + place][name] = PValues(float(t[place]), float(wilcoxon[place]))
    return plain


def _test(table: Floats) -> tuple[Floats, Floats]:
    """Returns the p-values of the t-test and of Wilcoxon's, of each column [R] of a table."""
    stats = import_extra("scipy.stats", "cli")
    t = np.ones(table.shape[1])
    wilcoxon = np.ones(table.shape[1])
    differs = table.any(axis=0)  # the tests have nothing to order in the others
    sizes = np.sort(np.abs(table), axis=0)
    has_ties = (sizes[0] == 0.0) | (np.diff(sizes, axis=0) == 0.0).any(axis=0)
    # SciPy chooses one method for a table, and ties have no exact one.
    for columns in (differs & has_ties, differs & ~has_ties):
        if columns.any():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # where differences are equal
                t[columns] = stats.ttest_1samp(table[:, columns], 0.0, axis=0).pvalue
                if len(table) > EXACT_TIES or not has_ties[columns].any():
                    wilcoxon[columns] = stats.wilcoxon(table[:, columns], axis=0).pvalue
    if len(table) <= EXACT_TIES:
        for column in np.flatnonzero(differs & has_ties):
            wilcoxon[column] = _test_with_ties(stats, table[:, column])
    return t, wilcoxon


def _test_with_ties(stats: Any, differences: Floats) -> float:
    """Returns the exact p-value of Wilcoxon's test of differences [R] with ties or zeros.

    Zeros are left out, and ties have the mean of their ranks. With r_i the doubled ranks, which are
    whole, and signs by chance, the number of ways to a sum s of those with a plus is

        N_i(s) = N_{i-1}(s) + N_{i-1}(s - r_i),    N_0(0) = 1
    """
    differs = differences[differences != 0.0]
    ranks = np.rint(2.0 * stats.rankdata(np.abs(differs))).astype(np.intp)
    ways = np.zeros(ranks.sum() + 1)
    ways[0] = 1.0
    for rank in ranks:
        ways[rank:] += ways[:-rank].copy()
    found = ranks[differs > 0.0].sum()
    tail = min(ways[: found + 1].sum(), ways[found:].sum())
    return float(min(1.0, 2.0 * tail / ways.sum()))


def _bootstrap(values: Floats, confidence: float, resamples: int) -> tuple[float, float]:
    """Returns the ends of a bootstrap interval of a mean; they repeat exactly."""
    if is_constant(values):  # every sample has the same mean
        return float(values[0]), float(values[0])
    stats = import_extra("scipy.stats", "cli")
    interval = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=resamples,
        batch=max(1, 1_000_000 // len(values)),
        confidence_level=confidence,
        method="BCa" if len(values) <= MANY_RUNS else "percentile",
        random_state=np.random.default_rng(0),
    ).confidence_interval
    return float(interval.low), float(interval.high)
