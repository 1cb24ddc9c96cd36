"""The smallest piece of the work of a study."""

from __future__ import annotations

from typing import NamedTuple

from bandit_envs.environments.environment_choice import EnvironmentChoice
from bandit_envs.policies.policy_choice import PolicyChoice


class Task(NamedTuple):
    """A block of runs, the smallest piece of work: all that it takes to do it."""

    number: int
    """The index of the task in `Study.tasks()`."""

    position: int
    """The index of the environment and the policy in `Study.pairs()`."""

    environment: EnvironmentChoice
    policy: PolicyChoice

    block: int
    """The index of the block if rows are independent runs, or else of its first run."""

    runs: int
    steps: int
    seed: int
    metrics: tuple[str, ...]

    kept: tuple[int, ...]
    """The sums of each run are kept after these steps."""

    @property
    def batches(self) -> int:
        """How many environments it makes, one after the other."""
        return 1 if self.environment.entry.independent_rows else self.runs

    @property
    def modules(self) -> list[str]:
        """The users' modules that it names."""
        return [*self.environment.modules, *self.policy.modules]

    def __str__(self) -> str:
        return f"{self.policy} in {self.environment}, block {self.block}"
