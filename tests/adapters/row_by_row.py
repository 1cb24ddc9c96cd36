"""A check of a policy for each row, whose models are those of another library."""

import numpy as np

from bandit_envs import KArmedTestbed, RegretMetric, StepDriver
from bandit_envs.base.saving import load_state, save_state
from bandit_envs.policies import RowByRowPolicy
from bandit_envs.testing import assert_identical

ROWS = 3


def assert_rows_learn_alone_and_go_on_from_a_file(make_policy, folder, num_steps=12):
    """Requires rows of a testbed to learn different things, and a run to go on from a file.

    Args:
        make_policy: takes an environment of one row and a seed.
        folder: for the file.
        num_steps: steps before the file, and after it.
    """

    def make_driver(seed):
        env = KArmedTestbed(2, batch_size=ROWS, seed=0)
        alone = KArmedTestbed(2)
        policy = RowByRowPolicy([make_policy(alone, seed + row) for row in range(ROWS)], seed)
        regret = RegretMetric(env)
        return StepDriver(env, policy, [policy, regret], num_steps), policy, regret

    driver, policy, regret = make_driver(1)
    time_step = driver.run()
    save_state(folder / "run.npz", driver.get_state())
    assert len(np.unique(policy.probabilities(time_step), axis=0)) > 1
    driver.run()
    other, _, restored = make_driver(100)
    other.set_state(load_state(folder / "run.npz"))
    other.run()
    assert_identical(restored.totals, regret.totals)
