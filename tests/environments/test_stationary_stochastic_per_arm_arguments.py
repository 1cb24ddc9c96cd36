"""What a per-arm bandit can be made of, and what it refuses."""

import inspect

import numpy as np
import pytest

from bandit_envs.environments import StationaryStochasticPerArmPyEnvironment
from bandit_envs.rewards import LinearReward, RewardModel
from bandit_envs.sampling import BatchFunction, Integers, Normal
from tests.cases import for_each
from tests.environments.per_arm import THETA, B, G, K, P, make, means


def test_the_signature_is_that_of_tf_agents_with_keywords_added():
    parameters = inspect.signature(StationaryStochasticPerArmPyEnvironment).parameters
    assert list(parameters) == [
        "global_context_sampling_fn",
        "arm_context_sampling_fn",
        "max_num_actions",
        "reward_fn",
        "num_actions_fn",
        "batch_size",
        "name",
        "seed",
        "horizon",
    ]
    defaults = {name: parameter.default for name, parameter in parameters.items()}
    assert defaults["num_actions_fn"] is None
    assert defaults["batch_size"] == 1
    assert defaults["name"] == "stationary_stochastic_per_arm"
    assert parameters["seed"].kind is parameters["horizon"].kind is inspect.Parameter.KEYWORD_ONLY


@for_each(
    ("numbers", "num_arms", "clipped"),
    [
        ([-5, 0, 1, 2], K, [1, 1, 1, 2]),
        ([100, 10**12, K, 4], K, [K, K, K, 4]),
        (np.array([0, 1, 200, 255], np.uint8), 300, [1, 1, 200, 255]),
        ([np.array(3), np.int64(2), 1, True], K, [3, 2, 1, 1]),
    ],
)
def test_numbers_of_actions_are_clipped_as_tf_agents_does(numbers, num_arms, clipped):
    returned = iter([numbers[0], *numbers])
    env = make(num_actions=lambda: next(returned), num_arms=num_arms)
    num_actions = env.reset().observation["num_actions"]
    np.testing.assert_array_equal(num_actions, clipped)
    spec = env.observation_spec()["num_actions"]
    assert num_actions.dtype == spec.dtype == np.asarray(numbers[0]).dtype
    assert spec.minimum == 1
    assert spec.maximum == min(num_arms, np.iinfo(spec.dtype).max)


def recorded(calls, name, result):
    def function(*arguments):
        calls.append(name)
        return result

    return function


def test_functions_are_called_in_the_order_of_tf_agents():
    calls = []
    env = make(
        users=recorded(calls, "global", [1.0, 2.0]),
        items=recorded(calls, "arm", [1.0, 2.0, 3.0]),
        reward=recorded(calls, "reward", 0.5),
        num_actions=recorded(calls, "number", K),
    )
    assert calls == ["global", "arm", "number"]
    drawn = ["global"] * B + ["arm"] * (B * K) + ["number"] * B
    calls.clear()
    env.reset()
    assert calls == drawn
    calls.clear()
    env.step([0] * B)
    assert calls == ["reward"] * B + drawn


def test_functions_may_return_lists_tuples_and_numbers():
    env = make(users=lambda: (1, 2), items=lambda: 3.0, reward=sum)
    observation = env.reset().observation
    np.testing.assert_array_equal(observation["global"], [[1, 2]] * B)
    assert observation["per_arm"].shape == (B, K, 1)
    np.testing.assert_array_equal(env.step([0] * B).reward, [6.0] * B)


def test_function_and_sampler_may_be_mixed():
    env = make(users=lambda: [1.0, 2.0], items=Integers(P, 0, 3))
    time_step = env.reset()
    expected = means(time_step.observation)[:, 0]
    np.testing.assert_allclose(env.step([0] * B).reward, expected)


def test_of_a_function_the_expected_rewards_are_not_known():
    env = make(reward=lambda vector: vector @ THETA)
    env.reset()
    env.step([0] * B)
    for unknown in (env.expected_rewards, env.optimal_action, env.optimal_reward, env.get_info):
        with pytest.raises(NotImplementedError, match="RowReward has no mean"):
            unknown()


def test_a_nan_context_is_refused_by_name_and_row():
    values = {"arm": 0.0}

    def items(rng, size):
        contexts = rng.random((*size, P))
        contexts[-1, -1] += values["arm"]
        return contexts

    env = make(items=BatchFunction(items, P))
    env.reset()
    values["arm"] = np.nan
    with pytest.raises(ValueError, match="arm_context_sampling_fn returned NaN for row 3, "):
        env.step([0] * B)


def test_a_nan_reward_is_refused_by_name_and_row():
    env = make(reward=lambda vector: np.nan if vector[0] == 2 else 1.0, users=iter_of([0, 1, 2, 3]))
    env.reset()
    with pytest.raises(ValueError, match="reward_fn returned NaN for row 2"):
        env.step([0] * B)


def iter_of(users):
    numbers = iter([users[0], *users])
    return lambda: [next(numbers), 0]


@for_each(
    ("observation", "error", "message"),
    [
        (np.zeros((B, G)), TypeError, "observation does not fit .*: found a ndarray"),
        ({"global": np.zeros((B, G), np.float32)}, ValueError, "keys are"),
        (
            {"global": np.zeros((B, G)), "per_arm": np.zeros((B, K, P), np.float32)},
            ValueError,
            "float64 array",
        ),
        (
            {"global": np.zeros((2, G), np.float32), "per_arm": np.zeros((3, K, P), np.float32)},
            ValueError,
            r"expected ArraySpec\(shape=\(2, 5, 3\)",
        ),
    ],
)
def test_an_observation_of_another_kind_is_refused(observation, error, message):
    with pytest.raises(error, match=message):
        make().expected_rewards_for(observation)


def test_a_mean_of_a_wrong_shape_is_refused():
    class Wrong(RewardModel):
        def mean(self, global_features, arm_features):
            return np.zeros(len(global_features))

        def draw(self, rng, global_features, arm_features):
            return np.zeros(len(global_features))

    env = make(reward=Wrong())
    env.reset()
    with pytest.raises(ValueError, match=r"_rewards returned shape \(4,\); expected \(4, 5"):
        env.expected_rewards()


def test_a_nan_mean_is_refused_by_row_and_arm():
    class Unknowing(LinearReward):
        def mean(self, global_features, arm_features):
            means = super().mean(global_features, arm_features)
            means[2, 3] = np.nan
            return means

    env = make(reward=Unknowing(THETA))
    env.reset()
    env.step([0] * B)
    for ask in (env.expected_rewards, env.optimal_action, env.optimal_reward, env.get_info):
        with pytest.raises(ValueError, match=r"_rewards returned NaN for row 2, entry \[3\]"):
            ask()


def test_there_may_be_no_features():
    env = make(users=Normal(0), items=Normal(0), reward=LinearReward([], noise_std=0.0))
    assert env.reset().observation["per_arm"].shape == (B, K, 0)
    np.testing.assert_array_equal(env.step([0] * B).reward, np.zeros(B))
    np.testing.assert_array_equal(env.expected_rewards(), np.zeros((B, K)))
