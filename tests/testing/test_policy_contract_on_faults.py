"""The proof of the contract of policies: each fault fails the tests meant for it, and no other."""

import inspect
import re

import numpy as np
import pytest

from bandit_envs.policies import BestArmPolicy
from bandit_envs.testing import BestArmContract, PolicyContract
from tests.testing.faulty_best_arm_policies import InTurn  # its module has faults, too
from tests.testing.faulty_policies import FAULTS, Fixed, KeepsThePassedState, Means, Waits

TESTS = [name for name in dir(BestArmContract) if name.startswith("test_")]
faults = pytest.mark.parametrize("fault", FAULTS, ids=[fault.policy.__name__ for fault in FAULTS])


def contract_for(policy_class):
    base = BestArmContract if issubclass(policy_class, BestArmPolicy) else PolicyContract

    class Contract(base):
        def make_policy(self, env, seed):
            return policy_class(num_actions=4, batch_size=env.batch_size, seed=seed)

    return Contract()


def failures(policy_class, tests=TESTS):
    """Returns the messages of the tests that fail for a policy, by their names."""
    found = {}
    contract = contract_for(policy_class)
    for test in tests:
        if not hasattr(contract, test):
            continue
        if policy_class is KeepsThePassedState:  # it damages the run that tests share
            contract = contract_for(policy_class)
        try:
            getattr(contract, test)()
        except Exception as error:  # what the policy raises is a failure, too
            found[test] = str(error)
    return found


@faults
def test_every_fault_fails_the_tests_meant_for_it(fault):
    found = failures(fault.policy, fault.tests)
    assert found.keys() == set(fault.tests)
    first = found[fault.tests[0]]
    assert re.search(fault.message, first, re.DOTALL), first


@pytest.mark.slow  # each of many faults meets each test
@faults
def test_no_fault_fails_a_test_that_is_not_meant_for_it(fault):
    assert failures(fault.policy).keys() == set(fault.tests)


@pytest.mark.parametrize("sound", [Means, Fixed, Waits, InTurn])
def test_the_same_policy_without_a_fault_passes(sound):
    assert failures(sound) == {}


def test_every_test_of_the_contract_catches_a_fault():
    assert set(TESTS) == set().union(*(fault.tests for fault in FAULTS))


def test_a_contract_without_make_policy_fails():
    class Misspelled(BestArmContract):
        def make_polcy(self, env, seed):
            return Means(num_actions=4, batch_size=env.batch_size, seed=seed)

    assert not inspect.isabstract(Misspelled)  # test frameworks skip abstract classes
    for test in TESTS:
        with pytest.raises(NotImplementedError, match=r"Misspelled .*make_policy"):
            getattr(Misspelled(), test)()


def test_a_model_of_scikit_learn_as_an_attribute_is_told_where_it_belongs():
    linear_model = pytest.importorskip("sklearn.linear_model")

    class Regression(Means):
        def __init__(self, **options):
            super().__init__(**options)
            self.model = linear_model.SGDRegressor(random_state=0)

        def _learn(self, learned, trajectory):
            self.model.partial_fit(np.eye(4)[trajectory.action], trajectory.reward)
            return learned

    with pytest.raises(AssertionError, match=r"Regression\.model.* What changes must be in"):
        contract_for(Regression).test_all_that_changes_is_in_learned()


def test_a_run_that_is_not_repeated_tells_what_a_policy_must_do():
    class Decaying(Means):
        def _learn(self, learned, trajectory):
            self._epsilon /= 2
            return super()._learn(learned, trajectory)

    found = failures(Decaying)["test_a_restored_state_repeats_the_run"]
    assert re.search(r"does not repeat the run\. In step \d+, action\[\d\] is \d; expected", found)
    assert found.endswith("`learned`, and if it draws from `rng` alone")
