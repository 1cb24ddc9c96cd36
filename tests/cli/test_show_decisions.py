"""The command shows a file of decisions."""

import os
import subprocess
import sys

import pytest

from bandit_envs.cli import main
from tests.serving.services import open_arms

pytest.importorskip("rich")
pytest.importorskip("matplotlib")


@pytest.fixture
def decisions(tmp_path):
    """A file of decisions, half of which have rewards."""
    with open_arms(tmp_path) as service:
        found = service.decide_many([None] * 40)
        service.reward_many([(each.id, 1.0) for each in found[:20]])
    return tmp_path / "shop.sqlite"


def test_show_prints_a_report_and_writes_a_page_beside_the_file(decisions, capsys):
    assert main(["show", str(decisions), "--range", "0", "1", "--policy", "random"]) == 0
    printed = capsys.readouterr().out
    assert "40 decisions, 20 rewards, mean 1" in printed
    assert "20 decisions waiting for a reward" in printed
    assert "snips" in printed
    page = decisions.with_suffix(".html").read_text("utf-8")
    assert "Other policies on this log" in page


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--output", "page.txt"], "expected a file ending in .html"),
        (["--range", "1", "0"], "expected low < high"),
    ],
    ids=["output", "range"],
)
def test_show_refuses_options_that_do_not_fit_decisions(decisions, capsys, options, message):
    assert main(["show", str(decisions), *options]) == 2
    assert message in capsys.readouterr().err


def test_show_refuses_options_of_decisions_for_results(tmp_path, capsys):
    assert main(["show", str(tmp_path), "--range", "0", "1"]) == 2
    assert "expected a file of decisions" in capsys.readouterr().err


@pytest.mark.slow
def test_show_says_nothing_when_nobody_reads_on(decisions):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "bandit_envs", "show", str(decisions)]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")
