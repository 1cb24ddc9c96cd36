"""The contract of all environments, as a class of tests."""

from __future__ import annotations

from bandit_envs.testing.bandits import BanditContract
from bandit_envs.testing.interface import InterfaceContract
from bandit_envs.testing.replay import ReplayContract
from bandit_envs.testing.safety import SafetyContract


class EnvironmentContract(InterfaceContract, ReplayContract, SafetyContract, BanditContract):
    """The tests that every environment must pass, whoever wrote it.

    Subclass it at the top level of a test module, under a name that the test framework collects,
    and override `make_environment`. With `unittest`, add `unittest.TestCase` as the last base.

    An environment passes if what it returns keeps to its specs and comes in order; if equal seeds
    and restored states make it repeat bit for bit, in another process too; if `_state` is all that
    changes; if it refuses bad actions and stays as it was; if writing into its arrays does not
    change it unnoticed; and if its rewards have the means that it says. The tests of expected
    rewards skip themselves where there are none.

    The functions and classes that an environment is made with are pickled with it: define them at
    module level.

    Override also:
        draw_action: where the default's actions are not all accepted.
        num_steps: how many steps a test takes. Choose it so that an episode fits, and the steps
            after it; most tests save at every step and replay from there.
        num_rewards: how many rewards are drawn to compare their mean with the expected.

    Source: the idea is that of dm_env's `EnvironmentTestMixin`.

    >>> from bandit_envs import KArmedTestbed
    >>> class TestShortEpisodes(EnvironmentContract):
    ...     def make_environment(self, seed):
    ...         return KArmedTestbed(k=5, batch_size=3, horizon=4, seed=seed)
    >>> TestShortEpisodes().test_set_state_replays_exactly_from_every_step()
    """
