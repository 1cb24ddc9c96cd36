"""What is recorded of a run."""

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from bandit_envs import (
    DelayedRewards,
    EpsilonGreedyPolicy,
    KArmedTestbed,
    RandomPolicy,
    StepDriver,
)
from bandit_envs.logged import LogRecorder
from bandit_envs.policies.policy import PolicyStep
from bandit_envs.policies.row_by_row import RowByRowPolicy


class Guess(NamedTuple):
    log_probability: NDArray[np.float64]
    guess: NDArray[np.float64]
    nothing: tuple[()] = ()


class GuessingPolicy(RandomPolicy):
    """A policy that tells a number for each action beside its probabilities."""

    emits_info = True

    def policy_step(self, time_step):
        action, info = super().policy_step(time_step)
        table = action[:, np.newaxis] + np.arange(3.0)
        return PolicyStep(action, Guess(info.log_probability, table))


def test_what_a_policy_tells_beside_its_probabilities_is_in_the_log(tmp_path):
    env = KArmedTestbed(3, batch_size=2, seed=0)
    singles = [GuessingPolicy(num_actions=3) for _ in range(2)]
    for policy in [GuessingPolicy(num_actions=3, batch_size=2), RowByRowPolicy(singles)]:
        recorder = LogRecorder(3, folder=tmp_path / type(policy).__name__, chunk_rows=4)
        StepDriver(env, policy, [recorder], 4).run()
        log = recorder.log()
        assert log.info.keys() == {"guess"}
        assert np.array_equal(log.info["guess"], log.action[:, np.newaxis] + np.arange(3.0))
        assert (log.propensity == 1 / 3).all()


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
