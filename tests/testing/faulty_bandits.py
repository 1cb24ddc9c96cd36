"""Bandits that say something wrong of their rewards."""

import numpy as np

from bandit_envs import KArmedTestbed


class PaysTooMuch(KArmedTestbed):
    """Rewards are a quarter of a standard deviation above what is said."""

    def _draw_rewards(self, rng, state, action):
        return super()._draw_rewards(rng, state, action) + 0.25


class PaysOneActionTooMuch(KArmedTestbed):
    def _draw_rewards(self, rng, state, action):
        return super()._draw_rewards(rng, state, action) + np.where(action == 1, 0.5, 0.0)


class PaysTheNeighbour(KArmedTestbed):
    """Every row gets the reward that another one earned; on average, nothing is missing."""

    def _draw_rewards(self, rng, state, action):
        return np.roll(super()._draw_rewards(rng, state, action), 1)


class PaysOneRowAtTheCostOfAnother(KArmedTestbed):
    def _draw_rewards(self, rng, state, action):
        return super()._draw_rewards(rng, state, action) + np.array([0.75, -0.75, 0.0])


class TooFewMeans(KArmedTestbed):
    def expected_rewards(self):
        return super().expected_rewards()[:, :-1]


class ChoosesTheWorst(KArmedTestbed):
    def optimal_action(self):
        return super().expected_rewards().argmin(axis=1).astype(np.int32)


class PromisesTooMuch(KArmedTestbed):
    def optimal_reward(self):
        return super().optimal_reward() + np.float32(1)


class DescribesTheNextStep(KArmedTestbed):
    """Its info is of the state that the last step led to."""

    def __init__(self, **kwargs):
        super().__init__(drift_std=1.0, **kwargs)

    def get_info(self):
        info = super().get_info()
        if info is not None:
            info["optimal_reward"] = self.optimal_reward()
        return info


class DescribesTheStepBeforeAReset(KArmedTestbed):
    def get_info(self):
        return super().get_info() or {"expected_reward": np.zeros(self.batch_size)}


FAULTS = [
    (PaysTooMuch, "test_the_mean_of_many_rewards_is_the_expected_reward"),
    (PaysOneActionTooMuch, "test_the_mean_of_many_rewards_is_the_expected_reward"),
    (PaysTheNeighbour, "test_the_mean_of_many_rewards_is_the_expected_reward"),
    (PaysOneRowAtTheCostOfAnother, "test_the_mean_of_many_rewards_is_the_expected_reward"),
    (TooFewMeans, "test_optimal_actions_have_the_largest_expected_reward"),
    (ChoosesTheWorst, "test_optimal_actions_have_the_largest_expected_reward"),
    (PromisesTooMuch, "test_optimal_actions_have_the_largest_expected_reward"),
    (DescribesTheNextStep, "test_info_describes_the_last_step"),
    (DescribesTheStepBeforeAReset, "test_info_describes_the_last_step"),
]
