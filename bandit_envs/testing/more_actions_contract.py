"""The part of the contract on policies that get more actions."""

from __future__ import annotations

import numpy as np

from bandit_envs.arrays import Array
from bandit_envs.nests import Nest, map_structure
from bandit_envs.policies import ContextualPolicy, Policy
from bandit_envs.policies.learned import WARM
from bandit_envs.testing.comparison import assert_identical, require
from bandit_envs.testing.policy_contract_part import PolicyContractPart
from bandit_envs.trajectories import TimeStep

MORE = 2

SIZED = (
    "Hooks must read `self.num_actions` each time, and attributes that depend on it are set in "
    "`_set_num_actions`"
)
"""What to look for in a policy."""

SIZED_MODEL = (
    "What a model knows of each action is in arrays of `sizes.num_outputs`, which grow by "
    "themselves, or in what its `add_actions` returns"
)
"""What to look for in the model of a contextual policy."""


class MoreActionsContract(PolicyContractPart):
    """A copy with more actions chooses among all of them and learns on; a class may refuse it."""

    def test_a_copy_with_more_actions_chooses_and_learns(self) -> None:
        policy, time_step = self._policy_after(self.num_steps)
        before = policy.get_state()
        for warm in (None, *WARM):
            try:
                wide = policy.with_actions(policy.num_actions + MORE, warm)
            except ValueError:  # it cannot have more, or not start them so, and says why
                continue
            now = policy.get_state()
            assert_identical(now, before, "the state of a policy after with_actions()")
            found = wide.get_state().content.rng
            assert_identical(found, before.content.rng, "the generator of with_actions()")
            self._go_on(wide, policy.num_actions, time_step)

    def _go_on(self, wide: Policy, known: int, time_step: TimeStep) -> None:
        """Lets a policy with more than `known` actions choose among all, and learn of new ones."""
        require(wide.num_actions == known + MORE, f"with_actions() made {wide.num_actions} actions")
        asked = time_step._replace(observation=_with_more(time_step.observation))
        self._require_choice(wide, asked)
        trajectory = self._trajectory()
        trajectory = trajectory._replace(observation=_with_more(trajectory.observation))
        if wide.action_kind.is_single:
            new = known + np.arange(self.num_rows) % MORE
            trajectory = trajectory._replace(action=new.astype(trajectory.action.dtype))
        try:
            wide(trajectory)
        except Exception as error:  # what a hook raises is what it did wrong
            problem = f"learning of new actions failed: {error}"
            raise AssertionError(f"{problem}. {_sized(wide)}") from error
        self._require_choice(wide, asked)

    def _require_choice(self, wide: Policy, asked: TimeStep) -> None:
        """Requires what a policy with more actions chooses to be among them."""
        try:
            wide.action_kind.check(wide.action(asked))
            if wide.knows_probabilities and wide.action_kind.is_single:
                wide.probabilities(asked)
        except Exception as error:  # what a hook raises is what it did wrong
            raise AssertionError(
                f"choosing after with_actions() failed: {error}. {_sized(wide)}"
            ) from error


def _sized(policy: Policy) -> str:
    """Returns what to look for where a policy does not grow."""
    return SIZED_MODEL if isinstance(policy, ContextualPolicy) else SIZED


def _with_more(observation: Nest) -> Nest:
    """Returns an observation of more actions, in which the new ones are available."""
    if not isinstance(observation, dict):
        return observation
    more = dict(observation)
    if "mask" in more:
        mask = more["mask"]
        is_open = np.ones((len(mask), MORE), np.bool_)
        more["mask"] = np.concatenate((mask, is_open), axis=1)
    if "per_arm" in more:
        more["per_arm"] = map_structure(_repeat_last, more["per_arm"])
    return more


def _repeat_last(features: Array) -> Array:
    """Returns an array [B, K, ...] with what is of the last action again for each new one."""
    return np.concatenate((features, np.repeat(features[:, -1:], MORE, axis=1)), axis=1)
