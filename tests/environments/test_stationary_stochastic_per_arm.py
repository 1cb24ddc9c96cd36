import copy
import inspect
import pickle
import tracemalloc

import numpy as np
import pytest

from bandit_envs.environments import StationaryStochasticPerArmPyEnvironment
from bandit_envs.rewards import LinearReward, LogisticReward, RewardModel
from bandit_envs.sampling import BatchFunction, Catalog, Integers, Normal, Uniform
from bandit_envs.specs import check_arrays_nest

B, K, G, P = 4, 5, 2, 3
THETA = np.array([1.0, -1.0, 2.0, 0.5, -0.5])


def make(*, users=None, items=None, num_arms=K, reward=None, num_actions=None, **keywords):
    """An environment of samplers, where nothing else is asked for."""
    return StationaryStochasticPerArmPyEnvironment(
        Normal(G) if users is None else users,
        Normal(P) if items is None else items,
        num_arms,
        LinearReward(THETA, noise_std=0.0) if reward is None else reward,
        num_actions,
        **{"batch_size": B, "seed": 0, **keywords},
    )


def means(observation):
    """The expected rewards of `THETA`, from concatenated features."""
    users, items = observation["global"], observation["per_arm"]
    tiled = np.repeat(users[:, np.newaxis], items.shape[1], axis=1)
    return np.concatenate([tiled, items], axis=2) @ THETA


def assert_same(time_step, other):
    for leaf, other_leaf in zip(time_step[:3], other[:3]):
        np.testing.assert_array_equal(leaf, other_leaf)
    for key, array in time_step.observation.items():
        np.testing.assert_array_equal(array, other.observation[key])


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


@pytest.mark.parametrize("num_actions", [None, Integers(1, 1, K + 1)])
def test_the_observation_has_its_keys_shapes_and_dtypes(num_actions):
    env = make(num_actions=num_actions)
    observation = env.reset().observation
    assert list(observation) == ["global", "per_arm", "num_actions"][: 2 + bool(num_actions)]
    assert observation["global"].shape == (B, G)
    assert observation["per_arm"].shape == (B, K, P)
    if num_actions:
        assert observation["num_actions"].shape == (B,)
        assert observation["num_actions"].dtype == np.int32
    one_row = {key: np.asarray(array[0]) for key, array in observation.items()}
    assert check_arrays_nest(one_row, env.observation_spec())


def test_every_step_has_new_users_and_items():
    env = make()
    seen = [env.reset(), env.step([0] * B), env.step([0] * B), env.reset()]
    for key in ("global", "per_arm"):
        values = [float(time_step.observation[key].flat[0]) for time_step in seen]
        assert len(set(values)) == len(values)


def test_the_reward_is_for_the_arm_that_was_shown():
    env = make()
    time_step = env.reset()
    for _ in range(3):
        action = np.array([0, K - 1, 2, 1])
        expected = means(time_step.observation)[np.arange(B), action]
        time_step = env.step(action)
        np.testing.assert_allclose(time_step.reward, expected, rtol=1e-4, atol=1e-5)
        assert time_step.reward.dtype == np.float32


def test_expected_rewards_and_optima_are_those_of_the_current_observation():
    env = make()
    expected = means(env.reset().observation)
    np.testing.assert_allclose(env.expected_rewards(), expected, atol=1e-5)
    np.testing.assert_array_equal(env.optimal_action(), expected.argmax(axis=1))
    np.testing.assert_allclose(env.optimal_reward(), expected.max(axis=1), atol=1e-5)


def test_get_info_is_of_the_last_step():
    env = make()
    assert env.reset() is not None
    assert env.get_info() is None
    expected = means(env.current_time_step().observation)
    env.step([1] * B)
    info = env.get_info()
    np.testing.assert_allclose(info["expected_reward"], expected[:, 1], atol=1e-5)
    np.testing.assert_allclose(info["optimal_reward"], expected.max(axis=1), atol=1e-5)
    np.testing.assert_array_equal(info["optimal_action"], expected.argmax(axis=1))


def test_an_arm_that_is_not_available_has_minus_infinity():
    env = make(num_actions=Integers(1, 1, K + 1), batch_size=200)
    observation = env.reset().observation
    available = np.arange(K) < observation["num_actions"][:, np.newaxis]
    assert not available.all()
    expected = np.where(available, means(observation), -np.inf)
    np.testing.assert_allclose(env.expected_rewards(), expected, rtol=1e-4, atol=1e-5)
    assert (env.optimal_action() < observation["num_actions"]).all()
    assert np.isfinite(env.optimal_reward()).all()


