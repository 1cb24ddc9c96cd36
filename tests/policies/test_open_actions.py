"""Searches for the best action compare those that are available."""

import numpy as np
import pytest

from bandit_envs import BernoulliPyEnvironment, StepDriver
from bandit_envs.policies import (
    CTrackingPolicy,
    GOptimalPolicy,
    KLLUCBPolicy,
    LikelihoodRatioTestPolicy,
    LUCBPolicy,
    SuccessiveEliminationPolicy,
    TopTwoThompsonSamplingPolicy,
    TrackAndStopPolicy,
    UniformAllocationPolicy,
)
from bandit_envs.wrappers import ExtraDisabledActions, RandomActionMask, ScheduledActionMask

KINDS = {
    "track and stop": TrackAndStopPolicy,
    "c-tracking": CTrackingPolicy,
    "likelihood ratio test": LikelihoodRatioTestPolicy,
    "top-two thompson": TopTwoThompsonSamplingPolicy,
    "kl-lucb": KLLUCBPolicy,
    "lucb": LUCBPolicy,
    "successive elimination": SuccessiveEliminationPolicy,
}
QUICK = ("successive elimination",)
kinds = pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=[pytest.mark.slow] * (k not in QUICK)) for k in KINDS]
)

OF_K = {"lucb", "successive elimination"}
"""Those whose bounds are for all the places that there are, so that spare ones cost some steps."""

NEVER = np.inf


def make(kind, num_actions, batch_size, delta=0.05):
    return KINDS[kind](delta, num_actions=num_actions, batch_size=batch_size, seed=2)


def search(env, policy, num_steps=20_000):
    """Runs until all rows have stopped, and returns what they recommend: [B]."""
    driver = StepDriver(env, policy, [policy], num_steps=num_steps)
    return policy.recommend(driver.run_until_stopped())


def compared_by(policy):
    """Returns which actions each row of a policy compares: [B, K]."""
    compared = policy.get_state().content.learned.compared()
    return np.ones((policy.batch_size, policy.num_actions), bool) if compared is None else compared


@kinds
def test_spare_places_do_not_hold_up_the_stop(kind):
    found = []
    means = [0.9, 0.1] if kind in OF_K else [0.5, 0.2]
    for spare in (0, 3):
        env = BernoulliPyEnvironment(means, batch_size=100, seed=1)
        policy = make(kind, 2 + spare, 100)
        recommended = search(ExtraDisabledActions(env, spare), policy)
        assert policy.has_stopped
        assert (recommended == 0).mean() > 0.9
        found.append(policy.steps)
    if kind in OF_K:
        assert found[1].mean() < 1.2 * found[0].mean()
    elif kind == "top-two thompson":  # it draws for all places
        assert found[1].mean() == pytest.approx(found[0].mean(), rel=0.3)
    else:
        np.testing.assert_array_equal(*found)


@kinds
def test_an_action_that_was_retired_early_does_not_hold_up_the_stop(kind):
    env = BernoulliPyEnvironment([0.9, 0.4, 0.85], batch_size=60, seed=1)
    env = ScheduledActionMask(env, close_at=[NEVER, NEVER, 20])
    policy = make(kind, 3, 60)
    recommended = search(env, policy)
    assert policy.has_stopped
    assert (recommended == 0).mean() > 0.9
    assert policy.steps.mean() < 4000


@kinds
def test_an_action_counts_until_it_has_been_closed_for_long(kind):
    env = BernoulliPyEnvironment([0.5, 0.5, 0.5], batch_size=4, seed=1)
    env = ScheduledActionMask(env, close_at=[NEVER, NEVER, 40])
    policy = KINDS[kind](1e-9, num_actions=3, batch_size=4, seed=2)
    driver = StepDriver(env, policy, [policy], num_steps=10)
    for steps in range(10, 150, 10):
        driver.run()
        compared = compared_by(policy)
        assert compared[:, :2].all()
        assert (compared[:, 2] == (steps < 90)).all()


