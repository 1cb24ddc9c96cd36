"""What a report tells of a file of decisions, while services write to it."""

import contextlib
import html
import math
import multiprocessing
import sqlite3
from unittest import mock

import numpy as np
import pytest

from bandit_envs.evaluations import evaluate
from bandit_envs.policies import BetaThompsonSamplingPolicy, ConstantPolicy, UCBPolicy
from bandit_envs.policies.rules import EpsilonGreedy
from bandit_envs.serving import DecisionService, read_report
from tests.drawing import no_figures
from tests.serving.services import FEATURES, NAMES, arms, contextual, open_arms, open_shop

__all__ = ["no_figures"]

MEANS = {"red": 0.2, "green": 0.5, "blue": 0.7, "black": 0.3}
START = 1_700_000_000.0


@pytest.fixture
def clock(monkeypatch):
    """A function that sets the time."""
    now = mock.Mock(return_value=START)
    monkeypatch.setattr("time.time", now)

    def set_time(seconds):
        now.return_value = START + seconds

    return set_time


def serve(service, users, seed=0, share=1.0):
    """Serves users at once, and rewards the first of them."""
    rng = np.random.default_rng(seed)
    contexts = [{"age": age, "country": "DE"} for age in rng.random(users)]
    decisions = service.decide_many(contexts if service.encoding.features else [None] * users)
    rewarded = decisions[: int(share * users)]
    rewards = rng.random(len(rewarded)) < [MEANS[each.action] for each in rewarded]
    service.reward_many([(each.id, float(paid)) for each, paid in zip(rewarded, rewards)])
    return decisions


def change(folder, query):
    """Changes the file of a service by force."""
    with contextlib.closing(sqlite3.connect(folder / "shop.sqlite")) as connection:
        connection.execute(query)
        connection.commit()


def test_a_report_counts_decisions_rewards_and_those_that_wait(tmp_path, clock):
    with open_arms(tmp_path) as service:
        serve(service, 10, share=0.5)
        clock(3600.0)
        serve(service, 10, share=0.8)
        clock(7200.0)
        report = service.report()
    assert (report.decisions, report.rewards, report.pending) == (20, 13, 7)
    assert report.oldest == 7200.0
    assert report.median_age == 7200.0
    assert sum(each.decisions for each in report.actions) == 20
    assert sum(each.rewards for each in report.actions) == 13
    assert [each.pending for each in report.periods if each.decisions] == [5, 2]
    waiting = [line for line in report.summary() if "waiting" in line]
    assert waiting == [
        "7 decisions waiting for a reward: half of them for at least 2.0 hours, "
        "the oldest for 2.0 hours"
    ]


def test_a_report_says_how_long_the_only_decision_without_a_reward_waits(tmp_path, clock):
    with open_arms(tmp_path) as service:
        service.decide()
        clock(7200.0)
        assert "1 decision waiting for a reward for 2.0 hours" in list(service.report().summary())


def test_a_timeout_ends_a_wait_and_is_no_reward(tmp_path, clock):
    with open_arms(tmp_path, timeout=60.0) as service:
        serve(service, 10, share=0.5)
        clock(61.0)
        service.learn()
        report = service.report()
    assert (report.rewards, report.timeouts, report.pending) == (5, 5, 0)


def test_a_wait_is_over_at_its_time_before_any_call_notes_it(tmp_path, clock):
    with open_arms(tmp_path, timeout=60.0, timeout_reward=0.25) as service:
        serve(service, 10, share=0.5)
        clock(50.0)
        serve(service, 4, share=0.0)
        clock(60.0)
        report = service.report()
        assert (report.rewards, report.timeouts, report.pending) == (5, 5, 4)
        assert report.oldest == 10.0
        assert sum(each.pending for each in report.periods) == 4
        (note,) = [each for each in report.notes if "timeout" in each]
        assert note.startswith("The reward 0.25 of 5 decisions whose timeout has passed counts")
        assert read_report(service.path).pending == 9
        service.learn()
        noted = service.report()
    assert (noted.rewards, noted.timeouts, noted.pending) == (10, 5, 4)
    assert not any("timeout" in each for each in noted.notes)


def test_without_contexts_a_value_is_the_mean_of_the_rewards_of_an_action(tmp_path):
    with open_arms(tmp_path) as service:
        serve(service, 100)
        serve(service, 200, seed=1)
        log = service.log()
        report = service.report()
    assert len(set(log.propensity)) > 1
    assert not report.has_contexts
    assert "value: the mean of the rewards of the action." in str(report)
    for action, each in enumerate(report.actions):
        assert each.value == pytest.approx(log.reward[log.action == action].mean())


