"""Estimates from the sample of the Open Bandit Dataset that the package `obp` bundles."""

import csv
import importlib.util
import warnings
from pathlib import Path

import numpy as np
import pytest

from bandit_envs.datasets import load_open_bandit
from bandit_envs.logged import (
    BanditLog,
    DoublyRobust,
    InversePropensityScoring,
    RewardRegression,
    SelfNormalizedIPS,
)
from bandit_envs.logged.estimators import estimate_logged

pytestmark = pytest.mark.slow


def find_sample():
    """Returns the folder of the sample; the test is skipped where it is not installed."""
    found = importlib.util.find_spec("obp")  # without its imports
    if found is None:
        pytest.skip("the package obp, which has the sample, is not installed")
    sample = Path(found.submodule_search_locations[0]) / "dataset" / "obd"
    if not sample.is_dir():
        pytest.skip(f"obp is installed without its sample, {sample}")
    return sample


def read_log(policy, campaign):
    pytest.importorskip("pandas")
    return BanditLog(**load_open_bandit(find_sample() / policy / campaign / f"{campaign}.csv"))


def read_column(policy, campaign, name):
    """Returns a column of numbers by the standard library: [n]."""
    path = find_sample() / policy / campaign / f"{campaign}.csv"
    with path.open(newline="") as file:
        return np.array([float(row[name]) for row in csv.DictReader(file)])


@pytest.mark.parametrize(
    ("campaign", "actions", "is_warned_of"),
    [("all", 80, True), ("men", 34, False), ("women", 46, True)],
)
def test_the_log_of_one_policy_tells_what_the_other_earned(campaign, actions, is_warned_of):
    log = read_log("bts", campaign)
    assert (len(log), log.num_actions) == (10_000, actions)
    truth = estimate_logged(read_log("random", campaign))
    assert truth.value == pytest.approx(read_column("random", campaign, "click").mean(), rel=1e-12)
    uniform = np.full((len(log), actions), 1.0 / actions)
    weights = 1.0 / actions / read_column("bts", campaign, "propensity_score")
    weighted = weights * read_column("bts", campaign, "click")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ips = InversePropensityScoring().estimate(log, uniform)
        snips = SelfNormalizedIPS().estimate(log, uniform)
        dr = DoublyRobust().estimate(log, uniform, RewardRegression().predict(log))
    assert ips.value == pytest.approx(weighted.mean(), rel=1e-9)
    assert snips.value == pytest.approx(weighted.sum() / weights.sum(), rel=1e-9)
    for estimate in (ips, snips, dr):
        low, high = estimate.interval()
        assert low < truth.value < high
    assert bool(caught) is is_warned_of
