"""What `render` shows of one row of a bandit: its arms, as an image, in a window or as text.

Experimental: these names may change in any minor version.

`Knowledge` is what a policy knows of them, and is shown beside them.
"""

from bandit_envs.rendering.arms import Arms
from bandit_envs.rendering.knowledge import Knowledge
from bandit_envs.rendering.window import Window

__all__ = [
    "Arms",
    "Knowledge",
    "Window",
]
