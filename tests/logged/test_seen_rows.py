"""A policy is not evaluated unawares on rows that it has learned from."""

import warnings

import numpy as np
import pytest

from bandit_envs import ContextualPolicy, UCBPolicy
from bandit_envs.logged import (
    BanditLog,
    DirectMethodLearner,
    DoublyRobustLearner,
    PolicyGradientLearner,
    concatenate,
    learn_from_log,
    probabilities_of,
)
from bandit_envs.policies.models import Ridge
from bandit_envs.policies.rules import Greedy
from bandit_envs.specs import ArraySpec

SEEN = "the policy has learned from rows of this log"


def make_log(size, seed=0):
    rng = np.random.default_rng(seed)
    context = rng.normal(size=(size, 2))
    return BanditLog(context, rng.integers(3, size=size), rng.random(size), np.full(size, 1 / 3))


def online(log):
    spec = ArraySpec((2,), np.float64)
    return learn_from_log(
        ContextualPolicy(Ridge(), Greedy(), observation_spec=spec, num_actions=3), log
    )


LEARNERS = {
    "online": online,
    "one row at a time": lambda log: learn_from_log(UCBPolicy(1.0, num_actions=3), log),
    "direct method": lambda log: DirectMethodLearner().fit(log),
    "doubly robust": lambda log: DoublyRobustLearner().fit(log),
    "gradient": lambda log: PolicyGradientLearner(num_steps=3).fit(log),
    "batches": lambda log: DirectMethodLearner().fit_batches([log[:50], log[50:]]),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_rows_that_a_policy_has_learned_from_bring_a_warning(name):
    log = make_log(100)
    policy = LEARNERS[name](log)
    longer = concatenate([log, make_log(20, seed=1)])
    for rows in (log, longer):
        with pytest.warns(UserWarning, match=SEEN):
            probabilities_of(policy, rows)


def test_a_copy_of_the_rows_is_found_too():
    log = make_log(100)
    policy = DirectMethodLearner().fit(log)
    again = make_log(100)
    with pytest.warns(UserWarning, match=SEEN):
        probabilities_of(policy, again)


def test_other_rows_bring_none():
    log = make_log(200)
    policy = DirectMethodLearner().fit(log[:100])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        probabilities_of(policy, log[100:])
        probabilities_of(policy, make_log(100, seed=1))
        probabilities_of(UCBPolicy(1.0, num_actions=3), log)


def test_rows_in_batches_are_found_batch_by_batch():
    batches = [make_log(50, seed) for seed in range(3)]
    policy = online(batches[:2])
    with pytest.warns(UserWarning, match=SEEN):
        probabilities_of(policy, batches[1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        probabilities_of(policy, batches[2])
    assert len(concatenate(batches)) == 150
