"""Figures of estimates from logs. They are drawn without a display."""

import itertools
from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from bandit_envs.logged.estimators.weight_histogram import EDGES, WeightHistogram
from bandit_envs.studies.plots import COLORS, log_axis


def draw_estimates(
    estimates: Mapping[tuple[str, str], tuple[float, float, float]], logged_mean: float
) -> Figure:
    """Returns a figure of estimates with their intervals, beside the logged mean.

    Args:
        estimates: the value and the ends of its interval, by policy and estimator.
        logged_mean: the mean reward in the log.
    """
    policies = list(dict.fromkeys(policy for policy, _ in estimates))
    estimators = list(dict.fromkeys(estimator for _, estimator in estimates))
    figure = Figure(figsize=(8.0, 1.4 + 0.25 * len(estimates)), layout="constrained")
    axis = figure.subplots()
    axis.axvline(logged_mean, color="0.4", linestyle="--", label="logged mean")
    for index, (name, color) in enumerate(zip(estimators, itertools.cycle(COLORS))):
        own = [policy for policy in policies if (policy, name) in estimates]
        value, low, high = np.array([estimates[policy, name] for policy in own]).T
        place = 0.7 * ((index + 0.5) / len(estimators) - 0.5)
        y = [policies.index(policy) + place for policy in own]
        ends = [value - low, high - value]
        axis.errorbar(value, y, xerr=ends, fmt="o", markersize=4, color=color, label=name)
    axis.set_yticks(range(len(policies)), policies, parse_math=False)
    axis.invert_yaxis()
    axis.set_xlabel("Mean reward")
    axis.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False)
    return figure


def draw_weights(weights: Mapping[str, WeightHistogram]) -> Figure:
    """Returns a figure of the distribution of weights above 0, by policy."""
    figure = Figure(figsize=(8.0, 0.6 + 1.7 * len(weights)), layout="constrained")
    axes = figure.subplots(len(weights), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    bins = _shown_bins(np.sum([histogram.counts for histogram in weights.values()], axis=0))
    edges = EDGES[bins.start : bins.stop + 1]
    for axis, (name, histogram) in zip(axes, weights.items()):
        shares = histogram.counts[bins] / histogram.size
        axis.bar(edges[:-1], shares, width=np.diff(edges), align="edge")
        zero = histogram.zeros / histogram.size
        title = f"{name}: {zero:.1%} are 0, the largest is {histogram.largest:.3g}"
        axis.set_title(title, fontsize=9, loc="left", parse_math=False)
        axis.set(yscale="log", ylabel="Share of rows", ylim=(0.5 / histogram.size, 1.5))
        axis.yaxis.set_major_formatter("{x:g}")
        log_axis(axis, "x")
        axis.spines[["top", "right"]].set_visible(False)
    axes[-1].set_xlabel("Weight: the policy's probability / the logged one")
    return figure


def _shown_bins(counts: NDArray[np.int64]) -> slice:
    """Returns the bins from half to twice a weight of 1, and as many more as have weights."""
    one = int(np.searchsorted(EDGES, 1.0))
    filled = np.append(np.flatnonzero(counts), [one - 3, one + 3])
    return slice(int(filled.min()), int(filled.max()) + 1)
