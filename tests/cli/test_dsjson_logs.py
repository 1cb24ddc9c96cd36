"""What the command does of logs in Vowpal Wabbit's dsjson."""

import json

import numpy as np
import pytest

from bandit_envs.evaluations import logs
from bandit_envs.evaluations.passes import LogObserver, PassesHere
from tests.command_line import rows, run

pytest.importorskip("joblib")
pytest.importorskip("filelock")
pytest.importorskip("rich")
pytest.importorskip("matplotlib")


def test_the_command_evaluates_items_of_dsjson_and_counts_what_the_logger_dropped(tmp_path):
    rng = np.random.default_rng(0)
    lines = []
    for number in range(3000):
        size = int(rng.integers(2, 5))
        action = int(rng.integers(size))
        reward = float(rng.random() < 0.3)
        dropped = 0.0 if reward else 0.75
        if rng.random() < dropped:
            continue
        items = [{"_tag": f"i{place}", "I": {"price": float(place)}} for place in range(size)]
        line = {
            "_label_cost": -reward,
            "_label_probability": 1 / size,
            "_label_Action": action + 1,
            "_labelIndex": action,
            "Timestamp": f"2026-01-0{1 + number // 1000}T00:00:00Z",
            "pdrop": dropped,
            "c": {"U": {"hour": 0.5}, "_multi": items},
        }
        lines.append(json.dumps(line))
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "1.dsjson").write_text("\n".join(lines[:700]))
    (folder / "2.dsjson").write_text("\n".join(lines[700:]))
    output = tmp_path / "out"
    policies = ("--policy", "lin_ucb", "--policy", "random")
    done = run("evaluate", folder, *policies, "--estimator", "snips", "--output", output)
    assert done.code == 0, done.err
    assert "rows with weights" in done.out
    assert "lin_ucb learns each row once, whatever its weight" in done.out
    for row in rows(output / "estimates.csv"):
        assert float(row["low"]) < 0.3 < float(row["high"])


def test_an_option_of_tables_and_a_bad_line_are_errors_that_name_no_other_options(tmp_path):
    path = tmp_path / "log.dsjson"
    path.write_text('{"_label_cost": 1}\n')
    found = run("evaluate", path, "--policy", "random")
    assert "log.dsjson cannot be read: line 1 has no 'c'" in found.err
    assert "--action" not in found.err
    found = run("evaluate", path, "--policy", "random", "--action", "chosen")
    assert "action is for a table of your own; a logger of dsjson wrote" in found.err


def test_a_log_is_kept_in_memory_if_its_columns_are_small_though_its_text_is_large(
    tmp_path, monkeypatch
):
    path = tmp_path / "log.dsjson"
    items = [{"I": {"price" * 20: 1 / 3}}, {"I": {"price" * 20: 2 / 3}}]
    line = {
        "_label_cost": -1.0,
        "_label_probability": 0.5,
        "_label_Action": 1,
        "c": {"_multi": items},
    }
    path.write_text(f"{json.dumps(line)}\n" * 300)
    for limit, is_kept in ((path.stat().st_size // 2, True), (1000, False)):
        monkeypatch.setattr("bandit_envs.evaluations.logs.IN_MEMORY", limit)
        opened = logs.open_log(logs.as_source(path), PassesHere(LogObserver()))
        assert isinstance(opened.parts[0].batches, list) == is_kept
        assert opened.summary.size == 300
