"""What estimators assume of rewards: the data test it, and intervals allow for it."""

import warnings

import numpy as np
import pytest

from bandit_envs.logged import (
    BanditLog,
    CascadeDR,
    MarginalizedIPS,
    RewardInteractionIPS,
    SelfNormalizedIPS,
    SlateIndependentIPS,
    SlateProbabilities,
    SlateStandardIPS,
    merge_sums,
)
from bandit_envs.logged.estimators import estimate_logged, gain_over
from bandit_envs.logged.estimators.gains import mean_terms
from bandit_envs.logged.estimators.terms import sum_terms
from tests.cases import for_each
from tests.logged.known_logs import short_log

WRONG = "assumes of rewards seems wrong"
BOTH = pytest.mark.parametrize("self_normalized", [False, True])
LOGGER = np.array([0.4, 0.1, 0.4, 0.1])
POLICY = np.array([0.1, 0.7, 0.1, 0.1])
CLUSTERS = np.array([0, 0, 1, 1])
SLOTS = np.array([[1.5, 0.6], [0.5, 2.0], [1.0, 0.5], [2.0, 1.0], [0.5, 0.5], [1.0, 2.0]])
CLICKS = np.array([[1, 0], [0, 1], [0, 0], [1, 1], [0, 1], [1, 0]], float)


def log_of_clusters(means, size=20_000, seed=0):
    """A log of four actions in two clusters, with the mean rewards of the actions."""
    rng = np.random.default_rng(seed)
    action = rng.choice(4, size, p=LOGGER)
    reward = (rng.random(size) < np.array(means)[action]).astype(float)
    table = np.tile(LOGGER, (size, 1))
    return BanditLog(np.ones((size, 1)), action, reward, LOGGER[action], action_probabilities=table)


def estimate_clusters(log, self_normalized):
    estimator = MarginalizedIPS(self_normalized=self_normalized)
    likelihoods = CLUSTERS[log.action][:, np.newaxis] == CLUSTERS
    policy = np.tile(POLICY, (len(log), 1))
    return estimator.terms(log, policy, likelihoods).sums()


def problems_of(sums):
    return [problem for problem in sums.find_problems() if WRONG in problem]


@BOTH
def test_a_false_assumption_of_embeddings_is_warned_of(self_normalized):
    true = estimate_clusters(log_of_clusters([0.2, 0.2, 0.6, 0.6]), self_normalized)
    false = estimate_clusters(log_of_clusters([0.2, 0.6, 0.3, 0.5]), self_normalized)
    assert problems_of(true) == []
    (problem,) = problems_of(false)
    assert "too low" in problem
    with pytest.warns(UserWarning, match=WRONG):
        low, high = false.estimate().interval()
    assert low < 0.52 < high  # the value of the policy


def draw_slates(law, size, seed=0, knows_slates=True):
    """Rewards of two slots, with the probabilities of a uniform logger and of a policy.

    The second slot pays less beside a first one of its kind if the law is "above", and the first
    one beside a second one of its kind if it is "below".
    """
    rng = np.random.default_rng(seed)
    item = (rng.random((size, 2)) < 0.5).astype(int)
    chance = 0.2 + 0.3 * item
    if law != "slots":
        slot = 1 if law == "above" else 0
        chance[:, slot] = np.where(item[:, 0] == item[:, 1], 0.1, 0.5)
    reward = (rng.random((size, 2)) < chance).astype(float)
    given = []
    for table in (np.full((size, 2), 0.5), np.where(item == 1, 0.7, 0.3)):
        slate = table.prod(axis=1) if knows_slates else None
        given.append(SlateProbabilities(slate=slate, slot=table, prefix=table.cumprod(axis=1)))
    return reward, item, *given


@BOTH
@pytest.mark.parametrize(
    ("estimator", "true", "false"),
    [(SlateIndependentIPS, "slots", "above"), (RewardInteractionIPS, "above", "below")],
)
def test_a_false_assumption_of_slots_is_warned_of(estimator, true, false, self_normalized):
    made = estimator(self_normalized=self_normalized)
    found = {}
    for law in (true, false):
        reward, _, *given = draw_slates(law, 20_000)
        found[law] = made.terms(reward, *given).sums()
    assert problems_of(found[true]) == []
    assert len(problems_of(found[false])) == 1
    reward, _, *given = draw_slates(false, 20_000, knows_slates=False)
    assert problems_of(made.terms(reward, *given).sums()) == []  # nothing tells


