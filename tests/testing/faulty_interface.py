"""Environments that break their specs or the order of time steps."""

import numpy as np

from bandit_envs import ArraySpec, KArmedTestbed
from bandit_envs.trajectories import StepType


class ManyRewardBits(KArmedTestbed):
    """Rewards are float64, the spec says float32."""

    def step(self, action):
        time_step = super().step(action)
        return time_step._replace(reward=time_step.reward.astype(np.float64))


class UnknownStepType(KArmedTestbed):
    def step(self, action):
        time_step = super().step(action)
        return time_step._replace(step_type=time_step.step_type + 1)


class BatchedAsMethod(KArmedTestbed):
    def batched(self):
        return True


class TwoRewardSpecs(KArmedTestbed):
    """`reward_spec` and `time_step_spec` disagree."""

    def reward_spec(self):
        return None if self._state is None else ArraySpec((), np.float64)

    def time_step_spec(self):
        return super().time_step_spec()._replace(reward=ArraySpec((), np.float32))


class ChangesItsSpec(KArmedTestbed):
    def step(self, action):
        self._observation_spec = ArraySpec((2,), np.float32)
        return super().step(action)


class ResetsWhenAsked(KArmedTestbed):
    def current_time_step(self):
        return self.reset() if self._state.time_step is None else super().current_time_step()


class ShowsTheTimeStepBefore(KArmedTestbed):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self._shown = None

    def reset(self):
        self._shown = super().reset()
        return self._shown

    def step(self, action):
        if self._state.time_step is not None:
            self._shown = self._state.time_step
        return super().step(action)

    def current_time_step(self):
        return super().current_time_step() if self._shown is None else self._shown


class ReusesItsBuffer(KArmedTestbed):
    """All rewards are returned in one and the same array."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self._buffer = np.zeros(self.batch_size, np.float32)

    def step(self, action):
        time_step = super().step(action)
        self._buffer[...] = time_step.reward
        return time_step._replace(reward=self._buffer.view())


class ActsInTheFirstStep(KArmedTestbed):
    def step(self, action):
        if self._state.time_step is None:
            self.reset()
        return super().step(action)


class KeepsTheReward(KArmedTestbed):
    """After a reset, the reward is still that of the last step."""

    def _reset(self):
        hidden, time_step = super()._reset()
        if self._state.time_step is not None:
            time_step = time_step._replace(reward=self._state.time_step.reward)
        return hidden, time_step


class GoesOnAfterTheEnd(KArmedTestbed):
    """Says that it should reset, and does not."""

    def step(self, action):
        if self._state.time_step is None:
            return self.reset()
        return self._advance(self._step, self._checked(action))


class StartsOverUnasked(KArmedTestbed):
    def step(self, action):
        time_step = super().step(action)
        return self.reset() if (time_step.reward > 1.0).any() else time_step


class UsesTheIgnoredAction(KArmedTestbed):
    """The action of the step that resets has an effect on it."""

    def step(self, action):
        if self._state.time_step is not None and self.should_reset(self._state.time_step):
            self.np_random.random(int(np.sum(action)) + 1)
        return super().step(action)


class OnePullTooFew(KArmedTestbed):
    def _step_type(self, pulls):
        return super()._step_type(pulls + 1)


class TerminatesAtTheHorizon(KArmedTestbed):
    """The last discount is 0, as if the episode was over and not cut off."""

    def _step(self, action):
        hidden, time_step = super()._step(action)
        last = (time_step.step_type == StepType.LAST).astype(np.float32)
        return hidden, time_step._replace(discount=1 - last)


class ResetsAllRows(KArmedTestbed):
    def reset_rows(self, rows):
        return self.reset() if np.any(rows) else self.current_time_step()


class ClosesOnce(KArmedTestbed):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self._open = True

    def close(self):
        if not self._open:
            raise AssertionError("closed already")
        self._open = False


FAULTS = [
    (ManyRewardBits, "test_time_steps_are_as_their_specs_say"),
    (UnknownStepType, "test_time_steps_are_as_their_specs_say"),
    (BatchedAsMethod, "test_time_steps_are_as_their_specs_say"),
    (TwoRewardSpecs, "test_specs_agree_and_never_change"),
    (ChangesItsSpec, "test_specs_agree_and_never_change"),
    (ResetsWhenAsked, "test_there_is_no_time_step_before_the_first_reset"),
    (ShowsTheTimeStepBefore, "test_the_current_time_step_is_the_one_returned_last"),
    (ReusesItsBuffer, "test_returned_time_steps_never_change"),
    (ActsInTheFirstStep, "test_the_first_step_resets_and_ignores_its_action"),
    (KeepsTheReward, "test_reset_starts_an_episode_at_any_time"),
    (GoesOnAfterTheEnd, "test_steps_reset_exactly_when_should_reset_says_so"),
    (StartsOverUnasked, "test_steps_reset_exactly_when_should_reset_says_so"),
    (UsesTheIgnoredAction, "test_steps_reset_exactly_when_should_reset_says_so"),
    (OnePullTooFew, "test_bandit_episodes_end_at_their_horizon"),
    (TerminatesAtTheHorizon, "test_bandit_episodes_end_at_their_horizon"),
    (ResetsAllRows, "test_reset_rows_leaves_the_other_rows_alone"),
    (ClosesOnce, "test_it_is_a_context_and_may_be_closed_twice"),
]
