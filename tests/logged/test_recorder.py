"""What is recorded of a run."""

import numpy as np
import pytest

from bandit_envs import (
    DelayedRewards,
    EpsilonGreedyPolicy,
    KArmedTestbed,
    RandomPolicy,
    StepDriver,
)
from bandit_envs.logged import LogRecorder


@pytest.mark.parametrize("to_files", [False, True])
def test_a_run_is_recorded(to_files, tmp_path):
    env = KArmedTestbed(3, batch_size=4, seed=0, drift_std=0.1)
    policy = EpsilonGreedyPolicy(0.3, num_actions=3, batch_size=4, seed=1)
    folder = tmp_path / "log" if to_files else None
    recorder = LogRecorder(3, env, folder, chunk_rows=50)
    env.reset()
    means = [env.expected_rewards()]
    taken = []

    def note(trajectory):
        taken.append(trajectory)
        means.append(env.expected_rewards())

    StepDriver(env, policy, [policy, recorder, note], 30, emit_log_probability=True).run()
    log = recorder.log()
    assert np.array_equal(log.expected_rewards, np.concatenate(means[:-1]))
    assert np.array_equal(log.action, np.concatenate([each.action for each in taken]))
    assert np.array_equal(log.reward, np.concatenate([each.reward for each in taken]))
    assert set(log.propensity.round(6)) <= {0.1, 0.8, 0.4, 0.333333, 0.45}
    assert log.step.tolist() == np.arange(30).repeat(4).tolist()
    assert log.row.tolist() == list(range(4)) * 30
    if to_files:
        assert len(list(folder.iterdir())) > 1
        with pytest.raises(
            ValueError, match=r"has part-00000\.npz; expected a folder without files"
        ):
            LogRecorder(3, folder=folder)


def test_embeddings_of_actions_are_recorded(tmp_path):
    kinds = np.array([[0, 1], [1, 1], [2, 0]])
    for folder in (None, tmp_path / "log"):
        env = KArmedTestbed(3, batch_size=4, seed=0)
        recorder = LogRecorder(3, folder=folder, chunk_rows=50, embed=lambda t: kinds[t.action])
        policy = RandomPolicy(num_actions=3, batch_size=4, seed=1)
        StepDriver(env, policy, [recorder], 30, emit_log_probability=True).run()
        log = recorder.log()
        assert np.array_equal(log.embedding, kinds[log.action])


def test_a_long_run_of_one_row_is_recorded_whole():
    env = KArmedTestbed(3, batch_size=1, seed=0)
    policy = RandomPolicy(3, 1, seed=1)
    recorder = LogRecorder(3)
    taken = []
    StepDriver(env, policy, [recorder, taken.append], 2500, emit_log_probability=True).run()
    log = recorder.log()
    assert np.array_equal(log.reward, np.concatenate([each.reward for each in taken]))
    assert np.array_equal(log.step, np.arange(2500))
    assert recorder.log() == log


def test_a_delay_of_zero_is_recorded():
    env = DelayedRewards(KArmedTestbed(3), 0)
    recorder = LogRecorder(3)
    StepDriver(env, RandomPolicy(3), [recorder], 2, emit_log_probability=True).run()
    assert len(recorder.log()) == 2
