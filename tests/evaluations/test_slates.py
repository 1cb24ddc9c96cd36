"""Policies that show slates are evaluated on logs of slates."""

import numpy as np
import pytest

from bandit_envs import EpsilonGreedyPolicy, RandomSlatePolicy, SlatePolicy
from bandit_envs.evaluations import evaluate_slates
from bandit_envs.logged import SlateProbabilities
from bandit_envs.logged.slates import SlateLog

MEANS = np.array([0.1, 0.2, 0.4, 0.8])


def random_log(size=20_000, seed=0, **propensity):
    """A log of random slates of two of four items, whose rewards depend on the item alone."""
    rng = np.random.default_rng(seed)
    items = np.argsort(rng.random((size, 4)), axis=1)[:, :2]
    reward = (rng.random((size, 2)) < MEANS[items]).astype(float)
    given = RandomSlatePolicy(2, num_actions=4, batch_size=size).info_of(None, items)
    kept = SlateProbabilities(
        **{name: getattr(given, name) for name in propensity or given._fields}
    )
    return SlateLog(np.ones((size, 1)), items, reward, kept, 4)


class BestFirst(SlatePolicy):
    """Shows the items with the largest means."""

    def _scores(self, learned, time_step):
        return np.tile(MEANS, (self.batch_size, 1))


def test_estimates_of_all_kinds_are_near_the_truth():
    found = evaluate_slates(
        random_log(), {"best": BestFirst(2, num_actions=4), "all": "random_slate"}
    )
    assert [row.policy for row in found.rows] == ["best"] * 3 + ["all"] * 3
    for row in found.rows:
        truth = 1.2 if row.policy == "best" else 2 * MEANS.mean()
        assert abs(row.value - truth) < 5 * row.standard_error
        assert row.low < row.value < row.high
    assert "20000 slates of 2 slots, 4 items" in found.title


def test_the_propensities_of_the_log_say_which_estimators_there_are():
    found = evaluate_slates(random_log(slot=True), "random_slate")
    assert [row.estimator for row in found.rows] == ["SlateIndependentIPS"]


def test_whole_slates_that_are_rewarded_need_their_propensities():
    log = random_log(100)
    rewards = log.reward.sum(axis=1, keepdims=True)
    whole = SlateLog(log.observation, log.action, rewards, log.propensity, 4)
    found = evaluate_slates(whole, "random_slate")
    assert [row.estimator for row in found.rows] == ["SlateStandardIPS"]
    of_slots = SlateProbabilities(slot=log.propensity.slot)
    lacking = SlateLog(log.observation, log.action, rewards, of_slots, 4)
    with pytest.raises(ValueError, match="whole slates are rewarded"):
        evaluate_slates(lacking, "random_slate")


def test_warnings_are_in_the_row_and_files_have_the_table(tmp_path):
    found = evaluate_slates(random_log(100), BestFirst(2, num_actions=4))
    assert "effective sample size" in found.rows[0].warnings
    found.write(tmp_path)
    lines = (tmp_path / "estimates.csv").read_text().splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("policy,estimator,slates,value")


@pytest.mark.parametrize(
    "policy",
    ["random", "doubly_robust", EpsilonGreedyPolicy(0.1, num_actions=4)],
    ids=["spec", "learner", "own"],
)
def test_policies_that_show_no_slates_are_refused(policy):
    with pytest.raises((ValueError, TypeError), match="policy"):
        evaluate_slates(random_log(100), policy)


def test_logs_of_other_kinds_are_refused():
    with pytest.raises(TypeError, match="expected a SlateLog"):
        evaluate_slates([1, 2], "random_slate")
    with pytest.raises(ValueError, match="log has 0 slates"):
        evaluate_slates(random_log(100)[:0], "random_slate")
