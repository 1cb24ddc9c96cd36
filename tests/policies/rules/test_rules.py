"""Rules, each on a model that predicts what it is told, held against formulas written as loops."""

import math

import numpy as np

from bandit_envs.policies.models import Ridge
from bandit_envs.policies.rules import (
    AdaptiveGreedy,
    EliminationRegCB,
    EliminationSquareCB,
    EpsilonGreedy,
    FirstPulls,
    Greedy,
    Mixed,
    OptimisticRegCB,
    Softmax,
    SquareCB,
    ThompsonSampling,
    UpperBound,
    UpperQuantile,
)
from tests.cases import for_each
from tests.policies.contextual_parts import RULES, make_policy, teach
from tests.policies.rules.fake_model import (
    Members,
    Quantiles,
    Scored,
    Told,
    policy_of,
    probabilities,
    seen_by,
    shares,
)

B, K = 5, 4
RNG = np.random.default_rng(0)
TABLE = RNG.random((B, K))
TABLE[3] = [0.5, 0.2, 0.5, 0.5]  # ties
WIDTHS = RNG.random((B, K))
MASK = np.array([[True, True, False, True]] * B)
MASKS = for_each("mask", [None, MASK])


def allowed(mask):
    """Returns the available actions of each row."""
    return [[a for a in range(K) if mask is None or mask[row, a]] for row in range(B)]


def best_of(values, actions):
    """Returns which of some actions have the largest value."""
    largest = max(values[a] for a in actions)
    return [a for a in actions if values[a] == largest]


def uniform_on(chosen):
    """Returns equal probabilities of the actions in a list, for each row."""
    return np.array([[(a in row) / len(row) for a in range(K)] for row in chosen])


def best(values, mask):
    return uniform_on([best_of(values[row], acts) for row, acts in enumerate(allowed(mask))])


def inverse_gaps(values, gamma, candidates):
    """Returns the probabilities of inverse gap weighting among some actions of each row."""
    table = np.zeros((B, K))
    for row, actions in enumerate(candidates):
        top = best_of(values[row], actions)
        for a in actions:
            if a not in top:
                gap = values[row][top[0]] - values[row][a]
                table[row, a] = 1.0 / (len(actions) + gamma * gap)
        table[row, top] = (1.0 - table[row].sum()) / len(top)
    return table


def bounds(mellowness, num_rewards):
    """Returns the bounds of RegCB."""
    radius = math.sqrt(mellowness * math.log(K * max(num_rewards, 1)))
    return np.clip(TABLE - radius * WIDTHS, 0, 1), np.clip(TABLE + radius * WIDTHS, 0, 1)


def survivors(mellowness, num_rewards, mask):
    """Returns the actions that may be best, by the bounds of RegCB."""
    lower, upper = bounds(mellowness, num_rewards)
    found = []
    for row, actions in enumerate(allowed(mask)):
        highest = max(lower[row, a] for a in actions)
        found.append([a for a in actions if upper[row, a] >= highest])
    return found


@MASKS
def test_greedy_chooses_the_largest_score_and_breaks_ties_at_random(mask):
    np.testing.assert_allclose(probabilities(Greedy(), Told(TABLE), mask), best(TABLE, mask))
    expected = best(-TABLE, mask)
    np.testing.assert_allclose(probabilities(Greedy(), Scored(TABLE), mask), expected)


@MASKS
@for_each(
    ("rule", "epsilon"),
    [
        (EpsilonGreedy(0.3), 0.3),
        (EpsilonGreedy(1.0), 1.0),
        (EpsilonGreedy(0.8, decay=0.99), 0.8 * 0.99**100),
        (EpsilonGreedy(0.8, decay=0.5, smallest_epsilon=0.05), 0.05),
    ],
)
def test_epsilon_greedy_explores_uniformly_with_a_probability_that_may_decay(rule, epsilon, mask):
    expected = (1 - epsilon) * best(TABLE, mask) + epsilon * uniform_on(allowed(mask))
    np.testing.assert_allclose(probabilities(rule, Told(TABLE), mask, 100.0), expected)


@MASKS
@for_each("alpha", [0.0, 0.5, 3.0])
def test_the_upper_bound_is_so_many_deviations_above_the_prediction(alpha, mask):
    found = probabilities(UpperBound(alpha), Told(TABLE, WIDTHS), mask)
    np.testing.assert_allclose(found, best(TABLE + alpha * WIDTHS, mask))


@MASKS
def test_the_upper_quantile_is_of_the_stated_level(mask):
    found = probabilities(UpperQuantile(90.0), Quantiles(TABLE, WIDTHS), mask)
    np.testing.assert_allclose(found, best(TABLE + 0.9 * WIDTHS, mask))


