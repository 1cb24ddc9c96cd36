"""Fixed linear scores, such as a learner finds in a log."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from bandit_envs.arrays import Floats, Rng, as_numbers
from bandit_envs.base.made_with import show
from bandit_envs.policies.models.inputs import Inputs, ModelSizes
from bandit_envs.policies.models.value_model import NEVER, FixedModel


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class LinearScores(FixedModel):
    """Linear scores with fixed weights; it does not learn.

        score_a(x) = w_a . [1, x]       of a context x
        score_a(x) = w . [1, x, z_a]    if actions have features z_a

    Args:
        weights: [K, 1 + d], or [1, 1 + d] for features of actions; those of the constant come
            first.

    >>> LinearScores([[0.0, 1.0], [0.5, 0.0]]).weights.shape
    (2, 2)
    """

    weights: Any

    def __post_init__(self) -> None:
        weights = np.array(as_numbers("weights is", self.weights), np.float64)
        if weights.ndim != 2 or weights.size == 0:
            raise ValueError(f"weights has shape {weights.shape}; expected (K, 1 + d)")
        if not np.isfinite(weights).all():
            raise ValueError("weights has NaN or infinite entries; expected finite numbers")
        weights.setflags(write=False)
        object.__setattr__(self, "weights", weights)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LinearScores) and np.array_equal(self.weights, other.weights)

    def __repr__(self) -> str:
        return f"LinearScores(weights={show(self.weights)})"

    def initial(self, sizes: ModelSizes, rng: Rng) -> Any:
        expected = (sizes.num_outputs, 1 + sizes.num_features)
        if self.weights.shape != expected:
            found = f"weights has shape {self.weights.shape}"
            raise ValueError(f"{found}; expected {expected}, for a constant and the features")
        return self.weights.copy()  # so that a saved state has them

    def for_actions(self, num_actions: int) -> LinearScores:
        """Returns scores of more actions, which are chosen only where no other is available."""
        weights = np.zeros((num_actions, self.weights.shape[1]))
        weights[:, 0] = NEVER
        weights[: len(self.weights)] = self.weights
        return LinearScores(weights)

    def means(self, learned: Any, inputs: Inputs) -> Floats:
        return np.asarray(learned[:, 0] + inputs.products(learned[np.newaxis, :, 1:]))
