"""Environments with one fault each, and the test of the contract that must find it."""

import copy

import numpy as np

from bandit_envs import (
    ArraySpec,
    BanditPyEnvironment,
    BoundedArraySpec,
    DelayedRewards,
    KArmedTestbed,
    RestedBandit,
    StationaryStochasticPerArmPyEnvironment,
)
from bandit_envs.base.known_means import Means
from bandit_envs.rewards import LinearReward
from bandit_envs.sampling import Integers, Normal
from bandit_envs.testing import EnvironmentContract
from bandit_envs.wrappers import Wrapper
from bandit_envs.wrappers.masks import MaskingWrapper
from tests.testing.sound_environments import Preferences

FAULTS = []


def caught_by(*tests):
    """Registers an environment with the tests that must fail for it."""

    def register(environment_class):
        FAULTS.extend((environment_class, test) for test in tests)
        return environment_class

    return register


@caught_by("test_time_steps_conform_to_their_specs_and_never_change")
class ManyRewardBits(KArmedTestbed):
    """Rewards are float64, the spec says float32."""

    def step(self, action):
        time_step = super().step(action)
        return time_step._replace(reward=time_step.reward.astype(np.float64))


@caught_by("test_time_steps_conform_to_their_specs_and_never_change")
class ReusesItsBuffer(KArmedTestbed):
    """All rewards are returned in the same array."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self._buffer = np.zeros(self.batch_size, np.float32)

    def step(self, action):
        time_step = super().step(action)
        self._buffer[...] = time_step.reward
        return time_step._replace(reward=self._buffer.view())


@caught_by("test_time_steps_conform_to_their_specs_and_never_change")
class ShowsNaN(KArmedTestbed):
    """The observation is NaN, but not after a reset."""

    def _step(self, action):
        latent, time_step = super()._step(action)
        return latent, time_step._replace(observation=time_step.observation * np.float32(np.nan))


@caught_by("test_time_steps_conform_to_their_specs_and_never_change")
class TwoRewardSpecs(KArmedTestbed):
    def reward_spec(self):
        return ArraySpec((), np.float64)

    def time_step_spec(self):
        return super().time_step_spec()._replace(reward=ArraySpec((), np.float32))


@caught_by("test_only_the_state_changes")
class ChangesItsSpec(KArmedTestbed):
    def step(self, action):
        self._observation_spec = ArraySpec((1,), np.float32, "another name")
        return super().step(action)


@caught_by("test_reset_and_the_first_step_start_an_episode")
class ActsInTheFirstStep(KArmedTestbed):
    def step(self, action):
        if self._state.time_step is None:
            self.reset()
        return super().step(action)


@caught_by("test_reset_and_the_first_step_start_an_episode")
class KeepsTheReward(KArmedTestbed):
    """After a reset, the reward is still that of the last step."""

    def _reset(self):
        latent, time_step = super()._reset()
        if self._state.time_step is not None:
            time_step = time_step._replace(reward=self._state.time_step.reward)
        return latent, time_step


@caught_by("test_steps_reset_exactly_when_should_reset_says_so")
class ResetsTooEarly(KArmedTestbed):
    def step(self, action):
        time_step = super().step(action)
        return self.reset() if (time_step.reward > 1.0).any() else time_step


@caught_by("test_steps_reset_exactly_when_should_reset_says_so")
class UsesTheIgnoredAction(KArmedTestbed):
    def step(self, action):
        time_step = self._state.time_step
        if time_step is not None and self.should_reset(time_step):
            self.np_random.random(int(np.sum(action)) + 1)
        return super().step(action)


@caught_by("test_episodes_of_a_bandit_end_at_their_horizon")
class OneStepTooFew(KArmedTestbed):
    @property
    def horizon(self):
        return super().horizon + 1


@caught_by("test_episodes_of_a_bandit_end_at_their_horizon")
class TerminatesAtTheHorizon(KArmedTestbed):
    """The last discount is 0, as if the episode was over and not cut off."""

    def _step(self, action):
        latent, time_step = super()._step(action)
        return latent, time_step._replace(discount=1 - time_step.is_last().astype(np.float32))


@caught_by("test_equal_seeds_give_equal_runs_whatever_is_looked_at")
class SharesAGenerator(KArmedTestbed):
    """All environments of the class draw from one generator."""

    shared = np.random.default_rng(0)

    def _draw_rewards(self, rng, state, action):
        return super()._draw_rewards(self.shared, state, action)


@caught_by("test_equal_seeds_give_equal_runs_whatever_is_looked_at")
class DrawsToShow(KArmedTestbed):
    """Asking for the expected rewards moves the generator."""

    def _expected_rewards(self, state):
        self.np_random.random()
        return state


@caught_by("test_equal_seeds_give_equal_runs_whatever_is_looked_at")
class TakesNoSeed(KArmedTestbed):
    def seed(self, seed=None):
        return [seed]


@caught_by("test_global_randomness_is_neither_used_nor_moved")
class DrawsFromNumPy(KArmedTestbed):
    def _draw_rewards(self, rng, state, action):
        return np.random.normal(size=self.batch_size)


@caught_by("test_only_the_state_changes")
class CountsOutside(KArmedTestbed):
    """Keeps something outside of `_state`, here without any effect."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self._counts = [0]

    def _draw_rewards(self, rng, state, action):
        self._counts[0] += 1
        return super()._draw_rewards(rng, state, action)


