"""Policies whose rows share what they learn, as users write them."""

import numpy as np

from bandit_envs import Policy
from bandit_envs.policies import ContinuousPolicy
from bandit_envs.policies.beliefs import Beliefs


class SharedAverages(Policy):
    """ε-greedy on the mean reward of each action, over all rows."""

    learns_by_row = False

    def __init__(self, epsilon=0.1, **options):
        self._epsilon = epsilon
        super().__init__(**options)

    def _initial(self):
        return {"counts": np.zeros(self.num_actions), "sums": np.zeros(self.num_actions)}

    def _learn(self, learned, trajectory):
        np.add.at(learned["counts"], trajectory.action, 1.0)
        np.add.at(learned["sums"], trajectory.action, trajectory.reward)
        return learned

    def _means(self, learned):
        means = learned["sums"] / np.maximum(learned["counts"], 1.0)
        return np.tile(means, (self.batch_size, 1))

    def _describe(self, learned):
        return Beliefs(self._means(learned))

    def _probabilities(self, learned, time_step):
        values = self._means(learned)
        available = self._available(time_step.observation)
        if available is not None:
            values[~available] = -np.inf
        best = values == values.max(axis=1, keepdims=True)
        greedy = best / best.sum(axis=1, keepdims=True)
        return self._epsilon / self.num_actions + (1.0 - self._epsilon) * greedy


class SharedSampler(SharedAverages):
    """Draws a mean of each action, from normal distributions that all rows share."""

    def _select(self, rng, learned, time_step):
        noise = rng.normal(size=self._table_shape) / np.sqrt(learned["counts"] + 1.0)
        values = learned["sums"] / (learned["counts"] + 1.0) + noise
        available = self._available(time_step.observation)
        return np.argmax(values if available is None else np.where(available, values, -9e9), axis=1)


class Preferring(SharedAverages):
    """Begins with an action that its seed draws."""

    def __init__(self, **options):
        rng = np.random.default_rng(options.pop("seed"))
        self._first = rng.random()
        super().__init__(**options, seed=rng)

    def _initial(self):
        return {**super()._initial(), "first": self._first}


class SharedWeights(Policy):
    """ε-greedy on ridge regressions of the rewards of each action on a context, over all rows."""

    learns_by_row = False

    def __init__(self, num_actions, observation_spec, **options):
        self._dim = observation_spec.shape[0]
        super().__init__(num_actions, **options)

    @classmethod
    def arguments_for(cls, env):
        return {**super().arguments_for(env), "observation_spec": env.observation_spec()}

    def _initial(self):
        gram = np.tile(np.eye(self._dim), (self.num_actions, 1, 1))
        return {"gram": gram, "sums": np.zeros((self.num_actions, self._dim))}

    def _learn(self, learned, trajectory):
        for features, action, reward in zip(*trajectory[1:3], trajectory.reward):
            learned["gram"][action] += np.outer(features, features)
            learned["sums"][action] += features * reward
        return learned

    def _probabilities(self, learned, time_step):
        weights = np.linalg.solve(learned["gram"], learned["sums"][..., np.newaxis])[..., 0]
        best = np.argmax(time_step.observation @ weights.T, axis=1)
        return 0.05 / self.num_actions + 0.95 * np.eye(self.num_actions)[best]


class SharedNumber(ContinuousPolicy):
    """Chooses numbers near the mean of those that paid, in all rows."""

    learns_by_row = False

    def _initial(self):
        return np.array([0.5, 1.0])

    def _learn(self, learned, trajectory):
        paid = np.clip(trajectory.reward, 0.0, 1.0)
        return learned + np.array([np.sum(trajectory.action * paid), np.sum(paid)])

    def _select(self, rng, learned, time_step):
        low = learned[0] / learned[1] / 2.0
        return rng.uniform(low, low + 0.5, self.batch_size)

    def _probability_of(self, learned, time_step, action):
        low = learned[0] / learned[1] / 2.0
        return np.where((action >= low) & (action <= low + 0.5), 2.0, 0.0)


class Unsaid(SharedAverages):
    """Forgets to say that its rows share a model."""

    learns_by_row = True


class Decaying(SharedAverages):
    """Explores less and less, and learns what the rewards cost: with state of its own."""

    def __init__(self, **options):
        super().__init__(epsilon=1.0, **options)

    def _learn(self, learned, trajectory):
        self._epsilon *= 0.9
        return super()._learn(learned, trajectory)

    def learn(self, trajectory, rows=None):
        super().learn(trajectory._replace(reward=-trajectory.reward), rows)
