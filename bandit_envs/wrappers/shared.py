"""Functions that several wrappers call."""

from __future__ import annotations

from typing import Any

from bandit_envs.base.bandit_py_environment import is_bandit
from bandit_envs.base.known_means import KnownMeans
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.nests import Nest


def require_single_actions(env: PyEnvironment) -> KnownMeans:
    """Returns `env`; TypeError if it is not a bandit whose action is one integer."""
    if not env.action_kind.is_single or not is_bandit(env):
        expected = f"expected a bandit whose action is one integer{env.action_kind.remedy}"
        raise TypeError(f"env is {env.name}; {expected}")
    return env


def with_entries(observation: Nest, **entries: Any) -> dict[str, Any]:
    """Returns a dict of an observation, or of its entries if it is a dict itself, and of more."""
    parts = observation if isinstance(observation, dict) else {"observation": observation}
    return {**parts, **entries}
