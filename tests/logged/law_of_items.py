"""Items that suit some contexts only: a law of logs whose values are known."""

import numpy as np

from bandit_envs.logged import BanditLog
from bandit_envs.tables.encoding import NumberColumn, TableEncoding, TextColumn

ENCODING = TableEncoding(
    features=(NumberColumn("taste"),),
    item_features=(NumberColumn("price"), TextColumn("kind", ("film", "song"))),
    items=tuple(f"item-{number}" for number in range(40)),
)

K = 6


def make_log(count, seed=0):
    """Two to six of forty items. A taste above 0 prefers films, one below 0 songs; all prefer
    cheap ones. The expected reward of each item is known."""
    rng = np.random.default_rng(seed)
    taste = rng.uniform(-1.0, 1.0, (count, 1))
    item = np.argsort(rng.random((count, 40)), axis=1)[:, :K]
    mask = np.arange(K) < rng.integers(2, K + 1, (count, 1))
    price = 1.0 + (item % 10) / 5.0
    is_film = item % 2
    mean = 0.5 - 0.1 * price + 0.35 * taste * np.where(is_film, 1.0, -1.0)
    mean = np.clip(mean, 0.02, 0.98)
    weights = np.exp(-0.3 * price) * mask
    table = weights / weights.sum(axis=1, keepdims=True)
    action = (rng.random((count, 1)) > table.cumsum(axis=1)).sum(axis=1)
    rows = np.arange(count)
    reward = (rng.random(count) < mean[rows, action]).astype(float)
    per_arm = np.stack([price, is_film, 1.0 - is_film], axis=2) * mask[..., np.newaxis]
    return BanditLog(
        {"global": taste, "per_arm": per_arm, "mask": mask},
        action,
        reward,
        table[rows, action],
        action_probabilities=table,
        expected_rewards=np.where(mask, mean, 0.0),
        item=np.where(mask, item, -1),
        encoding=ENCODING,
    )


def best_value(log):
    """The mean reward of the best item of each row."""
    return log.expected_rewards.max(axis=1, where=log.observation["mask"], initial=0.0).mean()
