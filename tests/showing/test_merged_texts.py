"""Sentences that differ only in measured numbers become one."""

from bandit_envs.logged.estimators.problems import find_bias
from bandit_envs.showing.merged_texts import merge_texts


def test_numbers_that_are_names_are_kept_apart():
    texts = [
        "the policy takes actions that were never logged: [3]",
        "the policy takes actions that were never logged: [4]",
        "the policy takes actions that were never logged: [3, 5]",
        "the policy takes actions that were never logged: [3, 6]",
        "has bandwidth=0.5 for kernel_ips",
        "has bandwidth=0.25 for kernel_ips",
        "does not know the actions 'size is 1'",
        "does not know the actions 'size is 2'",
    ]
    assert [each.text for each in merge_texts(texts)] == texts


def test_a_sentence_of_any_wording_has_the_range_of_its_numbers():
    texts = [text for bias in (0.25, 2.0) for text in find_bias(bias, noise=0.0, error=0.0)]
    texts += [f"it moves from {value} ([3]) by c=2 of x1" for value in (-1.5, 0.0, -2e-05)]
    first, second = merge_texts(texts)
    assert first.text.startswith("the estimate is about 0.25 to 2 too high: ")
    assert second.text == "it moves from -1.5 to 0.0 ([3]) by c=2 of x1"


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
