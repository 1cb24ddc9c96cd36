"""Hooks that return something wrong: the error names the hook and what it returned."""

import numpy as np
import pytest

from bandit_envs import ContextualPolicy, Policy, SlatePolicy
from bandit_envs.policies import IndexPolicy, ThompsonSamplingPolicy
from bandit_envs.policies.models import Ridge
from bandit_envs.policies.rules import IndexRule
from bandit_envs.specs import ArraySpec
from bandit_envs.testing import assert_identical
from bandit_envs.trajectories import Trajectory, restart, termination
from tests.cases import for_each

K, B = 4, 3
START = restart(np.ones((B, 1), np.float32), B)
STEP = Trajectory.from_transition(
    START, np.zeros(B, np.int32), termination(START.observation, np.ones(B))
)
ONE_NAN = np.zeros((B, K))
ONE_NAN[1, 2] = np.nan


def policy_of(base, hook, returned):
    """Returns a policy of K actions and B rows, of which one hook always returns the same."""
    policy_class = type("Mine", (base,), {hook: lambda self, *arguments: returned})
    return policy_class(num_actions=K, batch_size=B)


@for_each("chosen", [[1, 0, 1], np.array([1, 0, 1], np.uint8)])
def test_any_integers_one_for_each_row_are_actions(chosen):
    action = policy_of(Policy, "_select", chosen).action(START)
    assert_identical(action, np.array([1, 0, 1], np.int32))


def test_in_a_batch_of_one_a_number_is_an_action():
    class Second(Policy):
        def _select(self, rng, learned, time_step):
            return np.argmax([0.0, 1.0])

    assert Second(num_actions=2).action(restart(np.ones((1, 1)), 1)).tolist() == [1]


@for_each(
    ("chosen", "error", "message"),
    [
        ([1.0, 0.0, 1.0], TypeError, "_select returned float64: .*; expected integers"),
        (np.array([True, False, True]), TypeError, "_select returned bool: .*; expected integers"),
        (None, TypeError, "_select returned object: None; expected integers"),
        ([1, 0], ValueError, r"_select returned shape \(2,\); expected \(3,\)"),
        (1, ValueError, r"_select returned shape \(\); expected \(3,\)"),
        (np.zeros((B, K), int), ValueError, r"_select returned shape \(3, 4\); expected \(3,\)"),
    ],
)
def test_choices_that_are_not_integers_one_for_each_row_are_refused(chosen, error, message):
    policy = policy_of(Policy, "_select", chosen)
    with pytest.raises(error, match=message):
        policy.action(START)
    with pytest.raises(error, match=message):
        policy.estimated_probabilities(START, 2, np.random.default_rng(0))


@for_each(
    ("base", "hook"),
    [
        (IndexPolicy, "_scores"),
        (ThompsonSamplingPolicy, "_draw_values"),
        (Policy, "_probabilities"),
    ],
)
@for_each(
    ("returned", "message"),
    [
        (None, "HOOK returned None; expected an array of shape (3, 4)"),
        (np.ones(K), "HOOK returned shape (4,); expected (3, 4)"),
        (np.ones((K, B)), "HOOK returned shape (4, 3); expected (3, 4)"),
    ],
)
def test_tables_of_another_shape_are_refused(base, hook, returned, message):
    policy = policy_of(base, hook, returned)
    with pytest.raises(ValueError) as caught:
        policy.action(START)
    assert str(caught.value) == message.replace("HOOK", hook)


@for_each(
    ("base", "hook", "message"),
    [
        (IndexPolicy, "_scores", "the scores of row 1 have NaN"),
        (ThompsonSamplingPolicy, "_draw_values", "the scores of row 1 have NaN"),
        (Policy, "_probabilities", "_probabilities returned NaN for row 1"),
    ],
)
def test_tables_with_nan_are_refused(base, hook, message):
    with pytest.raises(ValueError, match=message):
        policy_of(base, hook, ONE_NAN).action(START)


@for_each("table", [np.full((B, K), 0.5), np.full((B, K), -0.25), np.full((B, K), np.nan)])
def test_what_is_not_a_distribution_is_not_told_as_one(table):
    with pytest.raises(ValueError, match=r"(?s)_probabilities returned .*sum to 1 in each row"):
        policy_of(Policy, "_probabilities", table).probabilities(START)


@for_each("scores", [None, np.ones(K), ONE_NAN])
def test_scores_of_items_are_checked_too(scores):
    class Mine(SlatePolicy):
        def _scores(self, learned, time_step):
            return scores

    with pytest.raises(ValueError, match="_scores returned"):
        Mine(2, num_actions=K, batch_size=B).action(START)