@MASKS
@for_each("num_rewards", [0.0, 1000.0, 1e5])
def test_softmax_weighs_scores_by_a_temperature_that_cools_to_a_thousandth(mask, num_rewards):
    temperature = 0.3 * max(0.999**num_rewards, 1e-3)
    expected = np.zeros((B, K))
    for row, actions in enumerate(allowed(mask)):
        top = max(-TABLE[row, a] for a in actions)
        weights = [math.exp((-TABLE[row, a] - top) / temperature) for a in actions]
        expected[row, actions] = np.array(weights) / sum(weights)
    found = probabilities(Softmax(0.3, cooling=0.999), Scored(TABLE), mask, num_rewards)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-300)


@MASKS
@for_each(("scale", "exponent"), [(10.0, 0.5), (30.0, 0.0), (2.0, 1.0), (0.0, 0.5)])
@for_each("num_rewards", [0.0, 120.0])
def test_square_cb_weighs_gaps_by_the_number_of_rewards(scale, exponent, num_rewards, mask):
    rule = SquareCB(scale, exponent)
    expected = inverse_gaps(TABLE, scale * num_rewards**exponent, allowed(mask))
    found = probabilities(rule, Told(TABLE), mask, num_rewards)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@MASKS
@for_each("mellowness", [0.001, 0.1, 3.0])
@for_each("num_rewards", [0.0, 120.0])
def test_reg_cb_chooses_by_bounds_of_the_stated_width(mellowness, num_rewards, mask):
    model = Told(TABLE, WIDTHS)
    _, upper = bounds(mellowness, num_rewards)
    found = probabilities(OptimisticRegCB(mellowness), model, mask, num_rewards)
    np.testing.assert_allclose(found, best(upper, mask))
    found = probabilities(EliminationRegCB(mellowness), model, mask, num_rewards)
    expected = uniform_on(survivors(mellowness, num_rewards, mask))
    np.testing.assert_allclose(found, expected)


@MASKS
@for_each("mellowness", [0.001, 0.1, 3.0])
def test_square_cb_by_elimination_counts_the_survivors_alone(mellowness, mask):
    found = probabilities(
        EliminationSquareCB(5.0, 0.5, mellowness), Told(TABLE, WIDTHS), mask, 49.0
    )
    expected = inverse_gaps(TABLE, 35.0, survivors(mellowness, 49.0, mask))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_elimination_in_numbers_of_an_independent_program():
    values = np.array([[0.62, 0.55, 0.30, 0.58, 0.10]])
    model = Told(values, np.array([[0.10, 0.20, 0.60, 0.15, 0.12]]))
    without_first = np.array([[False, True, True, True, True]])
    for rule, available, expected in [
        (EliminationSquareCB(), None, (0.756313131, 0.090909091, 0.027777778, 0.125, 0)),
        (SquareCB(), None, (0.760984669, 0.083333333, 0.027027027, 0.111111111, 0.017543860)),
        (EliminationSquareCB(), without_first, (0, 0.166666667, 0.032258065, 0.801075269, 0)),
        (SquareCB(), without_first, (0, 0.142857143, 0.03125, 0.806662088, 0.019230769)),
        # Falcon of a network with 60 weights: its coefficient times sqrt(K / P).
        (
            SquareCB((5 / 60) ** 0.5),
            None,
            (0.289651912, 0.192231074, 0.168811688, 0.195485457, 0.153819870),
        ),
        (
            SquareCB(50 * (5 / 60) ** 0.5),
            None,
            (0.808943278, 0.066209250, 0.019535820, 0.092820323, 0.012491329),
        ),
    ]:
        found = probabilities(rule, model, available, 100.0)
        np.testing.assert_allclose(found, [expected], atol=1e-8)


def test_square_cb_by_elimination_starts_with_all_actions():
    table = probabilities(EliminationSquareCB(mellowness=10.0), Told(TABLE, 1.0 + WIDTHS))
    np.testing.assert_allclose(table, 1.0 / K)


@MASKS
def test_adaptive_greedy_is_greedy_where_a_prediction_exceeds_the_threshold(mask):
    low = TABLE.copy()
    low[0] = 0.2  # below 1 / (2 sqrt(K))
    expected = best(low, mask)
    for row, actions in enumerate(allowed(mask)):
        if max(low[row, a] for a in actions) <= 0.25:
            expected[row] = 0.0
            expected[row, actions] = 1.0 / len(actions)
    np.testing.assert_allclose(probabilities(AdaptiveGreedy(), Told(low), mask), expected)


@for_each("independent_rows", [False, True])
def test_the_threshold_is_a_percentile_of_the_largest_predictions_of_each_window(independent_rows):
    rule = AdaptiveGreedy(40.0, 0.95, window=4)
    largest = TABLE.max(axis=1)
    policy, time_step = policy_of(rule, TABLE, independent_rows=independent_rows)
    windows = [[] for _ in range(B)] if independent_rows else [[]]
    thresholds = [0.25] * len(windows)
    for _ in range(7):
        teach(policy, time_step.observation, np.zeros(B, int), np.zeros(B))
        for row in range(B):
            place = row if independent_rows else 0
            windows[place].append(largest[row])
            number = len(windows[place])
            if number % 4 == 0:
                share = 40.0 * 0.95**number
                thresholds[place] = np.percentile(windows[place][-4:], share)
        found = policy.get_state().content.learned.rule.threshold
        np.testing.assert_allclose(found, thresholds)


