"""The file of a service is a log: it is evaluated, learned from, and served again."""

import time

import numpy as np
import pytest

from bandit_envs import BetaThompsonSamplingPolicy
from bandit_envs.evaluations import evaluate
from bandit_envs.logged import (
    InversePropensityScoring,
    SelfNormalizedIPS,
    learn_from_log,
    probabilities_of,
    read_log,
    scan_log,
)
from bandit_envs.logged.learners import DirectMethodLearner
from bandit_envs.serving import DecisionService
from tests.drawing import no_figures
from tests.serving.services import CONTEXT, NAMES, contextual, open_shop

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*the estimate is unreliable", "ignore:policy is ContextualPolicy"
)

__all__ = ["no_figures"]


def serve_users(service, size):
    """Serves users who like red if they are from Germany, and blue otherwise."""
    rng = np.random.default_rng(0)
    for user in range(size):
        country = "DE" if user % 2 else "FR"
        decision = service.decide({"age": float(rng.random()), "country": country})
        liked = "red" if country == "DE" else "blue"
        if user % 10:
            service.reward(decision.id, decision.action == liked)


def test_the_circle_closes(tmp_path):
    with open_shop(tmp_path, epsilon=0.5) as service:
        serve_users(service, 240)
        learned_from = service.log()[:108]
        log = service.log()[108:]
    better = DirectMethodLearner().fit(learned_from)
    estimate = InversePropensityScoring().estimate(log, probabilities_of(better, log))
    assert estimate.value > log.reward.mean() + 0.1
    with DecisionService(tmp_path / "next.sqlite", better, epsilon=0.1, seed=0) as service:
        found = [service.decide({"age": 0.5, "country": "DE"}) for _ in range(50)]
        actions = [each.action for each in found]
        assert actions.count("red") > 40
        assert min(each.probability for each in found) >= 0.1 / 3 - 1e-12


def test_a_policy_goes_on_where_the_log_of_another_ends(tmp_path):
    with open_shop(tmp_path) as service:
        serve_users(service, 60)
        known = service.policy.get_state().content.learned.model
        learned = learn_from_log(contextual(), service.log(), batch_rows=1)
    with DecisionService(tmp_path / "next.sqlite", learned, seed=0) as service:
        for left, right in zip(service.policy.get_state().content.learned.model, known):
            np.testing.assert_array_equal(left, right)


def test_a_log_of_actions_that_came_is_one_table(tmp_path):
    with open_shop(tmp_path, epsilon=0.5) as service:
        serve_users(service, 30)
        service.add_action("black")
        service.retire_action("green")
        serve_users(service, 30)
        scan = scan_log(service.path, batch_rows=7)
        assert {batch.num_actions for batch in scan} == {4}
        log = service.log()
        assert log.available.sum(axis=1).tolist() == [3] * 54
        serve_users(service, 5)
        table = probabilities_of(service.policy, log)
    np.testing.assert_allclose(table.sum(axis=1), 1.0)
    assert (table[~log.available] == 0.0).all()


def test_times_of_rewards_cut_a_log(tmp_path, monkeypatch):
    with open_shop(tmp_path) as service:
        serve_users(service, 20)
        monkeypatch.setattr(time, "time", lambda: 4e9)  # in the year 2096
        serve_users(service, 20)
        earlier, later = scan_log(service.path, time="time").split("2090-01-01")
    assert (len(earlier), len(later)) == (18, 18)


def set_clock(monkeypatch, day):
    """Lets a day be today, in UTC."""
    seconds = float(np.datetime64(day, "s").astype(int))
    monkeypatch.setattr(time, "time", lambda: seconds)


