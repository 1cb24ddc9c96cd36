"""Drawings of arms. Only windows need a display."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from bandit_envs.arrays import Floats
from bandit_envs.rendering.arms import Arms
from bandit_envs.rendering.knowledge import Knowledge

# From the palette of Okabe & Ito, for readers who do not see all colours.
OPTIMAL = "#009E73"
LAST = "#D55E00"
KNOWN = "#0072B2"

SIZE = (8.0, 4.5)
"""The width and the height of a figure, in inches."""

MARGINS = {"left": 0.1, "right": 0.985, "bottom": 0.18, "hspace": 0.08}
"""Where the axes of every figure are. To fit them to labels takes as long as to draw, and moves
them from picture to picture of an animation."""

EXPONENTS = (-2, 5)
"""The powers of ten between which labels of values need no factor above the axis."""


def arms_image(arms: Arms, knowledge: Knowledge | None = None) -> NDArray[np.uint8]:
    """Draws arms as in Figure 2.1 of the book, or as bars: [height, width, 3] uint8.

    Args:
        arms: what is drawn.
        knowledge: what a policy knows of them, which is drawn beside them.
    """
    figure = Figure(figsize=SIZE, dpi=100)
    canvas: Any = FigureCanvasAgg(figure)
    _draw(figure, arms, knowledge)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def show_arms(arms: Arms, window: Figure | None, knowledge: Knowledge | None = None) -> Figure:
    """Draws arms in a window, which is opened if `window` is None or closed, and returns it."""
    from matplotlib import pyplot  # noqa: PLC0415 - pyplot looks for a display

    if window is None or not pyplot.fignum_exists(window.number):
        window = pyplot.figure(figsize=SIZE)
    window.clear()
    _draw(window, arms, knowledge)
    window.canvas.draw_idle()
    pyplot.pause(0.001)
    return window


def _draw(figure: Figure, arms: Arms, knowledge: Knowledge | None) -> None:
    """Draws arms, what is known of them, and below how often each was chosen."""
    figure.subplots_adjust(**MARGINS, top=0.92 if knowledge is None else 0.87)
    if knowledge is None or knowledge.counts is None:
        axis = figure.subplots()
        lowest = axis
    else:
        axis, lowest = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
        _draw_counts(lowest, knowledge.counts)
    handles = _draw_arms(axis, arms, knowledge)
    if knowledge is not None and knowledge.values is not None:
        handles += _draw_knowledge(axis, knowledge, knowledge.values)
    lowest.set_xlabel("Item" if len(arms.optimal) > 1 else "Action")
    lowest.xaxis.set_major_locator(MaxNLocator(20, integer=True, min_n_ticks=1))
    figure.legend(handles=handles, loc="lower center", ncols=5, frameon=False, columnspacing=1.4)


def _draw_counts(axis: Axes, counts: NDArray[Any]) -> None:
    """Draws how often each arm was chosen."""
    axis.bar(np.arange(len(counts)), counts, color=KNOWN, alpha=0.6)
    axis.set_ylabel("Chosen")
    axis.set_ylim(0.0, max(1.15 * float(counts.max()), 5.0))
    axis.yaxis.set_major_locator(MaxNLocator(2, integer=True))
    axis.tick_params(axis="x", length=0)
    axis.spines[["top", "right"]].set_visible(False)


def _draw_knowledge(axis: Axes, knowledge: Knowledge, values: Floats) -> list[Any]:
    """Draws estimates with their intervals, as far as the axis goes; returns handles of both."""
    bottom, top = axis.get_ylim()
    arms = np.arange(len(values))
    low, high = (np.clip(end, bottom, top) for end in knowledge.ends())
    handles: list[Any] = []
    if knowledge.interval:
        lines = axis.vlines(arms, low, high, color=KNOWN, lw=2.0, zorder=2.5)
        lines.set_label(knowledge.interval)
        handles.append(lines)
    shown = np.clip(values, bottom, top)
    dots = axis.plot(arms, shown, "D", markersize=6, color=KNOWN, label="estimate", clip_on=False)
    dots[0].set(markeredgecolor="white", zorder=2.8)
    return [*handles, *dots]


def _draw_arms(axis: Axes, arms: Arms, knowledge: Knowledge | None) -> list[Any]:
    """Draws arms below the names of the environment and the policy; returns handles."""
    means = arms.values
    kind = "slate" if len(arms.optimal) > 1 else "arm"
    last = f"last {kind}"
    heights = means[arms.action].tolist()
    colors = np.where(np.isin(np.arange(len(means)), arms.optimal), OPTIMAL, "0.75")
    title = arms.title if knowledge is None else f"{arms.title}\n{knowledge.title}"
    # With their heights given, matplotlib need not measure all labels to find room for them.
    axis.set_title(title, loc="left", y=1.0, fontsize=12, parse_math=False)
    axis.set_title(arms.progress(), loc="right", y=1.0, fontsize=10, color="0.3")
    handles: list[Any] = [Patch(color=OPTIMAL, label=f"optimal {kind}")]
    if arms.reward_std:
        axis.set_ylabel("Reward distribution")
        _violins(axis, means, arms.reward_std, colors)
        handles.append(Line2D([], [], color="black", label="value $q_*(a)$"))
        last = "last reward"
        heights = arms.reward
    else:
        axis.set_ylabel("Value of the item" if kind == "slate" else "Expected reward")
        available = means > -np.inf
        (arm_numbers,) = available.nonzero()
        (others,) = (~available).nonzero()
        axis.bar(arm_numbers, means[available], color=colors[available])
        if others.size:
            handles += axis.plot(others, 0.0 * others, "x", color="0.6", label="not available")
    if arms.action and heights:
        handles += axis.plot(arms.action, heights, "o", color=LAST, markersize=8, zorder=3)
        handles[-1].set(label=last, markeredgecolor="white")
    axis.ticklabel_format(axis="y", scilimits=EXPONENTS)
    low, high = arms.reward_limits(num_stds=3.2)
    has_estimates = knowledge is not None and knowledge.values is not None
    if has_estimates and arms.reward_std is None and low >= 0.0 and high <= 1.0:
        high = 1.0  # estimates of shares start far from the means
    margin = 0.05 * (high - low)
    axis.set_ylim(low - margin, high + margin)
    axis.set_xlim(-0.7, len(means) - 0.3)
    axis.axhline(0.0, color="0.6", linewidth=0.8, linestyle="--", zorder=0)
    axis.tick_params(axis="x", length=0)
    axis.spines[["top", "right"]].set_visible(False)
    return handles


def _violins(axis: Axes, means: NDArray[Any], std: float, colors: NDArray[np.str_]) -> None:
    deviations = np.linspace(-3.2, 3.2, 129)
    widths = 0.42 * np.exp(-0.5 * deviations**2)
    for arm, (mean, color) in enumerate(zip(means.tolist(), colors.tolist())):
        rewards = mean + std * deviations
        axis.fill_betweenx(rewards, arm - widths, arm + widths, color=color, alpha=0.75, lw=0)
        axis.hlines(mean, arm - 0.42, arm + 0.42, color="black", linewidth=1.5)
