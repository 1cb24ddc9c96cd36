"""The fixture of logs of items: six decisions among a to f, and what is known of them."""

import numpy as np

from bandit_envs.logged import BanditLog
from bandit_envs.tables.encoding import NumberColumn, TableEncoding, TextColumn

ENCODING = TableEncoding(
    features=(NumberColumn("hour"),),
    item_features=(NumberColumn("price"), TextColumn("kind", ("news", "sport", "video"))),
    items=("a", "b", "c", "d", "e", "f"),
)

NEWS, SPORT, VIDEO = np.eye(3)

ROWS = (
    (0.2, 1, 1.0, ("a", 1.0, NEWS, 0.3), ("b", 2.0, SPORT, 0.5), ("c", 0.5, NEWS, 0.2)),
    (0.7, 1, 0.0, ("b", 2.0, SPORT, 0.6), ("d", 1.5, VIDEO, 0.4)),
    (
        0.4,
        1,
        1.0,
        ("a", 1.0, NEWS, 0.25),
        ("c", 0.5, NEWS, 0.25),
        ("d", 1.5, VIDEO, 0.25),
        ("e", 3.0, SPORT, 0.25),
    ),
    (0.9, 1, 0.0, ("e", 2.5, SPORT, 0.2), ("a", 1.0, NEWS, 0.8)),
    (0.1, 0, 2.0, ("c", 0.5, NEWS, 0.1), ("b", 2.0, SPORT, 0.6), ("d", 1.25, VIDEO, 0.3)),
    (
        0.6,
        1,
        1.0,
        ("f", 0.75, VIDEO, 0.4),
        ("e", 3.0, SPORT, 0.2),
        ("b", 2.0, SPORT, 0.3),
        ("a", 1.0, NEWS, 0.1),
    ),
)
"""Of each decision: the hour, the place that was chosen, its reward, and the items offered."""


def make_fixture(size=4, probabilities=True):
    """Returns the log, padded to `size` places a row."""
    n = len(ROWS)
    actions = np.zeros((n, size, 4))
    mask = np.zeros((n, size), bool)
    item = np.full((n, size), -1)
    table = np.zeros((n, size))
    for row, (_, _, _, *offered) in enumerate(ROWS):
        for place, (name, price, kind, probability) in enumerate(offered):
            actions[row, place] = [price, *kind]
            mask[row, place] = True
            item[row, place] = ENCODING.items.index(name)
            table[row, place] = probability
    action = [row[1] for row in ROWS]
    return BanditLog(
        {"global": np.array([[row[0]] for row in ROWS]), "per_arm": actions, "mask": mask},
        action,
        [row[2] for row in ROWS],
        table[np.arange(n), action],
        action_probabilities=table if probabilities else None,
        item=item,
        encoding=ENCODING,
    )
