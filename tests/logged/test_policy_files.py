"""Files of contextual policies: any model with any rule, and nothing that a file names."""

import dataclasses
import sys
from typing import NamedTuple

import numpy as np
import pytest

from bandit_envs import ArraySpec, ContextualPolicy, LinUCBPolicy, load_state, save_state
from bandit_envs.logged import BanditLog, learn_from_log, read_policy, write_policy
from bandit_envs.policies.models import (
    BayesianRidge,
    FourierFeatures,
    LinearScores,
    Logistic,
    Ridge,
    ValueModel,
)
from bandit_envs.policies.parts.registry import MODELS, RULES, make_model, make_rule
from bandit_envs.policies.parts.written_parts import WrittenPart
from bandit_envs.policies.rules import (
    AdaptiveGreedy,
    FirstPulls,
    Greedy,
    Mixed,
    Rule,
    Softmax,
    SquareCB,
    ThompsonSampling,
    UpperBound,
)
from bandit_envs.testing import assert_identical
from bandit_envs.trajectories import restart
from tests.cases import for_each

SPEC = ArraySpec((2,), np.float64)
KEY = "bandit_envs.policy"


def log_of(size, seed=0):
    """A log of uniformly random choices among 3 actions."""
    rng = np.random.default_rng(seed)
    context = rng.normal(size=(size, 2))
    action = rng.integers(3, size=size)
    chance = 1.0 / (1.0 + np.exp(-context[:, 0] * (action - 1)))
    reward = (rng.random(size) < chance).astype(float)
    return BanditLog(context, action, reward, np.full(size, 1 / 3), 3)


def policy_of(model, rule, batch_size=1, spec=SPEC, **options):
    arguments = {"observation_spec": spec, "num_actions": 3, "batch_size": batch_size}
    return ContextualPolicy(model, rule, **arguments, **options, seed=0)


def learned(policy):
    return policy.get_state().content.learned


class Count(NamedTuple):
    """What `Favourite` has learned."""

    counts: np.ndarray


@dataclasses.dataclass(frozen=True)
class Favourite(ValueModel):
    """A model of one's own: how often each action was chosen."""

    weight: float

    def initial(self, sizes, rng):
        return Count(np.zeros(sizes.num_actions))

    def learn(self, learned, rows):
        np.add.at(learned.counts, rows.action, self.weight)
        return learned

    def means(self, learned, inputs):
        return np.tile(learned.counts, (len(inputs.context), 1))


@dataclasses.dataclass(frozen=True)
class Last(Rule):
    """A rule of one's own: the last action but for some."""

    skipped: tuple

    def probabilities(self, seen, available):
        table = np.zeros(seen.shape)
        table[:, max({*range(seen.shape[1])} - {*self.skipped})] = 1.0
        return table


PAIRS = [
    (Ridge(gamma=0.99), UpperBound(2.0)),
    (Ridge(initial_value="mean"), Mixed(Softmax(cooling=1.0), epsilon=0.05)),
    (Ridge(diagonal=True, dtype="float32"), UpperBound()),
    (Logistic(), SquareCB(gamma_scale=100.0)),
    (Logistic(dtype="float32"), Greedy()),
    (BayesianRidge(), FirstPulls(ThompsonSampling(), pulls=2)),
    (FourierFeatures(Logistic(), num_features=20), FirstPulls(Mixed(Greedy()))),
    (Ridge(), AdaptiveGreedy(window=7)),
    (LinearScores(np.arange(9.0).reshape(3, 3)), Softmax()),
    (Favourite(2.0), Last((2,))),
]


@pytest.mark.parametrize(("model", "rule"), PAIRS, ids=repr)
def test_a_policy_that_learned_from_a_log_goes_on_from_its_file(model, rule, tmp_path):
    policy = learn_from_log(policy_of(model, rule), log_of(200))
    write_policy(tmp_path / "policy.npz", policy)

    read = read_policy(tmp_path / "policy.npz", parts=[Favourite, Last])
    made = read.make(SPEC, batch_size=5)

    assert (made.model, made.rule, made.can_learn) == (model, rule, policy.can_learn)
    assert made.is_untrained is policy.is_untrained
    assert_identical(learned(made), learned(policy))
    if policy.can_learn:
        later = log_of(50, seed=1)
        assert_identical(
            learned(learn_from_log(made, later)), learned(learn_from_log(policy, later))
        )
    shown = restart(log_of(5, seed=2).observation, 5)
    if made.knows_probabilities:
        expected = policy.replicate(5).probabilities(shown)
        np.testing.assert_array_equal(made.probabilities(shown), expected)


