"""What results depend on besides the study."""

from __future__ import annotations

from typing import Any

import numpy as np

from bandit_envs import __version__

FORMAT = 1
"""Raised whenever the layout of the files, or the numbers of an unchanged study, change."""


def versions() -> dict[str, Any]:
    """Returns what must be the same wherever tasks of one study are done."""
    return {"bandit_envs": __version__, "results": FORMAT, "numpy": np.__version__}


def described(versions: dict[str, Any]) -> str:
    """Returns `versions` as a sentence writes them, such as `bandit_envs 1.0, numpy 2.1.0`."""
    return ", ".join(f"{name} {version}" for name, version in versions.items())
