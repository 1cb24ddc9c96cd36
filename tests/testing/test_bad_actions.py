import numpy as np
import pytest

from bandit_envs import ArraySpec, BoundedArraySpec
from bandit_envs.specs import add_outer_dims_nest, assert_arrays_nest, sample_spec_nest
from bandit_envs.testing.bad_actions import bad_actions

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


@pytest.mark.parametrize("batch_size", [1, 3])
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_no_bad_action_fits_its_spec(spec, batch_size):
    good = sample_spec_nest(np.random.default_rng(0), spec, (batch_size,))
    batched = add_outer_dims_nest(spec, (batch_size,))
    assert_arrays_nest(good, batched)
    seen = set()
    for description, bad in bad_actions(spec, good):
        with pytest.raises((TypeError, ValueError)):
            assert_arrays_nest(bad, batched)
        assert description not in seen
        seen.add(description)
    assert len(seen) > 10


def test_an_index_meets_all_that_is_known_to_go_wrong_with_one():
    spec = BoundedArraySpec((), np.int32, 0, 4)
    good = np.array([0, 2], np.int32)
    assert [description for description, _ in bad_actions(spec, good)] == [
        "a dimension too many",
        "a row too many",
        "a row too few",
        "None",
        "an array of None",
        "a string",
        "an array of strings",
        "a ragged list",
        "complex numbers",
        "booleans",
        "floats",
        "NaN",
        "a -1 as int32",
        "a -1 as int64",
        "a 5 as int32",
        "a 5 as int64",
        "a 1099511627776 as int64",
        "a 4294967298 as int64",
        "a -9223372036854775808 as int64",
        "uint64 of 9223372036854775808",
        "uint64 of 18446744073709551615",
        "integers of more than 64 bits",
        "an object",
        "a dict of an array",
    ]


def test_one_leaf_of_a_nest_is_bad_at_a_time():
    spec = SPECS[-2]
    good = sample_spec_nest(np.random.default_rng(0), spec, (2,))
    first = dict(bad_actions(spec, good))["NaN in leaf 0"]
    assert np.isnan(first["a"]).all()
    assert first["b"][0] is good["b"][0]
