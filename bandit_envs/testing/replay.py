"""The part of the contract on seeds, saved states and copies: whatever ran can run again."""

from __future__ import annotations

import copy
import pickle
import random
from typing import Any

import numpy as np

from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.base.state import Stateful
from bandit_envs.testing.comparison import assert_identical, require
from bandit_envs.testing.other_process import replay_elsewhere
from bandit_envs.testing.plays import ContractPart, Play, drawn_action, returned_arrays


class ReplayContract(ContractPart):
    """Seeds and tokens make everything that happens happen again, bit for bit."""

    def test_equal_seeds_give_equal_trajectories(self) -> None:
        environment, twin = self.make_environment(1), self.make_environment(1)
        assert_identical(twin.reset(), environment.reset(), "reset of a twin")
        rng = np.random.default_rng(0)
        for index in range(self.num_steps):  # in turns, so that nothing they share stays unseen
            action = self.draw_action(rng, environment)
            time_step = environment.step(action)
            assert_identical(twin.step(action), time_step, f"step {index + 1} of a twin")
        play = self.play(self.make_environment(1))
        latecomer = self.make_environment(1)
        assert_identical(latecomer.reset(), play.time_steps[0], "reset of a later twin")
        play.replay(latecomer, "a later twin")

    def test_seed_starts_the_stream_of_another_environment(self) -> None:
        environment, other = self.make_environment(1), self.make_environment(2)
        for each in (environment, other):
            seeds = each.seed(7)
            require(isinstance(seeds, list) and seeds, f"seed(7) returned {seeds!r}; not a list")
        play = self.play(environment)
        assert_identical(other.reset(), play.time_steps[0], "reset after seed(7)")
        play.replay(other, "an environment after seed(7)")

    def test_global_randomness_is_neither_used_nor_moved(self) -> None:
        before = random.getstate(), np.random.get_state(legacy=False)
        try:
            environment = self.make_environment(1)
            self.play(environment)
            environment.set_state(environment.get_state())
            after = random.getstate(), np.random.get_state(legacy=False)
        finally:
            random.setstate(before[0])
            np.random.set_state(before[1])
        assert_identical(after[0], before[0], "the state of the module random")
        assert_identical(after[1], before[1], "the state of numpy.random")

    def test_only_the_state_changes(self) -> None:
        environment = self.make_environment(1)
        before = copy.deepcopy(_constants(environment))
        token = environment.get_state()
        self.play(environment)
        list(returned_arrays(environment))
        environment.seed(3)
        environment.set_state(token)
        self.play(environment)
        assert_identical(_constants(environment), before, "what is not in _state")

    def test_looking_changes_nothing(self) -> None:
        environment = self.in_an_episode(self.make_environment(1))
        before = environment.get_state()
        for _ in range(2):
            list(returned_arrays(environment))
            environment.should_reset(environment.current_time_step())
            environment.time_step_spec()
            assert_identical(environment.get_state(), before, "the state after looking at it")

    def test_set_state_replays_exactly_from_every_step(self) -> None:
        environment = self.make_environment(1)
        token_before_reset = environment.get_state()
        play, tokens = self._saved_play(environment)
        for index in reversed(range(len(tokens))):
            environment.set_state(tokens[index])
            name = f"the run after set_state at step {index}"
            current = environment.current_time_step()
            assert_identical(current, play.time_steps[index], f"current_time_step() of {name}")
            play.replay(environment, name, start=index)
            assert_identical(environment.get_state(), tokens[-1], f"the state at the end of {name}")
        environment.set_state(token_before_reset)
        rng = np.random.default_rng(0)
        first = environment.step(drawn_action(rng, environment))
        assert_identical(first, play.time_steps[0], "the first step after set_state before a reset")
        play.replay(environment, "the run after set_state before a reset")

    def test_a_token_can_be_used_twice(self) -> None:
        environment = self.make_environment(1)
        play, tokens = self._saved_play(environment)
        copies = copy.deepcopy(tokens)
        for name in ("the first run from a token", "the second run from a token"):
            environment.set_state(tokens[1])
            play.replay(environment, name, start=1)
            assert_identical(tokens, copies, f"the tokens after {name}")

    def test_a_token_can_be_pickled(self) -> None:
        play, tokens = self._saved_play(self.make_environment(1))
        try:
            unpickled = pickle.loads(pickle.dumps(tokens))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise AssertionError(f"the token cannot be pickled: {error}") from error
        assert_identical(unpickled, tokens, "the unpickled tokens")
        environment = self.make_environment(1)
        for index in (0, 1, len(tokens) // 2):
            environment.set_state(unpickled[index])
            play.replay(environment, f"the run from unpickled token {index}", start=index)

    def test_a_token_replays_in_another_process(self) -> None:
        play, tokens = self._saved_play(self.make_environment(1))
        half = len(play.actions) // 2
        replayed, state = replay_elsewhere(type(self), tokens[half], play.actions[half:])
        expected = play.time_steps[half + 1 :]
        assert_identical(replayed, expected, "the time steps of another process")
        assert_identical(state, tokens[-1], "the state at the end in another process")

    def test_a_token_replays_in_an_environment_of_another_seed(self) -> None:
        play, tokens = self._saved_play(self.make_environment(1))
        for index in (0, 1, len(tokens) // 2):
            other = self.make_environment(2)
            other.set_state(tokens[index])
            play.replay(other, f"an environment of another seed from token {index}", start=index)

    def test_set_state_refuses_what_is_no_token(self) -> None:
        environment = self.in_an_episode(self.make_environment(1))
        before = environment.get_state()
        for wrong in (None, 0, "state", (), {}, object(), environment.current_time_step()):
            try:
                environment.set_state(wrong)
            except (TypeError, ValueError):
                assert_identical(environment.get_state(), before, f"the state after {wrong!r}")
            else:
                raise AssertionError(f"set_state accepted {wrong!r}; expected an error")

    def test_copies_continue_alike_and_go_their_own_way(self) -> None:
        environment = self.make_environment(1)
        play, tokens = self._saved_play(environment)
        half = len(play.actions) // 2
        environment.set_state(tokens[half])
        for name, duplicate in copies_of(environment).items():
            play.replay(duplicate, name, start=half)
            assert_identical(environment.get_state(), tokens[half], f"the original's state; {name}")

    def _saved_play(self, environment: PyEnvironment) -> tuple[Play, list[Any]]:
        """Plays, with a token from before every step and one from after the last."""
        tokens: list[Any] = []
        play = self.play(environment, after_each=lambda: tokens.append(environment.get_state()))
        return play, tokens


def copies_of(environment: PyEnvironment) -> dict[str, PyEnvironment]:
    """Returns a deep copy and an unpickled copy of the environment, by what they are.

    Raises:
        AssertionError: it cannot be pickled.
    """
    try:
        unpickled = pickle.loads(pickle.dumps(environment))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise AssertionError(
            f"{environment.name} cannot be pickled; expected functions and classes that are "
            f"defined at module level: {error}"
        ) from error
    return {"a deep copy": copy.deepcopy(environment), "an unpickled copy": unpickled}


def _constants(value: Any) -> Any:
    """Returns what an environment has besides its `_state`, and so for those within it."""
    if isinstance(value, Stateful):
        attributes = {name: item for name, item in vars(value).items() if name != "_state"}
        return type(value), _constants(attributes)
    if type(value) is dict:
        return {key: _constants(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_constants, value))
    return value