@caught_by("test_only_the_state_changes", "test_restored_states_and_copies_repeat_the_run")
class DrawsFromAGeneratorOfItsOwn(KArmedTestbed):
    def __init__(self, *, seed=None, **kwargs):
        super().__init__(seed=seed, **kwargs)
        self._rng = np.random.default_rng(seed)

    def _draw_rewards(self, rng, state, action):
        return super()._draw_rewards(self._rng, state, action)


@caught_by("test_restored_states_and_copies_repeat_the_run")
class KeepsThePassedState(KArmedTestbed):
    """A saved state is used itself, not a copy."""

    def set_state(self, state):
        super().set_state(state)
        self._state = state.content


@caught_by("test_restored_states_and_copies_repeat_the_run")
class CopiesShareTheState(KArmedTestbed):
    def __deepcopy__(self, memo):
        return copy.copy(self)


class SavesANumber(KArmedTestbed):
    """A saved state is a place in a list, which only this process has."""

    saved = [None]  # noqa: RUF012 - shared by all of them, which is the fault

    def get_state(self):
        state = super().get_state()
        self.saved.append(state)
        return state._replace(content=len(self.saved) - 1)

    def set_state(self, state):
        super().set_state(self.saved[state.content])


class SavesANumberContract(EnvironmentContract):
    """For another process, the contract must be at the top level of a module."""

    def make_environment(self, seed):
        return SavesANumber(seed=seed)


@caught_by("test_set_state_refuses_bad_states_and_changes_nothing")
class AcceptsAnyState(KArmedTestbed):
    def _restored(self, state):
        return copy.deepcopy(getattr(state, "content", state))


@caught_by("test_set_state_refuses_bad_states_and_changes_nothing")
class ChangesBeforeItRefuses(KArmedTestbed):
    def set_state(self, state):
        self.np_random.random()
        super().set_state(state)


@caught_by("test_actions_are_checked_and_copied")
class WrapsNegativeActions(KArmedTestbed):
    """-1 is the last action, as in a list."""

    def _check_action(self, action):
        array = np.asarray(action)
        if array.dtype.kind == "i":
            array = np.where(array == -1, self.num_actions - 1, array)
        return super()._check_action(array)


@caught_by("test_actions_are_checked_and_copied")
class WrapsAt32Bits(KArmedTestbed):
    """2**32 is action 0."""

    def _check_action(self, action):
        array = np.asarray(action)
        return super()._check_action(array.astype(np.int32) if array.dtype == np.int64 else array)


@caught_by("test_actions_are_checked_and_copied")
class DrawsBeforeItRefuses(KArmedTestbed):
    """The generator has moved when the action is refused."""

    def _check_action(self, action):
        self.np_random.random()
        return super()._check_action(action)


@caught_by("test_actions_are_checked_and_copied")
class KeepsThePassedAction(KArmedTestbed):
    def _check_action(self, action):
        super()._check_action(action)
        return np.asarray(action)


