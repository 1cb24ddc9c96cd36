"""Draws among items do not depend on how many places an observation has behind them."""

import numpy as np
import pytest

from bandit_envs import ArraySpec, ContextualPolicy
from bandit_envs.logged import BanditLog
from bandit_envs.logged.probabilities import tabulate
from bandit_envs.policies.models import BayesianRidge, Interactions, Logistic, Ridge
from bandit_envs.policies.rules import EpsilonGreedy, Softmax, SquareCB, ThompsonSampling
from bandit_envs.trajectories import Trajectory, restart

B = 3
MOST = 7

PARTS = [
    (Ridge(), ThompsonSampling()),
    (BayesianRidge(), ThompsonSampling()),
    (Logistic(), ThompsonSampling()),
    (Logistic(intercept=True), ThompsonSampling()),
    (Interactions(Logistic()), ThompsonSampling()),
    (Ridge(), EpsilonGreedy(0.3)),
    (Ridge(), Softmax(0.3)),
    (Ridge(), SquareCB()),
]


def draw_sets(steps, places, seed=0):
    """Yields observations of three rows, each with three to seven items in so many places."""
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        number = rng.integers(3, MOST + 1, B)
        items = np.zeros((B, places, 2))
        items[:, :MOST] = rng.normal(size=(B, MOST, 2))
        mask = np.arange(places) < number[:, np.newaxis]
        items[~mask] = 0.0
        yield {"global": rng.normal(size=(B, 1)), "per_arm": items, "mask": mask}


def make_policy(model, rule, places, **options):
    spec = {
        "global": ArraySpec((1,), np.float64),
        "per_arm": ArraySpec((places, 2), np.float64),
        "mask": ArraySpec((places,), np.bool_),
    }
    return ContextualPolicy(model, rule, observation_spec=spec, batch_size=B, seed=1, **options)


def run(model, rule, places, **options):
    """Returns what a policy chooses in 12 steps, in which it learns."""
    policy = make_policy(model, rule, places, **options)
    chosen = []
    for observation in draw_sets(12, places):
        time_step = restart(observation, B)
        action = policy.action(time_step)
        chosen.append(action)
        rewards = action.reshape(B, -1) % 3 == 0
        policy.learn(
            Trajectory(
                step_type=time_step.step_type,
                observation=observation,
                action=action,
                policy_info=(),
                next_step_type=time_step.step_type,
                reward=(rewards if action.ndim == 2 else rewards[:, 0]).astype(np.float32),
                discount=time_step.discount,
            )
        )
    return np.array(chosen)


@pytest.mark.parametrize(("model", "rule"), PARTS, ids=str)
def test_choices_do_not_depend_on_the_number_of_places(model, rule):
    expected = run(model, rule, MOST)
    assert len(np.unique(expected)) > 2
    assert np.array_equal(run(model, rule, MOST + 5), expected)


def test_slates_of_items_do_not_depend_on_the_number_of_places():
    parts = Logistic(), ThompsonSampling()
    slates = [run(*parts, places, num_slots=2) for places in (MOST, MOST + 5)]
    assert np.array_equal(*slates)


def test_counted_choices_of_a_log_do_not_depend_on_the_number_of_places():
    tables = []
    for places in (MOST, MOST + 5):
        parts = list(draw_sets(20, places))
        observation = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        log = BanditLog(
            observation, np.zeros(60, np.intp), np.zeros(60), np.full(60, 0.1), num_actions=places
        )
        policy = make_policy(Logistic(), ThompsonSampling(), places)
        tables.append(tabulate(policy, log, 20, seed=0, first_row=0)[:, :MOST])
    assert np.array_equal(*tables)


def test_a_policy_of_places_without_a_mask_draws_for_all():
    spec = {"global": ArraySpec((1,), np.float64), "per_arm": ArraySpec((4, 2), np.float64)}
    policy = ContextualPolicy(Logistic(), ThompsonSampling(), observation_spec=spec, seed=0)
    observation = {"global": np.ones((1, 1)), "per_arm": np.ones((1, 4, 2))}
    found = {int(policy.action(restart(observation, 1))[0]) for _ in range(60)}
    assert found == {0, 1, 2, 3}
