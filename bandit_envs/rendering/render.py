"""Rendering in one of three modes."""

from __future__ import annotations

from typing import Any, Protocol

from bandit_envs.rendering.arms import Arms, text


class Holder(Protocol):
    """Keeps an environment's window from one `render` to the next; None if there is none."""

    value: Any


def render(arms: Arms, mode: str, window: Holder) -> Any:
    """Shows arms.

    Args:
        arms: what to show.
        mode: "rgb_array", "human" or "ansi".
        window: where the window of "human" is kept.

    Returns:
        An image [height, width, 3] uint8, None, or a text.

    Raises:
        NotImplementedError: there is no such mode.
    """
    if mode == "ansi":
        return text(arms)
    if mode not in ("rgb_array", "human"):
        raise NotImplementedError(f"{arms.title} has no render({mode!r})")
    # Drawing takes matplotlib, which neither the environments nor a text need.
    from bandit_envs.rendering import figure  # noqa: PLC0415

    if mode == "rgb_array":
        return figure.arms_image(arms)
    window.value = figure.show_arms(arms, window.value)
    return None


def close(window: Holder) -> None:
    """Closes the window, if there is one."""
    if window.value is not None:
        from bandit_envs.rendering import figure  # noqa: PLC0415

        figure.close_window(window.value)
        window.value = None
