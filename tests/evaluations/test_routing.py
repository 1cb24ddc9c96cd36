"""Routers at prices and at a budget, and the mixes of single models that they must beat."""

import itertools
import math

import numpy as np
import pytest

from bandit_envs import LinUCBPolicy, OutcomeTableBandit
from bandit_envs.datasets import Outcomes
from bandit_envs.evaluations.passes import LogObserver
from bandit_envs.evaluations.routing import evaluate_prices, learn_router
from bandit_envs.evaluations.routing.mixes import Frontier, find_vertices
from bandit_envs.evaluations.routing.points import estimate_mean
from bandit_envs.evaluations.routing.prices import choose_prices, find_price
from bandit_envs.trajectories import restart
from tests.cases import for_each

SKILLS = np.array([[0.9, 0.9, 0.95], [0.5, 0.7, 0.9], [0.2, 0.4, 0.9]])
"""The probability that a model answers, by topic and model."""


def make_table(count=900, seed=0):
    """Returns requests that are the harder, the more so for small models, and three models."""
    rng = np.random.default_rng(seed)
    hardness = rng.random((count, 1))
    scores = (rng.random((count, 3)) < 0.95 - hardness * [0.9, 0.4, 0.0]).astype(float)
    costs = rng.uniform(0.5, 1.5, (count, 1)) * [1.0, 3.0, 10.0]
    contexts = np.concatenate([np.ones((count, 1)), hardness], axis=1).astype(np.float32)
    return Outcomes(contexts, scores, costs, ["small", "medium", "large"], None)


