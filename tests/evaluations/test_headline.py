"""The sentence that says who wins."""

import dataclasses
import re

from bandit_envs.evaluations import evaluate
from bandit_envs.evaluations.estimate_rows import EstimateRow
from bandit_envs.evaluations.showing.headline import say_who_gains
from tests.cases import for_each
from tests.evaluations.logs import record_log

GAINS = {
    "wins": (0.09, 0.01),
    "wins a little": (0.02, 0.04),
    "is open": (0.3, 0.2),
    "loses": (-0.1, 0.001),
}
"""A gain and its corrected p-value, by what they say of a policy."""


def row_of(policy, kind, estimator="dr"):
    gain, p_value = GAINS[kind]
    row = EstimateRow(policy, estimator, 900, *(0.0,) * 8, "", *(0.0,) * 7)
    ends = {"gain_low": gain - 0.01, "gain_high": gain + 0.01}
    return row._replace(
        gain=gain, gain_rows=900, p_value=p_value, effective_sample_size=90.0, **ends
    )


@for_each(
    ("rows", "sentence"),
    [
        ([("a", "wins")], "a is better than the logged policy: gain +0.0900 "),
        ([("a", "loses")], "a is worse than the logged policy: gain -0.1000 "),
        ([("a", "is open")], "The log does not decide whether a is better than the logged policy"),
        (
            [("a", "wins a little"), ("b", "wins"), ("c", "is open")],
            "2 of 3 policies are better than the logged policy; "
            "the highest gain of these is that of b: +0.0900 ",
        ),
        (
            [("a", "wins"), ("b", "wins a little")],
            "2 of 2 policies are better than the logged policy; the highest gain is that of a: ",
        ),
        (
            [("a", "wins"), ("b", "is open")],
            "1 of 2 policies is better than the logged policy; it is a: gain +0.0900 ",
        ),
        ([("a", "loses"), ("b", "loses")], "2 of 2 policies are worse than the logged policy; the"),
        (
            [("a", "is open"), ("b", "loses")],
            "The log does not decide whether one of 2 policies is better than the logged policy; "
            "the highest gain is that of a: +0.3000 ",
        ),
        (
            [("a", "wins"), ("a", "is open", "ips")],
            "Estimators disagree whether a is better than the logged policy: gain +0.3000 ",
        ),
        (
            [("a", "wins"), ("a", "wins a little", "ips")],
            "a is better than the logged policy: gain +0.0200 "
            "(95% interval +0.0100 to +0.0300; p 0.04), by ips, the least sure of 2 estimators.",
        ),
        (
            [("a", "wins"), ("a", "is open", "ips"), ("b", "is open"), ("b", "loses", "ips")],
            "Estimators disagree whether 1 of 2 policies is better than the logged policy; "
            "it is a: gain +0.3000 ",
        ),
        (
            [("a", "is open"), ("a", "loses", "ips"), ("b", "is open"), ("b", "is open", "ips")],
            "The log does not decide whether one of 2 policies is better than the logged policy; "
            "the highest gain by the least sure estimators is that of a: +0.3000 ",
        ),
        ([(f"{number:03}", "wins") for number in range(300)], "300 of 300 policies are better "),
        ([("\x1b[2J", "wins")], r"\x1b[2J is better"),
        ([], ""),
    ],
)
def test_the_headline_says_who_wins_by_corrected_p_values(rows, sentence):
    found = say_who_gains([row_of(*each) for each in rows], "logged", 0.95)
    assert found.startswith(sentence)
    assert bool(found) == bool(sentence)


def test_the_headline_says_for_how_many_comparisons_p_values_are_corrected_and_who_warns():
    row = row_of("a", "wins")._replace(warnings="few rows")
    found = say_who_gains([row, row_of("b", "loses")], "c", 0.9)
    assert "1 of 2 policies is better than c; it is a: gain +0.0900 " in found
    assert "(90% interval +0.0800 to +0.1000; p 0.01, corrected by Holm for 2 " in found
    assert found.endswith("by dr. A warning says why to distrust it.")


def test_the_headline_decides_nothing_of_a_policy_whose_actions_were_never_logged():
    log = record_log()
    log = log[log.action != 2]
    log = dataclasses.replace(log, reward=log.reward - 5.0)
    policies = ["constant:number=2", "random"]
    said = "constant:number=2 does in no row what was logged, so the log cannot tell"
    found = evaluate(log, policies, ["ips", "dm"])
    assert found.rows[1].p_value < 0.05
    assert re.fullmatch(f".* random is .* {said} its gain[.]", found.headline())
    assert evaluate(log, policies[0], "ips").headline() == f"{said} its gain."
    over = evaluate(log, policies, "ips", baseline=policies[0])
    assert over.headline() == f"{said} gains over it."


def test_an_evaluation_without_comparisons_has_no_headline():
    log = record_log()
    assert evaluate(log, "random", "ips", baseline="random").headline() == ""
    assert "random" in evaluate(log, "random", "ips").headline()
