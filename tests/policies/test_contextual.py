"""Contextual policies: what their two parts may be, and what an observation may be."""

import copy
import dataclasses
import itertools
import pickle

import numpy as np
import pytest

from bandit_envs import (
    ContextualPolicy,
    LinearThompsonSamplingPolicy,
    LinUCBPolicy,
    StationaryStochasticPerArmPyEnvironment,
    StepDriver,
)
from bandit_envs.nests import map_structure
from bandit_envs.policies import models, rules
from bandit_envs.policies.models import (
    BayesianRidge,
    FourierFeatures,
    HybridRidge,
    LinearScores,
    Logistic,
    Ridge,
)
from bandit_envs.policies.rules import (
    AdaptiveGreedy,
    EliminationRegCB,
    EliminationSquareCB,
    EpsilonGreedy,
    FirstPulls,
    Greedy,
    Mixed,
    OptimisticRegCB,
    Softmax,
    SquareCB,
    ThompsonSampling,
    UpperBound,
    UpperQuantile,
)
from bandit_envs.rewards import LinearReward
from bandit_envs.sampling import Normal
from bandit_envs.specs import ArraySpec
from bandit_envs.testing import assert_identical
from bandit_envs.trajectories import Trajectory, restart, termination
from tests.cases import for_each
from tests.policies.contextual_parts import (
    CONTEXT,
    ITEMS,
    MODELS,
    RULES,
    B,
    D,
    G,
    K,
    P,
    UsersModel,
    UsersRule,
    kinds_of_context,
    make_policy,
    observe,
    state_of,
    teach,
)

PARTS = [
    *MODELS.values(),
    *RULES.values(),
    LinearScores([[0.0, 1.5], [0.25, 0.0]]),
    UpperQuantile(70.0),
    UsersModel(2.0),
    UsersRule(),
    Mixed(FirstPulls(Mixed(Softmax(0.1)), 3), 0.25),
]
REPRS = [repr(part) for part in PARTS]


@for_each("part", PARTS)
def test_a_part_is_what_its_repr_says_and_equals_its_copies(part):
    names = {**vars(models), **vars(rules), "UsersModel": UsersModel, "UsersRule": UsersRule}
    assert eval(repr(part), names) == part
    assert pickle.loads(pickle.dumps(part)) == part
    assert copy.deepcopy(part) == part
    assert [part == other for other in PARTS] == [repr(part) == other for other in REPRS]
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(part, dataclasses.fields(part)[0].name if dataclasses.fields(part) else "a", 0)


def test_a_policy_says_how_it_was_made():
    assert repr(make_policy(Ridge(0.9), UpperBound(2.0))) == (
        "ContextualPolicy(Ridge(gamma=0.9, tikhonov_weight=1.0, initial_value=0.0, "
        "diagonal=False, dtype='float64', intercept=False), UpperBound(alpha=2.0))"
    )


