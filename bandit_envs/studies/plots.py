"""Curves of statistics on matplotlib's axes, for notebooks."""

from bandit_envs.showing.plots import (
    COLORS,
    LINES,
    STYLES,
    draw_band,
    log2_axis,
    log_axis,
    plot_curves,
    tidy,
    to_image,
)

__all__ = [
    "COLORS",
    "LINES",
    "STYLES",
    "draw_band",
    "log2_axis",
    "log_axis",
    "plot_curves",
    "tidy",
    "to_image",
]
