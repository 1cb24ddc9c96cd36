"""The subcommand `route`: tables in several layouts, what it shows, and its gate."""

import json
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

from bandit_envs import ArraySpec
from bandit_envs.logged import read_policy
from bandit_envs.trajectories import restart
from tests.command_line import rows, run

pandas = pytest.importorskip("pandas")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")

COLUMNS = ("--features", "one,words", "--reward", "small,large", "--cost", "{}_cost")
EXAMPLE = ("--example", "id")


@pytest.fixture
def table(tmp_path):
    """A table in which the small model answers requests of at most three words."""
    words = np.arange(200) % 6 + 1.0
    wide = {
        "id": np.arange(200),
        "one": 1,
        "words": words,
        "small": (words <= 3.0).astype(int),
        "large": 1,
        "small_cost": 0.01 * words,
        "large_cost": 0.1 * words,
    }
    pandas.DataFrame(wide).to_csv(tmp_path / "models.csv", index=False)
    return tmp_path / "models.csv"


def test_it_shows_models_prices_and_the_budget(table, tmp_path):
    policies = ("--policy", "lin_ucb:alpha=0.1", "--policy", "random")
    sizes = ("--prices", "0,1", "--budget", "0.3", *EXAMPLE, "--output", tmp_path / "out")
    outcome = run("route", table, *COLUMNS, *policies, *sizes)
    assert outcome.code == 0, outcome.err
    assert "At a budget of 0.3 a request" in outcome.out
    assert "133 requests, each once, and saw the outcome of the model that they" in outcome.out
    found = rows(tmp_path / "out" / "prices.csv")
    kinds = [row["kind"] for row in found]
    assert kinds == ["model", "model", "price", "price", "price", "budget", "budget"]
    assert float(found[5]["learned_cost"]) <= 0.3
    assert (tmp_path / "out" / "prices.png").exists()
    again = run("route", table, *COLUMNS, *policies, *sizes)
    assert (again.code, "--overwrite replaces them" in again.err) == (2, True)
    assert run("route", table, *COLUMNS, *policies, *sizes, "--overwrite").code == 0


def test_its_gate_is_of_gains_at_the_budget(table, tmp_path):
    gate = ("--output", tmp_path / "out", "--overwrite", "--fail-below")
    good = ("route", table, *COLUMNS, *EXAMPLE, "--policy", "lin_ucb:alpha=0.1")
    assert run(*good, "--budget", "0.25", *gate, "-0.5").code == 0
    outcome = run(*good, "--budget", "0.25", *gate, "0.9")
    assert outcome.code == 1
    assert "the interval of the gain over a mix begins at" in outcome.err
    assert "the interval of the gain over small begins at" in outcome.err
    outcome = run(*good, "--budget", "0.001", *gate, "-0.5")
    assert outcome.code == 1
    assert "no price keeps to the budget" in outcome.err
    outcome = run(*good, *gate, "0")
    assert outcome.code == 2
    assert "expected --budget, or one of --prices" in outcome.err


def test_without_a_budget_its_gate_is_of_gains_over_the_best_model_at_one_price(table, tmp_path):
    good = ("route", table, *COLUMNS, *EXAMPLE, "--policy", "lin_ucb:alpha=0.1", "--prices", "0.5")
    gate = ("--output", tmp_path / "out", "--overwrite", "--fail-below")
    outcome = run(*good, *gate, "0.02")  # the router scores as much as the large model, for less
    assert outcome.code == 1
    assert "the interval of the gain over large begins at" in outcome.err
    assert "over a mix" not in outcome.err
    assert run(*good, *gate, "-0.3").code == 0


def test_it_shows_shares_and_segments(table, tmp_path, monkeypatch):
    wide = pandas.read_csv(table).assign(
        topic=lambda frame: frame["words"] > 3, user=[*range(50)] * 4
    )
    wide["topic"] = wide["topic"].map({True: "proofs", False: "sums"})
    wide.to_csv(table, index=False)
    policy = ("--policy", "linear_epsilon_greedy:epsilon=0", "--all-outcomes", "--prices", "0.3")
    rows_of = ("--unit", "user", "--by", "topic", "--output", tmp_path / "out")
    outcome = run("route", table, *COLUMNS, *policy, *rows_of)
    assert outcome.code == 0, outcome.err
    assert "200 rows are of 50 units" in outcome.out
    assert "In sums" in outcome.out
    found = rows(tmp_path / "out" / "segments.csv")
    assert [row["segment"] for row in found] == ["proofs", "sums"] * 3
    assert [float(row["share of small"]) for row in found[-2:]] == [
        0.0,
        pytest.approx(0.4, abs=0.1),
    ]
    assert "small 100%" in outcome.out
    page = (tmp_path / "out" / "prices.html").read_text()
    for text in ("<h3>In sums</h3>", "small 100%", "200 rows are of 50 units", "data:image/png"):
        assert text in page
    for row in found:  # one number for each, in the table, the frame and the page
        assert f"{float(row['score']):.3g} (" in page
    assert "the best single model on the requests that routers learned from" in outcome.out
    monkeypatch.setattr("bandit_envs.cli.route.MAX_ROWS", 5)
    again = run("route", table, *COLUMNS, *policy, *rows_of, "--overwrite")
    assert "In sums" not in again.out
    assert "segments.csv and prices.html have the tables of all segments" in again.out
    without = ("--output", tmp_path / "out", "--overwrite")
    assert run("route", table, *COLUMNS, *policy, *EXAMPLE, *without).code == 0
    assert not (tmp_path / "out" / "segments.csv").exists()


