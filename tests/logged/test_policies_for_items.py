"""Policies for items: of any number, and of columns that have names."""

import dataclasses

import numpy as np
import pytest

from bandit_envs import (
    ArraySpec,
    ContextualPolicy,
    EpsilonGreedyPolicy,
    LinUCBPolicy,
)
from bandit_envs.logged import (
    learn_from_log,
    probabilities_of,
    read_policy,
    write_policy,
)
from bandit_envs.logged.features import spec_of_rows
from bandit_envs.logged.learners import ModelLearner
from bandit_envs.policies.models import HybridRidge, Ridge
from bandit_envs.policies.rules import EpsilonGreedy, FirstPulls, Greedy, Softmax
from bandit_envs.tables.encoding import NumberColumn, TextColumn
from tests.logged.item_fixture import ENCODING, make_fixture

pytestmark = pytest.mark.filterwarnings("ignore:the policy has learned from rows")


def learned(log, rule=None):
    """A policy of a linear model that has learned from a log."""
    return ModelLearner(Ridge(intercept=True), rule or Softmax(0.5)).fit(log)


@pytest.mark.parametrize("rule", [Softmax(0.5), EpsilonGreedy(0.1)])
def test_what_it_knows_does_not_depend_on_the_number_of_items(rule):
    narrow = make_fixture(4)
    wide = make_fixture(9)
    from_narrow = learned(narrow, rule)
    from_wide = learned(wide, rule)
    expected = probabilities_of(from_narrow, narrow)
    for policy in (from_narrow, from_wide):
        found = probabilities_of(policy, wide)
        np.testing.assert_allclose(found[:, :4], expected)
        assert not found[:, 4:].any()
        np.testing.assert_allclose(probabilities_of(policy, narrow), expected)


def test_a_policy_goes_on_learning_from_more_items_and_keeps_its_own_number():
    wide = make_fixture(9)
    first = learned(make_fixture(4))
    again = learn_from_log(first, wide)
    assert again.num_actions == 4
    expected = learn_from_log(learned(wide), wide)
    np.testing.assert_allclose(probabilities_of(again, wide), probabilities_of(expected, wide))


@pytest.mark.parametrize(
    "policy",
    [
        EpsilonGreedyPolicy(0.1, num_actions=3),
        ContextualPolicy(
            Ridge(),
            FirstPulls(Greedy(), 1),
            observation_spec={
                "global": ArraySpec((1,), float),
                "per_arm": ArraySpec((3, 4), float),
            },
        ),
        ContextualPolicy(
            HybridRidge(),
            Greedy(),
            observation_spec={
                "global": ArraySpec((1,), float),
                "per_arm": ArraySpec((3, 4), float),
            },
        ),
    ],
)
def test_what_is_known_of_single_actions_is_not_of_other_items(policy):
    with pytest.raises(ValueError, match="policy has 3 actions; expected 4, as it knows"):
        probabilities_of(policy, make_fixture(4))


def test_a_file_of_a_policy_takes_any_number_of_items(tmp_path):
    narrow = make_fixture(4)
    wide = make_fixture(9)
    policy = learned(narrow)
    write_policy(tmp_path / "policy.npz", policy, narrow)
    saved = read_policy(tmp_path / "policy.npz")
    assert saved.encoding == ENCODING
    again = saved.make(spec_of_rows(wide.seen()))
    assert again.num_actions == 9
    np.testing.assert_allclose(probabilities_of(again, wide), probabilities_of(policy, wide))


def reordered(log):
    """The log, whose columns and levels another table has found in another order."""
    encoding = dataclasses.replace(
        ENCODING,
        item_features=(
            TextColumn("kind", ("opera", "video", "sport", "news")),
            NumberColumn("price"),
        ),
        items=("f", "e", "d", "c", "b", "a"),
    )
    per_arm = log.observation["per_arm"]
    price = per_arm[..., :1]
    news, sport, video = (per_arm[..., place : place + 1] for place in (1, 2, 3))
    moved = np.concatenate([np.zeros_like(price), video, sport, news, price], axis=2)
    return dataclasses.replace(
        log,
        observation={**log.observation, "per_arm": moved},
        item=np.where(log.item < 0, -1, 5 - log.item),
        encoding=encoding,
    )


def test_columns_and_levels_of_items_are_found_by_their_names():
    log = make_fixture()
    other = reordered(log)
    policy = learned(log)
    expected = probabilities_of(policy, log)
    with pytest.warns(UserWarning, match="has not learned from kind 'opera'"):
        found = probabilities_of(policy, other)
    np.testing.assert_allclose(found, expected)
    again = learn_from_log(policy, other)
    np.testing.assert_allclose(
        probabilities_of(again, log), probabilities_of(learn_from_log(policy, log), log)
    )


def test_a_log_without_a_column_of_the_items_is_refused():
    log = make_fixture()
    policy = learned(log)
    encoding = dataclasses.replace(ENCODING, item_features=ENCODING.item_features[1:])
    observation = {**log.observation, "per_arm": log.observation["per_arm"][..., 1:]}
    other = dataclasses.replace(log, observation=observation, encoding=encoding)
    with pytest.raises(ValueError, match="there is no column 'price'"):
        probabilities_of(policy, other)


def test_a_policy_for_items_takes_no_log_of_contexts():
    log = make_fixture()
    encoding = dataclasses.replace(ENCODING, item_features=(), items=())
    other = dataclasses.replace(
        log, observation=log.observation["global"], item=None, encoding=encoding
    )
    with pytest.raises(ValueError, match="the policy has features of items, and the log is of"):
        probabilities_of(learned(log), other)


def test_lin_ucb_of_another_size_learns_the_same():
    narrow = make_fixture(4)
    wide = make_fixture(9)
    spec = spec_of_rows(narrow.seen())
    policy = LinUCBPolicy(0.5, observation_spec=spec, intercept=True)
    from_wide = learn_from_log(policy, wide)
    from_narrow = learn_from_log(policy, narrow)
    np.testing.assert_allclose(
        probabilities_of(from_wide, narrow), probabilities_of(from_narrow, narrow)
    )
