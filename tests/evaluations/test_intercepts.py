"""Policies that are built for columns with names have intercepts, unless their text says not."""

import numpy as np
import pytest

from bandit_envs import OutcomeTableBandit
from bandit_envs.datasets import Outcomes
from bandit_envs.drivers import StepDriver
from bandit_envs.environments.data.outcome_table import outcomes
from bandit_envs.evaluations import evaluate, learn
from bandit_envs.evaluations.routing import learn_router
from bandit_envs.logged import BanditLog, from_frame, read_policy, scan_log
from bandit_envs.policies.models import FourierFeatures, Logistic, Ridge
from bandit_envs.policies.policy_choice import PolicyChoice
from bandit_envs.wrappers import AffineReward

pandas = pytest.importorskip("pandas")

LINEAR = [
    "lin_ucb",
    "linear_thompson",
    "linear_epsilon_greedy:epsilon=0.1",
    'contextual:model="logistic",rule="greedy"',
    'contextual:model="fourier:model=ridge",rule="greedy"',
    'contextual:model="fourier",rule="greedy"',
]

ROLES = {"action": "item", "reward": "paid", "propensity": "p", "features": ["age"]}


def make_purchases(count=4000):
    """Purchases that depend on whether an age is above 45. The best policy earns 0.4."""
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, count)
    item = rng.choice(["boots", "hats", "shoes"], count, p=[0.5, 0.25, 0.25])
    chance = np.where((age > 45) == (item == "shoes"), 0.4, 0.1)
    paid = (rng.random(count) < chance).astype(int)
    p = np.where(item == "boots", 0.5, 0.25)
    return pandas.DataFrame({"age": age, "item": item, "p": p, "paid": paid})


@pytest.fixture(scope="module")
def purchases():
    return from_frame(make_purchases(), **ROLES)


@pytest.fixture
def table(tmp_path):
    """Outcomes of two actions that a centred feature does not explain."""
    rng = np.random.default_rng(0)
    paid = (rng.random((3000, 2)) < [0.3, 0.6]).astype(int)
    frame = pandas.DataFrame({"x": rng.normal(size=3000), "a": paid[:, 0], "b": paid[:, 1]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def models_of(policy, env):
    """Returns the model, and the one inside it, of a policy that a text names."""
    (choice,) = PolicyChoice.expand(policy)
    model = choice.make(env, 0).model
    return model, model.predictor


@pytest.mark.parametrize("policy", ["lin_ucb", "linear_thompson", LINEAR[3]])
def test_a_policy_of_one_number_follows_a_threshold(purchases, policy):
    found = evaluate(purchases, policy, "dr")
    assert found.rows[-1].value > 0.33
    assert not any("is linear" in note for note in found.notes)


def test_so_does_one_that_reads_a_file_in_batches(tmp_path):
    make_purchases().to_csv(tmp_path / "log.csv", index=False)
    scan = scan_log(tmp_path / "log.csv", batch_rows=500, **ROLES)
    assert evaluate(scan, "lin_ucb", "dr").rows[-1].value > 0.33


@pytest.mark.parametrize("policy", LINEAR)
def test_policies_of_a_table_of_outcomes_have_intercepts(table, policy):
    env = outcomes(str(table), features="x", reward="a,b")
    assert models_of(policy, env)[1].intercept
    assert models_of(policy, AffineReward(env, 2.0))[1].intercept
    arrays = OutcomeTableBandit(np.ones((4, 1)), np.ones((4, 2)))
    assert not models_of(policy, arrays)[1].intercept
    assert not models_of(policy, outcomes())[1].intercept


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("lin_ucb:intercept=false", Ridge()),
        ("lin_ucb:intercept=true", Ridge(intercept=True)),
        ('contextual:model="logistic:intercept=false",rule="greedy"', Logistic()),
        ('contextual:model="ridge:gamma=0.9",rule="greedy"', Ridge(0.9, intercept=True)),
        (
            'contextual:model="fourier:model=ridge",rule="greedy"',
            FourierFeatures(Ridge(intercept=True)),
        ),
    ],
)
def test_a_text_that_says_it_decides(table, policy, expected):
    assert models_of(policy, outcomes(str(table), features="x", reward="a,b"))[0] == expected


@pytest.mark.parametrize("policy", ["lin_ucb:intercept=true", LINEAR[0]])
def test_a_text_may_ask_for_it_of_arrays(policy):
    arrays = OutcomeTableBandit(np.ones((4, 1)), np.ones((4, 2)))
    assert models_of(policy, arrays)[0] == Ridge(intercept=policy.endswith("true"))


@pytest.mark.filterwarnings("ignore:.*the estimate is unreliable")
def test_logs_of_arrays_are_learned_without_it(purchases):
    arrays = BanditLog(
        purchases.observation, purchases.action, purchases.reward, purchases.propensity
    )
    named = evaluate(purchases, "lin_ucb", "ips").rows[-1].value
    plain = evaluate(arrays, "lin_ucb", "ips").rows[-1].value
    asked = evaluate(arrays, "lin_ucb:intercept=true", "ips").rows[-1].value
    assert plain < named
    assert asked == pytest.approx(named)


@pytest.mark.filterwarnings("ignore:what contextual")
def test_learners_of_a_text_have_it_where_features_have_names(purchases):
    text = "contextual:model=ridge"
    assert learn(purchases, text).policy.model == Ridge(intercept=True)
    assert learn(purchases, 'contextual:model="ridge:intercept=false"').policy.model == Ridge()
    arrays = BanditLog(
        np.column_stack((purchases.observation, np.ones(len(purchases)))),
        purchases.action,
        purchases.reward,
        purchases.propensity,
    )
    assert learn(arrays, text).policy.model == Ridge()


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.filterwarnings("ignore:what contextual")
def test_a_file_keeps_what_it_had(purchases, tmp_path, intercept):
    text = f'contextual:model="ridge:intercept={str(intercept).lower()}"'
    learn(purchases, text).write(tmp_path / "policy.npz")
    assert read_policy(tmp_path / "policy.npz").model == Ridge(intercept=intercept)
    found = evaluate(purchases, str(tmp_path / "policy.npz"), "dr").rows[-1].value
    assert (found > 0.33) == intercept


def test_routers_have_it_where_features_have_names():
    rng = np.random.default_rng(0)
    requests = Outcomes(
        contexts=rng.normal(size=(200, 1)).astype(np.float32),
        rewards=(rng.random((200, 2)) < [0.3, 0.6]).astype(float),
        costs=np.tile([1.0, 2.0], (200, 1)),
        actions=["small", "large"],
        available=None,
        features=["hardness"],
    )
    assert learn_router(requests, "lin_ucb", price=0.0).model == Ridge(intercept=True)
    plain = requests._replace(features=())
    assert learn_router(plain, "lin_ucb", price=0.0).model == Ridge()


def test_a_centred_feature_does_not_hide_which_action_is_better(table):
    chosen = []
    env = outcomes(str(table), features="x", reward="a,b", batch_size=1, seed=0)
    (choice,) = PolicyChoice.expand("lin_ucb")
    policy = choice.make(env, 0)
    watch = [policy, lambda trajectory: chosen.append(int(trajectory.action[0]))]
    StepDriver(env, policy, watch, num_steps=1500).run()
    assert np.mean(chosen) > 0.8
