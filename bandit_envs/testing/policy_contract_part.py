"""What the parts of the contract of policies share: how policies are made, run and asked."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import ClassVar

from bandit_envs.arrays import Indices
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.environments import BernoulliPyEnvironment
from bandit_envs.nests import Nest
from bandit_envs.policies import BestArmPolicy, Policy
from bandit_envs.testing.comparison import require
from bandit_envs.testing.policy_run import (
    PolicyRun,
    environments_with_masks,
    learned_of,
    put_learned,
    rows_of,
    run_policy,
)
from bandit_envs.trajectories import TimeStep, Trajectory


class PolicyContractPart:
    """Base of the parts of `PolicyContract`, which documents these members."""

    num_rows: int = 5
    num_steps: int = 20
    num_choices: int = 1000
    rounding: float = 1e-9
    _shared_run: ClassVar[PolicyRun]

    def make_policy(self, env: PyEnvironment, seed: int) -> Policy:
        """Returns a new policy that fits `env`; two of them may differ in their `seed` alone."""
        raise NotImplementedError(f"{type(self).__name__} does not override make_policy")

    def make_environment(self, batch_size: int, seed: int) -> PyEnvironment:
        """Returns a new environment to act in: by default, four arms that pay 0 or 1."""
        return BernoulliPyEnvironment([0.2, 0.4, 0.6, 0.8], batch_size, seed=seed)

    def _run(self) -> PolicyRun:
        """Returns the run of a policy of seed 1, which all tests of the class share."""
        kind = type(self)
        if "_shared_run" not in vars(kind):
            env = self.make_environment(self.num_rows, 1)
            kind._shared_run = run_policy(self.make_policy(env, 1), env, self.num_steps)
        return kind._shared_run

    def _trajectory(self) -> Trajectory:
        """Returns a copy of the last trajectory of the shared run."""
        return copy.deepcopy(self._run().trajectories[-1])

    def _policy_after(self, num_steps: int) -> tuple[Policy, TimeStep]:
        """Returns a policy after so many steps of the shared run, and a time step of it."""
        run = self._run()
        policy = self._fresh(self.num_rows)
        policy.set_state(run.states[num_steps])
        return policy, copy.deepcopy(run.time_steps[-1])

    def _policy_of_rows(self, policy: Policy, rows: Indices) -> Policy:
        """Returns a policy that has learned what a larger one has in some of its rows."""
        fewer = self._fresh(len(rows))
        put_learned(fewer, self._rows(policy, rows))
        return fewer

    def _rows(self, policy: Policy, rows: Indices) -> Nest:
        """Returns what a policy has learned in some of its rows; if they share it, all of it."""
        learned = copy.deepcopy(learned_of(policy))
        return rows_of(learned, rows, self.num_rows) if policy.learns_by_row else learned

    def _pair(self) -> tuple[PyEnvironment, Policy]:
        """Returns a new environment, and a new policy that acts in it."""
        env = self.make_environment(self.num_rows, 1)
        return env, self.make_policy(env, 1)

    def _fresh(self, batch_size: int, seed: int = 1) -> Policy:
        """Returns a new policy of so many rows."""
        env = self.make_environment(batch_size, 1)
        require(env.batch_size == batch_size, f"{env.name} does not have {batch_size} rows")
        return self.make_policy(env, seed)

    def _with_masks(self) -> list[tuple[PyEnvironment, Policy]]:
        """Returns environments with masks, if actions can have them, and policies that fit."""
        found = []
        for env in environments_with_masks(self.make_environment(self.num_rows, 1)):
            try:
                found.append((env, self.make_policy(env, 1)))
            except ValueError:  # its observation_spec allows no masks
                continue
        return found

    def _questions(
        self, policy: Policy, time_step: TimeStep, asked: TimeStep | None = None
    ) -> list[tuple[str, Callable[[], object]]]:
        """Returns the ways to ask a policy about a time step, by the names of its methods.

        Args:
            policy: the policy, which chooses an action from `time_step` first.
            time_step: a time step.
            asked: the one to ask about; None for `time_step`.
        """
        action = policy.action(time_step)
        seen = time_step if asked is None else asked
        questions: list[tuple[str, Callable[[], object]]] = []
        questions.append(("action", lambda: policy.action(seen)))
        if policy.knows_probabilities:
            questions.append(("info_of", lambda: policy.info_of(seen, action)))
            if policy.action_kind.is_single:
                questions.append(("probabilities", lambda: policy.probabilities(seen)))
        if isinstance(policy, BestArmPolicy):
            questions.append(("recommend", lambda: policy.recommend(seen)))
        return questions