def test_first_pulls_come_first_and_are_counted_where_they_are_learned():
    policy, time_step = policy_of(FirstPulls(Greedy(), 3), TABLE[:1])
    chosen = []
    for _ in range(3 * K):
        action = policy.action(time_step)
        assert policy.probability_of(time_step, action) > 0.0
        chosen.append(int(action[0]))
        teach(policy, time_step.observation, action, np.ones(1))
    assert np.bincount(chosen).tolist() == [3] * K
    np.testing.assert_allclose(
        policy.probabilities(time_step), best(np.tile(TABLE[:1], (B, 1)), None)[:1]
    )


@MASKS
def test_first_pulls_are_uniform_among_the_available_actions_that_were_hardly_tried(mask):
    policy, time_step = policy_of(FirstPulls(Greedy(), 2), TABLE)
    for action in (0, 0, 1, 2):
        teach(policy, time_step.observation, np.full(B, action), np.zeros(B), np.arange(B) == 0)
    expected = uniform_on([[a for a in row if a != 0] for row in allowed(mask)])
    rule = policy.rule
    seen = seen_by(rule, policy.model)._replace(state=policy.get_state().content.learned.rule)
    np.testing.assert_allclose(rule.probabilities(seen, mask), expected)


@MASKS
@for_each("epsilon", [0.0, 0.2, 1.0])
def test_a_mixed_rule_leaves_each_available_action_its_share(epsilon, mask):
    rule = Mixed(SquareCB(), epsilon)
    found = probabilities(rule, Told(TABLE), mask, 100.0)
    of_rule = inverse_gaps(TABLE, 100.0, allowed(mask))
    np.testing.assert_allclose(found, (1 - epsilon) * of_rule + epsilon * uniform_on(allowed(mask)))
    least = [epsilon / len(actions) for actions in allowed(mask)]
    for row, actions in enumerate(allowed(mask)):
        assert (found[row, actions] >= least[row] - 1e-12).all()


@MASKS
def test_thompson_sampling_of_an_ensemble_is_the_share_of_its_members(mask):
    others = (TABLE, 1.0 - TABLE, TABLE[::-1])
    model = Members(TABLE, WIDTHS, others)
    found = probabilities(ThompsonSampling(), model, mask)
    expected = sum(best(values, mask) for values in others) / 3
    np.testing.assert_allclose(found, expected)


@MASKS
def test_thompson_sampling_chooses_the_largest_draw(mask):
    """Held against draws made otherwise: 6 standard errors of both."""
    found = shares(ThompsonSampling(0.5), Told(TABLE, WIDTHS), mask)
    rng = np.random.default_rng(1)
    counts = np.zeros((B, K))
    for _ in range(4000):
        draws = TABLE + 0.5 * WIDTHS * rng.standard_normal((B, K))
        for row, actions in enumerate(allowed(mask)):
            counts[row, max(actions, key=lambda a, row=row: draws[row, a])] += 1 / 4000
    error = np.sqrt(counts * (1 - counts) / 2000)
    assert (np.abs(found - counts) <= 6 * error + 1e-3).all()


WITH_PROBABILITIES = [name for name, rule in RULES.items() if name != "thompson sampling"]


@MASKS
@for_each("name", WITH_PROBABILITIES)
def test_choices_are_as_frequent_as_probabilities_say(name, mask):
    rule = RULES[name]
    model = Told(TABLE, WIDTHS)
    table = probabilities(rule, model, mask, 5.0)
    found = shares(rule, model, mask, 5.0)
    if mask is not None:
        table = np.where(mask, table, 0.0)
    table = table / table.sum(axis=1, keepdims=True)
    error = np.sqrt(table * (1 - table) / 4000)
    assert (np.abs(found - table) <= 6 * error + 1e-12).all()


@MASKS
@for_each("name", RULES)
def test_equal_predictions_are_chosen_equally_often(name, mask):
    model = Told(np.full((B, K), 0.5), np.full((B, K), 0.1))
    found = shares(RULES[name], model, mask)
    expected = uniform_on(allowed(mask))
    assert (np.abs(found - expected) <= 6 * np.sqrt(expected * (1 - expected) / 4000)).all()


@for_each("name", RULES)
def test_only_rows_that_are_learned_count(name):
    some = np.arange(6) < 2
    for independent_rows in (False, True):
        policy = make_policy(Ridge(), RULES[name], independent_rows=independent_rows)
        for _ in range(3):
            teach(policy, np.ones((6, 7)), np.zeros(6, int), np.zeros(6), some)
        found = policy.get_state().content.learned.num_rewards
        np.testing.assert_array_equal(found, 3.0 * some if independent_rows else 6)
