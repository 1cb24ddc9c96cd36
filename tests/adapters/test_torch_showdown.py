"""The neural policies of the Showdown act and learn on the wheel."""

import pytest

pytest.importorskip("torch")

from bandit_envs import RegretMetric, StepDriver
from bandit_envs.adapters.torch import showdown
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.policies.registry import PolicyEntry

NAMES = [
    "neural_linear",
    "neural_greedy",
    "neural_epsilon_greedy",
    "bootstrap",
    "dropout",
    "neural_ucb",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_policy_of_the_showdown_tries_each_action_twice_and_is_trained_every_50_steps(name):
    env = ENVIRONMENTS["wheel"].make(delta=0.5, batch_size=1, seed=0)
    policy = PolicyEntry.find(f"{showdown.__name__}:{name}", {}).make_for(env, {}, seed=1)
    seen = []
    StepDriver(env, policy, [policy, seen.append, RegretMetric(env)], num_steps=51).run()
    first = sorted(int(item.action[0]) for item in seen[:10])
    if name != "neural_epsilon_greedy":
        assert first == sorted([*range(5)] * 2)
    assert policy.get_state().content.learned.model.steps == 51
