"""The examples of the help texts: each runs, and each option is in one."""

import argparse
import json
import os
import shlex
import sys

import numpy as np
import pytest

from bandit_envs.cli.help_examples import EXAMPLES
from bandit_envs.cli.parser import make_parser
from tests.command_line import run
from tests.serving.services import open_arms

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")

MINE = """
from bandit_envs import BernoulliPyEnvironment, EpsilonGreedyPolicy


class Bernoulli(BernoulliPyEnvironment):
    \"\"\"Arms that pay 1 or 0.\"\"\"

    def __init__(self, means, **options):
        super().__init__(means, **options)


class Greedy(EpsilonGreedyPolicy):
    \"\"\"Chooses what has paid most.\"\"\"

    def __init__(self, **options):
        super().__init__(0.0, **options)
"""

STUDY = """
title = "A study"
runs = 20
steps = 15
quantiles = [0.2, 0.8]
environment = ["testbed:k=3"]
policy = ["greedy", "ucb:c=1"]
"""

ORDER = (
    "sweep",
    "report",
    "watch",
    "list",
    "run",
    "reproduce",
    "learn",
    "apply",
    "evaluate",
    "route",
    "show",
)
"""So that each finds what those before it have written."""

SHARED = ("results/study", "log.npz", "policy.npz", "clicks.npz", "offers.npz", "choices.csv")
"""What some examples write, and others read."""

SMALLER = {
    "run": ["--runs", "20", "--steps", "15", "--workers", "1"],
    "reproduce": ["--runs", "20"],
    "watch": ["--steps", "5"],
}
"""Options with which a command does the same in less time."""

ALL = [example for command in ORDER for example in EXAMPLES[command]]
RUN = [example for example in ALL if "SCHEDULER" not in example]  # tests of clusters run that
TOGETHER = [example for example in RUN if any(name in example for name in SHARED)]
ALONE = [example for example in RUN if example not in TOGETHER]


def options_of_subcommands():
    """Returns the long options of all subcommands."""
    (action,) = [
        each for each in make_parser()._actions if isinstance(each, argparse._SubParsersAction)
    ]
    return {
        option
        for parser in action.choices.values()
        for each in parser._actions
        for option in each.option_strings
        if option.startswith("--")
    }


def test_every_option_is_in_an_example():
    words = {word for example in ALL for word in shlex.split(example)}
    assert options_of_subcommands() - words == {"--help"}
    assert set(ORDER) == EXAMPLES.keys()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files that examples name."""
    folder = tmp_path_factory.mktemp("examples")
    (folder / "mine.py").write_text(MINE)
    (folder / "study.toml").write_text(STUDY)
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    actions = rng.integers(0, 3, 400)
    clicks = (rng.random(400) < 0.2 + 0.2 * actions).astype(float)
    columns = {
        "age": rng.normal(size=400),
        "visits": rng.poisson(3.0, 400),
        "arm": actions,
        "action": actions,
        "reward": clicks,
        "click": clicks,
        "propensity": 1.0 / 3.0,
        "p": 1.0 / 3.0,
        "user": np.arange(400) % 120,
        "day": [f"202{4 + row // 200}-12-{1 + row // 14:02d}" for row in range(400)],
    }
    table = pandas.DataFrame(columns)
    table.to_csv(folder / "clicks.csv", index=False)
    visits = pandas.DataFrame({"visit": np.arange(400), "age": columns["age"]})
    visits = visits.assign(action=actions, propensity=1.0 / 3.0, time=columns["day"])
    visits.to_csv(folder / "visits.csv", index=False)
    paid = visits[["visit", "time"]].assign(reward=clicks)[clicks > 0.0]
    paid.to_csv(folder / "conversions.csv", index=False)
    price = rng.uniform(0.0, 2.0, 400)
    prices = pandas.DataFrame({"price": price, "reward": clicks * price, "propensity": 0.5})
    prices.to_csv(folder / "prices.csv", index=False)
    write_slates(folder)
    write_answers(folder)
    write_offers(folder)
    offered = table["action"].map(lambda action: json.dumps(sorted({0, int(action)})))
    sets = table[["age", "visits", "action", "reward"]].assign(offered=offered, propensity=0.5)
    sets.to_csv(folder / "sets.csv", index=False)
    with open_arms(folder) as service:
        decisions = service.decide_many([None] * 40)
        service.reward_many([(each.id, 1.0) for each in decisions])
    seen = pandas.DataFrame({"seen": np.array(["red", "green", "blue"])[actions], "bought": clicks})
    seen.assign(minutes=price, day=np.arange(400) // 200).to_csv(folder / "users.csv", index=False)
    chances = {"by": ["a", "b"] * 200, "p_a": 1 / 3, "p_b": 1 / 3}
    table[["action", "reward", "age"]].assign(**chances).to_csv(folder / "loggers.csv", index=False)
    (folder / "clicks").mkdir()
    table[:200].to_csv(folder / "clicks" / "a.csv", index=False)
    table[200:].to_csv(folder / "clicks" / "b.csv", index=False)
    yield folder
    sys.modules.pop("mine", None)  # other tests have modules of this name


def write_offers(folder):
    """Writes a log of offers, one row a candidate, and the candidates of visits to come."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(2)
    visit = np.repeat(np.arange(200), 3)
    offer = np.argsort(rng.random((200, 9)), axis=1)[:, :3].reshape(-1)
    chosen = (np.arange(3) == rng.integers(3, size=(200, 1))).astype(int).reshape(-1)
    paid = np.where(chosen == 1, (offer < 4).astype(float), np.nan)
    table = pandas.DataFrame(
        {
            "visit": visit,
            "hour": visit % 24,
            "offer": offer,
            "price": offer + rng.normal(size=600),
            "chosen": chosen,
            "propensity": 1.0 / 3.0,
            "reward": paid,
        }
    )
    table.to_csv(folder / "offers.csv", index=False)
    to_come = table.drop(columns=["chosen", "propensity", "reward"])
    to_come.to_csv(folder / "tomorrow.csv", index=False)


