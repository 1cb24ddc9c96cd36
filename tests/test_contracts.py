"""A contract as one test runs all tests of the contract, and names those that fail."""

import pickle

import pytest

from tests.contracts import one_test


@one_test
class Arithmetic:
    """Fails twice."""

    def test_a_difference(self):
        assert 1 - 1 == 0

    def test_a_product(self):
        raise ValueError("no product")

    def test_a_sum(self):
        raise AssertionError("no sum")


def test_each_test_that_fails_is_named_with_its_reason():
    expected = "^test_a_product: ValueError.*no product.*\ntest_a_sum: AssertionError.*no sum.*$"
    with pytest.raises(AssertionError, match=expected) as caught:
        Arithmetic().test_it_passes_the_contract()
    assert isinstance(caught.value.__cause__, ValueError)


def test_the_contract_can_be_pickled():
    assert pickle.loads(pickle.dumps(Arithmetic.contract)) is Arithmetic.contract


def test_a_skip_is_not_a_failure_and_hides_none():
    @one_test
    class Skipped:
        def test_something(self):
            pytest.skip("something is not installed")

    @one_test
    class FailsToo(Skipped.contract):
        def test_the_last_one(self):
            raise AssertionError("it fails")

    with pytest.raises(pytest.skip.Exception, match="something is not installed"):
        Skipped().test_it_passes_the_contract()
    with pytest.raises(AssertionError, match="test_the_last_one: "):
        FailsToo().test_it_passes_the_contract()
