"""What environments refuse when they are made: each message names the argument."""

import functools
import math

import numpy as np
import pytest

from bandit_envs import environments, rewards
from bandit_envs.datasets import ratings_matrix
from bandit_envs.environments import ClickModel, registry
from bandit_envs.sampling import Catalog, Integers, Normal
from tests.cases import for_each
from tests.environments import per_arm

PRESETS = {name: entry.make for name, entry in registry.ENVIRONMENTS.items()}
CHAINS = [[[0.9, 0.1], [0.3, 0.7]], [[0.5, 0.5], [0.2, 0.8]]]
EXAMPLES = np.arange(10.0)[:, np.newaxis]
LABELS = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2, 0])
RATINGS = np.random.default_rng(0).integers(0, 6, (12, 6)).astype(float)
MATRIX = np.ones((3, 2))
ONE = rewards.NormalReward(1.0)
THETA = np.array([[1.0, 0.0], [0.0, -2.0], [0.5, 0.5]])


def user():
    return {"age": 30}


def item():
    return {"price": 0.5}


def contexts():
    return np.ones((4, 2))


def reward(*features):
    return 1.0


classification = functools.partial(environments.ClassificationBandit, EXAMPLES)
drifting = functools.partial(environments.DriftingLinearBandit, Normal(5))
piecewise = functools.partial(environments.PiecewiseLinearBandit, Normal(4))
ranking = functools.partial(environments.RankingPyEnvironment, Normal(2), Normal(3), 4, 3)
actions = environments.StationaryStochasticPyEnvironment
structured = environments.StationaryStochasticStructuredPyEnvironment
testbed = environments.KArmedTestbed
bernoulli = environments.BernoulliPyEnvironment
pieces = environments.PiecewiseBernoulliPyEnvironment
neural = environments.neural_context
logistic = environments.logistic_context
PROBABILITIES = r"means.*All parameters should be floats in \[0, 1\]\."
NEGATIVE = r"Generated duration must be non-negative\. Got -1\."

