import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandit_envs import ArraySpec, BoundedArraySpec, StepType, TimeStep, Trajectory
from bandit_envs.testing import assert_identical
from bandit_envs.trajectories import (
    DISCOUNT_SPEC,
    REWARD_SPEC,
    restart,
    termination,
    time_step_spec,
    transition,
    truncation,
)

OBSERVATION = np.zeros((3, 2), np.float32)


def step(step_type, batch_size=3):
    return restart(OBSERVATION, batch_size)._replace(
        step_type=np.full(batch_size, step_type, np.int32)
    )


# Step types and time steps ---------------------------------------------------------------------


def test_step_types_are_read_only_integers():
    types = StepType.FIRST, StepType.MID, StepType.LAST
    for value, step_type in enumerate(types):
        assert_identical(np.array(value, np.int32), np.asarray(step_type))
        assert StepType(value) is step_type
        assert StepType(np.array(value)) is step_type
        assert not step_type.flags.writeable


@pytest.mark.parametrize("value", [3, -1, 0.5, None, "FIRST", np.array([0])])
def test_an_unknown_step_type_is_refused(value):
    with pytest.raises(ValueError) as error:
        StepType(value)
    assert str(error.value) == f"value is {value!r}; expected 0 (FIRST), 1 (MID) or 2 (LAST)"


def test_rewards_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match=r"reward is \[\[1\], \[1, 2\]\]; expected"):
        transition(None, [[1], [1, 2]])


def test_the_fields_of_a_time_step_are_in_order():
    assert TimeStep._fields == ("step_type", "reward", "discount", "observation")


@pytest.mark.parametrize("step_type", [0, 1, 2])
def test_a_time_step_knows_its_step_type(step_type):
    time_step = step(step_type)
    found = time_step.is_first(), time_step.is_mid(), time_step.is_last()
    for value, rows in enumerate(found):
        assert_identical(rows, np.full(3, value == step_type))


def test_rows_may_have_different_step_types():
    time_step = step(0)._replace(step_type=np.array([0, 1, 2], np.int32))
    assert time_step.is_first().tolist() == [True, False, False]
    assert time_step.is_mid().tolist() == [False, True, False]
    assert time_step.is_last().tolist() == [False, False, True]


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_time_step_can_be_copied_and_pickled(duplicate):
    time_step = restart({"x": OBSERVATION}, 3)
    assert_identical(duplicate(time_step), time_step)


@given(st.integers(1, 5), st.sampled_from(["f4", "f8", "i4"]))
def test_restart_is_first_without_reward(batch_size, dtype):
    time_step = restart(OBSERVATION, batch_size, ArraySpec((), dtype))
    assert_identical(time_step.step_type, np.zeros(batch_size, np.int32))
    assert_identical(time_step.reward, np.zeros(batch_size, dtype))
    assert_identical(time_step.discount, np.ones(batch_size, np.float32))
    assert time_step.observation is OBSERVATION


def test_restart_takes_the_shape_of_rewards_from_their_spec():
    assert restart(OBSERVATION, 3, ArraySpec((2,), np.float64)).reward.shape == (3, 2)
    assert restart(OBSERVATION).reward.shape == (1,)


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=4), st.floats(0, 1, width=32))
def test_time_steps_after_a_reward(reward, discount):
    size = len(reward)
    for time_step, step_type, expected in (
        (transition(OBSERVATION, reward), 1, 1.0),
        (transition(OBSERVATION, reward, discount), 1, discount),
        (truncation(OBSERVATION, reward), 2, 1.0),
        (truncation(OBSERVATION, reward, discount), 2, discount),
        (termination(OBSERVATION, reward), 2, 0.0),
    ):
        assert_identical(time_step.step_type, np.full(size, step_type, np.int32))
        assert_identical(time_step.reward, np.array(reward, np.float32))
        assert_identical(time_step.discount, np.full(size, expected, np.float32))
        assert time_step.observation is OBSERVATION


@pytest.mark.parametrize("make", [transition, termination, truncation])
def test_a_number_is_the_reward_of_a_batch_of_one(make):
    time_step = make(OBSERVATION, 2.5, reward_dtype=np.float64)
    assert_identical(time_step.reward, np.array([2.5]))
    assert time_step.step_type.shape == time_step.discount.shape == (1,)


@pytest.mark.parametrize("make", [transition, truncation])
def test_each_row_may_have_its_discount(make):
    assert make(OBSERVATION, [1, 2], [0.5, 1]).discount.tolist() == [0.5, 1]


def test_the_spec_of_a_time_step_is_of_one_row():
    spec = time_step_spec(ArraySpec((2,), np.float32))
    assert spec.step_type == ArraySpec((), np.int32)
    assert spec.reward == REWARD_SPEC == ArraySpec((), np.float32)
    assert spec.discount == DISCOUNT_SPEC == BoundedArraySpec((), np.float32, 0, 1)
    assert spec.observation == ArraySpec((2,), np.float32)
    assert time_step_spec({}, ArraySpec((), np.float64)).reward == ArraySpec((), np.float64)


# Trajectories ----------------------------------------------------------------------------------


def test_the_fields_of_a_trajectory_are_in_order():
    assert Trajectory._fields == (
        "step_type",
        "observation",
        "action",
        "policy_info",
        "next_step_type",
        "reward",
        "discount",
    )


def test_a_trajectory_joins_two_time_steps():
    before, after = step(0), termination(OBSERVATION + 1, [1, 2, 3])
    action = np.array([4, 5, 6])
    trajectory = Trajectory.from_transition(before, action, after, policy_info={"x": 1})
    assert trajectory.step_type is before.step_type
    assert trajectory.observation is before.observation
    assert trajectory.action is action
    assert trajectory.policy_info == {"x": 1}
    assert trajectory.next_step_type is after.step_type
    assert trajectory.reward is after.reward
    assert trajectory.discount is after.discount
    assert Trajectory.from_transition(before, action, after).policy_info == ()


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (0, 1, ["first"]),
        (0, 2, ["first", "last"]),
        (1, 1, ["mid"]),
        (1, 2, ["last"]),
        (2, 0, ["boundary"]),
        (2, 2, ["last", "boundary"]),
    ],
)
def test_a_trajectory_knows_where_in_an_episode_it_is(one, other, expected):
    trajectory = Trajectory.from_transition(step(one), np.zeros(3, np.int32), step(other))
    for place in ("first", "mid", "last", "boundary"):
        found = getattr(trajectory, f"is_{place}")()
        assert_identical(found, np.full(3, place in expected))
