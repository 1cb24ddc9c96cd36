"""The tables that compare libraries, from a file that has the source of each cell."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bandit_envs.names.notation import parse_toml
from colab.pages.markdown import table
from colab.pages.places import DOCS

FILE = DOCS / "comparison.toml"
"""The tables. It stands beside the page."""


class Cell(NamedTuple):
    """What a table says of a library, and where that can be read."""

    heading: str
    row: str
    column: str
    text: str
    address: str
    says: str


def cells() -> Iterator[Cell]:
    """Yields all cells that have a text, with the whole addresses of their sources."""
    for found in parse_toml(FILE.read_text(encoding="utf-8"))["tables"]:
        for row in found["rows"]:
            for column, start in found["columns"].items():
                if column in row:
                    text, address, says = row[column]
                    heading = found["heading"]
                    yield Cell(heading, row["name"], column, text, f"{start}{address}", says)


def comparison(heading: str, _: Path) -> str:
    """Returns the table of a heading. A cell leads to its source."""
    found = [cell for cell in cells() if cell.heading == heading]
    if not found:
        raise ValueError(f"{FILE.name} has no table {heading!r}")
    columns = _column_names(heading)
    rows: dict[str, dict[str, str]] = {}
    for cell in found:
        rows.setdefault(cell.row, {})[cell.column] = f"[{cell.text}]({cell.address})"
    lines = [[name, *(row.get(column, "") for column in columns)] for name, row in rows.items()]
    return table(("", *columns), lines)


def _column_names(heading: str) -> list[str]:
    """Returns the names of the columns of a table, in order."""
    tables = parse_toml(FILE.read_text(encoding="utf-8"))["tables"]
    return next(list(each["columns"]) for each in tables if each["heading"] == heading)
