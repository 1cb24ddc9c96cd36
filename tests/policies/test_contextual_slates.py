"""Slates of any model and any rule with an index."""

import dataclasses

import numpy as np
import pytest

from bandit_envs import ArraySpec, ContextualPolicy, KArmedTestbed, Trajectory
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.logged import write_policy
from bandit_envs.policies.models import (
    BayesianRidge,
    FourierFeatures,
    HybridRidge,
    LinearScores,
    Logistic,
    Ridge,
)
from bandit_envs.policies.registry import POLICIES
from bandit_envs.policies.rules import (
    AdaptiveGreedy,
    EpsilonGreedy,
    FirstPulls,
    Greedy,
    Mixed,
    OptimisticRegCB,
    Softmax,
    SquareCB,
    ThompsonSampling,
    UpperBound,
)
from bandit_envs.testing import PolicyContract
from bandit_envs.trajectories import restart
from tests.cases import for_each

B, K, S = 4, 6, 2
ITEMS = {"global": ArraySpec((2,), np.float64), "per_arm": ArraySpec((K, 3), np.float64)}
CONTEXT = ArraySpec((3,), np.float64)

MODELS = {
    "ridge": Ridge(0.9),
    "diagonal ridge": Ridge(diagonal=True),
    "hybrid ridge": HybridRidge(),
    "Bayesian ridge": BayesianRidge(),
    "logistic": Logistic(),
    "Fourier features": FourierFeatures(Ridge(), num_features=8),
}


def make(model, rule, spec=ITEMS, num_slots=S, **options):
    sizes = {"num_actions": K, "batch_size": B, "num_slots": num_slots}
    return ContextualPolicy(model, rule, observation_spec=spec, **{**sizes, "seed": 0, **options})


def observe(rng, spec=ITEMS):
    if isinstance(spec, dict):
        return {"global": rng.normal(size=(B, 2)), "per_arm": rng.normal(size=(B, K, 3))}
    return rng.normal(size=(B, 3))


def teach(policy, observation, action, reward):
    before = restart(observation, policy.batch_size)
    after = before._replace(reward=reward)
    policy(Trajectory.from_transition(before, action, after))


def slates(rng):
    return rng.random((B, K)).argsort(axis=1)[:, :S]


def repeated(observation):
    """Returns the observation of each slot."""
    if isinstance(observation, dict):
        return {key: np.repeat(leaf, S, axis=0) for key, leaf in observation.items()}
    return np.repeat(observation, S, axis=0)


def learned(policy):
    return policy.get_state().content.learned


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        *((name, ITEMS) for name in MODELS),
        *((name, CONTEXT) for name in MODELS if name != "hybrid ridge"),
    ],
)
def test_the_best_items_by_the_upper_bounds_of_any_model_come_first(name, spec):
    """Each slot teaches as a choice of one item does."""
    slate_policy = make(MODELS[name], UpperBound(), spec)
    single = make(MODELS[name], UpperBound(), spec, num_slots=None, batch_size=B * S)
    rng = np.random.default_rng(0)
    for _ in range(10):
        observation, action, reward = observe(rng, spec), slates(rng), rng.random((B, S))
        teach(slate_policy, observation, action, reward)
        teach(single, repeated(observation), action.reshape(-1), reward.reshape(-1))
    observation = observe(rng, spec)
    seen = single._seen(learned(single), repeated(observation), B * S)
    _, upper = seen.interval(1.0)
    shown = slate_policy.action(restart(observation, B))
    assert (shown == (-upper[::S]).argsort(axis=1)[:, :S]).all()
    assert learned(slate_policy).num_rewards == learned(single).num_rewards == 10 * B * S


def test_thompson_sampling_shows_the_best_items_of_a_drawn_model():
    policy = make(Ridge(), ThompsonSampling(), batch_size=1, num_slots=K)
    rng = np.random.default_rng(0)
    items = {"global": np.zeros((1, 2)), "per_arm": rng.normal(size=(1, K, 3))}
    shown = np.array([policy.action(restart(items, 1))[0] for _ in range(4000)])
    draws = np.random.default_rng(1).normal(size=(4000, 3)) @ items["per_arm"][0].T
    expected = (-draws).argsort(axis=1)
    for slot in range(K):
        found = np.bincount(shown[:, slot], minlength=K) / 4000
        wanted = np.bincount(expected[:, slot], minlength=K) / 4000
        assert found == pytest.approx(wanted, abs=6 * np.sqrt(2 * 0.25 / 4000))


