"""Drivers: a policy acts in an environment while observers look on."""

import inspect
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from bandit_envs.base.checks import check_integer, short_repr
from bandit_envs.base.py_environment import PyEnvironment, check_environment
from bandit_envs.base.saving import load_state, save_state
from bandit_envs.base.state import SavedState, Stateful, check_saved, state_to_write
from bandit_envs.policies import BestArmPolicy, DelayedLearning, Policy
from bandit_envs.policies.row_by_row import check_problems
from bandit_envs.trajectories import TimeStep, Trajectory
from bandit_envs.wrappers.delays import max_delay_of

__all__ = [
    "StepDriver",
]

Observer = Callable[[Trajectory], Any]
"""Called with the trajectory of every step. A policy is one, and so is a metric."""


class StepDriver(Stateful):
    """Runs a policy in an environment for a number of steps at a time.

    A policy learns only if it is among the observers. A warning says so at the end of a run where
    it was not, if it has learned nothing before. At the end of an episode, the driver resets
    the environment; that is not a step, and observers do not see it.

    A policy whose rows share a model must not learn from several problems: see
    `PyEnvironment.independent_rows`, `Policy.learns_by_row` and `policies.RowByRowPolicy`.

    The state of a driver is that of its environment, its policy and every observer that has one. So
    `set_state` continues a whole run bit for bit, unless two of them share one generator.

    Args:
        env: the environment.
        policy: chooses the actions.
        observers: called with each step's trajectory, in this order.
        num_steps: steps of the whole batch in one `run()`.
        emit_log_probability: whether the `policy_info` of a trajectory tells the log probability of
            the action. If not, it is `()`, unless the policy has `emits_info`.

    Raises:
        ValueError: the policy does not fit the environment, or one among the observers would learn
            one model from several problems, or from rewards that come later.

    Source: TF-Agents' `PyDriver` and `DynamicStepDriver`; there, steps of all rows are added up.

    >>> from bandit_envs import KArmedTestbed, AverageRewardMetric, UCBPolicy
    >>> env = KArmedTestbed(k=3, batch_size=100, seed=0)
    >>> policy = UCBPolicy(2.0, num_actions=3, batch_size=100, seed=1)
    >>> reward = AverageRewardMetric()
    >>> time_step = StepDriver(env, policy, [policy, reward], num_steps=200).run()
    >>> reward.result().per_step.mean.shape
    (200,)
    """

    def __init__(
        self,
        env: PyEnvironment,
        policy: Policy,
        observers: Iterable[Observer] = (),
        num_steps: int = 1,
        emit_log_probability: bool = False,
    ) -> None:
        check_environment(env)
        _check(isinstance(policy, Policy), "policy", policy, "a Policy")
        _check(isinstance(observers, Iterable), "observers", observers, "a list of callables")
        _check_sizes(env, policy)
        if emit_log_probability and not policy.knows_probabilities:
            raise NotImplementedError(f"{type(policy).__name__} does not know probabilities")
        self._env = env
        self._policy = policy
        self._observers = tuple(observers)
        for observer in self._observers:
            _check_observer(env, observer)
        self._tells_info = emit_log_probability or policy.emits_info
        self._num_steps = check_integer("num_steps", num_steps, minimum=1)
        if policy.draws_like(env.np_random):
            problem = "env and policy have the same seed, so both draw the same numbers"
            warnings.warn(f"{problem}: give the policy another seed", stacklevel=2)
        parts = {id(part): part for part in (env, policy, *map(_owner, self._observers))}
        self._parts = tuple(part for part in parts.values() if isinstance(part, Stateful))

    def run(
        self,
        checkpoint: str | os.PathLike[str] | None = None,
        every: int = 10_000,
        trusted: Sequence[str] = (),
    ) -> TimeStep:
        """Takes the next `num_steps` steps; returns the environment's last time step.

        With a checkpoint, the same script goes on after it was stopped, bit for bit: it starts from
        what the file holds, if there is one. A script whose run has ended takes no more steps.
        The same script may take more steps. After any other change of an argument, such as ε, use
        another file; the seed is that of the first run.

        Args:
            checkpoint: a file, to which `save_state` writes the state of the driver, and how many
                steps it has taken: before the first one, after every `every` steps and at the end.
                Observers without `get_state`, such as functions, are not in it.
            every: steps from one checkpoint to the next.
            trusted: names of classes that models in the checkpoint may hold, as in `load_state`.

        Raises:
            TypeError: a state cannot be written, as `save_state` says; no step has been taken.
            ValueError: the checkpoint is of another run, such as one of other arguments, or of more
                steps.
        """
        if checkpoint is None:
            return self._run(None, self._num_steps)
        check_integer("every", every, minimum=1)
        done = self._resume(checkpoint, trusted)
        while done < self._num_steps:
            steps = min(every, self._num_steps - done)
            self._run(None, steps)
            done += steps
            save_state(checkpoint, (done, self))
        return self._env.current_time_step()

    def _resume(self, checkpoint: str | os.PathLike[str], trusted: Sequence[str]) -> int:
        """Returns to what a checkpoint holds, and returns how many steps had been taken.

        If there is no checkpoint, it writes one, so that a state that cannot be saved raises an
        error before the first step.
        """
        if not os.path.exists(checkpoint):
            save_state(checkpoint, (0, self))
            return 0
        saved = load_state(checkpoint, trusted)
        if not (type(saved) is tuple and len(saved) == 2 and type(saved[0]) is int):
            raise ValueError(f"{checkpoint} does not hold a driver's checkpoint")
        done, state = saved
        if not 0 <= done <= self._num_steps:
            problem = f"{checkpoint} is of a run that has taken {done} steps"
            raise ValueError(f"{problem}; expected at most num_steps, {self._num_steps}")
        if isinstance(state, SavedState):
            state = state._replace(sizes={**state.sizes, "num_steps": self._num_steps})
        try:
            self.set_state(state)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{checkpoint}: {error}") from error
        return int(done)

    def run_until_stopped(self) -> TimeStep:
        """Takes steps until all rows of a `BestArmPolicy` have stopped, at most `num_steps`.

        Rows that have stopped take part until then, without learning. `policy.stopped` tells which
        rows have not stopped after `num_steps`.

        Raises:
            TypeError: the policy is no `BestArmPolicy`.
            ValueError: it is not among the observers, so it would never stop.
        """
        policy = self._policy
        if not isinstance(policy, BestArmPolicy):
            raise TypeError(f"policy is {short_repr(policy)}; expected a BestArmPolicy")
        if not self._lets_learn(policy):
            raise ValueError("policy is not among the observers: it would never stop")
        return self._run(policy, self._num_steps)

    def _lets_learn(self, policy: Policy) -> bool:
        """Returns whether the policy is among the observers."""
        for observer in self._observers:
            learner = observer.policy if isinstance(observer, DelayedLearning) else observer
            if _owner(learner) is policy:
                return True
        return False

    def _run(self, searching: BestArmPolicy | None, num_steps: int) -> TimeStep:
        """Takes steps; if it is given the policy that searches, until all rows have stopped."""
        env = self._env
        policy = self._policy
        tells_info = self._tells_info
        policy_info: Any = ()
        try:
            time_step = env.current_time_step()
        except ValueError:
            time_step = env.reset()
        for _ in range(num_steps):
            if searching is not None and searching.has_stopped:
                break
            if env.should_reset(time_step):
                time_step = env.reset()
            if tells_info:
                action, policy_info = policy.policy_step(time_step)
            else:
                action = policy.action(time_step)
            next_time_step = env.step(action)
            trajectory = Trajectory.from_transition(time_step, action, next_time_step, policy_info)
            for observer in self._observers:
                observer(trajectory)
            time_step = next_time_step
        if policy.is_untrained and not self._lets_learn(policy):
            warnings.warn("policy is not among the observers: it has not learned", stacklevel=3)
        return time_step

    def _shared_state(self) -> SavedState:
        states = tuple(state_to_write(part) for part in self._parts)
        return SavedState(self._state_owner(), self._state_key(), states)

    def set_state(self, state: Any) -> None:
        for part, part_state in zip(self._parts, self._restored(state)):
            part.set_state(part_state)

    def _state_key(self) -> dict[str, int | None]:
        return {"parts": len(self._parts), "num_steps": self._num_steps}

    def _check_content(self, content: Any) -> None:
        for part, part_state in zip(self._parts, content, strict=True):
            check_saved(part, part_state)


