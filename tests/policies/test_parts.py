"""Models and rules by name, as users write them."""

import dataclasses
import sys
import types

import pytest

from bandit_envs.environments import logistic_context
from bandit_envs.policies.models import FourierFeatures, Logistic, Ridge
from bandit_envs.policies.parts.registry import make_model, make_rule
from bandit_envs.policies.registry import POLICIES
from bandit_envs.policies.rules import FirstPulls, Greedy, Mixed, Softmax, SquareCB
from tests.cases import for_each
from tests.policies.contextual_parts import UsersModel, UsersRule

MINE = "tests.policies.contextual_parts"


@for_each(
    ("text", "expected"),
    [
        ("ridge", Ridge()),
        ("ridge:gamma=0.99", Ridge(0.99)),
        ('ridge:gamma=0.99,initial_value="mean"', Ridge(0.99, initial_value="mean")),
        ("ridge:diagonal=true,dtype=float32", Ridge(diagonal=True, dtype="float32")),
        ("logistic:dtype=float32", Logistic(dtype="float32")),
        ("ridge:initial_value=mean", Ridge(initial_value="mean")),
        ('fourier:model="logistic:tikhonov_weight=2",seed=3', FourierFeatures(Logistic(2), seed=3)),
        ("fourier:model=logistic", FourierFeatures(Logistic())),
        (f"{MINE}:UsersModel", UsersModel()),
        (f"{MINE}:UsersModel:weight=2.5", UsersModel(2.5)),
        (f'fourier:model="{MINE}:UsersModel:weight=2"', FourierFeatures(UsersModel(2))),
    ],
)
def test_a_text_names_a_model(text, expected):
    assert make_model(text) == expected


@for_each(
    ("text", "expected"),
    [
        ("greedy", Greedy()),
        ("square_cb:gamma_scale=10", SquareCB(10)),
        ('mixed:rule="softmax:temperature=0.1",epsilon=0.05', Mixed(Softmax(0.1), 0.05)),
        ("mixed:rule=softmax", Mixed(Softmax())),
        (
            "mixed:epsilon=0.2,rule='first_pulls:pulls=3,rule=\"softmax:temperature=2\"'",
            Mixed(FirstPulls(Softmax(2), 3), 0.2),
        ),
        (f"{MINE}:UsersRule:decay=0.5", UsersRule(0.5)),
        (f'mixed:rule="{MINE}:UsersRule"', Mixed(UsersRule())),
    ],
)
def test_a_text_names_a_rule_and_the_rules_in_it(text, expected):
    assert make_rule(text) == expected


@for_each(
    ("make", "text", "message"),
    [
        (make_model, "rigde", "model is 'rigde'; did you mean ridge?"),
        (make_rule, "sofmax", "rule is 'sofmax'; did you mean softmax?"),
        (make_rule, 'mixed:rule="sofmax"', "rule is 'sofmax'; did you mean softmax?"),
        (make_model, "fourier:model=logistc", "model is 'logistc'; did you mean logistic?"),
        (make_model, "square_cb", "model is 'square_cb'; expected one of ridge, logistic"),
        (make_model, "ridge:gama=1", "model ridge has no parameter 'gama'; expected gamma"),
        (make_rule, "epsilon_greedy", "rule epsilon_greedy needs a value for epsilon"),
        (make_rule, "mixed:epsilon=0.1", "rule mixed needs a value for rule"),
        (make_rule, "softmax:temperature=0", "temperature is 0"),
        (make_model, "ridge:gamma=", "model is 'ridge:gamma='; expected name:key=value"),
        (make_model, f"{MINE}:UserModel", "did you mean UsersModel?"),
        (make_model, f"{MINE}:UsersRule", "it is not a subclass of Model"),
        (make_rule, f"{MINE}:UsersModel", "it is not a subclass of Rule"),
        (make_rule, "nowhere.at.all:Rule", "No module named 'nowhere'"),
    ],
)
def test_what_names_nothing_is_refused_in_one_line_with_the_closest_name(make, text, message):
    with pytest.raises((TypeError, ValueError)) as caught:
        make(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_policy_may_be_any_pair():
    env = logistic_context(batch_size=3)
    arguments = {"model": "ridge:gamma=0.99", "rule": "square_cb:gamma_scale=10"}
    policy = POLICIES["contextual"].make_for(env, arguments, seed=0)
    assert (policy.model, policy.rule) == (Ridge(0.99), SquareCB(10))


def test_a_registered_pair_takes_the_parameters_of_both():
    env = logistic_context(batch_size=3)
    entry = POLICIES["linear_square_cb"]
    arguments = {"gamma": 0.9, "initial_value": "mean", "gamma_scale": 5.0}
    policy = entry.make_for(env, entry.check(arguments), seed=0)
    assert (policy.model, policy.rule) == (Ridge(0.9, initial_value="mean"), SquareCB(5.0))


def test_a_user_s_model_may_have_parameters_of_any_kind(monkeypatch):
    module = types.ModuleType("a_users_module")

    @dataclasses.dataclass(frozen=True)
    class Named(UsersModel):
        names: tuple = ()

    module.Named = Named
    monkeypatch.setitem(sys.modules, "a_users_module", module)
    assert make_model('a_users_module:Named:names=["a", "b"]').names == ["a", "b"]