def test_rows_that_are_problems_keep_what_each_knows(tmp_path):
    policy = policy_of(Ridge(), FirstPulls(Greedy(), pulls=1), batch_size=4, independent_rows=True)
    policy = learn_from_log(policy, log_of(100))
    write_policy(tmp_path / "policy.npz", policy)
    made = read_policy(tmp_path / "policy.npz").make(SPEC, batch_size=6)
    assert_identical(learned(made), learned(policy.replicate(6)))


def test_one_model_for_features_of_actions_is_written_too(tmp_path):
    spec = {"global": ArraySpec((1,), np.float64), "per_arm": ArraySpec((3, 2), np.float64)}
    rng = np.random.default_rng(0)
    observation = {"global": rng.normal(size=(90, 1)), "per_arm": rng.normal(size=(90, 3, 2))}
    log = BanditLog(observation, log_of(90).action, log_of(90).reward, [1 / 3] * 90, 3)
    policy = learn_from_log(policy_of(Ridge(), UpperBound(), spec=spec), log)
    write_policy(tmp_path / "policy.npz", policy)
    made = read_policy(tmp_path / "policy.npz").make(spec)
    assert_identical(learned(made), learned(policy))
    with pytest.raises(ValueError, match="has the action_dim None; expected 2"):
        read_policy(tmp_path / "policy.npz").make(ArraySpec((1,), np.float64))


def test_a_named_policy_and_one_that_has_learned_nothing_are_written(tmp_path):
    policy = LinUCBPolicy(3.0, observation_spec=SPEC, num_actions=3)
    write_policy(tmp_path / "policy.npz", policy, learned_from=log_of(20), features=["x", "y"])
    read = read_policy(tmp_path / "policy.npz")
    assert (read.model, read.rule, read.learned) == (Ridge(), UpperBound(3.0), None)
    assert (read.rows_learned, read.features) == (20, ["x", "y"])
    assert read.make(SPEC).is_untrained


def test_a_fixed_policy_is_written_with_what_its_state_was_set_to(tmp_path):
    policy = policy_of(LinearScores(np.zeros((3, 3))), Greedy())
    other = policy_of(LinearScores(np.eye(3)), Greedy())
    policy.set_state(other.get_state())
    write_policy(tmp_path / "policy.npz", policy)
    assert_identical(learned(read_policy(tmp_path / "policy.npz").make(SPEC)), learned(other))


class NoDataclass(Favourite):
    """A model whose parameters are not fields."""

    def __init__(self, weight, more):
        super().__init__(weight)
        object.__setattr__(self, "more", more)


@dataclasses.dataclass(frozen=True)
class WithFunction(Last):
    """A rule with a parameter that no file holds."""

    function: object = len


class OwnPolicy(ContextualPolicy):
    """A policy of one's own, of which a file does not tell what it overrides."""


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (policy_of(Favourite(1.0), WithFunction(())), "function of a WithFunction is <built-in"),
        (
            policy_of(NoDataclass(1.0, 2.0), Greedy()),
            "NoDataclass cannot be written; expected a frozen",
        ),
        (
            OwnPolicy(Ridge(), Greedy(), observation_spec=SPEC, num_actions=3),
            "policy is a OwnPolicy; expected a ContextualPolicy",
        ),
    ],
)
def test_what_cannot_be_written_is_refused(policy, message, tmp_path):
    with pytest.raises(TypeError, match=message):
        write_policy(tmp_path / "policy.npz", policy)
    assert not list(tmp_path.iterdir())


def rewrite(path, **changes):
    """Changes what a file says of a policy."""
    content = load_state(path)[KEY]
    save_state(path, {KEY: {**content, **changes}})


def test_a_users_own_class_is_read_only_if_it_is_given(tmp_path):
    file = tmp_path / "policy.npz"
    write_policy(file, policy_of(Favourite(2.0), Last((1,))))
    with pytest.raises(ValueError, match=r"test_policy_files:Favourite', .*parts=\[Favourite\]"):
        read_policy(file)
    with pytest.raises(ValueError, match=r"parts=\[Last\]"):
        read_policy(file, parts=[Favourite])
    twice = dataclasses.make_dataclass("Last", [], bases=(Rule,), frozen=True)
    with pytest.raises(ValueError, match="parts has 2 classes of this name"):
        read_policy(file, parts=[Favourite, Last, twice])
    with pytest.raises(TypeError, match="expected classes of models and rules"):
        read_policy(file, parts=[Favourite(1.0)])
    assert read_policy(file, parts=[Favourite, Last]).rule == Last((1,))


