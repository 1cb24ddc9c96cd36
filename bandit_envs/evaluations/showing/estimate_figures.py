"""Figures of estimates from logs. They are drawn without a display."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from bandit_envs.evaluations.estimate_rows import EstimateRow, Evaluated
from bandit_envs.evaluations.showing.weight_histogram import EDGES, WeightHistogram
from bandit_envs.showing.fonts import fonts_for
from bandit_envs.showing.plots import log_axis, plain_texts
from bandit_envs.showing.styles import COLORS

MOST_TICKS = 20  # names of periods below a figure


def draw_estimates(rows: Sequence[EstimateRow], baseline: str) -> Figure:
    """Returns a figure of estimates and gains with their intervals.

    Args:
        rows: of an evaluation; the first is of the policy that made the log, which is drawn as a
            line across the others, with its interval as a band.
        baseline: the name of the policy that gains are over.
    """
    with fonts_for(_names_in({"": rows}, baseline)):
        logged = rows[0]
        shown = rows[1:]
        has_gains = any(row.gain_rows for row in shown)
        policies = list(dict.fromkeys(row.policy for row in shown))
        size = (10.0 if has_gains else 8.0, 1.4 + 0.25 * len(shown))
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(1, 1 + has_gains, sharey=True, squeeze=False)[0]
        axes[0].axvline(logged.value, color="0.4", linestyle="--", label="logged mean")
        axes[0].axvspan(logged.low, logged.high, color="0.4", alpha=0.15, linewidth=0.0)
        _draw_dots(axes[0], shown, policies, [(row.value, row.low, row.high) for row in shown])
        axes[0].set_yticks(range(len(policies)), policies, parse_math=False)
        axes[0].set_ylim(len(policies) - 0.5, -0.5)
        axes[0].set_xlabel("Mean reward")
        if has_gains:
            axes[1].axvline(0.0, color="0.4", linestyle="--")
            gains = [(row.gain, row.gain_low, row.gain_high) for row in shown]
            _draw_dots(axes[1], shown, policies, gains)
            axes[1].set_xlabel(f"Gain over {baseline}", parse_math=False)
            axes[1].tick_params(left=False)
        _finish(figure)
        return figure


def draw_segments(segments: Mapping[str, Sequence[EstimateRow]], baseline: str) -> Figure:
    """Returns a figure of the gains in segments of a log, with their intervals, by policy."""
    with fonts_for(_names_in(segments, baseline)):
        rows = [(name, row) for name, found in segments.items() for row in found if row.gain_rows]
        policies = list(dict.fromkeys(row.policy for _, row in rows))
        names = list(dict.fromkeys(name for name, _ in rows))
        estimators = {row.estimator for _, row in rows}
        height = 1.2 + len(policies) * (0.6 + len(names) * (0.12 + 0.16 * len(estimators)))
        figure = Figure(figsize=(8.0, height), layout="constrained")
        axes = figure.subplots(len(policies), 1, sharex=True, squeeze=False)[:, 0]
        for axis, policy in zip(axes, policies):
            own = [row._replace(policy=name) for name, row in rows if row.policy == policy]
            axis.axvline(0.0, color="0.4", linestyle="--")
            _draw_dots(axis, own, names, [(row.gain, row.gain_low, row.gain_high) for row in own])
            axis.set_yticks(range(len(names)), names, parse_math=False)
            axis.set_ylim(len(names) - 0.5, -0.5)
            axis.set_title(policy, fontsize=9, loc="left", parse_math=False)
        axes[-1].set_xlabel(f"Gain over {baseline}", parse_math=False)
        _finish(figure)
        return figure


def curves_over_time(
    periods: Mapping[str, Sequence[EstimateRow]],
) -> dict[str, dict[str, NDArray[np.float64]]]:
    """Returns curves of the values and of the gains, under "value" and "gain", by name.

    Each is [4, n]: the places of the periods, the values, and the ends of their intervals. The
    places of the curves among the values are those of the same policies among the gains.
    """
    points: dict[str, dict[str, list[tuple[float, ...]]]] = {"value": {}, "gain": {}}
    several = len({row.estimator for rows in periods.values() for row in rows}) > 2  # one is "mean"
    for place, rows in enumerate(periods.values()):
        for row in rows:
            name = f"{row.policy}, {row.estimator}" if several else row.policy
            value = (place, row.value, row.low, row.high)
            points["value"].setdefault(name, []).append(value)
            gain = (place, row.gain, row.gain_low, row.gain_high)
            points["gain"].setdefault(name, []).append(gain)
    return {
        panel: {name: np.array(own, np.float64).T for name, own in named.items()}
        for panel, named in points.items()
    }


def draw_times(periods: Mapping[str, Sequence[EstimateRow]], baseline: str) -> Figure:
    """Returns a figure of the values and the gains in weeks, months and so on, with their bands."""
    curves = curves_over_time(periods)
    with fonts_for(_names_in(periods, baseline)):
        figure = Figure(figsize=(8.0, 6.0), layout="constrained")
        axes = figure.subplots(2, 1, sharex=True)
        for axis, panel in zip(axes, curves):
            for name, color in zip(curves[panel], itertools.cycle(COLORS)):
                x, y, low, high = curves[panel][name]
                label = name if panel == "value" else None
                axis.plot(x, y, marker="o", markersize=3, color=color, label=label)
                axis.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0.0)
        axes[0].set_ylabel("Mean reward")
        axes[1].axhline(0.0, color="0.4", linestyle="--")
        axes[1].set_ylabel(f"Gain over {baseline}", parse_math=False)
        shown = range(0, len(periods), 1 + len(periods) // MOST_TICKS)
        axes[1].set_xticks(shown, [list(periods)[place] for place in shown], rotation=45)
        _finish(figure)
        return figure


def _finish(figure: Figure) -> None:
    """Removes the upper and right lines of all axes, and adds a legend of the first axes."""
    for axis in figure.axes:
        axis.spines[["top", "right"]].set_visible(False)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    plain_texts(figure.legend(handles, labels, loc="outside right upper", frameon=False))


def _names_in(segments: Mapping[str, Sequence[EstimateRow]], baseline: str) -> Iterator[str]:
    """Yields what users name in the rows of segments."""
    yield baseline
    for name, rows in segments.items():
        yield name
        for row in rows:
            yield from (row.policy, row.estimator)


def _draw_dots(
    axis: Axes,
    rows: Sequence[EstimateRow],
    policies: Sequence[str],
    intervals: Sequence[tuple[float, float, float]],
) -> None:
    """Draws a dot with its interval for each row, in a line for each policy.

    Args:
        axis: on which it is drawn.
        rows: of policies and estimators.
        policies: from the first line down.
        intervals: of each row, the value and the ends; those that are NaN are left out.
    """
    estimators = list(dict.fromkeys(row.estimator for row in rows))
    for index, (name, color) in enumerate(zip(estimators, itertools.cycle(COLORS))):
        place = 0.7 * ((index + 0.5) / len(estimators) - 0.5)
        own = [
            (policies.index(row.policy) + place, *interval)
            for row, interval in zip(rows, intervals)
            if row.estimator == name and not math.isnan(interval[0])
        ]
        if own:
            y, value, low, high = np.array(own).T
            ends = [value - low, high - value]
            axis.errorbar(value, y, xerr=ends, fmt="o", markersize=4, color=color, label=name)


def weights_of(evaluated: Sequence[Evaluated]) -> dict[str, WeightHistogram]:
    """Returns the weights of policies, by name."""
    return {each.name: each.sums.weights for each in evaluated}


def draw_weights(weights: Mapping[str, WeightHistogram]) -> Figure:
    """Returns a figure of the distribution of weights above 0, by policy."""
    with fonts_for(weights):
        figure = Figure(figsize=(8.0, 0.6 + 1.7 * len(weights)), layout="constrained")
        axes = figure.subplots(len(weights), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        bins = shown_bins(np.sum([histogram.counts for histogram in weights.values()], axis=0))
        edges = EDGES[bins.start : bins.stop + 1]
        for axis, (name, histogram) in zip(axes, weights.items()):
            shares = histogram.counts[bins] / histogram.size
            axis.bar(edges[:-1], shares, width=np.diff(edges), align="edge")
            zero = histogram.zeros / histogram.size
            title = f"{name}: {zero:.1%} are 0, the largest is {histogram.largest:.3g}"
            axis.set_title(title, fontsize=9, loc="left", parse_math=False)
            if histogram.counts.any():  # a logarithmic axis without bars would warn
                axis.set(yscale="log")
            axis.set(ylabel="Share of rows", ylim=(0.5 / histogram.size, 1.5))
            axis.yaxis.set_major_formatter("{x:g}")
            log_axis(axis, "x")
            axis.spines[["top", "right"]].set_visible(False)
        axes[-1].set_xlabel("Weight: the policy's probability / the logged one")
        return figure


def shown_bins(counts: NDArray[np.int64]) -> slice:
    """Returns the bins from half to twice a weight of 1, and as many more as have weights."""
    one = int(np.searchsorted(EDGES, 1.0))
    filled = np.append(np.flatnonzero(counts), [one - 3, one + 3])
    return slice(int(filled.min()), int(filled.max()) + 1)
