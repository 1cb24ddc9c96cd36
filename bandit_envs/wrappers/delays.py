"""A wrapper that pays rewards later."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Rng
from bandit_envs.base.bandit_py_environment import is_bandit
from bandit_envs.base.checks import check_integer, short_repr
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.nests import Nest
from bandit_envs.rewards import RewardDistribution, as_distribution
from bandit_envs.specs import ArraySpec
from bandit_envs.trajectories import TimeStep, no_reward
from bandit_envs.wrappers.reward_wrappers import reward_spec_within
from bandit_envs.wrappers.shared import with_entries
from bandit_envs.wrappers.wrapper import Wrapper


class Pending(NamedTuple):
    """The delays [B, L], rewards [B, L, ...] and actions [B, L, ...] of the last steps.

    Column d is of the action taken d steps before the last one. Its delay is -1 if there was none.
    """

    delay: NDArray[np.int64]
    reward: NDArray[Any]
    action: NDArray[Any]


class DelayedRewards(Wrapper):
    """Pays the reward of an action some steps later, and says to which action a reward belongs.

    The reward R_s of step s has the delay D_s. So step t pays

        sum_s R_s    over the steps s with s + D_s = t,  D_s <= max_delay

    Rewards with a longer delay are lost, and so are those outstanding at a reset. An observation
    that is a dict gets an entry `feedback`; any other becomes a dict of `observation` and
    `feedback`. Of its L = max_delay + 1 columns, d is of the action taken d steps before the last:

        arrived  [B, L] bool     whether its reward is paid now
        reward   [B, L, ...]     what is paid for it now, or 0
        action   [B, L, ...]     the action, or 0 if there was none

    Expected rewards and regret are those of an action when it is taken. Policies learn through
    `DelayedLearning`. Wrappers that change rewards go inside. The time of a step grows with B L.

    Args:
        env: a bandit whose action is one array, as is its reward.
        delay: an integer, or one for each action; or a distribution, or one for each action, as
            `KArmedBandit` takes them. What a distribution draws is rounded up.
        max_delay: by default, the largest delay; required if a distribution has none.

    Source: Joulani, Gyorgy & Szepesvari, Online learning under delayed feedback (2013); Vernade,
    Cappe & Perchet, Stochastic bandit models for delayed conversions (2017), for lost rewards.

    >>> from bandit_envs import AdversarialBandit
    >>> env = DelayedRewards(AdversarialBandit([[1.0, 2.0], [3.0, 4.0]]), delay=[0, 1])
    >>> time_step = env.reset()
    >>> env.step([1]).reward, env.step([0]).reward  # the reward of action 1 comes a step later
    (array([0.], dtype=float32), array([5.], dtype=float32))
    >>> env.current_time_step().observation["feedback"]["reward"]
    array([[3., 2.]], dtype=float32)
    """

    def __init__(self, env: PyEnvironment, delay: Any, max_delay: int | None = None) -> None:
        super().__init__(env)
        if max_delay_of(env.observation_spec()) >= 0:
            problem = f"env is {env.name}, whose rewards come later already"
            raise ValueError(f"{problem}; expected one DelayedRewards with the whole delay")
        kind = env.action_kind
        taken = kind.spec
        if not is_bandit(env) or not isinstance(taken, ArraySpec):
            raise TypeError(f"env is {env.name}; expected a bandit whose action is one array")
        self._law = _as_distribution(delay)
        arms = self._law.mean.shape
        if arms and not (kind.is_single and arms == (kind.num_actions,)):
            shapes = f"() or ({kind.num_actions},)" if kind.is_single else "()"
            raise ValueError(f"delay has shape {arms}; expected {shapes}")
        if max_delay is None:
            if np.isinf(self._law.support[1]):
                raise ValueError("max_delay is None; expected an integer, as delay is unbounded")
            max_delay = int(np.ceil(self._law.support[1]))
        length = check_integer("max_delay", max_delay, 0, 2**31) + 1
        self._lags = np.arange(length)
        low, high = self._env.reward_range
        if length > 1 or self._law.support[1] > 0.0:  # a step may pay for none or several
            low, high = min(length * low, 0.0), max(length * high, 0.0)
        self._reward_spec = reward_spec_within(self._env, low, high)
        columns = {
            "arrived": ArraySpec((length,), np.bool_),
            "reward": ArraySpec((length, *self._reward_spec.shape), self._reward_spec.dtype),
            "action": ArraySpec((length, *taken.shape), taken.dtype),
        }
        self._observation_spec = with_entries(self._env.observation_spec(), feedback=columns)

    def _reset(self) -> tuple[Pending, TimeStep]:
        nothing = no_reward(self._observation_spec["feedback"], self._batch_size)
        never = np.full(nothing["arrived"].shape, -1)
        pending = Pending(never, nothing["reward"], nothing["action"])
        _, time_step = self._pay_due(self._env.reset(), pending)
        return pending, time_step._replace(reward=no_reward(self._reward_spec, self._batch_size))

    def _step(self, action: Nest) -> tuple[Pending, TimeStep]:
        time_step = self._env.step(action)
        taken = self._env.action_kind.check(action)
        latest = self._draw_delays(taken), time_step.reward, taken
        columns = (
            np.concatenate((new[:, np.newaxis].astype(old.dtype), old[:, :-1]), axis=1)
            for new, old in zip(latest, self._state.latent)
        )
        return self._pay_due(time_step, Pending(*columns))

    def _pay_due(self, time_step: TimeStep, pending: Pending) -> tuple[Pending, TimeStep]:
        arrived = pending.delay == self._lags
        mask = arrived.reshape(*arrived.shape, *(1,) * (pending.reward.ndim - 2))
        reward = np.where(mask, pending.reward, pending.reward.dtype.type(0))
        feedback = {"arrived": arrived, "reward": reward, "action": pending.action}
        observation = with_entries(time_step.observation, feedback=feedback)
        return pending, time_step._replace(reward=reward.sum(axis=1), observation=observation)

    def _draw_delays(self, action: NDArray[Any]) -> NDArray[np.int64]:
        arms = action if self._law.mean.ndim else np.zeros(self._batch_size, np.intp)
        drawn = np.ceil(self._law.draw(self.np_random, arms))
        if not (drawn >= 0.0).all():
            raise ValueError(f"delay drew {drawn.min()}; expected at least 0")
        return np.minimum(drawn, len(self._lags)).astype(np.int64)


def max_delay_of(observation: Nest) -> int:
    """Returns `max_delay` by an observation of `DelayedRewards`, or by its spec; -1 for others."""
    found = observation.get("feedback") if isinstance(observation, dict) else None
    return found["arrived"].shape[-1] - 1 if isinstance(found, dict) and "arrived" in found else -1


def without_feedback(observation: Nest) -> Nest:
    """Returns an observation, or its spec, as it is without `DelayedRewards`.

    One that policies learn from, through `DelayedLearning`, has lost its `feedback` already.
    """
    if not isinstance(observation, dict):
        return observation
    rest = {name: entry for name, entry in observation.items() if name != "feedback"}
    return rest["observation"] if rest.keys() == {"observation"} else rest


def check_rewards_shown(env: PyEnvironment) -> None:
    """Raises ValueError if a wrapper around `DelayedRewards` changes rewards.

    Policies learn from the rewards in `feedback`, which such a wrapper leaves as they are.
    """
    while isinstance(env, Wrapper) and max_delay_of(env.wrapped_env().observation_spec()) >= 0:
        if env.maps_rewards:
            problem = f"{env.name} changes rewards, but not those of which policies learn"
            raise ValueError(f"{problem}; expected {type(env).__name__} inside of DelayedRewards")
        env = env.wrapped_env()


class _Fixed(RewardDistribution):
    """A number for each arm, or one for all of them."""

    def draw(self, rng: Rng, action: Any, row: Any = None) -> NDArray[Any]:
        return self.mean.take(action) if self.mean.ndim else np.full(len(action), self.mean)


def _as_distribution(delay: Any) -> RewardDistribution:
    try:
        fixed = np.asarray(delay)
    except ValueError as error:  # lists of different lengths
        expected = "expected an integer or a distribution, or one for each action"
        raise ValueError(f"delay is {short_repr(delay)}; {expected}") from error
    if fixed.dtype.kind not in "iu":
        return as_distribution("delay", delay)
    if (fixed < 0).any():
        raise ValueError(f"delay is {short_repr(delay)}; expected integers of at least 0")
    steps = fixed.astype(np.int64)  # the same constants, whatever integers they were given as
    return _Fixed(steps, 0.0, (steps, steps))
