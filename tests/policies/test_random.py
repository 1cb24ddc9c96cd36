import numpy as np

from bandit_envs import RandomPolicy
from bandit_envs.trajectories import restart


def test_every_action_is_as_likely(time_step, chi_square):
    actions = RandomPolicy(num_actions=8, batch_size=40_000, seed=0).action(time_step(40_000))
    # Seven degrees of freedom: 6 standard deviations above the mean.
    assert chi_square(np.bincount(actions, minlength=8), np.full(8, 1 / 8)) < 7 + 6 * np.sqrt(14)


def test_a_dict_without_number_of_actions_has_all_of_them():
    time_step = restart({"per_arm": np.zeros((100, 3, 1))}, batch_size=100)
    assert set(RandomPolicy(num_actions=3, batch_size=100, seed=0).action(time_step)) == {0, 1, 2}
