"""The contract of all policies, as a class of tests."""

from __future__ import annotations

import copy
import functools
import pickle
import tempfile
from pathlib import Path

import numpy as np

from bandit_envs.arrays import Array, Floats, Indices
from bandit_envs.base.checks import short_repr
from bandit_envs.base.saving import load_state, save_state
from bandit_envs.base.state import content_of
from bandit_envs.nests import Nest, flatten, map_structure
from bandit_envs.policies import Policy
from bandit_envs.testing.choice_contract import ChoiceContract
from bandit_envs.testing.comparison import assert_identical, require
from bandit_envs.testing.more_actions_contract import MoreActionsContract
from bandit_envs.testing.pending_contract import PendingContract
from bandit_envs.testing.policy_contract_part import constants_of
from bandit_envs.testing.policy_run import (
    SHARED,
    learned_of,
    put_learned,
    require_close,
    require_no_writing,
)
from bandit_envs.testing.rollout import frozen, require_refusal

HIDDEN = (
    "What changes must be in `learned`, which `_initial` returns and `_learn` updates. "
    "Else a saved state does not repeat the run"
)

REPLICATED = "Hooks must read `self.batch_size` each time"


class PolicyContract(ChoiceContract, PendingContract, MoreActionsContract):
    """The tests that every policy must pass, whoever wrote it.

    Subclass it in a test module, under a name that the test framework collects, and override
    `make_policy`. With `unittest`, add `unittest.TestCase` as the last base.

    The names of the tests say what they hold. A test of what a policy cannot do, such as to tell
    probabilities, has nothing to hold, and passes. What a policy has learned is pickled: define its
    classes at module level. `BestArmContract` has more tests, for a `BestArmPolicy`.

    Override also:
        make_environment: if the policy needs contexts, slates or other rewards.
        num_rows: the rows of a batch, at least 2. It should not be the number of actions, so that
            arrays of rows and of actions cannot be confused.
        num_steps: the steps of a run.
        rounding: how far the probabilities of a row may differ alone and in a batch, as a share of
            them. Networks of single precision need 1e-4.
        num_choices: the choices whose frequencies are compared with the probabilities; 0 for none.

    >>> from bandit_envs import UCBPolicy
    >>> class TestUCB(PolicyContract):
    ...     def make_policy(self, env, seed):
    ...         return UCBPolicy(2.0, num_actions=4, batch_size=env.batch_size, seed=seed)
    >>> TestUCB().test_a_restored_state_repeats_the_run()
    """

    def test_equal_seeds_give_equal_runs(self) -> None:
        run = self._run()
        policy = self._fresh(self.num_rows)
        name = "the state of a new policy, for which `_initial` must return new arrays,"
        assert_identical(policy.get_state(), run.states[0], name)
        run.replay(policy, "a policy of the same seed")

    def test_global_randomness_is_neither_used_nor_moved(self) -> None:
        before, after = self._life().randomness
        assert_identical(after, before, "the states of random and numpy.random")

    def test_all_that_changes_is_in_learned(self) -> None:
        policy = self._life().policy
        before = self._life().constants
        after = constants_of(policy)
        for name in {**before, **after}:
            place = f"{type(policy).__name__}.{name}"
            require(name in before, f"{place} was added in a run. {HIDDEN}")
            try:
                assert_identical(after.get(name), before[name], place)
            except AssertionError as error:
                raise AssertionError(f"{error}, as before the run. {HIDDEN}") from None

    def test_a_restored_state_repeats_the_run(self) -> None:
        run = self._run()
        saved = copy.deepcopy(run.states)
        for start in (0, self.num_steps // 2):
            policy = self._fresh(self.num_rows, seed=2)
            policy.set_state(pickle.loads(pickle.dumps(run.states[start])))
            run.replay(policy, "a policy of another seed with an unpickled state", start)
            policy.set_state(run.states[start])
            run.replay(policy, "the same policy with a restored state", start)
        assert_identical(run.states, saved, "the saved states after their use")

    def test_a_state_from_a_file_repeats_the_run(self) -> None:
        run = self._run()
        start = self.num_steps // 2
        policy = self._fresh(self.num_rows, seed=2)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "state.npz"
            save_state(path, run.states[start])
            policy.set_state(load_state(path))
        run.replay(policy, "a policy with a state from a file", start)

    def test_a_deep_copy_repeats_the_run(self) -> None:
        run = self._run()
        start = self.num_steps // 2
        policy, _ = self._policy_after(start)
        copied = copy.deepcopy(policy)
        run.replay(policy, "a policy that was copied", start)
        run.replay(copied, "the copy, after the run of the original", start)

    def test_set_state_refuses_other_states_and_changes_nothing(self) -> None:
        policy, time_step = self._policy_after(self.num_steps)
        larger = self._fresh(self.num_rows + 1)
        for wrong in (None, "state", {}, object(), time_step, larger.get_state()):
            require_refusal(policy, policy.set_state, wrong, f"a bad state, {short_repr(wrong)},")

    def test_reset_forgets_and_goes_on_drawing(self) -> None:
        policy = copy.deepcopy(self._life().policy)
        before = _rng_state(policy)
        policy.reset()
        assert_identical(_rng_state(policy), before, "the generator after reset()")
        fresh = self._fresh(self.num_rows)
        name = "`learned` after reset(), for which `_initial` must return new arrays,"
        assert_identical(learned_of(policy), learned_of(fresh), name)

    def test_only_learn_writes_into_learned(self) -> None:
        policy, time_step = self._policy_after(self.num_steps)
        questions = self._questions(policy, time_step)
        state = policy.get_state()
        for name, ask in questions:
            policy.set_state(state)
            put_learned(policy, frozen(learned_of(policy)))
            require_no_writing(policy, ask, "`learned`; only `_learn` may")
            found = f"{name}() wrote into `learned`; only `_learn` may: learned"
            assert_identical(learned_of(policy), state.content.learned, found)

    def test_time_steps_and_trajectories_are_never_written_to(self) -> None:
        policy, time_step = self._policy_after(self.num_steps)
        asked = frozen(time_step)
        for name, ask in self._questions(policy, copy.deepcopy(time_step), asked):
            require_no_writing(policy, ask, "the time step")
            assert_identical(asked, time_step, f"the time step after {name}()")
        trajectory = self._trajectory()
        seen = frozen(trajectory)
        require_no_writing(policy, lambda: policy(seen), "the trajectory")
        assert_identical(seen, trajectory, "the trajectory after `_learn`")

    def test_only_action_draws(self) -> None:
        policy, time_step = self._policy_after(self.num_steps)
        trajectory = self._trajectory()
        asked = [pair for pair in self._questions(policy, time_step) if pair[0] != "action"]
        for name, call in [*asked, ("learn", lambda: policy(trajectory))]:
            before = _rng_state(policy)
            call()
            assert_identical(_rng_state(policy), before, f"the generator after {name}()")

    def test_learning_from_some_rows_is_learning_these_rows(self) -> None:
        policy, _ = self._policy_after(self.num_steps)
        trajectory = self._trajectory()
        rows = np.arange(1, self.num_rows, 2)
        others = np.arange(0, self.num_rows, 2)
        before = self._rows(policy, others)
        alone = self._policy_of_rows(policy, rows)
        policy.learn(copy.deepcopy(trajectory), rows=np.isin(np.arange(self.num_rows), rows))
        alone.learn(_rows_of_step(trajectory, rows))
        found = self._rows(policy, rows)
        name = "what learn(trajectory, rows=...) has learned in these rows"
        require_close(found, learned_of(alone), name)
        if policy.learns_by_row:
            name = "what learn(trajectory, rows=...) has changed in the other rows"
            _require_equal_rows(self._rows(policy, others), before, name)

    def test_bad_trajectories_are_refused_and_nothing_is_learned(self) -> None:
        policy, _ = self._policy_after(self.num_steps)
        if not policy.can_learn:
            return
        good = self._trajectory()
        low, high = policy.reward_range
        for reward in (np.nan, np.inf, low - 1.0 - abs(low), high + 1.0 + abs(high)):
            rewards = map_structure(functools.partial(_ending_with, reward), good.reward)
            bad = good._replace(reward=rewards)
            name = f"a reward of {reward} outside of reward_range {policy.reward_range}"
            require_refusal(policy, policy, bad, name)
        if policy.num_actions > 0:
            bad = good._replace(action=good.action + policy.num_actions)
            require_refusal(policy, policy, bad, f"an action above {policy.num_actions - 1}")
        one = _rows_of_step(good, np.array([0]))
        require_refusal(policy, policy, one, f"a trajectory of one row, and not {self.num_rows},")

    def test_a_batch_of_one_chooses_as_a_row_of_a_larger_batch(self) -> None:
        policy, time_step = self._policy_after(self.num_steps)
        action = policy.action(time_step)
        for row in range(self.num_rows):
            rows = np.array([row])
            alone = self._policy_of_rows(policy, rows)
            asked = _rows_of_step(time_step, rows)
            found = alone.action(asked)
            shape = map_structure(lambda leaf: (1, *leaf.shape[1:]), action)
            fits = map_structure(np.shape, found) == shape
            require(fits, f"action() of one row is {found}; expected shape {shape}")
            if policy.knows_probabilities and policy.action_kind.is_single:
                expected = policy.probabilities(time_step)[rows]
                name = f"probabilities() of row {row}, alone in a batch of one,"
                told = alone.probabilities(asked)
                require_close(told, expected, name, rounding=self.rounding)

    def test_a_batch_of_one_learns_as_a_row_of_a_larger_batch(self) -> None:
        policy, _ = self._policy_after(self.num_steps)
        if not policy.learns_by_row:
            return
        trajectory = self._trajectory()
        ones = [self._policy_of_rows(policy, np.array([row])) for row in range(self.num_rows)]
        policy(copy.deepcopy(trajectory))
        for row, alone in enumerate(ones):
            rows = np.array([row])
            alone(_rows_of_step(trajectory, rows))
            found = self._rows(policy, rows)
            name = f"what row {row} has learned, but does not learn alone in a batch of one,"
            require_close(found, learned_of(alone), name, hint=SHARED)

    def test_a_replicated_row_chooses_as_the_one_that_it_is_made_of(self) -> None:
        policy, time_step = self._policy_after(self.num_steps)
        alone = self._policy_of_rows(policy, np.array([0]))
        for narrow, size in ((alone, self.num_rows), (policy, 2 * self.num_rows + 1)):
            rows = np.arange(size) % narrow.batch_size
            wide = narrow.replicate(size)
            asked = _rows_of_step(time_step, rows)
            found = wide.action(asked)
            sizes = {len(leaf) for leaf in flatten(found)}
            require(sizes == {size}, f"action() after replicate() is {found}; {REPLICATED}")
            if policy.knows_probabilities and policy.action_kind.is_single:
                own = _rows_of_step(time_step, np.arange(narrow.batch_size))
                expected = narrow.probabilities(own)[rows]
                name = "probabilities() of rows after replicate()"
                told = wide.probabilities(asked)
                require_close(told, expected, name, REPLICATED, rounding=self.rounding)


def _rng_state(policy: Policy) -> object:
    return content_of(policy).rng.bit_generator.state


def _ending_with(number: float, leaf: Array) -> Floats:
    """Returns a copy of an array whose last number is another."""
    copied = np.array(leaf, np.float64)
    copied.flat[-1] = number
    return copied


def _rows_of_step(step: Nest, rows: Indices) -> Nest:
    """Returns some rows of a time step or a trajectory."""
    return map_structure(lambda leaf: leaf[rows], step)


def _require_equal_rows(actual: Nest, expected: Nest, name: str) -> None:
    """Requires arrays to be identical; numbers that all rows share may differ."""

    def compare(left: Nest, right: Nest) -> None:
        if np.ndim(right) > 0:
            assert_identical(np.asarray(left), np.asarray(right), name)

    map_structure(compare, actual, expected)
