"""What the parts of the contract of policies share: how policies are made, run and asked."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable
from typing import Any, ClassVar, NamedTuple, TypeVar

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
from bandit_envs.testing.rollout import global_randomness
from bandit_envs.trajectories import TimeStep, Trajectory

Made = TypeVar("Made")


class PolicyLife(NamedTuple):
    """A policy of seed 1, and its only run.

    Fields:
        run: what was seen of it.
        policy: after the run.
        constants: copies of what must not change in it, from before the run.
        randomness: the global states of random numbers before the policy was made, and after.
    """

    run: PolicyRun
    policy: Policy
    constants: dict[str, object]
    randomness: tuple[Any, Any]


class PolicyContractPart:
    """Base of the parts of `PolicyContract`, which documents these members.

    All tests of a class share what takes time to make: they copy what they change.
    """

    num_rows: int = 5
    num_steps: int = 20
    num_choices: int = 1000
    rounding: float = 1e-9
    _shared: ClassVar[dict[Hashable, Any]]

    def make_policy(self, env: PyEnvironment, seed: int) -> Policy:
        """Returns a new policy that fits `env`; two of them may differ in their `seed` alone."""
        raise NotImplementedError(f"{type(self).__name__} does not override make_policy")

    def make_environment(self, batch_size: int, seed: int) -> PyEnvironment:
        """Returns a new environment to act in: by default, four arms that pay 0 or 1."""
        return BernoulliPyEnvironment([0.2, 0.4, 0.6, 0.8], batch_size, seed=seed)

    def _once(self, name: Hashable, make: Callable[[], Made]) -> Made:
        """Returns what `make` returns; it is called once for a class and a name."""
        kind = type(self)
        if "_shared" not in vars(kind):
            kind._shared = {}
        if name not in kind._shared:
            kind._shared[name] = make()
        found: Made = kind._shared[name]
        return found

    def _life(self) -> PolicyLife:
        """Returns the policy of seed 1 with its run, which all tests of the class share."""
        return self._once("life", self._make_life)

    def _make_life(self) -> PolicyLife:
        before = global_randomness()
        env, policy = self._pair()
        constants = copy.deepcopy(constants_of(policy))
        run = run_policy(policy, env, self.num_steps)
        return PolicyLife(run, policy, constants, (before, global_randomness()))

    def _run(self) -> PolicyRun:
        """Returns the run of a policy of seed 1, which all tests of the class share."""
        return self._life().run

    def _trajectory(self) -> Trajectory:
        """Returns a copy of the last trajectory of the shared run."""
        return copy.deepcopy(self._run().trajectories[-1])

    def _policy_after(self, num_steps: int) -> tuple[Policy, TimeStep]:
        """Returns a policy after so many steps of the shared run, and a time step of it."""
        run = self._run()

        def make() -> Policy:
            policy = self._fresh(self.num_rows)
            policy.set_state(run.states[num_steps])
            return policy

        policy = self._once(("after", num_steps), make)
        return copy.deepcopy(policy), copy.deepcopy(run.time_steps[-1])

    def _policy_of_rows(self, policy: Policy, rows: Indices) -> Policy:
        """Returns a policy that has learned what a larger one has in some of its rows."""
        size = len(rows)
        fewer = copy.deepcopy(self._once(("new", size), lambda: self._fresh(size)))
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

    def _masked_runs(self) -> list[tuple[Policy, TimeStep]]:
        """Returns policies after runs with masks, and the last time step of each run.

        There are none if actions cannot have masks. All tests of the class share the policies.
        """
        return self._once("masked", self._run_with_masks)

    def _run_with_masks(self) -> list[tuple[Policy, TimeStep]]:
        found = []
        for env in environments_with_masks(self.make_environment(self.num_rows, 1)):
            try:
                policy = self.make_policy(env, 1)
            except ValueError:  # its observation_spec allows no masks
                continue
            run = run_policy(policy, env, self.num_steps)
            found.append((policy, run.time_steps[-1]))
        return found

    def _after_masked_runs(self) -> list[tuple[Policy, TimeStep]]:
        """Returns copies of the policies after runs with masks, and of the time steps."""
        return copy.deepcopy(self._masked_runs())

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


def constants_of(policy: Policy) -> dict[str, object]:
    """Returns the attributes of a policy that must not change."""
    return {name: value for name, value in vars(policy).items() if name != "_state"}
