"""The choice among estimates of anything that has a parameter."""

import functools
import itertools
import warnings

import numpy as np
import pytest

from bandit_envs.logged import (
    BanditLog,
    InversePropensityScoring,
    KernelDR,
    KernelIPS,
    MarginalizedIPS,
    SlateIndependentIPS,
    SlateProbabilities,
    SlateStandardIPS,
    estimate_batches,
    merge_sums,
    slope,
    tuned,
)
from tests.cases import for_each
from tests.logged.test_more_estimators import CATEGORIES, EMBEDDING, POLICY, table_log

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*the estimate is unreliable",
    "ignore:the estimate moves with the bandwidth",
    "ignore:the mean weight",
)

WIDTHS = [0.05, 0.1, 0.2, 0.4, 0.8]


def make_doses(size=10_000, seed=0, far=0.2):
    """Returns columns of doses, and the value of the policy."""
    rng = np.random.default_rng(seed)
    context = rng.uniform(-1.0, 1.0, size)
    dose = rng.uniform(0.0, 3.0, size)
    best = 1.5 + 0.3 * context
    reward = 1.2 - 0.5 * (dose - best) ** 2 + 0.3 * rng.normal(size=size)
    columns = {
        "reward": reward,
        "density": np.full(size, 1.0 / 3.0),
        "action": dose,
        "policy_action": best - far,
    }
    return columns, 1.2 - 0.5 * far**2


@pytest.mark.parametrize("choose", [slope, tuned])
@pytest.mark.parametrize("self_normalized", [False, True])
def test_a_bandwidth_is_chosen_whose_estimate_is_near_the_truth(choose, self_normalized):
    columns, truth = make_doses()
    kinds = [KernelIPS(width, self_normalized=self_normalized) for width in WIDTHS]

    best, estimate = choose(kinds, **columns)

    assert best.bandwidth < 0.8
    assert abs(estimate.value - truth) < 0.05
    assert estimate.value == best.estimate(**columns).value


def test_a_bandwidth_of_dr_is_chosen_too():
    columns, truth = make_doses()
    predicted = np.full(10_000, 1.0)

    best, estimate = slope([KernelDR(w) for w in WIDTHS], **columns, predicted_rewards=predicted)

    assert isinstance(best, KernelDR)
    assert abs(estimate.value - truth) < 0.05


def test_bandwidths_themselves_are_candidates():
    columns, _ = make_doses()

    def estimate(width):
        return KernelIPS(width).estimate(**columns)

    best, found = slope(WIDTHS, estimate=estimate)

    assert best in WIDTHS
    assert found.value == estimate(best).value


def test_dimensions_of_embeddings_are_chosen_as_the_rule_says():
    log = table_log()

    def estimate(dimensions):
        likelihoods = MarginalizedIPS.likelihoods_of_embeddings(EMBEDDING, CATEGORIES, dimensions)
        return MarginalizedIPS().estimate(log, POLICY, likelihoods)

    with pytest.warns(UserWarning, match="effective sample size"):
        best, found = slope([[0, 1], [0], [1]], estimate=estimate, confidence=0.975)

    assert best == [1]
    assert found.value == pytest.approx(0.350180503, abs=1e-9)


@pytest.mark.parametrize("choose", [slope, tuned])
def test_dimensions_that_leave_out_what_rewards_depend_on_are_refuted(choose):
    rng = np.random.default_rng(1)
    embedding_of = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    logging = np.full((8000, 4), 0.25)
    action = rng.integers(4, size=8000)
    reward = embedding_of[action, 1] + 0.1 * rng.normal(size=8000)  # of the second dimension only
    log = BanditLog(
        np.ones((8000, 1)), action, reward, np.full(8000, 0.25),
        action_probabilities=logging, embedding=embedding_of[action],
    )  # fmt: skip
    policy = np.tile([0.1, 0.4, 0.1, 0.4], (8000, 1))

    def estimate(dimensions):
        likelihoods = MarginalizedIPS.likelihoods_by_counts(log, dimensions)
        return MarginalizedIPS().estimate(log, policy, likelihoods)

    best, found = choose([[0], [1], [0, 1]], estimate=estimate)

    assert 1 in best
    assert abs(found.value - 0.8) < 5.0 * found.standard_error


def test_what_estimators_of_slates_assume_is_chosen():
    rng = np.random.default_rng(2)
    shown = rng.integers(3, size=(20_000, 2))
    reward = (shown == shown[:, :1]).astype(float)
    reward[:, 0] = 0.0  # the second slot pays if it repeats the first
    slot = np.full((20_000, 2), 1.0 / 3.0)
    logging = SlateProbabilities(slot.prod(axis=1), slot, slot.cumprod(axis=1))
    is_zero = (shown == 0).astype(float)
    chosen = SlateProbabilities(is_zero.prod(axis=1), is_zero, is_zero.cumprod(axis=1))

    best, found = tuned([SlateIndependentIPS(), SlateStandardIPS()], reward, logging, chosen)

    assert isinstance(best, SlateStandardIPS)
    assert abs(found.value - 1.0) < 4.0 * found.standard_error