def serve_three_months(folder, monkeypatch):
    """Serves users in three months, and returns the file. Rewards come a month after decisions."""
    with open_shop(folder, epsilon=0.5) as service:
        for month, size in {1: 10, 2: 20, 3: 30}.items():
            set_clock(monkeypatch, f"2026-{month:02}-20")
            made = service.decide_many([CONTEXT] * size)
            set_clock(monkeypatch, f"2026-{month + 1:02}-20")
            service.reward_many((each.id, float(n % 3)) for n, each in enumerate(made))
        return service.path


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_months_are_of_when_decisions_were_made(tmp_path, monkeypatch):
    path = serve_three_months(tmp_path, monkeypatch)
    log = read_log(path, time="time")
    assert read_log(path) == log.drop("time")
    assert set(np.diff(log.time).tolist()) == {0.0, 31 * 86_400.0, 28 * 86_400.0}
    for each, by in ((path, "time:month"), (scan_log(path, 13), "month"), (log, "month")):
        found = evaluate(each, "random", "snips", by=by)
        sizes = {name: rows[0].rows for name, rows in found.segments.items()}
        assert sizes == {"2026-01": 10, "2026-02": 20, "2026-03": 30}
        assert found.is_over_time
        own = evaluate(log[10:30], "random", "snips").rows[1]
        assert found.segments["2026-02"][1].value == pytest.approx(own.value, rel=1e-9)
    with pytest.raises(ValueError, match="no column of dates 'day'; expected its own time"):
        evaluate(path, "random", "snips", by="day:month")


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_months_are_those_of_all_files_in_a_folder(tmp_path, monkeypatch):
    serve_three_months(tmp_path, monkeypatch).rename(tmp_path / "first.sqlite")
    with open_shop(tmp_path) as service:
        set_clock(monkeypatch, "2026-03-31")
        made = service.decide_many([CONTEXT] * 5)
        service.reward_many((each.id, 1.0) for each in made)
    found = evaluate(tmp_path, "random", "snips", by="time:month")
    assert [rows[0].rows for rows in found.segments.values()] == [10, 20, 35]


def test_the_command_evaluates_and_learns(tmp_path, monkeypatch, capsys):
    pytest.importorskip("rich")
    from bandit_envs.cli import main  # noqa: PLC0415

    monkeypatch.chdir(tmp_path)
    with open_shop(tmp_path, epsilon=0.5) as service:
        serve_users(service, 100)
    main(["learn", "shop.sqlite", "--output", "policy.npz"])
    main(["evaluate", "shop.sqlite", "--policy", "policy.npz", "--policy", "random"])
    text = capsys.readouterr().out
    assert "10 of 100 decisions have no reward" in text
    assert "3 actions (red, green, blue)" in text
    assert (tmp_path / "results").exists()


def test_names_and_features_come_from_the_file_alone(tmp_path):
    with open_shop(tmp_path) as service:
        service.reward(service.decide(CONTEXT).id, True)
    (batch,) = scan_log(tmp_path / "shop.sqlite")
    assert batch.action_names == (*NAMES,)
    assert batch.observation.tolist() == [[0.5, 0.0, 1.0]]
    assert batch.reward.tolist() == [1.0]


def test_logged_propensities_are_the_true_ones(tmp_path):
    """Also of samples, with masks, and while actions come and go."""
    rng = np.random.default_rng(5)
    policy = BetaThompsonSamplingPolicy(num_actions=3, seed=0)
    path = tmp_path / "shop.sqlite"
    with DecisionService(path, policy, NAMES, seed=3, samples=50, epsilon=0.1) as service:
        for batch in range(30):
            if batch == 10:
                service.add_action("black")
            if batch == 20:
                service.retire_action("blue")
            available = [choose_available(rng, service.open_actions) for _ in range(50)]
            decisions = service.decide_many([None] * 50, available)
            rewards = [pays(rng, service.actions.index(each.action)) for each in decisions]
            service.reward_many([(each.id, pay) for each, pay in zip(decisions, rewards)])
        log = service.log()
    means = 0.2 + 0.15 * np.arange(4)
    uniform = log.available / log.available.sum(axis=1, keepdims=True)
    first = np.broadcast_to(np.arange(4) == 0, uniform.shape).astype(np.float64)
    for target in (uniform, first):
        truth = (target @ means).mean()
        for estimator in (InversePropensityScoring(), SelfNormalizedIPS()):
            estimate = estimator.estimate(log, target)
            assert abs(estimate.value - truth) < 4.0 * estimate.standard_error


def choose_available(rng, names):
    """The first action, and some others; or None for all."""
    if rng.random() < 0.5:
        return None
    return [name for name in names if name == names[0] or rng.random() < 0.6]


def pays(rng, action):
    """A reward whose mean is known."""
    return float(rng.random() < 0.2 + 0.15 * action)
