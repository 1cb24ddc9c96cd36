"""Products of contexts and actions: features of any model, and what they are worth."""

import numpy as np
import pytest

from bandit_envs.policies.models import Interactions, Logistic, Ridge
from bandit_envs.policies.parts.registry import Columns, make_model
from bandit_envs.policies.rules import Greedy, UpperBound
from bandit_envs.specs import ArraySpec
from bandit_envs.trajectories import restart
from tests.policies.contextual_parts import (
    CONTEXT,
    ITEMS,
    B,
    D,
    G,
    K,
    Lessons,
    P,
    features_of,
    make_policy,
    observe,
    ridge,
    state_of,
    teach,
)


def with_products(x):
    """Returns [x, z, x (x) z] of rows [x, z]."""
    return np.column_stack((x, (x[:, :G, np.newaxis] * x[:, np.newaxis, G:]).reshape(len(x), -1)))


def test_it_is_the_model_of_all_products():
    policy = make_policy(Interactions(Ridge(0.9, 0.5)), UpperBound(), ITEMS)
    lessons = Lessons(policy, ITEMS)
    x, rewards, ages = lessons.of(0)
    theta, inverse = ridge(with_products(x), rewards, 0.9**ages, 0.5)
    learned = state_of(policy).model
    assert learned.theta.shape == (1, 1, D + G * P)
    observation = observe(np.random.default_rng(2), ITEMS)
    seen = policy.model.map_inputs(policy._reader.read(observation, B))
    means = policy.model.predictor.means(learned, seen)
    _, upper = policy.model.predictor.interval(learned, seen, 2.0)
    for a in range(K):
        rows = with_products(features_of(observation)[:, a])
        widths = 2.0 * np.sqrt(np.einsum("bi,ij,bj->b", rows, inverse, rows))
        np.testing.assert_allclose(means[:, a], rows @ theta, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(upper[:, a] - means[:, a], widths, rtol=1e-9)


@pytest.mark.parametrize("model", [Ridge(intercept=True), Logistic(intercept=True)])
def test_the_best_item_depends_on_the_context_with_products_alone(model):
    spec = {"global": ArraySpec((1,), float), "per_arm": ArraySpec((2, 1), float)}
    rng = np.random.default_rng(0)

    def draw(size):
        hour = rng.uniform(size=(size, 1))
        price = rng.uniform(size=(size, 2, 1))
        return {"global": hour, "per_arm": price}

    def share_of_best(model):
        policy = make_policy(model, Greedy(), spec, batch_size=500, num_actions=2)
        for _ in range(20):
            seen = draw(500)
            action = rng.integers(2, size=500)
            chosen = seen["per_arm"][np.arange(500), action, 0]
            chance = 0.5 + 0.8 * (seen["global"][:, 0] - 0.5) * chosen
            teach(policy, seen, action, (rng.random(500) < chance).astype(float))
        seen = draw(500)
        worth = (seen["global"] - 0.5) * seen["per_arm"][..., 0]
        return np.mean(policy.action(restart(seen, 500)) == worth.argmax(axis=1))

    assert share_of_best(model) < 0.65
    assert share_of_best(Interactions(model)) > 0.85


def test_contexts_without_features_of_actions_are_refused():
    with pytest.raises(ValueError, match="no features of actions; Interactions expects global"):
        make_policy(Interactions(), Greedy(), CONTEXT)


def test_a_text_names_it_and_what_is_inside_it():
    text = "interactions:model='ridge:gamma=0.9,intercept=true'"
    assert make_model(text) == Interactions(Ridge(0.9, intercept=True))
    assert make_model("interactions", Columns(have_names=True)) == make_model(
        "interactions:model='ridge:intercept=true'"
    )
    assert make_model("interactions:model=ridge", Columns(have_names=True)) == Interactions(
        Ridge(intercept=True)
    )
    with pytest.raises(TypeError, match="model is 3; expected a Model"):
        Interactions(3)
