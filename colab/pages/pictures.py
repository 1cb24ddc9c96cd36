"""The pictures of environments."""

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from bandit_envs import Policy, RandomPolicy, RandomSlatePolicy, StepDriver
from bandit_envs.environments.registry import ENVIRONMENTS, EnvironmentEntry
from bandit_envs.policies import RandomNumberPolicy
from colab.pages.places import ROOT

PICTURES = ROOT / "colab" / "images" / "environments"
DIFFERENCE = 2.0
"""Pictures whose pixels differ less on average, of 255, are alike: fonts differ among machines."""


def draw_old_pictures() -> list[Path]:
    """Draws the pictures that are missing or old, and returns their paths.

    Pictures of environments that are no more are removed.
    """
    PICTURES.mkdir(exist_ok=True)
    for path in PICTURES.glob("*.png"):
        if path.stem not in ENVIRONMENTS:
            path.unlink()
    drawn = []
    for entry in ENVIRONMENTS.values():
        pixels = draw(entry)
        if is_old(entry, pixels):
            picture = Image.fromarray(pixels).convert("RGB")  # with a palette, it is smaller
            path = picture_of(entry)
            picture.quantize(64, dither=Image.Dither.NONE).save(path, optimize=True)
            drawn.append(path)
    return drawn


def picture_of(entry: EnvironmentEntry) -> Path:
    """Returns the path of the picture of an environment."""
    return PICTURES / f"{entry.id}.png"


def is_old(entry: EnvironmentEntry, pixels: np.ndarray[Any, Any]) -> bool:
    """Returns whether the picture of an environment is missing, or shows something else."""
    path = picture_of(entry)
    if not path.exists():
        return True
    shown = np.asarray(Image.open(path).convert("RGB"), np.float64)
    if shown.shape != pixels.shape:
        return True
    return bool(np.abs(shown - pixels).mean() > DIFFERENCE)


def draw(entry: EnvironmentEntry) -> np.ndarray[Any, Any]:
    """Returns the pixels of the default environment after a random action."""
    env: Any = entry.make(seed=0)
    kind = env.action_kind
    policy: type[Policy] = RandomPolicy
    if kind.is_slate:
        policy = RandomSlatePolicy
    elif kind.is_number:
        policy = RandomNumberPolicy
    StepDriver(env, policy(**policy.arguments_for(env), seed=1)).run()
    pixels: np.ndarray[Any, Any] = env.render()
    return pixels
