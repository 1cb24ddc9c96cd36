"""Sums of parts of a log, which merge to those of the whole."""

import functools
import itertools
import re

import numpy as np
import pytest

from bandit_envs.logged import (
    BanditLog,
    DirectMethod,
    DoublyRobust,
    DRWithOptimisticShrinkage,
    InversePropensityScoring,
    RewardInteractionIPS,
    SelfNormalizedDR,
    SelfNormalizedIPS,
    SlateIndependentIPS,
    SlateProbabilities,
    SwitchDR,
    merge_sums,
)
from bandit_envs.logged.estimators.bootstrap import PoissonBootstrap
from bandit_envs.logged.estimators.estimate import EstimateSums
from tests.logged.logs import drawn
from tests.statistical import has_probabilities

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
ESTIMATORS = [
    InversePropensityScoring(),
    InversePropensityScoring(1.0),
    SelfNormalizedIPS(),
    DirectMethod(),
    DoublyRobust(),
    SelfNormalizedDR(),
    SwitchDR(1.5),
    DRWithOptimisticShrinkage(2.0),
]
SIZE = 400
CUTS = {
    "single rows, then the rest": np.arange(1, 60),
    "batches of 64": np.arange(64, SIZE, 64),
    "an empty part": [0, 100, 100],
    "two": [SIZE - 1],
}


@pytest.fixture(scope="module")
def tables():
    """A log far from 0, the probabilities of a policy, and predicted rewards."""
    rng = np.random.default_rng(0)
    log = drawn(rng, SIZE)
    log = BanditLog(log.observation, log.action, log.reward + 50.0, log.propensity, 3)
    return log, rng.dirichlet(np.ones(3), SIZE), 50.0 + rng.normal(size=(SIZE, 3))


def split(tables, cuts):
    """The parts of tables between some rows."""
    edges = [0, *cuts, SIZE]
    parts = [slice(*edge) for edge in itertools.pairwise(edges)]
    return [tuple(table[part] for table in tables) for part in parts]


def numbers_of(estimate):
    """What an estimate says, but its largest weight and shares, which are exact."""
    return [
        estimate.value,
        estimate.standard_error,
        estimate.effective_sample_size,
        estimate.bias,
        estimate.pareto_k,
        *estimate.interval(),
        *estimate.interval(0.8),
        *estimate.normal_interval(),
        *estimate.bernstein_interval(),
        *estimate.bootstrap_interval(resamples=30),
    ]


def sums_of(terms):
    """The sums of all parts, which know where in the log they begin."""
    first_row = 0
    for each in terms:
        yield each.sums(first_row)
        first_row += len(each)


@pytest.mark.parametrize("cuts", CUTS)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_sums_of_parts_give_the_estimate_of_the_whole_and_its_intervals(estimator, cuts, tables):
    whole = estimator.estimate(*tables)
    terms = [estimator.terms(*part) for part in split(tables, CUTS[cuts])]
    estimate = merge_sums(sums_of(terms)).estimate(terms)
    assert numbers_of(estimate) == pytest.approx(numbers_of(whole), rel=1e-11, abs=1e-12)
    assert estimate.max_weight == whole.max_weight
    assert estimate.share_of_large_weights == whole.share_of_large_weights


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_parts_merge_in_any_order_and_in_pairs(estimator, tables):
    whole = estimator.estimate(*tables)
    sums = [estimator.terms(*part).sums() for part in split(tables, CUTS["batches of 64"])]
    left = functools.reduce(EstimateSums.merge, sums[4:])
    right = functools.reduce(EstimateSums.merge, reversed(sums[:4]))
    estimate = left.merge(right).estimate()
    assert estimate.value == pytest.approx(whole.value, rel=1e-13)
    assert estimate.standard_error == pytest.approx(whole.standard_error, rel=1e-12)


def test_a_ratio_without_spread_has_no_error_in_parts_either(tables):
    log, probabilities, _ = tables
    same = BanditLog(log.observation, log.action, np.full(SIZE, 0.1), log.propensity, 3)
    parts = split((same, probabilities), CUTS["batches of 64"])
    estimate = merge_sums(SelfNormalizedIPS().terms(*part).sums() for part in parts).estimate()
    assert estimate.value == pytest.approx(0.1, abs=1e-15)
    assert estimate.standard_error < 1e-15


