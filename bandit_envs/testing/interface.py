"""The part of the contract on specs and on the order of time steps."""

from __future__ import annotations

import copy
import unittest
from typing import Any

import numpy as np

from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.specs import (
    ArraySpec,
    add_outer_dims_nest,
    assert_arrays_nest,
    map_structure,
)
from bandit_envs.testing.comparison import assert_identical, require
from bandit_envs.testing.plays import ContractPart, drawn_action
from bandit_envs.trajectories import StepType, TimeStep, no_reward

MOST_STEPS = 1000


class InterfaceContract(ContractPart):
    """What is returned keeps to the specs, and comes in the order of episodes."""

    def test_time_steps_are_as_their_specs_say(self) -> None:
        environment = self.make_environment(1)
        size = environment.batch_size
        require(environment.batched is True, f"batched is {environment.batched!r}; expected True")
        require(
            isinstance(size, int) and size > 0, f"batch_size is {size!r}; expected an int above 0"
        )
        spec = add_outer_dims_nest(environment.time_step_spec(), (size,))
        for index, time_step in enumerate(self.play(environment).time_steps):
            name = f"time step {index}"
            require(isinstance(time_step, TimeStep), f"{name} is a {type(time_step).__name__}")
            try:
                assert_arrays_nest(time_step, spec)
            except (TypeError, ValueError) as error:
                raise AssertionError(f"{name} is not as time_step_spec() says: {error}") from error
            require(
                np.isin(time_step.step_type, (0, 1, 2)).all(),
                f"{name} has step_type {time_step.step_type}; expected 0, 1 and 2",
            )
            require(not np.isnan(time_step.reward).any(), f"{name} has a NaN reward")

    def test_specs_agree_and_never_change(self) -> None:
        environment = self.make_environment(1)
        before = _specs(environment)
        self.play(environment)
        assert_identical(_specs(environment), before, "specs")
        whole = before["time_step"]
        for field in ("observation", "reward", "discount"):
            name = f"time_step_spec().{field}"
            assert_identical(getattr(whole, field), before[field], name)
        for name, nest in before.items():
            map_structure(
                lambda leaf, name=name: require(
                    isinstance(leaf, ArraySpec), f"{name}_spec() holds {leaf!r}; not an ArraySpec"
                ),
                nest,
            )

    def test_there_is_no_time_step_before_the_first_reset(self) -> None:
        try:
            time_step = self.make_environment(1).current_time_step()
        except ValueError:
            return
        raise AssertionError(f"current_time_step() returned {time_step}; expected a ValueError")

    def test_the_current_time_step_is_the_one_returned_last(self) -> None:
        environment = self.make_environment(1)
        rng = np.random.default_rng(0)
        time_step = environment.reset()
        for _ in range(self.num_steps):
            assert_identical(environment.current_time_step(), time_step, "current_time_step()")
            time_step = environment.step(self.draw_action(rng, environment))

    def test_returned_time_steps_never_change(self) -> None:
        environment = self.make_environment(1)
        rng = np.random.default_rng(0)
        returned = [environment.reset()]
        copies = copy.deepcopy(returned)
        for _ in range(self.num_steps):
            returned.append(environment.step(self.draw_action(rng, environment)))
            copies.append(copy.deepcopy(returned[-1]))
        assert_identical(returned, copies, "time steps")

    def test_the_first_step_resets_and_ignores_its_action(self) -> None:
        environment, twin = self.make_environment(1), self.make_environment(1)
        time_step = environment.step(drawn_action(np.random.default_rng(0), environment))
        _require_first(environment, time_step, "the first step")
        assert_identical(time_step, twin.reset(), "the first step")

    def test_reset_starts_an_episode_at_any_time(self) -> None:
        for num_steps in range(self.num_steps):
            environment = self.make_environment(1)
            self.play(environment, num_steps)
            _require_first(environment, environment.reset(), f"reset after {num_steps} steps")

    def test_steps_reset_exactly_when_should_reset_says_so(self) -> None:
        environment, twin = self.make_environment(1), self.make_environment(1)
        rng = np.random.default_rng(0)
        before = environment.reset()
        twin.reset()
        for index in range(self.num_steps):
            action = self.draw_action(rng, environment)
            ignored = environment.should_reset(before)
            require(
                not ignored or before.is_last().all(),
                f"should_reset() is true of step_type {before.step_type}; expected LAST only",
            )
            time_step = environment.step(action)
            if ignored:
                _require_first(environment, time_step, f"step {index + 1}, which should reset,")
                action = drawn_action(np.random.default_rng(1), twin)
            require(
                ignored or not (time_step.is_first() & ~before.is_last()).any(),
                f"step {index + 1} starts over without need: its step_type is "
                f"{time_step.step_type} after {before.step_type}",
            )
            assert_identical(twin.step(action), time_step, f"step {index + 1} of a twin")
            before = time_step

    def test_bandit_episodes_end_at_their_horizon(self) -> None:
        environment: Any = self.make_environment(1)
        if not hasattr(environment, "horizon"):
            raise unittest.SkipTest(f"{environment.name} has no horizon")
        horizon: int | None = environment.horizon
        steps = self.num_steps if horizon is None else min(horizon + 3, MOST_STEPS)
        time_steps = self.play(environment, steps).time_steps
        for index, time_step in enumerate(time_steps[1:], start=1):
            name = f"step {index} with horizon {horizon}"
            pulls = index if horizon is None else index % (horizon + 1)
            if pulls == 0:
                _require_first(environment, time_step, name)
                continue
            ends = horizon is None or pulls == horizon
            _require_all(name, "step_type", time_step, StepType.LAST if ends else StepType.MID)
            _require_all(name, "discount", time_step, 0.0 if horizon is None else 1.0)

    def test_reset_rows_leaves_the_other_rows_alone(self) -> None:
        environment = self.in_an_episode(self.make_environment(1))
        before, state = environment.current_time_step(), environment.get_state()
        some = np.arange(environment.batch_size) % 2 == 0
        try:
            after = environment.reset_rows(some)
        except NotImplementedError as error:
            assert_identical(environment.get_state(), state, "the state after a refusal")
            raise unittest.SkipTest(str(error)) from error
        reset = map_structure(lambda array: array[some], after)
        _require_first(environment, reset, "reset_rows in its rows")
        kept, were = (map_structure(lambda array: array[~some], nest) for nest in (after, before))
        assert_identical(kept, were, "the other rows after reset_rows")
        state = environment.get_state()
        unchanged = environment.reset_rows(np.zeros_like(some))
        assert_identical(unchanged, after, "the time step after reset_rows of no row")
        assert_identical(environment.get_state(), state, "the state after reset_rows of no row")

    def test_it_is_a_context_and_may_be_closed_twice(self) -> None:
        with self.make_environment(1) as environment:
            environment.reset()
        environment.close()


def _specs(environment: PyEnvironment) -> dict[str, Any]:
    names = ("action", "observation", "reward", "discount", "time_step")
    return {name: getattr(environment, f"{name}_spec")() for name in names}


def _require_first(environment: PyEnvironment, time_step: TimeStep, name: str) -> None:
    _require_all(name, "step_type", time_step, StepType.FIRST)
    _require_all(name, "discount", time_step, 1.0)
    _require_all(name, "reward", time_step, no_reward(environment.reward_spec()))


def _require_all(name: str, field: str, time_step: TimeStep, expected: Any) -> None:
    found = getattr(time_step, field)
    require(np.all(found == expected), f"{name} has {field} {found}; expected {expected} only")