def test_a_rule_that_explores_shows_any_slate():
    scores = LinearScores(np.column_stack((np.arange(K), np.zeros((K, 3)))))
    policy = make(scores, EpsilonGreedy(0.5), CONTEXT, batch_size=20_000)
    shown = policy.action(restart(np.zeros((20_000, 3)), 20_000))
    best = (shown == [K - 1, K - 2]).all(axis=1).mean()
    assert best == pytest.approx(0.5 + 0.5 / (K * (K - 1)), abs=6 * 0.5 / np.sqrt(20_000))
    assert (shown[:, 0] != shown[:, 1]).all()


@dataclasses.dataclass(frozen=True)
class Counting(UpperBound):
    """A user's rule that keeps how often it chose each action."""

    def after(self, seen, available, action):
        return seen.state


@for_each(
    "rule",
    [
        Softmax(),
        SquareCB(),
        AdaptiveGreedy(),
        FirstPulls(Greedy()),
        Mixed(UpperBound()),
        Counting(),
    ],
)
def test_a_rule_without_an_index_chooses_no_slates(rule):
    assert make(Ridge(), rule, num_slots=None).action_kind.is_single
    with pytest.raises(TypeError, match=f"{type(rule).__name__} chooses no slates; use UpperBound"):
        make(Ridge(), rule)


@for_each(
    ("options", "message"),
    [
        ({"num_slots": 0}, "num_slots is 0"),
        ({"num_slots": K + 1}, f"num_slots is {K + 1}"),
        ({"independent_rows": True}, "what learns from slates is one model for all rows"),
    ],
)
def test_slates_that_do_not_fit_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        make(Ridge(), UpperBound(), **options)


def test_the_environment_says_whether_slates_are_shown():
    ranking = ENVIRONMENTS["ranking"].make(num_items=K, num_slots=3, dim=2, batch_size=B)
    found = ContextualPolicy.arguments_for(ranking)
    assert found["num_slots"] == 3
    assert "num_slots" not in ContextualPolicy.arguments_for(KArmedTestbed(k=3))
    arguments = {"model": "bayesian_ridge", "rule": "optimistic_reg_cb"}
    policy = POLICIES["contextual"].make_for(ranking, arguments, seed=0)
    assert policy.action(ranking.reset()).shape == (B, 3)
    assert repr(policy).endswith("OptimisticRegCB(mellowness=0.1), num_slots=3)")


def test_slates_have_no_table_of_probabilities():
    policy = make(LinearScores(np.zeros((K, 4))), Greedy(), CONTEXT)
    assert not policy.knows_probabilities
    with pytest.raises(NotImplementedError, match="slates"):
        policy.probabilities(restart(np.zeros((B, 3)), B))


def test_items_that_are_not_available_come_last():
    spec = {"observation": CONTEXT, "mask": ArraySpec((K,), np.bool_)}
    policy = make(Ridge(), UpperBound(), spec)
    mask = np.tile(np.arange(K) < S, (B, 1))
    shown = policy.action(restart({"observation": np.zeros((B, 3)), "mask": mask}, B))
    assert (np.sort(shown, axis=1) == np.arange(S)).all()


def test_more_items_come_behind_the_known_ones():
    policy = make(Ridge(), Greedy(), CONTEXT)
    teach(policy, np.ones((B, 3)), np.tile([0, 1], (B, 1)), np.full((B, S), -1.0))
    wide = policy.with_actions(K + 1)
    shown = {int(item) for _ in range(30) for item in wide.action(restart(np.ones((B, 3)), B)).flat}
    assert shown == set(range(2, K + 1))


def test_a_policy_of_slates_is_not_written_as_one_of_single_actions(tmp_path):
    with pytest.raises(TypeError, match=r"slates of 2 of 6 items; .* single actions"):
        write_policy(tmp_path / "policy.npz", make(Ridge(), UpperBound()))


@pytest.mark.parametrize(
    ("model", "rule"),
    [
        (Ridge(0.95), ThompsonSampling(0.5)),
        pytest.param(HybridRidge(), UpperBound(), marks=pytest.mark.slow),
        pytest.param(Logistic(), EpsilonGreedy(0.3), marks=pytest.mark.slow),
        pytest.param(BayesianRidge(), OptimisticRegCB(), marks=pytest.mark.slow),
    ],
)
def test_the_contract_of_policies_holds_for_slates_of_a_pair(model, rule):
    class Contract(PolicyContract):
        def make_environment(self, batch_size, seed):
            sizes = {"num_items": K, "num_slots": 3, "dim": 2}
            return ENVIRONMENTS["ranking"].make(**sizes, batch_size=batch_size, seed=seed)

        def make_policy(self, env, seed):
            return ContextualPolicy(model, rule, **ContextualPolicy.arguments_for(env), seed=seed)

    contract = Contract()
    for name in dir(Contract):
        if name.startswith("test_"):
            getattr(contract, name)()
