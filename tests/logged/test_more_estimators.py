"""Estimators for embeddings, several loggers, continuous actions and slates, beside known numbers.

The expected numbers are those of the sources' formulas on a small table, by other implementations.
"""

import dataclasses
import itertools

import numpy as np
import pytest

from bandit_envs import logged
from bandit_envs.logged import BanditLog, SlateProbabilities
from bandit_envs.logged.estimators import kernels
from bandit_envs.logged.estimators.slate_estimators import SlateMoments
from bandit_envs.logged.loggers import cochran_test, stratify_estimates
from bandit_envs.metrics.statistics import exceed_chi_squared
from tests.cases import for_each
from tests.logged.known_logs import ACTION, CONTEXT, LOGGER, POLICY, PREDICTED, REWARD

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*the estimate is unreliable"),
    pytest.mark.filterwarnings("ignore:the mean weight"),
    pytest.mark.filterwarnings("ignore:the estimate is about"),
    pytest.mark.filterwarnings("ignore:the estimate moves with the bandwidth"),
    pytest.mark.filterwarnings("ignore:the policy takes actions"),
]

ROWS = np.arange(8)


def table_log(action=ACTION, reward=REWARD, logger=LOGGER):
    return BanditLog(
        np.ones((8, 1)), action, reward, logger[ROWS, action], 3, action_probabilities=logger
    )


EMBEDDING = np.array([[1, 0], [0, 1], [0, 0], [1, 0], [0, 1], [0, 1], [1, 1], [0, 0]])
CATEGORIES = [
    [[0.24, 0.75], [0.76, 0.25]],
    [[0.93, 0.6], [0.07, 0.4]],
    [[0.5, 0.82], [0.5, 0.18]],
]
POSTERIOR = [
    [0.24, 0.47, 0.29],
    [0.56, 0.36, 0.08],
    [0.12, 0.13, 0.75],
    [0.21, 0.31, 0.48],
    [0.35, 0.6, 0.05],
    [0.12, 0.69, 0.19],
    [0.38, 0.06, 0.56],
    [0.31, 0.35, 0.34],
]


