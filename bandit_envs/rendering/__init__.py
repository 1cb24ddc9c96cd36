"""What `render` shows of one row of a bandit: its arms, as an image, in a window or as text."""

from bandit_envs.rendering.arms import Arms as Arms
from bandit_envs.rendering.window import Window as Window
