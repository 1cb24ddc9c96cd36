"""Environments that cannot be repeated: seeds and saved states miss something."""

import copy
import random

import numpy as np

from bandit_envs import KArmedTestbed
from bandit_envs.testing import EnvironmentContract
from tests.testing.sound_environments import Doubling


class SharesAGenerator(KArmedTestbed):
    """All environments of the class draw from one generator."""

    shared = np.random.default_rng(0)

    def _draw_rewards(self, rng, state, action):
        return super()._draw_rewards(self.shared, state, action)


class TakesNoSeed(KArmedTestbed):
    def seed(self, seed=None):
        return [seed]


class ReturnsNoSeeds(KArmedTestbed):
    def seed(self, seed=None):
        super().seed(seed)


class DrawsGlobally(KArmedTestbed):
    def _draw_rewards(self, rng, state, action):
        return np.random.normal(size=self.batch_size)


class DrawsFromRandom(KArmedTestbed):
    """The module random is global randomness as well."""

    def _draw_rewards(self, rng, state, action):
        return np.full(self.batch_size, random.gauss(0, 1))


class CountsOutside(KArmedTestbed):
    """Keeps something outside of `_state`; here even without any effect."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self._counts = [0]

    def _draw_rewards(self, rng, state, action):
        self._counts[0] += 1
        return super()._draw_rewards(rng, state, action)


class DrawsFromAGeneratorOfItsOwn(KArmedTestbed):
    def __init__(self, *, seed=None, **kwargs):
        super().__init__(seed=seed, **kwargs)
        self._rng = np.random.default_rng(seed)

    def _draw_rewards(self, rng, state, action):
        return super()._draw_rewards(self._rng, state, action)


class CountsOutsideWithin(Doubling):
    """The wrapped environment keeps something outside of its state."""

    def __init__(self, **kwargs):
        super().__init__(CountsOutside(**kwargs))


class DrawsToShow(KArmedTestbed):
    """Asking for the expected rewards moves the generator."""

    def _expected_rewards(self, state):
        self.np_random.random()
        return state


class SavesNoGenerator(KArmedTestbed):
    """The generator is left out of the token."""

    def get_state(self):
        return super().get_state()._replace(rng=np.random.default_rng(0))


class RestoresNoGenerator(KArmedTestbed):
    def set_state(self, state):
        rng = self.np_random
        super().set_state(state)
        self._state = self._state._replace(rng=rng)


class LosesTheAutoReset(KArmedTestbed):
    def set_state(self, state):
        super().set_state(state)
        self._handle_auto_reset = False


class LosesThePulls(KArmedTestbed):
    """A restored episode is as long as a whole one."""

    def set_state(self, state):
        super().set_state(state)
        if self._state.latent is not None:
            self._state = self._state._replace(hidden=self._state.latent._replace(pulls=0))


class HandsOutItsState(KArmedTestbed):
    """The token is not a copy."""

    def get_state(self):
        return self._state._replace(made_by=self._identity())


class KeepsTheToken(KArmedTestbed):
    """The token is not copied when it is used."""

    def set_state(self, state):
        super().set_state(state)
        self._state = state


class SavesAFunction(KArmedTestbed):
    def get_state(self):
        state = super().get_state()
        return lambda: state

    def set_state(self, state):
        super().set_state(state())


class SavesANumber(KArmedTestbed):
    """A token is a place in a list, which this process alone has."""

    saved = [None]  # noqa: RUF012 - shared by all of them, which is the fault

    def get_state(self):
        self.saved.append(super().get_state())
        return len(self.saved) - 1

    def set_state(self, state):
        super().set_state(self.saved[state])


class SavesItsSeed(KArmedTestbed):
    """A token says how far the generator is from the environment's own seed."""

    def __init__(self, *, seed=None, **kwargs):
        super().__init__(seed=seed, **kwargs)
        self._seed = seed

    def set_state(self, state):
        super().set_state(state)
        self.np_random.bit_generator.state = self._moved(state.rng)

    def _moved(self, saved):
        rng = copy.deepcopy(saved)
        if self._seed != 1:
            rng.random()
        return rng.bit_generator.state


class AcceptsAnyToken(KArmedTestbed):
    def set_state(self, state):
        self._state = copy.deepcopy(state)


class ChangesBeforeItRefuses(KArmedTestbed):
    def set_state(self, state):
        self.np_random.random()
        super().set_state(state)


class CopiesShareTheState(KArmedTestbed):
    def __deepcopy__(self, memo):
        return copy.copy(self)


class PicklesWithoutState(KArmedTestbed):
    def __getstate__(self):
        return {**vars(self), "_state": type(self)(seed=0, horizon=3)._state}


class HoldsAFunction(KArmedTestbed):
    """Cannot be pickled."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self._function = lambda: None


class SavesANumberContract(EnvironmentContract):
    def make_environment(self, seed):
        return SavesANumber(seed=seed)


FAULTS = [
    (SharesAGenerator, "test_equal_seeds_give_equal_trajectories"),
    (TakesNoSeed, "test_seed_starts_the_stream_of_another_environment"),
    (ReturnsNoSeeds, "test_seed_starts_the_stream_of_another_environment"),
    (DrawsGlobally, "test_global_randomness_is_neither_used_nor_moved"),
    (DrawsFromRandom, "test_global_randomness_is_neither_used_nor_moved"),
    (CountsOutside, "test_only_the_state_changes"),
    (CountsOutsideWithin, "test_only_the_state_changes"),
    (DrawsFromAGeneratorOfItsOwn, "test_only_the_state_changes"),
    (DrawsFromAGeneratorOfItsOwn, "test_set_state_replays_exactly_from_every_step"),
    (DrawsToShow, "test_looking_changes_nothing"),
    (SavesNoGenerator, "test_set_state_replays_exactly_from_every_step"),
    (RestoresNoGenerator, "test_set_state_replays_exactly_from_every_step"),
    (LosesTheAutoReset, "test_set_state_replays_exactly_from_every_step"),
    (LosesThePulls, "test_set_state_replays_exactly_from_every_step"),
    (HandsOutItsState, "test_a_token_can_be_used_twice"),
    (KeepsTheToken, "test_a_token_can_be_used_twice"),
    (SavesAFunction, "test_a_token_can_be_pickled"),
    (SavesItsSeed, "test_a_token_replays_in_an_environment_of_another_seed"),
    (AcceptsAnyToken, "test_set_state_refuses_what_is_no_token"),
    (ChangesBeforeItRefuses, "test_set_state_refuses_what_is_no_token"),
    (CopiesShareTheState, "test_copies_continue_alike_and_go_their_own_way"),
    (PicklesWithoutState, "test_copies_continue_alike_and_go_their_own_way"),
    (HoldsAFunction, "test_copies_continue_alike_and_go_their_own_way"),
]
