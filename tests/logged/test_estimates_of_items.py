"""What estimators and models of rewards make of the fixture of items."""

import itertools

import numpy as np
import pytest

from bandit_envs import RandomPolicy
from bandit_envs.logged import (
    DirectMethod,
    DoublyRobust,
    InversePropensityScoring,
    MarginalizedIPS,
    ReplayMethod,
    RewardRegression,
    RewardSums,
    SelfNormalizedIPS,
    probabilities_of,
)
from bandit_envs.logged.reward_models.reward_sums import CrossFittedRidge, folds_of
from tests.cases import for_each
from tests.logged.item_fixture import ENCODING, make_fixture

pytestmark = pytest.mark.filterwarnings("ignore")  # of a log so small

EXPECTED = {
    "uniform": {"IPS": 1.597222222222222, "SNIPS": 1.1794871794871793, "DR": 1.3442084775006833},
    "cheapest": {"IPS": 4.0, "SNIPS": 1.352112676056338, "DR": 2.3337725378718526},
    "softmax": {"IPS": 2.371281664929829, "SNIPS": 1.3043557042435323, "DR": 1.6915912710036662},
    "constant b": {"IPS": 0.5, "SNIPS": 0.8275862068965517, "DR": 0.7002392744201952},
}

ESTIMATORS = {
    "IPS": InversePropensityScoring(),
    "SNIPS": SelfNormalizedIPS(),
    "DR": DoublyRobust(),
}


def probabilities(name, log):
    """Returns the probabilities of a policy of the fixture: [n, K]."""
    mask = log.observation["mask"]
    price = np.where(mask, log.observation["per_arm"][..., 0], np.inf)
    if name == "uniform":
        return mask / mask.sum(axis=1, keepdims=True)
    if name == "cheapest":
        return (price == price.min(axis=1, keepdims=True)).astype(float)
    if name == "softmax":
        weights = np.exp(-price)
        return weights / weights.sum(axis=1, keepdims=True)
    is_b = log.item == ENCODING.items.index("b")
    has_b = is_b.any(axis=1, keepdims=True)
    return np.where(has_b, is_b, probabilities("uniform", log))


@for_each(("size", "name"), itertools.product([4, 9], EXPECTED))
def test_estimates_are_those_of_the_items_that_were_offered(name, size):
    log = make_fixture(size)
    predicted = RewardRegression().predict(log)
    for key, expected in EXPECTED[name].items():
        found = ESTIMATORS[key].estimate(log, probabilities(name, log), predicted)
        assert found.value == pytest.approx(expected, abs=1e-9), key


def test_parts_of_a_log_add_up_to_the_same():
    log = make_fixture()
    table = probabilities("softmax", log)
    parts = [log[:2], log[2:]]
    model = RewardSums.from_log(parts[0]).merge(RewardSums.from_log(parts[1], 2)).fit()
    policies = [table[:2], table[2:]]
    predicted = [model.predict(part, first) for first, part in zip((0, 2), parts)]
    terms = [DoublyRobust().terms(*part) for part in zip(parts, policies, predicted)]
    sums = [part.sums(first) for first, part in zip((0, 2), terms)]
    found = sums[0].merge(sums[1]).estimate()
    assert found.value == pytest.approx(EXPECTED["softmax"]["DR"], abs=1e-9)


def test_one_regression_without_a_penalised_constant_predicts_all_items():
    log = make_fixture()
    features = np.concatenate(
        [
            np.repeat(log.observation["global"][:, np.newaxis], 4, axis=1),
            log.observation["per_arm"],
        ],
        axis=2,
    )
    rows = np.arange(6)
    weights = [1.184596779, -0.601946017, -0.093232917, 0.118849981, 0.192842614, -0.311692595]
    sums = RewardSums.from_log(log)
    whole = sums._fit_without(-1)[0]
    np.testing.assert_allclose(whole, weights, atol=1e-9)
    predicted = CrossFittedRidge([{0: whole}] * 3).predict(log)
    np.testing.assert_allclose(predicted, whole[0] + features @ whole[1:], atol=1e-9)
    assert folds_of(0, 6, 3).tolist() == [1, 2, 0, 0, 1, 2]
    found = DoublyRobust().estimate(log, probabilities("cheapest", log), predicted)
    assert found.value == pytest.approx(1.8542869184395208, abs=1e-9)
    direct = DirectMethod().estimate(log, probabilities("cheapest", log), predicted)
    assert direct.value == pytest.approx(0.7951825994539427, abs=1e-9)
    assert np.isfinite(predicted[rows, log.action]).all()


def test_weights_of_items_may_be_those_of_their_kinds():
    log = make_fixture()
    kinds = log.observation["per_arm"][..., 1:].argmax(axis=2)
    policy = probabilities("cheapest", log)
    is_of_kind = kinds == kinds[np.arange(6), log.action][:, np.newaxis]
    is_kind = is_of_kind & log.observation["mask"]
    weights = (policy * is_kind).sum(axis=1) / (log.action_probabilities * is_kind).sum(axis=1)
    found = MarginalizedIPS().estimate(log, policy, is_of_kind)
    assert found.value == pytest.approx(np.mean(weights * log.reward))


def test_replay_is_refused_where_rows_offer_other_numbers_of_items():
    log = make_fixture()
    with pytest.raises(ValueError, match="with different propensities"):
        ReplayMethod().estimate(log, probabilities("cheapest", log))


@pytest.mark.parametrize("num_actions", [2, 4, 20])
def test_a_policy_is_asked_with_any_number_of_items(num_actions):
    log = make_fixture()
    found = probabilities_of(RandomPolicy(num_actions=num_actions), log)
    np.testing.assert_allclose(found, probabilities("uniform", log))
