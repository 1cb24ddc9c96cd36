import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandit_envs import (
    ArraySpec,
    BanditPyEnvironment,
    BoundedArraySpec,
    KArmedTestbed,
    RandomPolicy,
    StepDriver,
)
from bandit_envs.testing import assert_identical
from bandit_envs.wrappers import AffineReward
from tests.testing.sound_environments import Preferences, Table

INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", ">u8"]


class Recorded(Preferences):
    """Notes the order of its hooks in the generator's own numbers."""

    def _draw_rewards(self, rng, state, action):
        return np.full(self.batch_size, rng.random())

    def _next_state(self, rng, state, action):
        return np.full((self.batch_size, self.num_actions), rng.random(), np.float32)


def reset(env):
    env.reset()
    return env


@pytest.mark.parametrize(
    ("arguments", "error_type", "message"),
    [
        ({"num_actions": 0}, ValueError, "num_actions is 0; expected at least 1"),
        ({"batch_size": 0}, ValueError, "batch_size is 0; expected at least 1"),
        ({"horizon": 0}, ValueError, "horizon is 0; expected at least 1"),
        ({"horizon": 1.0}, TypeError, "horizon is 1.0; expected an integer"),
        ({"horizon": True}, TypeError, "horizon is True; expected an integer"),
        ({"seed": -1}, ValueError, "seed is -1; expected a non-negative integer"),
    ],
)
def test_bad_arguments_are_refused(arguments, error_type, message):
    with pytest.raises(error_type) as error:
        Preferences(**arguments)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("num_actions", "reward_shape", "error_type", "message"),
    [
        (2.5, (), TypeError, "num_actions is 2.5; expected an integer"),
    ],
)
def test_bad_arguments_of_a_subclass_are_refused(num_actions, reward_shape, error_type, message):
    class Vector(Preferences):
        def __init__(self):
            spec = ArraySpec(reward_shape, np.float32)
            BanditPyEnvironment.__init__(self, ArraySpec((), np.float32), num_actions, spec)

    with pytest.raises(error_type) as error:
        Vector()
    assert str(error.value) == message


@given(st.integers(1, 50), st.integers(1, 20), st.none() | st.integers(1, 9))
def test_a_bandit_says_what_it_was_made_with(num_actions, batch_size, horizon):
    env = Preferences(num_actions, batch_size=batch_size, horizon=horizon)
    assert (env.num_actions, env.batch_size, env.horizon) == (num_actions, batch_size, horizon)
    assert_identical(
        env.action_spec(), BoundedArraySpec((), np.int32, 0, num_actions - 1, "action")
    )
    assert env.observation_spec() == ArraySpec((num_actions,), np.float32)
    assert env.name == "Preferences"


def test_a_stream_returns_last_and_the_next_observation():
    env = Table([[1, 2]])
    assert env.step(None).observation == [0]
    for index in range(1, 5):
        time_step = env.step(1)
        assert_identical(time_step.step_type, np.array([2], np.int32))
        assert_identical(time_step.discount, np.array([0], np.float32))
        assert_identical(time_step.reward, np.array([2], np.float32))
        assert_identical(time_step.observation, np.array([index]))
        assert not env.should_reset(time_step)


@given(st.integers(1, 5), st.integers(1, 3))
def test_an_episode_is_cut_off_at_its_horizon(horizon, batch_size):
    env = Table(np.ones((batch_size, 2)), horizon=horizon)
    action = np.zeros(batch_size, np.int32)
    for _ in range(2):
        time_steps = [env.step(action) for _ in range(horizon + 1)]
        expected = [0] + [1] * (horizon - 1) + [2]
        assert [int(time_step.step_type[0]) for time_step in time_steps] == expected
        assert all((time_step.discount == 1).all() for time_step in time_steps)
        assert [int(time_step.observation[0]) for time_step in time_steps] == [*range(horizon + 1)]
        assert env.should_reset(time_steps[-1])


