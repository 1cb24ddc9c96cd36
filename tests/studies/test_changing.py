"""Studies of environments whose actions change what later steps pay."""

import pytest

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")
pytest.importorskip("scipy")

from bandit_envs.studies.definition.changing import describe_regret, find_changing, read_changing
from bandit_envs.studies.definition.study import Study
from tests.cases import for_each
from tests.command_line import run


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


@for_each("value", [None, [], {"rising": 3}, {"rising": ["bound"]}, "rising"])
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
