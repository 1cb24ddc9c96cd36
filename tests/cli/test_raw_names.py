"""What a log names reaches a terminal as text: no control, and no mark of direction."""

import sqlite3
import subprocess
import sys

import numpy as np
import pytest

from bandit_envs.logged import read_log
from bandit_envs.logged.propensities import estimate_propensities
from bandit_envs.names.visible import visible, visible_lines
from bandit_envs.serving import read_report
from tests.command_line import run
from tests.serving.services import open_arms

pandas = pytest.importorskip("pandas")
pytest.importorskip("matplotlib")
pytest.importorskip("pyarrow")
pytest.importorskip("rich")

SIGNS = {
    "escape": "\x1b]0;mine\x07",
    "C1": "\x9b2Jmine",
    "direction": "\u202emine\u2066",
    "line": "\nmine",
    "carriage": "\rmine",
    "NUL": "\0mine",
}
"""What a name has behind a letter."""

READ = ["escape", "C1", "direction", "line"]
"""What a file of any kind can hold."""


def check_shown(text):
    """Fails if a text has what a terminal obeys, or a line that a name has begun."""
    assert "mine" in text
    assert all(line.isprintable() for line in text.split("\n"))
    assert not any(line.lstrip().startswith("mine") for line in text.split("\n"))


def check_written(file, sign):
    """Fails if a page or a table of LaTeX has a name with its sign, other than in escapes."""
    text = file.read_text("utf-8")
    assert "mine" in text
    assert sign == "line" or SIGNS[sign] not in text


def make_table(sign, rows=90):
    """A table whose columns, levels and actions have names with a sign."""
    rng = np.random.default_rng(0)
    names = np.array(["red", f"b{SIGNS[sign]}", "green"])
    levels = np.array(["DE", f"f{SIGNS[sign]}"])
    return pandas.DataFrame(
        {
            "action": names[np.arange(rows) % 3],
            "reward": rng.integers(0, 2, rows),
            "propensity": 1 / 3,
            f"x{SIGNS[sign]}": levels[rng.integers(0, 2, rows)],
            "rare": ["once", *["often"] * (rows - 1)],
        }
    )


def write_table(folder, sign, suffix):
    file = folder / f"log{suffix}"
    table = make_table(sign)
    if suffix == ".parquet":
        table.to_parquet(file)
    else:
        table.to_csv(file, index=False)
    return file


def serve(folder, sign):
    """A file of decisions about actions whose names have a sign."""
    with open_arms(folder) as service:
        service.add_action(f"b{SIGNS[sign]}")
        for _ in range(60):
            decision = service.decide()
            service.reward(decision.id, 1.0)
    with sqlite3.connect(folder / "shop.sqlite") as connection:
        # What was drawn with a larger probability than is logged is named in a note.
        connection.execute("UPDATE decisions SET action = 3, probability = 0.001")
    connection.close()
    return folder / "shop.sqlite"


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("sign", READ)
def test_evaluate_shows_what_a_table_names(tmp_path, sign, suffix):
    file = write_table(tmp_path, sign, suffix)
    options = ["--policy", "random", "--output", tmp_path / "out", "--by", f"x{SIGNS[sign]}"]
    done = run("evaluate", file, *options)
    assert done.code == 0, done.err
    check_shown(done.out)
    check_written(tmp_path / "out" / "evaluation.html", sign)
    assert all(line.isprintable() for line in done.err.split("\n"))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("sign", READ)
def test_learn_shows_what_a_table_names(tmp_path, sign, suffix):
    file = write_table(tmp_path, sign, suffix)
    done = run("learn", file, "--output", tmp_path / "policy.npz")
    assert done.code == 0, done.err
    check_shown(done.out)


@pytest.mark.parametrize("sign", SIGNS)
def test_show_shows_what_a_file_of_decisions_names(tmp_path, sign):
    file = serve(tmp_path, sign)
    done = run("show", file, "--range", "0", "1", "--policy", "random")
    assert done.code == 0, done.err
    check_shown(done.out)
    check_written(file.with_suffix(".html"), sign)
    check_shown(str(read_report(file, "random")))
    done = run("evaluate", file, "--policy", "random", "--output", tmp_path / "out")
    check_shown(done.out)


@pytest.mark.parametrize("sign", READ)
def test_route_shows_what_a_table_names(tmp_path, sign):
    rng = np.random.default_rng(0)
    models = [f"a{SIGNS[sign]}", "b"]
    names = ["x", "y", *models, *(f"{model}_cost" for model in models)]
    pandas.DataFrame(rng.random((60, 6)), columns=names).to_csv(tmp_path / "t.csv", index=False)
    columns = ["--features", "x,y", "--reward", ",".join(models), "--cost", "{}_cost"]
    options = ["--policy", "random", "--prices", "0,1", "--output", tmp_path / "out"]
    done = run("route", tmp_path / "t.csv", *columns, *options)
    assert done.code == 0, done.err
    check_shown(done.out)


@pytest.mark.parametrize("sign", READ)
def test_errors_show_what_a_table_names(tmp_path, sign):
    table = make_table(sign)
    table[f"x{SIGNS[sign]}"] = [*range(len(table) - 1), f"n{SIGNS[sign]}"]
    table.to_csv(tmp_path / "log.csv", index=False)
    options = ["--policy", "random", "--output", tmp_path / "out"]
    done = run("evaluate", tmp_path / "log.csv", *options)
    assert done.code == 2
    check_shown(done.err)


@pytest.mark.parametrize("sign", READ)
def test_texts_of_logs_show_what_a_table_names(tmp_path, sign):
    file = write_table(tmp_path, sign, ".csv")
    log = read_log(file)
    estimated = estimate_propensities(log)
    for shown in (log.encoding, estimated):
        check_shown(str(shown))


def test_warnings_of_the_command_show_what_a_table_names():
    code = (
        "import sys, warnings; from bandit_envs import cli;"
        " cli.main = lambda: warnings.warn('column a\\x1b]0;mine\\x07');"
        " sys.exit(cli.command() or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    check_shown(done.stderr)


def test_visible_text_stays_as_it_is():
    for text in ("café ☕", "靴", "a b"):
        assert visible(text) == text
    assert visible_lines("a\nb\t") == "a\nb\\t"
