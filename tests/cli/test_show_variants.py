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
        (["--variant", "seen"], "the table has no column 'seen'"),
    ],
)
def test_options_without_effect_are_refused(users, capsys, options, message):
    assert main(["show", str(users), *options]) != 0
    assert message in capsys.readouterr().err


def test_shares_say_how_users_were_split(tmp_path, capsys):
    users = make_users(joins=0, leaves=14)
    kept = (users["variant"] == "B") | (users["day"] % 2 == 0)
    file = tmp_path / "users.csv"
    users[kept].to_csv(file, index=False)
    columns = ["--variant", "variant", "--reward", "bought"]
    assert main(["show", str(file), *columns]) == 0
    assert "NOT split" in capsys.readouterr().out
    assert main(["show", str(file), *columns, "--shares", "A=1,B=2,C=1,D=1,E=1"]) == 0
    assert "NOT split" not in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["show", str(file), *columns, "--shares", "A,B"])
    assert "has a name without a number; expected A=X,B=Y" in capsys.readouterr().err


def test_the_first_help_has_the_columns_of_a_test(capsys):
    with pytest.raises(SystemExit):
        main(["show", "--help"])
    printed = capsys.readouterr().out
    assert all(option in printed for option in ("--variant", "--reward", "--time"))