WRONG = [
    (Ridge, "gamma", [1.5, -0.1, "1"]),
    (Ridge, "tikhonov_weight", [0, 5e-324, np.inf, None]),
    (Ridge, "initial_value", ["median", np.nan, 1e308, None]),
    (Ridge, "diagonal", [1, "yes", None]),
    (Ridge, "dtype", ["float16", "int", 3, object, None]),
    (BayesianRidge, "diagonal", [1, "yes", None]),
    (BayesianRidge, "dtype", ["float16", "double precision"]),
    (Logistic, "dtype", ["float16", "double precision"]),
    (Logistic, "tikhonov_weight", [0.0, "1"]),
    (Logistic, "initial_value", [0.0, 1.0, -1, "mean", None]),
    (BayesianRidge, "a0", [0.0, None]),
    (BayesianRidge, "b0", [-1.0]),
    (BayesianRidge, "tikhonov_weight", [0.0]),
    (BayesianRidge, "initial_value", ["mean"]),
    (HybridRidge, "shared_weight", [0.0]),
    (HybridRidge, "own_weight", [np.nan]),
    (HybridRidge, "initial_value", ["mean"]),
    (FourierFeatures, "model", ["ridge", Ridge, Greedy()]),
    (FourierFeatures, "length_scale", [0.0]),
    (FourierFeatures, "num_features", [0, 7, 2.5]),
    (FourierFeatures, "smoothness", [0.0, "1"]),
    (FourierFeatures, "seed", [-1, 0.5]),
    (EpsilonGreedy, "epsilon", [1.1, -0.1, "0.1", True]),
    (EpsilonGreedy, "decay", [0.0, 1.1]),
    (EpsilonGreedy, "smallest_epsilon", [1.1]),
    (UpperBound, "alpha", [-1.0, 1e308, "1"]),
    (UpperQuantile, "percentile", [0.0, 101]),
    (ThompsonSampling, "alpha", [-1.0, "1"]),
    (Softmax, "temperature", [0.0]),
    (Softmax, "cooling", [0.0, 1.5]),
    (SquareCB, "gamma_scale", [-1.0, 1e308]),
    (SquareCB, "gamma_exponent", [1.5, -0.5]),
    (EliminationSquareCB, "gamma_scale", [-1.0]),
    (EliminationSquareCB, "mellowness", [-1.0, "0.1"]),
    (OptimisticRegCB, "mellowness", [-1.0, "0.1"]),
    (EliminationRegCB, "mellowness", [-1.0, "0.1"]),
    (AdaptiveGreedy, "percentile", [-1.0, 101]),
    (AdaptiveGreedy, "decay", [0.0, 1.5]),
    (AdaptiveGreedy, "window", [0, 1.5]),
    (FirstPulls, "rule", ["greedy", Greedy, Ridge()]),
    (FirstPulls, "pulls", [-1, 0.5]),
    (Mixed, "rule", ["greedy", None]),
    (Mixed, "epsilon", [1.1, -0.1]),
]
NEEDED = {
    EpsilonGreedy: {"epsilon": 0.1},
    FirstPulls: {"rule": Greedy()},
    Mixed: {"rule": Greedy()},
}


@for_each(
    ("kind", "name", "wrong"), [(kind, name, each) for kind, name, all_ in WRONG for each in all_]
)
def test_wrong_parameters_of_parts_are_refused_by_name(kind, name, wrong):
    kind(**NEEDED.get(kind, {}))
    with pytest.raises((TypeError, ValueError), match=f"{name} is "):
        kind(**{**NEEDED.get(kind, {}), name: wrong})


@for_each(
    ("name", "wrong", "error"),
    [
        ("model", UpperBound(), TypeError),
        ("model", "ridge", TypeError),
        ("model", Ridge, TypeError),
        ("rule", Ridge(), TypeError),
        ("rule", UpperBound, TypeError),
        ("num_actions", 0, ValueError),
        ("num_actions", None, ValueError),
        ("num_actions", 2.0, TypeError),
        ("batch_size", 0, ValueError),
        ("seed", 0.5, TypeError),
        ("independent_rows", "yes", TypeError),
        ("observation_spec", {}, ValueError),
        ("observation_spec", None, ValueError),
        ("observation_spec", np.zeros(1), ValueError),
        ("observation_spec", ArraySpec((2,), "U1"), ValueError),
        ("observation_spec", {"per_arm": ArraySpec((3, 2), np.float32)}, ValueError),
        ("observation_spec", {"global": ArraySpec((2,), np.float32), "per_arm": 3}, ValueError),
        ("observation_spec", {**ITEMS, "per_arm": ArraySpec((), np.float32)}, ValueError),
        ("observation_spec", {**ITEMS, "global": ArraySpec((), np.str_)}, ValueError),
    ],
)
def test_wrong_arguments_of_a_policy_are_refused_by_name(name, wrong, error):
    good = {"observation_spec": CONTEXT, "num_actions": K, "model": Ridge(), "rule": UpperBound()}
    ContextualPolicy(**good)
    with pytest.raises(error, match=f"{name} is "):
        ContextualPolicy(**{**good, name: wrong})


def test_features_of_another_number_of_actions_are_refused():
    with pytest.raises(ValueError, match=r"num_actions is 4; expected 5, as many"):
        make_policy(Ridge(), Greedy(), ITEMS, num_actions=4)


