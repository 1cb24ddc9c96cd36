"""What a policy has lost to the best one for a whole run, and where one-step regret misleads."""

import numpy as np
import pytest

from bandit_envs import (
    ConstantPolicy,
    KArmedTestbed,
    RegretMetric,
    RestedBandit,
    RestlessMarkovBandit,
    StepDriver,
    UCBPolicy,
)
from bandit_envs.environments import rising, rotting
from bandit_envs.metrics import LostRewardMetric
from bandit_envs.studies.definition.changing import describe_regret, find_changing, read_changing
from bandit_envs.studies.definition.study import Study
from bandit_envs.wrappers import AffineReward, OneProblem, RandomActionMask
from tests.command_line import run
from tests.wrappers.examples import Unchanged

B = 50


def play(env, policy, steps=1000):
    """Returns the lost reward and the one-step regret of each run: [2, B]."""
    metrics = [LostRewardMetric(env), RegretMetric(env)]
    StepDriver(env, policy, [policy, *metrics], steps).run()
    return np.array([metric.totals for metric in metrics])


@pytest.mark.parametrize(
    ("make", "arm", "lost", "regret"),
    [(rising, 0, 504.31, 0.0), (rising, 3, 0.0, 0.05), (rotting, 0, 26.93, 563.86)],
)
def test_lost_rewards_rank_arms_and_one_step_regrets_do_not(make, arm, lost, regret):
    found = play(make(), ConstantPolicy(arm, num_actions=4))
    assert found.ravel() == pytest.approx([lost, regret], abs=0.005)


def test_the_lost_reward_and_what_was_earned_make_the_optimum():
    env = rotting(batch_size=B, seed=0)
    lost = LostRewardMetric(env)
    earned = np.zeros(B)
    policy = UCBPolicy(c=1.0, num_actions=4, batch_size=B, seed=1)

    def add(trajectory):
        earned[:] += env.get_info()["expected_reward"]

    StepDriver(env, policy, [policy, lost, add], num_steps=300).run()
    assert lost.totals + earned == pytest.approx(env.optimum_of_run(300).earned[-1])
    assert (lost.totals > 0.0).all()


def test_each_episode_has_an_optimum_of_its_own():
    env = RestedBandit([[0.5, 0.5, 0.5], [0.0, 0.75, 1.0]], std=0.0, horizon=3)
    lost, _ = play(env, ConstantPolicy(0, num_actions=2), steps=9)
    assert lost == pytest.approx(3 * 0.25)


def test_a_saved_metric_goes_on_where_it_was():
    env = rising(batch_size=2, seed=0)
    policy = ConstantPolicy(1, num_actions=4, batch_size=2)
    metric = LostRewardMetric(env)
    driver = StepDriver(env, policy, [metric], num_steps=150)
    driver.run()
    state = driver.get_state()
    driver.run()
    other = LostRewardMetric(env)
    again = StepDriver(env, policy, [other], num_steps=150)
    again.set_state(state)
    again.run()
    assert other.totals.tolist() == metric.totals.tolist()


@pytest.mark.parametrize("wrap", [Unchanged, OneProblem])
def test_wrappers_that_change_no_rewards_keep_the_optimum(wrap):
    env = wrap(rising(batch_size=3))
    assert env.actions_change_state
    assert env.optimum_of_run(20).earned == pytest.approx(rising().optimum_of_run(20).earned)


@pytest.mark.parametrize(
    "env",
    [
        RandomActionMask(rising(), 0.5),
        AffineReward(rising(), scale=2.0),
        KArmedTestbed(),
        Unchanged(KArmedTestbed()),
    ],
)
def test_an_unknown_optimum_is_refused(env):
    with pytest.raises(NotImplementedError, match="the optimum of a whole run is unknown"):
        LostRewardMetric(env)


