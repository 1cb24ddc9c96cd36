"""What results depend on besides the study."""

from __future__ import annotations

from typing import Any

import numpy as np

from bandit_envs import __version__

FORMAT = 1
"""Raised whenever the layout of the files, or the numbers of an unchanged study, change."""


def versions() -> dict[str, Any]:
    """Returns what must be the same wherever tasks of one study are done.

    From one version of NumPy to another, functions such as `np.exp` may differ in the last bit:
    they do from 1.26 to 2.4, in what gradient bandits and Thompson sampling compute. The actions,
    and so the tables, have come out the same there. That is no promise: results are not mixed.
    """
    return {"bandit_envs": __version__, "results": FORMAT, "numpy": np.__version__}


def described(versions: dict[str, Any]) -> str:
    """Returns `versions` as a sentence writes them, such as `bandit_envs 1.0, numpy 2.1.0`."""
    return ", ".join(f"{name} {version}" for name, version in versions.items())