REFUSALS = [
    (testbed, {"k": 0}, ValueError, "^k is 0; expected at least 1"),
    (testbed, {"k": 2.5}, TypeError, "^k is 2.5; expected an integer"),
    (testbed, {"batch_size": 0}, ValueError, "^batch_size is 0; expected at least 1"),
    (testbed, {"horizon": 0}, ValueError, "^horizon is 0; expected at least 1"),
    (testbed, {"value_mean": math.nan}, ValueError, "^value_mean is nan; expected a finite"),
    (testbed, {"value_mean": -1e38}, ValueError, r"^value_mean is -1e\+38; expected at least"),
    (testbed, {"value_std": -1}, ValueError, "^value_std is -1; expected at least 0"),
    (testbed, {"value_std": None}, TypeError, "^value_std is None; expected a number"),
    (testbed, {"reward_std": "1"}, TypeError, "^reward_std is '1'; expected a number"),
    (testbed, {"drift_std": 1e38}, ValueError, r"^drift_std is 1e\+38; expected at most"),
    (testbed, {"dtype": "float16"}, ValueError, "^dtype is 'float16'; expected float32 or"),
    (testbed, {"dtype": "nonsense"}, ValueError, "^dtype is 'nonsense'; expected float32 or"),
    (testbed, {"seed": 0.5}, TypeError, "^seed is 0.5; expected a non-negative integer"),
    (testbed, {"seed": -1}, ValueError, "^seed is -1; expected a non-negative integer"),
    (testbed, (10, 5), TypeError, "positional"),
    (bernoulli, ([0.1, 1.1],), ValueError, PROBABILITIES),
    (bernoulli, ([-0.1, 0.5],), ValueError, PROBABILITIES),
    (bernoulli, ([np.nan, 0.5],), ValueError, PROBABILITIES),
    (bernoulli, ([],), ValueError, "num_actions"),
    (bernoulli, ([[0.1, 0.2]] * 3, 2), ValueError, "batch_size"),
    (bernoulli, ("half",), TypeError, "means"),
    (PRESETS["beta_bernoulli"], {"failures": 0.0}, ValueError, "failures"),
    (
        environments.KArmedBandit,
        (rewards.NormalReward(np.zeros((3, 2))), 2),
        ValueError,
        "batch_size",
    ),
    (environments.RestedBandit, ([[np.nan]],), ValueError, "means"),
    (environments.RestedBandit, ([[0.0]], -1.0), ValueError, "std"),
    (environments.AdversarialBandit, ([0.0, 1.0],), ValueError, "rewards"),
    (environments.RestlessMarkovBandit, (CHAINS, [[0.0, 1.0]]), ValueError, "transitions"),
    (
        environments.RestlessMarkovBandit,
        ([[[0.5, 0.4], [0.5, 0.5]]], [[0.0, 1.0]]),
        ValueError,
        "transitions",
    ),
    (environments.rising, {"rates": [0.1]}, ValueError, "rates"),
    (environments.rising, ([1.0], [-0.1]), ValueError, "rates"),
    (environments.rising, ([-1.0], [0.1]), ValueError, "ends"),
    (environments.rotting, ([1.0, -1.0],), ValueError, "starts"),
    (pieces, ([0.1, 0.2], 1), ValueError, "piece_means"),
    (pieces, ([[0.1, 1.2]], 1), ValueError, "piece_means"),
    (pieces, ([[np.nan]], 1), ValueError, "piece_means"),
    (pieces, ([[0.1]], -1), ValueError, NEGATIVE),
    (pieces, ([[0.1]], [1, -1]), ValueError, NEGATIVE),
    (pieces, ([[0.1]], 1.5), TypeError, "change_duration_generator"),
    (pieces, ([[0.1]], None), TypeError, "change_duration_generator"),
    (pieces, ([[0.1]], [0.5]), TypeError, "change_duration_generator"),
    (pieces, ([[0.1]], lambda: 10), TypeError, "change_duration_generator"),
    (pieces, ([[0.1]], Normal(1)), TypeError, "change_duration_generator"),
    (pieces, ([[0.1]], Integers(2, 1, 5)), TypeError, "change_duration_generator"),
    (PRESETS["piecewise_bernoulli"], (7,), ValueError, "problem is 7"),
    (environments.CascadeBandit, ([0.5, 1.5], 1), ValueError, "attractions"),
    (environments.CascadeBandit, ([[0.5, 0.5]], 1, 2), ValueError, "attractions"),
    (environments.CascadeBandit, ([0.1, 0.6], 3), ValueError, "num_slots"),
    (environments.PositionBasedBandit, ([0.1], [2.0]), ValueError, "observation_probs"),
    (environments.PositionBasedBandit, ([0.1], []), ValueError, "observation_probs"),
    (ranking, (MATRIX.T,), ValueError, "scores_weight_matrix"),
    (ranking, (MATRIX * np.nan,), ValueError, "scores_weight_matrix"),
    (ranking, (MATRIX, 0), NotImplementedError, "feedback_model"),
    (ranking, (MATRIX, 1, 0), NotImplementedError, "click_model"),
    (ranking, (MATRIX, 1, ClickModel.DISTANCE_BASED), TypeError, "distance_threshold"),
    (environments.ClassificationBandit, (EXAMPLES * np.nan, LABELS), ValueError, "contexts"),
    (classification, (LABELS[:-1],), ValueError, "labels"),
    (classification, (LABELS - 1,), ValueError, "labels"),
    (classification, (LABELS / 2,), ValueError, "labels"),
    (classification, (LABELS, rewards.NormalReward([0.0, 1.0])), ValueError, "distribution"),
    (classification, (LABELS, rewards.NormalReward([[0.0, 1.0]] * 2)), ValueError, "distribution"),
    (classification, (LABELS, [ONE, ONE]), ValueError, "reward_distribution"),
    (classification, (LABELS, np.eye(3)), TypeError, "reward_distribution"),
    (environments.RatingsBandit, (np.full((3, 3), np.nan), 1), ValueError, "ratings"),
    (environments.RatingsBandit, (RATINGS[0], 1), ValueError, "ratings"),
    (environments.RatingsBandit, (RATINGS[:0], 1), ValueError, "rank"),
    (environments.RatingsBandit, (RATINGS, 7), ValueError, "rank"),
    (environments.RatingsBandit, (RATINGS, 0), ValueError, "rank"),
    (environments.RatingsBandit, (RATINGS, 2, 13), ValueError, "batch_size"),
    (environments.per_arm_ratings, (RATINGS, 2, 7), ValueError, "num_actions"),
    (ratings_matrix, (RATINGS,), ValueError, "table"),
    (ratings_matrix, ([[0, 0, np.nan]],), ValueError, "table"),
    (ratings_matrix, (np.empty((0, 3)),), ValueError, "table"),
    (logistic, {"num_actions": 0}, ValueError, "num_actions"),
    (logistic, {"problem": -1}, ValueError, "problem"),
    (logistic, {"reference": [[1.0, 2.0]]}, ValueError, "reference"),
    (neural, {"function": "linear"}, ValueError, "function is 'linear'; expected one of square"),
    (neural, {"dim": 0}, ValueError, "dim"),
    (neural, {"noise_std": -1.0}, ValueError, "noise_std"),
    (neural, {"num_actions": 0}, ValueError, "num_actions"),
    (PRESETS["wheel"], {"delta": 0.0}, ValueError, r"Delta must be in \(0, 1\), but saw delta: 0"),
    (PRESETS["wheel"], {"delta": 2.0}, ValueError, r"Delta must be in \(0, 1\), but saw delta: 2"),
    (PRESETS["wheel"], {"mu_base": [1.2] * 6}, ValueError, "length of 'mu_base' must be 5, but"),
    (PRESETS["wheel"], {"std_base": [0.1] * 6}, ValueError, r"length of 'std_base' must be 5\."),
    (PRESETS["wheel"], {"mu_base": [1, 2, 1, 1, 1]}, ValueError, "The first action in mu_base"),
    (PRESETS["wheel"], {"std_base": [0.1, 0.1, -0.1, 0.1, 0.1]}, ValueError, "std_base"),
    (PRESETS["wheel"], {"mu_high": np.inf}, ValueError, "mu_high"),
    (PRESETS["wheel"], {"std_high": -1.0}, ValueError, "std_high"),
    (drifting, (3,), TypeError, "weights_sampling_fn"),
    (drifting, (Normal(0),), ValueError, "num_actions"),
    (drifting, (Normal(3), np.nan), ValueError, "drift_mean"),
    (drifting, (Normal(3), 0.0, -1.0), ValueError, "drift_std"),
    (drifting, (Normal(3), 0.0, 0.0, [1.0, 2.0]), ValueError, "additive_mean"),
    (drifting, (Normal(3), 0.0, 0.0, 0.0, [0.1, -0.1, 0.1]), ValueError, "additive_std"),
    (
        environments.DriftingLinearBandit,
        (Normal(1), Normal(3)),
        ValueError,
        "features of context_sampling_fn",
    ),
    (environments.DriftingLinearBandit, (3, Normal(3)), TypeError, "context_sampling_fn"),
    (piecewise, (2.5, Normal(3), Normal(3)), TypeError, "interval_sampling_fn"),
    (piecewise, (5, Normal(3), Normal(4)), ValueError, "additive_sampling_fn"),
    (piecewise, (5, 3, Normal(3)), TypeError, "weights_sampling_fn"),
    (actions, (contexts, [reward], None, 3), ValueError, "The outer dimension of the observations"),
    (actions, (contexts, [], None, 4), ValueError, "num_actions"),
    (actions, (contexts, reward, None, 4), TypeError, "reward_fns"),
    (actions, (contexts, [reward, 3], None, 4), TypeError, "reward_fns"),
    (actions, (contexts, [reward], [reward] * 2, 4), ValueError, "constraint_fns has 2 actions"),
    (actions, (lambda: [1.0, 2.0], [reward]), ValueError, "context_sampling_fn"),
    (actions, (Normal(3), rewards.LinearActionReward(THETA)), ValueError, "theta has 2 weights"),
    (structured, ({"a": 3}, item, 4, reward), TypeError, "global_context_sampling_fn"),
    (structured, (user, [Normal(2), item], 4, reward), TypeError, "arm_context_sampling_fn"),
    (structured, (user, item, 0, reward), ValueError, "num_actions"),
    (structured, (user, item, 4, 3), TypeError, "reward_fn"),
    (
        structured,
        (Normal(2), Normal(2), 4, rewards.FlatReward(rewards.LinearReward([1.0]))),
        ValueError,
        "theta",
    ),
    (per_arm.make, {"num_arms": 0}, ValueError, "max_num_actions is 0; expected at least 1"),
    (per_arm.make, {"num_arms": 2.0}, TypeError, "max_num_actions is 2.0; expected an integer"),
    (per_arm.make, {"batch_size": None}, TypeError, "batch_size is None"),
    (per_arm.make, {"users": [1.0]}, TypeError, "global_context_sampling_fn is"),
    (per_arm.make, {"users": lambda: [1j]}, TypeError, "global_context_sampling_fn returned"),
    (per_arm.make, {"items": lambda: MATRIX}, ValueError, "arm_context_sampling_fn returned shape"),
    (per_arm.make, {"items": Catalog(np.eye(4))}, ValueError, "4 items; expected at least 5"),
    (per_arm.make, {"reward": rewards.LinearReward([1.0] * 4)}, ValueError, "theta has 4 entries"),
    (per_arm.make, {"reward": THETA}, TypeError, "reward_fn is"),
    (per_arm.make, {"num_actions": lambda: 2.9}, TypeError, "num_actions_fn returned .*float64"),
    (per_arm.make, {"num_actions": lambda: True}, TypeError, "num_actions_fn returned .*bool"),
    (per_arm.make, {"num_actions": lambda: None}, TypeError, "num_actions_fn returned object"),
    (per_arm.make, {"num_actions": Integers(2, 1, 3)}, TypeError, "num_actions_fn returned"),
    (per_arm.make, {"num_actions": Normal(1)}, TypeError, "num_actions_fn returned .*float32"),
    (per_arm.make, {"num_actions": 3}, TypeError, "num_actions_fn is 3; expected a ContextSampler"),
]

WRONG_PARAMETERS = [
    ("adversarial", "period"),
    ("adversarial", "num_actions"),
    ("structured", "arm_dim"),
    ("drifting_linear", "context_dim"),
    ("drifting_linear", "num_actions"),
    ("piecewise_linear", "context_dim"),
    ("piecewise_linear", "num_actions"),
]
for name, parameter in WRONG_PARAMETERS:
    REFUSALS += [
        (PRESETS[name], {parameter: -1}, ValueError, f"^{parameter} is -1"),
        (PRESETS[name], {parameter: 1.5}, TypeError, f"^{parameter} is 1.5"),
    ]


@for_each(("make", "arguments", "error", "message"), REFUSALS)
def test_wrong_arguments_are_refused_by_name(make, arguments, error, message):
    by_name = arguments if isinstance(arguments, dict) else {}
    in_order = () if by_name else arguments
    with pytest.raises(error, match=message):
        make(*in_order, **by_name)