class Wrong(RestedBandit):
    def __init__(self, **found):
        super().__init__([[0.0]])
        self._found = found

    def optimum_of_run(self, num_steps):
        return super().optimum_of_run(num_steps)._replace(**self._found)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (
            {"among": "some policies"},
            r"optimum_of_run\(128\).among is 'some policies'",
        ),
        ({"earned": [1.0, 2.0]}, r"optimum_of_run\(128\).earned has 2 numbers; expected 128"),
        ({"earned": np.full(128, np.nan)}, r"optimum_of_run\(128\).earned"),
    ],
)
def test_a_wrong_optimum_is_refused(found, message):
    with pytest.raises(ValueError, match=f"Wrong.{message}"):
        LostRewardMetric(Wrong(**found))


def test_only_chains_that_the_actions_move_are_changed_by_them():
    assert not RestlessMarkovBandit().actions_change_state
    assert RestlessMarkovBandit(rested=True).actions_change_state
    assert OneProblem(RestlessMarkovBandit(rested=True)).actions_change_state
    assert not OneProblem(KArmedTestbed()).actions_change_state


def study(*environments, **values):
    policies = ["constant:number=0", "constant:number=1"]
    given = {"title": "", "environment": list(environments), "policy": policies}
    return Study.from_dict({**given, "runs": 2, "steps": 5, **values})


LONG = ("rising", "restless_markov:rested=true", "one_problem:environment=rotting")


def test_studies_measure_lost_rewards_where_actions_change_the_state():
    one = study(*LONG)
    expected = ("reward", "one_step_percent_optimal", "one_step_regret", "lost_reward")
    assert one.metrics == expected
    assert one.panels == ("reward", "lost_reward")
    assert study("rising", "testbed").metrics == expected[:3]
    assert study("restless_markov").metrics == ("reward", "percent_optimal", "regret")
    best_arm = study("rising", policy=["uniform_allocation:budget=4"])
    assert {"simple_regret", "error"}.isdisjoint(best_arm.metrics)
    with pytest.raises(ValueError, match=r"rising has no regret: .* expected lost_reward"):
        study("rising", metrics=["regret"])


def test_tables_say_what_regrets_are():
    one_step = "change what later steps pay: one-step regret does not rank policies."
    one = study("rising")
    found = describe_regret(one, find_changing(one), one.summary)
    lost = "Lost reward: what the best policy for the whole run is expected to earn, less what was"
    assert found == [f"Actions {one_step}", f"{lost} earned."]
    mixed = study("rising", "testbed")
    (line,) = describe_regret(mixed, find_changing(mixed), mixed.summary)
    assert line == f"In rising bandit, actions {one_step}"
    assert describe_regret(mixed, find_changing(mixed), ["mean_reward"]) == []
    chains = study("restless_markov:rested=true", "rising")
    _, bound, best = describe_regret(chains, find_changing(chains), chains.summary)
    assert bound.startswith("Lost reward in restless Markov bandit, rested=true: a bound of what")
    assert best.startswith("Lost reward in rising bandit: what the best policy for the whole run")
    assert describe_regret(study("testbed"), {}, study("testbed").summary) == []


@pytest.mark.parametrize("value", [None, [], {"rising": 3}, {"rising": ["bound"]}, "rising"])
def test_what_a_file_says_of_other_kinds_is_left_out(value):
    assert read_changing(value) == {}


def test_the_command_shows_lost_rewards_and_compares_by_them(tmp_path):
    policies = ["--policy", "constant:number=0", "--policy", "constant:number=3"]
    size = ["--runs", "3", "--steps", "300", "--workers", "1"]
    code, out, _ = run("run", "rising", *policies, *size, "--output", tmp_path)
    assert code == 0
    assert "one-step regret does not rank policies." in out
    assert "Lost reward: what the best policy" in out
    code, out, _ = run("report", tmp_path, "--latex", tmp_path / "table.tex")
    assert code == 0
    differences = out.partition("Differences to one action, number=0")[2]
    assert "lost reward" in differences
    assert "one-step" not in differences
    assert "-89.3" in differences
    assert "one-step regret does not rank policies." in (tmp_path / "table.tex").read_text()
    page = tmp_path / "page.html"
    assert run("show", tmp_path, "--output", page).code == 0
    assert "one-step regret does not rank policies." in page.read_text("utf-8")
    limited = run("run", "rising", *policies, *size, "--fail-above-regret", "1")
    assert limited.code == 2
    assert "measures no regret, as actions change what later steps pay" in limited.err
