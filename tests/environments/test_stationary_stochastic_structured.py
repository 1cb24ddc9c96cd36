"""The bandit whose features are nests."""

import numpy as np
import pytest

from bandit_envs import StationaryStochasticStructuredPyEnvironment
from bandit_envs.base.saving import load_state, save_state
from bandit_envs.environments.registry import find_environment
from bandit_envs.rewards import FlatReward, LinearReward, RewardModel
from bandit_envs.sampling import Catalog, Integers, Normal, Uniform
from bandit_envs.testing import assert_identical
from tests.cases import for_each

B, K = 3, 4
USERS = {"taste": Normal(2), "visits": {"today": Integers(1, 0, 5)}}
ITEMS = [Normal(2), Uniform(1, 0.0, 1.0)]
THETA = np.array([1.0, -1.0, 0.5, 2.0, 1.0, -2.0])
NAMES = np.array(["a", "b", "c"])


class Pairs(RewardModel):
    """The product of nested features: a model that knows the nests."""

    def mean(self, global_features, arm_features):
        visits = global_features["visits"]["today"]
        return arm_features[1][..., 0] * visits.astype(np.float32)

    def draw(self, rng, global_features, arm_features):
        visits = global_features["visits"]["today"][:, 0]
        return arm_features[1][..., 0] * visits.astype(np.float32)


# What functions of TF-Agents' kind draw cannot be replayed, so these draw nothing.


def user():
    return {"matrix": np.arange(6).reshape(2, 3), "name": NAMES[:1], "age": 30}


def item():
    return {"row": np.array([1.0, 2.0]), "table": (np.ones((3, 1)), NAMES[[1]]), "price": 0.5}


def reward(user, item):
    return user["matrix"][1, 1] + item["row"][1] * item["price"]


def test_the_observation_is_a_nest_of_batches_of_the_dtypes_that_functions_return():
    env = StationaryStochasticStructuredPyEnvironment(user, item, K, reward, B)
    observation = env.reset().observation
    assert observation["global"]["matrix"].tolist() == [[[0, 1, 2], [3, 4, 5]]] * B
    assert observation["global"]["name"].dtype == "<U1"
    assert observation["global"]["age"].tolist() == [30] * B
    table, name = observation["per_arm"]["table"]
    assert (table.shape, name.tolist()) == ((B, K, 3, 1), [[["b"]] * K] * B)
    assert env.step([0, 1, 2]).reward.tolist() == [5.0] * B
    with pytest.raises(NotImplementedError):
        env.optimal_action()


class Recorder:
    def __init__(self):
        self.calls, self.count = [], 0

    def context(self, name):
        def draw():
            self.count += 1
            self.calls.append(name)
            return {"number": np.array([self.count])}

        return draw

    def reward(self, user, item):
        self.calls.append((user["number"].item(), item["number"].item()))
        user["number"][:] = item["number"][:] = -1  # it may change what it gets
        return 0.0


def test_functions_are_called_in_the_order_in_which_tf_agents_calls_them():
    note = Recorder()
    env = StationaryStochasticStructuredPyEnvironment(
        note.context("user"), note.context("item"), 2, note.reward, 2
    )
    assert note.calls == ["user", "item"]
    env.reset()
    assert note.calls[2:] == ["user"] * 2 + ["item"] * 4
    note.calls.clear()
    env.step([1, 0])
    assert note.calls == [(3, 6), (4, 7)] + ["user"] * 2 + ["item"] * 4


def test_samplers_are_drawn_in_the_order_of_the_nest_and_rewards_are_of_the_chosen_items():
    model = FlatReward(LinearReward(THETA, 0.0))
    env = StationaryStochasticStructuredPyEnvironment(USERS, ITEMS, K, model, B, seed=3)
    rng = np.random.default_rng(3)
    users = [rng.standard_normal((B, 2), np.float32), USERS["visits"]["today"].sample(rng, (B,))]
    items = [sampler.sample(rng, (B, K)) for sampler in ITEMS]
    observation = env.reset().observation
    assert_identical(observation["global"], {"taste": users[0], "visits": {"today": users[1]}})
    assert_identical(observation["per_arm"], items)
    context = np.concatenate(users, axis=1)[:, np.newaxis].repeat(K, axis=1)
    means = np.concatenate((context, *items), axis=2) @ THETA
    np.testing.assert_allclose(env.expected_rewards(), means, rtol=1e-5)
    np.testing.assert_array_equal(env.expected_rewards_for(observation), env.expected_rewards())
    np.testing.assert_allclose(env.step([3, 0, 2]).reward, means[range(B), [3, 0, 2]], rtol=1e-5)


def test_items_may_come_from_a_catalog_and_be_one_array():
    items = Catalog(np.arange(5.0)[:, np.newaxis])
    env = StationaryStochasticStructuredPyEnvironment(
        Normal(1), items, 5, FlatReward(LinearReward([0.0, 1.0])), B, seed=0
    )
    assert np.sort(env.reset().observation["per_arm"][..., 0]).tolist() == [[0, 1, 2, 3, 4]] * B
    assert env.optimal_reward().tolist() == [4.0] * B


def test_a_saved_state_holds_strings(tmp_path):
    env = StationaryStochasticStructuredPyEnvironment(user, item, K, reward, B)
    env.reset()
    save_state(tmp_path / "state.npz", env.get_state())
    other = StationaryStochasticStructuredPyEnvironment(user, item, K, reward, B)
    other.set_state(load_state(tmp_path / "state.npz"))
    assert_identical(other.current_time_step(), env.current_time_step())


@for_each(
    ("contexts", "message"),
    [
        ([{"a": np.zeros(2)}, {"a": np.zeros(3)}], "global_context_sampling_fn"),
        ([{"a": np.zeros(2)}, {"b": np.zeros(2)}], "keys"),
        ([{"a": np.zeros(2)}, {"a": np.full(2, np.nan)}], "NaN"),
        ([{"a": np.array(["x"])}, {"a": np.array(["xyz"])}], "global_context_sampling_fn"),
    ],
)
def test_another_nest_than_at_first_is_refused(contexts, message):
    returned = iter(contexts)
    env = StationaryStochasticStructuredPyEnvironment(lambda: next(returned), item, K, reward)
    with pytest.raises((TypeError, ValueError), match=message):
        env.reset()


def test_a_bad_reward_is_refused_by_its_row():
    returned = iter([1.0, np.nan])
    env = StationaryStochasticStructuredPyEnvironment(
        user, item, K, lambda user, item: next(returned), 2
    )
    env.reset()
    with pytest.raises(ValueError, match="reward_fn returned NaN for row 1"):
        env.step([0, 0])


def test_the_preset_has_rewards_of_mean_0_and_a_best_item():
    env = find_environment("structured").make(batch_size=5000, num_actions=3, seed=0)
    env.reset()
    means = env.expected_rewards()
    assert means.shape == (5000, 3)
    assert 0.5 < means.std() < 1.5