@dataclasses.dataclass(frozen=True)
class MeansAlone(models.ValueModel):
    """Predicts 0."""

    def initial(self, sizes, rng):
        return 0

    def learn(self, learned, rows):
        return learned

    def means(self, learned, inputs):
        return np.zeros((len(inputs.context), K))


@dataclasses.dataclass(frozen=True)
class DrawnOnce(MeansAlone):
    """Its draws have no scale."""

    draws_are_scaled = False

    def draw(self, rng, learned, inputs, scale):
        return rng.random((len(inputs.context), K))


@for_each(
    ("model", "rule", "message"),
    [
        (
            MeansAlone(),
            UpperBound(),
            r"UpperBound needs interval .*; MeansAlone has means; use .*Ridge",
        ),
        (MeansAlone(), ThompsonSampling(), r"needs draw .*; use BayesianRidge, .*DrawnOnce"),
        (
            MeansAlone(),
            Mixed(FirstPulls(EliminationSquareCB())),
            "EliminationSquareCB needs interval",
        ),
        (FourierFeatures(MeansAlone()), UpperBound(), "MeansAlone has means; use"),
        (Ridge(), UpperQuantile(), "UpperQuantile needs quantile of a model; Ridge has .*, means$"),
        (LinearScores(np.zeros((K, 1 + D))), OptimisticRegCB(), "LinearScores has means; use"),
    ],
)
def test_a_rule_that_needs_what_a_model_cannot_do_is_refused_with_models_that_can(
    model, rule, message
):
    with pytest.raises(TypeError, match=message) as caught:
        make_policy(model, rule)
    assert "\n" not in str(caught.value)
    assert "FourierFeatures" not in str(caught.value).partition("use ")[2]


def test_draws_without_a_scale_are_not_scaled():
    make_policy(DrawnOnce(), ThompsonSampling())
    with pytest.raises(ValueError, match=r"alpha is 0.5; expected 1, as draws of a DrawnOnce"):
        make_policy(DrawnOnce(), ThompsonSampling(0.5))


def test_a_model_of_all_rows_cannot_be_one_of_independent_rows():
    with pytest.raises(ValueError, match="MeansAlone is one model for all rows"):
        make_policy(MeansAlone(), Greedy(), independent_rows=True)
    assert not make_policy(
        MeansAlone(), Greedy(), batch_size=1, independent_rows=True
    ).learns_by_row


def test_a_state_of_another_pair_is_refused_by_the_names_of_both():
    pairs = [
        (Ridge(), UpperBound()),
        (Ridge(), ThompsonSampling()),
        (Ridge(), SquareCB()),
        (Ridge(), EliminationSquareCB()),
        (BayesianRidge(), UpperBound()),
        (Logistic(), UpperBound()),
        (FourierFeatures(Ridge()), UpperBound()),
        (FourierFeatures(Logistic()), UpperBound()),
        (Ridge(), FirstPulls(UpperBound())),
        (Ridge(), FirstPulls(SquareCB())),
        (Ridge(), Mixed(FirstPulls(SquareCB()))),
        (Ridge(), Mixed(UpperBound())),
    ]
    policies = [make_policy(*pair) for pair in pairs]
    owners = [policy.get_state().owner for policy in policies]
    assert owners[0] == "ContextualPolicy(Ridge, UpperBound)"
    assert owners[6] == "ContextualPolicy(FourierFeatures(Ridge), UpperBound)"
    assert owners[10] == "ContextualPolicy(Ridge, Mixed(FirstPulls(SquareCB)))"
    assert len(set(owners)) == len(pairs)
    for policy in policies:
        before = policy.get_state()
        for other in policies:
            if other is not policy:
                with pytest.raises(ValueError, match="state belongs to a ContextualPolicy"):
                    policy.set_state(other.get_state())
        assert_identical(policy.get_state(), before, "the state after refusals")


