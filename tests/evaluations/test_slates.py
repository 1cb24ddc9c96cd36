"""Policies that show slates are evaluated on logs of slates."""

import dataclasses
import warnings

import numpy as np
import pytest

from bandit_envs import EpsilonGreedyPolicy, RandomSlatePolicy, SlatePolicy
from bandit_envs.evaluations import evaluate
from bandit_envs.logged import (
    BanditLog,
    RewardInteractionIPS,
    SlateIndependentIPS,
    SlateProbabilities,
    SlateStandardIPS,
)
from bandit_envs.logged.slate_log import SlateLog
from bandit_envs.tables.encoding import NumberColumn, TableEncoding
from bandit_envs.trajectories import restart
from tests.cases import for_each

MEANS = np.array([0.1, 0.2, 0.4, 0.8])


def random_log(size=6_000, seed=0, slots=2, **propensity):
    """A log of random slates of some of four items, whose rewards depend on the item alone."""
    rng = np.random.default_rng(seed)
    items = np.argsort(rng.random((size, 4)), axis=1)[:, :slots]
    reward = (rng.random((size, slots)) < MEANS[items]).astype(float)
    policy = RandomSlatePolicy(slots, num_actions=4, batch_size=size)
    given = policy.info_of(restart(np.ones((size, 1)), size), items)
    kept = SlateProbabilities(
        **{name: getattr(given, name) for name in propensity or given._fields}
    )
    return SlateLog(np.ones((size, 1)), items, reward, kept, 4)


class BestFirst(SlatePolicy):
    """Shows the items with the largest means."""

    def _scores(self, learned, time_step):
        return np.tile(MEANS, (self.batch_size, 1))


def test_estimates_of_all_kinds_are_near_the_truth():
    found = evaluate(random_log(), {"best": BestFirst(2, num_actions=4), "all": "random_slate"})
    logged, *rows = found.rows
    assert [row.policy for row in rows] == ["best"] * 6 + ["all"] * 6
    for row in rows:
        truth = 1.2 if row.policy == "best" else 2 * MEANS.mean()
        assert abs(row.value - truth) < 5 * row.standard_error
        assert row.low < row.value < row.high
        assert row.gain == pytest.approx(row.value - logged.value, abs=1e-12)
    assert (logged.policy, logged.estimator, logged.rows) == ("logged", "mean", 6_000)
    assert "6000 slates of 2 slots, 4 items" in found.title


