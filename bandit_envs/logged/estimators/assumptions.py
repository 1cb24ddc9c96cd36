"""What tests estimators that assume something of how rewards arise: weights that assume nothing.

The rewards R of whole decisions, with the weights W of actions or of whole slates, make the
self-normalised estimate mean(W R) / mean(W). An estimator that assumes takes other weights, which
vary less. Both estimate the same value exactly if what it assumes is true.
"""

from __future__ import annotations

import numpy as np

from bandit_envs.arrays import Floats


def free_columns(whole: Floats, rewards: Floats) -> Floats:
    """Returns the columns of the self-normalised estimate that assumes nothing: [3, n].

    Args:
        whole: [n], W.
        rewards: [n], R.
    """
    return np.vstack([np.zeros_like(rewards), whole * rewards, whole])


def compared_columns(free: Floats, weights: Floats, rewards: Floats) -> Floats:
    """Returns the columns of that estimate, and of the one that assumes: [1 + 2 (1 + S), n].

    Args:
        free: [3, n], what `free_columns` returns.
        weights: [S, n], of each slot, by what is assumed.
        rewards: [S, n] or [n], of each slot.
    """
    return np.vstack([free[:2], weights * rewards, free[2:], weights])