@for_each(
    "other",
    [
        {"spec": ITEMS},
        {"spec": ArraySpec((D + 1,), np.float64)},
        {"independent_rows": True},
        {"batch_size": B + 1},
        {"num_actions": K + 1},
        {"model": Ridge(initial_value="mean")},
    ],
)
def test_a_state_of_other_sizes_is_refused(other):
    policy = make_policy(Ridge(), UpperBound())
    state = make_policy(**{"model": Ridge(), "rule": UpperBound(), **other}).get_state()
    with pytest.raises(ValueError, match="state "):
        policy.set_state(state)


def test_the_policies_with_known_names_are_their_pairs():
    for named, model, rule in [
        (LinUCBPolicy, Ridge(0.9, 2.0), UpperBound(0.5)),
        (LinearThompsonSamplingPolicy, Ridge(0.9, 2.0), ThompsonSampling(0.5)),
    ]:
        arguments = {"observation_spec": CONTEXT, "num_actions": K, "batch_size": B, "seed": 0}
        policy = named(0.5, 0.9, 2.0, **arguments)
        pair = ContextualPolicy(model, rule, **arguments)
        rng = np.random.default_rng(0)
        for _ in range(10):
            context = rng.normal(size=(B, D))
            action = policy.action(restart(context, B))
            np.testing.assert_array_equal(action, pair.action(restart(context, B)))
            reward = rng.random(B)
            teach(policy, context, action, reward)
            teach(pair, context, action, reward)
        assert (policy.model, policy.rule) == (model, rule)


@for_each("rule", RULES.values())
def test_what_an_instance_can_do_is_its_own_to_say(rule):
    scores = LinearScores(np.zeros((K, 1 + D)))
    assert make_policy(Ridge(), rule).can_learn
    if rule.needs == "means":
        # All others keep something, or count the rewards.
        assert make_policy(scores, rule).can_learn is (rule != Greedy())
        assert not make_policy(scores, EpsilonGreedy(0.1)).can_learn
    assert make_policy(Ridge(), rule).knows_probabilities is (rule != ThompsonSampling())
    assert not make_policy(Ridge(), FirstPulls(ThompsonSampling())).knows_probabilities
    limited = isinstance(rule, (OptimisticRegCB, EliminationRegCB, EliminationSquareCB))
    assert (make_policy(Ridge(), Mixed(rule)).reward_range == (0.0, 1.0)) is limited
    assert make_policy(Logistic(), rule).reward_range == (0.0, 1.0)


@for_each("name", MODELS)
def test_rewards_out_of_range_are_refused_and_nothing_is_learned(name):
    model = MODELS[name]
    for rule in (Greedy(), OptimisticRegCB()):
        policy = make_policy(model, rule, ITEMS)
        before = policy.get_state()
        low, high = policy.reward_range
        for reward in (np.nan, np.inf, low - 1.0 - abs(low), high + 1.0 + abs(high)):
            rewards = np.append(np.full(B - 1, 0.5), reward)
            with pytest.raises(ValueError, match=r"reward\[5\]"):
                teach(policy, observe(np.random.default_rng(0), ITEMS), np.zeros(B, int), rewards)
        assert_identical(policy.get_state(), before, "the state after a refusal")


def test_scores_that_are_fixed_are_those_of_their_weights_and_learn_nothing():
    weights = np.random.default_rng(0).normal(size=(K, 1 + D))
    policy = make_policy(LinearScores(weights), Softmax(1.0, cooling=1.0))
    context = observe(np.random.default_rng(1), CONTEXT)
    scores = np.array([[w[0] + w[1:] @ x for w in weights] for x in context])
    expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    teach(policy, context, np.zeros(B, int), np.ones(B))
    assert not policy.can_learn
    np.testing.assert_allclose(policy.probabilities(restart(context, B)), expected)
    for wrong, match in [
        (np.zeros(3), "weights has shape"),
        (np.zeros((0, 2)), "weights has shape"),
        ([[np.nan, 0.0]], "weights has NaN"),
    ]:
        with pytest.raises(ValueError, match=match):
            LinearScores(wrong)
    with pytest.raises(ValueError, match=r"weights has shape .* expected \(5, 8\)"):
        make_policy(LinearScores(np.zeros((K, D))), Greedy())


GOOD = {"global": np.zeros((B, G)), "per_arm": np.zeros((B, K, P))}


