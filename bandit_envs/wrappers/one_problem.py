"""A wrapper that makes independent problems one problem of several users."""

from __future__ import annotations

import contextlib
from typing import Any

from bandit_envs.base.bandit_py_environment import BanditPyEnvironment
from bandit_envs.base.known_means import Means
from bandit_envs.base.one_problem import same_leaves, share_first_row
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.trajectories import TimeStep
from bandit_envs.wrappers.wrapper import Wrapper


class OneProblem(Wrapper):
    """Makes the rows of independent problems users of one problem: that of the first row.

        hidden values of row b = hidden values of row 0    at every reset and step

    Each user draws rewards of their own. What depends on a user's own actions stays with the user,
    such as the pulls of a `RestedBandit`, and so do the masks, delays and budgets of wrappers. The
    first row has the same problem as without this wrapper. `independent_rows` is False, so that a
    policy may learn one model from all rows.

    Args:
        env: a bandit with `independent_rows`.
        name: the name of this environment; by default, it has that of `env` in it.

    Raises:
        ValueError: rows are users of one problem already. At a reset: the means of rows differ,
            though they have one state, as of constants for each row. Constants that no known mean
            depends on are not found.

    >>> from bandit_envs import KArmedTestbed
    >>> env = OneProblem(KArmedTestbed(k=3, batch_size=4, seed=0))
    >>> time_step = env.reset()
    >>> len(set(env.optimal_reward().tolist())), env.independent_rows
    (1, False)
    """

    def __init__(self, env: PyEnvironment, name: str | None = None) -> None:
        super().__init__(env)
        if name is not None:
            self._name = str(name)
        bandit = env.unwrapped
        if not isinstance(bandit, BanditPyEnvironment):
            raise TypeError(f"env is {env.name}; expected a bandit")
        if not env.independent_rows:
            problem = "whose rows are users of one problem already"
            raise ValueError(f"env is {env.name}, {problem}; expected independent_rows")
        self.independent_rows = False
        self._of_users = bandit
        bandit._become_one_problem()

    def _reset(self) -> tuple[Any, TimeStep]:
        start = super()._reset()
        self._check_rows(self._of_users._means_now())
        return start

    def _check_rows(self, means: Means) -> None:
        """Raises ValueError if rows with one state have different means."""
        bandit = self._of_users
        if type(bandit)._share is not BanditPyEnvironment._share:
            return  # rows have states of their own
        for what in ("table", "optimum"):
            with contextlib.suppress(NotImplementedError):
                found = getattr(means, what)
                if not same_leaves(found, share_first_row(bandit.name, found, self._batch_size)):
                    problem = "have different means, so it has constants for each row"
                    expected = "expected a _become_one_problem that takes those of the first"
                    raise ValueError(f"the rows of {bandit.name} {problem}; {expected}")
