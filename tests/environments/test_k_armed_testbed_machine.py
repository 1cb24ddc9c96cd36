"""The testbed against a model of a few lines, whatever is done to it in whatever order."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from bandit_envs import KArmedTestbed
from bandit_envs.testing import assert_identical
from bandit_envs.trajectories import restart, transition, truncation

BAD = [None, "0", [], [0.5], [True], [[0]], [-1], [99], [2**40], [2**64 - 1], [np.nan], {"a": 0}]


class Model:
    """A k-armed testbed as one would write it down; a save is a copy of it."""

    def __init__(self, seed, k, size, horizon):
        self.rng = np.random.default_rng(seed)
        self.k, self.size, self.horizon = k, size, horizon
        self.observation = np.ones((size, 1), np.float32)
        self.time_step = None

    def reset(self):
        self.means = self.rng.normal(size=(self.size, self.k))
        self.pulls = 0
        first = restart(self.observation, self.size)
        self.time_step = first._replace(reward=np.zeros(self.size))

    def ignores_actions(self):
        return self.time_step is None or self.pulls == self.horizon

    def step(self, action):
        if self.ignores_actions():
            self.reset()
            return
        noise = self.rng.normal(size=self.size)
        reward = [self.means[row, action[row]] + noise[row] for row in range(self.size)]
        self.pulls += 1
        if self.horizon is None:
            discount, make = 0.0, truncation
        else:
            discount, make = 1.0, truncation if self.pulls == self.horizon else transition
        self.time_step = make(self.observation, reward, discount, np.float64)


class KArmedTestbedMachine(RuleBasedStateMachine):
    tokens = Bundle("tokens")

    @initialize(
        seed=st.integers(0, 2**32),
        k=st.integers(1, 4),
        size=st.integers(1, 3),
        horizon=st.none() | st.integers(1, 3),
    )
    def make(self, seed, k, size, horizon):
        arguments = {"batch_size": size, "horizon": horizon, "dtype": np.float64}
        self.env = KArmedTestbed(k, seed=seed, **arguments)
        self.other = KArmedTestbed(k, seed=seed + 1, **arguments)
        self.model = Model(seed, k, size, horizon)

    @rule(data=st.data(), dtype=st.sampled_from([np.int8, np.int32, np.uint64, list]))
    def step(self, data, dtype):
        action = data.draw(st.lists(st.integers(0, self.model.k - 1), min_size=self.model.size))
        action = action[: self.model.size]
        time_step = self.env.step(action if dtype is list else np.array(action, dtype))
        self.model.step(action)
        assert_identical(time_step, self.model.time_step)

    @rule(bad=st.sampled_from(BAD), good_rows=st.booleans())
    def bad_step(self, bad, good_rows):
        if good_rows and isinstance(bad, list) and bad != [True]:  # [0, True] is integers to NumPy
            bad = [0] * (self.model.size - 1) + bad
        if self.model.ignores_actions():
            self.model.step(None)
            assert_identical(self.env.step(bad), self.model.time_step)
            return
        before = self.env.get_state()
        with pytest.raises((TypeError, ValueError), match=r"^action"):
            self.env.step(bad)
        assert_identical(self.env.get_state(), before)

    @rule()
    def reset(self):
        self.model.reset()
        assert_identical(self.env.reset(), self.model.time_step)

    @rule(seed=st.integers(0, 2**32))
    def seed(self, seed):
        assert self.env.seed(seed) == [seed]
        self.model.rng = np.random.default_rng(seed)

    @rule(target=tokens, pickled=st.booleans())
    def save(self, pickled):
        token = self.env.get_state()
        if pickled:
            token = pickle.loads(pickle.dumps(token))
        return token, copy.deepcopy(self.model)

    @rule(saved=tokens, elsewhere=st.booleans())
    def restore(self, saved, elsewhere):
        token, model = saved
        if elsewhere:
            self.env, self.other = self.other, self.env
        self.env.set_state(token)
        self.model = copy.deepcopy(model)

    @rule(how=st.sampled_from([copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))]))
    def copy(self, how):
        self.env = how(self.env)

    @invariant()
    def shows_what_the_model_does(self):
        if self.model.time_step is None:
            with pytest.raises(ValueError, match="no time step yet"):
                self.env.current_time_step()
            return
        assert_identical(self.env.current_time_step(), self.model.time_step)
        assert_identical(self.env.expected_rewards(), self.model.means)
        position = self.env.np_random.bit_generator.state
        assert_identical(position, self.model.rng.bit_generator.state)


TestAgainstTheModel = KArmedTestbedMachine.TestCase
TestAgainstTheModel.settings = settings(max_examples=25, stateful_step_count=25)
