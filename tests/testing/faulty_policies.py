"""Policies with one fault each, and the tests of the contract that must find it."""

import copy
from typing import NamedTuple

import numpy as np

from bandit_envs import Policy
from bandit_envs.policies import IndexPolicy
from bandit_envs.trajectories import PolicyInfo

FAULTS = []


class Fault(NamedTuple):
    policy: type
    tests: list  # those that must fail
    message: str  # of the first of them, a regular expression


def caught_by(*tests, says):
    """Registers a policy with the tests that must fail for it, and the message of the first."""

    def register(policy_class):
        FAULTS.append(Fault(policy_class, [f"test_{test}" for test in tests], says))
        return policy_class

    return register


class Means(IndexPolicy):
    """Nothing is wrong with it: it is ε-greedy on the means of rewards."""

    reward_range = (0.0, 1.0)
    _epsilon = 0.3

    def _initial(self):
        counts = np.zeros((self.batch_size, self.num_actions))
        return counts, np.zeros_like(counts)

    def _scores(self, learned, time_step):
        counts, totals = learned
        return totals / np.maximum(counts, 1.0)

    def _learn(self, learned, trajectory):
        rows = np.arange(self.batch_size)
        counts, totals = learned
        counts[rows, trajectory.action] += 1.0
        totals[rows, trajectory.action] += trajectory.reward
        return learned


class Fixed(Policy):
    """Nothing is wrong with it: it draws actions with probabilities that never change."""

    def _probabilities(self, learned, time_step):
        weights = 1.0 + np.arange(self.num_actions)
        return np.tile(weights / weights.sum(), (self.batch_size, 1))


@caught_by(
    "equal_seeds_give_equal_runs",
    "a_copy_with_more_actions_chooses_and_learns",
    says="`_initial` must return new arrays",
)
class SharesItsTables(Means):
    """All policies of the class learn into the same arrays."""

    tables = {}  # noqa: RUF012 - shared by all of them, which is the fault

    def _initial(self):
        return self.tables.setdefault(self.batch_size, super()._initial())


@caught_by(
    "global_randomness_is_neither_used_nor_moved",
    "equal_seeds_give_equal_runs",
    "a_restored_state_repeats_the_run",
    "a_state_from_a_file_repeats_the_run",
    "a_deep_copy_repeats_the_run",
    says="random and numpy.random",
)
class DrawsFromNumPy(Policy):
    def _select(self, rng, learned, time_step):
        available = self._available(time_step.observation)
        keys = np.random.random((self.batch_size, self.num_actions))
        return np.where(True if available is None else available, keys, -1.0).argmax(axis=1)


@caught_by("global_randomness_is_neither_used_nor_moved", says="random and numpy.random")
class MovesNumPy(Means):
    def _learn(self, learned, trajectory):
        np.random.random()
        return super()._learn(learned, trajectory)


@caught_by("all_that_changes_is_in_learned", says=r"CountsSteps\._steps is 20; expected 0.*learned")
class CountsSteps(Means):
    """Counts in an attribute, here without any effect."""

    _steps = 0

    def __init__(self, **options):
        super().__init__(**options)
        self._steps = 0

    def _learn(self, learned, trajectory):
        self._steps += 1
        return super()._learn(learned, trajectory)


@caught_by("all_that_changes_is_in_learned", says=r"AddsAnAttribute\._last was added in a run")
class AddsAnAttribute(Means):
    def _learn(self, learned, trajectory):
        self._last = trajectory.action
        return super()._learn(learned, trajectory)


class Model:
    """A model of another library: it learns in place."""

    def __init__(self, shape):
        self.totals = np.zeros(shape)

    def fit(self, rows, actions, rewards):
        self.totals[rows, actions] += rewards


