"""Estimates of all kinds of actions, against values that are known."""

import numpy as np
import pytest

from bandit_envs import RandomSlatePolicy
from bandit_envs.evaluations import evaluate
from bandit_envs.logged import BanditLog
from bandit_envs.logged.slate_log import SlateLog
from bandit_envs.trajectories import restart

KNOWN = {
    "single_actions": [
        ("ips", 0.8259155586511078, 0.45576582057374554, 1.2334156304201835, 0.7745772439178361),
        ("snips", 0.709956067608402, 0.41246357938277955, 1.0235971150962728, 0.6586177528751305),
        ("dr", 0.7221515287934139, 0.47089337776581147, 0.9745673965143998, 0.6708132140601424),
    ],
    "numbers": [
        (
            "kernel_ips:bandwidth=0.3729",
            1.015125959861399,
            0.8508486974538443,
            1.311899209383616,
            0.5504580128245616,
        ),
        (
            "kernel_snips:bandwidth=slope",
            0.9901833903583244,
            0.960120761410993,
            1.04490356272728,
            0.5255154433214867,
        ),
    ],
    "slates": [
        ("slate_ips", 9.02, 8.429373968644084, 9.614330433452084, 8.268333333333333),
        ("slate_snips", 0.7516666666666667, 0.7024478307202495, 0.801194202787766, 0.0),
        ("slot_ips", 3.006666666666667, 0.7024478307202495, 3.2047768111506953, 2.255),
        ("slot_snips", 0.7516666666666667, 0.7024478307203411, 0.8011942027876737, 0.0),
        ("prefix_ips", 5.74, 0.7024478307202495, 6.2003761794362084, 4.988333333333333),
        ("prefix_snips", 0.7516666666666667, 0.7024478307203399, 0.801194202787675, 0.0),
    ],
}
"""Of each kind, the estimator with its value, its interval and its gain."""


def single_actions():
    rng = np.random.default_rng(3)
    contexts = rng.normal(size=(600, 2)).round(0)
    actions = rng.integers(0, 3, 600)
    reward = contexts[:, 0] * actions + rng.normal(size=600)
    log = BanditLog(contexts, actions, reward, np.full(600, 1 / 3), 3)
    return evaluate(log, "lin_ucb:alpha=0.5", ("ips", "snips", "dr"))


def numbers():
    rng = np.random.default_rng(0)
    price = rng.uniform(0.0, 2.0, 600)
    reward = 1.0 - (price - 1.5) ** 2 + rng.normal(0.0, 0.1, 600)
    log = BanditLog(rng.normal(size=(600, 1)), price, reward, np.full(600, 0.5), 0)
    estimators = ("kernel_ips:bandwidth=rule", "kernel_snips:bandwidth=slope")
    return evaluate(log, "gaussian:std=0.01,coefficients=[1.5]", estimators)


def slates():
    rng = np.random.default_rng(0)
    items = np.argsort(rng.random((600, 4)), axis=1)[:, :2]
    reward = (rng.random((600, 2)) < np.array([0.1, 0.2, 0.4, 0.8])[items]).astype(float)
    made = RandomSlatePolicy(2, num_actions=4, batch_size=600)
    given = made.info_of(restart(np.ones((600, 1)), 600), items)
    return evaluate(SlateLog(np.ones((600, 1)), items, reward, given, 4), "cascade_ucb:c=1")


@pytest.mark.parametrize("kind", [single_actions, numbers, slates])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_estimates_are_those_that_are_known(kind):
    found = [(row.estimator, row.value, row.low, row.high, row.gain) for row in kind().rows[1:]]
    assert [each[0] for each in found] == [each[0] for each in KNOWN[kind.__name__]]
    for one, other in zip(found, KNOWN[kind.__name__]):
        assert one[1:] == pytest.approx(other[1:], rel=1e-9, abs=1e-12)