@caught_by("test_returned_arrays_are_read_only_and_may_be_reshaped")
class ReturnsWhatItKeeps(KArmedTestbed):
    """The arrays are read-only, but their attributes can be set."""

    def current_time_step(self):
        for array in super().current_time_step():
            array.setflags(write=False)
        return self._state.time_step

    def _advance(self, latent, time_step):
        for array in time_step:
            array.setflags(write=False)
        super()._advance(latent, time_step)
        return time_step


class PerArm(StationaryStochasticPerArmPyEnvironment):
    def __init__(self, **kwargs):
        users, items, model = Normal(1), Normal(2), LinearReward(np.ones(3))
        super().__init__(users, items, 4, model, Integers(1, 1, 5), **kwargs)


@caught_by("test_returned_arrays_are_read_only_and_may_be_reshaped")
class ReturnsItsDict(PerArm):
    """The arrays of an observation are protected, but not the dict that holds them."""

    def current_time_step(self):
        time_step = super().current_time_step()
        self._state.time_step.observation.update(time_step.observation)
        return time_step._replace(observation=self._state.time_step.observation)


@caught_by("test_hooks_never_write_into_their_state")
class WritesIntoItsState(Preferences):
    """The means wear off in place; nobody asks for the means."""

    def _expected_rewards(self, state):
        raise NotImplementedError("the means are unknown")

    def _next_state(self, rng, state, action):
        state *= 0.9
        return state


@caught_by("test_hooks_never_write_into_their_state")
class WritesIntoADict(PerArm):
    """The state is a dict, and a hook replaces one of its items."""

    def _draw_rewards(self, rng, state, action):
        rewards = super()._draw_rewards(rng, state, action)
        state["per_arm"] = state["per_arm"] + np.float32(1)
        return rewards


@caught_by("test_optimal_actions_have_the_largest_expected_reward")
class PromisesTooMuch(KArmedTestbed):
    def optimal_reward(self):
        return super().optimal_reward() + np.float32(1)


@caught_by("test_info_describes_the_last_step")
class DescribesTheNextStep(KArmedTestbed):
    """Its info is about the state that the last step led to."""

    def __init__(self, **kwargs):
        super().__init__(drift_std=1.0, **kwargs)

    def get_info(self):
        info = super().get_info()
        return None if info is None else {**info, "optimal_reward": self.optimal_reward()}


@caught_by("test_info_describes_the_last_step")
class DescribesAReset(KArmedTestbed):
    def get_info(self):
        return super().get_info() or {"expected_reward": np.zeros(self.batch_size)}


@caught_by("test_unavailable_actions_are_refused_and_have_no_expected_reward")
class TakesUnavailableActions(PerArm):
    def _check_available(self, action):
        pass


@caught_by("test_unavailable_actions_are_refused_and_have_no_expected_reward")
class ExpectsRewardsOfUnavailableActions(PerArm):
    def means_in(self, state, batch_size=None):
        known = super().means_in(state, batch_size)
        known._table = self._expected_rewards(state)
        return known


@caught_by("test_rows_of_one_problem_have_one_mean_where_they_look_alike")
class ForgetsItsRows(KArmedTestbed):
    """Each row has arms of its own, and it says that they share them."""

    independent_rows = False


@caught_by("test_rows_of_one_problem_have_one_mean_where_they_look_alike")
class ForgetsItsRowsWithContexts(BanditPyEnvironment):
    """Each row keeps arms of its own, and weather tells rows apart in most steps."""

    def __init__(self, **options):
        super().__init__(BoundedArraySpec((), np.int32, 0, 1), 4, **options)

    def _initial_state(self, rng):
        arms = rng.normal(size=(self.batch_size, self.num_actions))
        return {"weather": np.zeros(self.batch_size, np.int32), "arms": arms}

    def _observe(self, state):
        return state["weather"]

    def _expected_rewards(self, state):
        return state["arms"] + state["weather"][:, np.newaxis]

    def _draw_rewards(self, rng, state, action):
        return rng.normal(self._expected_rewards(state)[np.arange(self.batch_size), action])

    def _next_state(self, rng, state, action):
        return {**state, "weather": rng.integers(2, size=self.batch_size, dtype=np.int32)}