def test_parts_know_together_which_actions_were_never_logged():
    logs = [
        BanditLog(np.ones((2, 1)), actions, [1.0, 0.0], [0.5, 0.5], 4)
        for actions in ([0, 0], [1, 1])
    ]
    policies = [np.tile(table, (2, 1)) for table in ([0.0, 0.5, 0.5, 0.0], [1.0, 0.0, 0.0, 0.0])]
    sums = [InversePropensityScoring().terms(*pair).sums() for pair in zip(logs, policies)]
    problems = sums[0].merge(sums[1]).find_problems()
    assert any("never logged: [2];" in problem for problem in problems)


def test_sums_of_slates_merge():
    rng = np.random.default_rng(0)
    reward = rng.random((200, 3))
    old, new = (rng.uniform(0.2, 0.8, (200, 3)) for _ in range(2))
    estimator = SlateIndependentIPS()

    def terms_of(rows):
        given = [SlateProbabilities(slot=table[rows]) for table in (old, new)]
        return estimator.terms(reward[rows], *given)

    whole = terms_of(slice(None)).sums().estimate([terms_of(slice(None))])
    parts = [terms_of(slice(0, 50)), terms_of(slice(50, 200))]
    estimate = merge_sums(sums_of(parts)).estimate(parts)
    assert numbers_of(estimate) == pytest.approx(numbers_of(whole), rel=1e-11)


def test_intervals_that_need_the_rows_again_say_so_without_them(tables):
    estimate = SelfNormalizedIPS().terms(*tables[:2]).sums().estimate()
    for interval in (estimate.bernstein_interval, estimate.bootstrap_interval):
        with pytest.raises(ValueError, match="terms have 0 rows; this interval needs all 400"):
            interval()
    assert InversePropensityScoring().terms(*tables[:2]).sums().estimate().bernstein_interval()


def test_sums_of_two_estimators_do_not_merge(tables):
    sums = {estimator: estimator.terms(*tables).sums() for estimator in ESTIMATORS}
    for one, other in itertools.permutations(ESTIMATORS, 2):
        expected = re.escape(f"sums are of {one} and {other}; expected those of one estimator")
        with pytest.raises(TypeError, match=expected):
            sums[one].merge(sums[other])


def test_sums_of_slates_by_two_estimators_do_not_merge():
    table = np.full((4, 2), 0.5)
    given = SlateProbabilities(slot=table, prefix=table)
    kinds = (SlateIndependentIPS(), RewardInteractionIPS())
    sums = [kind.terms(table, given, given).sums() for kind in kinds]
    with pytest.raises(TypeError, match=r"of SlateIndependentIPS\(.* and RewardInteractionIPS\("):
        sums[0].merge(sums[1])


def test_sums_of_logs_with_other_numbers_of_actions_do_not_merge():
    logs = [BanditLog(np.ones((2, 1)), [0, 1], [1.0, 0.0], [0.5, 0.5], size) for size in (2, 3)]
    policies = [np.full((2, log.num_actions), 1 / log.num_actions) for log in logs]
    sums = [InversePropensityScoring().terms(*pair).sums() for pair in zip(logs, policies)]
    with pytest.raises(ValueError, match=r"logs differ in their number of actions: \[2, 3\]"):
        sums[0].merge(sums[1])


def test_a_bootstrap_resamples_both_parts_of_a_ratio(tables):
    log, probabilities, _ = tables  # rewards are near 50, so their weighted mean varies much more
    estimate = SelfNormalizedIPS().estimate(log, probabilities)
    low, high = estimate.bootstrap_interval()
    normal = estimate.normal_interval()
    assert (low, high) == pytest.approx(normal, abs=0.1 * (normal[1] - normal[0]))
    assert estimate.bootstrap_interval(seed=1) != (low, high)


def test_rows_count_in_resamples_as_often_as_draws_of_a_poisson_distribution():
    bootstrap = PoissonBootstrap(resamples=20, seed=0)
    counts = bootstrap._draw(0, 50_000)
    shares = np.exp(-1.0) / np.array([1, 1, 2, 6, 24, 120])
    found = np.bincount(counts.ravel(), minlength=6)[:6]
    assert has_probabilities(
        np.append(found, counts.size - found.sum()), [*shares, 1 - sum(shares)]
    )
    correlations = np.corrcoef(counts.T) - np.eye(20)
    assert np.abs(correlations).max() < 5 / np.sqrt(50_000)
    neighbours = np.corrcoef(counts[1:, 0], counts[:-1, 0])[0, 1]
    assert abs(neighbours) < 5 / np.sqrt(50_000)