def test_it_writes_the_router_as_it_has_learned_from_all_requests(table, tmp_path):
    greedy = ("--policy", "linear_epsilon_greedy:epsilon=0", "--all-outcomes")
    file = tmp_path / "routers" / "router.npz"
    results = ("--output", tmp_path / "out", "--overwrite", "--router", file)
    outcome = run("route", table, *COLUMNS, *EXAMPLE, *greedy, "--prices", "0.1", *results)
    assert outcome.code == 0, outcome.err
    assert "learned from all requests at the price 0.1" in outcome.out
    saved = read_policy(file)
    assert saved.features == ["one", "words"]
    assert saved.encoding.actions == ("small", "large")
    router = saved.make(ArraySpec((2,), "float32"), batch_size=2)
    easy_and_hard = np.array([[1.0, 1.0], [1.0, 6.0]])
    assert router.action(restart(easy_and_hard, 2)).tolist() == [0, 1]


def test_rows_of_one_request_are_counted_as_one(table, tmp_path):
    arguments = ("route", table, *COLUMNS, "--policy", "random", "--output", tmp_path / "out")
    outcome = run(*arguments)
    assert outcome.code == 2
    assert "there are 6 requests" in outcome.err
    assert "unless a column says whose they are" in outcome.err
    wide = pandas.read_csv(table)
    pandas.concat([wide, wide]).assign(words=[*range(200)] * 2).to_csv(table, index=False)
    outcome = run(*arguments)
    assert outcome.code == 0, outcome.err
    assert "400 rows are of 200 units, whose rows are held out together" in outcome.out
    assert "learned from 133 units" in outcome.out


def test_requests_that_a_model_has_not_answered_are_left_out_of_wide_tables(table, tmp_path):
    wide = pandas.read_csv(table).astype({"large": float})
    wide.loc[::20, ["large", "large_cost"]] = np.nan
    wide.to_csv(table, index=False)
    arguments = (*COLUMNS, *EXAMPLE, "--policy", "random", "--output")
    with pytest.warns(UserWarning, match="10 of 400 outcomes are empty"):
        outcome = run("route", table, *arguments, tmp_path / "empty")
    assert outcome.code == 0, outcome.err
    assert "learned from 127 requests" in outcome.out
    with pytest.warns(UserWarning, match="10 of 200 rows miss values, and are left out"):
        outcome = run("route", table, *arguments, tmp_path / "dropped", "--drop-missing")
    assert outcome.code == 0, outcome.err
    assert "learned from 127 requests" in outcome.out


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        (("--budget", "0.001"), "is not written: no price keeps to the budget"),
        (("--budget", "0.25", "--fail-below", "0.9"), "gain over a mix begins at"),
    ],
    ids=["budget", "gate"],
)
def test_a_router_that_should_not_be_deployed_is_not_written(table, tmp_path, sizes, message):
    policy = ("--policy", "lin_ucb:alpha=0.1", "--router", tmp_path / "router.npz")
    results = (*EXAMPLE, "--output", tmp_path / "out")
    outcome = run("route", table, *COLUMNS, *policy, *sizes, *results)
    assert outcome.code == 1
    assert message in outcome.err
    assert not (tmp_path / "router.npz").exists()


def test_a_model_that_no_file_can_hold_is_told_with_the_extra(table, tmp_path, monkeypatch):
    pytest.importorskip("sklearn")
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    policy = ("--policy", "sklearn_epsilon_greedy:epsilon=0,estimator=Ridge", "--prices", "0")
    results = ("--output", tmp_path / "out", "--router", tmp_path / "router.npz")
    outcome = run("route", table, *COLUMNS, *policy, *results)
    assert (outcome.code, 'pip install ".[scikit-learn]"' in outcome.err) == (2, True), outcome.err
    assert not (tmp_path / "out").exists()


def test_a_pattern_names_the_columns_of_embeddings(tmp_path):
    rng = np.random.default_rng(0)
    wide = {f"e_{number}": rng.random(60) for number in range(12)}
    wide |= {"small": 0.5, "large": 1, "small_cost": 0.1, "large_cost": 0.2}
    pandas.DataFrame(wide).to_csv(tmp_path / "models.csv")
    arguments = ("--features", "e_*", *COLUMNS[2:], "--policy", "lin_ucb:alpha=0.1")
    results = ("--prices", "0", "--output", tmp_path / "out", "--router", tmp_path / "router.npz")
    outcome = run("route", tmp_path / "models.csv", *arguments, *results)
    assert outcome.code == 0, outcome.err
    assert read_policy(tmp_path / "router.npz").features == [f"e_{number}" for number in range(12)]


