"""How the probability of error is shared among variants that join at any time."""

from __future__ import annotations

import numpy as np

from bandit_envs.arrays import Floats, Mask


def count_opened(counts: Floats, is_open: Mask, planned: int | None) -> Floats:
    """Returns 1 / f of each variant, where f is its share of the probability of error: [K].

    If it is known that there will be at most K variants, f is 1 / K. Else it is 1 / (k + 1) for
    each of the k variants that are open at first, and 1 / (k (k + 1)) for the k-th that opens
    later. The shares sum to 1 at most.

    Args:
        counts: 1 / f of the variants that have opened, 0 for others, [K].
        is_open: which are open now, [K].
        planned: how many variants there will be at most; None if unknown.

    Raises:
        ValueError: there are more than planned.
    """
    new = is_open & (counts == 0.0)
    if not new.any():
        return counts
    known = int(np.count_nonzero(counts))
    number = known + int(new.sum())
    if planned is not None:
        if number > planned:
            raise ValueError(f"planned is {planned}; expected at least {number}, as many opened")
        return np.asarray(np.where(new, float(planned), counts))
    if not known:
        return np.where(new, number + 1.0, 0.0)
    places = known + np.cumsum(new)
    return np.asarray(np.where(new, places * (places + 1.0), counts))


def count_pairs(counts: Floats, planned: int | None) -> Floats:
    """Returns 1 / f of each ordered pair of variants, whose shares f sum to 1 at most: [..., K, K].

    Args:
        counts: as of `count_opened`, [..., K].
        planned: how many variants there will be at most; None if unknown.
    """
    known = np.where(counts > 0.0, counts, 1.0)
    if planned is not None:
        return np.full((*known.shape, known.shape[-1]), planned * (planned - 1.0))
    return np.asarray(known[..., :, np.newaxis] * known[..., np.newaxis, :])


def levels_of(counts: Floats, delta: float, planned: int | None, closes_by_results: bool) -> Floats:
    """Returns how much evidence ln E(a > b) it takes to say that a is better: [..., K, K].

    Args:
        counts: as of `count_opened`, [..., K].
        delta: the probability of error.
        planned: how many variants there will be at most; None if unknown.
        closes_by_results: whether variants close because of the results. Each pair has its share of
            the error then, as which variants are left depends on chance.
    """
    if closes_by_results:
        return np.log(count_pairs(counts, planned) / delta)
    single = np.log(np.where(counts > 0.0, counts, 1.0) / delta)
    return np.broadcast_to(single[..., :, np.newaxis], (*single.shape, single.shape[-1]))