def _check_sizes(env: PyEnvironment, policy: Policy) -> None:
    """Raises ValueError if a policy is not of the environment's batch size and actions."""
    _check_size("batch_size", policy.batch_size, env, env.batch_size)
    chosen = policy.action_kind
    taken = env.action_kind
    if chosen.is_single != taken.is_single or (taken.is_shifted and chosen.spec != taken.spec):
        expected = f"expected {taken}, as {env.name} takes{taken.remedy}"
        raise ValueError(f"policy chooses {chosen}; {expected}")
    _check_size("num_actions", chosen.num_actions, env, taken.num_actions)


def _check_size(name: str, found: int, env: PyEnvironment, expected: int) -> None:
    if found != expected:
        raise ValueError(f"policy has {name} {found}; expected {expected}, as {env.name}")


def _check_observer(env: PyEnvironment, observer: Observer) -> None:
    """Raises an error if an observer cannot be called, or would learn what is wrong.

    A policy must not learn one model from several problems, or from rewards too early.
    """
    _check(callable(observer), "an observer", observer, "a callable")
    policy = _owner(observer)
    if not isinstance(policy, Policy):
        return
    check_problems(env, policy)
    if policy.can_learn and max_delay_of(env.observation_spec()) > 0:
        problem = f"a policy is among the observers, but rewards of {env.name} come later"
        raise ValueError(f"{problem}; expected DelayedLearning(env, policy) in its place")


def _owner(observer: Any) -> Any:
    """Returns the object whose method an observer is, such as `policy.learn`; else the observer."""
    return observer.__self__ if inspect.ismethod(observer) else observer


def _check(good: bool, name: str, value: Any, expected: str) -> None:
    if not good:
        raise TypeError(f"{name} is {short_repr(value)}; expected {expected}")