def test_estimates_of_batches_are_chosen_as_those_of_the_whole_log():
    rng = np.random.default_rng(3)
    log = BanditLog(
        rng.normal(size=(3000, 2)), rng.integers(2, size=3000), rng.normal(size=3000), [0.5] * 3000
    )
    kinds = [InversePropensityScoring(limit) for limit in (0.5, 1.0, 1.5, 5.0)]
    policy = functools.partial(np.broadcast_to, [0.9, 0.1])

    def probabilities(batch):
        return policy((len(batch), 2))

    for choose in (slope, tuned):
        whole = choose(kinds, log, probabilities(log))
        parts = choose(kinds, [log[:1100], log[1100:]], probabilities, estimate=estimate_batches)
        assert parts[0] == whole[0]
        assert parts[1].value == pytest.approx(whole[1].value, abs=1e-12)
        assert parts[1].bias == pytest.approx(whole[1].bias, abs=1e-12)


def test_a_bandwidth_that_is_too_large_is_told_once():
    columns, _ = make_doses(size=50_000)
    predicted = np.zeros(50_000)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        KernelIPS(0.8).estimate(**columns)
        KernelIPS(0.8, self_normalized=True).estimate(**columns)
        KernelDR(0.8).estimate(**columns, predicted_rewards=predicted)
    texts = [str(each.message) for each in caught if "mean weight" not in str(each.message)]
    assert len(texts) == 3
    assert all("moves with the bandwidth" in text for text in texts)


@pytest.mark.parametrize("make", [KernelIPS, functools.partial(KernelIPS, self_normalized=True)])
def test_an_estimate_that_moves_with_the_bandwidth_warns_and_a_steady_one_does_not(make):
    columns, truth = make_doses(size=50_000)
    with pytest.warns(UserWarning, match="moves with the bandwidth") as caught:
        moving = make(0.8).estimate(**columns)
    assert caught[0].filename == __file__
    assert abs(moving.value - moving.bias - truth) < abs(moving.value - truth) / 2.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        steady = make(0.05).estimate(**columns)
    assert abs(steady.value - truth) < 4.0 * steady.standard_error


@pytest.mark.parametrize("self_normalized", [False, True])
def test_sums_of_kernels_merge(self_normalized):
    columns, _ = make_doses(size=3000)
    kernel = KernelIPS(0.4, self_normalized=self_normalized)
    parts = [
        kernel.terms(**{name: column[rows] for name, column in columns.items()}).sums()
        for rows in (slice(1200, None), slice(1200))
    ]

    merged = merge_sums(parts).estimate()

    whole = kernel.estimate(**columns)
    assert merged.value == pytest.approx(whole.value, abs=1e-12)
    assert merged.standard_error == pytest.approx(whole.standard_error, abs=1e-12)
    assert merged.bias == pytest.approx(whole.bias, abs=1e-12)
    assert merged.interval() == pytest.approx(whole.interval(), abs=1e-12)


def test_sums_of_kernels_of_other_bandwidths_do_not_merge():
    columns, _ = make_doses(size=100)
    with pytest.raises(TypeError, match="expected those of one estimator"):
        merge_sums(KernelIPS(width).terms(**columns).sums() for width in (0.4, 0.8))


@for_each("dimensions", [[2], [0, 0], [], [-1]])
def test_dimensions_that_embeddings_do_not_have_are_refused(dimensions):
    with pytest.raises(ValueError, match="dimensions is"):
        MarginalizedIPS.likelihoods_of_embeddings(EMBEDDING, CATEGORIES, dimensions)


@for_each(
    ("choose", "self_normalized", "useless"),
    itertools.product([slope, tuned], [False, True], [1e-12, 1e300]),
)
def test_a_bandwidth_that_leaves_no_rows_is_not_chosen(choose, self_normalized, useless):
    columns, _ = make_doses(size=3000)
    kinds = [KernelIPS(width, self_normalized=self_normalized) for width in (useless, 0.4)]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best, _ = choose(kinds, **columns)

    assert best.bandwidth == 0.4


@pytest.mark.parametrize("choose", [slope, tuned])
def test_candidates_may_be_any_iterable_and_are_estimated_once(choose):
    columns, _ = make_doses(size=3000)
    widths = []

    def estimate(width):
        widths.append(width)
        return KernelIPS(width).estimate(**columns)

    best, _ = choose((width for width in WIDTHS), estimate=estimate)

    assert best in WIDTHS
    assert widths == WIDTHS


@pytest.mark.parametrize("choose", [slope, tuned])
def test_the_chosen_estimate_warns_where_the_choice_is_made(choose):
    columns, _ = make_doses(size=3000)
    with pytest.warns(UserWarning, match="moves with the bandwidth") as caught:
        choose([KernelIPS(2.9)], **columns)
    assert {each.filename for each in caught} == {__file__}


@pytest.mark.parametrize(
    ("candidates", "error", "message"),
    [({"narrow": KernelIPS(0.1)}, TypeError, "estimators has 'narrow'"), ([], ValueError, "empty")],
)
def test_candidates_that_are_no_estimators_are_refused(candidates, error, message):
    columns, _ = make_doses(size=100)
    for choose in (slope, tuned):
        with pytest.raises(error, match=message):
            choose(candidates, **columns)