def test_with_contexts_a_value_is_weighted_by_inverse_probabilities(tmp_path):
    with open_shop(tmp_path) as service:
        serve(service, 100)
        serve(service, 200, seed=1)
        log = service.log()
        report = service.report()
    assert report.has_contexts
    for action, each in enumerate(report.actions):
        is_chosen = log.action == action
        expected = np.average(log.reward[is_chosen], weights=1.0 / log.propensity[is_chosen])
        assert each.value == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore:an action was drawn with the probability 1")
def test_one_note_names_the_actions_that_some_decisions_could_not_draw(tmp_path):
    policy = UCBPolicy(c=1.0, num_actions=3, seed=0)
    with DecisionService(tmp_path / "a.db", policy, NAMES, seed=0) as service:
        for seed in range(6):
            serve(service, 50, seed=seed)
        (note,) = [each for each in service.report().notes if "probability 0" in each]
    assert note.startswith("green, blue: probability 0 in some decisions")
    assert note.endswith("Estimates of other policies leave out these decisions.")


def test_probability_0_is_noted_once_draws_of_small_probabilities_are_missing(tmp_path):
    """Red has the probability 0.99 at first and 0.005 after the upgrade: no draw proves nothing."""
    for action in (0, 1):
        path = tmp_path / "a.db"
        policy = ConstantPolicy(action, num_actions=3, seed=0)
        if action == 1:
            DecisionService.upgrade(path, policy)
        with DecisionService(path, policy, NAMES, epsilon=0.015, seed=0) as service:
            serve(service, 60)
            report = service.report()
    assert report.actions[0].weight + 4.0 * report.actions[0].weight_error < 1.0
    assert not any("probability 0" in note for note in report.notes)


def test_other_policies_wait_for_the_first_rewards(tmp_path):
    pytest.importorskip("matplotlib")
    with open_arms(tmp_path) as service:
        for rewards in range(4):
            decision = service.decide()
            report = service.report("random")
            is_estimated = report.evaluation is not None
            is_noted = "Other policies are estimated from 3 rewards on." in str(report)
            assert (is_estimated, is_noted) == (rewards == 3, rewards < 3)
            if rewards in (0, 3):
                report.write_page(tmp_path / "page.html")
            service.reward(decision.id, 1.0)


def test_intervals_have_the_range_of_the_policy_or_a_given_one_or_none(tmp_path):
    policy = BetaThompsonSamplingPolicy(num_actions=3, seed=0)
    with DecisionService(tmp_path / "a.db", policy, NAMES, samples=100, epsilon=0.1) as service:
        serve(service, 50)
        assert service.report().reward_range == (0.0, 1.0)
    with open_arms(tmp_path) as service:
        serve(service, 50)
        without = service.report()
        given = service.report(reward_range=(0.0, 1.0))
        with pytest.raises(ValueError, match=r"reward is .* in row"):
            service.report(reward_range=(0.0, 0.5))
        with pytest.raises(ValueError, match=r"reward_range is \(1, 0\); expected low < high"):
            service.report(reward_range=(1, 0))
        with pytest.raises(ValueError, match="reward_range is 1; expected the smallest"):
            service.report(reward_range=1)
    assert math.isnan(without.actions[0].low)
    assert "the range of rewards is not known" in str(without)
    assert all(0.0 <= each.low <= each.value <= each.high <= 1.0 for each in given.actions)


@pytest.mark.slow
@pytest.mark.parametrize("open_service", [open_arms, open_shop], ids=["arms", "contexts"])
def test_intervals_hold_at_all_looks_together(tmp_path, open_service):
    """Each misses with probability 0.05 at most; of 60, more than 12 with less than 1e-5."""
    missed = 0
    for seed in range(20):
        folder = tmp_path / str(seed)
        folder.mkdir()
        is_missed = dict.fromkeys(NAMES, False)
        with open_service(folder, seed=seed, synchronous="off") as service:
            for look in range(6):
                serve(service, 50, seed=[seed, look])
                for each in service.report(reward_range=(0.0, 1.0)).actions:
                    holds = each.decisions == 0 or each.low <= MEANS[each.action] <= each.high
                    is_missed[each.action] |= not holds
        missed += sum(is_missed.values())
    assert missed <= 12


