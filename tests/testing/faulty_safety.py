"""Environments that a caller can change, by bad actions or by writing into arrays."""

import numpy as np

from bandit_envs import KArmedTestbed, StationaryStochasticPerArmPyEnvironment
from bandit_envs.rewards import LinearReward
from bandit_envs.sampling import Normal
from tests.testing.sound_environments import Preferences


class WrapsNegativeActions(KArmedTestbed):
    """-1 is the last action, as in a list."""

    def _checked(self, action):
        array = np.asarray(action)
        if array.dtype.kind == "i":
            array = np.where(array == -1, self.num_actions - 1, array)
        return super()._checked(array)


class TruncatesFloats(KArmedTestbed):
    def _checked(self, action):
        array = np.asarray(action)
        return super()._checked(array.astype(int) if array.dtype.kind == "f" else array)


class TakesBooleans(KArmedTestbed):
    def _checked(self, action):
        array = np.asarray(action)
        return super()._checked(array.astype(int) if array.dtype.kind == "b" else array)


class WrapsAt32Bits(KArmedTestbed):
    """2**32 is action 0."""

    def _checked(self, action):
        array = np.asarray(action)
        return super()._checked(array.astype(np.int32) if array.dtype == np.int64 else array)


class WrapsAt64Bits(KArmedTestbed):
    """Huge unsigned numbers come out negative, and end up at 0."""

    def _checked(self, action):
        array = np.asarray(action)
        if array.dtype == np.uint64:
            array = array.astype(np.int64).clip(0)
        return super()._checked(array)


class FlattensActions(KArmedTestbed):
    def _checked(self, action):
        return super()._checked(np.asarray(action).ravel())


class CutsOffRows(KArmedTestbed):
    def _checked(self, action):
        return super()._checked(np.asarray(action)[: self.batch_size])


class DrawsBeforeItRefuses(KArmedTestbed):
    """The generator has moved when the action is refused."""

    def _checked(self, action):
        before = self.np_random.bit_generator.state
        self.np_random.random()
        checked = super()._checked(action)
        self.np_random.bit_generator.state = before
        return checked


class RefusesByIndexError(KArmedTestbed):
    def _checked(self, action):
        try:
            return super()._checked(action)
        except (TypeError, ValueError) as error:
            raise IndexError(str(error)) from error


class ReturnsItsState(Preferences):
    """What is observed is the array that the next reward comes from."""

    def current_time_step(self):
        time_step = super().current_time_step()
        return time_step._replace(observation=self._state.latent.problem)


class LowersTheFlagOnly(Preferences):
    """The same, with a write flag that can be raised again."""

    def current_time_step(self):
        observation = self._state.latent.problem.view()
        observation.flags.writeable = False
        return super().current_time_step()._replace(observation=observation)


class UnprotectedCopies(Preferences):
    """Copied and unpickled environments hand out arrays that can be written."""

    def __setstate__(self, attributes):
        self.__dict__.update(attributes)


class UnprotectedAfterSetState(Preferences):
    def set_state(self, state):
        super().set_state(state)
        observation = self._state.latent.problem
        time_step = self._state.time_step._replace(observation=observation)
        self._state = self._state._replace(time_step=time_step)


class WritableMeans(KArmedTestbed):
    """The expected rewards are the state itself."""

    def expected_rewards(self):
        return self._state.latent.problem


class HandsOutItsDict(StationaryStochasticPerArmPyEnvironment):
    """The arrays of an observation are protected, but not the dict that holds them."""

    def __init__(self, **keywords):
        users, items, model = Normal(1), Normal(2), LinearReward(np.ones(3))
        super().__init__(users, items, 4, model, **keywords)

    def step(self, action):
        super().step(action)
        return self._state.time_step


class ShowsItsDict(HandsOutItsDict):
    def step(self, action):
        super().step(action)
        return self.current_time_step()

    def current_time_step(self):
        return self._state.time_step


class HandsOutItsSpec(HandsOutItsDict):
    """The observation is what the environment's own spec lists."""

    def step(self, action):
        time_step = super().step(action)
        observation = {key: time_step.observation[key] for key in self.observation_spec()}
        return time_step._replace(observation=observation)

    def current_time_step(self):
        time_step = super().current_time_step()
        observation = {key: time_step.observation[key] for key in self.observation_spec()}
        return time_step._replace(observation=observation)

    def observation_spec(self):
        return self._observation_spec


class KeepsThePassedAction(KArmedTestbed):
    def _checked(self, action):
        super()._checked(action)
        return np.asarray(action)


FAULTS = [
    (WrapsNegativeActions, "test_bad_actions_are_refused_and_change_nothing"),
    (TruncatesFloats, "test_bad_actions_are_refused_and_change_nothing"),
    (TakesBooleans, "test_bad_actions_are_refused_and_change_nothing"),
    (WrapsAt32Bits, "test_bad_actions_are_refused_and_change_nothing"),
    (WrapsAt64Bits, "test_bad_actions_are_refused_and_change_nothing"),
    (FlattensActions, "test_bad_actions_are_refused_and_change_nothing"),
    (CutsOffRows, "test_bad_actions_are_refused_and_change_nothing"),
    (DrawsBeforeItRefuses, "test_bad_actions_are_refused_and_change_nothing"),
    (RefusesByIndexError, "test_bad_actions_are_refused_and_change_nothing"),
    (ReturnsItsState, "test_returned_arrays_are_read_only"),
    (ReturnsItsState, "test_writing_into_returned_arrays_does_not_go_unnoticed"),
    (LowersTheFlagOnly, "test_writing_into_returned_arrays_does_not_go_unnoticed"),
    (UnprotectedCopies, "test_returned_arrays_are_read_only"),
    (UnprotectedCopies, "test_writing_into_returned_arrays_does_not_go_unnoticed"),
    (UnprotectedAfterSetState, "test_returned_arrays_are_read_only"),
    (UnprotectedAfterSetState, "test_writing_into_returned_arrays_does_not_go_unnoticed"),
    (HandsOutItsDict, "test_emptying_returned_containers_changes_nothing"),
    (ShowsItsDict, "test_emptying_returned_containers_changes_nothing"),
    (HandsOutItsSpec, "test_emptying_returned_containers_changes_nothing"),
    (WritableMeans, "test_returned_arrays_are_read_only"),
    (WritableMeans, "test_writing_into_returned_arrays_does_not_go_unnoticed"),
    (KeepsThePassedAction, "test_a_passed_action_may_be_written_afterwards"),
]
