"""What reward models and distributions refuse, and how they say so."""

import numpy as np
import pytest

from bandit_envs import rewards
from bandit_envs.rewards import (
    ActionRewardModel,
    RewardModel,
    as_action_reward_model,
    as_distribution,
    as_reward_model,
)
from bandit_envs.specs import ArraySpec
from tests.cases import for_each

USER = ArraySpec((2,), np.float64)
ITEM = ArraySpec((3,), np.float64)
ONE = rewards.NormalReward(0.0)
TWO = rewards.NormalReward([0.0, 1.0])


class TwoNumbers(RewardModel):
    def draw(self, rng, global_features, arm_features):
        return np.zeros((len(global_features), 2))


class SevenNumbers(ActionRewardModel):
    def draw(self, rng, context, action):
        return np.zeros((len(context), 7))


SEVEN = SevenNumbers(2, ArraySpec((), np.float32))
FEATURES = np.ones((1, 2))

REFUSALS = [
    # Distributions of arms.
    (rewards.NormalReward, (0.0, -1.0), ValueError, "std is -1"),
    (rewards.NormalReward, (np.nan,), ValueError, "mean is nan"),
    (rewards.NormalReward, ("0",), TypeError, "mean is <U1"),
    (rewards.NormalReward, ([[0.0], [0.0, 1.0]],), ValueError, "mean is "),
    (rewards.NormalReward, (1e38,), ValueError, "mean is 1e[+]38"),
    (rewards.Bernoulli, ([0.5, 1.1],), ValueError, "probability is "),
    (rewards.Beta, (0.0, 1.0), ValueError, "alpha is 0"),
    (rewards.Exponential, (-1.0,), ValueError, "scale is -1"),
    (rewards.Gamma, (1.0, -1.0), ValueError, "scale is -1"),
    (rewards.Poisson, (-1.0,), ValueError, "rate is -1"),
    (rewards.UniformReward, (1.0, [0.0, 2.0]), ValueError, "high is "),
    (rewards.Discrete, ([1.0, 2.0], [0.5, 0.6]), ValueError, "probabilities is "),
    (rewards.Discrete, ([1.0, 2.0], [-0.5, 1.5]), ValueError, "probabilities is "),
    (rewards.Discrete, ([1.0, 2.0], [1.0]), ValueError, "probabilities is "),
    (rewards.Discrete, ([1.0, 2.0], [0.5, [0.5]]), ValueError, "probabilities is "),
    (rewards.Corrupted, (ONE, 1.5, ONE), ValueError, "proportion is 1.5"),
    (rewards.Corrupted, (ONE, 0.5, 3.0), TypeError, "other is 3.0; expected a distribution"),
    (as_distribution, ("arms", []), TypeError, "arms is "),
    (as_distribution, ("arms", "normal"), TypeError, "arms is 'normal'"),
    (as_distribution, ("arms", [ONE, 1.0]), TypeError, r"arms\[1\] is 1.0"),
    (as_distribution, ("arms", [ONE, TWO]), ValueError, r"arms\[1\] has \(2,\) arms"),
    # Models of users and items.
    (rewards.LogisticActionReward, ([1.0, 2.0], [1.0, 2.0]), ValueError, r"theta has shape \(2,\)"),
    (rewards.LogisticActionReward, ([[1.0]], [0.0, 1.0]), ValueError, "intercept has 2 numbers"),
    (
        rewards.LogisticActionReward([[1.0], [2.0]], [0.0, 1.0]).mean,
        (np.ones((3, 2)),),
        ValueError,
        "theta has 1 weights an action; expected 2",
    ),
    (rewards.LinearReward, ([[1.0]],), ValueError, r"theta has shape \(1, 1\)"),
    (rewards.LinearReward, ([1.0, np.inf],), ValueError, "theta is .*inf"),
    (rewards.LinearReward, (["a"],), TypeError, "theta is <U1"),
    (rewards.LinearReward, ([1.0], -1.0), ValueError, "noise_std is -1"),
    (rewards.LinearReward, ([1.0], 1e39), ValueError, "noise_std is 1e[+]39; expected at most"),
    (rewards.LinearReward, ([1.0, -1e39],), ValueError, "theta is "),
    (rewards.LinearReward, ([[1], [1, 2]],), ValueError, "theta is "),
    (rewards.LogisticReward, (1.0,), ValueError, r"theta has shape \(\)"),
    (
        as_reward_model,
        ("reward_fn", rewards.LinearReward(np.ones(4)), USER, ITEM),
        ValueError,
        "theta has 4 entries; .* 2 global and 3 arm features",
    ),
    (
        as_reward_model,
        ("reward_fn", TwoNumbers(), USER, ITEM),
        ValueError,
        r"reward_fn drew shape \(1, 2\)",
    ),
    *(
        (
            as_reward_model,
            ("reward_fn", function, USER, ITEM),
            TypeError,
            "reward_fn is .*; expected a RewardModel or a function",
        )
        for function in (None, 1.0, [1.0, 2.0])
    ),
    # Models of actions.
    (rewards.LinearActionReward, ([1.0, 2.0],), ValueError, r"theta has shape \(2,\)"),
    (rewards.LinearActionReward, ([["a"]],), TypeError, "theta is <U1"),
    (rewards.LinearActionReward, ([[np.nan]],), ValueError, "theta is "),
    (rewards.LinearActionReward, ([[1.0]], -1.0), ValueError, "noise_std is -1"),
    (
        rewards.LinearActionReward(np.ones((2, 3))).mean,
        (FEATURES,),
        ValueError,
        "theta has 3 weights an action; expected 2",
    ),
    (rewards.RowActionReward, ([1], np.ones(2)), TypeError, "functions is "),
    (as_action_reward_model, ("mine", 3, np.ones(2)), TypeError, "mine is 3"),
    (as_action_reward_model, ("mine", SEVEN, np.ones(2)), ValueError, r"mine drew shape \(1, 7\)"),
]


@for_each(("function", "arguments", "error", "message"), REFUSALS)
def test_it_is_refused_by_name(function, arguments, error, message):
    with pytest.raises(error, match=message):
        function(*arguments)


@for_each(
    ("returned", "error", "message"),
    [
        ([1.0, None], TypeError, "fn returned object"),
        (["1", 1.0], TypeError, "fn returned <U"),
        ([1.0, [1.0, 2.0]], ValueError, r"fn returned \[1.0, \[1.0, 2.0\]\]"),
        ([np.ones(2), np.ones(2)], ValueError, r"fn returned shape \(2, 2\)"),
        ([1.0, np.nan], ValueError, "fn returned NaN for row 1"),
    ],
)
def test_a_row_function_that_returns_no_number_is_refused_by_name(returned, error, message):
    results = iter(returned)
    model = rewards.RowReward(lambda vector: next(results), "fn")
    with pytest.raises(error, match=message):
        model.draw(np.random.default_rng(0), np.ones((2, 1)), np.ones((2, 1)))


def test_unknown_means_are_said_to_be_unknown():
    of_function = as_reward_model("reward_fn", sum, USER, ITEM)
    of_class = TwoNumbers()
    of_actions = rewards.RowActionReward([min, max], np.ones(2))
    items = np.ones((1, 3))
    with pytest.raises(NotImplementedError, match="RowReward has no mean"):
        of_function.mean(FEATURES, items)
    with pytest.raises(NotImplementedError, match="TwoNumbers has no mean"):
        of_class.mean(FEATURES, items)
    with pytest.raises(NotImplementedError, match="RowActionReward does not know the means"):
        of_actions.mean(FEATURES)
