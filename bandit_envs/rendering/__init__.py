"""What `render` shows of one row of a bandit: its arms, as an image, in a window or as text."""

from bandit_envs.rendering.arms import Arms
from bandit_envs.rendering.render import close, render

__all__ = ["Arms", "close", "render"]