WRONG_EXPLORATION = [
    (np.full((B, 1), 0.1), r"exploration returned .*shape \(3, 1\); expected a number, or shape"),
    (np.array([0.1, 0.2, np.nan]), "exploration returned .*; expected numbers from 0 to 1"),
    (1.5, "exploration returned 1.5; expected numbers from 0 to 1"),
    (-1, "exploration returned -1; expected numbers from 0 to 1"),
    (None, "exploration returned None; expected numbers from 0 to 1"),
]


class Exploring(IndexPolicy):
    """Its best action is the last."""

    def _scores(self, learned, time_step):
        return np.tile(np.arange(K, dtype=float), (B, 1))


class ExploringRule(IndexRule):
    """Its indices are those of the model."""

    def index(self, seen):
        return seen.means()


@for_each(("returned", "message"), WRONG_EXPLORATION)
def test_how_often_a_policy_explores_is_a_number_from_0_to_1_or_one_for_each_row(returned, message):
    policy = policy_of(Exploring, "_exploration", returned)
    rule = type("Mine", (ExploringRule,), {"exploration": lambda self, seen: returned})()
    spec = {"num_actions": K, "batch_size": B, "observation_spec": ArraySpec((1,), np.float32)}
    for each in (policy, ContextualPolicy(Ridge(), rule, **spec)):
        for choose in (each.action, each.probabilities):
            with pytest.raises(ValueError, match=message):
                choose(START)


@for_each("returned", [0, 1, 0.25, np.float32(0.25), np.array(0.25), np.full(B, 0.25)])
def test_a_policy_explores_as_often_as_its_hook_says(returned):
    policy = policy_of(Exploring, "_exploration", returned)
    epsilon = float(np.max(returned))
    expected = np.full((B, K), epsilon / K)
    expected[:, -1] += 1.0 - epsilon
    np.testing.assert_allclose(policy.probabilities(START), expected)
    assert policy.action(START).shape == (B,)


class Learner(Policy):
    """Knows two tables."""

    def _initial(self):
        return np.zeros((B, K)), np.zeros(B)

    def _probabilities(self, learned, time_step):
        return np.full((B, K), 1.0 / K)


@for_each(
    ("returned", "error", "message"),
    [
        (
            None,
            TypeError,
            "_learn returned None; .* A policy that learns nothing defines no _learn",
        ),
        (3.0, TypeError, "_learn returned 3.0; expected a tuple as of _initial"),
        ([np.zeros((B, K)), np.zeros(B)], TypeError, r"(?s)_learn returned .*; expected a tuple"),
        ((np.zeros((K, B)), np.zeros(B)), ValueError, r"(?s)_learn returned .*float64\[4, 3\]"),
        ((np.zeros((B, K)), np.zeros(B, int)), ValueError, r"(?s)_learn returned .*int64\[3\]"),
    ],
)
def test_what_learn_returns_has_the_layout_of_what_initial_returned(returned, error, message):
    policy = policy_of(Learner, "_learn", returned)
    before = policy.get_state()
    for rows in (None, np.array([True, False, True])):
        with pytest.raises(error, match=message):
            policy.learn(STEP, rows)
    assert_identical(policy.get_state(), before, "the state after a refusal")


def test_a_learn_that_forgets_to_return_later_is_told_too():
    class Forgetful(Learner):
        def _learn(self, learned, trajectory):
            is_first = learned[1].sum() == 0.0
            learned[1][:] += 1.0
            return learned if is_first else None

    policy = Forgetful(num_actions=K, batch_size=B)
    policy(STEP)
    with pytest.raises(TypeError, match="_learn returned None"):
        policy(STEP)


def test_sums_in_arrays_of_integers_are_told_with_what_initial_returned():
    class Totals(Policy):
        def _initial(self):
            return np.zeros(B, int)

        def _probabilities(self, learned, time_step):
            return np.full((B, K), 1.0 / K)

        def _learn(self, learned, trajectory):
            learned += trajectory.reward
            return learned

    with pytest.raises(TypeError, match=r"_initial returned array int64\[3\], and _learn: Cannot"):
        Totals(num_actions=K, batch_size=B)(STEP)


def test_a_policy_without_a_hook_to_choose_says_so():
    with pytest.raises(NotImplementedError, match="defines neither _select nor _probabilities"):
        type("Mine", (Policy,), {})(num_actions=K, batch_size=B).action(START)