@pytest.mark.slow
def test_rare_actions_have_intervals_that_tell_something(tmp_path):
    """A value whose rewards are weighted by 30 is known to a third after 20,000 users."""
    with open_shop(tmp_path, contextual(EpsilonGreedy(0.1)), synchronous="off") as service:
        for block in range(40):
            serve(service, 500, seed=block)
        report = service.report(reward_range=(0.0, 1.0))
    for each in report.actions:
        assert each.high - each.low < 0.35
        assert each.low <= MEANS[each.action] <= each.high


def test_values_do_not_depend_on_batches(tmp_path, monkeypatch):
    with open_shop(tmp_path) as service:
        serve(service, 60)
        service.add_action("black")
        serve(service, 60, seed=1, share=0.7)
        at_once = service.report(reward_range=(0.0, 1.0))
        monkeypatch.setattr("bandit_envs.serving.reports.scanning.BATCH_ROWS", 7)
        in_batches = service.report(reward_range=(0.0, 1.0))
    for row, other in zip(at_once.actions, in_batches.actions):
        assert row[2:] == pytest.approx(other[2:], nan_ok=True)


def test_an_action_counts_where_it_was_available(tmp_path):
    with open_arms(tmp_path) as service:
        serve(service, 40)
        service.add_action("black")
        service.retire_action("red")
        serve(service, 40)
        report = service.report()
    red, _, _, black = report.actions
    assert not red.is_open
    assert red.share == red.decisions / 40
    assert black.share == black.decisions / 40
    assert "red (retired)" in str(report)


def test_periods_are_as_short_as_fits_and_show_shares(tmp_path, clock):
    with open_arms(tmp_path) as service:
        for day in range(5):
            clock(day * 86400.0)
            serve(service, 20, seed=day)
        report = service.report(reward_range=(0.0, 1.0))
    assert report.period == "6 hours"
    days = [each for each in report.periods if each.decisions]
    assert [each.decisions for each in days] == [20] * 5
    for each in days:
        assert sum(row.share for row in each.actions) == pytest.approx(1.0)
    widths = [row.actions[0].high - row.actions[0].low for row in days]
    assert widths == sorted(widths, reverse=True)
    last = report.periods[-1].actions[0]
    assert (last.value, last.low) == (report.actions[0].value, report.actions[0].low)


def test_over_time_the_most_frequent_actions_are_shown(tmp_path):
    names = [f"banner {number}" for number in range(30)]
    with DecisionService(tmp_path / "a.db", arms(30), names, seed=1) as service:
        decisions = service.decide_many([None] * 200)
        report = service.report()
    headings, *_ = report.periods_table()
    chosen = [each.action for each in decisions]
    others = {*names} - {*headings}
    fewest = min(chosen.count(name) for name in names if name in headings)
    assert len(others) == 22
    assert all(chosen.count(name) <= fewest for name in others)
    assert "the 8 most frequent actions" in str(report)
    assert len(report.periods[0].actions) == 30


def test_weights_are_near_one_where_probabilities_are_true(tmp_path):
    with open_shop(tmp_path) as service:
        serve(service, 500)
        report = service.report()
    for each in report.actions:
        assert abs(each.weight - 1.0) < 5.0 * each.weight_error
    assert report.notes == []


def test_probabilities_that_are_too_small_are_found(tmp_path):
    with open_shop(tmp_path) as service:
        serve(service, 1000)
        change(tmp_path, "UPDATE decisions SET probability = probability / 4 WHERE action = 1")
        report = service.report()
    expected = "green was drawn more often than its probabilities can explain: they are wrong."
    assert expected in report.notes


@pytest.mark.filterwarnings("ignore:an action was drawn with the probability 1")
def test_a_policy_that_never_explores_is_noted(tmp_path):
    with DecisionService(tmp_path / "a.db", ConstantPolicy(1, num_actions=3), NAMES) as service:
        serve(service, 20)
        report = service.report()
    assert report.certain == 20
    assert any("the log tells nothing" in note for note in report.notes)


def test_a_value_that_has_changed_is_noted(tmp_path):
    with open_arms(tmp_path) as service:
        for paid, users in ((0.0, 50), (1.0, 500)):
            decisions = service.decide_many([None] * users)
            service.reward_many([(each.id, paid) for each in decisions])
        report = service.report(reward_range=(0.0, 1.0))
    assert any("its value has changed" in note for note in report.notes)


def test_other_policies_are_evaluated_on_the_log(tmp_path):
    with open_shop(tmp_path) as service:
        serve(service, 200)
        report = service.report("constant:number=2", "snips")
    _, row = report.evaluation.rows
    assert (row.policy, row.estimator) == ("constant:number=2", "snips")
    assert row.value == pytest.approx(report.actions[2].value)
    assert report.evaluation.headline() in str(report).splitlines()