@caught_by(
    "all_that_changes_is_in_learned",
    "a_restored_state_repeats_the_run",
    "a_state_from_a_file_repeats_the_run",
    "a_deep_copy_repeats_the_run",
    "a_replicated_row_chooses_as_the_one_that_it_is_made_of",
    "a_copy_with_more_actions_chooses_and_learns",
    says=r"_model.*totals.*What changes must be in `learned`, which `_initial` returns",
)
class HasAModelAsAttribute(Means):
    """The model is not in `learned`, so that no saved state has it."""

    def __init__(self, **options):
        super().__init__(**options)
        self._model = Model((self.batch_size, self.num_actions))

    def _scores(self, learned, time_step):
        return self._model.totals

    def _learn(self, learned, trajectory):
        self._model.fit(np.arange(self.batch_size), trajectory.action, trajectory.reward)
        return learned


@caught_by("a_restored_state_repeats_the_run", says="the saved states after their use")
class KeepsThePassedState(Means):
    """A saved state is used itself, not a copy."""

    def set_state(self, state):
        super().set_state(state)
        self._state = state.content


@caught_by(
    "a_state_from_a_file_repeats_the_run", says="state holds a builtins.set; expected arrays"
)
class LearnsASet(Means):
    """Keeps something that no file can hold."""

    def _initial(self):
        return *super()._initial(), set()

    def _scores(self, learned, time_step):
        return super()._scores(learned[:2], time_step)

    def _learn(self, learned, trajectory):
        super()._learn(learned[:2], trajectory)
        return learned


@caught_by("a_deep_copy_repeats_the_run", says="the copy, after the run of the original")
class CopiesShareTheState(Means):
    def __deepcopy__(self, memo):
        return copy.copy(self)


@caught_by("set_state_refuses_other_states_and_changes_nothing", says="a bad state, None, was")
class TakesAnyState(Means):
    def set_state(self, state):
        if hasattr(state, "content") and state.content.learned[0].shape[0] == self.batch_size:
            super().set_state(state)


@caught_by(
    "reset_forgets_and_goes_on_drawing",
    "all_that_changes_is_in_learned",
    "a_copy_with_more_actions_chooses_and_learns",
    says="`_initial` must return new arrays",
)
class LearnsIntoWhatItStartedWith(Means):
    """The arrays that it learns into are those that it starts with after a reset."""

    def _initial(self):
        if not hasattr(self, "_tables"):
            self._tables = super()._initial()
        return self._tables


@caught_by("reset_forgets_and_goes_on_drawing", says=r"the generator after reset")
class StartsTheGeneratorAnew(Means):
    def reset(self):
        super().reset()
        self._state = self._state._replace(rng=np.random.default_rng(0))


@caught_by("only_learn_writes_into_learned", says="_scores wrote into `learned`; only `_learn` may")
class CleansUpWhenAsked(Means):
    """Writes into an array to choose, here without any effect."""

    def _scores(self, learned, time_step):
        counts, _ = learned
        np.maximum(counts, 0.0, out=counts)
        return super()._scores(learned, time_step)


@caught_by("only_learn_writes_into_learned", says=r"action\(\) wrote into `learned`")
class CountsQuestions(Means):
    """Writes into a dict to choose."""

    def _initial(self):
        return {"means": super()._initial(), "questions": 0}

    def _scores(self, learned, time_step):
        return super()._scores(learned["means"], time_step)

    def _select(self, rng, learned, time_step):
        learned["questions"] += 1
        return super()._select(rng, learned, time_step)

    def _probabilities(self, learned, time_step):
        return super()._probabilities(learned, time_step)

    def _learn(self, learned, trajectory):
        super()._learn(learned["means"], trajectory)
        return learned


@caught_by(
    "time_steps_and_trajectories_are_never_written_to", says="_learn wrote into the trajectory"
)
class CentresRewardsInPlace(Means):
    def _learn(self, learned, trajectory):
        reward = trajectory.reward
        reward -= 0.5
        return super()._learn(learned, trajectory)


@caught_by(
    "time_steps_and_trajectories_are_never_written_to", says="_scores wrote into the time step"
)
class ScalesContextsInPlace(Means):
    def _scores(self, learned, time_step):
        context = time_step.observation
        if isinstance(context, np.ndarray):
            context *= 1.0
        return super()._scores(learned, time_step)


