"""Animations of images, as files that slides and browsers show."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.animation import FFMpegWriter, FuncAnimation
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

DPI = 100

FORMATS = (".gif", ".mp4", ".html")
"""How files of animations end."""

ICONS = {
    "fa-minus": "-",
    "fa-fast-backward": "|◀",
    "fa-step-backward": "&lsaquo;",
    "fa-play fa-flip-horizontal": "◀",
    "fa-pause": "||",
    "fa-play": "▶",
    "fa-step-forward": "&rsaquo;",
    "fa-fast-forward": "▶|",
    "fa-plus": "+",
}
"""What stands on the buttons of a page, by the classes of the font that matplotlib loads."""

HEAD = """\
<meta charset='utf-8'>
<meta name='viewport' content='width=device-width, initial-scale=1'>
<title>A bandit</title>
<link rel='icon' href='data:,'>
<style>.animation img { max-width: 100%; }</style>"""
"""What a page of an animation begins with: it fits into the window of a phone, too."""

PAUSE = 2.0
"""How long the last image is shown, in seconds."""


def check_animation_file(file: Path) -> None:
    """Raises ValueError if no animation can be written to a file."""
    if file.suffix not in FORMATS:
        raise ValueError(f"output is {file}; expected a file ending in {' or '.join(FORMATS)}")
    if file.suffix == ".mp4" and not FFMpegWriter.isAvailable():
        raise ValueError(f"output is {file}, which needs ffmpeg; expected it, or .gif or .html")


def write_animation(images: Iterable[NDArray[np.uint8]], file: Path, rate: int) -> int:
    """Writes images of one size as an animation, and returns how many there were.

    Args:
        images: [height, width, 3] each.
        file: ends in .gif, .mp4 (which needs ffmpeg) or .html (which has buttons).
        rate: images a second.
    """
    check_animation_file(file)
    kept = list(images)
    if file.suffix == ".gif":
        _write_gif(kept, file, rate)
    else:
        _write_page_or_movie(kept, file, rate)
    return len(kept)


def _write_gif(images: Sequence[NDArray[np.uint8]], file: Path, rate: int) -> None:
    """Writes a GIF with each image once; the last one is shown for longer."""
    first, *others = map(Image.fromarray, images)
    milliseconds = 1000 // rate
    shown = [milliseconds] * len(images)
    shown[-1] += milliseconds * math.ceil(PAUSE * rate)
    first.save(file, save_all=True, append_images=others, duration=shown, loop=0)


def _write_page_or_movie(images: Sequence[NDArray[np.uint8]], file: Path, rate: int) -> None:
    """Writes a page of HTML or a movie."""
    height, width = images[0].shape[:2]
    figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI)
    axis = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axis.set_axis_off()
    shown = axis.imshow(images[0], aspect="auto", interpolation="none")

    def draw(image: NDArray[np.uint8]) -> tuple[Any]:
        shown.set_data(image)
        return (shown,)

    last = itertools.repeat(images[-1], math.ceil(PAUSE * rate))
    frames = [*images, *(last if file.suffix != ".html" else ())]
    animation = FuncAnimation(figure, draw, frames=frames, interval=1000.0 / rate, blit=False)
    if file.suffix == ".html":
        with rc_context({"animation.embed_limit": 1000.0}):
            page = animation.to_jshtml(fps=rate, default_mode="once")
        file.write_text(_without_network(page), "utf-8")
    else:
        animation.save(file, writer="ffmpeg", fps=rate, dpi=DPI)


def _without_network(page: str) -> str:
    """Returns a page of matplotlib's with signs in place of icons, which it takes from a server."""
    for name, sign in ICONS.items():
        page = page.replace(f'<i class="fa {name}"></i>', sign)
    page = re.sub(r'<link rel="stylesheet"\s+href="https?:[^>]*>', "", page)
    return f"<!doctype html>\n{HEAD}\n{page}"
