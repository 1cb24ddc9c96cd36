"""Specs, nests and time steps against those of TF-Agents, whose names and meaning they keep."""

import inspect

import numpy as np
import pytest
from hypothesis import given

pytest.importorskip("tf_agents")

from tf_agents.bandits.environments import bandit_py_environment as their_bandits
from tf_agents.environments import py_environment as their_environments
from tf_agents.specs import array_spec as theirs
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as their_time_steps
from tf_agents.trajectories import trajectory as their_trajectories

from bandit_envs import BanditPyEnvironment, PyEnvironment, StepType, TimeStep, Trajectory
from bandit_envs import specs as ours
from bandit_envs import trajectories as our_time_steps
from bandit_envs.testing import assert_identical
from tests.strategies import dtypes, shapes

CANDIDATES = [
    0,
    0.5,
    np.float32(1),
    True,
    [0, 1],
    (0.0,),
    None,
    "text",
    *(np.zeros(shape, dtype) for shape in ((), (2,), (2, 1)) for dtype in ("i4", "f4", "?")),
    np.full(2, np.nan, np.float32),
    np.array([-np.inf, np.inf], np.float32),
    np.array([3, -3], np.int32),
]
BOUNDS = [
    ((), "i4", None, None),
    ((), "i4", 0, 4),
    ((), "u1", 1, 255),
    ((2,), "i4", [0, -5], [4, 4]),
    ((2,), "f4", -1.0, None),
    ((2,), "f4", [-np.inf, 0.0], np.inf),
    ((), "f8", None, 0.25),
    ((2, 1), "f4", 0, [[1], [2]]),
    ((2, 3), "i8", [0, 1, 2], 5),
]


def bounded(module, arguments, name="x"):
    return module.BoundedArraySpec(*arguments, name=name)


def their_spec(spec):
    if isinstance(spec, ours.BoundedArraySpec):
        bounds = spec.minimum, spec.maximum
        return theirs.BoundedArraySpec(spec.shape, spec.dtype, *bounds, name=spec.name)
    return theirs.ArraySpec(spec.shape, spec.dtype, spec.name)


def assert_same_spec(our_spec, their_one):
    assert isinstance(our_spec, ours.BoundedArraySpec) == isinstance(
        their_one, theirs.BoundedArraySpec
    )
    assert our_spec.shape == tuple(their_one.shape)
    assert our_spec.dtype == their_one.dtype
    assert our_spec.name == their_one.name
    if isinstance(our_spec, ours.BoundedArraySpec):
        for bound in ("minimum", "maximum"):
            our_bound, their_bound = getattr(our_spec, bound), getattr(their_one, bound)
            assert our_bound.dtype == their_bound.dtype
            np.testing.assert_array_equal(
                np.broadcast_to(our_bound, our_spec.shape),
                np.broadcast_to(their_bound, our_spec.shape),
            )


@given(shapes, dtypes)
def test_unbounded_specs_are_the_same(shape, dtype):
    pair = ours.ArraySpec(shape, dtype, "x"), theirs.ArraySpec(shape, dtype, "x")
    assert_same_spec(*pair)
    assert repr(pair[0]) == repr(pair[1])
    assert_same_spec(pair[0].replace(name="y"), pair[1].replace(name="y"))
    for candidate in CANDIDATES:
        assert pair[0].check_array(candidate) == pair[1].check_array(candidate)


@pytest.mark.parametrize("arguments", BOUNDS, ids=str)
def test_bounded_specs_are_the_same(arguments):
    our_spec, their_one = bounded(ours, arguments), bounded(theirs, arguments)
    assert_same_spec(our_spec, their_one)
    for candidate in CANDIDATES:
        assert our_spec.check_array(candidate) == their_one.check_array(candidate), candidate
    edges = (our_spec.minimum, our_spec.maximum)
    for edge in edges:
        array = np.array(np.broadcast_to(edge, our_spec.shape))
        assert our_spec.check_array(array)
        assert their_one.check_array(array)
    for is_kind in ("is_discrete", "is_continuous"):
        assert getattr(ours, is_kind)(our_spec) == getattr(theirs, is_kind)(their_one)


@pytest.mark.parametrize(
    "arguments",
    [((), "i4", 3, 2), ((), "i1", 0, 128), ((), "u1", -1, 3), ((2,), "i4", [0, 0, 0], 4)],
    ids=str,
)
def test_both_refuse_impossible_bounds(arguments):
    for module in (ours, theirs):
        with pytest.raises((ValueError, OverflowError)):
            bounded(module, arguments)


NEST = {
    "a": ours.ArraySpec((2,), np.float32),
    "b": [ours.BoundedArraySpec((), np.int32, 0, 4), (ours.ArraySpec((), np.float64),)],
}
THEIR_NEST = ours.map_structure(their_spec, NEST)
SAMPLE = ours.sample_spec_nest(np.random.default_rng(0), NEST)


