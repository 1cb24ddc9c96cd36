"""What a study is, how it is cut into tasks, and what is refused."""

import json
import sys

import numpy as np
import pytest

pytest.importorskip("joblib")
pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")

from bandit_envs.names.notation import parse_toml
from bandit_envs.studies.definition.study import Study
from bandit_envs.studies.running.tasks import run_task
from tests.cases import for_each
from tests.command_line import TINY, example_text, run


def parse(text):
    return Study.from_dict(parse_toml(text))


def study(environments=("testbed",), policies=("ucb:c=2",), **values):
    """A short study."""
    return Study.from_dict(
        {
            "title": "A study",
            "environment": list(environments),
            "policy": list(policies),
            "runs": 1,
            "steps": 1,
            **values,
        }
    )


def labels(*of):
    one = study(*of)
    return [one.label(environment, policy) for environment, policy in one.pairs()]


def test_every_policy_meets_every_environment():
    one = parse(TINY.replace("batch_size = 2", "batch_size = [2, 3]"))
    pairs = [(str(task.environment), str(task.policy)) for task in one.tasks() if task.block == 0]
    assert len(set(pairs)) == len(pairs) == 10
    assert len(list(one.tasks())) == 40


def test_a_study_is_the_same_after_it_was_written():
    one = parse(TINY)
    assert Study.from_dict(json.loads(json.dumps(one.to_dict()))) == one


@for_each("quantiles", [[0.1], 0.1, [0.1, 1.5], ["0.1", 0.9], [0.1, 0.5, 0.9]])
def test_quantiles_are_two_numbers_from_0_to_1(quantiles):
    with pytest.raises((TypeError, ValueError), match="quantiles"):
        study(quantiles=quantiles)
    assert study(quantiles=[0.9, 0.1]).quantiles == [0.1, 0.9]


def test_a_task_is_2000_runs_where_rows_are_runs_and_a_share_of_all_runs_elsewhere():
    one = study(["testbed", "per_arm"], ["random"], runs=4500)
    testbed = [task.runs for task in one.tasks() if task.position == 0]
    per_arm = [task.runs for task in one.tasks() if task.position == 1]
    assert testbed == [2000, 2000, 500]
    assert per_arm == [71] * 63 + [27]
    assert [task.runs for task in study(["per_arm"], ["random"], runs=64).tasks()] == [1] * 64


def test_a_legend_names_of_an_environment_what_tells_it_from_the_others():
    assert labels(["testbed:k=5,drift_std=0.1"]) == ["UCB, c=2"]
    assert labels(["testbed:k=5", "testbed:k=7"]) == ["UCB, c=2, k=5", "UCB, c=2, k=7"]
    sizes = "per_arm:max_num_actions=3,batch_size=1", "per_arm:max_num_actions=3,batch_size=2"
    assert labels(sizes, ["lin_ucb:alpha=1"]) == ["LinUCB, α=1, B=1", "LinUCB, α=1, B=2"]
    assert labels(["testbed", "testbed:drift_std=0.5", "per_arm"], ["random"]) == [
        "random, k-armed testbed",
        "random, k-armed testbed, drift_std=0.5",
        "random, per-arm bandit",
    ]


def test_a_legend_rounds_parameters_unless_that_makes_two_the_same():
    assert labels(["testbed"], ["ucb:c=1.4142136"]) == ["UCB, c=1.414"]
    close = ["ucb:c=1.4142136", "ucb:c=1.4142137", "greedy"]
    assert labels(["testbed"], close) == ["UCB, c=1.4142136", "UCB, c=1.4142137", "greedy"]
    means = "tests.studies.mine:Bernoulli:means=[0.123456,0.5]", "bernoulli:means=[0.123457,0.5]"
    assert labels(means, ["random"]) == [
        "random, Bernoulli, means=[0.123456,0.5]",
        "random, Bernoulli bandit, means=[0.123457,0.5]",
    ]
    kept = "discounted_ucb:gamma=0.99999", "explore_then_commit:m=12345", "ucb:c=12345.5"
    assert [label.rpartition("=")[2] for label in labels(["testbed"], kept)] == [
        *("0.99999", "12345", "12345.5"),
    ]


def test_a_legend_shortens_long_lists_unless_that_makes_two_the_same():
    means = [k / 64 for k in range(40)]
    other = [*means[:20], 0.99, *means[21:]]
    long, changed = (f"bernoulli:means={m}".replace(" ", "") for m in (means, other))
    assert labels([long, "testbed"], ["random"])[0] == (
        "random, Bernoulli bandit, means=[0.0,0.01562,0.03125,…,0.6094]"
    )
    assert labels([long, changed], ["random"])[0] == f"random, {long.partition(':')[2]}"
    assert str(study([long]).environment[0]) == long