@caught_by("only_action_draws", says=r"the generator after learn\(\)")
class DrawsToLearn(Means):
    def _learn(self, learned, trajectory):
        self._state.rng.random()
        return super()._learn(learned, trajectory)


@caught_by(
    "only_available_actions_are_chosen",
    "probabilities_sum_to_one_over_the_available_actions",
    says=r"`_select` must ask `self._available\(time_step.observation\)`",
)
class IgnoresMasks(Policy):
    def _select(self, rng, learned, time_step):
        return rng.integers(self.num_actions, size=self.batch_size)

    def _probabilities(self, learned, time_step):
        return np.full((self.batch_size, self.num_actions), 1.0 / self.num_actions)


@caught_by("probabilities_sum_to_one_over_the_available_actions", says="expected 0 for all others")
class TellsProbabilitiesOfUnavailableActions(Fixed):
    def probabilities(self, time_step):
        return self._probabilities(self._state.learned, time_step)


@caught_by("probabilities_sum_to_one_over_the_available_actions", says="log_probability")
class ForgetsTheLogarithm(Fixed):
    def info_of(self, time_step, action):
        return PolicyInfo(self.probability_of(time_step, action))


@caught_by(
    "actions_are_as_frequent_as_their_probabilities",
    says="`_probabilities` and `_select` disagree: of 1000 choices, action 0 got",
)
class ChoosesUniformly(Fixed):
    def _select(self, rng, learned, time_step):
        available = self._available(time_step.observation)
        keys = rng.random((self.batch_size, self.num_actions))
        return np.where(True if available is None else available, keys, -1.0).argmax(axis=1)

    def _probabilities(self, learned, time_step):
        return super()._probabilities(learned, time_step)


@caught_by("actions_are_as_frequent_as_their_probabilities", says="probability 0 was chosen")
class SometimesChoosesWhatItExcludes(Means):
    _epsilon = 0.0

    def _select(self, rng, learned, time_step):
        best = super()._select(rng, learned, time_step)
        any_other = rng.integers(self.num_actions, size=self.batch_size)
        explores = rng.random(self.batch_size) < 0.1
        if self._available(time_step.observation) is not None:
            return best
        return np.where(explores, any_other, best)

    def _probabilities(self, learned, time_step):
        return super()._probabilities(learned, time_step)


@caught_by(
    "actions_are_as_frequent_as_their_probabilities",
    "a_batch_of_one_chooses_as_a_row_of_a_larger_batch",
    "a_replicated_row_chooses_as_the_one_that_it_is_made_of",
    says="choices, actions, weighted by their probabilities, got",
)
class ChoosesForTheNeighbour(Policy):
    """Each row gets what was drawn for another; over all rows, nothing is missing."""

    def _table(self):
        rows = np.arange(self.batch_size)[:, np.newaxis]
        weights = 1.0 + 8.0 * (np.arange(self.num_actions) == rows % self.num_actions)
        return weights / weights.sum(axis=1, keepdims=True)

    def _select(self, rng, learned, time_step):
        if self._available(time_step.observation) is not None:
            return super()._select(rng, learned, time_step)
        drawn = rng.random((self.batch_size, 1)) < self._table().cumsum(axis=1)
        return np.roll(drawn.argmax(axis=1), 1)

    def _probabilities(self, learned, time_step):
        return self._table()


@caught_by("learning_from_some_rows_is_learning_these_rows", says="changed in the other rows")
class LearnsFromAllRows(Means):
    def learn(self, trajectory, rows=None):
        super().learn(trajectory)


@caught_by(
    "learning_from_some_rows_is_learning_these_rows",
    "a_batch_of_one_learns_as_a_row_of_a_larger_batch",
    says=r"what learn\(trajectory, rows=...\) has learned in these rows",
)
class ComparesItsRows(Means):
    """Learns how much better a row was than the others, but says that rows learn alone."""

    def _learn(self, learned, trajectory):
        reward = trajectory.reward - trajectory.reward.mean()
        return super()._learn(learned, trajectory._replace(reward=reward))