def test_an_arm_that_is_not_available_is_refused_and_nothing_changes():
    env = make(num_actions=BatchFunction(lambda rng, size: np.full((*size, 1), 3), 1, np.int32))
    env.reset()
    before = pickle.dumps(env.get_state())
    message = r"action\[2\] is 3; expected 0 <= action < 3, the num_actions of its row"
    with pytest.raises(ValueError, match=message):
        env.step([0, 2, 3, 4])
    assert pickle.dumps(env.get_state()) == before
    env.step([0, 2, 2, 1])


def test_an_action_before_the_first_reset_is_ignored():
    env = make(num_actions=Integers(1, 1, 2))
    assert env.step([K, K, K, K]).is_first().all()


@pytest.mark.parametrize(
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
    assert num_actions.dtype == np.int32


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda: 2.9, TypeError, "num_actions_fn returned float64; expected integers"),
        (lambda: True, TypeError, "num_actions_fn returned bool; expected integers"),
        (lambda: None, TypeError, "num_actions_fn returned object"),
        (lambda: [1, 2], ValueError, r"num_actions_fn returned shape \(2,\); expected one"),
        (Integers(2, 1, 3), ValueError, r"num_actions_fn returned shape \(2,\); expected one"),
        (Normal(1), TypeError, "num_actions_fn returned float32; expected integers"),
        (3, TypeError, "num_actions_fn is 3; expected a ContextSampler or a function"),
    ],
)
def test_numbers_of_actions_that_are_no_integers_are_refused(function, error, message):
    with pytest.raises(error, match=message):
        make(num_actions=function)


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
        with pytest.raises(NotImplementedError, match=r"pass a RewardModel .* LinearReward"):
            unknown()


def test_a_nan_context_is_refused_by_name_and_row_and_nothing_changes():
    values = {"arm": 0.0}

    def items(rng, size):
        contexts = rng.random((*size, P))
        contexts[-1, -1] += values["arm"]
        return contexts

    env = make(items=BatchFunction(items, P))
    env.reset()
    before = pickle.dumps(env.get_state())
    values["arm"] = np.nan
    with pytest.raises(ValueError, match="arm_context_sampling_fn returned NaN for row 3, arm 4"):
        env.step([0] * B)
    assert pickle.dumps(env.get_state()) == before


def test_a_nan_reward_is_refused_by_name_and_row():
    env = make(reward=lambda vector: np.nan if vector[0] == 2 else 1.0, users=iter_of([0, 1, 2, 3]))
    env.reset()
    with pytest.raises(ValueError, match="reward_fn returned NaN for row 2"):
        env.step([0] * B)


def iter_of(users):
    numbers = iter([users[0], *users])
    return lambda: [next(numbers), 0]


@pytest.mark.parametrize("reward", [LinearReward(THETA), LogisticReward(THETA)])
@pytest.mark.parametrize("items", [Normal(P), Uniform(P, 0, 1), Catalog(np.eye(9)[:, :P])])
@pytest.mark.parametrize("horizon", [None, 3])
def test_set_state_replays_exactly(reward, items, horizon):
    env = make(reward=reward, items=items, num_actions=Integers(1, 1, K), horizon=horizon)
    env.reset()
    env.step([0] * B)
    state = env.get_state()
    first = [env.step([0] * B) for _ in range(5)]
    env.set_state(state)
    for time_step in first:
        assert_same(env.step([0] * B), time_step)


def test_one_seed_gives_one_run_and_another_another():
    runs = [[env.reset(), env.step([1] * B)] for env in (make(seed=s) for s in (7, 7, 8))]
    for time_step, same in zip(runs[0], runs[1]):
        assert_same(time_step, same)
    assert not np.array_equal(runs[0][0].observation["global"], runs[2][0].observation["global"])


def test_the_noise_does_not_change_the_contexts():
    envs = [make(reward=LinearReward(THETA, noise_std)) for noise_std in (0.0, 5.0)]
    steps = [(env.reset(), env.step([0] * B))[1].observation["per_arm"] for env in envs]
    np.testing.assert_array_equal(*steps)


