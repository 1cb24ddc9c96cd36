import numpy as np
import pytest

pytest.importorskip("tf_agents")

import gin
from tf_agents.bandits.environments import stationary_stochastic_per_arm_py_environment as upstream
from tf_agents.environments import utils

from bandit_envs.adapters.tf_agents import StationaryStochasticPerArmPyEnvironment
from bandit_envs.rewards import LinearReward
from bandit_envs.sampling import Integers, Normal

B, K = 3, 6
THETA = np.arange(5.0)


class NoisyLinear:
    """A reward function of the kind that TF-Agents' examples use."""

    def __call__(self, vector):
        return np.random.normal(vector @ THETA, 1.0)


def integers():
    return np.random.randint(-10, 10, [2])


def integer_items():
    return np.random.randint(-2, 3, [3])


def floats():
    return np.random.normal(size=3)


def narrow_integers():
    return np.random.randint(-2, 3, [3]).astype(np.float32)


def narrow_floats():
    return np.random.normal(size=2).astype(np.float32)


def number():
    return np.random.randint(0, 9)


def make(**keywords):
    keywords = {"batch_size": B, "seed": 0, **keywords}
    reward = LinearReward(THETA, noise_std=0.0)
    return StationaryStochasticPerArmPyEnvironment(Normal(2), Normal(3), K, reward, **keywords)


@pytest.fixture
def clean_gin():
    yield gin
    gin.clear_config()


def run(environment_class, users, items, number_fn, steps=20):
    """Every time step of a run with random actions, all from one seed of global NumPy."""
    np.random.seed(0)
    env = environment_class(users, items, K, NoisyLinear(), number_fn, batch_size=B)
    time_steps = [env.reset()]
    for step in range(steps):
        time_steps.append(env.reset() if step == 7 else env.step(np.random.randint(0, K, B)))
    return time_steps


@pytest.mark.parametrize("number_fn", [None, number])
@pytest.mark.parametrize(
    ("users", "items"),
    [(integers, floats), (narrow_floats, narrow_integers), (integers, integer_items)],
)
def test_a_script_sees_the_numbers_of_tf_agents_bit_for_bit(users, items, number_fn):
    ours, theirs = (
        run(environment_class, users, items, number_fn)
        for environment_class in (
            StationaryStochasticPerArmPyEnvironment,
            upstream.StationaryStochasticPerArmPyEnvironment,
        )
    )
    for our, their in zip(ours, theirs):
        for field in ("step_type", "reward", "discount"):
            our_array, their_array = getattr(our, field), getattr(their, field)
            np.testing.assert_array_equal(our_array, their_array)
            assert our_array.dtype == their_array.dtype
        assert our.observation.keys() == their.observation.keys()
        for key, array in their.observation.items():
            np.testing.assert_array_equal(our.observation[key], array, strict=True)


@pytest.mark.parametrize("returned", [3, np.int32(3), np.int64(3)])
def test_the_number_of_actions_has_the_dtype_of_tf_agents_so_that_saved_policies_act(returned):
    specs = [
        environment_class(floats, floats, K, sum, lambda: returned, batch_size=B).observation_spec()
        for environment_class in (
            StationaryStochasticPerArmPyEnvironment,
            upstream.StationaryStochasticPerArmPyEnvironment,
        )
    ]
    assert specs[0] == specs[1]


@pytest.mark.parametrize("num_actions_fn", [None, Integers(1, 1, K + 1), number])
def test_tf_agents_validates_it(num_actions_fn):
    utils.validate_py_environment(make(num_actions_fn=num_actions_fn), episodes=20)


def test_an_arm_beyond_num_actions_is_rewarded_as_tf_agents_does():
    env = make(num_actions_fn=lambda: 1)
    observation = env.reset().observation
    vector = np.concatenate([observation["global"], observation["per_arm"][:, K - 1]], axis=1)
    reward = env.step(np.full(B, K - 1)).reward
    np.testing.assert_allclose(reward, vector @ THETA, rtol=1e-5)


def test_a_subclass_may_override_the_hooks_of_tf_agents():
    def subclass_of(base):
        class Halved(base):
            def _observe(self):
                observation = super()._observe()
                return {**observation, "per_arm": observation["per_arm"] / 2}

            def _apply_action(self, action):
                return super()._apply_action(action) / 2

        return Halved

    for our, their in zip(
        run(subclass_of(StationaryStochasticPerArmPyEnvironment), integers, floats, None),
        run(subclass_of(upstream.StationaryStochasticPerArmPyEnvironment), integers, floats, None),
    ):
        np.testing.assert_array_equal(our.reward, their.reward, strict=True)
        for key, array in their.observation.items():
            np.testing.assert_array_equal(our.observation[key], array)


def test_its_name_is_what_it_was_given():
    assert [make(name=name).name for name in ("mine", None)] == ["mine", None]


def test_gin_can_give_it_functions(clean_gin):
    clean_gin.external_configurable(integers, "integers")
    clean_gin.external_configurable(floats, "floats")
    clean_gin.external_configurable(NoisyLinear, "NoisyLinear")
    clean_gin.parse_config(
        """
        StationaryStochasticPerArmPyEnvironment.global_context_sampling_fn = @integers
        StationaryStochasticPerArmPyEnvironment.arm_context_sampling_fn = @floats
        StationaryStochasticPerArmPyEnvironment.reward_fn = @NoisyLinear()
        """
    )
    env = StationaryStochasticPerArmPyEnvironment(max_num_actions=K)
    env.reset()
    assert env.step(np.array([0])).reward.shape == (1,)


def test_gin_still_finds_tf_agents_own_by_its_whole_name(clean_gin):
    name = f"{upstream.__name__}.StationaryStochasticPerArmPyEnvironment"
    clean_gin.parse_config(f"{name}.batch_size = 5")
    make_theirs = upstream.StationaryStochasticPerArmPyEnvironment
    assert make_theirs(integers, floats, K, sum).batch_size == 5
    assert StationaryStochasticPerArmPyEnvironment(integers, floats, K, sum).batch_size == 1
