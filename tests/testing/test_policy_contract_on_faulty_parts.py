"""The contract of policies finds models that hide what they learn, rules that write, and shapes."""

import re

import pytest

from bandit_envs import ContextualPolicy
from bandit_envs.testing import PolicyContract
from bandit_envs.wrappers import RandomActionMask
from tests.policies.contextual_parts import make_clicks
from tests.testing.faulty_parts import FAULTS


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_of_a_part_is_found(fault):
    class Contract(PolicyContract):
        num_choices = 100

        def make_environment(self, batch_size, seed):
            env = make_clicks(False, batch_size, seed)
            return RandomActionMask(env, 0.5) if "Mask" in repr(fault.rule) else env

        def make_policy(self, env, seed):
            options = ContextualPolicy.arguments_for(env)
            options["independent_rows"] = fault.independent_rows
            return ContextualPolicy(fault.model, fault.rule, **options, seed=seed)

    with pytest.raises((AssertionError, ValueError)) as caught:
        getattr(Contract(), fault.test)()
    assert re.search(fault.message, str(caught.value), re.DOTALL), caught.value
