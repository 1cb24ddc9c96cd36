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


def test_times_of_variants_are_those_of_a_column_or_of_the_option(users, capsys):
    columns = ["--variant", "variant", "--reward", "bought", "--time", "time"]
    frame = pandas.read_csv(users)
    start = frame.loc[frame["variant"] == "E", "time"].min()
    assert main(["show", str(users), *columns, "--opened", f"E={start}"]) == 0
    by_option = capsys.readouterr().out
    frame.assign(start=frame.groupby("variant")["time"].transform("min")).to_csv(users)
    assert main(["show", str(users), *columns, "--opened", "start"]) == 0
    assert capsys.readouterr().out == by_option


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--delta", "0.1"], "--delta is of a test of variants; expected --variant"),
        (["--variant", "variant", "--panels", "regret"], "--panels is not of a test of variants"),
        (["--variant", "seen"], "there is no column 'seen'"),
    ],
)
def test_options_without_effect_are_refused(users, capsys, options, message):
    assert main(["show", str(users), *options]) != 0
    assert message in capsys.readouterr().err