class Endless(KArmedTestbed):
    """Goes on after the end of an episode."""

    def should_reset(self, time_step):
        return False


class Impatient(KArmedTestbed):
    """Starts anew after two steps, before an episode ends."""

    def should_reset(self, time_step):
        return super().should_reset(time_step) or self._state.latent.steps == 2


@pytest.mark.parametrize(
    ("kind", "expected"), [(Endless, [0, 1, 1, 2, 2, 2, 2]), (Impatient, [0, 1, 1, 0, 1, 1, 0])]
)
@pytest.mark.parametrize("wrap", [lambda env: env, lambda env: AffineReward(AffineReward(env))])
def test_steps_and_drivers_reset_when_a_class_says_so(kind, expected, wrap):
    env = wrap(kind(k=2, horizon=3, seed=0))
    assert [int(env.step(0).step_type[0]) for _ in expected] == expected
    driven = wrap(kind(k=2, horizon=3, seed=0))
    seen = []
    policy = RandomPolicy(num_actions=2, seed=1)
    StepDriver(driven, policy, [seen.append], num_steps=4).run()
    taken = [step_type for step_type in expected if step_type != 0][:4]
    assert [int(trajectory.next_step_type[0]) for trajectory in seen] == taken


@pytest.mark.parametrize("ignored", [None, [7, 7], "x", [0.5, 0.5]])
def test_a_step_that_resets_does_not_look_at_its_action(ignored):
    env = Table(np.ones((2, 2)), horizon=1)
    assert env.step(ignored).is_first().all()
    assert env.step([0, 1]).is_last().all()
    assert env.step(ignored).is_first().all()


def test_rewards_are_drawn_before_the_next_state():
    env, rng = Recorded(batch_size=2, seed=3), np.random.default_rng(3)
    rng.standard_normal((2, 4), np.float32)
    env.reset()
    time_step = env.step([0, 1])
    assert_identical(time_step.reward, np.full(2, rng.random(), np.float32))
    assert_identical(time_step.observation, np.full((2, 4), rng.random(), np.float32))


@given(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.sampled_from(INTEGERS))
def test_integers_of_every_dtype_are_accepted(actions, dtype):
    table = np.arange(5.0) + 10 * np.arange(len(actions))[:, np.newaxis]
    expected = table[np.arange(len(actions)), actions].astype(np.float32)
    for action in (np.array(actions, dtype), actions, tuple(actions)):
        assert_identical(reset(Table(table)).step(action).reward, expected)


@pytest.mark.parametrize("action", [2, np.int8(2), np.array(2), np.array([2]), [2], (np.int64(2),)])
def test_a_batch_of_one_takes_a_number(action):
    assert reset(Table([[1, 2, 3]])).step(action).reward == 3


def test_rows_of_another_array_are_accepted():
    actions = np.array([[0, 9], [1, 9]])
    assert reset(Table(np.array([[1, 2], [3, 4]]))).step(actions[:, 0]).reward.tolist() == [1, 4]


@pytest.mark.parametrize(
    ("action", "error_type", "message"),
    [
        ([0, 1, 5], ValueError, "action[2] is 5; expected 0 <= action < 5"),
        ([0, -1, 9], ValueError, "action[1] is -1; expected 0 <= action < 5"),
        ([2**40, 0, 0], ValueError, "action[0] is 1099511627776; expected 0 <= action < 5"),
        (
            np.array([0, 0, 2**64 - 1], np.uint64),
            ValueError,
            "action[2] is 18446744073709551615; expected 0 <= action < 5",
        ),
        ([0, 1], ValueError, "action has shape (2,)"),
        (1, ValueError, "action has shape ()"),
        ([[0, 1, 2]], ValueError, "action has shape (1, 3)"),
        ([0.0, 1.0, 2.0], TypeError, "action is float64: [0.0, 1.0, 2.0]; expected integers"),
        ([True, False, True], TypeError, "action is bool: [True, False, True]; expected integers"),
        (None, TypeError, "action is object: None; expected integers"),
        ("012", TypeError, "action is <U3: '012'; expected integers"),
        ([2**70, 0, 0], TypeError, "action is object: [1180591620717411303424, 0, 0]; expected"),
        ([[0], [0, 1], 2], ValueError, "action is [[0], [0, 1], 2]; expected an array of numbers"),
        ([], TypeError, "action is float64: []; expected integers"),
    ],
)
def test_a_bad_action_is_told_what_was_expected(action, error_type, message):
    env = reset(Preferences(5, batch_size=3, seed=0))
    before = env.get_state()
    with pytest.raises(error_type) as error:
        env.step(action)
    assert str(error.value).startswith(message)
    assert_identical(env.get_state(), before)


