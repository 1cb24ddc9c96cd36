import numpy as np
import pytest

from bandit_envs import ArraySpec, BoundedArraySpec
from bandit_envs.specs import add_outer_dims_nest, assert_arrays_nest, sample_spec_nest
from bandit_envs.testing.rollout import bad_actions
from tests.cases import for_each

SPECS = [
    BoundedArraySpec((), np.int32, 0, 4),
    BoundedArraySpec((), np.int64, -3, -1),
    BoundedArraySpec((2,), np.uint8, [0, 1], 255),
    BoundedArraySpec((), np.int64),
    BoundedArraySpec((), np.uint64),
    BoundedArraySpec((3,), np.float32, -1, [1, 2, 3]),
    BoundedArraySpec((), np.float64),
    BoundedArraySpec((), np.bool_),
    ArraySpec((2, 2), np.float32),
    {"a": BoundedArraySpec((), np.int32, 0, 1), "b": (BoundedArraySpec((), np.float32, 0, 1),)},
    [BoundedArraySpec((), np.int32, 0, 1)],
]


@for_each("batch_size", [1, 3])
@for_each("spec", SPECS)
def test_no_bad_action_fits_its_spec(spec, batch_size):
    good = sample_spec_nest(np.random.default_rng(0), spec, (batch_size,))
    batched = add_outer_dims_nest(spec, (batch_size,))
    assert_arrays_nest(good, batched)
    mistakes = dict(bad_actions(spec, good))
    for bad in mistakes.values():
        with pytest.raises((TypeError, ValueError)):
            assert_arrays_nest(bad, batched)
    assert len(mistakes) > 9


def test_indices_that_wrap_to_good_ones_are_among_the_bad_actions():
    good = np.array([0, 2], np.int32)
    mistakes = dict(bad_actions(BoundedArraySpec((), np.int32, 0, 4), good))
    for wraps in (-1, 2**32 + 2, 2**64):
        assert int(mistakes[str(wraps)][-1]) == wraps
    for what in ("booleans", "floats", "a row too few", "a dimension too many"):
        assert what in mistakes
