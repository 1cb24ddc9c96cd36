"""Policies that learn from logged slates."""

import numpy as np
import pytest

from bandit_envs import PositionBasedBandit, RandomSlatePolicy, StepDriver
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.logged.learners import learn_from_slates
from bandit_envs.nests import map_structure
from bandit_envs.policies import PBMUCBPolicy, TopKLinUCBPolicy, UCBPolicy

ATTRACTIONS = [0.1, 0.5, 0.2, 0.7, 0.3]
LOOKS = [1.0, 0.6, 0.3]


def record(env, num_actions, num_slots, steps):
    """Returns the slates of a random policy."""
    policy = RandomSlatePolicy(
        num_slots, num_actions=num_actions, batch_size=env.batch_size, seed=1
    )
    found = []
    driver = StepDriver(env, policy, [found.append], num_steps=steps, emit_log_probability=True)
    driver.run()
    return map_structure(lambda *leaves: np.concatenate(leaves), *found)


def test_a_policy_knows_the_best_slate_from_a_random_log():
    env = PositionBasedBandit(ATTRACTIONS, LOOKS, batch_size=500, seed=0)
    slates = record(env, 5, 3, steps=10)

    policy = learn_from_slates(PBMUCBPolicy(3, LOOKS, num_actions=5), slates)

    shown = policy.replicate(500).action(env.reset())
    assert (shown == [3, 1, 4]).all()


def test_what_is_learned_is_what_a_policy_learns_online():
    env = PositionBasedBandit(ATTRACTIONS, LOOKS, batch_size=1, seed=0)
    online = PBMUCBPolicy(3, LOOKS, num_actions=5, seed=2)
    seen = []
    StepDriver(env, online, [online.learn, seen.append], num_steps=50).run()
    slates = map_structure(lambda *leaves: np.concatenate(leaves), *seen)

    learned = learn_from_slates(PBMUCBPolicy(3, LOOKS, num_actions=5, seed=2), slates)

    for found, expected in zip(
        learned.get_state().content.learned, online.get_state().content.learned
    ):
        np.testing.assert_array_equal(found, expected)


def test_a_model_of_items_learns_all_rows_whatever_the_batches():
    env = ENVIRONMENTS["ranking"].make(num_items=6, num_slots=3, dim=2, batch_size=30, seed=0)
    slates = record(env, 6, 3, steps=10)
    policy = TopKLinUCBPolicy(**TopKLinUCBPolicy.arguments_for(env), seed=0)

    learned = [learn_from_slates(policy, slates, batch_rows=rows) for rows in (None, 7, 300)]

    models = [each.get_state().content.learned for each in learned]
    for other in models[1:]:
        np.testing.assert_allclose(models[0].theta, other.theta, atol=1e-9)
    assert learned[0].batch_size == 30
    assert np.abs(models[0].theta).sum() > 0.0


def test_what_shows_no_slates_is_refused():
    slates = record(PositionBasedBandit(ATTRACTIONS, LOOKS, seed=0), 5, 3, steps=2)
    for policy in (UCBPolicy(1.0, num_actions=5), RandomSlatePolicy(3, num_actions=5)):
        with pytest.raises(TypeError, match="expected a SlatePolicy that learns"):
            learn_from_slates(policy, slates)
    empty = map_structure(lambda leaf: leaf[:0], slates)
    with pytest.raises(ValueError, match="slates has 0 rows"):
        learn_from_slates(PBMUCBPolicy(3, LOOKS, num_actions=5), empty)
