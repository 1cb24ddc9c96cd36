"""Policies that look for the best action, with one fault each: see `faulty_policies`."""

import numpy as np

from bandit_envs.policies import BestArmPolicy
from tests.testing.faulty_policies import caught_by


class InTurn(BestArmPolicy):
    """Nothing is wrong with it: it chooses in turn, and stops after 15 steps."""

    reward_range = (0.0, 1.0)

    def _exploration_scores(self, search):
        return -search.pulls.counts

    def _update(self, search, rows):
        search.stopped[rows] = search.pulls.steps[rows] >= 15


@caught_by("recommended_actions_are_available", says="where these actions are available")
class RecommendsUnavailableActions(InTurn):
    def _recommended(self, search, available):
        return super()._recommended(search, None)


ENDS = "a_row_that_has_stopped_plays_what_it_recommends_and_learns_no_more"


@caught_by(
    "recommended_actions_are_available", ENDS, says="expected an array of shape .5,. and dtype"
)
class RecommendsProbabilities(InTurn):
    def recommend(self, time_step):
        return np.eye(self.num_actions)[super().recommend(time_step)]


@caught_by(ENDS, says="a row that had stopped goes on")
class GoesOnAfterAStop(InTurn):
    """Decides for all rows, also for those that have stopped."""

    def _update(self, search, rows):
        search.stopped[:] = search.pulls.steps >= 15


@caught_by(ENDS, says="what rows that have stopped know")
class LearnsAfterAStop(InTurn):
    def _learn(self, learned, trajectory):
        rows = np.arange(self.batch_size)
        learned.pulls.add(rows, trajectory.action, trajectory.reward)
        self._update(learned, rows[~learned.stopped])
        return learned


@caught_by(ENDS, says="the action of rows that have stopped")
class ExploresAfterAStop(InTurn):
    def _scores(self, learned, time_step):
        return self._exploration_scores(learned)


@caught_by(ENDS, says="`steps`, which counts the rewards")
class CountsChoicesOfTheBestOnly(InTurn):
    @property
    def steps(self):
        return self._state.learned.pulls.counts.max(axis=1).astype(np.intp)


@caught_by(
    "a_restored_state_recommends_the_same", says="answers of a policy with the state after step 0"
)
class RemembersItsRecommendation(InTurn):
    """Keeps its first answer, though another state is restored."""

    def recommend(self, time_step):
        if not hasattr(self, "_found"):
            self._found = super().recommend(time_step)
        return self._found


@caught_by("only_action_draws", says=r"the generator after recommend\(\)")
class DrawsItsRecommendation(InTurn):
    def recommend(self, time_step):
        self._state.rng.random()
        return super().recommend(time_step)
