"""Measures how often several kinds of intervals contain the value of the policy.

`python -m tests.logged.coverage_of_kinds` prints a table of the page on logged data.
"""

import argparse
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bandit_envs.logged import (
    BanditLog,
    DoublyRobust,
    DRConfidenceSequence,
    InversePropensityScoring,
    IPSConfidenceSequence,
    RewardRegression,
    SelfNormalizedIPS,
)
from bandit_envs.logged.reward_models import RewardSums

ROWS = 1000
PILOT_ROWS = 300  # of another log, from which the sequence of DR has its predictions
RESAMPLES = 200
KINDS = ("normal", "Bernstein", "bootstrap", "OBP's bootstrap", "sequence")
COUNT = 32  # contexts, all equally probable, so that values are exact


class Law(NamedTuple):
    """How logs are drawn: tables [C, K] of contexts and actions, and the rewards for means [n]."""

    title: str
    logger: np.ndarray
    policy: np.ndarray
    means: np.ndarray
    draw: Callable[[np.random.Generator, np.ndarray], np.ndarray]
    low: float = 0.0
    high: float = 1.0

    @property
    def value(self):
        """The exact value of the policy."""
        return (self.policy * self.means).sum(axis=1).mean()

    @property
    def max_weight(self):
        return (self.policy / self.logger).max()


def contexts():
    return np.random.default_rng(0).normal(size=(COUNT, 2))


def prefers(scores, probability):
    """Returns probabilities [C, 3]: one of the largest score, and equal ones of the others."""
    table = np.full(scores.shape, (1.0 - probability) / 2.0)
    table[np.arange(len(scores)), scores.argmax(axis=1)] = probability
    return table


def click(rng, means):
    return (rng.random(len(means)) < means).astype(float)


def pay(rng, means):
    """Draws rewards from 10 to 11 around means from 10.25 to 10.75."""
    return means + rng.uniform(-0.25, 0.25, len(means))


def make_laws():
    x = contexts()
    draws = np.random.default_rng(1)
    of_logger = x @ draws.normal(size=(2, 3))
    of_policy = x @ draws.normal(size=(2, 3))
    clicks = 1.0 / (1.0 + np.exp(-x @ draws.normal(size=(2, 3))))
    # The last two logging policies avoid what the policies do: 1,000 rows are worth about 40.
    avoids = prefers(-of_policy, 0.96)
    uniform = np.full((COUNT, 3), 1.0 / 3.0)
    steady = prefers(of_logger, 0.8)
    greedy = prefers(of_logger, 0.96)
    new = {share: prefers(of_policy, share) for share in (0.7, 0.8, 0.9)}
    rare = 0.02 * clicks
    pays = 10.25 + 0.5 * clicks
    return [
        Law("uniform logging, clicks", uniform, new[0.8], clicks, click),
        Law("weights up to 8, clicks", steady, new[0.8], clicks, click),
        Law("weights up to 45, clicks", greedy, new[0.9], clicks, click),
        Law("1 % clicks, the policy does what was rarely logged", avoids, new[0.7], rare, click),
        Law("rewards from 10 to 11, likewise", avoids, new[0.7], pays, pay, 10.0, 11.0),
    ]


def draw_log(law, rng, rows=ROWS):
    """Returns a log and the policy's probabilities [n, 3]."""
    context = rng.integers(COUNT, size=rows)
    logger = law.logger[context]
    action = (logger.cumsum(axis=1)[:, :2] < rng.random((rows, 1))).sum(axis=1)
    every = np.arange(rows)
    reward = law.draw(rng, law.means[context, action])
    log = BanditLog(contexts()[context], action, reward, logger[every, action], 3)
    return log, law.policy[context]


def obp_interval(log, probabilities, predicted, name, rng):
    """Returns the interval of the Open Bandit Pipeline: percentiles of means of resampled rows.

    A ratio's rows are weighted rewards over the mean weight of the log, which is not resampled.
    """
    every = np.arange(len(log))
    weight = probabilities[every, log.action] / log.propensity
    if name == "DR":
        direct = (probabilities * predicted).sum(axis=1)
        values = direct + weight * (log.reward - predicted[every, log.action])
    else:
        values = weight * log.reward
    if name == "SNIPS":
        values = values / weight.mean()
    chosen = rng.integers(len(log), size=(RESAMPLES, len(log)))
    return np.percentile(values[chosen].mean(axis=1), [2.5, 97.5])


def always_holds(bounds, value):
    """Returns whether all intervals of a confidence sequence contain a value."""
    return bool(((bounds.lower <= value) & (value <= bounds.upper)).all())


def find_held(law, seed, with_obp):
    """Returns whether each interval of one log holds, by estimator and kind."""
    rng = np.random.default_rng(seed)
    pilot, _ = draw_log(law, rng, PILOT_ROWS)
    log, probabilities = draw_log(law, rng)
    predicted = RewardRegression().predict(log)
    predicted_before = RewardSums.from_log(pilot).fit().predict(log).clip(law.low, law.high)
    estimators = {
        "IPS": InversePropensityScoring(),
        "SNIPS": SelfNormalizedIPS(),
        "DR": DoublyRobust(),
    }
    held = {}
    for name, estimator in estimators.items():
        estimate = estimator.estimate(log, probabilities, predicted)
        intervals = {
            "normal": estimate.normal_interval(),
            "Bernstein": estimate.bernstein_interval(),
            "bootstrap": estimate.bootstrap_interval(resamples=RESAMPLES, seed=seed),
        }
        if with_obp:
            intervals["OBP's bootstrap"] = obp_interval(log, probabilities, predicted, name, rng)
        for kind, (lower, upper) in intervals.items():
            held[name, kind] = lower <= law.value <= upper
    bounds = IPSConfidenceSequence(low=law.low, high=law.high).update(log, probabilities)
    held["IPS", "sequence"] = always_holds(bounds, law.value)
    sequence = DRConfidenceSequence(law.max_weight, low=law.low, high=law.high)
    bounds = sequence.update(log, probabilities, predicted_before)
    held["DR", "sequence"] = always_holds(bounds, law.value)
    return held


def measure(law, num_logs, with_obp=True):
    """Returns the share of logs, in percent, whose intervals hold, by estimator and kind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few effective rows
        found = [find_held(law, seed, with_obp) for seed in range(num_logs)]
    return {key: 100.0 * np.mean([held[key] for held in found]) for key in found[0]}


def write_table(num_logs):
    print("| logs | estimator |", " | ".join(KINDS), "|")
    print("|---|---|" + "---|" * len(KINDS))
    for law in make_laws():
        shares = measure(law, num_logs)
        for name in ("IPS", "SNIPS", "DR"):
            cells = [
                f"{shares[name, kind]:.1f}" if (name, kind) in shares else "" for kind in KINDS
            ]
            title = law.title if name == "IPS" else ""
            print(f"| {title} | {name} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=2000)
    write_table(parser.parse_args().logs)
