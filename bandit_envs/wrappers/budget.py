"""A wrapper that ends an episode when a budget is spent.

Experimental: these names may change in any minor version.
"""

from __future__ import annotations

import numpy as np

from bandit_envs.base.checks import MAX_PARAMETER, check_integer, check_positive
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.nests import Nest
from bandit_envs.specs import ArraySpec, BoundedArraySpec
from bandit_envs.trajectories import StepType, TimeStep
from bandit_envs.wrappers.shared import with_entries
from bandit_envs.wrappers.wrapper import Wrapper


class Budget(Wrapper):
    """Ends an episode when its rows have spent a budget, together: bandits with knapsacks.

    Experimental: it may change in any minor version.

        sum of costs of all rows and steps so far >= budget    ends the episode

    The rewards are vectors [B, R], of which one entry is the cost, such as those of an
    `OutcomeTableBandit` with costs. The step that spends the last of the budget is paid, and its
    discount is 0. An observation that is a dict gets an entry `budget` [B]: the share of the budget
    that is left, the same in all rows. Any other becomes a dict of `observation` and `budget`.

    Args:
        env: a bandit with rewards [B, R] and a `horizon`.
        budget: above 0.
        cost_index: the entry of the rewards that is the cost.

    Source: Badanidiyuru, Kleinberg & Slivkins, Bandits with Knapsacks (2013), with one resource.

    >>> from bandit_envs import OutcomeStream
    >>> env = Budget(OutcomeStream(np.ones((9, 1)), np.ones((9, 2)), costs=np.ones((9, 2))), 2.0)
    >>> env.reset().observation["budget"], env.step([0]).observation["budget"]
    (array([1.], dtype=float32), array([0.5], dtype=float32))
    >>> env.step([1]).is_last()
    array([ True])
    """

    actions_change_state = True

    def __init__(self, env: PyEnvironment, budget: float, cost_index: int = 1) -> None:
        super().__init__(env)
        spec = env.reward_spec()
        if not isinstance(spec, ArraySpec) or len(spec.shape) != 1:
            raise TypeError(f"env has reward_spec {spec}; expected a vector with a cost")
        if self.horizon is None:
            raise ValueError(f"{env.name} has no horizon; expected episodes of several steps")
        self.budget = check_positive("budget", budget, maximum=MAX_PARAMETER)  #: of all rows
        self._cost_index = check_integer("cost_index", cost_index, 0, spec.shape[0] - 1)
        share = BoundedArraySpec((), np.float32, 0.0, 1.0, "budget")
        self._observation_spec = with_entries(env.observation_spec(), budget=share)

    def _reset(self) -> tuple[float, TimeStep]:
        return 0.0, self._with_budget(self._env.reset(), 0.0)

    def _step(self, action: Nest) -> tuple[float, TimeStep]:
        time_step = self._env.step(action)
        spent = self._state.latent + float(time_step.reward[:, self._cost_index].sum())
        if spent >= self.budget:
            time_step = time_step._replace(
                step_type=np.full(self._batch_size, StepType.LAST, np.int32),
                discount=np.zeros(self._batch_size, np.float32),
            )
        return spent, self._with_budget(time_step, spent)

    def _with_budget(self, time_step: TimeStep, spent: float) -> TimeStep:
        left = max(1.0 - spent / self.budget, 0.0)
        shares = np.full(self._batch_size, left, np.float32)
        return time_step._replace(observation=with_entries(time_step.observation, budget=shares))
