"""What is known of a log after one pass over its batches."""

import dataclasses

import numpy as np
import pytest

from bandit_envs.evaluations.showing.weight_histogram import EDGES, WeightHistogram
from bandit_envs.logged import BanditLog, concatenate
from bandit_envs.logged.summary import LogRows, LogSummary
from tests.cases import for_each
from tests.logged.logs import drawn, small_log


def test_a_summary_of_batches_is_that_of_the_log():
    log = small_log()
    summary = LogSummary.from_batches([log[:2], log[2:2], log[2:]])
    assert (summary.size, summary.num_actions, summary.batch_size) == (6, 3, 1)
    assert float(summary.rewards.mean) == pytest.approx(log.reward.mean())
    assert str(summary) == "6 rows, 3 actions, mean reward 0.6667, propensities 0.1 to 0.5"
    assert LogSummary.from_batches([]).size == 0
    with pytest.raises(ValueError, match="logs differ in their number of actions"):
        summary.merge(LogSummary.from_batches([drawn(np.random.default_rng(0), 4, 2)]))


@for_each(
    ("row", "batch_size"),
    [
        (np.arange(100) % 4, 4),
        (np.arange(100), 100),
        (np.zeros(100, int), 1),
        (np.arange(100) % 4 + 1, 1),
        (np.arange(100)[::-1] % 4, 1),
        (np.delete(np.arange(101) % 4, 7), 1),
        (np.delete(np.arange(101) % 4, 6), 1),
    ],
)
def test_the_rows_of_a_policy_that_made_a_log_are_counted_if_they_are_complete(row, batch_size):
    log = dataclasses.replace(drawn(np.random.default_rng(0), 100), row=row)
    for cut in (0, 1, 10, 97):
        parts = [LogSummary.from_batches([part]) for part in (log[:cut], log[cut:])]
        assert parts[0].merge(parts[1]).batch_size == batch_size


@for_each(("start", "stop"), [(0, 100), (0, 30), (30, 100), (25, 26), (40, 40)])
def test_some_rows_of_batches_are_those_of_the_log(start, stop):
    log = drawn(np.random.default_rng(0), 100)
    rows = LogRows([log[:30], log[30:31], log[31:]], start, stop)
    assert len(rows) == stop - start
    assert concatenate([log[:0], *rows]) == log[start:stop]


@pytest.mark.parametrize("clicks", [2001, 3333, 4445, 7777])
def test_batches_of_any_size_identify_a_log(clicks):
    rewards = np.zeros(20_000)
    rewards[np.random.default_rng(clicks).permutation(20_000)[:clicks]] = 1.0
    clicked = rewards.astype(int)
    log = BanditLog(np.ones((20_000, 1)), clicked, np.zeros(20_000), np.full(20_000, 0.5))
    whole = LogSummary.from_batches([log]).identify()
    for size in (777, 4096):
        parts = [log[start : start + size] for start in range(0, 20_000, size)]
        assert LogSummary.from_batches(parts).identify() == whole
    later = dataclasses.replace(log, reward=rewards)  # rewards may come late
    assert LogSummary.from_batches([later]).identify() == whole
    for other in (log[::-1], dataclasses.replace(log, action=np.roll(clicked, 1))):
        assert LogSummary.from_batches([other]).identify() != whole


def test_histograms_of_parts_merge():
    weights = np.random.default_rng(0).lognormal(size=1000)
    weights[:10] = 0.0
    weights[10] = 1e-30  # below the first bin, in which it is counted
    parts = [WeightHistogram.from_weights(part) for part in np.split(weights, [300, 301])]
    merged = parts[0].merge(parts[1]).merge(parts[2])
    whole = WeightHistogram.from_weights(weights)
    assert np.array_equal(merged.counts, whole.counts)
    assert (merged.size, merged.zeros, merged.largest) == (1000, 10, weights.max())
    assert merged.counts[0] == 1
    bins = np.flatnonzero(merged.counts[1:]) + 1
    assert EDGES[bins[0]] <= weights[11:].min() < EDGES[bins[0] + 1]
