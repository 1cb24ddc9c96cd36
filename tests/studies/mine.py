"""An environment and a policy as users write them."""

import sys

import numpy as np

from bandit_envs import ArraySpec, KArmedTestbed
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment
from bandit_envs.policies import Policy
from bandit_envs.wrappers import ClipReward, DelayedRewards


class Bernoulli(BanditPyEnvironment):
    """A reward of 1 with a probability for each action, else 0."""

    def __init__(self, means, *, batch_size=1, seed=None, horizon=None):
        self._means_of_actions = np.asarray(means, np.float32)
        super().__init__(num_actions=len(means), batch_size=batch_size, seed=seed, horizon=horizon)

    def _initial_state(self, rng):
        return np.tile(self._means_of_actions, (self.batch_size, 1))

    def _expected_rewards(self, state):
        return state

    def _draw_rewards(self, rng, state, action):
        wins = rng.random(self.batch_size) < state[np.arange(self.batch_size), action]
        return wins.astype(np.float32)


class Unknown(Bernoulli):
    """The same, but nobody knows the means."""

    def _expected_rewards(self, state):
        raise NotImplementedError


class Clipped(ClipReward):
    """A Bernoulli bandit whose rewards are at most a half."""

    independent_rows = True

    def __init__(self, means, batch_size=1, seed=None):
        super().__init__(Bernoulli(means, batch_size=batch_size, seed=seed), (0.0, 0.5))


class Silent(ClipReward):
    """A testbed that does not say that its rows are problems of their own."""

    def __init__(self, batch_size=1, seed=None):
        super().__init__(KArmedTestbed(3, batch_size=batch_size, seed=seed), (-4.0, 4.0))


class OwnNews(BanditPyEnvironment):
    """Two articles, which a visitor with three features likes; each row has a site of its own."""

    independent_rows = True

    def __init__(self, *, batch_size=1, seed=None, horizon=None):
        spec = ArraySpec((3,), np.float32, "observation")
        super().__init__(spec, 2, batch_size=batch_size, seed=seed, horizon=horizon)

    def _initial_state(self, rng):
        weights = rng.normal(size=(self.batch_size, 2, 3)).astype(np.float32)
        return weights, self._visitors(rng)

    def _visitors(self, rng):
        return rng.normal(size=(self.batch_size, 3)).astype(np.float32)

    def _observe(self, state):
        return state[1]

    def _expected_rewards(self, state):
        weights, visitors = state
        return np.einsum("bkd,bd->bk", weights, visitors)

    def _draw_rewards(self, rng, state, action):
        means = self._expected_rewards(state)[np.arange(self.batch_size), action]
        return rng.normal(means, 0.1)

    def _next_state(self, rng, state, action):
        return state[0], self._visitors(rng)


class Delayed(DelayedRewards):
    """A Bernoulli bandit whose rewards come later."""

    independent_rows = True

    def __init__(self, means, delay, batch_size=1, seed=None):
        super().__init__(Bernoulli(means, batch_size=batch_size, seed=seed), delay)


class Always(Policy):
    """Chooses one action again and again."""

    def __init__(self, action=0, *, num_actions, batch_size=1, seed=None):
        self._action = action
        super().__init__(num_actions, batch_size, seed)

    def _select(self, rng, learned, time_step):
        return np.full(self.batch_size, self._action)


class Failing(Always):
    """Fails at once, by a mistake that NumPy finds."""

    def _select(self, rng, learned, time_step):
        return np.zeros(3) + np.zeros(2)


class Stumbling(Always):
    """Fails in some of its runs, at step 40: later than the steps that a study tries."""

    def _initial(self):
        return 0

    def _learn(self, learned, trajectory):
        if learned == 39 and trajectory.reward[0] == self._action:
            raise ArithmeticError("no luck \x1b[31m" + 5000 * "!")
        return learned + 1


class SilentError(Exception):
    """An error that fails to tell what it is."""

    def __str__(self):
        raise SystemExit(0)


ENDS = {
    "exit": lambda: sys.exit(0),
    "exit_with_text": lambda: sys.exit("enough"),
    "generator_exit": lambda: _raise(GeneratorExit()),
    "interrupt": lambda: _raise(KeyboardInterrupt()),
    "silent": lambda: _raise(SilentError()),
}
"""What a class of a user may do in place of raising an error."""


def _raise(error):
    raise error


class Ending(Always):
    """Ends its process, or tries to, once it is asked for the 30th time: later than a trial."""

    def __init__(self, how, hook, step=30, **options):
        self._how = how
        self._hook = hook
        self._step = step
        super().__init__(**options)
        if hook == "init":
            ENDS[how]()

    def _initial(self):
        return 0

    def _learn(self, learned, trajectory):
        self._end_in("learn", learned)
        return learned + 1

    def _select(self, rng, learned, time_step):
        self._end_in("select", learned)
        return super()._select(rng, learned, time_step)

    def _end_in(self, hook, step):
        if hook == self._hook and step == self._step:
            ENDS[self._how]()


class EndingArms(Bernoulli):
    """Ends its process, or tries to, at a step later than a trial."""

    def __init__(self, how, hook, batch_size=1, seed=None):
        self._how = how
        self._hook = hook
        super().__init__([0.5, 0.5], batch_size=batch_size, seed=seed)
        if hook == "init":
            ENDS[how]()

    def _initial_state(self, rng):
        return {"means": super()._initial_state(rng), "step": np.zeros(1, np.int64)}

    def _expected_rewards(self, state):
        return super()._expected_rewards(state["means"])

    def _draw_rewards(self, rng, state, action):
        self._end_in("draw_rewards", state)
        return super()._draw_rewards(rng, state["means"], action)

    def _next_state(self, rng, state, action):
        self._end_in("next_state", state)
        return {**state, "step": state["step"] + 1}

    def _end_in(self, hook, state):
        if hook == self._hook and state["step"] == 30:
            ENDS[self._how]()