@caught_by("bad_trajectories_are_refused_and_nothing_is_learned", says="a reward of nan.*accepted")
class TakesAnyReward(Means):
    def learn(self, trajectory, rows=None):
        reward = np.clip(np.nan_to_num(trajectory.reward), 0.0, 1.0)
        super().learn(trajectory._replace(reward=reward), rows)


@caught_by(
    "bad_trajectories_are_refused_and_nothing_is_learned", says="the state after a reward of nan"
)
class CountsBeforeItRefuses(Means):
    def _initial(self):
        return *super()._initial(), 0

    def _scores(self, learned, time_step):
        return super()._scores(learned[:2], time_step)

    def learn(self, trajectory, rows=None):
        counts, totals, attempts = self._state.learned
        self._state = self._state._replace(learned=(counts, totals, attempts + 1))
        super().learn(trajectory, rows)

    def _learn(self, learned, trajectory):
        super()._learn(learned[:2], trajectory)
        return learned


@caught_by(
    "a_batch_of_one_chooses_as_a_row_of_a_larger_batch",
    "a_replicated_row_chooses_as_the_one_that_it_is_made_of",
    says=r"probabilities\(\) of row \d, alone in a batch of one,",
)
class CountsTheStepsOfAllRows(Means):
    """Sums counts over all rows where those of one row are meant, as `axis=1` is missing."""

    def _scores(self, learned, time_step):
        counts, _ = learned
        steps = counts.sum() + 1.0
        return super()._scores(learned, time_step) + np.sqrt(np.log(steps) / (1.0 + counts)) * 3.0


@caught_by("a_batch_of_one_chooses_as_a_row_of_a_larger_batch", says=r"expected shape \(1,\)")
class DropsTheDimensionOfOneRow(Fixed):
    def action(self, time_step):
        return super().action(time_step).squeeze()


@caught_by(
    "a_batch_of_one_learns_as_a_row_of_a_larger_batch",
    "a_batch_of_one_chooses_as_a_row_of_a_larger_batch",
    "learning_from_some_rows_is_learning_these_rows",
    "a_replicated_row_chooses_as_the_one_that_it_is_made_of",
    says=r"shape \(4,\) in a batch of 5 rows.*If rows share a model, set `learns_by_row = False`",
)
class SharesAModelInSecret(Means):
    """Learns one model from all rows, but says that each row learns alone."""

    def _initial(self):
        return np.zeros(self.num_actions), np.zeros(self.num_actions)

    def _scores(self, learned, time_step):
        return np.tile(super()._scores(learned, time_step), (self.batch_size, 1))

    def _learn(self, learned, trajectory):
        counts, totals = learned
        np.add.at(counts, trajectory.action, 1.0)
        np.add.at(totals, trajectory.action, trajectory.reward)
        return learned


@caught_by(
    "a_replicated_row_chooses_as_the_one_that_it_is_made_of",
    "a_copy_with_more_actions_chooses_and_learns",
    says=r"_probabilities returned shape .*expected \(5, 4\)",
)
class RemembersItsBatchSize(Policy):
    """Computes what depends on the batch size once, but a copy may have more rows."""

    def __init__(self, **options):
        super().__init__(**options)
        self._uniform = np.full((self.batch_size, self.num_actions), 1.0 / self.num_actions)

    def _select(self, rng, learned, time_step):
        available = self._available(time_step.observation)
        keys = rng.random((self.batch_size, self.num_actions))
        return np.where(True if available is None else available, keys, -1.0).argmax(axis=1)

    def _probabilities(self, learned, time_step):
        return self._uniform