class TestEmbeddings:
    @pytest.mark.parametrize(
        ("dimensions", "value"), [([0, 1], 0.377664316), ([0], 0.384943806), ([1], 0.350180503)]
    )
    def test_known_distributions_of_embeddings_give_the_exact_weights(self, dimensions, value):
        likelihoods = logged.MarginalizedIPS.likelihoods_of_embeddings(
            EMBEDDING[:, dimensions], np.array(CATEGORIES)[:, :, dimensions]
        )

        estimate = logged.MarginalizedIPS().estimate(table_log(), POLICY, likelihoods)

        assert estimate.value == pytest.approx(value, abs=1e-9)

    @pytest.mark.parametrize(
        ("estimator", "exact", "estimated"),
        [
            (logged.MarginalizedIPS(), 0.377664316, 0.604007749),
            (logged.MarginalizedIPS(self_normalized=True), 0.336134672, 0.363373972),
        ],
    )
    def test_values_are_those_of_the_formula(self, estimator, exact, estimated):
        by_law = logged.MarginalizedIPS.likelihoods_of_embeddings(EMBEDDING, CATEGORIES)
        by_model = logged.MarginalizedIPS.likelihoods_by_posterior(table_log(), POSTERIOR)

        assert estimator.estimate(table_log(), POLICY, by_law).value == pytest.approx(
            exact, abs=1e-9
        )
        assert estimator.estimate(table_log(), POLICY, by_model).value == pytest.approx(
            estimated, abs=1e-9
        )

    def test_a_fitted_posterior_gives_the_values_of_the_formula(self):
        linear_model = pytest.importorskip("sklearn.linear_model")
        log = dataclasses.replace(table_log(), observation=CONTEXT, embedding=EMBEDDING)
        posterior = logged.ActionPosterior(linear_model.LogisticRegression()).predict(log)
        likelihoods = logged.MarginalizedIPS.likelihoods_by_posterior(log, posterior)

        plain = logged.MarginalizedIPS().estimate(log, POLICY, likelihoods)
        ratio = logged.MarginalizedIPS(self_normalized=True).estimate(log, POLICY, likelihoods)

        assert plain.value == pytest.approx(0.638891184, abs=1e-6)
        assert ratio.value == pytest.approx(0.390489484, abs=1e-6)

    def test_a_fitted_posterior_knows_no_actions_that_were_never_logged(self):
        naive_bayes = pytest.importorskip("sklearn.naive_bayes")
        log = BanditLog(
            np.eye(4), [0, 3, 0, 3], np.ones(4), np.ones(4), 5, embedding=[[0], [2]] * 2
        )

        posterior = logged.ActionPosterior(naive_bayes.BernoulliNB()).predict(log)

        assert posterior.shape == (4, 5)
        assert not posterior[:, [1, 2, 4]].any()
        np.testing.assert_allclose(posterior.sum(axis=1), 1.0)
        with pytest.raises(ValueError, match="log has no embedding"):
            logged.ActionPosterior(naive_bayes.BernoulliNB()).predict(log.drop("embedding"))
        with pytest.raises(TypeError, match="expected one with predict_proba"):
            logged.ActionPosterior(None)

    def test_counts_find_the_likelihoods_of_embeddings(self):
        log = dataclasses.replace(table_log(), embedding=EMBEDDING)

        likelihoods = logged.MarginalizedIPS.likelihoods_by_counts(log)

        kinds = [tuple(row) for row in EMBEDDING.tolist()]
        expected = np.zeros((8, 3))
        for row, action in itertools.product(range(8), range(3)):
            taken = [kinds[other] for other in range(8) if ACTION[other] == action]
            expected[row, action] = taken.count(kinds[row]) / len(taken)
        np.testing.assert_allclose(likelihoods, expected)

    def test_counts_are_exact_if_each_action_has_one_embedding(self):
        rng = np.random.default_rng(0)
        law = np.eye(3)[[0, 1, 2, 0, 1]][:, :, np.newaxis]  # [K, C, 1]
        action = rng.integers(5, size=200)
        logger = np.full((200, 5), 0.2)
        log = BanditLog(
            np.ones((200, 1)),
            action,
            rng.normal(size=200),
            np.full(200, 0.2),
            action_probabilities=logger,
            embedding=law.argmax(axis=1)[action],
        )

        likelihoods = logged.MarginalizedIPS.likelihoods_by_counts(log)

        np.testing.assert_array_equal(
            likelihoods, logged.MarginalizedIPS.likelihoods_of_embeddings(log.embedding, law)
        )

    def test_the_exact_posterior_gives_the_exact_weights(self):
        by_law = logged.MarginalizedIPS.likelihoods_of_embeddings(EMBEDDING, CATEGORIES)
        joint = LOGGER * by_law
        by_model = logged.MarginalizedIPS.likelihoods_by_posterior(
            table_log(), joint / joint.sum(axis=1, keepdims=True)
        )
        estimator = logged.MarginalizedIPS()

        assert estimator.estimate(table_log(), POLICY, by_model).value == pytest.approx(
            estimator.estimate(table_log(), POLICY, by_law).value, abs=1e-12
        )


logger_of_row = np.array([0, 0, 0, 0, 0, 1, 1, 1])
OTHER = np.array([0.63, 0.32, 0.38, 0.22, 0.25, 0.7, 0.76, 0.18])


def separate_logs():
    log = table_log()
    own = LOGGER[ROWS, ACTION]
    both = np.where(
        logger_of_row[:, np.newaxis] == [0, 1], own[:, np.newaxis], OTHER[:, np.newaxis]
    )
    return [log[logger_of_row == k] for k in range(2)], [both[logger_of_row == k] for k in range(2)]


