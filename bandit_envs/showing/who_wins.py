"""The sentence that says which policies are better than the one that they are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bandit_envs.names.visible import visible
from bandit_envs.showing.tables import interval_text, p_text


class ComparedPolicy(NamedTuple):
    """How a policy differs from the baseline.

    Fields:
        policy: its name.
        difference: above 0 if the policy is better.
        texts: the difference and the ends of its interval.
        p_value: of no difference, corrected by Holm.
        source: what says so, such as an estimator; all policies have the same ones.
        is_doubted: whether a warning says why to distrust it.
    """

    policy: str
    difference: float
    texts: tuple[str, str, str]
    p_value: float
    source: str = ""
    is_doubted: bool = False

    def sign(self, confidence: float) -> int:
        """Returns 1 if the policy is better, -1 if it is worse, and 0 if that is open."""
        return sign_of(self.difference, self.p_value, confidence)


class Wording(NamedTuple):
    """The words of the sentence that depend on what is compared.

    Fields:
        measure: what a difference is.
        undecided: the subject and the verb of a sentence that ends in "whether a is better".
        by: what "better" means; "" if that is plain.
        test: what the p-values are of; "" if that is plain.
    """

    measure: str
    undecided: str
    by: str = ""
    test: str = ""


def sign_of(difference: float, p_value: float, confidence: float) -> int:
    """Returns the sign of a difference; 0 if its corrected p-value is too high."""
    if not p_value < 1.0 - confidence:
        return 0
    return 1 if difference > 0.0 else -1


def say_who_wins(
    rows: Sequence[ComparedPolicy],
    baseline: str,
    confidence: float,
    *,
    comparisons: int,
    words: Wording,
) -> str:
    """Returns how many policies are better than the baseline, and by how much the best one.

    A policy is better, or worse, if the corrected p-values of all sources say so. The numbers are
    those of the source with the highest p-value; of several such, that with the lowest difference.
    If sources disagree on some policies, and no policy is better, it speaks of these policies.

    Args:
        rows: of each policy, one by each source.
        baseline: names the policy that they are compared with.
        confidence: a p-value is low enough if it is below 1 - confidence.
        comparisons: for how many of them the p-values are corrected.
        words: of the sentence.

    Returns:
        the sentence; "" without rows.
    """
    compared: dict[str, list[ComparedPolicy]] = {}
    for row in rows:
        compared.setdefault(row.policy, []).append(row)
    if not compared:
        return ""
    signs = [{row.sign(confidence) for row in own} for own in compared.values()]
    shown = [_least_sure(own) for own in compared.values()]
    better = [row for row, found in zip(shown, signs) if found == {1}]
    disputed = [row for row, found in zip(shown, signs) if 1 in found]
    named = better or disputed or shown
    best = max(named, key=lambda row: row.difference)
    name = visible(best.policy)
    verdict = f"{_verdict(signs, name, words)} than {baseline}{words.by}"
    numbers = _numbers(best, rows, confidence, explain_correction(comparisons), words)
    if len(signs) == 1:
        return f"{verdict}: {words.measure} {numbers}"
    if len(named) == 1:
        return f"{verdict}; it is {name}: {words.measure} {numbers}"
    of_these = " of these" if len(named) < len(signs) else ""  # others may gain more
    several = len({row.source for row in rows}) > 1
    by_these = " by the least sure estimators" if several else ""  # by others, it may be higher
    highest = f"the highest {words.measure}{of_these}{by_these}"
    return f"{verdict}; {highest} is that of {name}: {numbers}"


def explain_correction(comparisons: int) -> str:
    """Returns how p-values are corrected; "" if there is one comparison."""
    return "" if comparisons == 1 else f", corrected by Holm for {comparisons} comparisons"


def _least_sure(rows: Sequence[ComparedPolicy]) -> ComparedPolicy:
    """Returns the row of a policy that says least for a difference."""
    return max(rows, key=lambda row: (row.p_value, -abs(row.difference)))


def _verdict(signs: Sequence[set[int]], name: str, words: Wording) -> str:
    """Returns how many policies are better, or worse.

    Args:
        signs: for each policy, the signs of its differences by all sources.
        name: of the policy; it counts only if there is one policy.
        words: of the sentence.
    """
    number = len(signs)
    better = signs.count({1})
    if better:
        return f"{_subject(better, number, name)} better"
    if signs.count({-1}) == number:
        return f"{_subject(number, number, name)} worse"
    disputed = sum(1 in found for found in signs)
    if disputed:
        return f"Estimators disagree whether {_subject(disputed, number, name)} better"
    one = name if number == 1 else f"one of {number} policies"
    return f"{words.undecided} whether {one} is better"


def _subject(count: int, number: int, name: str) -> str:
    """Returns the subject of a sentence and its verb: a policy, or how many of several."""
    if number == 1:
        return f"{name} is"
    return f"{count} of {number} policies {'is' if count == 1 else 'are'}"


def _numbers(
    row: ComparedPolicy,
    rows: Sequence[ComparedPolicy],
    confidence: float,
    correction: str,
    words: Wording,
) -> str:
    """Returns a difference with its interval and its p-value, and whether it has a warning."""
    center, low, high = row.texts
    level = f"{100.0 * confidence:.4g}% interval {interval_text(low, high)}"
    text = f"{center} ({level}; p {p_text(row.p_value)}{words.test}{correction})"
    number = len({each.source for each in rows})
    if row.source:
        text += f", by {visible(row.source)}"
    text += f", the least sure of {number} estimators." if number > 1 else "."
    return f"{text} A warning says why to distrust it." if row.is_doubted else text
