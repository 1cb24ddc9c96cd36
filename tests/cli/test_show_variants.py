"""The command `show` of a table with a row for each user of a test."""

import pytest

from bandit_envs.cli import main
from tests.policies.split_tests.test_variant_tables import make_users

pytest.importorskip("rich")
pytest.importorskip("matplotlib")
pandas = pytest.importorskip("pandas")


@pytest.fixture
def users(tmp_path):
    """The path of a table of users."""
    file = tmp_path / "users.csv"
    make_users().to_csv(file, index=False)
    return file


def test_show_prints_who_won_and_writes_a_page_beside_the_table(users, capsys):
    columns = ["--variant", "variant", "--reward", "bought,minutes", "--time", "time"]
    assert main(["show", str(users), *columns, "--control", "B"]) == 0
    printed = capsys.readouterr().out
    assert "best: C" in printed
    assert "C - B" in printed
    assert "mean minutes" in printed
    assert "best: C" in users.with_suffix(".html").read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--delta", "0.1"], "--delta is of a test of variants; expected --variant"),
        (["--variant", "variant", "--policy", "random"], "--policy is not of a test of variants"),
        (["--variant", "seen"], "there is no column 'seen'"),
    ],
)
def test_options_without_effect_are_refused(users, capsys, options, message):
    assert main(["show", str(users), *options]) != 0
    assert message in capsys.readouterr().err