def test_the_reward_spec_is_that_of_the_reward_model():
    assert make().reward_range == (-np.inf, np.inf)
    assert make(reward=LogisticReward(THETA)).reward_range == (0.0, 1.0)
    assert make(reward=sum).reward_spec().dtype == np.float32


def test_an_episode_ends_at_the_horizon():
    env = make(horizon=2)
    kinds = [env.step([0] * B).step_type[0] for _ in range(6)]
    assert kinds == [0, 1, 2, 0, 1, 2]


def test_no_observation_can_be_written_to():
    env = make(num_actions=Integers(1, 1, K))
    for time_step in (env.reset(), env.step([0] * B)):
        for array in time_step.observation.values():
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0
            with pytest.raises(ValueError, match="WRITEABLE"):
                array.setflags(write=True)


def test_it_can_be_copied_and_pickled():
    env = make()
    env.reset()
    copies = copy.deepcopy(env), pickle.loads(pickle.dumps(env))
    time_step = env.step([2] * B)
    for other in copies:
        assert_same(other.step([2] * B), time_step)


def test_rows_can_be_reset_alone():
    env = make(horizon=5)
    env.reset()
    before = env.step([0] * B)
    after = env.reset_rows([True, False, False, True])
    np.testing.assert_array_equal(after.is_first(), [True, False, False, True])
    for key in ("global", "per_arm"):
        changed = (before.observation[key] != after.observation[key]).reshape(B, -1).any(axis=1)
        np.testing.assert_array_equal(changed, [True, False, False, True])


@pytest.mark.parametrize("rows", [1, 3, B])
def test_expected_rewards_for_any_observation(rows):
    env = make(num_actions=Integers(1, 1, K + 1))
    other = make(num_actions=Integers(1, 1, K + 1), batch_size=rows, seed=9)
    observation = other.reset().observation
    np.testing.assert_allclose(env.expected_rewards_for(observation), other.expected_rewards())


@pytest.mark.parametrize(
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
    with pytest.raises(ValueError, match=r"reward_fn has a mean of shape \(4,\); expected \(4, 5"):
        env.expected_rewards()


def test_there_may_be_no_features():
    env = make(users=Normal(0), items=Normal(0), reward=LinearReward([], noise_std=0.0))
    assert env.reset().observation["per_arm"].shape == (B, K, 0)
    np.testing.assert_array_equal(env.step([0] * B).reward, np.zeros(B))
    np.testing.assert_array_equal(env.expected_rewards(), np.zeros((B, K)))


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"num_arms": 0}, ValueError, "max_num_actions is 0; expected at least 1"),
        ({"num_arms": 2.0}, TypeError, "max_num_actions is 2.0; expected an integer"),
        ({"batch_size": 0}, ValueError, "batch_size is 0"),
        ({"batch_size": None}, TypeError, "batch_size is None"),
        ({"users": [1.0]}, TypeError, "global_context_sampling_fn is"),
        ({"items": lambda: np.zeros((2, 3))}, ValueError, "arm_context_sampling_fn returned shape"),
        ({"items": Catalog(np.eye(4))}, ValueError, "4 items; expected at least 5"),
        ({"reward": LinearReward(THETA[:-1])}, ValueError, "theta has 4 entries; expected one"),
        ({"reward": THETA}, TypeError, "reward_fn is"),
        ({"users": lambda: [0.0, 1j]}, TypeError, "global_context_sampling_fn returned complex"),
    ],
)
def test_wrong_arguments_are_refused_by_name(keywords, error, message):
    with pytest.raises(error, match=message):
        make(**keywords)


def peak_of_a_step(env, action):
    env.reset()
    env.step(action)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    time_step = env.step(action)
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return peak / sum(array.nbytes for array in time_step.observation.values())


@pytest.mark.parametrize(
    "items",
    [
        Normal(50),
        Uniform(50, -1.0, 1.0),
        Integers(50, -2, 3),
        Catalog(np.ones((1000, 50), np.float32)),
        BatchFunction(lambda rng, size: rng.standard_normal((*size, 50), np.float32), 50),
    ],
    ids=lambda sampler: type(sampler).__name__,
)
def test_a_step_takes_at_most_twice_the_memory_of_its_observation(items):
    reward = LinearReward(np.ones(90))
    env = make(users=Normal(40), items=items, num_arms=70, reward=reward, batch_size=100)
    assert peak_of_a_step(env, np.zeros(100, np.int32)) < 2.0
