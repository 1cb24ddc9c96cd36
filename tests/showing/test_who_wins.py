"""The sentence that says who wins says nothing else than the table."""

import re

import numpy as np
import pytest

from bandit_envs.showing.tables import p_text
from bandit_envs.showing.who_wins import ComparedPolicy, Wording, say_who_wins

WORDS = Wording(measure="gain", undecided="Nothing decides")


def draw_rows(rng):
    """Returns the rows of a random table: of some policies, by some sources."""
    policies = [f"p{place}" for place in range(rng.integers(1, 5))]
    sources = [f"s{place}" for place in range(rng.integers(1, 4))]
    p_values = rng.choice([0.0, 0.001, 0.049, 0.05, 0.2, 1.0], size=(len(policies), len(sources)))
    means = rng.integers(-2, 3, size=p_values.shape) + 0.5 * rng.integers(0, 2)
    return [
        ComparedPolicy(
            policy=policy,
            difference=float(means[row, column]),
            texts=tuple(f"{means[row, column] + step:+.4f}" for step in (0, -1, 1)),
            p_value=float(p_values[row, column]),
            source=source,
            is_doubted=bool(rng.random() < 0.3),
        )
        for row, policy in enumerate(policies)
        for column, source in enumerate(sources)
    ]


def check_sentence(sentence, rows):
    """Compares all that a sentence says with its rows."""
    own = {name: [row for row in rows if row.policy == name] for name in {r.policy for r in rows}}
    signs = {name: {row.sign(0.95) for row in members} for name, members in own.items()}
    better = {name for name, found in signs.items() if found == {1}}
    disputed = {name for name, found in signs.items() if 1 in found}
    shown = {
        name: min(found, key=lambda row: (-row.p_value, abs(row.difference)))
        for name, found in own.items()
    }
    verdict, numbers = re.fullmatch(r"(.*? than base)[:;] (.*)", sentence).groups()
    one = next(iter(own)) if len(own) == 1 else f"one of {len(own)} policies"
    if better:
        count = f"{len(better)} of {len(own)} policies {'is' if len(better) == 1 else 'are'}"
        assert verdict == f"{f'{one} is' if len(own) == 1 else count} better than base"
    elif all(found == {-1} for found in signs.values()):
        count = f"{one} is" if len(own) == 1 else f"{len(own)} of {len(own)} policies are"
        assert verdict == f"{count} worse than base"
    elif disputed:
        count = f"{len(disputed)} of {len(own)} policies {'is' if len(disputed) == 1 else 'are'}"
        subject = f"{one} is" if len(own) == 1 else count
        assert verdict == f"Estimators disagree whether {subject} better than base"
    else:
        assert verdict == f"Nothing decides whether {one} is better than base"
    named = re.match(
        r"(it is|the highest gain(?: of these)?(?: by the least sure estimators)? is that of) "
        r"(\w+): ",
        numbers,
    )
    name = named[2] if named else one
    among = better or disputed or set(own)
    assert name in among
    assert shown[name].difference == max(shown[each].difference for each in among)
    if named and named[1] == "it is":
        assert among == {name}
    elif named:
        assert ("of these" in named[1]) == (len(among) < len(own))
        assert ("by the least" in named[1]) == (len({row.source for row in rows}) > 1)
    row = shown[name]
    center, low, high = row.texts
    assert f"{center} (95% interval {low} to {high}; p {p_text(row.p_value)}, cor" in numbers
    assert f"for 7 comparisons), by {row.source}" in numbers
    number = len({row.source for row in rows})
    assert ("the least sure of" in numbers) == (number > 1)
    assert number == 1 or f"the least sure of {number} estimators." in numbers
    assert numbers.endswith("distrust it.") == row.is_doubted


def check_random_tables(seeds):
    for seed in seeds:
        rows = draw_rows(np.random.default_rng(seed))
        sentence = say_who_wins(rows, "base", 0.95, comparisons=7, words=WORDS)
        check_sentence(sentence, rows)


def test_no_sentence_on_a_few_tables_is_false():
    check_random_tables(range(60))


@pytest.mark.slow
def test_no_sentence_on_random_tables_is_false():
    check_random_tables(range(60, 5000))
