"""Specs: the shapes, dtypes and bounds of the arrays that environments take and return.

A *nest* of specs is a spec, or a dict, list, tuple or named tuple of nests.

Source: TF-Agents' `tf_agents.specs.array_spec`, whose names and meaning are kept.
"""

from bandit_envs.specs.array_spec import ArraySpec as ArraySpec
from bandit_envs.specs.array_spec import BoundedArraySpec as BoundedArraySpec
from bandit_envs.specs.array_spec import SlateSpec as SlateSpec
from bandit_envs.specs.array_spec import is_continuous as is_continuous
from bandit_envs.specs.array_spec import is_discrete as is_discrete
from bandit_envs.specs.array_spec import value_range as value_range
from bandit_envs.specs.nests import Nest as Nest
from bandit_envs.specs.nests import add_outer_dims_nest as add_outer_dims_nest
from bandit_envs.specs.nests import assert_arrays_nest as assert_arrays_nest
from bandit_envs.specs.nests import check_arrays_nest as check_arrays_nest
from bandit_envs.specs.nests import flatten as flatten
from bandit_envs.specs.nests import map_structure as map_structure
from bandit_envs.specs.nests import read_only_nest as read_only_nest
from bandit_envs.specs.nests import sample_spec_nest as sample_spec_nest