class TestSeveralLoggers:
    @pytest.mark.parametrize(
        ("estimator", "value"),
        [
            (logged.InversePropensityScoring(), 0.297388753),
            (logged.DoublyRobust(), 0.404957521),
            (logged.InversePropensityScoring(max_weight=1.2), 0.245046554),
            (logged.DoublyRobust(max_weight=1.2), 0.393963280),
        ],
    )
    def test_the_mixture_gives_balanced_estimates(self, estimator, value):
        balanced = logged.balance_loggers(*separate_logs())

        found = estimator.estimate(balanced, POLICY, PREDICTED)

        assert found.value == pytest.approx(value, abs=1e-9)

    @pytest.mark.parametrize(
        ("estimator", "value"),
        [
            (logged.InversePropensityScoring(), 0.224673028),
            (logged.DoublyRobust(), 0.398202403),
            (logged.InversePropensityScoring(max_weight=1.2), 0.195391031),
        ],
    )
    def test_estimates_of_each_log_count_by_their_precision(self, estimator, value):
        logs, _ = separate_logs()
        estimates = [
            estimator.estimate(log, POLICY[logger_of_row == k], PREDICTED[logger_of_row == k])
            for k, log in enumerate(logs)
        ]

        combined = logged.combine_estimates(estimates)

        assert combined.value == pytest.approx(value, abs=1e-9)
        assert sum(combined.shares) == pytest.approx(1.0)
        assert combined.standard_error <= min(each.standard_error for each in estimates) * 1.01

    @pytest.mark.parametrize(
        ("estimator", "values", "errors", "error"),
        [
            (
                logged.InversePropensityScoring(),
                (0.673397397, 0.218249383),
                (0.547469099, 0.071754830),
                0.343224579,
            ),
            (logged.SelfNormalizedIPS(), (0.578416140, 0.188303739), None, 0.085561876),
        ],
    )
    def test_stratified_estimates_count_by_their_rows(self, estimator, values, errors, error):
        logs, _ = separate_logs()
        estimates = [
            estimator.estimate(log, POLICY[logger_of_row == k]) for k, log in enumerate(logs)
        ]
        found = stratify_estimates(estimates)
        assert [each.value for each in estimates] == pytest.approx(values, abs=1e-9)
        assert found.shares == (5 / 8, 3 / 8)
        assert found.value == pytest.approx(5 / 8 * values[0] + 3 / 8 * values[1], abs=1e-9)
        assert found.standard_error == pytest.approx(error, abs=1e-9)
        if errors is not None:
            assert [each.standard_error for each in estimates] == pytest.approx(errors, abs=1e-9)
            assert cochran_test(estimates) == pytest.approx((0.679499194, 0.409759228), abs=1e-9)

    def test_balanced_estimates_are_compared_with_those_of_own_propensities(self):
        balanced = logged.balance_loggers(*separate_logs())
        for estimator in (logged.InversePropensityScoring(), logged.SelfNormalizedIPS()):
            sums = estimator.terms(balanced, POLICY).sums()
            assert sums.compared.compare_first()[0] == pytest.approx(0.112635515, abs=1e-9)


@for_each("freedom", [1, 2, 3, 6, 7])
def test_tails_of_chi_squared_are_those_of_scipy(freedom):
    stats = pytest.importorskip("scipy.stats")
    for value in (0.01, 0.7, 5.0, 40.0):
        assert exceed_chi_squared(value, freedom) == pytest.approx(
            stats.chi2.sf(value, freedom), rel=1e-10
        )
    assert exceed_chi_squared(0.0, freedom) == 1.0


KERNELS = [
    (kernels.gaussian, (0.524439094, 0.346552830, 0.354669183)),
    (kernels.epanechnikov, (0.528308402, 0.372830270, 0.419940097)),
    (kernels.triangular, (0.421958177, 0.365097823, 0.443047586)),
    (kernels.cosine, (0.493357712, 0.370548909, 0.427457389)),
]
DOSES = {
    "reward": REWARD,
    "density": [0.19, 0.13, 0.28, 0.11, 0.31, 0.44, 0.42, 0.26],
    "action": [0.42, 0.75, -2.28, 0.19, 1.62, -0.61, 1.57, -1.19],
    "policy_action": [-1.21, 0.02, -2.95, 0.73, 1.33, -1.2, 0.95, -0.37],
}


class TestContinuousActions:
    @pytest.mark.parametrize(("kernel", "values"), KERNELS)
    def test_values_are_those_of_the_formula(self, kernel, values):
        predicted = [0.75, 0.11, 0.38, 0.62, 0.1, 0.38, 0.96, 0.71]

        found = (
            logged.KernelIPS(0.8, kernel).estimate(**DOSES).value,
            logged.KernelIPS(0.8, kernel, self_normalized=True).estimate(**DOSES).value,
            logged.KernelDR(0.8, kernel).estimate(**DOSES, predicted_rewards=predicted).value,
        )

        assert found == pytest.approx(values, abs=1e-9)


ITEMS = np.array([[1, 2], [0, 0], [1, 0], [1, 1]])
CLICKS = np.array([[0.6, 0.7], [1.0, 0.8], [0.6, 0.5], [0.1, 0.9]])
LOGGING_SLOTS = np.array(
    [
        [[0.2, 0.53, 0.27], [0.55, 0.22, 0.23]],
        [[0.47, 0.26, 0.27], [0.14, 0.13, 0.73]],
        [[0.32, 0.33, 0.35], [0.47, 0.09, 0.44]],
        [[0.15, 0.68, 0.17], [0.49, 0.33, 0.18]],
    ]
)
POLICY_SLOTS = np.array(
    [
        [[0.32, 0.23, 0.45], [0.05, 0.54, 0.41]],
        [[0.67, 0.28, 0.05], [0.38, 0.15, 0.47]],
        [[0.45, 0.41, 0.14], [0.12, 0.28, 0.6]],
        [[0.5, 0.27, 0.23], [0.34, 0.41, 0.25]],
    ]
)
SLOT_PREDICTIONS = [
    [[0.4, 0.96, 0.47], [0.04, 0.13, 0.34]],
    [[0.25, 0.48, 0.04], [0.01, 0.91, 0.11]],
    [[0.91, 1.0, 0.04], [0.68, 0.94, 0.51]],
    [[0.01, 0.24, 0.29], [0.04, 0.96, 0.69]],
]


