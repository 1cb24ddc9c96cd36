"""Functions as samplers: of whole batches, and of TF-Agents' kind."""

import functools

import numpy as np
import pytest

from bandit_envs.sampling import (
    BatchFunction,
    RowFunction,
    as_sampler,
)
from tests.cases import for_each


def test_a_batch_function_may_return_the_same_array_again():
    buffer = np.zeros((2, 3), np.float32)
    contexts = BatchFunction(lambda rng, size: buffer, 3).sample(np.random.default_rng(0), (2,))
    buffer += 1.0
    assert contexts.max() == 0.0


def test_a_batch_function_may_return_a_view():
    arms = np.arange(6.0).reshape(3, 2)
    sampler = BatchFunction(lambda rng, size: np.broadcast_to(arms, (*size, 2)), 2)
    contexts = sampler.sample(np.random.default_rng(0), (4, 3))
    np.testing.assert_array_equal(contexts, np.tile(arms, (4, 1, 1)))
    assert contexts.flags.c_contiguous


def test_a_batch_function_refuses_to_cut_floats_to_integers():
    sampler = BatchFunction(lambda rng, size: rng.random((*size, 1)), 1, np.int32)
    with pytest.raises(ValueError, match=r"function returned 0\..*, which int32 cannot hold"):
        sampler.sample(np.random.default_rng(0), (2,))


class Source:
    def method(self):
        return np.arange(3.0)

    def __call__(self):
        return np.arange(2.0)


@for_each(
    ("function", "dim"),
    [
        (lambda: np.zeros(4), 4),
        (lambda: [1, 2], 2),
        (lambda: (1.0, 2.0), 2),
        (lambda: 3, 1),
        (lambda: np.float32(3.0), 1),
        (lambda: np.array(3.0), 1),
        (lambda: np.zeros(0), 0),
        (functools.partial(np.random.default_rng(0).normal, size=5), 5),
        (functools.partial(np.zeros, 3, dtype=np.int32), 3),
        (Source().method, 3),
        (Source(), 2),
        (np.random.default_rng(0).random, 1),
        (np.random.random_sample, 1),
        (lambda scale=2.0: scale * np.ones(2), 2),
    ],
)
def test_any_function_without_arguments_is_a_row_function(function, dim):
    sampler = as_sampler("fn", function, (1, 7))
    assert sampler.spec.shape == (dim,)
    assert sampler.sample(np.random.default_rng(0), (2, 3)).shape == (2, 3, dim)


def test_a_row_function_is_called_once_and_then_once_a_context_in_order():
    numbers = iter(range(100))
    sampler = RowFunction(lambda: [next(numbers)])
    contexts = sampler.sample(np.random.default_rng(0), (2, 3))
    np.testing.assert_array_equal(contexts[..., 0], [[1, 2, 3], [4, 5, 6]])
    assert next(numbers) == 7


def test_a_row_function_draws_nothing_from_the_generator():
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    RowFunction(lambda: [1.0]).sample(rng, (3,))
    assert rng.bit_generator.state == before


def test_a_row_function_keeps_the_dtype_of_its_first_context():
    contexts = iter([np.zeros(2, np.float32), np.ones(2), [1, 2]])
    sampler = RowFunction(lambda: next(contexts))
    assert sampler.sample(np.random.default_rng(0), (2,)).dtype == np.float32


@for_each(
    ("returned", "error", "message"),
    [
        ([None], TypeError, "fn returned object"),
        (["text"], TypeError, "fn returned <U4"),
        ([[[1.0, 2.0]]], ValueError, r"fn returned shape \(1, 2\); expected a vector or a number"),
        ([[[1.0], [1.0, 2.0]]], ValueError, r"fn returned \[.*\[1.0, 2.0\]"),
        ([[1.0], [1.0, 2.0]], ValueError, r"fn returned shape \(2,\); expected \(1,\)"),
        ([[1.0], [1.0], [1.0, 2.0]], ValueError, r"fn returned \[.*\[1.0, 2.0\]"),
        ([1.0, [1.0]], ValueError, r"fn returned shape \(1,\); expected \(\)"),
        ([[1], [0.5]], ValueError, "fn returned 0.5, which int64 cannot hold"),
    ],
)
def test_a_row_function_refuses_by_name_what_is_no_context(returned, error, message):
    contexts = iter(returned)
    with pytest.raises(error, match=message):
        RowFunction(lambda: next(contexts), "fn").sample(
            np.random.default_rng(0), (len(returned) - 1,)
        )


def test_integers_may_be_of_any_dtype_that_has_room_for_the_later_ones():
    numbers = iter([np.uint8(3), 4, np.int16(255), 256])
    sampler = RowFunction(lambda: next(numbers), "fn")
    contexts = sampler.sample(np.random.default_rng(0), (2,))
    np.testing.assert_array_equal(contexts, np.array([[4], [255]], np.uint8), strict=True)
    with pytest.raises(ValueError, match="fn returned 256, which uint8 cannot hold"):
        sampler.sample(np.random.default_rng(0), (1,))


@pytest.mark.filterwarnings("error")
@for_each(
    ("number", "dtype"),
    [(300, np.int8), (-1, np.uint64), (2**32, np.int32), (1e300, np.float32), (-7e4, np.float16)],
)
def test_a_number_that_the_dtype_does_not_hold_is_refused(number, dtype):
    function = BatchFunction(lambda rng, size: np.full((*size, 2), number), 2, dtype)
    with pytest.raises(ValueError, match=r"which u?(int|float)[0-9]+ cannot hold"):
        function.sample(np.random.default_rng(0), (3,))


def test_floating_dtypes_round_and_keep_infinities():
    function = BatchFunction(lambda rng, size: np.array([[0.1, np.inf, -np.inf]]), 3)
    expected = np.array([[0.1, np.inf, -np.inf]], np.float32)
    np.testing.assert_array_equal(
        function.sample(np.random.default_rng(0), (1,)), expected, strict=True
    )
