"""The proof of the contract: it catches every fault, by the test that is meant for it."""

import inspect
import pickle

import numpy as np
import pytest

from bandit_envs import DelayedRewards, KArmedTestbed
from bandit_envs.testing import EnvironmentContract
from tests.cases import for_each
from tests.testing.faulty_environments import FAULTS, SavesANumberContract

HOOKS = "test_hooks_never_write_into_their_state"
PROCESS = "test_a_state_replays_in_another_process"


def contract_for(environment_class):
    class Contract(EnvironmentContract):
        num_steps = 9
        num_rewards = 1500

        def make_environment(self, seed):
            is_testbed = isinstance(environment_class, type) and issubclass(
                environment_class, (KArmedTestbed, DelayedRewards)
            )
            arms = {"k": 4} if is_testbed else {}
            return environment_class(batch_size=3, horizon=3, seed=seed, **arms)

    return Contract()


@pytest.mark.parametrize(
    ("fault", "test"), [pytest.param(*pair, id=pair[0].__name__) for pair in FAULTS]
)
def test_every_fault_is_caught_by_the_test_that_is_meant_for_it(fault, test):
    with pytest.raises((AssertionError, KeyError, ValueError)):
        getattr(contract_for(fault), test)()


def test_a_state_that_only_one_process_can_use_is_caught():
    with pytest.raises(IndexError):
        getattr(SavesANumberContract(), PROCESS)()


def test_functions_of_an_environment_must_be_at_module_level():
    class Local(KArmedTestbed):
        pass

    with pytest.raises((pickle.PicklingError, AttributeError), match="Local"):
        contract_for(Local).test_restored_states_and_copies_repeat_the_run()


@for_each("fault", [fault for fault, test in FAULTS if test == HOOKS])
def test_a_hook_that_writes_into_its_state_is_named(fault):
    with pytest.raises(AssertionError, match=r"a hook of .* wrote into `state`"):
        getattr(contract_for(fault), HOOKS)()


class BroadcastsWrongly(KArmedTestbed):
    """The shapes of two arrays do not fit."""

    def _expected_rewards(self, state):
        return state * np.ones((5, 1))


def test_another_error_of_a_hook_is_not_called_writing():
    with pytest.raises(ValueError, match="could not be broadcast together"):
        getattr(contract_for(BroadcastsWrongly), HOOKS)()


def test_a_contract_without_make_environment_fails():
    class Misspelled(EnvironmentContract):
        def make_enviroment(self, seed):
            return KArmedTestbed(k=4, seed=seed)

    assert not inspect.isabstract(Misspelled)  # test frameworks skip abstract classes
    for _, test in inspect.getmembers(Misspelled(), inspect.ismethod):
        if test.__name__.startswith("test_"):
            with pytest.raises(NotImplementedError, match=r"Misspelled .*make_environment"):
                test()


def test_every_test_of_the_contract_catches_a_fault():
    tests = {name for name, _ in inspect.getmembers(EnvironmentContract) if name[:5] == "test_"}
    assert tests == {test for _, test in FAULTS} | {PROCESS}


def test_the_same_environment_without_a_fault_passes():
    contract = contract_for(KArmedTestbed)
    for test in {test for _, test in FAULTS}:
        getattr(contract, test)()
