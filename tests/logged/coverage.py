"""Measures how often `Estimate.interval` contains the value of the policy, where nothing warns.

`python -m tests.logged.coverage` prints a table of the page on logged data.
"""

import argparse
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bandit_envs.logged import (
    BanditLog,
    DirectMethod,
    DoublyRobust,
    DRWithOptimisticShrinkage,
    InversePropensityScoring,
    RewardRegression,
    SelfNormalizedDR,
    SelfNormalizedIPS,
    SubGaussianDR,
    SubGaussianIPS,
    SwitchDR,
)

SIZES = {500: 0.2, 5_000: 1.0, 50_000: 0.2}
"""The numbers of rows, and the share of the logs that are drawn of each."""

CONTEXTS = 20_000  # all equally probable, so that values are exact
JUDGED = 0.2  # share of logs without a warning, from which on they are judged
ESTIMATORS = {
    "IPS": InversePropensityScoring(),
    "SNIPS": SelfNormalizedIPS(),
    "DR": DoublyRobust(),
    "SNDR": SelfNormalizedDR(),
    "IPS 10": InversePropensityScoring(10.0),
    "DR 10": DoublyRobust(10.0),
    "SwitchDR 10": SwitchDR(10.0),
    "DRos 10": DRWithOptimisticShrinkage(10.0),
    "SGIPS .1": SubGaussianIPS(0.1),
    "SGDR .1": SubGaussianDR(0.1),
    "DM": DirectMethod(),
}


class Law(NamedTuple):
    """How logs are drawn: tables [C, 4] of contexts and actions, and the rewards for means [n]."""

    title: str
    logger: np.ndarray
    policy: np.ndarray
    means: np.ndarray
    draw: Callable[[np.random.Generator, np.ndarray], np.ndarray]

    def value(self, policy):
        """The exact value of a policy [C, 4]."""
        return (policy * self.means).sum(axis=1).mean()


def contexts():
    return np.random.default_rng(0).normal(size=(CONTEXTS, 2))


def softmax(scores, share=0.0):
    """Returns probabilities [C, 4], a share of which is uniform."""
    table = np.exp(scores - scores.max(axis=1, keepdims=True))
    table /= table.sum(axis=1, keepdims=True)
    return (1.0 - share) * table + share / 4.0


def click(rng, means):
    return (rng.random(len(means)) < means).astype(float)


def pay(rng, means):
    """Draws lognormal rewards."""
    return means * np.exp(1.5 * rng.normal(size=len(means)) - 1.125)


def make_laws():
    x = contexts()
    draws = np.random.default_rng(3)
    of_logger = x @ draws.normal(size=(2, 4))
    of_policy = x @ draws.normal(size=(2, 4))
    # Weights up to 20, of which 1,000 rows are worth 200; and up to 1,900, worth 47.
    mild = (softmax(0.4 * of_logger, 0.2), softmax(1.5 * of_policy))
    heavy = (softmax(0.5 * of_logger, 0.002), softmax(of_policy))
    waves = np.sin(2.0 * x @ draws.normal(size=(2, 4))) + 0.3 * x[:, :1] * x[:, 1:]
    clicks = 1.0 / (1.0 + np.exp(1.0 - waves))
    rare = 0.02 * clicks / clicks.mean()
    return [
        Law("mild, clicks", *mild, clicks, click),
        Law("mild, 2 % clicks", *mild, rare, click),
        Law("mild, lognormal", *mild, np.exp(waves), pay),
        Law("heavy, clicks", *heavy, clicks, click),
        Law("heavy, lognormal", *heavy, np.exp(waves), pay),
    ]


def draw_log(law, rng, rows, knows_all=True):
    """Returns a log and the contexts of its rows [n]."""
    context = rng.integers(CONTEXTS, size=rows)
    logger = law.logger[context]
    action = (logger.cumsum(axis=1)[:, :3] < rng.random((rows, 1))).sum(axis=1)
    reward = law.draw(rng, law.means[context, action])
    columns = {"action_probabilities": logger} if knows_all else {}
    propensity = logger[np.arange(rows), action]
    return BanditLog(contexts()[context], action, reward, propensity, 4, **columns), context


def find_held(law, rows, seed, knows_all):
    """Returns for each estimator if its interval holds, if it is silent, and its relative width."""
    log, context = draw_log(law, np.random.default_rng(seed), rows, knows_all)
    predicted = RewardRegression().predict(log)
    found = {}
    for name, estimator in ESTIMATORS.items():
        estimate = estimator.estimate(log, law.policy[context], predicted)
        low, high = estimate.interval()
        normal = np.diff(estimate.normal_interval())[0]
        is_silent = not estimate.sums.find_problems()
        holds = low <= law.value(law.policy) <= high
        found[name] = (holds, is_silent, (high - low) / normal if normal > 0.0 else np.nan)
    return found


class Cell(NamedTuple):
    """What logs of a law and a size say of an estimator."""

    silent: float  # share of logs without a warning
    covered: float  # share of these whose interval holds; NaN without any
    width: float  # the median of widths over those of normal intervals


def measure(law, rows, num_logs, knows_all=True, first_seed=0):
    """Returns a `Cell` for each estimator."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seeds = range(first_seed, first_seed + num_logs)
        found = [find_held(law, rows, seed, knows_all) for seed in seeds]
    cells = {}
    for name in ESTIMATORS:
        holds, is_silent, widths = np.array([each[name] for each in found]).T
        covered = holds[is_silent > 0.0]
        share = covered.mean() if len(covered) else np.nan
        cells[name] = Cell(is_silent.mean(), share, np.nanmedian(widths))
    return cells


def write_table(num_logs, sizes, knows_all):
    print("| logs | rows | silent | width |", " | ".join(ESTIMATORS), "|")
    print("|---|---|---|---|" + "---|" * len(ESTIMATORS))
    for law in make_laws():
        for rows in sizes:
            cells = measure(law, rows, max(2, round(num_logs * SIZES[rows])), knows_all)
            shown = [
                f"{100.0 * cell.covered:.1f}" if cell.silent >= JUDGED else ""
                for cell in cells.values()
            ]
            first = cells["IPS"]
            head = f"{law.title} | {rows} | {100.0 * first.silent:.0f} | {first.width:.2f}"
            print(f"| {head} |", " | ".join(shown), "|", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=1000)
    parser.add_argument("--rows", type=int, nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--logged-only", action="store_true", help="one probability a row")
    options = parser.parse_args()
    write_table(options.logs, options.rows, not options.logged_only)
