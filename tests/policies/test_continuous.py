"""Policies that choose numbers know the densities of these."""

import numpy as np
import pytest

from bandit_envs import BernoulliPyEnvironment, BoundedArraySpec, RandomPolicy, StepDriver
from bandit_envs.environments import ContinuousBandit
from bandit_envs.policies import ContinuousPolicy, GaussianPolicy, RandomNumberPolicy
from tests.cases import for_each

B = 20_000


def make(std, coefficients=None, low=0.0, high=1.0, batch_size=B):
    env = ContinuousBandit(low=low, high=high, batch_size=batch_size, seed=0)
    arguments = GaussianPolicy.arguments_for(env)
    return env.reset(), GaussianPolicy(std, coefficients, seed=1, **arguments)


@for_each(("std", "middle"), [(0.2, 0.5), (1.0, 0.5), (0.3, 1.0), (0.3, -7.0)])
def test_gaussian_actions_are_as_frequent_as_their_densities(std, middle):
    time_step, policy = make(std, [middle])
    grid = np.linspace(0.0, 1.0, B).astype(np.float32)
    density = policy.probability_of(time_step, grid)
    assert density.mean() == pytest.approx(1.0, abs=1e-3)  # the integral over [0, 1]
    expected = density.reshape(20, -1).mean(axis=1) / 20
    action = policy.action(time_step)
    assert action.dtype == np.float32
    found = np.histogram(action, 20, (0.0, 1.0))[0] / B
    errors = np.sqrt(expected * (1.0 - expected) / B)
    assert (np.abs(found - expected) < 4.5 * errors).all()


def test_gaussian_actions_follow_the_context():
    time_step, policy = make(0.01, [0.5, 0.1, -0.1])
    means = np.clip(0.5 + time_step.observation @ [0.1, -0.1], 0.0, 1.0)
    assert np.abs(policy.action(time_step) - means).max() < 0.06
    distance = (0.5 - means) / 0.01
    inside = np.abs(means - 0.5) < 0.2
    density = np.exp(-0.5 * distance**2) / (np.sqrt(2 * np.pi) * 0.01)
    found = policy.probability_of(time_step, np.full(B, 0.5))
    np.testing.assert_allclose(found[inside], density[inside], rtol=1e-9)


def test_trajectories_tell_the_logarithm_of_the_density():
    time_step, policy = make(0.2, batch_size=3)
    action = policy.action(time_step)
    told = policy.info_of(time_step, action).log_probability
    np.testing.assert_array_equal(told, np.log(policy.probability_of(time_step, action)))


@for_each("ask", ["probabilities", "estimated_probabilities"])
def test_real_numbers_have_no_table_of_probabilities(ask):
    time_step, policy = make(0.2, batch_size=3)
    arguments = [time_step] if ask == "probabilities" else [time_step, 5, np.random.default_rng(0)]
    with pytest.raises(NotImplementedError, match=r"info_of\(\) tells how probable"):
        getattr(policy, ask)(*arguments)


class Middle(ContinuousPolicy):
    def _select(self, rng, learned, time_step):
        return self.drawn

    def _probability_of(self, learned, time_step, action):
        return np.ones(self.batch_size)


def test_a_policy_of_ones_own_acts_within_the_interval():
    env = ContinuousBandit(batch_size=2, seed=0)
    policy = Middle(action_spec=env.action_spec(), batch_size=2)
    policy.drawn = np.array([0.5, 1.0])
    StepDriver(env, policy, num_steps=2, emit_log_probability=True).run()
    policy.drawn = np.array([0.5])
    with pytest.raises(ValueError, match="_select returned"):
        policy.action(env.reset())


def test_bad_arguments_are_refused():
    env = ContinuousBandit(seed=0)
    arguments = GaussianPolicy.arguments_for(env)
    with pytest.raises(ValueError, match=r"std is 1\.5; expected at most 1"):
        GaussianPolicy(1.5, **arguments)
    with pytest.raises(ValueError, match="coefficients has 2 numbers; expected 1, or"):
        GaussianPolicy(0.1, [0.5, 1.0], **arguments)
    with pytest.raises(ValueError, match="two bounds"):
        RandomNumberPolicy(action_spec=BoundedArraySpec((), np.float32, 0.0))
    found = RandomNumberPolicy.arguments_for(BernoulliPyEnvironment([0.5]))
    with pytest.raises(ValueError, match="expected one floating-point number"):
        RandomNumberPolicy(**found)


def test_policies_of_numbered_actions_do_not_act_on_numbers_nor_the_other_way_round():
    env = ContinuousBandit(seed=0)
    with pytest.raises(NotImplementedError, match="not integers"):
        RandomPolicy.arguments_for(env)
    with pytest.raises(ValueError, match="policy chooses one of 2 actions; expected real numbers"):
        StepDriver(env, RandomPolicy(num_actions=2))
    with pytest.raises(ValueError, match="policy chooses real numbers; expected one of 1 actions"):
        StepDriver(BernoulliPyEnvironment([0.5]), RandomNumberPolicy(action_spec=env.action_spec()))
