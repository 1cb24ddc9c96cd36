"""Policies and estimators on logs of items from sets that change."""

import dataclasses

import numpy as np
import pytest

from bandit_envs.evaluations import evaluate, learn
from bandit_envs.logged import (
    BanditLog,
    DirectMethodLearner,
    IPSLearner,
    RidgeRegression,
    learn_from_log,
    probabilities_of,
    read_policy,
)
from bandit_envs.policies import PopularPolicy
from bandit_envs.policies.models import FourierFeatures, Interactions, Logistic, Ridge
from bandit_envs.tables.encoding import TextColumn
from tests.logged.law_of_items import best_value, make_log


@pytest.fixture(scope="module")
def log():
    return make_log(6000)


def values(found):
    """The true values of the policies of an evaluation, by name."""
    return {row.policy: row.truth for row in found.rows}


def test_a_linear_policy_of_columns_learns_which_items_suit_which_contexts(log):
    texts = ["lin_ucb:alpha=0.1", "lin_ucb:alpha=0.1,interactions=false"]
    found = evaluate(log, texts, "snips")
    truth = values(found)
    best = best_value(log[3000:])
    assert truth[texts[0]] > best - 0.02
    assert truth[texts[1]] < best - 0.1
    notes = [note for note in found.notes if "ranks items alike in every context" in note]
    assert len(notes) == 1
    assert texts[1] in notes[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ridge", Interactions(Ridge(intercept=True))),
        ("logistic:interactions=false", Logistic(intercept=True)),
        ("interactions:model=logistic", Interactions(Logistic(intercept=True))),
        ("interactions", Interactions(Ridge(intercept=True))),
        ("fourier:model=ridge", FourierFeatures(Ridge(intercept=True))),
    ],
)
def test_products_are_added_once_where_a_model_is_linear(log, text, expected, tmp_path):
    found = learn(log[:500], f'contextual:model="{text}"')
    assert found.policy.model == expected
    found.write(tmp_path / "policy.npz")
    assert read_policy(tmp_path / "policy.npz").model == expected


def test_arrays_have_the_products_that_a_text_asks_for(log):
    arrays = make_log(400)
    arrays = type(arrays)(arrays.observation, arrays.action, arrays.reward, arrays.propensity)
    plain = learn(arrays, 'contextual:model="ridge:intercept=true"')
    assert plain.policy.model == Ridge(intercept=True)
    asked = learn(arrays, 'contextual:model="ridge:intercept=true,interactions=true"')
    assert asked.policy.model == Interactions(Ridge(intercept=True))


@pytest.mark.parametrize(
    "text",
    [
        "ips",
        "direct_method",
        "doubly_robust",
        "policy_gradient",
        'policy_gradient:objective="dr"',
        'contextual:model="ridge"',
        'direct_method:regressor="DecisionTreeRegressor(min_samples_leaf=50,random_state=0)"',
        'doubly_robust:regressor="DecisionTreeRegressor(min_samples_leaf=50,random_state=0)"',
    ],
)
def test_learners_find_which_items_suit_which_contexts(log, text, tmp_path):
    if "regressor" in text:
        pytest.importorskip("sklearn")
        pytest.importorskip("skops")
    learned = learn(log, text, train=0.5)
    learned.write(tmp_path / "policy.npz")
    found = evaluate(log, [str(tmp_path / "policy.npz"), "random"], "dr")
    truth = found.rows[1].truth
    gained = (truth - found.rows[2].truth) / (best_value(log[3000:]) - found.rows[2].truth)
    assert gained > (0.6 if "regressor" in text else 0.9)
    assert found.rows[1].low < truth < found.rows[1].high
    table = probabilities_of(learned.policy, log[3000:])
    assert not table[~log[3000:].observation["mask"]].any()


def test_parts_of_a_log_teach_what_the_whole_does(log):
    whole = learn(log, "doubly_robust", train=1)
    parts = learn([log[:1000], log[1000:2500], log[2500:]], "doubly_robust", train=1)
    np.testing.assert_allclose(parts.policy.model.model.weights, whole.policy.model.model.weights)


