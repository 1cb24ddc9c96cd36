"""Specs: the shapes, dtypes and bounds of the arrays that environments take and return.

A *nest* of specs is a spec, or a dict, list, tuple or named tuple of nests.

Source: TF-Agents' `tf_agents.specs.array_spec`, whose names and meaning are kept.
"""

from bandit_envs.specs.array_spec import (
    ArraySpec,
    BoundedArraySpec,
    is_bounded,
    is_continuous,
    is_discrete,
    value_range,
)
from bandit_envs.specs.nests import (
    Nest,
    add_outer_dims_nest,
    assert_arrays_nest,
    check_arrays_nest,
    map_structure,
    read_only_nest,
    sample_spec_nest,
)

__all__ = [
    "ArraySpec",
    "BoundedArraySpec",
    "Nest",
    "add_outer_dims_nest",
    "assert_arrays_nest",
    "check_arrays_nest",
    "is_bounded",
    "is_continuous",
    "is_discrete",
    "map_structure",
    "read_only_nest",
    "sample_spec_nest",
    "value_range",
]