@caught_by(
    "a_batch_of_one_learns_as_a_row_of_a_larger_batch",
    "a_batch_of_one_chooses_as_a_row_of_a_larger_batch",
    "learning_from_some_rows_is_learning_these_rows",
    "a_replicated_row_chooses_as_the_one_that_it_is_made_of",
    says=r"shape \(2, 5, 4\) in a batch of 5 rows; expected the rows first",
)
class HasItsRowsInTheSecondPlace(Means):
    """Learns one array, whose rows cannot be told from other dimensions."""

    def _initial(self):
        return np.zeros((2, self.batch_size, self.num_actions))


@caught_by(
    "a_batch_of_one_learns_as_a_row_of_a_larger_batch",
    "learning_from_some_rows_is_learning_these_rows",
    says=r"what row 0 has learned.*If rows share a model, set `learns_by_row = False`",
)
class SharesASquareInSecret(Policy):
    """As `SharesAModelInSecret`, but with as many numbers as there are rows."""

    def _initial(self):
        return np.zeros(self.batch_size)

    def _probabilities(self, learned, time_step):
        return np.full((self.batch_size, self.num_actions), 1.0 / self.num_actions)

    def _learn(self, learned, trajectory):
        return learned + (1.0 + trajectory.reward).sum()


@caught_by("a_copy_with_more_actions_chooses_and_learns", says="read `self.num_actions` each time")
class OfItsFirstActions(Means):
    """It keeps a number of actions that with_actions changes."""

    def __init__(self, **options):
        self._size = options["num_actions"]
        super().__init__(**options)

    def _scores(self, learned, time_step):
        return super()._scores(learned, time_step)[:, : self._size]


@caught_by("a_copy_with_more_actions_chooses_and_learns", says="choosing after with_actions")
class StartsNoneWarm(Means):
    """It forgets new actions where they start warm."""

    def _start_warm(self, learned, known, warm):
        return tuple(table[:, :known] for table in learned)


class Waits(Policy):
    """Nothing is wrong with it: the more often it chose an action, the rarer it does it again."""

    reward_range = (0.0, 1.0)

    def _initial(self):
        return np.ones((self.batch_size, self.num_actions))

    def _probabilities(self, learned, time_step):
        return (1.0 / learned) / (1.0 / learned).sum(axis=1, keepdims=True)

    def _learn(self, learned, trajectory):
        learned[np.arange(self.batch_size), trajectory.action] += 1.0
        return learned

    def _with_pending(self, learned, pending):
        return learned + pending


@caught_by(
    "pending_choices_leave_no_trace_once_their_rewards_are_lost",
    "a_row_with_pending_choices_chooses_as_it_does_alone",
    says="expect_rewards",
)
class LearnsFromChoices(Waits):
    def expect_rewards(self, action, rows=None):
        super().expect_rewards(action, rows)
        self._state.learned[:] += 1.0


@caught_by(
    "a_reward_ends_the_wait_of_one_choice_of_its_action_in_its_rows", says="pending after learn"
)
class WaitsForEver(Waits):
    def learn(self, trajectory, rows=None):
        pending = self._state.pending
        super().learn(trajectory, rows)
        self._state = self._state._replace(pending=pending)


@caught_by(
    "what_is_chosen_by_with_pending_choices_is_new_and_of_one_layout",
    says="_with_pending returned array float32",
)
class ChoosesByAnotherLayout(Waits):
    def _with_pending(self, learned, pending):
        return (learned + pending).astype(np.float32)


@caught_by("a_row_with_pending_choices_chooses_as_it_does_alone", says="alone in a batch of one")
class WaitsForAllRows(Waits):
    def _with_pending(self, learned, pending):
        return learned + pending.sum(axis=0)


@caught_by("pending_choices_are_saved_and_reset", says=r"reset\(\) keeps pending choices")
class WaitsAfterAReset(Waits):
    def reset(self):
        pending = self._state.pending
        super().reset()
        self._state = self._state._replace(pending=pending)


@caught_by("policies_that_do_not_count_pending_choices_say_so", says="an expected reward")
class IgnoresPendingChoices(Means):
    def expect_rewards(self, action, rows=None):
        pass
