import numpy as np
import pytest

from bandit_envs import BoundedArraySpec, PyEnvironment
from bandit_envs.testing import assert_identical
from bandit_envs.trajectories import DISCOUNT_SPEC, REWARD_SPEC, restart
from tests.testing.sound_environments import GOOD, Corridor, corridor


def test_what_is_abstract_has_to_be_implemented():
    with pytest.raises(TypeError, match=r"_reset.*_step.*action_spec.*observation_spec"):
        PyEnvironment()


@pytest.mark.parametrize(
    ("arguments", "error_type", "message"),
    [
        ({"batch_size": 0}, ValueError, "batch_size is 0; expected at least 1"),
        ({"batch_size": 2.0}, TypeError, "batch_size is 2.0; expected an integer"),
        ({"batch_size": None}, TypeError, "batch_size is None; expected an integer"),
        ({"batch_size": True}, TypeError, "batch_size is True; expected an integer"),
        ({"seed": 1.5}, TypeError, "seed is 1.5; expected a non-negative integer"),
        ({"seed": -1}, ValueError, "seed is -1; expected a non-negative integer"),
    ],
)
def test_bad_arguments_are_refused(arguments, error_type, message):
    with pytest.raises(error_type) as error:
        Corridor(**arguments)
    assert str(error.value).startswith(message)


def test_an_environment_is_called_by_its_class_or_its_name():
    assert corridor().name == "Corridor"
    assert corridor(name="passage").name == "passage"


def test_an_environment_is_always_batched():
    assert Corridor().batched is True
    assert Corridor().batch_size == 1
    assert type(corridor(batch_size=np.int64(3)).batch_size) is int


def test_rewards_and_discounts_have_a_spec_unless_told_otherwise():
    env = corridor()
    assert env.reward_spec() is REWARD_SPEC
    assert env.discount_spec() is DISCOUNT_SPEC
    assert env.time_step_spec().observation == env.observation_spec()
    assert env.reward_range == (-np.inf, np.inf)


def test_bounds_of_the_reward_spec_are_the_reward_range():
    class Bounded(Corridor):
        def reward_spec(self):
            return BoundedArraySpec((), np.float32, -1, 0.5)

    assert Bounded().reward_range == (-1, 0.5)


def test_there_is_no_current_time_step_before_a_reset():
    with pytest.raises(ValueError) as error:
        corridor().current_time_step()
    assert str(error.value) == "Corridor has no time step yet; call reset() first"


def test_without_auto_reset_a_step_after_the_last_is_a_step():
    env = corridor()
    step_types = [env.step(GOOD).step_type[0] for _ in range(7)]
    assert step_types == [0, 1, 1, 1, 2, 2, 2]
    assert not env.should_reset(env.current_time_step())


def test_with_auto_reset_the_step_after_the_last_resets():
    env = corridor(auto_reset=True)
    step_types = [env.step(GOOD).step_type[0] for _ in range(7)]
    assert step_types == [0, 1, 1, 1, 2, 0, 1]


@pytest.mark.parametrize("bad", [None, "north", {"move": 7}])
def test_a_step_that_resets_does_not_look_at_its_action(bad):
    env = corridor(auto_reset=True)
    assert env.step(bad).is_first().all()
    for _ in range(4):
        env.step(GOOD)
    assert env.step(bad).is_first().all()


def test_only_a_batch_of_last_steps_resets():
    env = corridor(auto_reset=True)
    time_step = restart(np.zeros((2, 1)), 2)
    for step_type, expected in (([2, 2], True), ([2, 1], False), ([0, 2], False), ([1, 1], False)):
        ending = time_step._replace(step_type=np.array(step_type, np.int32))
        assert env.should_reset(ending) is expected


@pytest.mark.parametrize(
    ("change", "error_type", "message"),
    [
        ({"move": np.array([1, 2])}, ValueError, "found int64 array of shape (2,): [1 2]"),
        ({"move": np.array([1])}, ValueError, "found int64 array of shape (1,): [1]"),
        ({"move": np.array([1.0, 0.0])}, ValueError, "found float64 array of shape (2,): [1. 0.]"),
        ({"move": [1, 0]}, ValueError, "found [1, 0]"),
        ({"push": {}}, TypeError, "found a dict; expected a tuple"),
        ({"push": (GOOD["push"][0],)}, ValueError, "length is 1; expected 2"),
        ({"more": 1}, ValueError, "keys are ['move', 'push', 'more']; expected ['move', 'push']"),
    ],
)
def test_an_action_that_does_not_fit_is_refused(change, error_type, message):
    env = corridor()
    env.reset()
    with pytest.raises(error_type) as error:
        env.step({**GOOD, **change})
    assert str(error.value).startswith(f"action does not fit Corridor: {message}")


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda env: env.get_info(), "Corridor has no get_info()"),
        (lambda env: env.render(), "Corridor has no render('rgb_array')"),
        (lambda env: env.render("human"), "Corridor has no render('human')"),
    ],
)
def test_what_an_environment_lacks_is_named(ask, message):
    env = corridor()
    env.reset()
    before = env.get_state()
    with pytest.raises(NotImplementedError) as error:
        ask(env)
    assert str(error.value) == message
    assert_identical(env.get_state(), before)


def test_leaving_the_context_closes_whatever_happened():
    class Closing(Corridor):
        closed = 0

        def close(self):
            Closing.closed += 1

    with Closing() as env:
        env.reset()
    assert Closing.closed == 1
    with pytest.raises(RuntimeError, match="stop"), Closing():
        raise RuntimeError("stop")
    assert Closing.closed == 2