@pytest.mark.parametrize("action", [-1, 5, 2**40, np.uint64(2**63), [5], np.array([-1])])
def test_a_bad_action_of_a_batch_of_one_is_told_so(action):
    env = reset(Preferences(5, batch_size=1, seed=0))
    with pytest.raises(ValueError) as error:
        env.step(action)
    number = int(np.asarray(action).item())
    assert str(error.value) == f"action[0] is {number}; expected 0 <= action < 5"


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("rows", [[1], [0, 3], [2]])
def test_a_nan_reward_is_refused_with_its_row_and_function(dtype, rows):
    table = np.zeros((4, 2))
    table[rows, 1] = np.nan
    env = reset(Table(table, dtype))
    with pytest.raises(ValueError) as error:
        env.step([1, 1, 1, 1])
    assert str(error.value) == f"table._draw_rewards returned NaN for row {rows[0]}"
    env.reset()
    assert env.step([0, 0, 0, 0]).observation.tolist() == [1, 1, 1, 1]


def test_a_nan_reward_of_a_batch_of_one_is_refused():
    with pytest.raises(ValueError, match=r"table._draw_rewards returned NaN for row 0"):
        reset(Table([[np.nan]])).step(0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rewards", [[np.inf, -np.inf], [3e38, -3e38], [np.inf, np.inf], [0, 0]])
def test_infinite_and_huge_rewards_are_not_nan(dtype, rewards):
    table = np.array(rewards)[:, np.newaxis]
    assert_identical(reset(Table(table, dtype)).step([0, 0]).reward, np.array(rewards, dtype))


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int32, np.uint8, np.bool_])
def test_rewards_have_the_dtype_of_their_spec(dtype):
    env = Table(np.array([[0, 1], [0, 1]]), dtype)
    assert_identical(env.reset().reward, np.zeros(2, dtype))
    assert_identical(env.step([0, 1]).reward, np.array([0, 1], dtype))


@pytest.mark.parametrize("reward", [0.5, np.nan, np.inf, 300])
def test_rewards_that_an_integer_spec_does_not_hold_are_refused(reward):
    env = reset(Table(np.array([[0.0, reward], [0.0, 0.0]]), np.uint8))
    with pytest.raises(ValueError, match="which uint8 cannot hold"):
        env.step([1, 0])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("reward", "error", "message"),
    [
        (1e300, ValueError, "returned -?1e[+]300, which float32 cannot hold"),
        (1j, TypeError, "returned complex128"),
        ("1.0", TypeError, "returned <U3"),
        (None, TypeError, "returned object"),
    ],
)
def test_rewards_that_a_floating_spec_does_not_hold_are_refused(reward, error, message):
    class Odd(Preferences):
        def _draw_rewards(self, rng, state, action):
            return np.full(self.batch_size, reward)

    with pytest.raises(error, match=f"Odd._draw_rewards {message}"):
        reset(Odd()).step([0, 0, 0])