def test_ips_rewards_of_all_candidates_teach_a_ridge_regression(log):
    rows = dataclasses.replace(log[:500], weight=np.linspace(0.5, 2.0, 500))
    policy = IPSLearner(baseline=0.25).fit(rows)
    parts = IPSLearner(baseline=0.25).fit_batches([rows[:200], rows[200:]])
    weights = policy.model.model.weights
    np.testing.assert_allclose(parts.model.model.weights, weights)
    context, items = rows.observation["global"], rows.observation["per_arm"]
    features = []
    targets = []
    weight = []
    for row in range(500):
        for place in np.flatnonzero(rows.observation["mask"][row]):
            x, z = context[row], items[row, place]
            features.append(np.concatenate((x, z, np.outer(x, z).ravel())))
            earned = (rows.reward[row] - 0.25) / rows.propensity[row]
            targets.append(0.25 + earned * (place == rows.action[row]))
            weight.append(rows.weight[row])
    expected = RidgeRegression().fit(np.array(features), np.array(targets), np.array(weight))
    np.testing.assert_allclose(weights[0], expected.weights)


def test_items_are_no_classes(log):
    pytest.importorskip("sklearn")
    with pytest.raises(ValueError, match="expected no classifier; regressions learn from items"):
        learn(log, 'ips:classifier="LogisticRegression()"')


def test_an_evaluation_shows_which_items_were_offered_and_chosen(log, tmp_path):
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    found = evaluate(log, "random", "ips")
    found.write(tmp_path)
    items = found.items
    assert len(items) == 40
    offered = (log.item == 3).sum()
    chosen = log.item[np.arange(len(log)), log.action] == 3
    (row,) = items[items["item"] == "item-3"].itertuples(index=False)
    means = (log.propensity[chosen].mean(), log.reward[chosen].mean())
    assert row[1:] == (offered, chosen.sum(), *map(pytest.approx, means))
    assert items["offered"].is_monotonic_decreasing
    header, first, *others = (tmp_path / "items.csv").read_text().splitlines()
    assert header == "item,offered,chosen,propensity,reward"
    assert first.split(",")[0] == items["item"][0]
    assert len(others) == 39
    assert "Items offered most (10 of 40)" in (tmp_path / "evaluation.html").read_text()
    assert "features: taste; of items: price, kind (2 levels)" in found.title
    evaluate(log.drop("item"), "random", "ips").write(tmp_path)
    assert not (tmp_path / "items.csv").exists()
    assert "Items offered" not in (tmp_path / "evaluation.html").read_text()


@pytest.mark.parametrize("first", [1, 200])
def test_places_of_items_are_not_said_to_be_actions_that_were_never_logged(log, first):
    arrays = BanditLog(log.observation, log.action, log.reward, log.propensity)
    arrays = arrays[arrays.action < 2]
    found = evaluate([arrays[:first], arrays[first:]], "random", "ips")
    assert not any("never logged" in row.warnings for row in found.rows)


def test_a_regressor_of_items_that_fails_is_not_said_to_be_of_an_action(log):
    tree = pytest.importorskip("sklearn.tree")
    with pytest.raises(ValueError, match="cannot learn from 6000 rows of items: "):
        DirectMethodLearner(tree.DecisionTreeRegressor(max_depth=-1)).fit(log)


def test_a_gradient_of_sets_that_change_is_that_of_available_actions():
    rng = np.random.default_rng(0)
    available = rng.random((1000, 3)) < [0.5, 0.5, 1.0]
    action = np.array([rng.choice(np.flatnonzero(each)) for each in available])
    table = available / available.sum(axis=1, keepdims=True)
    reward = np.array([1.0, 0.5, 0.0])[action]
    log = BanditLog(
        np.zeros((1000, 0)), action, reward, table[np.arange(1000), action], available=available
    )
    policy = learn(log, "policy_gradient", train=1).policy
    weights = policy.model.weights[:, 0]
    assert weights[0] > weights[1] > weights[2]


