"""Each contract as one test: most tests of a contract take less time than pytest adds to a test."""

import pytest


def failures(contract):
    """Returns what goes wrong in the tests of a contract that fail, by their names.

    If none fails, and some are skipped, it skips the test that calls it.
    """
    found = {}
    skipped = None
    for test in filter(lambda name: name.startswith("test_"), dir(contract)):
        try:
            getattr(contract(), test)()
        except pytest.skip.Exception as reason:
            skipped = reason
        except Exception as error:  # whatever is raised is a failure
            found[test] = error
    if skipped is not None and not found:
        raise skipped
    return found


def one_test(contract):
    """Returns a class of one test, which runs all tests of a contract and names those that fail.

    The class has the name of the contract. Its attribute `contract` is the contract, by which
    `pickle` finds it in other processes.
    """

    class OneTest:
        def test_it_passes_the_contract(self):
            found = failures(contract)
            if found:
                problems = [f"{test}: {error!r}" for test, error in found.items()]
                raise AssertionError("\n".join(problems)) from next(iter(found.values()))

    OneTest.contract = contract
    OneTest.__module__ = contract.__module__
    OneTest.__name__ = OneTest.__qualname__ = contract.__name__
    contract.__qualname__ = f"{contract.__name__}.contract"
    return OneTest