@pytest.mark.parametrize(
    "arrays",
    [
        SAMPLE,
        {**SAMPLE, "a": np.zeros(3, np.float32)},
        {**SAMPLE, "a": np.zeros(2, np.float64)},
        {**SAMPLE, "b": [np.array(5, np.int32), (np.array(0.0),)]},
        {**SAMPLE, "b": [np.array(4, np.int32), (0.0,)]},
        {"a": SAMPLE["a"]},
        {**SAMPLE, "b": SAMPLE["b"][:1]},
        {**SAMPLE, "b": tuple(SAMPLE["b"])},
    ],
    ids=["good", "shape", "dtype", "value", "number", "keys", "length", "container"],
)
def test_nests_of_arrays_are_checked_alike(arrays):
    found = ours.check_arrays_nest(arrays, NEST)
    assert found == theirs.check_arrays_nest(arrays, THEIR_NEST)


@pytest.mark.parametrize("outer_dims", [(), (7,), (2, 3)])
def test_outer_dimensions_are_the_same(outer_dims):
    our_nest = ours.add_outer_dims_nest(NEST, outer_dims)
    their_nest = theirs.add_outer_dims_nest(THEIR_NEST, outer_dims)
    ours.map_structure(assert_same_spec, our_nest, their_nest)


def test_step_types_are_the_same():
    for name in ("FIRST", "MID", "LAST"):
        assert_identical(
            np.array(getattr(StepType, name)),
            np.array(getattr(their_time_steps.StepType, name)),
        )
    assert StepType(2) == their_time_steps.StepType(2)
    for step_type in (StepType, their_time_steps.StepType):
        with pytest.raises(ValueError, match="7"):
            step_type(7)


OBSERVATION = {"x": np.zeros((3, 2), np.float32)}
REWARD = np.array([0.5, -1.0, 2.0], np.float32)


def assert_same_time_step(our_time_step, their_one):
    assert our_time_step._fields == their_one._fields
    assert our_time_step.observation is their_one.observation
    for field in ("step_type", "reward", "discount"):
        found, other = getattr(our_time_step, field), np.asarray(getattr(their_one, field))
        assert found.dtype == other.dtype
        # A discount of one number for all rows stays a number there.
        np.testing.assert_array_equal(found, np.broadcast_to(other, found.shape))
    for is_type in ("is_first", "is_mid", "is_last"):
        assert_identical(getattr(our_time_step, is_type)(), getattr(their_one, is_type)())


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("restart", (3,)),
        ("transition", (REWARD, 0.25)),
        ("truncation", (REWARD, np.array([0.0, 0.5, 1.0], np.float32))),
        ("termination", (REWARD,)),
    ],
)
def test_time_steps_are_made_alike(name, arguments):
    found = getattr(our_time_steps, name)(OBSERVATION, *arguments)
    assert_same_time_step(found, getattr(their_time_steps, name)(OBSERVATION, *arguments))


def test_time_step_specs_are_the_same():
    found = our_time_steps.time_step_spec(NEST)
    other = their_time_steps.time_step_spec(THEIR_NEST)
    assert found._fields == other._fields
    for ours_, theirs_ in zip(found, other):
        ours.map_structure(assert_same_spec, ours_, theirs_)


@pytest.mark.parametrize("pair", [(0, 1), (0, 2), (1, 1), (1, 2), (2, 0), (2, 2)])
def test_trajectories_are_the_same(pair):
    before, after = (
        TimeStep(np.full(3, kind, np.int32), REWARD, np.ones(3, np.float32), OBSERVATION)
        for kind in pair
    )
    action = np.array([0, 1, 2], np.int32)
    found = Trajectory.from_transition(before, action, after, {"p": REWARD})
    their_steps = (their_time_steps.TimeStep(*time_step) for time_step in (before, after))
    other = their_trajectories.from_transition(
        next(their_steps), policy_step.PolicyStep(action, (), {"p": REWARD}), next(their_steps)
    )
    assert found._fields == other._fields
    for field in found._fields:
        assert_identical(getattr(found, field), getattr(other, field))
    for place in ("is_first", "is_mid", "is_last", "is_boundary"):
        np.testing.assert_array_equal(getattr(found, place)(), getattr(other, place)())


@pytest.mark.parametrize(
    ("our_class", "their_class"),
    [
        (PyEnvironment, their_environments.PyEnvironment),
        (BanditPyEnvironment, their_bandits.BanditPyEnvironment),
    ],
)
def test_environments_have_the_same_public_names(our_class, their_class):
    wanted = {name for name in dir(their_class) if not name.startswith("_")}
    assert wanted <= set(dir(our_class))
    for name in wanted:
        ours_, theirs_ = getattr(our_class, name), getattr(their_class, name)
        if callable(ours_):
            found, other = (list(inspect.signature(each).parameters) for each in (ours_, theirs_))
            assert found[: len(other)] == other, f"{name} takes {found}; there, {other}"