def slate_probabilities(tables):
    """Of a policy that fills the slots independently."""
    slot = np.take_along_axis(tables, ITEMS[:, :, np.newaxis], axis=2)[:, :, 0]
    prefix = slot.cumprod(axis=1)
    return SlateProbabilities(prefix[:, -1], slot, prefix)


SLATES = (CLICKS, slate_probabilities(LOGGING_SLOTS), slate_probabilities(POLICY_SLOTS))


class TestSlates:
    @pytest.mark.parametrize(
        ("estimator", "value"),
        [
            (logged.SlateStandardIPS(), 2.203163424),
            (logged.SlateStandardIPS(self_normalized=True), 1.615987787),
            (logged.SlateIndependentIPS(), 1.784041438),
            (logged.SlateIndependentIPS(self_normalized=True), 1.484437781),
            (logged.RewardInteractionIPS(), 1.677652793),
            (logged.RewardInteractionIPS(self_normalized=True), 1.483636527),
        ],
        ids=str,
    )
    def test_values_are_those_of_the_formula(self, estimator, value):
        assert estimator.estimate(*SLATES).value == pytest.approx(value, abs=1e-9)

    def test_cascade_dr_corrects_predictions_of_the_slots(self):
        found = logged.CascadeDR().estimate(
            *SLATES,
            action=ITEMS,
            slot_probabilities=POLICY_SLOTS,
            predicted_rewards=SLOT_PREDICTIONS,
        )

        assert found.value == pytest.approx(1.709744635, abs=1e-9)

    @pytest.mark.parametrize(
        "estimator",
        [
            logged.SlateStandardIPS(self_normalized=True),
            logged.SlateIndependentIPS(self_normalized=True),
            logged.RewardInteractionIPS(self_normalized=True),
        ],
        ids=str,
    )
    def test_parts_of_a_log_merge_to_the_whole(self, estimator):
        whole = estimator.terms(*SLATES)
        parts = []
        for rows in ([0], [1, 2, 3]):
            given = [SlateProbabilities(*(each[rows] for each in table)) for table in SLATES[1:]]
            parts.append(estimator.terms(CLICKS[rows], *given).sums())

        merged = parts[1].merge(parts[0]).estimate()

        expected = whole.sums().estimate([whole])
        assert merged.value == pytest.approx(expected.value, abs=1e-12)
        assert merged.standard_error == pytest.approx(expected.standard_error, abs=1e-12)


def plackett_luce(table):
    """Returns the probabilities of the six slates of two distinct items of three, [n, 6]."""
    pairs = np.array(list(itertools.permutations(range(3), 2)))
    first = table[:, pairs[:, 0]]
    return pairs, first * table[:, pairs[:, 1]] / (1.0 - first)


class TestPseudoInverse:
    def test_independent_slots(self):
        logging = SlateMoments.of_slots(LOGGING_SLOTS)
        policy = SlateMoments.of_slots(POLICY_SLOTS)

        found = logged.PseudoInverse().estimate(CLICKS.sum(axis=1), ITEMS, logging, policy)

        assert found.value == pytest.approx(2.105053694, abs=1e-9)

    @pytest.mark.parametrize(("is_uniform", "value"), [(False, 1.833740611), (True, 2.327908303)])
    def test_slates_without_repeated_items(self, is_uniform, value):
        pairs, of_logger = plackett_luce(LOGGING_SLOTS[:, 0])
        _, of_policy = plackett_luce(POLICY_SLOTS[:, 0])
        if is_uniform:
            of_logger = np.full((1, 6), 1.0 / 6.0)
        logging = SlateMoments.of_slates(pairs, of_logger, num_items=3)
        policy = SlateMoments.of_slates(pairs, of_policy, num_items=3)
        slates = [[1, 2], [0, 1], [1, 0], [1, 2]]

        found = logged.PseudoInverse().estimate(CLICKS.sum(axis=1), slates, logging, policy)

        assert found.value == pytest.approx(value, abs=1e-9)


