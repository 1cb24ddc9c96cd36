"""Tables in the terminal."""

import io

import pytest

pytest.importorskip("rich")

from rich.console import Console

from bandit_envs.cli.console import new_table


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