def test_what_is_not_known_is_not_measured():
    unknown = study(["tests.studies.mine:Unknown:means=[0.5,0.5]"])
    assert unknown.metrics == unknown.panels == ("reward",)
    assert study(["tests.studies.mine:Bernoulli:means=[0.5,0.5]"]).metrics == (
        *("reward", "percent_optimal", "regret"),
    )
    for key, name in (("metrics", "regret"), ("panels", "cumulative_regret")):
        with pytest.raises(ValueError, match=f"{key} is .*mine:Unknown.* has no regret"):
            study(["tests.studies.mine:Unknown:means=[0.5,0.5]"], **{key: ["reward", name]})


def test_a_title_is_one_line_that_a_terminal_can_show():
    one = parse(TINY.replace('"Tiny"', r'"a\u001b[31mRED\u001b]0;pwn\u0007\n\u009b b"'))
    assert one.title.isprintable()
    assert len(parse(TINY.replace("Tiny", 100_000 * "x")).title) < 1000


@for_each(
    ("old", "new", "message"),
    [
        ('title = "Tiny"', "", "title"),
        ('title = "Tiny"', "title = 3", "title is 3; expected a string"),
        ("runs = 4", "runs = 4\npaired = 3", "paired is 3; expected true or false"),
        ("runs = 4", "run = 4", "'run'"),
        ("runs = 4", "", "'runs'"),
        ("[[environment]]", "[[environments]]", "'environments'"),
        ("[[environment]]", "[environment]", r"environment is \{"),
        ("runs = 4", "runs = 0", "runs is 0; expected at least 1"),
        ("runs = 4", 'runs = "4"', "runs is '4'; expected an integer"),
        ("steps = 5", "steps = 5\nseed = -1", "seed is -1"),
        ('metrics = ["reward"]', 'metrics = "reward"', "metrics is 'reward'"),
        ('metrics = ["reward"]', 'metrics = [["reward"]]', "metrics is"),
        ('metrics = ["reward"]', 'metrics = ["loss"]', r"metrics is \['loss'\].*reward"),
        ('panels = ["reward"]', 'panels = ["regret"]', r"panels is \['regret'\].*reward"),
        ('panels = ["reward"]', "panels = 1", "panels is 1"),
        ('["reward"]\npanels = ["reward"]', '["regret"]\npanels = []', "panels is empty"),
        ('panels = ["reward"]', "over = {k = 1}", "over is .*'k': 1"),
        ('panels = ["reward"]', "over = {k = [[1]]}", r"over is \[1\]; expected a number"),
        ("runs = 4", "runs = 4\nexpected = 5", "expected is 5"),
        ("runs = 4", "runs = 4\nexpected = {value = 1}", r"expected is \{"),
        ('name = "random"', "", "policy is .* name"),
        (
            'name = "random"',
            'name = "random"\nseed = 1',
            "policy random has no parameter 'seed' that users give",
        ),
        ("[0, 0.25, 0.5, 1]", "[[0, 1]]", r"epsilon is \[0, 1\]"),
        ("[0, 0.25, 0.5, 1]", "[1, 1.0]", "epsilon_greedy:epsilon=1.0 is listed twice"),
        ("[0, 0.25, 0.5, 1]", "1979-05-27", "epsilon is .*1979"),
        ('name = "per_arm"', 'name = "per-arm"', "did you mean per_arm"),
        ("max_num_actions = 3", "max_num_actions = 0", "max_num_actions is 0"),
    ],
)
def test_what_is_no_study_is_refused_and_named(old, new, message):
    assert old in TINY
    with pytest.raises((TypeError, ValueError), match=message) as error:
        parse(TINY.replace(old, new, 1))
    assert len(str(error.value)) < 2000


def test_a_list_that_a_users_class_needs_is_written_in_a_list():
    table = {"name": "tests.studies.mine:Bernoulli", "means": [0.1, 0.9]}
    with pytest.raises(ValueError, match=r"\[\[1, 2\]\]"):
        study([table])
    assert len(study([{**table, "means": [[0.1, 0.9]]}]).environment) == 1


def test_a_class_that_fails_for_another_reason_gets_no_advice_on_lists():
    tables = [{"name": "tests.studies.mine:Failing", "action": [0, 1]}]
    with pytest.raises(ValueError, match="broadcast") as error:
        study(policies=tables)
    assert "[[" not in str(error.value)


@pytest.mark.parametrize(
    "policy",
    [
        'contextual:model="hybrid_ridge",rule="upper_bound"',
        "tests.studies.mine:Always:action=10",
    ],
)
@pytest.mark.parametrize("environments", [["testbed"], ["per_arm:max_num_actions=20", "testbed"]])
def test_a_policy_that_cannot_act_in_an_environment_is_refused(environments, policy):
    with pytest.raises(ValueError, match=f"policy {policy} in environment testbed: "):
        study(environments, [policy])


@for_each(
    ("example", "tasks"),
    [
        *(
            ("sutton-barto-2.2", 3),
            ("sutton-barto-2.3", 2),
            ("sutton-barto-2.4", 2),
            ("sutton-barto-2.5", 4),
        ),
        *(("sutton-barto-2.6", 26), ("sutton-barto-exercise-2.5", 2), ("lin-ucb-alpha", 180)),
    ],
)
def test_the_examples_are_studies(example, tasks):
    assert len(list(parse(example_text(example)).tasks())) == tasks


