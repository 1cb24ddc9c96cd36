"""The sentences that say which policies of a study are better than one of them."""

from __future__ import annotations

import collections
from collections.abc import Collection, Mapping, Sequence

from bandit_envs.names.visible import visible
from bandit_envs.policies.policy_choice import PolicyChoice
from bandit_envs.showing.tables import with_decimals
from bandit_envs.showing.who_wins import ComparedPolicy, Wording, say_who_wins
from bandit_envs.studies.definition.study import Study
from bandit_envs.studies.results.differences import PairDifference, corrected_p_values

MEASURE = "mean_reward"
"""The quantity that decides: the policy that has more of it is better."""

MOST = 3
"""Up to so many environments have a sentence each; more share one, which counts the wins."""

CONFIDENCE = 0.95

WORDS = Wording(
    measure="difference",
    undecided="The runs do not decide",
    by=" by mean reward",
    test=" by the paired t-test",
)


def say_who_leads(
    study: Study, baseline: PolicyChoice, differences: Sequence[PairDifference]
) -> list[str]:
    """Returns which policies are better than one policy: a sentence for each environment.

    P-values are those of tables: by the paired t-test, corrected for the number of policies in an
    environment. There are no sentences if rewards are not compared, or if policies stop.

    Args:
        study: the study.
        baseline: the policy that the others are compared with.
        differences: of the others to it, as `compare_to` returns them.
    """
    if not differences or MEASURE not in differences[0].runs or "stopped" in study.summary:
        return []
    found = [each._replace(runs={MEASURE: each.runs[MEASURE]}) for each in differences]
    names = _tell_apart({str(each): study.policy_label(each) for each in study.policy})
    places: dict[str, list[ComparedPolicy]] = {}
    for each, p_values in zip(found, corrected_p_values(found)):
        row = _compare(study, each, names[str(each.pair.policy)], p_values[MEASURE].t)
        places.setdefault(str(each.pair.environment), []).append(row)
    name = visible(names[str(baseline)])
    if len(places) > MOST:
        return [_count_places(places.values(), name)]
    labels = _tell_apart({str(each): study.environment_label(each) for each in study.environment})
    sentences = []
    for place, rows in places.items():
        sentence = say_who_wins(rows, name, CONFIDENCE, comparisons=len(rows), words=WORDS)
        where = f"In {visible(labels[place])}: " if len(labels) > 1 else ""
        sentences.append(f"{where}{sentence}")
    return sentences


def _tell_apart(labels: Mapping[str, str]) -> dict[str, str]:
    """Returns a label for each text: the text itself if the label is blank.

    Where several share a label, the text follows it in brackets.
    """
    counts = collections.Counter(labels.values())
    found = {}
    for text, label in labels.items():
        if not label.strip():
            found[text] = text
        else:
            found[text] = label if counts[label] == 1 else f"{label} ({text})"
    return found


def _compare(study: Study, difference: PairDifference, name: str, p_value: float) -> ComparedPolicy:
    """Returns a policy with its name, its difference to the baseline and the p-value."""
    statistics = difference.statistics(MEASURE)
    low, high = map(float, statistics.interval(CONFIDENCE))
    mean = float(statistics.mean)
    fewest = study.quantities[MEASURE].decimals
    texts = with_decimals(mean, low, high, fewest=fewest, error=high - low)
    center, *ends = [text if text.startswith("-") else f"+{text}" for text in texts]
    return ComparedPolicy(
        policy=name,
        difference=mean,
        texts=(center, ends[0], ends[1]),
        p_value=p_value,
    )


def _count_places(places: Collection[Sequence[ComparedPolicy]], baseline: str) -> str:
    """Returns a sentence that says in how many environments a policy is better.

    Args:
        places: the compared policies of each environment.
        baseline: the name of the policy that they are compared with.
    """
    wins = sum(any(row.sign(CONFIDENCE) == 1 for row in rows) for rows in places)
    names = {row.policy for rows in places for row in rows}
    where = f"In {wins} of {len(places)} environments"
    p_values = f"p-values below {1.0 - CONFIDENCE:.2g}{WORDS.test}"
    if len(names) == 1:
        who = visible(names.pop())
    else:
        who = "at least one policy"
        p_values += ", corrected by Holm in each environment"
    return f"{where}, {who} is better than {baseline}{WORDS.by} ({p_values})."
