"""What the command does of logs in Vowpal Wabbit's dsjson."""

import json

import numpy as np
import pytest

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
