"""The comparison with other libraries: each cell has a source."""

import re

from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.policies.registry import POLICIES
from colab.pages.comparison import cells
from colab.pages.places import DOCS

PAGE = DOCS / "comparison.md"
OURS = "bandit_envs"


def has_source(cell):
    """Whether a cell names a page of ours, or a commit or a thread, which do not change."""
    if cell.column == OURS:
        return (DOCS / cell.address).is_file()
    source = r"https://github\.com/[\w.-]+/[\w.-]+/(blob/[0-9a-f]{40}/\S+|pull/\d+)"
    return re.fullmatch(source, cell.address) is not None


def test_a_cell_has_a_source_and_what_it_says():
    for cell in cells():
        assert cell.text.strip(), cell
        assert cell.says.strip(), cell
        assert has_source(cell), cell


def test_the_page_has_no_cell_without_a_source():
    known = {f"[{cell.text}]({cell.address})" for cell in cells()}
    rows = re.findall(r"^\| (?!---)(.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    shown = []
    for row in rows:
        name, *others = re.split(r" (?<!\\)\| ", f" {row} ")
        if name.strip():  # the first row has the names of the columns
            shown += [cell.strip() for cell in others if cell.strip()]
    assert len(shown) == len(list(cells()))
    assert set(shown) == known


def test_the_libraries_of_which_most_is_asked_have_columns():
    assert {"Vowpal Wabbit", "coba", "GrowthBook", OURS} <= {cell.column for cell in cells()}


def test_what_the_page_counts_is_true():
    assert len(POLICIES) > 60
    assert len(ENVIRONMENTS) > 25
