"""Logs for tests."""

import numpy as np
from hypothesis import strategies as st

from bandit_envs.logged import BanditLog

REWARD = [1, 0, 1, 1, 0, 1]
ACTION = [0, 1, 2, 0, 1, 2]
PROPENSITY = [0.5, 0.25, 0.25, 0.5, 0.2, 0.1]
PROBABILITIES = [
    [0.2, 0.3, 0.5],
    [0.1, 0.8, 0.1],
    [0, 0, 1],
    [1, 0, 0],
    [0.3, 0.3, 0.4],
    [0.25, 0.25, 0.5],
]
PREDICTED = [
    [0.6, 0.2, 0.4],
    [0.5, 0.1, 0.3],
    [0.7, 0.7, 0.7],
    [0.9, 0.2, 0.1],
    [0.3, 0.3, 0.3],
    [0.2, 0.4, 0.8],
]


def small_log(**columns):
    return BanditLog(np.arange(12.0).reshape(6, 2), ACTION, REWARD, PROPENSITY, 3, **columns)


def drawn(rng, size, num_actions=3, **columns):
    """A log of a uniform policy with normal contexts."""
    action = rng.integers(num_actions, size=size)
    reward = rng.normal(size=size)
    propensity = np.full(size, 1 / num_actions)
    context = rng.normal(size=(size, 2))
    return BanditLog(context, action, reward, propensity, num_actions, **columns)


OPTIONAL = (
    "action_probabilities",
    "available",
    "expected_rewards",
    "step",
    "row",
    "embedding",
    "own_propensity",
    "info",
)


@st.composite
def logs(draw, observations=("array", "dict"), optional=OPTIONAL):
    """Logs of all shapes, with some of the optional columns."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    size = draw(st.integers(1, 6))
    num_actions = draw(st.integers(1, 4))
    table = rng.dirichlet(np.ones(num_actions), size).clip(1e-9)
    table /= table.sum(axis=1, keepdims=True)
    action = rng.integers(num_actions, size=size)
    chances = table[np.arange(size), action]
    available = rng.random((size, num_actions)) < 0.5
    available[np.arange(size), action] = True
    columns = {
        "action_probabilities": table,
        "available": available,
        "expected_rewards": rng.normal(size=table.shape),
        "step": np.arange(size),
        "row": np.arange(size) % 2,
        "embedding": rng.integers(3, size=(size, 2)),
        "own_propensity": chances,
        "info": {"predicted": table.astype("f4"), "kind": {"a": action % 2 == 0}},
    }
    chosen = draw(st.sets(st.sampled_from(optional))) if optional else ()
    dtype = draw(st.sampled_from(["f4", "f8"]))
    kinds = {
        "array": lambda: rng.normal(size=(size, draw(st.integers(1, 3)))).astype(dtype),
        "items": lambda: {
            "global": rng.normal(size=(size, 2)).astype(dtype),
            "per_arm": rng.normal(size=(size, num_actions, 2)).astype(dtype),
        },
        "dict": lambda: {
            "x": (rng.normal(size=(size, 2, 2)).astype(dtype), rng.integers(9, size=size)),
            "y": [draw(st.sampled_from([np.array(["a", 'b"c,'])[action % 2], action > 0]))],
        },
    }
    observation = kinds[draw(st.sampled_from(observations))]()
    reward = rng.normal(size=size) * draw(st.sampled_from([0.0, 1e-300, 1.0, 1e90]))
    kept = {name: columns[name] for name in chosen}
    return BanditLog(observation, action, reward, chances, num_actions, **kept)
