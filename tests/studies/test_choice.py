"""How environments and policies are written, and what is refused."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")

from bandit_envs import KArmedTestbed, RandomPolicy, UCBPolicy
from bandit_envs.environments.environment_choice import EnvironmentChoice
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.policies.policy_choice import PolicyChoice
from tests.cases import for_each
from tests.strategies import texts
from tests.studies.mine import Bernoulli

MINE = "tests.studies.mine:Bernoulli"


def policy(item):
    """The only policy that an item of a study stands for."""
    (choice,) = PolicyChoice.expand(item)
    return choice


def environment(item):
    (choice,) = EnvironmentChoice.expand(item)
    return choice


@for_each(
    ("text", "canonical", "label"),
    [
        ("greedy", "greedy", "greedy"),
        ("epsilon_greedy:epsilon=0.10", "epsilon_greedy:epsilon=0.1", "ε-greedy, ε=0.1"),
        (
            "epsilon_greedy:step_size = 1e-1, initial_value = 5.0, epsilon = 0.1",
            "epsilon_greedy:epsilon=0.1,initial_value=5.0,step_size=0.1",
            "ε-greedy, ε=0.1, Q₁=5.0, α=0.1",
        ),
        ("ucb:c=0.0625", "ucb:c=0.0625", "UCB, c=0.0625"),
        (
            "gradient:baseline=false,step_size=0.4",
            "gradient:step_size=0.4,baseline=false",
            "gradient bandit, α=0.4, baseline=false",
        ),
    ],
)
def test_a_policy_has_one_canonical_text_and_the_label_of_the_book(text, canonical, label):
    choice = policy(text)
    assert str(choice) == canonical
    assert ", ".join(choice.parts()) == label
    assert policy(canonical) == choice


@for_each(
    ("text", "parameters"),
    [
        ("ucb:c=two", {"c": "two"}),
        ("ucb:c=überschuhe", {"c": "überschuhe"}),
        ('epsilon_greedy:epsilon="a=b,c=d",step_size=x', {"epsilon": "a=b,c=d", "step_size": "x"}),
        ("gradient:baseline=false,step_size=x", {"baseline": False, "step_size": "x"}),
    ],
)
def test_a_word_is_a_string_without_quotes(text, parameters):
    assert policy(text).parameters == parameters


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**60), 2**60))
def test_no_digit_of_a_parameter_is_lost(initial_value, step_size):
    parameters = {"initial_value": initial_value, "step_size": step_size}
    choice = policy({"name": "greedy", **parameters})
    assert policy(str(choice)).parameters == choice.parameters == parameters


@given(st.lists(st.one_of(st.floats(0, 1), texts, st.booleans(), st.lists(texts))))
@settings(max_examples=20)
def test_lists_and_strings_survive_as_text(means):
    choice = environment({"name": MINE, "means": [means]})
    assert environment(str(choice)) == choice
    assert str(choice).isprintable()


def test_a_class_gets_whole_floats_as_floats():
    for choice in (policy("ucb:c=1.0"), policy(str(policy("ucb:c=1.0")))):
        assert type(choice.parameters["c"]) is float
        assert choice == policy("ucb:c=1")


def test_a_flat_list_for_a_parameter_that_takes_a_list_is_refused():
    with pytest.raises(ValueError, match=r"means is 0\.1; expected a list.*\[\["):
        environment({"name": "bernoulli", "means": [0.1, 0.9]})
    assert environment({"name": "bernoulli", "means": [[0.1, 0.9]]}).make(1, 0).num_actions == 2


def test_a_list_is_one_value_in_text_and_each_of_its_items_in_a_table():
    assert environment(f"{MINE}:means=[0.1,0.9]").parameters == {"means": [0.1, 0.9]}
    assert environment({"name": MINE, "means": [[0.1, 0.9]]}).parameters == {"means": [0.1, 0.9]}
    texts = list(map(str, PolicyChoice.expand({"name": "ucb", "c": [1, 2]})))
    assert texts == ["ucb:c=1", "ucb:c=2"]


def test_several_lists_stand_for_all_combinations():
    item = {"name": "gradient", "step_size": [0.1, 0.4], "baseline": [True, False]}
    assert list(map(str, PolicyChoice.expand(item))) == [
        f"gradient:step_size={step_size},baseline={baseline}"
        for step_size in (0.1, 0.4)
        for baseline in ("true", "false")
    ]


def test_a_class_of_ones_own_stands_where_an_id_does():
    env = environment(f"{MINE}:means=[0.1,0.9],batch_size=3").make(1, np.random.SeedSequence(0))
    assert type(env) is Bernoulli
    assert (env.num_actions, env.batch_size) == (2, 3)
    assert policy("bandit_envs:UCBPolicy:c=2").make(env, 0).num_actions == 2


def test_a_policy_is_made_to_fit_the_environment():
    made = policy("ucb:c=2").make(KArmedTestbed(4, batch_size=3), seed=0)
    assert type(made) is UCBPolicy
    assert (made.num_actions, made.batch_size) == (4, 3)


@pytest.mark.parametrize("data", ["digits", "wine", "breast_cancer"])
@pytest.mark.parametrize("parameters", ["", ":batch_size=4"])
def test_a_former_id_is_answered_with_what_stands_in_its_place(data, parameters):
    message = f"did you mean classification:data={data}"
    with pytest.raises(ValueError, match=message):
        environment(f"{data}{parameters}")
    with pytest.raises(ValueError, match=message):
        environment({"name": data, "batch_size": 4})


@for_each(
    ("name", "pair"),
    [
        ("logistic_thompson", "model=logistic,rule=thompson_sampling"),
        ("logistic_square_cb", "model=logistic,rule=square_cb"),
        ("logistic_elimination_reg_cb", "model=logistic,rule=elimination_reg_cb"),
        ("linear_elimination_reg_cb:alpha=2", "model=ridge,rule=elimination_reg_cb"),
        ("gp_ucb", "model=fourier,rule=upper_bound"),
        ("gp_thompson", "model=fourier,rule=thompson_sampling"),
        ("hybrid_lin_ucb", "model=hybrid_ridge,rule=upper_bound"),
        ("bayesian_softmax", "model=bayesian_ridge,rule=softmax"),
    ],
)
def test_a_name_with_words_of_a_model_and_a_rule_is_answered_with_the_pair(name, pair):
    with pytest.raises(ValueError, match=rf"did you mean (\w+ or )?contextual:{pair}\?") as error:
        policy(name)
    text = str(error.value).removesuffix("?").rpartition(" ")[2]
    env = ENVIRONMENTS["per_arm"].make(global_dim=2, arm_dim=3, max_num_actions=4, seed=0)
    assert policy(text).make(env, seed=0).num_actions == 4


def test_a_misspelt_id_is_answered_with_the_id_alone():
    with pytest.raises(ValueError, match=r"did you mean linear_thompson\?$"):
        policy("linear_thomson")


def test_a_former_id_of_a_policy_is_answered_too():
    with pytest.raises(ValueError, match="did you mean lin_ucb"):
        policy("disjoint_lin_ucb:alpha=2")


@for_each(
    ("text", "message"),
    [
        ("thomson", "did you mean thompson"),
        ("epsilon_gredy:epsilon=0.1", "did you mean epsilon_greedy"),
        ("qqq", "expected an id, all of which"),
        ("", "expected an id, all of which"),
        ("ucb:d=2", "'d'; expected c"),
        ("ucb:num_actions=2", "'num_actions' that users give; expected c"),
        ("greedy:epsilon=0.1", "'epsilon'; expected initial_value, step_size"),
        ("ucb", "needs a value for c"),
        ("ucb:", "needs a value for c"),
        ("ucb:c", "expected name:key=value"),
        ("ucb:c=2,c=3", "expected name:key=value"),
        ("ucb:c=2 3", "expected name:key=value"),
        ("ucb:c=2}", "expected name:key=value"),
        ("ucb:c=2}\nother={a=1", "expected name:key=value"),
        ("ucb:c=2} #", "expected name:key=value"),
        ("ucb:c=" + 5000 * "[", "expected name:key=value"),
        ("ucb:c=2020-01-01", "c is .*; expected a number"),
        ("ucb:c={a=1}", "c is .*; expected a number"),
        ("nowhere:Policy", "nowhere:Policy'.*No module"),
        ("tests.studies.mine:Nothing", "no attribute 'Nothing'"),
        ("tests.studies.mine:Bernoulli", "not a subclass of Policy"),
        ("tests.studies.mine:Alway", "did you mean Always"),
        (5, "policy is 5"),
        ({"epsilon": 1}, "policy is .*epsilon.*expected a table with a name"),
        ({"name": 5}, "policy is .*expected a table with a name"),
        ({"name": "ucb", "c": []}, "empty list"),
    ],
)
def test_what_names_no_policy_is_refused(text, message):
    with pytest.raises(ValueError, match=message) as error:
        policy(text)
    assert len(str(error.value)) < 1000


def test_a_users_module_may_have_the_name_of_an_id(tmp_path, monkeypatch):
    (tmp_path / "greedy.py").write_text("from bandit_envs import RandomPolicy as Mine\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert policy({"name": "greedy:Mine"}).entry.make is RandomPolicy


@pytest.mark.parametrize("text", ["def (", "1 / 0", "import nothing_here", "raise SystemExit(3)"])
def test_a_users_module_that_cannot_be_imported_is_named(tmp_path, monkeypatch, text):
    (tmp_path / "unfinished.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match="unfinished:Mine"):
        policy("unfinished:Mine")
