"""Logs of tables of outcomes: estimates are held to what the table knows."""

import numpy as np
import pytest

from bandit_envs import OutcomeTableBandit, Policy, StepDriver
from bandit_envs.logged import DoublyRobust, LogRecorder, RewardRegression

K, ROWS, STEPS = 5, 1000, 3
EXPLORATION = 0.05

DRAWS = np.random.default_rng(0)
CONTEXTS = DRAWS.standard_normal((3000, 4)).astype(np.float32)
WEIGHTS = DRAWS.standard_normal((4, K))
LOGITS = CONTEXTS @ WEIGHTS + 0.3 * np.arange(K) - 0.5
SCORES = (DRAWS.random(LOGITS.shape) < 1.0 / (1.0 + np.exp(-LOGITS))).astype(float)


def best_of(scores):
    """Returns the probabilities of always choosing the largest score: [n, K]."""
    return np.eye(K)[scores.argmax(axis=1)]


class Deployed(Policy):
    """Chooses what it thinks best; any action with a probability of 5% in all."""

    def _probabilities(self, learned, time_step):
        best = best_of(time_step.observation @ (WEIGHTS + 0.3))
        return (1.0 - EXPLORATION) * best + EXPLORATION / K


def draw_logs():
    """Yields logs of the policy, each with the rewards that a regression predicts."""
    env = OutcomeTableBandit(CONTEXTS, SCORES, batch_size=ROWS, seed=1)
    policy = Deployed(num_actions=K, batch_size=ROWS, seed=2)
    for _ in range(500):
        recorder = LogRecorder(K, env)
        StepDriver(env, policy, [recorder], STEPS, emit_log_probability=True).run()
        log = recorder.log()
        yield log, RewardRegression().predict(log)


CANDIDATES = {
    "a better router": lambda contexts: best_of(contexts @ WEIGHTS),
    "the first model alone": lambda contexts: np.eye(K)[np.zeros(len(contexts), int)],
    "any model": lambda contexts: np.full((len(contexts), K), 1.0 / K),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")  # of few effective rows
def test_intervals_of_logs_with_5_percent_exploration_cover_the_truth():
    truth = {
        name: (choose(CONTEXTS) * SCORES).sum(axis=1).mean() for name, choose in CANDIDATES.items()
    }
    covered = {name: [] for name in CANDIDATES}
    for log, predicted in draw_logs():
        for name, choose in CANDIDATES.items():
            estimate = DoublyRobust().estimate(log, choose(log.observation), predicted)
            low, high = estimate.normal_interval(0.95)
            covered[name].append(low <= truth[name] <= high)
    for name, found in covered.items():
        assert 0.93 <= np.mean(found) <= 0.97, name