BAD = [
    ({"rule": WrittenPart("ridge", {})}, "found a Ridge; expected a Rule"),
    ({"model": WrittenPart("softmax", {})}, "found a Softmax; expected a Model"),
    ({"model": WrittenPart("ridg", {})}, "it holds a 'ridg', which is not"),
    ({"model": WrittenPart(3, {})}, "it holds a 3"),
    (
        {"model": WrittenPart("os:system", {"command": "ls"})},
        "it holds a 'os:system', which is not",
    ),
    ({"model": WrittenPart("two\nlines", {})}, r"it holds a 'two\\nlines', which is not"),
    ({"model": WrittenPart("ridge", {"gamma": 2.0})}, "gamma is 2"),
    ({"model": WrittenPart("ridge", {"weight": 1.0})}, "unexpected keyword"),
    ({"model": WrittenPart("ridge", [1])}, "expected a Model"),
    (
        {"rule": WrittenPart("mixed", {"rule": WrittenPart("nothing", {})})},
        "it holds a 'nothing', which is not",
    ),
    (
        {"rule": WrittenPart("mixed", {"rule": WrittenPart("ridge", {})})},
        "rule is Ridge.*expected a Rule",
    ),
    ({"rule": WrittenPart("mixed", {"rule": np.random.default_rng(0)})}, "expected a parameter"),
    ({"rule": WrittenPart("upper_quantile", {})}, "UpperQuantile needs quantile of a model"),
    ({"rule": "softmax"}, "rule is a str"),
    ({"sizes": {"num_actions": 3}}, "of the sizes"),
    ({"learned": np.zeros(3, np.uint8)}, "is damaged"),
    ({"rows_learned": -1}, "fewer than 0 rows"),
    (
        {"encoding": {"actions": ["a", "b", "\ud800"], "features": []}},
        "the names of actions have characters that no text has",
    ),
    (
        {"encoding": {"actions": [], "features": [{"name": "\ud800", "kind": "number"}]}},
        "the columns of encoding have characters that no text has",
    ),
    ({"format": None}, "does not hold a learned policy"),
    ({"format": 0}, "of an older version of bandit_envs, in format 0; this version reads format 1"),
    ({"format": 2}, "of a newer version of bandit_envs, in format 2; this version reads format 1"),
]


@for_each(("changes", "message"), BAD)
def test_a_file_that_holds_something_else_is_refused(changes, message, tmp_path):
    file = tmp_path / "policy.npz"
    write_policy(file, policy_of(Ridge(), Greedy()))
    rewrite(file, **changes)
    with pytest.raises(ValueError, match=message) as caught:
        read_policy(file)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_sizes_that_no_memory_holds_are_refused(tmp_path):
    file = tmp_path / "policy.npz"
    write_policy(file, policy_of(Ridge(), Greedy()))
    sizes = load_state(file)[KEY]["sizes"]
    rewrite(file, sizes={**sizes, "batch_size": 10**15, "independent_rows": 1})
    with pytest.raises(ValueError, match=r"a policy of the sizes .* takes too much memory"):
        read_policy(file).make(SPEC)


def test_what_a_policy_knows_must_fit_its_model(tmp_path):
    file = tmp_path / "policy.npz"
    write_policy(file, learn_from_log(policy_of(Ridge(), Greedy()), log_of(20)))
    rewrite(file, model=WrittenPart("logistic", {}))
    with pytest.raises(ValueError, match="state does not fit ContextualPolicy"):
        read_policy(file).make(SPEC)


TEXTS = {
    "linear_scores": "linear_scores:weights=[[0.0, 1.0], [1.0, 0.0]]",
    "estimators": 'estimators:estimator="LogisticRegression",num_replicas=2',
    "epsilon_greedy": "epsilon_greedy:epsilon=0.1",
    "first_pulls": "first_pulls:rule=greedy",
    "mixed": "mixed:rule=softmax",
}


@pytest.mark.parametrize("name", [*MODELS, *RULES])
def test_no_text_in_a_file_names_code_that_is_imported(name, tmp_path, monkeypatch):
    text = TEXTS.get(name, name)
    try:
        part = make_model(text) if name in MODELS else make_rule(text)
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")
    file = tmp_path / "policy.npz"
    monkeypatch.delitem(sys.modules, "tests.logged.logs", raising=False)
    write_policy(file, policy_of(Ridge(), Greedy()))
    written = file.read_bytes()
    for field in dataclasses.fields(part):
        file.write_bytes(written)
        hostile = WrittenPart(name, {field.name: "tests.logged.logs:random_log"})
        rewrite(file, **{"model" if name in MODELS else "rule": hostile})
        if field.name == "device":  # any text is one, and names no code
            read_policy(file)
        else:
            with pytest.raises(ValueError, match=r"policy\.npz"):
                read_policy(file)
        assert "tests.logged.logs" not in sys.modules
