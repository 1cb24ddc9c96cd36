"""The subcommand `apply`: what a learned policy decides."""

import numpy as np
import pytest

from bandit_envs.evaluations import learn
from bandit_envs.logged import from_frame, probabilities_of, read_policy
from bandit_envs.logged.features import spec_of_rows
from tests.command_line import run
from tests.logged.item_fixture import make_fixture
from tests.logged.items import LONG, long_frame

pandas = pytest.importorskip("pandas")
pytest.importorskip("rich")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a policy for items, and a table of decisions."""
    monkeypatch.chdir(tmp_path)
    learned = learn(
        make_fixture(), 'contextual:model="ridge",rule="softmax:temperature=0.5"', train=1
    )
    learned.write("policy.npz")
    long_frame().drop(columns=["chosen", "propensity", "reward"]).to_csv("new.csv", index=False)
    return tmp_path


ROLES = ["--decision", "decision", "--item", "item"]


def expected():
    """The probabilities of the policy in the rows of the table."""
    log = make_fixture()
    policy = read_policy("policy.npz").make(spec_of_rows(log.seen()))
    return probabilities_of(policy, log)[log.observation["mask"]]


def call(*arguments):
    """Returns the exit code of the command, and what it prints."""
    code, *texts = run(*arguments)
    return code, "".join(map(str, texts))


def test_each_decision_has_a_choice_with_its_probability(folder):
    code, text = call("apply", "policy.npz", "new.csv", *ROLES, "--output", "a.csv", "--seed", "0")
    assert code == 0
    assert "in 6 decisions" in text
    found = pandas.read_csv("a.csv")
    assert list(found) == ["decision", "item", "probability"]
    assert found["decision"].tolist() == [f"d{number}" for number in range(1, 7)]
    offered = long_frame().assign(known=expected()).set_index(["decision", "item"])["known"]
    known = [offered[decision, item] for decision, item, _ in found.itertuples(index=False)]
    np.testing.assert_allclose(found["probability"], known)
    chosen = read_policy("policy.npz").choose("new.csv", seed=0, **LONG)
    assert found["item"].tolist() == chosen.tolist()


def test_all_probabilities_have_a_row_for_each_candidate(folder):
    run("apply", "policy.npz", "new.csv", *ROLES, "--output", "a.csv", "--probabilities")
    found = pandas.read_csv("a.csv")
    assert list(found) == ["decision", "item", "chosen", "probability"]
    np.testing.assert_allclose(found["probability"], expected())
    assert found["item"].tolist() == long_frame()["item"].tolist()
    assert found.groupby("decision")["chosen"].sum().eq(1).all()


def test_more_candidates_than_the_policy_has_seen_are_read_from_parquet(folder):
    pytest.importorskip("pyarrow")
    table = pandas.read_csv("new.csv")
    wide = table.assign(decision="all", item=[f"new-{row}" for row in range(len(table))], hour=0.5)
    wide.to_parquet("wide.parquet")
    run("apply", "policy.npz", "wide.parquet", *ROLES, "--output", "a.csv", "--probabilities")
    found = pandas.read_csv("a.csv")
    assert len(found) == 18
    assert found["probability"].sum() == pytest.approx(1.0)
    assert found["chosen"].sum() == 1


def test_candidates_may_be_lists(folder):
    pytest.importorskip("pyarrow")
    table = pandas.read_csv("new.csv")
    contexts = table.groupby("decision")["hour"].first()
    lists = table.groupby("decision")[["item", "price", "kind"]].agg(list)
    lists.assign(hour=contexts).reset_index().to_parquet("lists.parquet")
    run("apply", "policy.npz", "new.csv", *ROLES, "--output", "a.csv", "--probabilities")
    code, _ = call(
        "apply", "policy.npz", "lists.parquet", *ROLES, "--output", "b.csv", "--probabilities"
    )
    assert code == 0
    long = pandas.read_csv("a.csv").drop(columns="chosen")
    pandas.testing.assert_frame_equal(pandas.read_csv("b.csv").drop(columns="chosen"), long)


def test_gaps_and_new_levels_are_told_by_their_lines(folder):
    table = pandas.read_csv("new.csv")
    table.loc[2, "kind"] = "opera"
    table.to_csv("opera.csv", index=False)
    code, text = call("apply", "policy.npz", "opera.csv", *ROLES, "--output", "a.csv")
    assert code == 0
    assert "'opera' in line 4 of opera.csv" in text
    table.loc[5, "price"] = np.nan
    table.to_csv("gap.csv", index=False)
    code, text = call("apply", "policy.npz", "gap.csv", *ROLES, "--output", "b.csv")
    assert code != 0
    assert "line 7" in text
    assert not (folder / "b.csv").exists()
    code, text = call(
        "apply", "policy.npz", "gap.csv", *ROLES, "--output", "b.csv", "--drop-missing"
    )
    assert code == 0
    assert "in 5 decisions" in text


def test_a_file_is_kept_and_items_need_their_column(folder):
    run("apply", "policy.npz", "new.csv", *ROLES, "--output", "a.csv")
    code, text = call("apply", "policy.npz", "new.csv", *ROLES, "--output", "a.csv")
    assert code != 0
    assert "--overwrite replaces it" in text
    code, text = call("apply", "policy.npz", "new.csv", "--output", "c.csv")
    assert code != 0
    assert "expected a column, as the policy chooses items with features" in text


def test_a_policy_chooses_among_the_actions_that_are_available(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    names = np.array(["boots", "hats", "shoes"])
    action = rng.integers(0, 3, 300)
    frame = pandas.DataFrame({"age": rng.normal(size=300), "action": names[action]})
    frame["propensity"] = 1.0 / 3.0
    frame["reward"] = 1.0 * action
    learn(from_frame(frame), "direct_method", train=1).write("policy.npz")
    frame = frame[["age"]].assign(offered='["hats", "boots"]')
    frame.loc[:9, "offered"] = '["boots"]'
    frame.to_csv("new.csv", index=False)
    run("apply", "policy.npz", "new.csv", "--output", "all.csv")
    assert set(pandas.read_csv("all.csv")["action"]) == {"shoes"}
    run("apply", "policy.npz", "new.csv", "--available", "offered", "--output", "a.csv")
    assert pandas.read_csv("a.csv")["action"].tolist() == ["boots"] * 10 + ["hats"] * 290
    run("apply", "policy.npz", "new.csv", "--available", "offered", "--output", "b.csv",
        "--probabilities")  # fmt: skip
    assert set(pandas.read_csv("b.csv")["action"]) == {"boots", "hats"}
    lists = frame.assign(offered=[["hats"]] * 300)
    assert set(read_policy("policy.npz").choose(lists, available="offered")) == {"hats"}


@pytest.mark.parametrize(
    ("offered", "message"),
    [
        ([["hats"], []], "column 'offered' is \\[\\] in row 1; expected at least one action"),
        ([["hats"], ["belts"]], "column 'offered' is 'belts' in row 1; expected the name"),
        ([["hats"], None], "1 of 2 decisions miss values: 'offered' 1, first in row 1"),
    ],
)
def test_sets_without_actions_of_the_policy_are_refused(tmp_path, offered, message):
    frame = pandas.DataFrame({"age": np.arange(6.0), "action": ["boots", "hats"] * 3})
    frame = frame.assign(propensity=0.5, reward=1.0)
    learn(from_frame(frame), "direct_method", train=1).write(tmp_path / "policy.npz")
    saved = read_policy(tmp_path / "policy.npz")
    new = pandas.DataFrame({"age": [1.0, 2.0], "offered": offered})
    with pytest.raises(ValueError, match=message):
        saved.choose(new, available="offered")


def test_items_are_what_is_available(folder):
    with pytest.raises(ValueError, match="available is 'kind'; expected None"):
        read_policy("policy.npz").choose("new.csv", **LONG, available="kind")
