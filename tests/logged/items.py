"""Six decisions among items, in the forms that tables have."""

import pytest

DECISIONS = {
    "d1": (0.2, [("a", 1.0, "news", 0.3), ("b", 2.0, "sport", 0.5), ("c", 0.5, "news", 0.2)]),
    "d2": (0.7, [("b", 2.0, "sport", 0.6), ("d", 1.5, "video", 0.4)]),
    "d3": (
        0.4,
        [
            ("a", 1.0, "news", 0.25),
            ("c", 0.5, "news", 0.25),
            ("d", 1.5, "video", 0.25),
            ("e", 3.0, "sport", 0.25),
        ],
    ),
    "d4": (0.9, [("e", 2.5, "sport", 0.2), ("a", 1.0, "news", 0.8)]),
    "d5": (0.1, [("c", 0.5, "news", 0.1), ("b", 2.0, "sport", 0.6), ("d", 1.25, "video", 0.3)]),
    "d6": (
        0.6,
        [
            ("f", 0.75, "video", 0.4),
            ("e", 3.0, "sport", 0.2),
            ("b", 2.0, "sport", 0.3),
            ("a", 1.0, "news", 0.1),
        ],
    ),
}
"""The hour of each decision; and item, price, kind and propensity of its candidates."""

CHOSEN = {"d1": "b", "d2": "d", "d3": "c", "d4": "a", "d5": "c", "d6": "e"}
REWARDS = {"d1": 1.0, "d2": 0.0, "d3": 1.0, "d4": 0.0, "d5": 2.0, "d6": 1.0}
LONG = {"decision": "decision", "item": "item"}
"""What the columns of `long_frame` are."""


def long_frame():
    """Returns a table with one row a candidate."""
    pandas = pytest.importorskip("pandas")
    rows = [
        {
            "decision": name,
            "hour": hour,
            "item": item,
            "price": price,
            "kind": kind,
            "chosen": int(item == CHOSEN[name]),
            "propensity": propensity,
            "reward": REWARDS[name] if item == CHOSEN[name] else None,
        }
        for name, (hour, candidates) in DECISIONS.items()
        for item, price, kind, propensity in candidates
    ]
    return pandas.DataFrame(rows)


WIDE = {"item": "candidates", "propensity": "probabilities", "features": "hour"}
"""What the columns of `wide_frame` are."""

STRUCTS = {
    "item": "id",
    "propensity": "probability",
    "features": "hour",
    "item_features": ["price", "kind"],
}
"""What the columns of `struct_frame` are."""


def wide_frame():
    """Returns a table with one row a decision, and lists."""
    pandas = pytest.importorskip("pandas")
    rows = []
    for name, (hour, candidates) in DECISIONS.items():
        items, prices, kinds, propensities = map(list, zip(*candidates))
        row = {"decision": name, "hour": hour, "candidates": items, "price": prices, "kind": kinds}
        row |= {"probabilities": propensities, "chosen": CHOSEN[name], "reward": REWARDS[name]}
        rows.append({**row, "propensity": propensities[items.index(CHOSEN[name])]})
    return pandas.DataFrame(rows)


def struct_frame():
    """Returns a table with one row a decision, and a list of records."""
    pandas = pytest.importorskip("pandas")
    fields = ("id", "price", "kind", "probability")
    rows = [
        {
            "hour": hour,
            "candidates": [dict(zip(fields, each)) for each in candidates],
            "chosen": CHOSEN[name],
            "reward": REWARDS[name],
        }
        for name, (hour, candidates) in DECISIONS.items()
    ]
    return pandas.DataFrame(rows)
