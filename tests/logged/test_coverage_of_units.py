"""How often intervals by units hold, in laws in which those by rows do not."""

import warnings

import numpy as np
import pytest

from bandit_envs.logged import BanditLog, InversePropensityScoring, SelfNormalizedIPS
from bandit_envs.logged.estimators import estimate_logged, gain_over

pytestmark = pytest.mark.slow

LOGS = 100
LOWEST = 0.88  # 0.95 less 3 standard errors of so many logs


def draw(rng, law, size):
    """Returns a log of users whose likes are normal, and the value and the gain of its policy."""
    users = size if law == "independent" else size // 10
    user = np.arange(size) if law == "independent" else rng.integers(0, users, size)
    likes = rng.normal(size=users)
    if law == "sizes":
        chances = rng.pareto(1.5, users) + 1.0
        user = rng.choice(users, size, p=chances / chances.sum())
    action = rng.integers(0, 2, size)
    if law == "one action a user":
        action = rng.integers(0, 2, users)[user]
    reward = likes[user] + 0.2 * action + rng.normal(size=size)
    log = BanditLog(
        np.ones((size, 1)),
        action,
        reward,
        np.full(size, 0.5),
        2,
        unit=user,
        action_probabilities=np.full((size, 2), 0.5),
    )
    return log, np.tile([0.2, 0.8], (size, 1)), 0.16, 0.06


def holds(estimate, truth):
    low, high = estimate.interval()
    return low <= truth <= high


def count(law, size, estimator):
    """Returns the shares of logs in which intervals hold: of the value and the gain, by units and
    rows, and the mean ratio of the widths of values."""
    found = np.zeros(4)
    widths = []
    for seed in range(LOGS):
        log, policy, value, gain = draw(np.random.default_rng(seed), law, size)
        both = []
        for each in (log, log.drop("unit")):
            estimate = estimator.estimate(each, policy)
            both += [holds(estimate, value)]
            both += [holds(gain_over(estimate, estimate_logged(each)), gain)]
            low, high = estimate.interval()
            widths.append(high - low)
        found += both
    ratios = np.array(widths[::2]) / np.array(widths[1::2])
    return found / LOGS, float(ratios.mean())


@pytest.mark.parametrize("estimator", [InversePropensityScoring(), SelfNormalizedIPS()])
@pytest.mark.parametrize(
    ("law", "highest_by_rows"),
    [("ten rows a user", 0.75), ("sizes", 0.65), ("one action a user", 0.7)],
)
def test_intervals_by_units_hold_where_those_by_rows_do_not(law, highest_by_rows, estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (value, gain, by_rows, _), _ = count(law, 1500, estimator)
    assert value >= LOWEST
    assert gain >= LOWEST
    assert by_rows < highest_by_rows


@pytest.mark.parametrize("estimator", [InversePropensityScoring(), SelfNormalizedIPS()])
def test_units_cost_no_width_where_rows_are_independent(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (value, gain, _, _), width = count("independent", 1500, estimator)
    assert value >= LOWEST
    assert gain >= LOWEST
    assert width == pytest.approx(1.0, abs=0.03)