def test_a_report_says_why_to_distrust_an_estimate(tmp_path):
    pytest.importorskip("matplotlib")
    with open_shop(tmp_path, contextual(EpsilonGreedy(0.05))) as service:
        for block in range(4):
            serve(service, 50, seed=block)
        report = service.report(["constant:number=0", "constant:number=1"], "ips")
    warned = [row for row in report.evaluation.rows if row.warnings]
    assert warned
    report.write_page(tmp_path / "page.html")
    page = html.unescape((tmp_path / "page.html").read_text("utf-8"))
    assert len({row.warnings for row in warned}) == 2
    sizes = sorted(f"{row.effective_sample_size:.1f}" for row in warned)
    text = f"the effective sample size is {' to '.join(sizes)} of 200 rows; the estimate is"
    assert f"{'; '.join(f'{row.policy}, ips' for row in warned)}: {text}" in str(report)
    assert text in page


def test_a_file_without_decisions_has_a_report(tmp_path):
    with open_arms(tmp_path) as service:
        report = service.report(reward_range=(0.0, 1.0))
    assert (report.decisions, report.rewards, report.pending) == (0, 0, 0)
    assert math.isnan(report.mean_reward)
    assert "0 decisions" in str(report)


def tell_decisions(path, is_serving, answers):
    """Reads a report in another process, and tells how many decisions it has."""
    assert is_serving.wait(60.0)
    answers.put(read_report(path).decisions)


@pytest.mark.posix
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_report_changes_nothing_and_is_read_while_another_process_serves(tmp_path):
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    is_serving = context.Event()
    arguments = (tmp_path / "shop.sqlite", is_serving, answers)
    process = context.Process(target=tell_decisions, args=arguments)
    process.start()  # before there is a connection that it would inherit
    with open_arms(tmp_path) as service:
        serve(service, 10)
        before = service.log()
        is_serving.set()
        process.join(60.0)
        assert process.exitcode == 0
        assert answers.get() == 10
        assert service.log() == before


def test_no_file_and_other_files_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read_report(tmp_path / "shop.sqlite")
    (tmp_path / "text.sqlite").write_text("not a database, but a text that is long enough" * 30)
    with pytest.raises(ValueError, match="is not a file of decisions"):
        read_report(tmp_path / "text.sqlite")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("UPDATE decisions SET probability = 0.0", "was drawn with probability 0.0"),
        ("UPDATE decisions SET action = 7", "action 7 of 3 was drawn"),
        ("UPDATE meta SET value = '[1' WHERE name = 'reward_range'", "expected two numbers"),
        ("DELETE FROM meta WHERE name = 'reward_range'", "expected two numbers"),
    ],
    ids=["probability", "action", "range", "no range"],
)
def test_a_damaged_file_is_refused(tmp_path, query, message):
    with open_arms(tmp_path) as service:
        serve(service, 10)
    change(tmp_path, query)
    with pytest.raises(ValueError, match=f"is damaged: .*{message}"):
        read_report(tmp_path / "shop.sqlite")


@pytest.mark.parametrize("has_charts", [True, False])
def test_a_page_has_tables_and_charts_or_pictures_of_names_as_they_are(
    tmp_path, monkeypatch, has_charts
):
    pytest.importorskip("matplotlib")
    if has_charts:
        pytest.importorskip("plotly")
    else:
        monkeypatch.undo()  # so that figures are drawn
        monkeypatch.setattr("bandit_envs.showing.page.find_spec", lambda name: None)
    names = ["<b>red</b>", "$green", "blue"]
    with DecisionService(tmp_path / "a.db", arms(), names, features=FEATURES) as service:
        decisions = service.decide_many([{"age": 0.1, "country": "FR"}] * 30)
        service.reward_many([(each.id, 1.0) for each in decisions])
        service.report("random", reward_range=(0.0, 1.0)).write_page(tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text("utf-8")
    assert "&lt;b&gt;red&lt;/b&gt;" in page
    assert "<b>red" not in page
    assert page.count("<img") == (0 if has_charts else 2)
    assert page.count('class="chart"') == (2 if has_charts else 0)


def test_a_file_without_rewards_has_no_rows_for_other_policies(tmp_path):
    with open_arms(tmp_path) as service:
        service.decide()
        with pytest.raises(ValueError, match="no rows of decisions that have a reward"):
            evaluate(service.path, "random")