@caught_by("test_the_mean_of_many_rewards_is_the_expected_reward")
class PaysTooMuchLater(DelayedRewards):
    """The reward that arrives is too large."""

    def __init__(self, **options):
        super().__init__(KArmedTestbed(**options), delay=[0, 1, 2, 1])

    def _pay_due(self, time_step, pending):
        more = np.where(pending.action == 1, np.float32(0.5), np.float32(0.0))
        return super()._pay_due(time_step, pending._replace(reward=pending.reward + more))


@caught_by("test_the_mean_of_many_rewards_is_the_expected_reward")
class PaysTooMuch(KArmedTestbed):
    """Rewards are a quarter of a standard deviation above what is expected."""

    def _draw_rewards(self, rng, state, action):
        return super()._draw_rewards(rng, state, action) + 0.25


@caught_by("test_the_mean_of_many_rewards_is_the_expected_reward")
class PaysTheNeighbour(KArmedTestbed):
    """Every row gets the reward that another one earned; on average, nothing is missing."""

    def _draw_rewards(self, rng, state, action):
        return np.roll(super()._draw_rewards(rng, state, action), 1)


@caught_by("test_actions_change_the_state_only_if_the_environment_says_so")
class WearsOutInSilence(KArmedTestbed):
    """An arm pays less each time that it is pulled."""

    def _next_state(self, rng, state, action):
        return state - np.eye(self.num_actions, dtype=state.dtype)[action]


@caught_by("test_actions_change_the_state_only_if_the_environment_says_so")
class WearsOutBehindRewards(WearsOutInSilence):
    """Each action draws another number of times for its reward, so generators never agree."""

    def _draw_rewards(self, rng, state, action):
        rng.random(action @ self.num_actions ** np.arange(self.batch_size))
        return super()._draw_rewards(rng, state, action)


class Tired(Wrapper):
    """Rewards are halved once action 0 was taken."""

    def _reset(self):
        return np.zeros(self.batch_size, np.bool_), self._env.reset()

    def _step(self, action):
        before = self._state.latent
        time_step = self._env.step(action)
        reward = np.where(before, time_step.reward / 2, time_step.reward)
        return before | (action == 0), time_step._replace(reward=reward)

    def _change_means(self, means, are_met):
        factors = np.where(self._state.latent, 0.5, 1.0)
        return Means.of_table(self.name, means.table * factors[:, np.newaxis])


@caught_by("test_actions_change_the_state_only_if_the_environment_says_so")
def wrapped_and_tired(**options):
    return Tired(KArmedTestbed(k=4, **options))


@caught_by("test_actions_change_the_state_only_if_the_environment_says_so")
def ends_early(**options):
    return EndsEarly(KArmedTestbed(k=4, **options))


@caught_by("test_actions_change_the_state_only_if_the_environment_says_so")
def sells_out(**options):
    return SellsOut(KArmedTestbed(k=4, **options), num_extra_actions=0)


class SellsOut(MaskingWrapper):
    """An action is masked in the step after it was taken."""

    def _step(self, action):
        latent, time_step = super()._step(action)
        mask = np.arange(self.num_actions) != np.asarray(action)[:, np.newaxis]
        return latent, time_step._replace(observation={**time_step.observation, "mask": mask})

    def _draw_mask(self, available, steps):
        return np.ones((self.batch_size, self.num_actions), np.bool_)


class EndsEarly(Wrapper):
    """Action 0 ends an episode."""

    def _step(self, action):
        time_step = self._env.step(action)
        ends = np.where(action == 0, np.int32(2), time_step.step_type)
        return None, time_step._replace(step_type=ends)


@caught_by("test_no_policy_earns_more_than_the_optimum_of_a_run")
class PromisesTooLittle(RestedBandit):
    """The optimum is that of the arm which is best at first."""

    def __init__(self, **options):
        super().__init__([[0.5, 0.4, 0.3], [0.0, 0.9, 1.0]], **options)

    def optimum_of_run(self, num_steps):
        optimum = super().optimum_of_run(num_steps)
        return optimum._replace(earned=0.5 * np.arange(1.0, num_steps + 1.0))
