"""Figures. The only module that imports matplotlib; it draws without a display."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from bandit_envs.experiments import Result
from bandit_envs.metrics import Statistics
from bandit_envs.policy_specs import SYMBOLS

# Okabe & Ito's palette: told apart by readers who do not see all colours.
COLORS = ("#009E73", "#D55E00", "#0072B2", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
PANELS = {"reward": "Average reward", "percent_optimal": "% Optimal action"}


def learning_curves(title: str, results: Sequence[Result], panels: Sequence[str]) -> bytes:
    """Draws results over steps, one panel below the other, as in Figure 2.2 of the book.

    Args:
        title: stands above.
        results: a curve each, with a band of one standard error.
        panels: which metrics: `reward`, `percent_optimal`.

    Returns:
        A PNG.
    """
    figure = Figure(figsize=(8.0, 0.8 + 3.4 * len(panels)), layout="constrained")
    figure.suptitle(title, fontsize=12)
    axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for panel, axis in zip(panels, axes):
        for color, result in zip(_colors(results), results):
            statistics = getattr(result, panel).per_step
            _curve(axis, statistics, result.policy.label(), color)
        axis.set_ylabel(PANELS[panel])
        if panel == "percent_optimal":
            axis.set_ylim(0, 100)
            axis.yaxis.set_major_formatter("{x:.0f}%")
        _tidy(axis)
    axes[-1].set_xlabel("Steps")
    axes[-1].legend(loc="best", frameon=False)
    return _png(figure)


def parameter_study(title: str, results: Sequence[Result]) -> bytes:
    """Draws the mean reward over all steps against each policy's parameter, as in Figure 2.6.

    Policies of one name form a line, over the last parameter in which their specs differ. The
    axis is logarithmic, base 2.

    Returns:
        A PNG.
    """
    figure = Figure(figsize=(8.0, 4.6), layout="constrained")
    figure.suptitle(title, fontsize=12)
    axis = figure.subplots()
    families: dict[str, list[Result]] = {}
    for result in results:
        families.setdefault(result.policy.name, []).append(result)
    for color, members in zip(_colors(families), families.values()):
        key = _varied(members)
        values = np.array([member.policy.parameters[key] for member in members])
        means = [member.reward.mean for member in members]
        label = f"{members[0].policy.label(without=key)}, over {SYMBOLS[key]}"
        _band(axis, values, _stack(means), label, color, marker="o")
    axis.set_xscale("log", base=2)
    axis.xaxis.set_major_locator(LogLocator(base=2, numticks=20))
    axis.xaxis.set_major_formatter(lambda value, position: _fraction(value))
    axis.set_xlabel("Parameter: " + "  ".join(_varied_symbols(families)))
    axis.set_ylabel(f"Average reward over first {len(results[0].reward.per_step.mean)} steps")
    _tidy(axis)
    axis.legend(frameon=False)
    return _png(figure)


def _curve(axis: Axes, statistics: Statistics, label: str, color: str) -> None:
    _band(axis, np.arange(1, len(statistics.mean) + 1), statistics, label, color)


def _band(axis: Axes, x: Any, statistics: Statistics, label: str, color: str, **style: Any) -> None:
    mean, error = statistics.mean, np.nan_to_num(statistics.standard_error)
    axis.plot(x, mean, color=color, linewidth=1.0, label=label, **style)
    axis.fill_between(x, mean - error, mean + error, color=color, alpha=0.25, linewidth=0)


def _stack(statistics: Sequence[Statistics]) -> Statistics:
    return Statistics(
        statistics[0].count,
        np.array([one.mean for one in statistics]),
        np.array([one.squared_deviation for one in statistics]),
    )


def _varied(members: Sequence[Result]) -> str:
    first = members[0].policy.parameters
    for key in reversed(list(first)):
        if len({member.policy.parameters.get(key) for member in members}) > 1:
            return key
    return list(first)[-1]


def _varied_symbols(families: Mapping[str, Sequence[Result]]) -> list[str]:
    return list(dict.fromkeys(SYMBOLS[_varied(members)] for members in families.values()))


def _fraction(value: float) -> str:
    return f"1/{1 / value:g}" if 0 < value < 1 else f"{value:g}"


def _colors(items: Any) -> list[str]:
    return [COLORS[index % len(COLORS)] for index in range(len(items))]


def _tidy(axis: Axes) -> None:
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(visible=True, color="0.92", linewidth=0.8)
    axis.set_axisbelow(True)


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150)
    return buffer.getvalue()
