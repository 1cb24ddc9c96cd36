"""Tables in the terminal."""

import io

import pytest

pytest.importorskip("rich")

from rich.console import Console

from bandit_envs.cli.console import OUT, new_table, print_grid


def test_a_table_with_many_columns_shows_the_names_of_its_rows_and_all_numbers():
    headings = ["reward", "% optimal", "mean reward", "regret", "simple regret", "errors", "steps"]
    table = new_table("title", "policy", *headings)
    cells = [f"0.{number}000 ±0.0111" for number in range(1, 7)]
    table.add_row("successive rejects, budget=50", *cells, "0.000 (0.0000 to 0.1611)")
    text = io.StringIO()
    Console(file=text, width=100).print(table)
    words = text.getvalue().split()
    expected = f"successive rejects, budget=50 {' '.join(cells)} 0.000 (0.0000 to 0.1611)".split()
    assert set(expected) <= set(words)


@pytest.mark.parametrize("width", [80, 100, 110, 140])
def test_a_narrow_terminal_shows_all_numbers_of_estimates(monkeypatch, capsys, width):
    value = "value (95% interval)"
    gain = "gain over logged (95% interval)"
    headings = ["policy", "estimator", value, gain, "p", "rows", "effective rows", "warning"]
    numbers = ["5.8171 (5.5337 to 6.1071)", "+1.2247 (+0.7132 to +1.7457)", "<1e-4"]
    row = ["constant:number=sms", "dr", *numbers, "10,190", "427", "[1]"]
    monkeypatch.setattr(OUT, "width", width)
    print_grid("title", [headings, row])
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= width
    assert set(" ".join(row[1:]).split()) <= set(shown.split())
