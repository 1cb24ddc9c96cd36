"""Policies and estimators on logs of items from sets that change."""

import pytest

from bandit_envs.evaluations import evaluate, learn
from bandit_envs.logged import read_policy
from bandit_envs.policies.models import FourierFeatures, Interactions, Logistic, Ridge
from tests.logged.law_of_items import best_value, make_log


@pytest.fixture(scope="module")
def log():
    return make_log(6000)


def values(found):
    """The true values of the policies of an evaluation, by name."""
    return {row.policy: row.truth for row in found.rows}


def test_a_linear_policy_of_columns_learns_which_items_suit_which_contexts(log):
    texts = ["lin_ucb:alpha=0.1", "lin_ucb:alpha=0.1,interactions=false"]
    found = evaluate(log, texts, "snips")
    truth = values(found)
    best = best_value(log[3000:])
    assert truth[texts[0]] > best - 0.02
    assert truth[texts[1]] < best - 0.1
    notes = [note for note in found.notes if "ranks items alike in every context" in note]
    assert len(notes) == 1
    assert texts[1] in notes[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ridge", Interactions(Ridge(intercept=True))),
        ("logistic:interactions=false", Logistic(intercept=True)),
        ("interactions:model=logistic", Interactions(Logistic(intercept=True))),
        ("interactions", Interactions(Ridge(intercept=True))),
        ("fourier:model=ridge", FourierFeatures(Ridge(intercept=True))),
    ],
)
def test_products_are_added_once_where_a_model_is_linear(log, text, expected, tmp_path):
    found = learn(log[:500], f'contextual:model="{text}"')
    assert found.policy.model == expected
    found.write(tmp_path / "policy.npz")
    assert read_policy(tmp_path / "policy.npz").model == expected


def test_arrays_have_the_products_that_a_text_asks_for(log):
    arrays = make_log(400)
    arrays = type(arrays)(arrays.observation, arrays.action, arrays.reward, arrays.propensity)
    plain = learn(arrays, 'contextual:model="ridge:intercept=true"')
    assert plain.policy.model == Ridge(intercept=True)
    asked = learn(arrays, 'contextual:model="ridge:intercept=true,interactions=true"')
    assert asked.policy.model == Interactions(Ridge(intercept=True))