@kinds
def test_a_search_that_has_stopped_goes_on_if_another_action_opens(kind):
    bandit = BernoulliPyEnvironment([0.5, 0.1, 0.9], batch_size=30, seed=1)
    env = ScheduledActionMask(bandit, open_at=[0, 0, 1500])
    policy = make(kind, 3, 30)
    driver = StepDriver(env, policy, [policy], num_steps=1500)
    time_step = driver.run()
    assert policy.has_stopped
    assert (policy.recommend(time_step) != 2).mean() > 0.9
    time_step = StepDriver(env, policy, [policy], num_steps=1).run()
    assert not policy.stopped.any()
    time_step = StepDriver(env, policy, [policy], num_steps=9000).run_until_stopped()
    assert policy.has_stopped
    assert (policy.recommend(time_step) == 2).mean() > 0.9


def test_one_action_alone_is_no_search():
    env = ExtraDisabledActions(BernoulliPyEnvironment([0.5], batch_size=2, seed=0), 2)
    for kind in KINDS:
        policy = make(kind, 3, 2)
        StepDriver(env, policy, [policy], num_steps=200).run()
        assert not policy.stopped.any()


def test_a_search_of_a_fixed_budget_does_not_go_on():
    bandit = BernoulliPyEnvironment([0.5, 0.1, 0.9], batch_size=3, seed=1)
    env = ScheduledActionMask(bandit, open_at=[0, 0, 60])
    policy = UniformAllocationPolicy(50, num_actions=3, batch_size=3, seed=0)
    StepDriver(env, policy, [policy], num_steps=80).run()
    assert policy.steps.tolist() == [50] * 3


def test_a_design_of_features_stops_without_actions_that_are_never_available():
    features = [[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]]
    env = ExtraDisabledActions(BernoulliPyEnvironment([0.8, 0.2], batch_size=20, seed=1), 1)
    policy = GOptimalPolicy(0.05, features, num_actions=3, batch_size=20, seed=2)
    assert search(env, policy, 5000).tolist() == [0] * 20
    assert policy.has_stopped


@pytest.mark.slow
def test_dropped_actions_count_again_if_those_that_dropped_them_close():
    env = BernoulliPyEnvironment([1.0, 1.0, 0.3, 0.0], batch_size=20, seed=1)
    env = ScheduledActionMask(env, close_at=[600, 600, NEVER, NEVER])
    policy = SuccessiveEliminationPolicy(0.05, num_actions=4, batch_size=20, seed=2)
    StepDriver(env, policy, [policy], num_steps=600).run()
    assert policy.get_state().content.learned.plan.active[0].tolist() == [True, True, False, False]
    assert search(env, policy).tolist() == [2] * 20
    assert policy.has_stopped


@pytest.mark.slow  # 200 searches of each kind
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in {*OF_K, "c-tracking"}])
@pytest.mark.parametrize("case", ["spare", "retired", "random"])
def test_errors_stay_below_delta(kind, case):
    """The best of those compared at the stop is meant; the bound has four standard errors."""
    delta = 0.1
    size = 200
    env = BernoulliPyEnvironment([0.4, 0.5, 0.65], batch_size=size, seed=3)
    if case == "spare":
        env = ExtraDisabledActions(env, 2)
    elif case == "retired":
        env = ScheduledActionMask(env, close_at=[NEVER, NEVER, 100])
    else:
        env = RandomActionMask(env, 0.7)
    policy = make(kind, env.num_actions, size, delta)
    StepDriver(env, policy, [policy], num_steps=20_000).run_until_stopped()
    stopped = policy.stopped
    assert stopped.mean() > 0.98
    learned = policy.get_state().content.learned
    compared = compared_by(policy)
    means = np.tile([0.4, 0.5, 0.65, 0.0, 0.0], (size, 1))[:, : env.num_actions]
    best = np.where(compared, means, -np.inf).argmax(axis=1)
    found = np.where(compared, learned.pulls.values, -np.inf).argmax(axis=1)
    wrong = (best != found)[stopped].mean()
    assert wrong <= delta + 4.0 * np.sqrt(delta * (1.0 - delta) / size)
