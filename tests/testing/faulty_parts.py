"""Models and rules with one fault each, and what the contract of policies must say of them."""

import dataclasses
from typing import NamedTuple

import numpy as np

from bandit_envs.policies.models import Ridge
from bandit_envs.policies.rules import IndexRule, Rule
from tests.policies.contextual_parts import UsersModel, UsersRule

FAULTS = []


class Fault(NamedTuple):
    model: object
    rule: object
    test: str  # that must fail
    message: str  # a regular expression
    independent_rows: bool


def caught_by(test, says, independent_rows=False):
    """Registers a faulty part with a test that must fail for it, and what that says."""

    def register(kind):
        part = kind()
        is_rule = isinstance(part, Rule)
        pair = (Ridge(), part) if is_rule else (part, UsersRule())
        FAULTS.append(Fault(*pair, f"test_{test}", says, independent_rows))
        return kind

    return register


@caught_by("all_that_changes_is_in_learned", r"model.*totals.*What changes must be in `learned`")
@dataclasses.dataclass(frozen=True)
class HidesWhatItCounts(UsersModel):
    totals: list = dataclasses.field(default_factory=lambda: [0])

    def learn(self, learned, rows):
        self.totals[0] += len(rows.reward)
        return super().learn(learned, rows)


@caught_by("all_that_changes_is_in_learned", r"rule.*What changes must be in `learned`")
@dataclasses.dataclass(frozen=True)
class HidesAStep(UsersRule):
    steps: list = dataclasses.field(default_factory=lambda: [0])

    def index(self, seen):
        self.steps[0] += 1
        return super().index(seen)


@caught_by("only_learn_writes_into_learned", "only `_learn` may")
@dataclasses.dataclass(frozen=True)
class WritesIntoTheModel(IndexRule):
    def index(self, seen):
        seen.learned.theta[...] *= 0.5
        return seen.means()


@caught_by("only_learn_writes_into_learned", "only `_learn` may")
@dataclasses.dataclass(frozen=True)
class LearnsWhenItPredicts(UsersModel):
    def means(self, learned, inputs):
        learned["counts"][...] += 1.0
        return super().means(learned, inputs)


@caught_by("a_copy_with_more_actions_chooses_and_learns", r"`sizes\.num_outputs`.*`add_actions`")
@dataclasses.dataclass(frozen=True)
class KeepsTheNumberOfItsActions(UsersModel):
    """Predicts for as many actions as it has known at first."""

    def initial(self, sizes, rng):
        return {**super().initial(sizes, rng), "known": sizes.num_outputs}

    def means(self, learned, inputs):
        return super().means(learned, inputs)[:, : learned["known"]]


@caught_by("only_available_actions_are_chosen", "chose 0 in row .*, and a rule `available`")
@dataclasses.dataclass(frozen=True)
class WritesIntoTheMask(Rule):
    def probabilities(self, seen, available):
        if available is not None:
            available[:, 0] = True
        return np.full(seen.shape, 1.0 / seen.shape[1])


@caught_by("time_steps_and_trajectories_are_never_written_to", "wrote into the trajectory")
@dataclasses.dataclass(frozen=True)
class CentersRewardsInPlace(UsersModel):
    def learn(self, learned, rows):
        np.subtract(rows.reward, 0.5, out=rows.reward)
        return super().learn(learned, rows)


@caught_by("equal_seeds_give_equal_runs", r"means returned shape \(4,\); expected an array")
@dataclasses.dataclass(frozen=True)
class ForgetsTheRows(UsersModel):
    def means(self, learned, inputs):
        return super().means(learned, inputs)[0]


@caught_by("equal_seeds_give_equal_runs", r"means returned \[\[.*expected an array of shape")
@dataclasses.dataclass(frozen=True)
class ReturnsLists(UsersModel):
    def means(self, learned, inputs):
        return super().means(learned, inputs).tolist()


@caught_by("equal_seeds_give_equal_runs", r"index returned shape \(5, 1\); expected")
@dataclasses.dataclass(frozen=True)
class HasOneIndexARow(UsersRule):
    def index(self, seen):
        return seen.means()[:, :1]


@caught_by("only_available_actions_are_chosen", "chose . in row ., where")
@dataclasses.dataclass(frozen=True)
class IgnoresTheMask(Rule):
    def select(self, rng, seen, available):
        return seen.means().argmax(axis=1)


@caught_by(
    "a_batch_of_one_learns_as_a_row_of_a_larger_batch", "shape|learned", independent_rows=True
)
@dataclasses.dataclass(frozen=True)
class SharesItsRows(UsersModel):
    """Learns from all rows in each, but says that rows can have models of their own."""

    def learn(self, learned, rows):
        mean = np.full_like(rows.reward, rows.reward.mean())
        return super().learn(learned, rows._replace(reward=mean))
