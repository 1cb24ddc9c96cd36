"""What a study is, how it is cut into tasks, and what is refused."""

import sys
from importlib.resources import files

import numpy as np
import pytest

from bandit_envs.studies.book import FIGURES
from bandit_envs.studies.specs import EnvironmentSpec, PolicySpec
from bandit_envs.studies.study import Study
from bandit_envs.studies.tasks import run_task
from tests.experiments.sweeps import TINY

tomllib = pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")


def parse(text):
    return Study.from_toml(tomllib.loads(text))


def labels(environments, policies=("ucb:c=2",)):
    study = Study(
        "Labels",
        tuple(map(EnvironmentSpec.parse, environments)),
        tuple(map(PolicySpec.parse, policies)),
        runs=1,
        steps=1,
    )
    return [study.label(cell) for cell in study.cells()]


def test_lists_stand_for_all_combinations_of_their_values():
    study = parse(
        TINY.replace("batch_size = 2", "batch_size = [2, 3]").replace(
            "epsilon = [0, 0.25, 0.5, 1]", "epsilon = [0, 1]\ngamma = [0.5, 1]"
        )
    )
    assert [str(spec) for spec in study.environments] == [
        f"per_arm:global_dim=2,arm_dim=2,arms=3,batch_size={size}" for size in (2, 3)
    ]
    assert [str(spec) for spec in study.policies[1:]] == [
        f"linear_epsilon_greedy:epsilon={epsilon},gamma={gamma}"
        for epsilon in (0, 1)
        for gamma in (0.5, 1)
    ]
    assert study.num_cells() == len(list(study.cells())) == 10
    assert study.num_tasks() == sum(len(list(study.tasks(cell))) for cell in study.cells()) == 40


def test_a_study_is_the_same_after_it_was_written():
    study = parse(TINY)
    assert Study.from_json(study.to_json()) == study


def test_a_testbed_task_is_2000_runs_and_a_per_arm_task_one():
    study = Study(
        "Blocks",
        (EnvironmentSpec("testbed", {}), EnvironmentSpec("per_arm", {})),
        (PolicySpec("random", {}),),
        runs=4500,
        steps=1,
    )
    testbed, per_arm = (list(study.tasks(cell)) for cell in study.cells())
    assert [task.runs for task in testbed] == [2000, 2000, 500]
    assert [task.runs for task in per_arm] == [1] * 4500
    assert study.num_tasks() == 4503


