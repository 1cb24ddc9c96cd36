"""Environments of every kind, with which nothing is wrong."""

import numpy as np

from bandit_envs import ArraySpec, BanditPyEnvironment, BoundedArraySpec, PyEnvironment
from bandit_envs.trajectories import restart, termination, transition


class Corridor(PyEnvironment):
    """Nested actions and observations; an episode ends after four steps. Not a bandit."""

    def action_spec(self):
        return {
            "move": BoundedArraySpec((), np.int64, -1, 1, "move"),
            "push": (
                BoundedArraySpec((2,), np.float32, [0.0, -1.0], 1.0, "force"),
                BoundedArraySpec((), np.bool_, name="hard"),
            ),
        }

    def observation_spec(self):
        return {"position": ArraySpec((), np.float64), "seen": [BoundedArraySpec((3,), np.uint8)]}

    def _reset(self):
        position = self.np_random.normal(size=self.batch_size)
        return (position, 0), restart(self._observe(position), self.batch_size)

    def _step(self, action):
        position, steps = self._state.latent
        force, hard = action["push"]
        noise = self.np_random.normal(size=self.batch_size)
        position = position + action["move"] + force.sum(axis=1) * (1 + hard) + noise
        make = termination if steps >= 3 else transition
        return (position, steps + 1), make(self._observe(position), reward=-np.abs(position))

    def _observe(self, position):
        seen = self.np_random.integers(0, 256, (self.batch_size, 3), np.uint8)
        return {"position": position, "seen": [seen]}


GOOD = {  # an action of two rows
    "move": np.array([1, 0]),
    "push": (np.zeros((2, 2), np.float32), np.array([True, False])),
}


def corridor(auto_reset=False, **kwargs):
    return Corridor(auto_reset, **{"batch_size": 2, "seed": 0, **kwargs})


class Unbounded(PyEnvironment):
    """Specs without bounds, a vector as action, a reward of its own."""

    def action_spec(self):
        return ArraySpec((2,), np.float64, "action")

    def observation_spec(self):
        return (ArraySpec((), np.complex128), ArraySpec((2, 1), np.float16))

    def reward_spec(self):
        return BoundedArraySpec((), np.float64, 1.0, name="reward")

    def _reset(self):
        return None, restart(self._observe(), self.batch_size)._replace(
            reward=np.ones(self.batch_size)
        )

    def _step(self, action):
        reward = 1 + np.abs(action).sum(axis=1)
        return None, transition(self._observe(), reward, 0.9, np.float64)

    def _observe(self):
        numbers = self.np_random.normal(size=(self.batch_size, 2, 1))
        return numbers[:, 0, 0] + 1j, numbers.astype(np.float16)


class Preferences(BanditPyEnvironment):
    """A contextual bandit: the context is what the actions pay on average."""

    def __init__(self, num_actions=4, *, batch_size=3, seed=None, horizon=None):
        spec = ArraySpec((num_actions,), np.float32)
        super().__init__(spec, num_actions, batch_size=batch_size, seed=seed, horizon=horizon)

    def _initial_state(self, rng):
        return rng.standard_normal((self.batch_size, self.num_actions), np.float32)

    def _observe(self, state):
        return state

    def _expected_rewards(self, state):
        return state

    def _draw_rewards(self, rng, state, action):
        noise = rng.standard_normal(self.batch_size, np.float32)
        return state[np.arange(self.batch_size), action] + noise

    def _next_state(self, rng, state, action):
        return self._initial_state(rng)


class FewerActions(BanditPyEnvironment):
    """Not all actions are available to all rows, and nobody knows what they pay."""

    def __init__(self, *, batch_size=3, seed=None):
        spec = {"num_actions": BoundedArraySpec((), np.int32, 1, 6)}
        super().__init__(spec, 6, ArraySpec((), np.float64), batch_size=batch_size, seed=seed)

    def _initial_state(self, rng):
        return rng.integers(1, 7, self.batch_size, np.int32)

    def _observe(self, state):
        return {"num_actions": state}

    def _draw_rewards(self, rng, state, action):
        return rng.standard_normal(self.batch_size) + action

    def _next_state(self, rng, state, action):
        return self._initial_state(rng)

    def _available(self, state):
        return np.arange(6) < state[:, np.newaxis]


class RareRewards(BanditPyEnvironment):
    """One reward in a thousand is not 0, and it is large."""

    def __init__(self, *, batch_size=2, seed=None):
        super().__init__(ArraySpec((1,), np.int8), 5, batch_size=batch_size, seed=seed)

    def _initial_state(self, rng):
        return np.full((self.batch_size, 5), 0.1)

    def _observe(self, state):
        return np.zeros((self.batch_size, 1), np.int8)

    def _expected_rewards(self, state):
        return state

    def _draw_rewards(self, rng, state, action):
        return np.where(rng.random(self.batch_size) < 0.001, 100.0, 0.0)


class Table(BanditPyEnvironment):
    """Pays exactly what its table says. The state counts the steps; the observation shows it."""

    def __init__(self, rewards, dtype=np.float32, *, batch_size=None, seed=0, horizon=None):
        self._rewards = np.asarray(rewards)
        super().__init__(
            BoundedArraySpec((), np.int64, 0, 1000),
            self._rewards.shape[-1],
            ArraySpec((), dtype),
            batch_size=len(self._rewards) if batch_size is None else batch_size,
            seed=seed,
            horizon=horizon,
            name="table",
        )

    def _initial_state(self, rng):
        return np.zeros(self.batch_size, np.int64)

    def _observe(self, state):
        return state

    def _expected_rewards(self, state):
        return self._rewards

    def _draw_rewards(self, rng, state, action):
        rng.random()
        return self._rewards[np.arange(len(self._rewards)), action]

    def _next_state(self, rng, state, action):
        return state + 1
