"""The part of the contract on what a caller does wrong: bad actions, writing into arrays."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.testing.bad_actions import bad_actions
from bandit_envs.testing.comparison import assert_identical, require
from bandit_envs.testing.plays import ContractPart, Play, named_arrays, returned_arrays
from bandit_envs.testing.replay import copies_of

Written = tuple[NDArray[Any], NDArray[Any], bool]
"""An array that garbage was written into, what it held, and whether it was writable."""


class SafetyContract(ContractPart):
    """No caller can change the environment but by its methods, nor by them with bad arguments."""

    def test_bad_actions_are_refused_and_change_nothing(self) -> None:
        environment = self.in_an_episode(self.make_environment(1))
        twin = self.in_an_episode(self.make_environment(1))
        before, shown = environment.get_state(), environment.current_time_step()
        good = self.draw_action(np.random.default_rng(1), environment)
        for description, bad in bad_actions(environment.action_spec(), good):
            _require_refusal(environment, description, bad)
            assert_identical(environment.get_state(), before, f"the state after {description}")
            assert_identical(environment.current_time_step(), shown, f"what {description} leaves")
        time_step = twin.step(good)
        assert_identical(environment.step(good), time_step, "the step after all refusals")

    def test_returned_arrays_are_read_only(self) -> None:
        for origin, environment, _ in self._origins():
            for name, array in returned_arrays(environment):
                require(not array.flags.writeable, f"{name} of {origin} can be written")

    def test_writing_into_returned_arrays_does_not_go_unnoticed(self) -> None:
        for origin, environment, play in self._origins():
            written: list[Written] = []
            names = []
            try:
                for name, array in returned_arrays(environment):
                    more = _overwrite(array)
                    written += more
                    names += [name] * len(more)
                try:
                    play.replay(environment, "the run", start=self._half())
                except AssertionError as error:
                    raise AssertionError(
                        f"writing into {', '.join(names)} of {origin} changes what follows: {error}"
                    ) from error
                except Exception:
                    continue  # it was noticed
            finally:
                _restore(written)

    def test_emptying_returned_containers_changes_nothing(self) -> None:
        for origin, environment, play in self._origins():
            time_step = environment.step(play.actions[self._half()])
            for nest in (
                time_step.observation,
                environment.current_time_step().observation,
                environment.observation_spec(),
                environment.action_spec(),
            ):
                _empty(nest)
            try:
                after = environment.current_time_step()
                assert_identical(after, play.time_steps[self._half() + 1], "the current time step")
                play.replay(environment, "the run", start=self._half() + 1)
            except Exception as error:
                raise AssertionError(
                    f"emptying the containers that {origin} returned changes it: {error!r}"
                ) from error

    def test_a_passed_action_may_be_written_afterwards(self) -> None:
        environment = self.in_an_episode(self.make_environment(1))
        twin = self.in_an_episode(self.make_environment(1))
        action = self.draw_action(np.random.default_rng(1), environment)
        environment.step(action)
        twin.step(copy.deepcopy(action))
        for _, array in named_arrays(action, "action"):
            array[...] = array + 1 if array.dtype != np.bool_ else ~array
        when = "after writing into a passed action"
        assert_identical(environment.get_state(), twin.get_state(), f"the state {when}")
        found, expected = (list(returned_arrays(each)) for each in (environment, twin))
        assert_identical(found, expected, f"what is returned {when}")

    def _origins(self) -> Iterator[tuple[str, PyEnvironment, Play]]:
        """Yields environments in the middle of one and the same run, that got there differently."""
        play = self.play(self.make_environment(1))
        for origin in ("a run", "set_state", "a deep copy", "an unpickled copy"):
            environment = self.make_environment(1)
            environment.reset()
            for action in play.actions[: self._half()]:
                environment.step(action)
            if origin == "set_state":
                environment.set_state(environment.get_state())
            elif origin != "a run":
                environment = copies_of(environment)[origin]
            yield origin, environment, play

    def _half(self) -> int:
        return self.num_steps // 2


def _empty(nest: Any) -> None:
    if isinstance(nest, (list, tuple, dict)):
        for item in nest.values() if isinstance(nest, dict) else nest:
            _empty(item)
    if isinstance(nest, (list, dict)):
        nest.clear()


def _require_refusal(environment: PyEnvironment, description: str, bad: Any) -> None:
    try:
        environment.step(bad)
    except (TypeError, ValueError):
        return
    except Exception as error:
        raise AssertionError(
            f"an action of {description} raised {error!r}; expected a TypeError or a ValueError"
        ) from error
    raise AssertionError(f"an action of {description} was accepted: {bad!r}")


def _overwrite(array: NDArray[Any]) -> list[Written]:
    """Writes garbage into the array or what it rests on, if need be by raising the write flag."""
    chain: list[NDArray[Any]] = []
    node: Any = array
    while isinstance(node, np.ndarray):
        chain.append(node)
        node = node.base
    for owner in reversed(chain):  # the one that owns the memory first: the others are its views
        was_writable = owner.flags.writeable
        try:
            owner.setflags(write=True)
        except ValueError:
            continue
        if owner.dtype.kind in "biufc":
            content = owner.copy()
            owner[...] = ~owner if owner.dtype == np.bool_ else owner + owner.dtype.type(42)
            return [(owner, content, was_writable)]
    return []


def _restore(written: list[Written]) -> None:
    for array, content, was_writable in reversed(written):
        array[...] = content
        array.setflags(write=was_writable)
