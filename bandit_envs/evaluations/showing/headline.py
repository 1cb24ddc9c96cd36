"""The sentence that says which policies are better than the baseline."""

from __future__ import annotations

from collections.abc import Sequence

from bandit_envs.evaluations.candidates import LOGGED
from bandit_envs.evaluations.estimate_rows import EstimateRow, count_comparisons, sign_of_gain
from bandit_envs.names.visible import visible
from bandit_envs.showing.tables import interval_text, p_text


def say_who_wins(rows: Sequence[EstimateRow], baseline: str, confidence: float) -> str:
    """Returns how many policies are better than the baseline, and by how much the best one.

    A policy is better, or worse, if the corrected p-values of all estimators say so. The numbers
    are those of the estimator with the highest p-value.

    Args:
        rows: of a table of estimates.
        baseline: the name of the policy that gains are over.
        confidence: a p-value is low enough if it is below 1 - confidence.

    Returns:
        the sentence; "" if no policy is compared with the baseline.
    """
    compared: dict[str, list[EstimateRow]] = {}
    for row in rows:
        if row.gain_rows:
            compared.setdefault(row.policy, []).append(row)
    if not compared:
        return ""
    signs = [{sign_of_gain(row, confidence) for row in own} for own in compared.values()]
    shown = [max(own, key=lambda row: row.p_value) for own in compared.values()]
    better = [row for row, found in zip(shown, signs) if found == {1}]
    best = max(better or shown, key=lambda row: row.gain)
    name = visible(best.policy)
    verdict = f"{_verdict(signs, name)} than {name_baseline(baseline)}"
    numbers = _numbers(best, rows, confidence)
    if len(signs) == 1:
        return f"{verdict}: gain {numbers}"
    if len(better) == 1:
        return f"{verdict}; it is {name}: gain {numbers}"
    of_these = " of these" if 0 < len(better) < len(signs) else ""  # others may gain more
    return f"{verdict}; the highest gain{of_these} is that of {name}: {numbers}"


def name_baseline(baseline: str) -> str:
    """Returns the policy that gains are over, in a sentence."""
    return "the logged policy" if baseline == LOGGED else visible(baseline)


def explain_correction(rows: Sequence[EstimateRow]) -> str:
    """Returns how the p-values of gains are corrected; "" if there is one comparison."""
    number = count_comparisons(rows)
    return "" if number == 1 else f", corrected by Holm for {number} comparisons"


def _verdict(signs: Sequence[set[int]], name: str) -> str:
    """Returns how many policies are better, or worse.

    Args:
        signs: for each policy, the signs of its gains by all estimators.
        name: of the policy; it counts only if there is one policy.
    """
    number = len(signs)
    better = signs.count({1})
    if better:
        return f"{_subject(better, number, name)} better"
    if signs.count({-1}) == number:
        return f"{_subject(number, number, name)} worse"
    one = name if number == 1 else f"one of {number} policies"
    disagree = any(1 in found for found in signs)
    subject = "Estimators disagree" if disagree else "The log does not decide"
    return f"{subject} whether {one} is better"


def _subject(count: int, number: int, name: str) -> str:
    """Returns the subject of a sentence and its verb: a policy, or how many of several."""
    if number == 1:
        return f"{name} is"
    return f"{count} of {number} policies {'is' if count == 1 else 'are'}"


def _numbers(row: EstimateRow, rows: Sequence[EstimateRow], confidence: float) -> str:
    """Returns a gain with its interval and its p-value, and whether it has a warning."""
    interval = interval_text(f"{row.gain_low:+.4f}", f"{row.gain_high:+.4f}")
    level = f"{100.0 * confidence:.4g}% interval {interval}"
    p_value = f"p {p_text(row.p_value)}{explain_correction(rows)}"
    text = f"{row.gain:+.4f} ({level}; {p_value}), by {visible(row.estimator)}"
    number = len({each.estimator for each in rows if each.gain_rows})
    text += f", the least sure of {number} estimators." if number > 1 else "."
    return f"{text} A warning says why to distrust it." if row.warnings else text
