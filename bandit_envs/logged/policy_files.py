"""Files of learned policies, without pickle."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from bandit_envs.arrays import Floats
from bandit_envs.base.saving import load_state, save_state
from bandit_envs.nests import Nest
from bandit_envs.policies.linear_scores import (
    LinearGreedyPolicy,
    LinearScoresPolicy,
    LinearSoftmaxPolicy,
)
from bandit_envs.seeding import Seed

KEY = "bandit_envs.policy"
KINDS: dict[str, type[LinearScoresPolicy]] = {
    "linear_greedy": LinearGreedyPolicy,
    "linear_softmax": LinearSoftmaxPolicy,
}


@dataclasses.dataclass(frozen=True)
class SavedPolicy:
    """What a file says of a policy that a learner made.

    Args:
        kind: "linear_greedy" or "linear_softmax".
        weights: [K, 1 + d], of the scores.
        rows_learned: from how many rows, the first of a log, it has learned.
        log: describes this log; "" if it is not known.
    """

    kind: str
    weights: Floats
    rows_learned: int = 0
    log: str = ""

    def make(
        self, observation_spec: Nest, batch_size: int = 1, seed: Seed = None
    ) -> LinearScoresPolicy:
        """Returns the policy for an environment or a log."""
        return KINDS[self.kind](
            self.weights, observation_spec=observation_spec, batch_size=batch_size, seed=seed
        )


def write_policy(
    path: str | os.PathLike[str], policy: LinearScoresPolicy, rows_learned: int = 0, log: str = ""
) -> None:
    """Writes a policy that a learner made to a file.

    Args:
        path: of the file, which ends in .npz.
        policy: a `LinearGreedyPolicy` or a `LinearSoftmaxPolicy`.
        rows_learned: from how many rows, the first of a log, it has learned.
        log: describes this log.

    >>> import tempfile
    >>> import numpy as np
    >>> from bandit_envs.specs import ArraySpec
    >>> spec = ArraySpec((1,), np.float64)
    >>> policy = LinearGreedyPolicy([[0.0, 1.0], [0.5, 0.0]], observation_spec=spec)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_policy(f"{folder}/policy.npz", policy)
    ...     read_policy(f"{folder}/policy.npz").make(spec, batch_size=2).num_actions
    2
    """
    for kind, policy_class in KINDS.items():
        if type(policy) is policy_class:
            content = {
                "kind": kind,
                "weights": policy.get_state().content.learned,
                "rows_learned": rows_learned,
                "log": log,
            }
            save_state(_check_suffix(Path(path)), {KEY: content})
            return
    expected = " or ".join(policy_class.__name__ for policy_class in KINDS.values())
    raise TypeError(f"policy is a {type(policy).__name__}; expected a {expected}")


def read_policy(path: str | os.PathLike[str]) -> SavedPolicy:
    """Reads what `write_policy` wrote; ValueError if a file is something else. It runs no code."""
    state = load_state(path)
    try:
        saved = SavedPolicy(**state[KEY])
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path} does not hold a learned policy") from error
    if saved.kind not in KINDS:
        raise ValueError(f"{path} holds a {saved.kind!r}; expected {' or '.join(KINDS)}")
    return saved


def _check_suffix(file: Path) -> Path:
    if file.suffix != ".npz":
        raise ValueError(f"path is {file}; expected a name that ends in .npz")
    return file
