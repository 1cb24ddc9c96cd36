"""No environment leads a driver of TF-Agents to run without end."""

import numpy as np
import pytest

pytest.importorskip("tf_agents")

from tf_agents.bandits.environments import bandit_py_environment
from tf_agents.drivers import dynamic_step_driver
from tf_agents.environments import tf_py_environment, wrappers
from tf_agents.policies import random_tf_policy

from bandit_envs import KArmedTestbed, PyEnvironment
from bandit_envs.adapters.tf_agents import as_tf_agents
from tests.adapters.tf_agents_examples import B, k_armed, per_arm, twice_wrapped


def test_an_unbatched_environment_is_refused():
    class Unbatched(KArmedTestbed):
        batched = False

    with pytest.raises(ValueError, match="k_armed_testbed is not batched"):
        as_tf_agents(Unbatched())


def test_an_environment_that_is_no_bandit_is_reset_after_its_episodes():
    class Episode(PyEnvironment):
        def action_spec(self):
            return k_armed().action_spec()

        def observation_spec(self):
            return k_armed().observation_spec()

        def _reset(self):
            return None, k_armed().reset()

        def _step(self, action):
            env = k_armed()
            env.reset()
            return None, env.step([0, 0])

    adapted = as_tf_agents(Episode(batch_size=B))
    assert not isinstance(adapted, bandit_py_environment.BanditPyEnvironment)
    action = np.zeros(B, np.int32)
    assert [int(adapted.step(action).step_type[0]) for _ in range(4)] == [0, 2, 0, 2]


def iterations(adapted, num_steps):
    """How many iterations a driver takes for `num_steps`; without end, it would take 50."""
    environment = tf_py_environment.TFPyEnvironment(adapted)
    seen = []
    driver = dynamic_step_driver.DynamicStepDriver(
        environment,
        random_tf_policy.RandomTFPolicy(environment.time_step_spec(), environment.action_spec()),
        observers=[seen.append],
        num_steps=num_steps,
    )
    driver.run(maximum_iterations=50)
    return len(seen)


@pytest.mark.parametrize("make", [k_armed, lambda: per_arm(reward=sum)])
def test_a_driver_ends_whatever_wrappers_of_ours_there_are(make):
    assert iterations(as_tf_agents(twice_wrapped(make())), num_steps=6) == 3


def test_a_driver_ends_with_one_row():
    assert iterations(as_tf_agents(k_armed(batch_size=1)), num_steps=6) == 6


def test_a_driver_ends_with_a_wrapper_of_tf_agents():
    wrapped = wrappers.PyEnvironmentBaseWrapper(as_tf_agents(k_armed()))
    assert iterations(wrapped, num_steps=6) == 3


def test_a_driver_ends_with_two_wrappers_of_tf_agents_if_there_is_a_horizon():
    wrapped = as_tf_agents(twice_wrapped(k_armed(horizon=2)))
    for _ in range(2):
        wrapped = wrappers.PyEnvironmentBaseWrapper(wrapped)
    assert iterations(wrapped, num_steps=8) == 5  # the reset between two episodes does not count