@for_each(
    ("spec", "observation"),
    [
        *(
            (ITEMS, observation)
            for observation in (
                None,
                (),
                np.zeros((B, 1)),
                {"global": GOOD["global"]},
                {**GOOD, "global": np.zeros((B, G + 1))},
                {**GOOD, "global": np.zeros(B)},
                {**GOOD, "per_arm": np.zeros((B, K + 1, P))},
                {**GOOD, "per_arm": np.full((B, K, P), "x")},
                {**GOOD, "per_arm": np.full((B, K, P), np.nan)},
                {**GOOD, "global": np.full((B, G), -np.inf)},
                {**GOOD, "global": np.full((B, G), 1e200)},
            )
        ),
        *(
            (CONTEXT, observation)
            for observation in (
                np.ones((B, D + 1)),
                np.ones((B + 1, D)),
                np.full((B, D), np.nan),
                np.full((B, D), 1e200),
                np.full((B, D), "a"),
                {},
            )
        ),
    ],
)
def test_observations_that_do_not_fit_are_refused_and_change_nothing(spec, observation):
    policy = make_policy(Ridge(), UpperBound(), spec)
    before = policy.get_state()
    start = restart(observation, B)
    with pytest.raises(ValueError, match="observation "):
        policy.action(start)
    with pytest.raises(ValueError, match="observation "):
        policy(Trajectory.from_transition(start, [0] * B, termination(observation, np.zeros(B))))
    assert_identical(policy.get_state(), before, "the state after a refusal")


def test_observations_are_flattened_and_joined_in_their_order():
    rng = np.random.default_rng(0)
    context, items = rng.normal(size=(B, 4)), rng.normal(size=(B, K, 3))
    joined = {"global": context, "per_arm": items}
    nests = {
        "global": {"user": context[:, :3].reshape(B, 3, 1), "age": context[:, 3]},
        "per_arm": (items[..., :2], items[..., 2]),
    }
    plain = context
    nested = {"observation": (context[:, :2].reshape(B, 2, 1), context[:, 2:]), "mask": MASK}
    for one, other in ((joined, nests), (plain, nested)):
        found = []
        for observation in (one, other):
            spec = map_structure(lambda array: ArraySpec(array.shape[1:], array.dtype), observation)
            policy = make_policy(Ridge(), UpperBound(), spec)
            for action in range(K):
                teach(policy, observation, np.full(B, action), np.arange(B) % 3.0)
            found.append(state_of(policy).model.theta)
        np.testing.assert_array_equal(*found)
    policy = make_policy(Ridge(), UpperBound(), ArraySpec((), np.int32))
    assert policy.action(restart(np.ones(B, np.int32), B)).shape == (B,)


MASK = np.ones((B, K), bool)


def test_an_observation_that_was_edited_in_place_is_read_again():
    spec = {"global": ArraySpec((1,), np.float64), "per_arm": ArraySpec((2, 1), np.float64)}
    policy = make_policy(Ridge(), Greedy(), spec, 1, num_actions=2)
    observation = {"global": np.zeros((1, 1)), "per_arm": np.array([[[1.0], [0.0]]])}
    time_step = restart(observation, 1)
    teach(policy, observation, [0], [1.0])
    assert policy.action(time_step) == [0]
    observation["per_arm"][...] = [[[0.0], [1.0]]]
    assert policy.action(time_step) == [1]


@pytest.mark.parametrize("name", MODELS)
@for_each("rule", [UpperBound(), ThompsonSampling()])
@for_each(("global_dim", "arm_dim"), [(0, 2), (2, 0), (0, 0)])
def test_contexts_or_items_may_have_no_features(name, rule, global_dim, arm_dim):
    reward = LinearReward(np.zeros(global_dim + arm_dim), 0.0)
    env = StationaryStochasticPerArmPyEnvironment(
        Normal(global_dim), Normal(arm_dim), K, reward, None, B, seed=0
    )
    for independent_rows in (False, True):
        options = {**ContextualPolicy.arguments_for(env), "independent_rows": independent_rows}
        policy = ContextualPolicy(MODELS[name], rule, **options, seed=1)
        seen = []
        StepDriver(env, policy, [policy, seen.append], 5).run()
        assert len({int(action) for step in seen for action in step.action}) > 1