def write_slates(folder):
    """Writes tables of slates, one row a slot and one row a slate."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    items = np.argsort(rng.random((400, 3)), axis=1)[:, :2]
    paid = rng.integers(0, 2, (400, 2))
    rows = {"visit": np.repeat(np.arange(400), 2), "place": [1, 2] * 400, "p": 1 / 3}
    cells = {"item": items.reshape(-1), "reward": paid.reshape(-1)}
    pandas.DataFrame(rows | cells).to_csv(folder / "slates.csv", index=False)
    pages = pandas.DataFrame(items, columns=["top", "below"])
    pages = pages.assign(paid_top=paid[:, 0], paid_below=paid[:, 1], p_top=1 / 3, p_below=1 / 6)
    pages.to_csv(folder / "pages.csv", index=False)


def write_answers(folder):
    """Writes tables of what two models score and cost on requests, as wide, long and JSON."""
    pandas = pytest.importorskip("pandas")
    words = np.arange(60) % 7 + 1.0
    scores = np.stack([words < 4.0, words < 7.0], axis=1).astype(float)
    costs = np.multiply.outer(words, [0.01, 0.05])
    wide = {"prompt": [f"{row}: {'word ' * int(count)}?" for row, count in enumerate(words)]}
    lines = []
    for place, model in enumerate(("small", "large")):
        wide |= {model: scores[:, place], f"{model}_cost": costs[:, place]}
        for row in range(60):
            pair = {"score": scores[row, place], "cost": costs[row, place]}
            lines.append({"id": row, "model": model, "words": words[row], **pair})
    pandas.DataFrame(wide).to_csv(folder / "models.csv", index=False)
    embedded = pandas.DataFrame(wide).assign(e0=words, e1=np.arange(60))
    embedded.to_csv(folder / "embedded.csv", index=False)
    pandas.DataFrame(lines).to_csv(folder / "answers.csv", index=False)
    (folder / "cached_results").mkdir()
    with (folder / "cached_results" / "both.jsonl").open("w") as file:
        for line in lines:
            grade = {"score": line["score"], "inference_cost": line["cost"]}
            answer = {"global_index": f"AIME_{line['id']}", "question": wide["prompt"][line["id"]]}
            answer |= {"llm_selected": line["model"], "evaluation_result": grade}
            file.write(json.dumps(answer) + "\n")


def run_example(example):
    """Runs an example in the current folder."""
    _, command, *arguments = shlex.split(example)
    if "--workers" in arguments:  # processes take seconds to start, and other tests start them
        arguments[arguments.index("--workers") + 1] = "threading:2"
    if arguments:  # without a name, reproduce runs nothing
        arguments += SMALLER.get(command, [])
    if command in ("learn", "run"):
        arguments.append("--overwrite")
    outcome = run(command, *arguments)
    assert outcome.code == 0, (example, outcome.err)


@pytest.mark.slow
@pytest.mark.parametrize("example", ALONE)
def test_an_example_runs(folder, monkeypatch, example):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [os.getcwd(), *sys.path])
    if any(word in example for word in ("scikit", "prompt", "routerarena")):
        pytest.importorskip("sklearn")
    if example.startswith("bandit-envs show"):
        pytest.importorskip("plotly", reason="plotly is not installed")
    run_example(example)


@pytest.mark.slow
def test_examples_that_read_what_others_write_run_after_them(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [os.getcwd(), *sys.path])
    pytest.importorskip("sklearn")
    pytest.importorskip("plotly", reason="plotly is not installed")
    for example in TOGETHER:
        run_example(example)