def test_routers_of_texts_are_not_written_as_their_features_belong_to_the_table(tmp_path):
    pytest.importorskip("sklearn")
    wide = {"one": 1, "words": ["one", "two three"] * 30, "small": [1, 0] * 30, "large": 1}
    wide |= {"small_cost": 0.1, "large_cost": 0.2}
    pandas.DataFrame(wide).to_csv(tmp_path / "models.csv")
    arguments = (*COLUMNS, "--policy", "lin_ucb:alpha=0.1", "--prices", "0", "--router", "r.npz")
    outcome = run("route", tmp_path / "models.csv", *arguments, "--output", tmp_path / "out")
    assert (outcome.code, "expected --features of numbers" in outcome.err) == (2, True)


def test_layouts_name_the_columns(table, tmp_path):
    pytest.importorskip("sklearn")
    wide = pandas.read_csv(table)
    bench = pandas.DataFrame({"sample_id": range(200), "eval_name": "mmlu"})
    bench["prompt"] = [f"question {row}" for row in range(200)]
    arena = tmp_path / "cached_results"
    arena.mkdir()
    for model in ("small", "large"):
        bench[model] = wide[model]
        bench[f"{model}|model_response"] = "['A']"
        bench[f"{model}|total_cost"] = wide[f"{model}_cost"]
        with (arena / f"{model}.jsonl").open("w") as file:
            for row in range(200):
                grade = {"score": float(wide[model][row]), "inference_cost": 0.1 * row + 0.1}
                answer = {"global_index": f"AIME_{row}", "question": bench["prompt"][row]}
                answer |= {"llm_selected": model, "evaluation_result": grade}
                file.write(json.dumps(answer) + "\n")
    bench.to_csv(tmp_path / "bench.csv", index=False)
    for source, layout in ((tmp_path / "bench.csv", "routerbench"), (arena, "routerarena")):
        output = ("--policy", "random", "--output", tmp_path / layout)
        outcome = run("route", source, "--layout", layout, *output)
        assert outcome.code == 0, outcome.err
        found = rows(tmp_path / layout / "prices.csv")
        assert {row["policy"] for row in found} == {"small", "large", "random"}


def test_the_gate_of_the_workflow_on_the_page_tells_routers_apart(tmp_path, monkeypatch):
    page = Path(__file__).parents[2] / "colab" / "docs" / "route_requests.md"
    (step,) = re.findall(r"- run: >-\n((?: {10}.*\n)+)", page.read_text(encoding="utf-8"))
    _, *command = shlex.split(step)
    hard = np.arange(900) % 2
    costs = {"small_cost": 0.03, "medium_cost": 0.1, "large_cost": 0.25}
    scores = {"small": 1 - hard, "medium": 1 - hard, "large": 1}
    noise = np.random.default_rng(0).normal(0.0, 0.01, 900)
    embedding = {"one": 1, "e0": 1 - hard + noise, "e1": hard}
    pandas.DataFrame({**embedding, **scores, **costs}).to_csv(tmp_path / "models.csv")
    monkeypatch.chdir(tmp_path)
    outcome = run(*command)
    assert outcome.code == 0, outcome.err
    place = command.index("--policy") + 1
    assert run(*command[:place], "random", *command[place + 1 :]).code == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--features", "words"), "expected --features, --reward and --cost, or --layout"),
        ((*COLUMNS, "--layout", "routerbench"), "layout 'routerbench' names the columns"),
        ((*COLUMNS, "--prices", "0,many"), "prices is 0,many; expected numbers with commas"),
        ((*COLUMNS[:4], "--cost", "large"), "cost names 1 columns"),
        (("--features", "x", *COLUMNS[2:]), "no column 'x'"),
        (("--features", "x*", *COLUMNS[2:]), "no column 'x*'"),
        ((*COLUMNS, "--router", "r.npz"), "--router is of one price"),
        ((*COLUMNS, "--router", "r.npz", "--policy", "ucb:c=1"), "--router is of one --policy"),
        ((*COLUMNS, "--router", "r.zip", "--budget", "1"), "router is r.zip; expected a name that"),
        ((*COLUMNS, "--router", "r.npz", "--budget", "1"), "expected a ContextualPolicy"),
    ],
    ids=range(10),
)
def test_what_cannot_be_right_is_refused(table, tmp_path, arguments, message):
    output = ("--policy", "random", "--output", tmp_path / "out")
    outcome = run("route", table, *arguments, *output)
    assert outcome.code == 2
    assert message in outcome.err
    assert not (tmp_path / "out").exists()
