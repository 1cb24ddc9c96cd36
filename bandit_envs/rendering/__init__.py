"""What `render` shows of one row of a bandit: its arms, as an image, in a window or as text."""

from typing import Any

from bandit_envs.base.state import Transient
from bandit_envs.rendering.arms import Arms as Arms
from bandit_envs.rendering.arms import text


def render(arms: Arms, mode: str, window: Transient) -> Any:
    """Returns an image or a text of arms, or shows them in a window, which `window` keeps."""
    if mode == "ansi":
        return text(arms)
    if mode not in ("rgb_array", "human"):
        raise ValueError(f"mode is {mode!r}; expected 'rgb_array', 'human' or 'ansi'")
    # Drawing takes matplotlib, which neither the environments nor a text need.
    from bandit_envs.rendering import figure  # noqa: PLC0415

    if mode == "rgb_array":
        return figure.arms_image(arms)
    window.value = figure.show_arms(arms, window.value)
    return None


def close(window: Transient) -> None:
    """Closes the window, if there is one."""
    if window.value is not None:
        from matplotlib import pyplot  # noqa: PLC0415

        pyplot.close(window.value)
        window.value = None
