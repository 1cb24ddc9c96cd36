"""The sentence that says which policies are better than the baseline of an evaluation."""

from __future__ import annotations

from collections.abc import Sequence

from bandit_envs.evaluations.candidates import LOGGED
from bandit_envs.evaluations.estimate_rows import EstimateRow, count_comparisons, has_weight
from bandit_envs.names.visible import visible
from bandit_envs.showing.merged_texts import say_of_each
from bandit_envs.showing.who_wins import ComparedPolicy, Wording, say_who_wins

WORDS = Wording(measure="gain", undecided="The log does not decide")

NEVER_LOGGED = "does in no row what was logged, so the log cannot tell"


def say_who_gains(rows: Sequence[EstimateRow], baseline: str, confidence: float) -> str:
    """Returns how many policies are better than the baseline, and by how much the best one.

    Args:
        rows: of a table of estimates.
        baseline: the name of the policy that gains are over.
        confidence: a p-value is low enough if it is below 1 - confidence.

    Returns:
        the sentence of `say_who_wins`, and which policies the log tells nothing of; "" if no policy
        is compared with the baseline.
    """
    unknown = {row.policy: visible(row.policy) for row in rows if not has_weight(row)}
    compared = [row for row in rows if row.gain_rows]
    if compared and baseline in unknown:
        return f"{say_of_each([unknown[baseline]], NEVER_LOGGED)} gains over it."
    sentence = say_who_wins(
        [_compare(row) for row in compared if row.policy not in unknown],
        name_baseline(baseline),
        confidence,
        comparisons=count_comparisons(rows),
        words=WORDS,
    )
    lacking = [unknown[row.policy] for row in compared if row.policy in unknown]
    more = f"{say_of_each(lacking, NEVER_LOGGED)} its gain." if lacking else ""
    return " ".join(part for part in (sentence, more) if part)


def name_baseline(baseline: str) -> str:
    """Returns the policy that gains are over, in a sentence."""
    return "the logged policy" if baseline == LOGGED else visible(baseline)


def _compare(row: EstimateRow) -> ComparedPolicy:
    """Returns what the sentence needs of a row with a gain."""
    return ComparedPolicy(
        policy=row.policy,
        difference=row.gain,
        texts=(f"{row.gain:+.4f}", f"{row.gain_low:+.4f}", f"{row.gain_high:+.4f}"),
        p_value=row.p_value,
        source=row.estimator,
        is_doubted=bool(row.warnings),
    )