def test_a_legend_names_of_an_environment_what_tells_it_from_the_others():
    assert labels(["testbed:k=5,drift_std=0.1"]) == ["UCB, c=2"]
    assert labels(["testbed:k=5", "testbed:k=7"]) == ["UCB, c=2, k=5", "UCB, c=2, k=7"]
    sizes = "per_arm:arms=3,batch_size=1", "per_arm:arms=3"
    assert labels(sizes, ["lin_ucb:alpha=1"]) == ["LinUCB, α=1, B=1", "LinUCB, α=1, B=20"]
    several = "testbed", "testbed:drift_std=0.5", "per_arm"
    assert labels(several, ["random"]) == [
        "random, k-armed testbed, drift_std=0",
        "random, k-armed testbed, drift_std=0.5",
        "random, per-arm bandit",
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "Tiny"', "", "the study has no title; expected one"),
        ("runs = 4", "", "the study has no runs; expected one"),
        ("[[environment]]", "[[environments]]", "the study has no environment; expected one"),
        ("[[environment]]", "[environment]", r"environment is \{.*; expected \[\[environment\]\]"),
        ("[[policy]]", "[[policies]]", "the study has 'policies'; expected a key"),
        ('title = "Tiny"', "title = 5", "title is 5; expected a string"),
        ("runs = 4", "runs = 0", "runs is 0; expected at least 1"),
        ("runs = 4", 'runs = "4"', "runs is '4'; expected an integer"),
        ("runs = 4", "runs = 4.5", "runs is 4.5; expected an integer"),
        ("runs = 4", "runs = true", "runs is True; expected an integer"),
        ("runs = 4", "runs = [4]", r"runs is \[4\]; expected an integer"),
        ("runs = 4", "runs = 1_000_000", "there are 5000000 tasks; expected at most 1000000"),
        ("steps = 5", "steps = -1", "steps is -1; expected at least 1"),
        ("steps = 5", "steps = 5\nseed = -1", "seed is -1; expected at least 0"),
        ("steps = 5", "steps = 5\nspeed = 1", "the study has 'speed'; expected a key of a study"),
        ("steps = 5", "steps = 5\npolicies = []", "the study has 'policies'; expected a key"),
        ('metrics = ["reward"]', "metrics = []", "metrics is empty; expected some of reward"),
        ('metrics = ["reward"]', 'metrics = "reward"', "metrics is 'reward'; expected a list"),
        ('metrics = ["reward"]', 'metrics = [["reward"]]', r"metric is \['reward'\]; expected one"),
        ('metrics = ["reward"]', 'metrics = ["loss"]', "metric is 'loss'; expected one of reward"),
        ('metrics = ["reward"]', 'metrics = ["reward", "reward"]', "metric reward is there twice"),
        ('panels = ["reward"]', 'panels = ["regret"]', "panel is 'regret'; expected one of reward"),
        ('panels = ["reward"]', "panels = 1", "panels is 1; expected a list of names"),
        (
            'metrics = ["reward"]\npanels = ["reward"]',
            'metrics = ["regret"]\npanels = []',
            "panels",
        ),
        ('name = "random"', "", "one policy has no name; expected one of random"),
        ('name = "random"', "name = 1", "policy is 1; expected one of random, greedy"),
        ('name = "random"', 'name = ["random"]', r"policy is \['random'\]; expected one of random"),
        ('name = "random"', 'name = "randon"', "policy is 'randon'; expected one of random"),
        ('name = "random"', 'name = "random"\nseed = 1', "policy random got 'seed'; expected no"),
        ('name = "random"', 'name = "ucb"', "policy ucb got no c; expected one"),
        ("[0, 0.25, 0.5, 1]", "[]", "policy linear_epsilon_greedy got an empty list"),
        ("[0, 0.25, 0.5, 1]", "[[0, 1]]", r"linear_epsilon_greedy: epsilon is \[0, 1\]; expected"),
        ("[0, 0.25, 0.5, 1]", '["0.1"]', "policy linear_epsilon_greedy: epsilon is '0.1'; exp"),
        ("[0, 0.25, 0.5, 1]", "[0, 2]", "epsilon is 2; expected a number from 0 to 1"),
        ("[0, 0.25, 0.5, 1]", "[1, 1.0]", "policy linear_epsilon_greedy:epsilon=1 is there twice"),
        ("[0, 0.25, 0.5, 1]", "[true]", "epsilon is True; expected a number"),
        ("[0, 0.25, 0.5, 1]", "[nan]", "epsilon is nan; expected a finite number"),
        ("[0, 0.25, 0.5, 1]", "1979-05-27", "epsilon is .*1979.*; expected a number"),
        ("[0, 0.25, 0.5, 1]", "1" + 400 * "0", "epsilon is beyond all floats"),
        ("[0, 0.25, 0.5, 1]", "{ a = 1 }", "epsilon is {'a': 1}; expected a number"),
        ('name = "per_arm"', 'name = "per-arm"', "environment is 'per-arm'; expected one of"),
        (
            "epsilon = [0, 0.25, 0.5, 1]",
            f"epsilon = {list(range(1001))}\ngamma = {list(range(1000))}",
            "policy stands for 1001001 combinations; expected at most 1000000",
        ),
        ("arms = 3", "arms = 0", "max_num_actions is 0; expected at least 1"),
        ("arms = 3", "arms = 2.5", "arms is 2.5; expected an integer"),
        ("arms = 3", 'arms = "3"', "environment per_arm: arms is '3'; expected a number"),
        ("arms = 3", "arms = 3\nnoise = -1", "noise is -1; expected at least 0"),
        ("arms = 3", "arms = 3\nvalue_std = 1", "environment per_arm got 'value_std'; expected"),
        ("global_dim = 2", "global_dim = 1e15", "environment per_arm:global_dim=1e[+]15.*: "),
    ],
)
def test_what_is_no_study_is_refused(old, new, message):
    assert old in TINY
    with pytest.raises((TypeError, ValueError), match=message):
        parse(TINY.replace(old, new, 1))


@pytest.mark.parametrize("policy", ["lin_ucb", "linear_thompson"])
def test_a_policy_that_cannot_act_in_an_environment_is_refused(policy):
    environments = EnvironmentSpec("per_arm", {}), EnvironmentSpec("testbed", {})
    with pytest.raises(ValueError, match=f"policy {policy}: observation_spec is .* expected glob"):
        Study("Mixed", environments, (PolicySpec(policy, {}),), runs=1, steps=1)


def example_text(name):
    return (files("bandit_envs") / "experiments" / "examples" / f"{name}.toml").read_text("utf-8")


@pytest.mark.parametrize(("example", "tasks"), [("figure_2_6", 26), ("per_arm_alpha", 240)])
def test_the_examples_are_studies(example, tasks):
    assert parse(example_text(example)).num_tasks() == tasks


def test_the_first_example_is_figure_2_6_of_the_command():
    assert [str(spec) for spec in parse(example_text("figure_2_6")).policies] == [
        str(PolicySpec.parse(spec)) for spec in FIGURES["2.6"].policies
    ]


def test_seeds_come_from_the_position_of_a_block_alone():
    def rewards(text):
        study = parse(text)
        cells = {str(cell.policy): cell for cell in study.cells()}
        tasks = list(study.tasks(cells["random"]))
        return [run_task(task).metrics["reward"].per_step.mean for task in tasks]

    alone = TINY[: TINY.index('[[policy]]\nname = "linear')]
    among_others = TINY.replace('[[policy]]\nname = "random"', "") + '\n[[policy]]\nname="random"'
    np.testing.assert_array_equal(rewards(alone), rewards(among_others))
    np.testing.assert_array_equal(
        rewards(alone), rewards(alone.replace("runs = 4", "runs = 9"))[:4]
    )
    assert np.any(rewards(alone)[0] != rewards(alone)[1])
