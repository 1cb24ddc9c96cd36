"""The table of LaTeX of an evaluation."""

import re

import pytest

from bandit_envs.evaluations import evaluate
from tests.evaluations.logs import record_log


@pytest.fixture(scope="module")
def log():
    return record_log()


def rows_of(table):
    lines = table.partition(r"\midrule")[2].partition(r"\bottomrule")[0].splitlines()
    return [line.removesuffix(r" \\").split(" & ") for line in lines if " & " in line]


def test_the_table_has_estimates_gains_and_p_values(log):
    found = evaluate(log, {"100%_random": "random", "ucb": "ucb:c=1"}, ["ips", "dr"])
    rows = rows_of(found.to_latex())
    assert [row[:2] for row in rows] == [
        ["logged", "mean"],
        [r"100\%\_random", "ips"],
        [r"100\%\_random", "dr"],
        ["ucb", "ips"],
        ["ucb", "dr"],
    ]
    for cells, row in zip(rows, found.rows):
        value = cells[-3]
        numbers = [float(text) for text in re.findall(r"-?\d+\.?\d*", value)]
        assert numbers == pytest.approx([row.value, row.low, row.high], abs=row.standard_error / 10)
        assert (cells[-1].strip() == "") == (row.gain_rows == 0)
    assert r"95\% intervals" in found.to_latex()


def test_the_table_has_the_rows_of_segments(log):
    found = evaluate(log, ["random"], ["ips"], by="action", confidence=0.9)
    table = found.to_latex()
    for name in found.segments:
        assert rf"\multicolumn{{{len(rows_of(table)[0])}}}{{l}}{{action: {name}}}" in table
    assert r"90\% intervals" in table


def test_the_caption_counts_estimates_that_are_not_to_be_trusted(log):
    found = evaluate(log[:60], ["random", "constant:number=1"], ["ips", "snips"], train=None)
    number = sum(bool(row.warnings) for row in found.rows)
    assert number
    assert f"reasons to distrust them: {number} of {len(found.rows)}." in found.to_latex()