def make_topics(count=900, seed=0):
    """Returns requests of three topics, which a context tells."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(3, size=count)
    table = make_table(count, seed)
    scores = (rng.random((count, 3)) < SKILLS[topic]).astype(float)
    ids = np.arange(count)
    return table._replace(contexts=np.eye(3)[topic], rewards=scores, units=ids)


@for_each(
    ("scores", "costs", "vertices"),
    [
        ([0.5, 0.6, 0.9], [1.0, 2.0, 3.0], [0, 2]),
        ([0.5, 0.8, 0.9], [1.0, 2.0, 3.0], [0, 1, 2]),
        ([0.9, 0.8, 0.5], [1.0, 2.0, 3.0], [0]),
        ([0.9, 0.5, 0.7], [3.0, 1.0, 2.0], [1, 0]),
        ([0.5, 0.8, 0.8], [1.0, 1.0, 2.0], [1]),
    ],
)
def test_the_frontier_leads_from_the_cheapest_model_to_the_best(scores, costs, vertices):
    assert find_vertices(np.array(scores), np.array(costs)) == vertices


def test_no_mix_of_two_models_is_better_than_the_frontier():
    rng = np.random.default_rng(0)
    for _ in range(50):
        scores = rng.random((1, 6))
        costs = rng.random((1, 6))
        frontier = Frontier(scores, costs)
        for one, other in itertools.product(range(6), repeat=2):
            for share in (0.0, 0.3, 1.0):
                cost = (1.0 - share) * costs[0, one] + share * costs[0, other]
                score = (1.0 - share) * scores[0, one] + share * scores[0, other]
                assert frontier.score(cost) >= score - 1e-12


def test_a_mix_has_the_cost_that_is_asked_for():
    frontier = Frontier(np.array([[0.2, 1.0]]), np.array([[1.0, 5.0]]))
    mix = frontier.mix(2.0)
    assert (mix.share, mix.slope) == (0.25, 0.2)
    assert mix.of(np.array([[1.0, 5.0], [2.0, 6.0]])).tolist() == [2.0, 3.0]
    assert frontier.score(0.5) == 0.2  # no mix costs less
    assert frontier.score(7.0) == 1.0


@pytest.mark.slow
def test_intervals_of_gains_cover_the_gain_over_the_mix_with_the_same_cost():
    """The router knows the topic; in 1,000 samples of 300 requests, with 4 standard errors."""

    def sample(count, seed):
        table = make_topics(count, seed)
        topic = table.contexts.argmax(axis=1)
        rows = np.arange(count)
        model = np.array([0, 1, 2])[topic]
        frontier = Frontier(table.rewards, table.costs)
        gains = frontier.gains(table.rewards[rows, model], table.costs[rows, model])
        return estimate_mean(gains, None)

    means = SKILLS.mean(axis=0)
    score = np.diag(SKILLS).mean()
    cost = 14.0 / 3.0
    truth = score - Frontier(means[np.newaxis], np.array([[1.0, 3.0, 10.0]])).score(cost)
    found = [sample(300, seed) for seed in range(1000)]
    intervals = [each.interval(0.95) for each in found]
    covered = np.mean([low <= truth <= high for low, high in intervals])
    assert abs(covered - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 1000)
    values = np.array([each.value for each in found])
    errors = np.array([each.standard_error for each in found])
    assert np.mean(errors) == pytest.approx(values.std(), rel=0.1)


def test_a_higher_price_lowers_cost_and_score():
    found = evaluate_prices(make_table(), "lin_ucb:alpha=0.1", prices=[0.2, 0.0, 0.05])
    prices, scores, costs = zip(*((point.price, point.score, point.cost) for point in found.points))
    assert prices == (0.0, 0.05, 0.2)
    assert scores[0] > scores[1] > scores[2]
    assert costs[0] > costs[1] > costs[2]
    middle = found.points[1]
    assert 0.0 < middle.gain_low < middle.gain < middle.gain_high
    assert middle.cost_low < middle.cost < middle.cost_high
    assert [model.policy for model in found.models] == ["small", "medium", "large"]
    assert all(math.isnan(model.price) and math.isnan(model.gain) for model in found.models)
    (learned,) = found.notes
    assert learned.startswith(
        "Routers learned from 600 requests, each once, and saw the outcome of"
    )


def test_rows_with_equal_features_are_held_out_together_and_intervals_are_of_requests():
    """Scores are pure chance: no router can gain, though it has met the outcomes of the request."""
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(150), 20)
    rng.shuffle(rows)
    contexts = rng.normal(size=(150, 4)).astype(np.float32)[rows]
    scores = rng.integers(0, 2, (150, 3)).astype(float)[rows]
    table = Outcomes(contexts, scores, np.full((3000, 3), 0.1), ["a", "b", "c"], None)
    neighbours = 'sklearn_epsilon_greedy:epsilon=0,estimator="KNeighborsRegressor(5)"'
    pytest.importorskip("sklearn")
    found = evaluate_prices(table, neighbours, [0.0], all_outcomes=True)
    (point,) = found.points
    assert point.gain_low < 0.0 < point.gain_high
    assert point.gain_high - point.gain_low > 0.2  # of 50 requests, not of 1,000 rows
    assert found.notes[0].startswith("3000 rows are of 150 units, whose rows are held out")
    assert found.notes[2].startswith("Held-out units: the effective sample size is")
    assert found.notes[1].startswith("Routers learned from 100 units")
    apart = evaluate_prices(table._replace(units=np.arange(3000)), "random", [0.0])
    assert apart.notes[0].startswith("Routers learned from 2000 requests")


def test_a_request_counts_as_often_as_it_was_asked():
    contexts = np.repeat(np.arange(40.0), [1, 3] * 20)[:, np.newaxis]
    scores = np.repeat([0.0, 1.0] * 20, [1, 3] * 20)[:, np.newaxis] * [1.0, 1.0]
    table = Outcomes(contexts, scores, np.ones((80, 2)), ["a", "b"], None)
    points = [evaluate_prices(table, "random", [0.0], seed=seed).models[0] for seed in range(8)]
    assert np.mean([point.score for point in points]) == pytest.approx(0.75, abs=0.1)  # not 0.5


def test_intervals_hold_where_units_have_many_rows_each():
    """Users differ in how hard their requests are, and the share of those who err is 20 %."""
    rng = np.random.default_rng(0)
    size = 3000
    covered = {"users": [], "rows": []}
    for _ in range(100):
        users = rng.integers(300, size=size)
        ability = rng.random(300) < 0.8
        scores = np.tile(ability[users].astype(float)[:, np.newaxis], (1, 2))
        for name, unit in {"users": users, "rows": None}.items():
            low, high = estimate_mean(scores[:, 0], unit).interval(0.95)
            covered[name].append(low <= 0.8 <= high)
    assert np.mean(covered["users"]) >= 0.9
    assert np.mean(covered["rows"]) < 0.6


def test_the_rows_of_a_unit_are_held_out_together():
    table = make_table()
    users = np.arange(900) // 30
    found = evaluate_prices(table._replace(units=users), "random", [0.0])
    assert found.notes[0].startswith("900 rows are of 30 units")
    assert "learned from 20 units" in found.notes[1]
    apart = evaluate_prices(table, "random", [0.0]).models[0]
    together = found.models[0]
    assert together.score_high - together.score_low != apart.score_high - apart.score_low


def test_the_best_single_model_is_chosen_where_routers_learn():
    """All models are alike, so that the one that looks best does so by luck, and gains nothing."""
    rng = np.random.default_rng(0)
    gains = []
    for seed in range(15):
        scores = rng.integers(0, 2, (300, 8)).astype(float)
        contexts = rng.normal(size=(300, 1)).astype(np.float32)
        table = Outcomes(contexts, scores, np.ones((300, 8)), [*"abcdefgh"], None)
        found = evaluate_prices(table, "random", [0.0], seed=seed)
        point = found.points[0]
        gains.append(point.over_best)
        best = found.models[[*"abcdefgh"].index(found.best)]
        assert (best.over_best, best.saved) == (0.0, 0.0)
        assert point.over_best == pytest.approx(point.score - best.score)
        assert point.over_best_low < point.over_best < point.over_best_high
    assert abs(np.mean(gains)) < 4 * np.std(gains) / math.sqrt(15)


def test_the_best_single_model_keeps_to_the_budget():
    table = make_table()
    assert evaluate_prices(table, "random").best == "large"
    found = evaluate_prices(table, "lin_ucb:alpha=0.1", [0.05], budget=4.0)
    assert found.best == "medium"
    (point,) = found.at_budget
    assert point.over_best_low > 0.0
    assert point.saved == pytest.approx(found.models[1].cost - point.cost)
    poor = evaluate_prices(table, "random", budget=0.5)
    assert poor.best is None
    assert math.isnan(poor.points[0].over_best)


def test_gains_in_segments_add_up_to_those_of_all_requests():
    table = make_topics()
    topics = table.contexts.argmax(axis=1)
    named = table._replace(segments=np.array(["sums", "odes", "poems"])[topics])
    found = evaluate_prices(named, "lin_ucb:alpha=0.1", [0.02])
    assert list(found.segments) == ["odes", "poems", "sums"]
    (point,) = found.points
    assert [part.segment for part in point.segments] == [*found.segments]
    assert (
        point._replace(segments=()) == evaluate_prices(table, "lin_ucb:alpha=0.1", [0.02]).points[0]
    )
    held_out = [np.array(part.shares) for part in point.segments]
    assert held_out[1][2] == 1.0  # all poems go to the large model
    sizes = np.linalg.lstsq(
        np.array([[part.score, part.cost, 1.0] for part in point.segments]).T,
        np.array([point.score, point.cost, 1.0]),
        rcond=None,
    )[0]  # the shares of the segments
    for name in ("gain", "over_best", "saved"):
        parts = [getattr(part, name) for part in point.segments]
        assert sizes @ parts == pytest.approx(getattr(point, name), abs=1e-9)
    fixed = evaluate_prices(named, "random").points[0]
    assert math.isnan(fixed.price)
    assert all(math.isnan(part.price) for part in fixed.segments)
    pytest.importorskip("pandas")
    rows = found.segment_table
    assert rows["segment"].tolist() == ["odes", "poems", "sums"] * 4
    assert rows["score"].tolist()[-3:] == [part.score for part in point.segments]


def test_segments_that_are_too_many_or_too_small_are_told():
    table = make_table()
    many = table._replace(segments=np.arange(900).astype(str))
    with pytest.raises(ValueError, match=r"outcomes\.segments has 300 values; expected at most 50"):
        evaluate_prices(many, "random")
    one = np.array(["alone", *["all"] * 899])
    seeds = range(4)  # the row is held out in some of them
    notes = [evaluate_prices(table._replace(segments=one), "random", seed=n).notes for n in seeds]
    told = "Segments with fewer than 2 held-out rows are left out: 'alone'."
    assert {told in each for each in notes} == {False, True}


def test_points_have_the_share_of_each_model():
    found = evaluate_prices(make_table(), ["constant:number=1", "random"], [0.0])
    assert found.models[2].shares == (0.0, 0.0, 1.0)
    assert found.points[0].shares == (0.0, 1.0, 0.0)
    assert sum(found.points[1].shares) == pytest.approx(1.0)
    pytest.importorskip("pandas")
    assert found.table["share of medium"].tolist()[:4] == [0.0, 1.0, 0.0, 1.0]


def test_features_without_a_constant_are_told():
    table = make_topics()
    embedded = np.random.default_rng(1).normal(size=(900, 8)).astype(np.float32)
    centred = evaluate_prices(table._replace(contexts=embedded), ["lin_ucb", "random"], [0.0])
    assert "lin_ucb is linear, and no sum of its features is nearly constant" in centred.notes[1]
    assert len(centred.notes) == 2
    positive = evaluate_prices(table._replace(contexts=embedded + 2.0), "lin_ucb", [0.0])
    assert "lin_ucb is linear" in positive.notes[1]  # nearly, but not enough
    with_one = np.concatenate([embedded, np.ones((900, 1))], axis=1)
    of_unlike_sizes = with_one * np.array([1e6] * 8 + [1e-3])
    for contexts in (with_one, of_unlike_sizes, table.contexts):
        found = evaluate_prices(table._replace(contexts=contexts), "lin_ucb", [0.0])
        assert not any("ones" in note for note in found.notes)


@pytest.mark.parametrize("price", [0.0, 0.03, 0.07, 0.2])
def test_without_contexts_all_outcomes_teach_which_model_is_the_best_on_average(price):
    table = make_table()._replace(contexts=np.ones((900, 1), np.float32))
    greedy = "linear_epsilon_greedy:epsilon=0"
    router = learn_router(table, greedy, price, all_outcomes=True)
    best = (table.rewards - price * table.costs).mean(axis=0).argmax()
    assert router.action(restart(np.ones((1, 1)), 1)) == [best]


def test_all_outcomes_teach_more_than_the_chosen_ones():
    """Over 10 tables, every one of which tells the same."""
    more = 0
    for seed in range(10):
        table = make_topics(300, seed)
        points = [
            evaluate_prices(
                table, "linear_epsilon_greedy:epsilon=0", [0.0], seed=seed, all_outcomes=every
            ).points[0]
            for every in (False, True)
        ]
        more += points[1].score >= points[0].score
    assert more >= 9


def test_a_policy_whose_rows_learn_alone_learns_from_all_outcomes_too():
    router = learn_router(make_table(), "ucb:c=0.1", all_outcomes=True)
    assert router.action(restart(np.ones((1, 2)), 1)) == [2]


def test_a_router_knows_the_names_of_its_models_and_features():
    table = make_table()._replace(features=["one", "hardness"])
    router = learn_router(table, "lin_ucb:alpha=0.1", all_outcomes=True)
    assert router.encoding.actions == ("small", "medium", "large")
    assert router.encoding.names == ["one", "hardness"]
    assert learn_router(make_table(), "lin_ucb:alpha=0.1").encoding is None


def test_a_router_that_knows_another_order_of_columns_is_refused():
    table = make_table()._replace(features=["one", "hardness"])
    router = learn_router(table, "lin_ucb:alpha=0.1", all_outcomes=True)
    assert learn_router(table, router).encoding == router.encoding
    unnamed = table._replace(features=())
    assert learn_router(unnamed, router).encoding == router.encoding
    for change in ({"features": ["hardness", "one"]}, {"actions": ["large", "medium", "small"]}):
        with pytest.raises(ValueError, match="knows the features one, hardness, and the actions"):
            learn_router(table._replace(**change), router)
        with pytest.raises(ValueError, match="knows the features one, hardness, and the actions"):
            evaluate_prices(table._replace(**change), router)


def test_whether_all_outcomes_are_seen_is_yes_or_no():
    with pytest.raises(TypeError, match="all_outcomes is 'no'; expected a bool"):
        learn_router(make_table(), "random", all_outcomes="no")
    with pytest.raises(TypeError, match="all_outcomes is 'no'; expected a bool"):
        evaluate_prices(make_table(), "random", all_outcomes="no")


@for_each(
    ("change", "policy", "message"),
    [
        ({"features": ["one"]}, "random", "features has 1 names; expected 2"),
        ({}, ["random", "ucb:c=1"], "policy is 2 policies; expected one"),
        ({"available": np.eye(900, 3, dtype=bool)}, "random", "no request was answered by all"),
        ({"costs": None}, "random", "the table has no costs"),
    ],
)
def test_a_router_that_cannot_learn_is_refused(change, policy, message):
    with pytest.raises(ValueError, match=message):
        learn_router(make_table()._replace(**change), policy)


def test_single_models_lie_on_the_frontier_or_below_it():
    found = evaluate_prices(make_table(), "random")
    for model in found.models:
        assert model.score <= found.frontier.score(model.cost) + 1e-12
    constant = evaluate_prices(make_table(), "constant:number=2").points[0]
    assert (constant.score, constant.cost) == found.models[2][2:6:3]
    assert constant.gain == pytest.approx(0.0, abs=1e-12)


def test_a_fixed_policy_has_one_point_without_a_price():
    found = evaluate_prices(make_table(300), ["random", "lin_ucb"], prices=[0.0, 1.0], budget=9.0)
    assert [point.policy for point in found.points] == ["random", "lin_ucb", "lin_ucb"]
    assert math.isnan(found.points[0].price)
    assert found.at_budget[0] == found.points[0]


def test_prices_that_change_nothing_are_told():
    told = "No policy learns, so the prices change nothing."
    table = make_table()
    assert told in evaluate_prices(table, "random", [0.1]).notes
    assert told not in evaluate_prices(table, ["random", "lin_ucb"], [0.1]).notes
    assert told not in evaluate_prices(table, "random").notes


@pytest.mark.parametrize("prices", [pytest.param(None, marks=pytest.mark.slow), [5.0]])
def test_the_price_that_spends_a_budget_is_found_on_what_is_learned_from(prices):
    found = evaluate_prices(make_table(3000), "lin_ucb:alpha=0.1", prices, budget=4.0)
    (point,) = found.at_budget
    assert 3.9 < point.learned_cost <= 4.0
    assert point.cost == pytest.approx(point.learned_cost, abs=0.6)  # of a sample of 1,000
    assert point.gain_low > 0.0
    assert len(found.notes) == 1


def test_a_cost_that_jumps_over_the_budget_is_told():
    found = evaluate_prices(make_topics(450), "lin_ucb:alpha=0.1", prices=[0.0, 1.0], budget=4.0)
    (point,) = found.at_budget
    assert point.learned_cost < 3.5  # all requests of a topic change models at one price
    assert "its cost jumps in between" in found.notes[1]


def test_a_budget_that_no_price_keeps_to_is_told():
    table = make_table(300)
    found = evaluate_prices(table, ["lin_ucb:alpha=0.1", "random"], [0.0], budget=0.5)
    assert not found.at_budget
    assert "lin_ucb:alpha=0.1 spends at least" in found.notes[1]
    assert "random spends at least" in found.notes[2]
    rich = evaluate_prices(table, "lin_ucb:alpha=0.1", [0.0], budget=50.0)
    assert rich.at_budget[0].price == 0.0


def test_the_search_for_a_price_stops_close_below_the_budget():
    tried = {0.0: 10.0}
    price = find_price(lambda price: 10.0 / (1.0 + price), tried, budget=4.0)
    assert 3.96 <= 10.0 / (1.0 + price) <= 4.0
    steps = {0.0: 10.0, 1.0: 2.0}
    jump = find_price(lambda price: 10.0 if price < 0.6 else 2.0, steps, budget=4.0)
    assert 0.6 <= jump < 0.61
    assert len(steps) < 20
    assert find_price(lambda price: 5.0, {0.0: 5.0}, budget=4.0) is None


def test_prices_are_around_those_at_which_the_best_single_model_changes():
    scores = np.array([[0.5, 0.7, 0.8]])
    costs = np.array([[1.0, 2.0, 3.0]])  # slopes of 0.2 and 0.1
    prices = choose_prices(scores, costs)
    assert (prices[0], len(prices)) == (0.0, 8)
    assert prices[1] == pytest.approx(0.1 / 4)
    assert prices[-1] == pytest.approx(0.2 * 4)
    one_is_best = choose_prices(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([[1.0, 2.0]] * 2))
    assert all(np.diff(one_is_best) > 0.0)


@pytest.mark.parametrize("constant", [0.1, 0.25, 1 / 3])
def test_rounding_of_costs_makes_no_prices(constant):
    rng = np.random.default_rng(0)
    scores = rng.random((1000, 3))
    expected = choose_prices(scores, np.ones((1000, 3)))
    assert choose_prices(scores, np.full((1000, 3), constant)) == expected
    assert choose_prices(np.full((1000, 3), constant), rng.random((1000, 3))) == [0.0]
    costs = rng.random(1000)
    orders = np.stack([costs, rng.permutation(costs), rng.permutation(costs)], axis=1)
    assert len(set(orders.mean(axis=0))) > 1
    prices = choose_prices(scores, orders)
    assert prices[-1] < 1e3
    assert len(Frontier(scores, orders).vertices) == 1


def test_what_is_given_stays_as_it_is_and_runs_repeat():
    table = make_table()
    env = OutcomeTableBandit(table.contexts, table.rewards)
    policy = LinUCBPolicy(alpha=0.1, seed=0, **LinUCBPolicy.arguments_for(env))
    first, second = (evaluate_prices(table, {"mine": policy}, [0.0, 0.1]) for _ in range(2))
    assert policy.is_untrained
    assert first.points == second.points
    assert first.points[0].policy == "mine"
    assert first.points != evaluate_prices(table, {"mine": policy}, [0.0, 0.1], seed=1).points


class Watcher(LogObserver):
    """Keeps what it is told."""

    def __init__(self):
        self.told = []

    def start_pass(self, text, rows):
        self.told.append((text, rows))

    def read_rows(self, rows):
        self.told.append(rows)


def test_an_observer_sees_what_learns():
    watcher = Watcher()
    evaluate_prices(make_table(), "lin_ucb", [0.0, 0.1], budget=50.0, observer=watcher)
    assert watcher.told == [("lin_ucb learns", 1200), 600, 600, ("lin_ucb meets the budget", 0)]


def test_policies_whose_rows_learn_alone_learn_from_all_requests():
    found = evaluate_prices(make_table(), "ucb:c=0.5", prices=[0.0], passes=2)
    assert found.points[0].score == found.models[2].score  # the large model, for all requests
    assert "each 2 times" in found.notes[0]


def test_requests_that_a_model_has_not_answered_are_left_out():
    table = make_table()
    available = np.ones((900, 3), bool)
    available[:300, 1] = False
    found = evaluate_prices(table._replace(available=available), "random")
    assert found.notes[0] == "Left out: 300 rows that some model has not answered."
    assert "from 400 requests" in found.notes[1]


@for_each(
    ("changes", "message"),
    [
        ({"prices": []}, "prices is empty"),
        ({"prices": [-1.0]}, "prices is -1"),
        ({"budget": 0.0}, "budget is 0"),
        ({"held_out": 0.005}, "expected at least 10 in each part"),
        ({"held_out": 1.5}, "held_out is 1.5"),
        ({"confidence": 1.0}, "confidence is 1"),
        ({"passes": 0}, "passes is 0"),
        ({"policies": "nothing"}, "nothing"),
        ({"policies": ["random", "random"]}, "policy random is listed twice"),
        ({"policies": "constant:number=7"}, "policy constant:number=7"),
        ({"outcomes": make_table()._replace(costs=None)}, "the table has no costs"),
    ],
)
def test_wrong_input_is_refused(changes, message):
    arguments = {"outcomes": make_table(), "policies": "random", **changes}
    with pytest.raises(ValueError, match=message):
        evaluate_prices(**arguments)


def test_the_table_and_the_figure_have_all_points(tmp_path, monkeypatch):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    monkeypatch.undo()  # so that the figure is drawn
    found = evaluate_prices(
        make_table(), {"=1+1": "lin_ucb", "fixed": "random"}, [0.0, 0.1], budget=8.0
    )
    assert found.table["kind"].tolist() == ["model"] * 3 + ["price"] * 3 + ["budget"] * 2
    found.write(tmp_path)
    read = pandas.read_csv(tmp_path / "prices.csv")
    assert read["policy"].tolist()[3] == "'=1+1"
    assert read["score"].tolist() == found.table["score"].tolist()
    assert read["price"].isna().sum() == 3 + 2
    assert (tmp_path / "prices.png").read_bytes().startswith(b"\x89PNG")
    (axis,) = found.plot().axes
    assert {text.get_text() for text in axis.texts} == {"small", "medium", "large"}
    labels = [text.get_text() for text in axis.get_legend().get_texts()]
    assert {"=1+1", "fixed", "budget", "best mixes of single models"} <= set(labels)
