"""Shows arms as an image, as text, or in a window that stays open between calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bandit_envs.arrays import Array
from bandit_envs.rendering.arms import Arms, text
from bandit_envs.rendering.knowledge import Knowledge

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Window:
    """Shows arms, and keeps the window in which it does. Copies and pickles have no window."""

    def __init__(self) -> None:
        self._figure: Figure | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Window, ()

    def show(self, arms: Arms, mode: str, knowledge: Knowledge | None = None) -> Array | str | None:
        """Returns an image or a text of arms; the mode "human" draws them in the window.

        Args:
            arms: what is shown.
            mode: "rgb_array", "human" or "ansi".
            knowledge: what a policy knows of them, which is shown beside them.
        """
        if knowledge is not None:
            knowledge.check_number(len(arms.values))
        if mode == "ansi":
            return text(arms, knowledge)
        if mode not in ("rgb_array", "human"):
            raise ValueError(f"mode is {mode!r}; expected 'rgb_array', 'human' or 'ansi'")
        # Drawing takes matplotlib, which neither the environments nor a text need.
        from bandit_envs.rendering import figure  # noqa: PLC0415

        if mode == "rgb_array":
            return figure.arms_image(arms, knowledge)
        self._figure = figure.show_arms(arms, self._figure, knowledge)
        return None

    def close(self) -> None:
        """Closes the window, if there is one."""
        if self._figure is not None:
            from matplotlib import pyplot  # noqa: PLC0415

            pyplot.close(self._figure)
            self._figure = None
