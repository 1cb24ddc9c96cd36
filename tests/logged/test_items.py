"""Logs of items: actions with features of their own, from sets that may change."""

import dataclasses

import numpy as np
import pytest

from bandit_envs import (
    ConstantPolicy,
    ContextualPolicy,
    LinUCBPolicy,
    OutcomeTableBandit,
    RandomPolicy,
    UCBPolicy,
)
from bandit_envs.evaluations import evaluate
from bandit_envs.logged import BanditLog, estimate_propensities, learn_from_log, probabilities_of
from bandit_envs.logged.features import spec_of_rows
from bandit_envs.logged.replay import evaluate_by_replay
from bandit_envs.policies.models import HybridRidge
from bandit_envs.policies.models.feature_readers import ContextReader
from bandit_envs.policies.rules import Greedy
from bandit_envs.tables.encoding import TableEncoding

pytestmark = pytest.mark.filterwarnings("ignore:the policy has learned from rows of this log")

COUNT = 60


def make_log(**columns):
    """Items of other features in every row, of which some are not available."""
    rng = np.random.default_rng(0)
    items = rng.normal(size=(COUNT, 3, 2))
    available = rng.random((COUNT, 3)) < [1.0, 0.5, 0.5]
    action = np.array([rng.choice(np.flatnonzero(each)) for each in available])
    reward = items[np.arange(COUNT), action, 0]
    given = {
        "observation": {"global": np.ones((COUNT, 1)), "per_arm": items},
        "action": action,
        "reward": reward,
        "propensity": 1.0 / available.sum(axis=1),
        "available": available,
        **columns,
    }
    return BanditLog(**given, num_actions=3)


def make_policy(kind, log):
    """A policy of a log."""
    spec = spec_of_rows(log.seen())
    if kind == "hybrid":
        return ContextualPolicy(HybridRidge(), Greedy(), observation_spec=spec)
    if kind == "lin_ucb":
        return LinUCBPolicy(1.0, observation_spec=spec)
    if kind == "ucb":
        return UCBPolicy(1.0, num_actions=3)
    return {"constant": ConstantPolicy, "random": RandomPolicy}[kind](num_actions=3)


def test_a_mask_beside_items_is_one_of_the_entries_of_the_observation():
    log = make_log()
    assert log.seen().keys() == {"global", "per_arm", "mask"}
    inside = make_log(observation={**log.observation, "mask": log.available}, available=None)
    policies = [learn_from_log(make_policy("lin_ucb", each), each) for each in (log, inside)]
    tables = [probabilities_of(*each) for each in zip(policies, (log, inside))]
    assert policies[0].model == policies[1].model
    assert np.array_equal(*tables)
    assert not tables[0][~log.available].any()


def test_a_table_of_outcomes_of_items_shows_items():
    log = make_log()
    rewards = log.observation["per_arm"][..., 0]
    env = OutcomeTableBandit(log.observation, rewards, available=log.available)
    assert env.observation_spec().keys() == {"global", "per_arm", "mask"}
    assert env.reset().observation.keys() == {"global", "per_arm", "mask"}


def test_a_mask_beside_a_dict_of_contexts_is_no_feature():
    contexts = {"user": np.ones((COUNT, 2)), "time": np.zeros((COUNT, 1))}
    log = make_log(observation=contexts)
    assert log.seen().keys() == {"user", "time", "mask"}
    assert ContextReader(spec_of_rows(log.seen())).read(log.seen(), COUNT).shape == (COUNT, 3)


@pytest.mark.parametrize("kind", ["constant", "ucb", "hybrid"])
def test_a_policy_that_takes_the_place_of_an_item_for_the_item_is_refused(kind):
    log = make_log()
    policy = make_policy(kind, log)
    asks = [lambda: probabilities_of(policy, log), lambda: evaluate_by_replay(policy, log)]
    if policy.can_learn:
        asks.append(lambda: learn_from_log(policy, log))
    for ask in asks:
        with pytest.raises(ValueError, match=r"tells actions apart by their numbers; .* names of"):
            ask()
    with pytest.raises(ValueError, match=r"ConstantPolicy.*: policy tells actions"):
        evaluate(log, ConstantPolicy(num_actions=3), "ips", train=None)


@pytest.mark.parametrize("kind", ["random", "lin_ucb"])
def test_other_policies_meet_items(kind):
    log = make_log()
    assert probabilities_of(make_policy(kind, log), log).shape == (COUNT, 3)


@pytest.mark.parametrize("kind", ["constant", "ucb", "hybrid"])
def test_items_that_have_names_or_never_change_have_numbers(kind):
    named = make_log(encoding=TableEncoding(("a", "b", "c")))
    log = make_log()
    same = np.broadcast_to(log.observation["per_arm"][:1], (COUNT, 3, 2))
    fixed = make_log(observation={**log.observation, "per_arm": same})
    for each in (named, fixed):
        assert probabilities_of(make_policy(kind, each), each).shape == (COUNT, 3)


def test_propensities_of_items_that_change_are_not_estimated():
    with pytest.raises(ValueError, match="a number may be of another item in each row"):
        estimate_propensities(make_log(propensity=None))


def test_items_in_another_order_are_refused():
    log = make_log(encoding=TableEncoding(("a", "b", "c")))
    policy = learn_from_log(make_policy("lin_ucb", log), log)
    other = dataclasses.replace(log, encoding=TableEncoding(("b", "a", "c")))
    with pytest.raises(ValueError, match=r"'b', 'a', 'c'; expected the actions 'a', 'b', 'c'"):
        probabilities_of(policy, other)
