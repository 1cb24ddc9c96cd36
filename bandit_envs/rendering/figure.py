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

from bandit_envs.rendering.arms import Arms

OPTIMAL, LAST = "#009E73", "#D55E00"
"""From the palette of Okabe & Ito, for readers who do not see all colours."""


def arms_image(arms: Arms) -> NDArray[np.uint8]:
    """Draws arms as in Figure 2.1 of the book, or as bars: [height, width, 3] uint8."""
    figure = Figure(figsize=(8.0, 4.5), dpi=100, layout="constrained")
    canvas: Any = FigureCanvasAgg(figure)
    _draw_arms(figure, arms)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def show_arms(arms: Arms, window: Figure | None) -> Figure:
    """Draws arms in a window, which is opened if `window` is None or closed, and returns it."""
    from matplotlib import pyplot  # noqa: PLC0415 - pyplot looks for a display

    if window is None or not pyplot.fignum_exists(window.number):
        window = pyplot.figure(figsize=(8.0, 4.5), layout="constrained")
    window.clear()
    _draw_arms(window, arms)
    window.canvas.draw_idle()
    pyplot.pause(0.001)
    return window


def _draw_arms(figure: Figure, arms: Arms) -> None:
    means, kind = arms.values, "slate" if len(arms.optimal) > 1 else "arm"
    last, heights = f"last {kind}", means[arms.action].tolist()
    colors = np.where(np.isin(np.arange(len(means)), arms.optimal), OPTIMAL, "0.75")
    axis = figure.subplots()
    axis.set_title(arms.title, loc="left", fontsize=12, parse_math=False)
    axis.set_title(arms.progress(), loc="right", fontsize=10, color="0.3")
    handles: list[Any] = [Patch(color=OPTIMAL, label=f"optimal {kind}")]
    if arms.reward_std:
        axis.set_ylabel("Reward distribution")
        _violins(axis, means, arms.reward_std, colors)
        handles.append(Line2D([], [], color="black", label="value $q_*(a)$"))
        last, heights = "last reward", arms.reward
    else:
        axis.set_ylabel("Value of the item" if kind == "slate" else "Expected reward")
        available = means > -np.inf
        (arm_numbers,), (others,) = available.nonzero(), (~available).nonzero()
        axis.bar(arm_numbers, means[available], color=colors[available])
        if others.size:
            handles += axis.plot(others, 0.0 * others, "x", color="0.6", label="not available")
    if arms.action and heights:
        handles += axis.plot(arms.action, heights, "o", color=LAST, markersize=8, zorder=3)
        handles[-1].set(label=last, markeredgecolor="white")
    low, high = arms.reward_limits(num_stds=3.2)
    margin = 0.05 * (high - low)
    axis.set_ylim(low - margin, high + margin)
    axis.set_xlim(-0.7, len(means) - 0.3)
    axis.axhline(0.0, color="0.6", linewidth=0.8, linestyle="--", zorder=0)
    axis.tick_params(axis="x", length=0)
    axis.set_xlabel("Item" if kind == "slate" else "Action")
    axis.xaxis.set_major_locator(MaxNLocator(20, integer=True, min_n_ticks=1))
    axis.spines[["top", "right"]].set_visible(False)
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)


def _violins(axis: Axes, means: NDArray[Any], std: float, colors: NDArray[np.str_]) -> None:
    deviations = np.linspace(-3.2, 3.2, 129)
    widths = 0.42 * np.exp(-0.5 * deviations**2)
    for arm, (mean, color) in enumerate(zip(means.tolist(), colors.tolist())):
        rewards = mean + std * deviations
        axis.fill_betweenx(rewards, arm - widths, arm + widths, color=color, alpha=0.75, lw=0)
        axis.hlines(mean, arm - 0.42, arm + 0.42, color="black", linewidth=1.5)