def rewards(one, policy="random"):
    tasks = [task for task in one.tasks() if str(task.policy) == policy]
    return [run_task(task)["reward"].per_step.mean for task in tasks]


def test_seeds_come_from_the_position_of_a_block_alone():
    per_arm = ["per_arm:max_num_actions=3"]
    alone = study(per_arm, ["random"], runs=3, steps=4)
    among_others = study(per_arm, ["lin_ucb", "random"], runs=5, steps=4)
    np.testing.assert_array_equal(rewards(alone), rewards(among_others)[:3])
    assert np.any(rewards(alone)[0] != rewards(alone)[1])


def test_a_run_is_the_same_alone_and_in_a_task_of_several():
    per_arm = "per_arm:max_num_actions=3"
    (together, *_) = study([per_arm], ["random"], runs=65 + 64, steps=4).tasks()
    alone = [
        next(iter(study([per_arm], ["random"], steps=4).tasks()))._replace(block=n)
        for n in range(3)
    ]
    assert (together.block, together.runs) == (0, 3)
    result = run_task(together)["reward"].cumulative
    assert result.count == 3
    totals = [run_task(task)["reward"].cumulative.mean for task in alone]
    np.testing.assert_allclose(result.mean, np.mean(totals, axis=0))
    np.testing.assert_allclose(result.squared_deviation, np.var(totals, axis=0) * 3)


def test_printed_tables_set_environments_apart(tmp_path):
    file = tmp_path / "study.toml"
    text = 'title = "Two"\nruns = 2\nsteps = 2\nenvironment = ["testbed:k=3", "testbed:k=4"]\n'
    file.write_text(text + 'policy = ["greedy", "ucb:c=1"]\n')
    folder = tmp_path / "out"
    outcome = run("sweep", file, "--output", folder)
    lines = [line.strip() for line in outcome.out.splitlines()]
    named = [bool(line) for line in lines if not line or line.startswith(("greedy", "UCB"))]
    start = named.index(True)
    assert named[start : start + 5] == [True, True, False, True, True]


def test_a_paired_study_pairs_policies_and_environments():
    values = {"environments": ["testbed:k=2", "testbed:k=3"], "policies": ["ucb:c=1", "ucb:c=2"]}
    pairs = [(str(t.environment), str(t.policy)) for t in study(**values, paired=True).tasks()]
    assert pairs == [("testbed:k=2", "ucb:c=1"), ("testbed:k=3", "ucb:c=2")]
    for wrong in ({"policies": ["random"], "paired": True}, {"over": {"k": [2]}}):
        with pytest.raises(ValueError, match="one for each environment"):
            study(**{**values, **wrong})
    for wrong in ({"a": [1, 2], "b": [1, 2]}, [1, 2]):
        with pytest.raises(ValueError, match="expected one name"):
            study(**values, over=wrong)


def test_a_study_is_counted_before_anything_is_made():
    many = {"name": "no_such_policy", "c": list(range(20_000)), "d": list(range(40_000))}
    found = r"1 environments and 800,000,001 policies, which are 800,000,001 pairs"
    with pytest.raises(ValueError, match=f"{found}; expected at most 100,000; divide it"):
        study(policies=["greedy", many])
    places = [{"name": "testbed", "k": list(range(2, 402))}] * 2
    with pytest.raises(ValueError, match="which are 320,000 pairs; expected at most"):
        study(places, [{"name": "ucb", "c": list(range(400))}])
    with pytest.raises(ValueError, match="listed twice"):
        study(places, [{"name": "ucb", "c": list(range(400))}] * 2, paired=True)


def test_a_study_compares_policies_with_and_without_pending_choices():
    delayed = "tests.studies.mine:Delayed:means=[0.5,0.2],delay=20"
    ids = ["ucb:c=1", "ucb:c=1,count_pending=false"]
    tasks = study([delayed], ids, runs=50, steps=200).tasks()
    with_it, without = (run_task(task)["regret"].cumulative.mean[-1] for task in tasks)
    assert with_it < without


def test_policies_that_count_nothing_pending_have_no_such_parameter():
    with pytest.raises(ValueError, match="has no parameter 'count_pending'"):
        study(["bernoulli"], ["thompson:count_pending=false"])


def test_policies_learn_from_delayed_rewards(recwarn):
    delayed = "tests.studies.mine:Delayed:means=[0.0,1.0],delay=2"
    one = study([delayed], ["ucb:c=0.1"], runs=20, steps=20, quantiles=[0.1, 0.9])
    (task,) = one.tasks()
    optimal = run_task(task)["percent_optimal"].per_step.mean
    assert (optimal[-4:] == 100.0).all()
    assert not recwarn.list


def test_every_policy_meets_the_same_testbeds():
    # Two names for one policy: on the same testbeds and by the same draws, they do the same.
    one = study(["testbed"], ["greedy", "epsilon_greedy:epsilon=0"], runs=50, steps=20)
    np.testing.assert_array_equal(rewards(one, "greedy"), rewards(one, "epsilon_greedy:epsilon=0"))