LIMITS = [0.3, 0.8, 1.5, 3.0, 100.0]


class TestSlope:
    @pytest.mark.parametrize(
        ("make", "chosen", "value"),
        [
            (logged.InversePropensityScoring, 0.3, 0.093836336),
            (logged.DoublyRobust, 0.3, 0.481277778),
            (logged.SwitchDR, 0.3, 0.518777778),
            (logged.DRWithOptimisticShrinkage, 0.3, 0.491780687),
        ],
    )
    def test_the_narrowest_is_chosen_if_none_is_refuted(self, make, chosen, value):
        estimators = [make(limit) for limit in LIMITS]

        best, estimate = logged.slope(estimators, table_log(), POLICY, PREDICTED)

        assert best == make(chosen)
        assert estimate.value == pytest.approx(value, abs=1e-9)

    def test_a_value_far_from_a_less_biased_one_is_refuted(self):
        taken = np.array([0.84, 0.8, 0.86, 0.83, 0.8, 0.82, 0.84, 0.8])
        propensity = np.array([0.4, 0.4, 0.42, 0.41, 0.39, 0.4, 0.41, 0.4])
        reward = [0.52, 0.5, 0.48, 0.51, 0.49, 0.5, 0.53, 0.5]
        log = BanditLog(np.ones((8, 1)), np.zeros(8, int), reward, propensity, 2)
        limits = [0.5, 1.0, 1.98, 2.02, 100.0]
        estimators = [logged.InversePropensityScoring(limit) for limit in limits]

        best, estimate = logged.slope(estimators, log, np.column_stack([taken, 1.0 - taken]))

        assert best == logged.InversePropensityScoring(1.98)
        assert estimate.value == pytest.approx(0.997425, abs=1e-9)


def kernel_ips(**changes):
    return logged.KernelIPS(changes.pop("bandwidth", 0.8)).estimate(**(DOSES | changes))


def marginalized_ips(likelihoods):
    return logged.MarginalizedIPS().estimate(table_log(), POLICY, likelihoods)


@for_each(
    ("call", "message"),
    [
        (lambda: kernel_ips(bandwidth=0.0), "bandwidth is 0"),
        (lambda: kernel_ips(density=np.zeros(8)), "density is 0.0 in row 0"),
        (lambda: kernel_ips(action=np.zeros(7)), "action has shape"),
        (lambda: marginalized_ips(np.zeros((8, 3))), "likelihood of the logging policy is 0.0"),
        (lambda: marginalized_ips(np.ones((8, 2))), "likelihoods has shape"),
        (
            lambda: logged.MarginalizedIPS.likelihoods_of_embeddings([[2, 0]], CATEGORIES),
            "embedding is 2 in row 0; expected 0 to 1",
        ),
        (
            lambda: logged.balance_loggers(separate_logs()[0], [np.ones((5, 1)), np.ones((3, 1))]),
            "a column for each log",
        ),
        (lambda: logged.slope([], table_log(), POLICY), "estimators is empty"),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_log_without_the_logging_policys_probabilities_has_no_marginal_weights():
    log = table_log().drop("action_probabilities")

    with pytest.raises(ValueError, match="log has no action_probabilities"):
        logged.MarginalizedIPS().estimate(log, POLICY, np.ones((8, 3)))


@pytest.mark.parametrize(
    "made",
    [
        (logged.SlateStandardIPS(), logged.SlateStandardIPS(self_normalized=True)),
        (logged.MarginalizedIPS(), logged.MarginalizedIPS(self_normalized=True)),
    ],
    ids=str,
)
def test_sums_of_an_estimator_and_of_its_self_normalized_form_do_not_merge(made):
    arguments = SLATES
    if isinstance(made[0], logged.MarginalizedIPS):
        arguments = (table_log(), POLICY, np.ones((8, 3)))
    plain, ratio = (estimator.terms(*arguments).sums() for estimator in made)

    with pytest.raises(TypeError, match=r"self_normalized=False.* and .*self_normalized=True"):
        plain.merge(ratio)


def test_estimators_say_how_they_were_made_and_equal_those_made_alike():
    assert logged.KernelIPS(0.5, self_normalized=True) == logged.KernelIPS(
        0.5, kernels.epanechnikov, self_normalized=True
    )
    assert repr(logged.SlateStandardIPS(self_normalized=True)) == (
        "SlateStandardIPS(self_normalized=True)"
    )