def test_rewards_of_another_shape_are_refused():
    class Column(Preferences):
        def _draw_rewards(self, rng, state, action):
            return state[:, :1]

    with pytest.raises(ValueError) as error:
        reset(Column()).step([0, 0, 0])
    assert str(error.value) == "Column._draw_rewards returned shape (3, 1); expected (3,)"


def test_means_of_a_wrong_shape_or_nan_are_refused():
    for wrong in (np.ones((3, 3)), np.ones((1, 2)), np.full((3, 2), np.nan)):
        env = reset(Table(np.ones((3, 2))))
        env._expected_rewards = lambda state, wrong=wrong: wrong
        with pytest.raises(ValueError, match="_expected_rewards returned"):
            env.optimal_action()


def test_an_observation_of_a_wrong_shape_is_refused_at_the_reset():
    class Wrong(Preferences):
        def _observe(self, state):
            return np.full((self.batch_size, 7), np.nan)

    with pytest.raises(ValueError, match="_observe returned"):
        Wrong().reset()


def test_a_mask_without_an_action_is_refused():
    class Asleep(Preferences):
        _observe = BanditPyEnvironment._observe

        def __init__(self):
            BanditPyEnvironment.__init__(self, None, 4)

        def _available(self, state):
            return np.zeros((self.batch_size, self.num_actions), np.bool_)

    with pytest.raises(ValueError, match="_available returned no action for row 0"):
        Asleep().reset()


def test_an_observation_that_does_not_tell_what_is_available_is_refused():
    class Secretive(Preferences):
        def _available(self, state):
            return state > -np.inf

    with pytest.raises(ValueError, match="observation_spec"):
        Secretive().reset()


class Fading(Preferences):
    """What is observed after a step is NaN in row 1."""

    def _next_state(self, rng, state, action):
        return np.where([[False], [True], [False]], np.float32("nan"), state)


def test_a_nan_observation_is_refused_with_its_row_and_function():
    env = reset(Fading(4, batch_size=3, seed=0))
    with pytest.raises(ValueError, match=r"Fading\._observe returned NaN for row 1"):
        env.step([0, 0, 0])


class Slates(BanditPyEnvironment):
    """Slates of two of three items pay the sum of their values."""

    def __init__(self):
        spec = BoundedArraySpec((2,), np.int32, 0, 2, "action")
        super().__init__(action_spec=spec, batch_size=2, seed=0)

    def _initial_state(self, rng):
        return np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])

    def _draw_rewards(self, rng, state, action):
        return self._of_action(state, action).sum(axis=1)

    def _expected_rewards(self, state):
        return state


def test_slates_find_the_values_of_their_items():
    env = reset(Slates())
    assert env.step([[0, 2], [1, 1]]).reward.tolist() == [4.0, 10.0]


@pytest.mark.parametrize("question", ["get_info", "optimal_action", "optimal_reward", "render"])
def test_slates_without_oracles_of_their_own_say_so(question):
    env = reset(Slates())
    env.step([[0, 2], [1, 1]])
    with pytest.raises(NotImplementedError, match="an action is not one integer"):
        getattr(env, question)()


def test_scores_may_be_actions_and_say_that_their_means_are_unknown():
    class Scores(Slates):
        def __init__(self):
            spec = BoundedArraySpec((3,), np.float32, -1.0, 1.0, "action")
            BanditPyEnvironment.__init__(self, action_spec=spec, batch_size=2)

        def _draw_rewards(self, rng, state, action):
            return (state * action).sum(axis=1)

    env = reset(Scores())
    assert env.step(np.eye(2, 3)).reward.tolist() == [1.0, 5.0]
    with pytest.raises(NotImplementedError, match="an action is not one integer"):
        env.get_info()


def test_natural_names_are_free_for_subclasses():
    class Named(Preferences):
        def __init__(self):
            self._means = self._arms = self._best = self._window = self._discounts = 7
            super().__init__()

    env = reset(Named())
    env.optimal_action()
    env.close()
    assert (env._means, env._arms, env._best, env._window, env._discounts) == (7,) * 5
