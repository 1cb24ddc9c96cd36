import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandit_envs import (
    EpsilonGreedyPolicy,
    GaussianThompsonSamplingPolicy,
    GradientBanditPolicy,
    KArmedTestbed,
    RandomPolicy,
    UCBPolicy,
)
from bandit_envs.studies.specs import PolicySpec
from bandit_envs.trajectories import Trajectory


@pytest.mark.parametrize(
    ("text", "written", "label"),
    [
        ("greedy", "greedy", "greedy"),
        ("random", "random", "random"),
        ("epsilon_greedy:epsilon=0.10", "epsilon_greedy:epsilon=0.1", "ε-greedy, ε=0.1"),
        (
            "epsilon_greedy:step_size=1e-1,initial_value=5.0,epsilon=.1",
            "epsilon_greedy:epsilon=0.1,initial_value=5,step_size=0.1",
            "ε-greedy, ε=0.1, Q₁=5, α=0.1",
        ),
        ("greedy:step_size=none", "greedy:step_size=none", "greedy, α=none"),
        ("ucb:c=0.0625", "ucb:c=0.0625", "UCB, c=0.0625"),
        (
            "gradient:baseline=FALSE,step_size=0.4",
            "gradient:step_size=0.4,baseline=false",
            "gradient bandit, α=0.4, baseline=false",
        ),
        (
            "thompson:reward_std=2,prior_std=3,prior_mean=-1",
            "thompson:prior_mean=-1,prior_std=3,reward_std=2",
            "Thompson sampling, μ₀=-1, σ₀=3, σ=2",
        ),
    ],
)
def test_a_spec_is_written_in_one_way_and_labelled_as_in_the_book(text, written, label):
    spec = PolicySpec.parse(text)
    assert str(spec) == written
    assert spec.label() == label
    assert PolicySpec.parse(str(spec)) == spec


@given(
    st.floats(0.0, 1.0),
    st.floats(-1e9, 1e9),
    st.one_of(st.none(), st.floats(0.0, 1.0, exclude_min=True)),
)
def test_no_digit_of_a_parameter_is_lost_in_writing(epsilon, initial_value, step_size):
    parameters = {"epsilon": epsilon, "initial_value": initial_value, "step_size": step_size}
    spec = PolicySpec("epsilon_greedy", parameters)
    assert PolicySpec.parse(str(spec)).parameters == parameters


@pytest.mark.parametrize(
    ("text", "policy_class"),
    [
        ("random", RandomPolicy),
        ("greedy", EpsilonGreedyPolicy),
        ("epsilon_greedy:epsilon=0.1", EpsilonGreedyPolicy),
        ("ucb:c=2", UCBPolicy),
        ("gradient:step_size=0.1", GradientBanditPolicy),
        ("thompson", GaussianThompsonSamplingPolicy),
    ],
)
def test_a_spec_makes_a_policy_that_fits_the_environment(text, policy_class):
    policy = PolicySpec.parse(text).make(KArmedTestbed(4, batch_size=3), seed=0)
    assert type(policy) is policy_class
    assert (policy.num_actions, policy.batch_size) == (4, 3)


def test_the_parameters_reach_the_policy():
    env = KArmedTestbed(4, batch_size=3, seed=0)
    text = "epsilon_greedy:epsilon=0,initial_value=5,step_size=0.25"
    policy = PolicySpec.parse(text).make(env, seed=0)
    before = env.reset()
    action = policy.action(before)
    after = env.step(action)
    policy(Trajectory.from_transition(before, action, after))
    values = policy.get_state().learned.values
    np.testing.assert_allclose(values[np.arange(3), action], 5 + 0.25 * (after.reward - 5.0))
    assert np.count_nonzero(values == 5.0) == 9


def test_the_seed_is_that_of_the_policy():
    env = KArmedTestbed(10, batch_size=50, seed=0)
    left, right, other = (PolicySpec.parse("greedy").make(env, seed) for seed in (1, 1, 2))
    actions = [policy.action(env.reset()) for policy in (left, right, other)]
    np.testing.assert_array_equal(actions[0], actions[1])
    assert np.any(actions[0] != actions[2])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("thomson", "policy is 'thomson'; expected one of random, greedy, epsilon_greedy, ucb"),
        ("ucb:d=2", "policy ucb got 'd'; expected c"),
        ("ucb:num_actions=2", "policy ucb got 'num_actions'; expected c"),
        ("random:c=2", "policy random got 'c'; expected no parameters"),
        ("greedy:epsilon=0.1", "policy greedy got 'epsilon'; expected initial_value, step_size"),
        ("ucb", "policy ucb got no c; expected one"),
        ("ucb:", "policy is 'ucb:'; expected name:key=value,key=value"),
        ("ucb:c=2,", "policy is 'ucb:c=2,'; expected name:key=value,key=value"),
        ("ucb:c=2,c=2", "policy ucb got c twice; expected it once"),
        ("ucb:c=two", "c is 'two'; expected a number, true, false or none"),
        ("ucb:c=nan", "c is nan; expected a finite number"),
    ],
)
def test_a_malformed_spec_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        PolicySpec.parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ucb:c=0", "policy ucb:c=0: c is 0; expected more than 0"),
        ("ucb:c=none", "policy ucb:c=none: c is None; expected a number"),
        ("greedy:step_size=2", "policy greedy:step_size=2: step_size is 2; expected a number from"),
        ("gradient:step_size=1,baseline=none", "baseline is None; expected True or False"),
    ],
)
def test_a_parameter_out_of_its_range_is_refused_with_the_policy_named(text, message):
    with pytest.raises(ValueError, match=message):
        PolicySpec.parse(text).make(KArmedTestbed(4), seed=0)
