"""Adding a number to all rewards, or scaling them, changes estimates by rounding alone."""

import dataclasses
import functools
import warnings

import numpy as np
import pytest

from bandit_envs import RandomPolicy, RandomSlatePolicy
from bandit_envs.evaluations import evaluate
from bandit_envs.logged import BanditLog, SlateProbabilities, evaluate_by_replay
from bandit_envs.logged.registry import ESTIMATORS
from bandit_envs.logged.slate_log import SlateLog
from bandit_envs.metrics import Statistics
from bandit_envs.trajectories import restart

SHIFT_BY_WEIGHTS = {"ips", "sg_ips", "slate_ips", "slot_ips", "prefix_ips", "kernel_ips"}
"""Estimators without self-normalisation: a shift c adds c times the mean weight."""

SIZE = 300


def single_actions(rng):
    context = rng.normal(size=(SIZE, 2))
    table = rng.dirichlet(np.full(3, 4.0), SIZE)
    action = (rng.random((SIZE, 1)) > table.cumsum(axis=1)).sum(axis=1)
    logged = table[np.arange(SIZE), action]
    reward = context[:, 0] * action + rng.normal(size=SIZE)
    log = BanditLog(context, action, reward, logged, 3, action_probabilities=table)
    return log, ["random", "constant:number=1"]


def uniform_actions(rng):
    log = single_actions(rng)[0]
    action = rng.integers(0, 3, SIZE)
    return BanditLog(log.observation, action, log.reward, np.full(SIZE, 1 / 3), 3), [
        "constant:number=1"
    ]


def numbers(rng):
    action = rng.normal(size=SIZE)
    density = np.exp(-(action**2) / 2.0) / np.sqrt(2.0 * np.pi)
    reward = action + rng.normal(size=SIZE)
    log = BanditLog(np.ones((SIZE, 1)), action, reward, density, 0)
    return log, ["gaussian:std=0.8,coefficients=[0.3]"]


def slates(rng):
    items = np.argsort(rng.random((SIZE, 4)), axis=1)[:, :2]
    policy = RandomSlatePolicy(2, num_actions=4, batch_size=SIZE)
    given = policy.info_of(restart(np.ones((SIZE, 1)), SIZE), items)
    reward = items + rng.normal(size=(SIZE, 2))
    kept = SlateProbabilities(*given)
    return SlateLog(np.ones((SIZE, 1)), items, reward, kept, 4), ["random_slate"]


def estimators_of(kind):
    return [name for name, entry in ESTIMATORS.items() if entry.actions == kind]


CASES = [
    *[(single_actions, name, False) for name in estimators_of("single action") if name != "replay"],
    (uniform_actions, "replay", False),
    *[(numbers, name, False) for name in estimators_of("number")],
    *[(slates, name, False) for name in estimators_of("slate")],
    (single_actions, "snips", True),
    (single_actions, "dr", True),
    (slates, "slot_snips", True),
]


def estimate(log, policies, name):
    """The values and intervals of an evaluation; and errors and gains with their intervals."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = evaluate(log, policies, name).rows
    places = [[row.value, row.low, row.high] for row in rows]
    errors = [[row.standard_error, row.gain, row.gain_low, row.gain_high] for row in rows]
    return np.array(places), np.array(errors)


@pytest.mark.parametrize(("make", "name", "has_units"), CASES)
def test_large_rewards_lose_no_digits(make, name, has_units):
    log, policies = make(np.random.default_rng(0))
    log = dataclasses.replace(log, unit=np.arange(SIZE) // 3 if has_units else None)
    places, errors = estimate(log, policies, name)
    shift = 0.0 if name in SHIFT_BY_WEIGHTS else 1e8
    factor = 1e8 if name in SHIFT_BY_WEIGHTS else 100.0
    moved = dataclasses.replace(log, reward=factor * (log.reward + shift))
    large_places, large_errors = estimate(moved, policies, name)
    added = shift * (2.0 if make is slates else 1.0)  # of each slot
    np.testing.assert_allclose(large_places / factor - added, places, atol=2e-6)
    np.testing.assert_allclose(large_errors / factor, errors, atol=2e-6)


def test_statistics_of_large_values_lose_no_digits():
    values = np.random.default_rng(0).normal(size=1000)
    found = [Statistics.from_values(part + 1e8) for part in np.split(values, 10)]
    merged = functools.reduce(Statistics.merge, found)
    expected = Statistics.from_values(values)
    assert merged.standard_error == pytest.approx(expected.standard_error, abs=1e-8)
    ends = np.array(merged.interval()) - 1e8
    np.testing.assert_allclose(ends, expected.interval(), atol=1e-6)


def test_a_replay_of_large_rewards_loses_no_digits():
    log, _ = uniform_actions(np.random.default_rng(0))
    moved = dataclasses.replace(log, reward=log.reward + 1e8)
    options = {"num_actions": 3, "batch_size": 2, "seed": 1}
    plain, large = (evaluate_by_replay(RandomPolicy(**options), each, 0) for each in (log, moved))
    assert large.value - 1e8 == pytest.approx(plain.value, abs=1e-6)
    assert large.standard_error == pytest.approx(plain.standard_error, rel=1e-6)