@pytest.mark.parametrize("slots", [2, 3])
def test_values_gains_and_intervals_are_those_of_the_estimators(slots):
    log = random_log(3000, slots=slots)
    policy = BestFirst(slots, num_actions=4)
    rows = {row.estimator: row for row in evaluate(log, policy).rows}
    given = log.probabilities_of(policy)
    rewards = log.reward.sum(axis=1)
    for name, estimator in (
        ("slate_ips", SlateStandardIPS()),
        ("slot_snips", SlateIndependentIPS(self_normalized=True)),
        ("prefix_snips", RewardInteractionIPS(self_normalized=True)),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = estimator.estimate(log.reward, log.propensity, given)
        row = rows[name]
        found = (row.value, row.standard_error, row.low, row.high)
        own = (expected.value, expected.standard_error, *expected.interval())
        assert found == pytest.approx(own, rel=1e-9, abs=1e-12)
    weights = given.slot / log.propensity.slot
    ratios = (weights * log.reward).mean(axis=0) / weights.mean(axis=0)
    moved = (weights * (log.reward - ratios) / weights.mean(axis=0)).sum(axis=1)
    moved -= rewards - rewards.mean()
    error = np.sqrt((moved**2).sum() / 3000 / 2999)
    row = rows["slot_snips"]
    assert row.gain == pytest.approx(ratios.sum() - rewards.mean(), abs=1e-12)
    assert row.gain_standard_error == pytest.approx(error, abs=1e-12)
    assert row.gain_low < row.gain < row.gain_high


@pytest.mark.parametrize("slots", [2, 3])
def test_the_policy_that_made_the_log_has_no_gain(slots):
    found = evaluate(random_log(3000, slots=slots), "random_slate")
    for row in found.rows[1:]:
        assert (row.gain, row.p_value) == (0.0, 1.0)


def test_gains_may_be_over_another_policy_and_within_segments():
    log = random_log(1000)
    encoding = TableEncoding((), (NumberColumn("new"),))
    log = dataclasses.replace(
        log, observation=np.arange(1000.0)[:, np.newaxis] % 2, encoding=encoding
    )
    policies = {"all": "random_slate", "best": BestFirst(2, num_actions=4)}
    estimators = ["slate_ips", "slot_snips"]
    found = evaluate(log, policies, estimators, baseline="all", by="new")
    assert list(found.segments) == ["0", "1"]
    for name, rows in found.segments.items():
        part = log[log.observation[:, 0] == int(name)]
        alone = evaluate(part, policies, estimators, baseline="all").rows
        assert [row.value for row in rows] == pytest.approx([row.value for row in alone])
        assert [row.rows for row in rows] == [500] * 5
        gains = [row.gain for row in rows if row.policy == "best"]
        assert gains == pytest.approx([row.gain for row in alone if row.policy == "best"])
    assert all(np.isnan(row.gain) for row in found.rows if row.policy == "all")
    with pytest.raises(ValueError, match=r"by is 'old'; expected a column of \['new'\]"):
        evaluate(log, policies, by="old")


def test_a_page_shows_what_was_found(tmp_path):
    pytest.importorskip("matplotlib")
    found = evaluate(dataclasses.replace(random_log(2000), name="visits.csv"), "random_slate")
    found.write(tmp_path)
    found.write_page(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "Policies on visits.csv" in text
    assert "rows are slates, and weights those of slate_ips" in text
    assert "prefix_snips" in text


def test_the_propensities_of_the_log_say_which_estimators_there_are():
    found = evaluate(random_log(slot=True), "random_slate")
    assert [row.estimator for row in found.rows] == ["mean", "slot_ips", "slot_snips"]


def test_whole_slates_that_are_rewarded_need_their_propensities():
    log = random_log(100)
    rewards = log.reward.sum(axis=1, keepdims=True)
    whole = SlateLog(log.observation, log.action, rewards, log.propensity, 4)
    found = evaluate(whole, "random_slate")
    assert [row.estimator for row in found.rows] == ["mean", "slate_ips", "slate_snips"]
    of_slots = SlateProbabilities(slot=log.propensity.slot)
    lacking = SlateLog(log.observation, log.action, rewards, of_slots, 4)
    with pytest.raises(ValueError, match="whole slates are rewarded"):
        evaluate(lacking, "random_slate")


def test_warnings_are_in_the_row_and_files_have_the_table(tmp_path):
    pytest.importorskip("matplotlib")
    found = evaluate(random_log(100), BestFirst(2, num_actions=4))
    assert "effective sample size" in found.rows[1].warnings
    found.write(tmp_path)
    lines = (tmp_path / "estimates.csv").read_text().splitlines()
    assert len(lines) == 8
    assert lines[0].startswith("policy,estimator,rows,value")


@pytest.mark.parametrize(
    "policy",
    ["random", "doubly_robust", EpsilonGreedyPolicy(0.1, num_actions=4)],
    ids=["spec", "learner", "own"],
)
def test_policies_that_show_no_slates_are_refused(policy):
    with pytest.raises((ValueError, TypeError), match="policy"):
        evaluate(random_log(100), policy)


def test_a_log_without_slates_and_estimators_of_other_actions_are_refused():
    with pytest.raises(ValueError, match="log has 0 slates"):
        evaluate(random_log(100)[:0], "random_slate")
    with pytest.raises(ValueError, match="estimator dr is not for actions that are slates"):
        evaluate(random_log(100), "random_slate", "dr")


@for_each("argument", [{"train": 0.3}, {"until": "new=1"}, {"all_rows": True}, {"workers": 2}])
def test_what_logs_of_slates_do_not_have_is_refused(argument):
    (name,) = argument
    with pytest.raises(ValueError, match=f"^{name} is .*; leave it out"):
        evaluate(random_log(100), "random_slate", **argument)


def test_estimators_may_be_named_and_given():
    found = evaluate(
        random_log(400), "random_slate", {"mine": SlateIndependentIPS(), "slate": "slate_snips"}
    )
    assert [row.estimator for row in found.rows] == ["mean", "mine", "slate"]
    known = {row.estimator: row.value for row in evaluate(random_log(400), "random_slate").rows}
    assert [row.value for row in found.rows[1:]] == [known["slot_ips"], known["slate_snips"]]


def test_slates_of_one_slot_have_the_intervals_by_units_of_single_actions():
    log = random_log(2000, slots=1)
    user = np.random.default_rng(1).integers(0, 150, 2000)
    slates = dataclasses.replace(log, unit=user)
    actions = BanditLog(
        log.observation, log.action[:, 0], log.reward[:, 0], log.propensity.slate, 4, unit=user
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shown = evaluate(slates, "random_slate", ["slate_ips", "slate_snips"])
        chosen = evaluate(actions, "random", ["ips", "snips"])
    assert "rows of one unit belong together" in shown.title
    for row, expected in zip(shown.rows, chosen.rows, strict=True):
        for name in ("value", "standard_error", "low", "high", "effective_sample_size"):
            assert getattr(row, name) == pytest.approx(getattr(expected, name), rel=1e-9)
        if expected.gain_rows:
            for name in ("gain", "gain_low", "gain_high", "p_value"):
                found = getattr(row, name)
                assert found == pytest.approx(getattr(expected, name), rel=1e-6, abs=1e-12)


def test_slates_of_one_unit_count_as_one():
    """Each slate is logged five times, which tells nothing more."""
    log = random_log(600, slots=3)
    repeated = dataclasses.replace(
        log[np.repeat(np.arange(600), 5)], unit=np.repeat(np.arange(600), 5)
    )
    once = dataclasses.replace(log, unit=np.arange(600))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = dataclasses.replace(repeated, unit=None)
        names = ["slate_snips", "slot_ips", "slot_snips"]
        rows, expected, wrong = (
            evaluate(each, "random_slate", names).rows for each in (repeated, once, alone)
        )
    for row, one, other in zip(rows, expected, wrong, strict=True):
        assert (row.value, row.low, row.high) == pytest.approx((one.value, one.low, one.high))
        assert row.standard_error == pytest.approx(one.standard_error)
        assert row.effective_sample_size == pytest.approx(one.effective_sample_size, rel=0.02)
        assert other.standard_error < 0.5 * one.standard_error


def test_segments_of_slates_are_by_units():
    log = random_log(3000)
    country = np.arange(3000) % 2
    named = dataclasses.replace(
        log,
        observation=country[:, np.newaxis].astype(float),
        encoding=TableEncoding((), (NumberColumn("country"),)),
        unit=np.arange(3000) // 20,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = evaluate(named, "random_slate", "slate_snips", by="country")
        alone = evaluate(named[country == 1], "random_slate", "slate_snips")
    for row, expected in zip(found.segments["1"], alone.rows, strict=True):
        assert (row.low, row.high) == pytest.approx((expected.low, expected.high), rel=1e-9)
