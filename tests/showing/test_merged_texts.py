"""Sentences that differ in what they have measured alone become one."""

from bandit_envs.showing.merged_texts import merge_texts


def test_numbers_that_are_names_are_kept_apart():
    texts = [
        "the policy takes actions that were never logged: [3]",
        "the policy takes actions that were never logged: [4]",
        "does not know the actions 'size is 1'",
        "does not know the actions 'size is 2'",
    ]
    assert [each.text for each in merge_texts(texts)] == texts


def test_each_number_has_a_range_of_its_own():
    texts = [
        f"the effective sample size is {size} of {rows} rows; the mean weight is {weight}, more "
        "than 4 standard errors from 1"
        for size, rows, weight in (("9.5", 30, "2e-05"), ("12.1", 30, "0.3"), ("10.0", 30, "inf"))
    ]
    (merged,) = merge_texts(["", *texts])
    assert merged.places == [1, 2, 3]
    assert merged.text == (
        "the effective sample size is 9.5 to 12.1 of 30 rows; the mean weight is 2e-05 to inf, "
        "more than 4 standard errors from 1"
    )
