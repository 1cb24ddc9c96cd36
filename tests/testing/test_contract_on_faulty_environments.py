"""The proof of the contract: every fault is caught, by the test that is meant for it."""

import inspect

import pytest

from bandit_envs import KArmedTestbed
from bandit_envs.testing import EnvironmentContract
from tests.testing import faulty_bandits, faulty_interface, faulty_replay, faulty_safety

FAULTS = [
    *faulty_interface.FAULTS,
    *faulty_replay.FAULTS,
    *faulty_safety.FAULTS,
    *faulty_bandits.FAULTS,
]
IN_ANOTHER_PROCESS = "test_a_token_replays_in_another_process"


def contract_for(environment_class):
    class Contract(EnvironmentContract):
        num_steps = 9

        def make_environment(self, seed):
            if issubclass(environment_class, KArmedTestbed):
                return environment_class(k=4, batch_size=3, horizon=3, seed=seed)
            return environment_class(batch_size=3, seed=seed)

    return Contract()


@pytest.mark.parametrize(
    ("fault", "test"), [pytest.param(*pair, id=f"{pair[0].__name__}-{pair[1]}") for pair in FAULTS]
)
def test_every_fault_is_caught_by_the_test_that_is_meant_for_it(fault, test):
    with pytest.raises(AssertionError):
        getattr(contract_for(fault), test)()


def test_a_token_that_lives_in_one_process_is_caught():
    contract = faulty_replay.SavesANumberContract()
    contract.test_a_token_can_be_used_twice()
    with pytest.raises(AssertionError, match="another process cannot replay the token"):
        getattr(contract, IN_ANOTHER_PROCESS)()


def test_every_test_of_the_contract_catches_a_fault():
    tests = {
        name
        for name, _ in inspect.getmembers(EnvironmentContract, inspect.isfunction)
        if name.startswith("test_")
    }
    assert tests == {test for _, test in FAULTS} | {IN_ANOTHER_PROCESS}


@pytest.mark.parametrize("test", sorted({test for _, test in FAULTS}))
def test_the_same_environment_without_a_fault_passes(test):
    getattr(contract_for(KArmedTestbed), test)()