def stepping(policies, spec, rng, steps):
    """Teaches a policy of B rows, and B policies of one row, the same; some steps in some rows."""
    wide, *ones = policies
    for step in range(steps):
        observation = observe(rng, spec)
        action = rng.integers(K, size=B)
        reward = rng.random(B)
        rows = rng.random(B) < 0.7 if step % 3 == 0 else np.full(B, True)
        teach(wide, observation, action, reward, rows)
        for row in np.flatnonzero(rows):
            one = slice(row, row + 1)
            part = map_structure(lambda leaf, one=one: leaf[one], observation)
            teach(ones[row], part, action[one], reward[one])


PAIRS = list(itertools.product([*MODELS, "user's"], [*RULES, "user's"]))
"""All models with all rules: those beside the first of each are slow."""


@pytest.mark.parametrize(
    ("name", "rule"),
    [pytest.param(*pair, marks=[pytest.mark.slow] * (not {*pair} & {*PAIRS[0]})) for pair in PAIRS],
)
def test_independent_rows_at_once_are_policies_of_one_row_bit_for_bit(name, rule):
    model = MODELS.get(name, UsersModel())
    for spec in kinds_of_context(model).values():
        options = {"rule": RULES.get(rule, UsersRule()), "independent_rows": True}
        masked = {**spec, "mask": MASK_SPEC} if spec is ITEMS else MASKED
        wide = make_policy(model, spec=masked, **options)
        ones = [make_policy(model, spec=masked, batch_size=1, **options) for _ in range(B)]
        rng = np.random.default_rng(0)
        stepping([wide, *ones], masked, rng, 9)
        learned = [state_of(one) for one in ones]
        joined = map_structure(lambda *parts: np.concatenate(parts), *learned)
        assert_identical(joined, state_of(wide), "what rows have learned alone")
        if wide.knows_probabilities:
            observation = observe(rng, masked)
            asked = wide.probabilities(restart(observation, B))
            for row, one in enumerate(ones):
                part = map_structure(lambda leaf, row=row: leaf[row : row + 1], observation)
                found = one.probabilities(restart(part, 1))
                assert_identical(found, asked[row : row + 1], "the probabilities of a row alone")


MASK_SPEC = ArraySpec((K,), np.bool_)
MASKED = {"observation": CONTEXT, "mask": MASK_SPEC}


def is_variant(name):
    """Whether a model differs from one with a shorter name by one parameter."""
    return any(f" {word} " in name for word in ("with", "of", "from"))


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * is_variant(name)) for name in MODELS],
)
def test_draws_for_independent_rows_are_of_their_own_models(name):
    """Held against draws of one row: 6 standard errors of the means and of the deviations."""
    model = MODELS[name]
    for spec in kinds_of_context(model).values():
        options = {"rule": ThompsonSampling(), "spec": spec, "independent_rows": True}
        policy = make_policy(model, **options)
        ones = [make_policy(model, batch_size=1, **options) for _ in range(B)]
        rng = np.random.default_rng(0)
        stepping([policy, *ones], spec, rng, 10)
        observation = observe(rng, spec)
        inputs = model.map_inputs(policy._reader.read(observation, B, True))
        learned = state_of(policy).model
        draw = model.predictor.draw
        draws = [draw(rng, learned, inputs, 1.0) for _ in range(500)]
        for row, one in enumerate(ones[:2]):
            part = map_structure(lambda leaf, row=row: leaf[row : row + 1], observation)
            read = model.map_inputs(one._reader.read(part, 1, True))
            of_one = state_of(one).model
            alone = [draw(rng, of_one, read, 1.0)[0] for _ in range(500)]
            found = np.array(draws)[:, row]
            error = np.std(alone, axis=0) * np.sqrt(2 / 500)
            assert (np.abs(found.mean(axis=0) - np.mean(alone, axis=0)) < 6 * error + 1e-12).all()
            ratio = found.std(axis=0) / np.std(alone, axis=0)
            assert (np.abs(ratio - 1.0) < 0.2).all()
