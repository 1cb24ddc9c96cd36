"""A test of many quick cases runs all of them, and names those that fail."""

import inspect

import pytest

from tests.cases import for_each


def test_all_cases_that_fail_are_named():
    @for_each(("number", "square"), [(2, 4), (3, 8), (4, 16), (5, None)])
    def check(number, square):
        with pytest.raises(ZeroDivisionError):
            _ = 1 / (number**2 - square)

    with pytest.raises(AssertionError) as error:
        check()
    first, *others = str(error.value).splitlines()
    assert first == "2 of 4 cases fail:"
    assert others[0].startswith("case 1, (3, 8): Failed: DID NOT RAISE")
    assert others[1].startswith("case 3, (5, None): TypeError: unsupported operand")


def test_a_case_that_is_skipped_hides_no_other():
    seen = []

    @for_each("number", [1, 2, 3])
    def check(number):
        seen.append(number)
        if number == 1:
            pytest.skip("one is not installed")
        assert number < highest

    highest = 4
    with pytest.raises(pytest.skip.Exception, match="one is not installed"):
        check()
    assert seen == [1, 2, 3]
    highest = 3
    with pytest.raises(AssertionError, match="1 of 3 cases fail:"):
        check()


def test_cases_of_one_value_share_the_fixtures_and_the_marks_of_the_test():
    seen = []

    @for_each("letter", "ab")
    @pytest.mark.slow
    def check(letter, folder):
        seen.append((letter, folder))

    check(folder="here")
    assert seen == [("a", "here"), ("b", "here")]
    assert [*inspect.signature(check).parameters] == ["folder"]
    assert [mark.name for mark in check.pytestmark] == ["slow"]
