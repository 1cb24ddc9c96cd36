"""Runs of every agent of TF-Agents, and a program that goes on with those of one agent."""

import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
from tf_agents.bandits.replay_buffers import bandit_replay_buffer
from tf_agents.drivers import dynamic_step_driver
from tf_agents.environments import tf_py_environment
from tf_agents.utils import common

from bandit_envs import StepDriver, load_state, save_state
from bandit_envs.adapters.tf_agents import (
    TrackableDraws,
    TrackableEnvironment,
    as_policy,
    as_tf_agents,
    tensor_specs,
)
from tests.adapters.every_agent import EVERY_AGENT

B = 5
STEPS = 3
"""How many steps are taken before a run is saved, and after it."""


class PolicyRun:
    """An agent as a policy, in a driver of this package.

    Args:
        make: makes the agent, with other weights for each seed.
        seed: of the weights and the policy.
    """

    def __init__(self, make, seed):
        self._actions = []
        env = EVERY_AGENT[make](B, 0)
        tf.random.set_seed(seed)
        self.policy = as_policy(make(tensor_specs(env)), B, seed)
        self._driver = StepDriver(env, self.policy, [self.policy, self._note], STEPS)

    def _note(self, step):
        self._actions.append(step.action)

    def go_on(self):
        """Takes steps; returns the actions [STEPS, B] and all that is known after them."""
        self._actions.clear()
        self._driver.run()
        return [np.array(self._actions), *self.policy.get_state().content.learned]

    def save(self, folder):
        save_state(folder / "run.npz", self._driver.get_state())

    def restore(self, folder):
        self._driver.set_state(load_state(folder / "run.npz"))


def with_shown_items(step):
    """Returns a step, or its spec, as a `RankingAgent` trains on it."""
    items = step.observation["per_arm"]
    if isinstance(items, tf.TensorSpec):
        shown = tf.TensorSpec([*step.action.shape, *items.shape[1:]], items.dtype)
    else:
        shown = tf.gather(items, step.action, batch_dims=1)
    observation = {**step.observation, "per_arm": shown}
    return step._replace(observation=observation, action=(), policy_info=())


class LoopRun:
    """A loop of TF-Agents that drives and trains, compiled, whose draws are in its checkpoint.

    Args:
        make: makes the agent, with other weights for each seed.
        seed: of the weights and the draws.
    """

    def __init__(self, make, seed):
        self._actions = []
        tf.random.set_seed(seed)
        environment = tf_py_environment.TFPyEnvironment(as_tf_agents(EVERY_AGENT[make](B, 0)))
        self._environment = environment
        self._agent = make((environment.time_step_spec(), environment.action_spec()))
        spec = self._agent.collect_policy.trajectory_spec
        self._is_ranking = spec.action.shape.rank > 0
        self._buffer = bandit_replay_buffer.BanditReplayBuffer(
            with_shown_items(spec) if self._is_ranking else spec, batch_size=B, max_length=1
        )
        self._driver = dynamic_step_driver.DynamicStepDriver(
            environment, self._agent.collect_policy, [self._note], num_steps=B
        )
        draws = TrackableDraws(seed)
        self._drive = draws.compile(common.function(self._driver.run))
        self._train = draws.compile(common.function(self._agent.train))
        self._checkpoint = tf.train.Checkpoint(
            agent=self._agent, environment=TrackableEnvironment(environment), draws=draws
        )

    def _note(self, step):
        noted = tf.numpy_function(self._actions.append, [step.action], [])
        kept = with_shown_items(step) if self._is_ranking else step
        return tf.group(noted, self._buffer.add_batch(kept))

    def go_on(self):
        """Takes steps; returns the actions [STEPS, B] and the agent's variables after them."""
        self._actions.clear()
        for _ in range(STEPS):
            # Read here: TensorFlow may read it while it steps, if a choice needs no observation.
            self._drive(self._environment.current_time_step())
            self._train(self._buffer.gather_all())
            self._buffer.clear()
        values = [np.asarray(variable.numpy()) for variable in self._agent.variables]
        return [np.array(self._actions), *values]

    def save(self, folder):
        self._checkpoint.write(str(folder / "run"))

    def restore(self, folder):
        self._checkpoint.read(str(folder / "run"))


KINDS = {"policy": PolicyRun, "loop": LoopRun}
"""The kinds of runs, by the names of their folders."""


if __name__ == "__main__":
    root, name = sys.argv[1:]
    (make,) = (make for make in EVERY_AGENT if make.__name__ == name)
    for kind, run in KINDS.items():
        folder = Path(root) / kind
        restored = run(make, seed=2)
        restored.restore(folder)
        np.savez(folder / "found.npz", *restored.go_on())
