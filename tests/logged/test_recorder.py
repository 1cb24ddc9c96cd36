"""What is recorded of a run."""

import pytest

from bandit_envs import DelayedRewards, KArmedTestbed, RandomPolicy, StepDriver
from bandit_envs.logged import LogRecorder


def test_delayed_rewards_are_refused_as_they_belong_to_other_actions():
    for delay in (0, 1):
        env, recorder = DelayedRewards(KArmedTestbed(3), delay), LogRecorder(3)
        policy = RandomPolicy(num_actions=3)
        driver = StepDriver(env, policy, [recorder], 2, emit_log_probability=True)
        if delay:
            with pytest.raises(ValueError, match="delayed"):
                driver.run()
        else:
            driver.run()
            assert len(recorder.log()) == 2
