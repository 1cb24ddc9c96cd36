"""The contract of all environments, as a class of tests."""

import atexit
import concurrent.futures
import copy
import functools
import multiprocessing
import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from bandit_envs.arrays import Array
from bandit_envs.base.bandit_py_environment import is_bandit
from bandit_envs.base.checks import short_repr
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.base.state import SavedState, content_of, put_content
from bandit_envs.nests import flatten, map_structure
from bandit_envs.specs import add_outer_dims_nest, check_arrays_nest
from bandit_envs.testing.bandit_contract import BanditContract
from bandit_envs.testing.comparison import assert_identical, require
from bandit_envs.testing.rollout import Rollout, bad_actions, frozen, look, require_refusal
from bandit_envs.trajectories import TimeStep, restart, time_step_spec


class EnvironmentContract(BanditContract):
    """The tests that every environment must pass, whoever wrote it.

    Subclass it at the top level of a test module, under a name that the test framework collects,
    and override `make_environment`. With `unittest`, add `unittest.TestCase` as the last base.

    The names of the tests say what they hold. A test of what an environment does not know, such as
    its expected rewards, has nothing to hold, and passes. The environment is pickled: define its
    functions and classes at module level.

    Override also:
        draw_action: if the environment does not accept all actions of the default.
        num_steps: the steps of a test; an episode and the steps after it should fit.
        num_rewards: the rewards whose mean is compared with the expected reward; 0 for none.

    Source: dm_env's `EnvironmentTestMixin`.

    >>> from bandit_envs import KArmedTestbed
    >>> class TestShortEpisodes(EnvironmentContract):
    ...     def make_environment(self, seed):
    ...         return KArmedTestbed(k=5, batch_size=3, horizon=4, seed=seed)
    >>> TestShortEpisodes().test_restored_states_and_copies_repeat_the_run()
    """

    def test_time_steps_conform_to_their_specs_and_never_change(self) -> None:
        environment = self.make_environment(1)
        require(environment.batched is True, f"batched is {environment.batched!r}; expected True")
        specs = time_step_spec(environment.observation_spec(), environment.reward_spec())
        assert_identical(environment.time_step_spec(), specs, "time_step_spec()")
        spec = add_outer_dims_nest(specs, (environment.batch_size,))
        rollout = self._rollout()
        assert_identical(rollout.returned, rollout.time_steps, "time steps returned before")
        for index, time_step in enumerate(rollout.time_steps):
            name = f"time step {index}"
            assert_identical(rollout.views[index]["current_time_step"], time_step, name)
            require(isinstance(time_step, TimeStep), f"{name} is a {type(time_step)}")
            fits = check_arrays_nest(time_step, spec) and np.isin(time_step.step_type, (0, 1, 2))
            if not np.all(fits):
                raise AssertionError(f"{name} does not fit time_step_spec(): {time_step}")
            for array in flatten((time_step.reward, time_step.observation)):
                if array.dtype.kind in "fc" and np.isnan(array).any():
                    raise AssertionError(f"{name} has NaN in its reward or observation: {array}")

    def test_reset_and_the_first_step_start_an_episode(self) -> None:
        environment = self.make_environment(1)
        twin = self.make_environment(1)
        look_early = type(environment).current_time_step
        require_refusal(environment, look_early, environment, "current_time_step() before a reset")
        first = twin.reset()
        time_step = environment.step(self.draw_action(np.random.default_rng(1), twin))
        _require_first(environment, time_step, "the first step")
        assert_identical(time_step, first, "the first step")
        for num_steps in range(min(self.num_steps, 6)):
            self.roll_out(environment, num_steps, looks=False)
            _require_first(environment, environment.reset(), f"reset after {num_steps} steps")

    def test_steps_reset_exactly_when_should_reset_says_so(self) -> None:
        environment = self.make_environment(1)
        twin = self.make_environment(1)
        rollout = self._rollout()
        twin.reset()
        rng = np.random.default_rng(1)
        for index, action in enumerate(rollout.actions):
            before = rollout.time_steps[index]
            after = rollout.time_steps[index + 1]
            name = f"step {index + 1} after {before.step_type}"
            if environment.should_reset(before):
                require(before.is_last().all(), f"{name} should not reset")
                _require_first(environment, after, name)
                other = self.draw_action(rng, twin)
                assert_identical(twin.step(other), after, f"{name} with another action")
            else:
                require(not (after.is_first() & ~before.is_last()).any(), f"{name} resets")
                assert_identical(twin.step(action), after, f"{name} of a twin")

    def test_episodes_of_a_bandit_end_at_their_horizon(self) -> None:
        environment = self.make_environment(1)
        if not is_bandit(environment):
            return
        horizon = environment.horizon
        num_steps = self.num_steps if horizon is None else min(horizon + 3, 1000)
        rollout = self.roll_out(self.make_environment(1), num_steps, looks=False)
        for index, time_step in enumerate(rollout.time_steps):
            step_type, discount = _end_of_episodes(horizon, index)
            fits = (time_step.step_type == step_type) & (time_step.discount == discount)
            if not fits.all():
                expected = f"expected step_type {step_type} and discount {discount}"
                found = f"step {index} with horizon {horizon} is {time_step}"
                raise AssertionError(f"{found}; {expected}")

    def test_equal_seeds_give_equal_runs_whatever_is_looked_at(self) -> None:
        twin = self.make_environment(1)
        _require_equal_runs(self.roll_out(twin, looks=False), self._rollout())
        one = self.make_environment(1)
        other = self.make_environment(2)
        one.seed(7)
        other.seed(7)
        _require_equal_runs(self.roll_out(other, looks=False), self.roll_out(one))

    def test_global_randomness_is_neither_used_nor_moved(self) -> None:
        before, after = self._life().randomness
        assert_identical(after, before, "the states of random and numpy.random")

    def test_only_the_state_changes(self) -> None:
        new = self._life().new
        environment = copy.deepcopy(self._life().environment)
        environment.seed(3)
        environment.set_state(new.get_state())
        assert_identical(environment, new, "the environment after a run and set_state")
        first = self._rollout().time_steps[0]
        assert_identical(environment.reset(), first, "the reset after set_state")

    def test_restored_states_and_copies_repeat_the_run(self) -> None:
        """Restores each state and takes a step from it; the rest of the run from two of them."""
        rollout = self._rollout()
        saved = copy.deepcopy(rollout.states)
        for start in (0, self.num_steps // 2):
            for name, environment in self._ways_to(rollout, start):
                assert_identical(look(environment), rollout.views[start], f"step {start} of {name}")
                rollout.replay(environment, name, start)
        name = "an environment with a restored state"
        environment = self.make_environment(2)
        for index in range(self.num_steps):
            environment.set_state(rollout.states[index])
            rollout.replay_step(environment, name, index)
            after = f"the state after step {index + 1} of {name}"
            assert_identical(environment.get_state(), rollout.states[index + 1], after)
        assert_identical(rollout.states, saved, "the saved states after their use")

    def test_a_state_replays_in_another_process(self) -> None:
        pickled = pickle.dumps((type(self), self._rollout(), self.num_steps // 2))
        _process().submit(_replay, pickled).result(timeout=120.0)

    def test_set_state_refuses_bad_states_and_changes_nothing(self) -> None:
        environment = self.make_environment(1)
        self.roll_out(environment, num_steps=1)
        state = environment.get_state()
        bad: list[Any] = [None, "state", {}, object(), environment.current_time_step()]
        if isinstance(state, SavedState):
            bad.append(state._replace(owner="another"))
            bad.append(state._replace(sizes={}))
            bad.append(state._replace(content=None))
        for wrong in bad:
            name = f"a bad state, {short_repr(wrong)},"
            require_refusal(environment, environment.set_state, wrong, name)

    def test_actions_are_checked_and_copied(self) -> None:
        environment = self.make_environment(1)
        environment.reset()
        twin = copy.deepcopy(environment)
        good = self.draw_action(np.random.default_rng(1), environment)
        for what, bad in bad_actions(environment.action_spec(), good):
            require_refusal(environment, environment.step, bad, f"an action ({what})")
        environment.step(good)
        twin.step(copy.deepcopy(good))
        map_structure(lambda array: array.fill(0), good)
        assert_identical(environment.get_state(), twin.get_state(), "the state after all refusals")

    def test_returned_arrays_are_read_only_and_may_be_reshaped(self) -> None:
        half = self.num_steps // 2
        rollout = self._rollout()
        for name, environment in self._ways_to(rollout, half):
            time_step = environment.step(rollout.actions[half])
            leaves = flatten((time_step, look(environment)))
            arrays = [leaf for leaf in leaves if isinstance(leaf, np.ndarray)]
            writeable = [array for array in arrays if _can_be_written(array)]
            require(not writeable, f"{name} returned arrays that can be written: {writeable}")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                for array in arrays:
                    array.shape = (*array.shape, 1)
            for nest in (time_step.observation, environment.current_time_step().observation):
                if isinstance(nest, (dict, list)):
                    nest.clear()
            when = f"{name}, after what it returned has been changed,"
            assert_identical(look(environment), rollout.views[half + 1], f"what is seen of {when}")
            rollout.replay(environment, when, start=half + 1)

    def test_hooks_never_write_into_their_state(self) -> None:
        environment = self.make_environment(1)
        environment.reset()
        owner = environment.unwrapped
        name = f"a hook of {environment.name} wrote into `state`"
        rng = np.random.default_rng(0)
        for index in range(self.num_steps + 1):
            put_content(owner, frozen(content_of(owner)))
            latent = content_of(owner).latent
            before = copy.deepcopy(latent)
            try:
                look(environment)
                action = self.draw_action(rng, environment)
                environment.step(action) if index < self.num_steps else environment.reset()
            except ValueError as error:
                if "read-only" not in str(error):
                    raise
                raise AssertionError(f"{name}, which is read-only here: {error}") from error
            assert_identical(latent, before, f"{name}: latent")

    def _ways_to(self, rollout: Rollout, index: int) -> Iterator[tuple[str, PyEnvironment]]:
        """Yields environments after `index` steps of a rollout, reached in different ways."""
        environment = self.make_environment(1)
        other = self.make_environment(2)
        other.set_state(pickle.loads(pickle.dumps(rollout.states[index])))
        yield "an environment of another seed with an unpickled state", other
        environment.set_state(rollout.states[index])
        yield "an unpickled copy", pickle.loads(pickle.dumps(environment))
        yield "a deep copy", copy.deepcopy(environment)
        yield "an environment with a restored state", environment


@functools.cache
def _process() -> concurrent.futures.ProcessPoolExecutor:
    """Starts the one process that all contracts share, as starting it is slow."""
    spawn = multiprocessing.get_context("spawn")
    executor = concurrent.futures.ProcessPoolExecutor(max_workers=1, mp_context=spawn)
    atexit.register(executor.shutdown)  # else its threads may meet a module that is gone
    return executor


def _can_be_written(array: Array) -> bool:
    """Whether a caller can write into an array, or set its write flag."""
    try:
        array.setflags(write=True)
    except ValueError:
        return False
    return True


def _replay(pickled: bytes) -> None:
    contract, rollout, start = pickle.loads(pickled)
    environment = contract().make_environment(2)
    environment.set_state(rollout.states[start])
    rollout.replay(environment, "another process", start)


def _end_of_episodes(horizon: int | None, index: int) -> tuple[int, float]:
    """Returns the step type and the discount of time step number `index` after a reset."""
    if horizon is None:
        return (0, 1.0) if index == 0 else (2, 0.0)
    place = index % (horizon + 1)
    if place == 0:
        return 0, 1.0
    return (2, 1.0) if place == horizon else (1, 1.0)


def _require_equal_runs(unseen: Rollout, seen: Rollout) -> None:
    """Requires a run that nobody looked at to be equal to one that was looked at."""
    assert_identical(unseen._replace(views=seen.views), seen, "the run of a twin")


def _require_first(environment: PyEnvironment, time_step: TimeStep, name: str) -> None:
    expected = restart(None, environment.batch_size, environment.reward_spec())
    assert_identical(time_step._replace(observation=None), expected, name)
