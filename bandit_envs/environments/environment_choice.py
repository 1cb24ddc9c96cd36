"""Environments with parameters, as users write them: `k_armed:means=[0.1,0.9]`."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeAlias

import numpy as np

from bandit_envs.base.bandit_py_environment import BanditPyEnvironment
from bandit_envs.environments.registry import ENVIRONMENTS, EnvironmentEntry
from bandit_envs.names.choice import Choice
from bandit_envs.wrappers import Wrapper

Environment: TypeAlias = BanditPyEnvironment[Any] | Wrapper
"""An environment of any state, or one in a wrapper."""


class EnvironmentChoice(Choice[EnvironmentEntry]):
    """An environment."""

    entry_class = EnvironmentEntry
    table = ENVIRONMENTS

    def with_rows(self, independent: bool) -> EnvironmentChoice:
        """Returns the choice of a user's class, of which a file says what its rows are."""
        named = EnvironmentEntry.of_name(self.name)
        # `make` is given, as `replace` would read it, and so import the module.
        entry = dataclasses.replace(named, make=self.name, independent_rows=independent)
        return EnvironmentChoice(
            entry, self.parameters, self.folder, self.digits, shows_module=self.shows_module
        )

    def make(self, runs: int, seed: np.random.SeedSequence) -> Environment:
        """Returns an environment with a row for each run; if rows share a problem, for one run."""
        sizes = {"batch_size": runs} if self.entry.independent_rows else {}
        arguments = {**self.entry.fixed, **self.parameters, **sizes}
        env: Environment = self.entry.make(**arguments, seed=seed)
        return env