def test_baselines_of_items_have_their_values(log):
    texts = ["random", "first", "popular", 'constant:item="item-1"']
    found = evaluate(log, texts, ["ips", "dr"])
    tested = log[3000:]
    mask = tested.observation["mask"]
    means = tested.expected_rewards
    truth = values(found)
    uniform = means.sum(axis=1) / mask.sum(axis=1)
    assert truth["random"] == pytest.approx(uniform.mean())
    assert truth["first"] == pytest.approx(means[:, 0].mean())
    is_item = tested.item == 1
    where = is_item.any(axis=1)
    expected = np.where(where, (means * is_item).sum(axis=1), uniform).mean()
    assert truth['constant:item="item-1"'] == pytest.approx(expected)
    without = len(log) - (log.item == 1).any(axis=1).sum()
    text = f"uniformly in {without} of {len(log)} rows, where its item is not offered"
    assert any("item-1" in note and text in note for note in found.notes)
    taught = log[:3000]
    chosen = taught.item[np.arange(3000), taught.action]
    counts = np.bincount(chosen, minlength=40)
    totals = np.bincount(chosen, taught.reward, minlength=40)
    ranks = (totals + 10.0 * taught.reward.mean()) / (counts + 10.0)
    values_of = np.where(mask, ranks[tested.item], -1.0)
    popular = means[np.arange(3000), values_of.argmax(axis=1)].mean()
    assert truth["popular"] == pytest.approx(popular)
    for row in found.rows[1:]:
        assert row.low < row.truth < row.high


def test_items_share_a_regression_so_few_rows_are_enough_for_it(log):
    assert {row.estimator for row in evaluate(log[:45], "first", train=None).rows[1:]} == {"dr"}
    few = evaluate(log[:35], "first", train=None).rows[1:]
    assert {row.estimator for row in few} == {"ips", "snips"}


def test_segments_are_of_columns_of_the_context(log):
    is_north = (np.arange(6000) % 2).astype(float)
    regions = np.stack([is_north, 1.0 - is_north], axis=1)
    encoding = dataclasses.replace(
        log.encoding, features=(*log.encoding.features, TextColumn("region", ("north", "south")))
    )
    context = np.concatenate([log.observation["global"], regions], axis=1)
    table = dataclasses.replace(
        log, observation={**log.observation, "global": context}, encoding=encoding
    )
    found = evaluate(table, "first", ["dr", "snips"], by="region", train=None)
    assert [*found.segments] == ["north", "south"]
    for name, rows in zip(found.segments, (is_north == 1.0, is_north == 0.0)):
        own = evaluate(log[rows], "first", "snips", train=None).rows[1]
        (row,) = [
            each
            for each in found.segments[name]
            if (each.policy, each.estimator) == ("first", "snips")
        ]
        assert (row.value, row.gain) == pytest.approx((own.value, own.gain))
    with pytest.raises(ValueError, match="by is 'kind', a feature of items, of which a decision"):
        evaluate(table, "first", "snips", by="kind")


def test_an_item_without_a_name_in_the_log_is_refused(log):
    with pytest.raises(ValueError, match="item is 'item-99'; expected the name of an item"):
        evaluate(log, "constant:item=item-99", "ips")
    with pytest.raises(ValueError, match="item is 1; expected the name of an item: 'item-0'"):
        evaluate(log, "constant:item=1", "ips")


def test_whole_numbers_are_names_of_items_too(log):
    names = tuple(str(39 - number) for number in range(40))
    numbered = dataclasses.replace(log, encoding=dataclasses.replace(log.encoding, items=names))
    named = evaluate(log, "constant:item=item-37", "ips").rows[1]
    for text in ("constant:item=2", 'constant:item="2"'):
        assert evaluate(numbered, text, "ips").rows[1].value == named.value


def test_popular_items_are_known_by_their_names(log):
    first = evaluate(log, "popular", "ips", train=0.25)
    learned = learn_from_log(PopularPolicy(num_items=40, num_actions=6), log[:1500])
    order = np.random.default_rng(1).permutation(40)
    encoding = dataclasses.replace(log.encoding, items=tuple(np.array(log.encoding.items)[order]))
    moved = np.where(log.item < 0, -1, np.argsort(order)[log.item])
    other = dataclasses.replace(log, item=moved, encoding=encoding)[1500:]
    found = evaluate(other, learned, "ips", train=None)
    assert found.rows[1].value == pytest.approx(first.rows[1].value)


def test_places_are_not_taken_for_items(log):
    for text in ("constant:number=1", "ucb:c=1"):
        with pytest.raises(ValueError, match="tells actions apart by their numbers"):
            evaluate(log, text, "ips")
    skewed = dataclasses.replace(log, action=np.zeros(len(log), int))
    found = evaluate(skewed[:2000], "random", "snips")
    assert not any("never logged" in note for note in found.notes)