def estimate_cascade(law):
    reward, item, *given = draw_slates(law, 20_000)
    columns = {
        "action": item,
        "slot_probabilities": np.tile([0.3, 0.7], (20_000, 2, 1)),
        "predicted_rewards": np.full((20_000, 2, 2), 0.3),
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimate = CascadeDR().estimate(reward, *given, **columns)
    return estimate, [str(each.message) for each in caught if WRONG in str(each.message)]


def test_a_false_assumption_of_cascades_is_warned_of():
    assert estimate_cascade("above")[1] == []
    estimate, problems = estimate_cascade("below")
    assert len(problems) == 1
    reward, _, *given = draw_slates("below", 20_000)
    free = SlateStandardIPS(self_normalized=True).estimate(reward, *given).interval()
    assert estimate.interval()[0] <= free[0]
    assert estimate.interval()[1] >= free[1]


def of_weights(slots):
    """The probabilities of slates whose weights of slots are known."""
    logged = np.full(slots.shape, 0.1)
    return (
        SlateProbabilities(slate=logged[:, 0], slot=logged, prefix=logged),
        SlateProbabilities(
            slate=0.1 * slots.prod(axis=1), slot=0.1 * slots, prefix=0.1 * slots.cumprod(axis=1)
        ),
    )


@for_each(
    ("estimator", "value", "difference", "noise"),
    [
        (SlateIndependentIPS(), 1.333333333, 0.003273116, 0.184232024),
        (SlateIndependentIPS(self_normalized=True), 1.222610723, 0.003273116, 0.184232024),
        (RewardInteractionIPS(), 1.291666667, 0.049358974, 0.103244604),
        (RewardInteractionIPS(self_normalized=True), 1.181029497, 0.049358974, 0.103244604),
    ],
)
def test_checks_of_slates_are_those_of_other_programs(estimator, value, difference, noise):
    sums = estimator.terms(CLICKS, *of_weights(SLOTS)).sums()
    mean = SLOTS.prod(axis=1).mean()  # of the weights of slates, by which both are divided
    assert sums.main.value() == pytest.approx(value, abs=1e-9)
    assert sums.free.value() == pytest.approx(1.225563910, abs=1e-9)
    assert sums.compared.compare_first() == pytest.approx(
        (difference / mean, noise / mean), abs=1e-9
    )


def test_checks_of_embeddings_are_those_of_other_programs():
    log, policy, _ = short_log(knows_all=True)
    categories = np.array([[1, 0], [0, 1], [0, 0], [1, 0], [0, 1], [0, 1], [1, 1], [0, 0]])
    laws = [
        [[0.24, 0.75], [0.76, 0.25]],
        [[0.93, 0.6], [0.07, 0.4]],
        [[0.5, 0.82], [0.5, 0.18]],
    ]
    likelihoods = MarginalizedIPS.likelihoods_of_embeddings(categories, laws)
    sums = MarginalizedIPS(self_normalized=True).terms(log, policy, likelihoods).sums()
    assert sums.main.value() == pytest.approx(0.336134672, abs=1e-9)
    assert sums.free.value() == pytest.approx(0.432531550, abs=1e-9)
    assert sums.compared.compare_first()[0] == pytest.approx(0.096396878, abs=1e-9)


@BOTH
def test_an_interval_has_all_of_that_of_weights_that_assume_nothing(self_normalized):
    log = log_of_clusters([0.2, 0.2, 0.6, 0.6], size=3000)
    policy = np.tile(POLICY, (3000, 1))
    sums = estimate_clusters(log, self_normalized)
    free = SelfNormalizedIPS().estimate(log, policy)
    own = sums.influence_sums().interval()
    assert sums.estimate().interval() == pytest.approx(
        (min(own[0], free.interval()[0]), max(own[1], free.interval()[1])), rel=1e-12
    )
    likelihoods = CLUSTERS[log.action][:, np.newaxis] == CLUSTERS
    estimator = MarginalizedIPS(self_normalized=self_normalized)
    gain = gain_over(estimator.estimate(log, policy, likelihoods), estimate_logged(log))
    of_free = gain_over(free, estimate_logged(log)).interval()
    assert gain.interval()[0] <= of_free[0] + 1e-12
    assert gain.interval()[1] >= of_free[1] - 1e-12


@BOTH
def test_checks_of_parts_merge_to_those_of_the_whole(self_normalized):
    reward, _, *given = draw_slates("above", 900)
    estimator = SlateIndependentIPS(self_normalized=self_normalized)
    whole = estimator.terms(reward, *given).sums()
    parts = []
    for rows in (slice(0, 100), slice(100, 650), slice(650, 900)):
        tables = [
            SlateProbabilities(slate=table.slate[rows], slot=table.slot[rows], prefix=None)
            for table in given
        ]
        parts.append(estimator.terms(reward[rows], *tables))
    merged = merge_sums(sum_terms(parts))
    assert merged.compared.compare_first() == pytest.approx(whole.compared.compare_first())
    assert merged.free.influences.interval() == pytest.approx(whole.free.influences.interval())


@pytest.mark.filterwarnings("ignore:.*the estimate is unreliable")
def test_nothing_is_said_where_no_row_has_a_weight_that_assumes_nothing():
    logged, evaluated = of_weights(SLOTS)
    evaluated = SlateProbabilities(slate=np.zeros(6), slot=evaluated.slot, prefix=evaluated.prefix)
    sums = SlateIndependentIPS().terms(CLICKS, logged, evaluated).sums()
    assert problems_of(sums) == []
    assert sums.estimate().interval() == sums.influence_sums().interval()


def test_one_row_with_a_weight_that_assumes_nothing_refutes_nothing():
    logged, evaluated = of_weights(SLOTS)
    slate = np.where(np.arange(6) == 4, 0.6, 0.0)
    evaluated = SlateProbabilities(slate=slate, slot=evaluated.slot, prefix=evaluated.prefix)
    sums = SlateIndependentIPS().terms(CLICKS, logged, evaluated).sums()
    assert problems_of(sums) == []


def test_a_mean_assumes_nothing():
    sums = mean_terms(np.arange(5.0)).sums()
    assert (sums.free, sums.compared) == (None, None)
