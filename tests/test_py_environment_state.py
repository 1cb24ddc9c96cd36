"""Seeds and saved states of environments."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandit_envs import ArraySpec, BoundedArraySpec, KArmedTestbed, TransformObservation
from bandit_envs.testing import assert_identical
from tests.testing.sound_environments import GOOD, Corridor, Unbounded, corridor


@pytest.mark.parametrize(
    "seed",
    [
        lambda: 7,
        lambda: np.uint8(7),
        lambda: [7, 8],
        lambda: np.random.SeedSequence(7),
        lambda: np.random.PCG64DXSM(7),
        lambda: np.random.default_rng(7),
        lambda: np.random.RandomState(7),
    ],
)
def test_every_kind_of_seed_can_be_used_saved_and_replayed(seed):
    env, other = corridor(seed=seed()), corridor(seed=seed())
    assert_identical(env.reset(), other.reset())
    token = env.get_state()
    expected = [env.step(GOOD) for _ in range(3)]
    env.set_state(token)
    assert_identical([env.step(GOOD) for _ in range(3)], expected)
    assert_identical([other.step(GOOD) for _ in range(3)], expected)


def test_a_generator_given_as_a_seed_is_the_environments_own():
    rng = np.random.default_rng(0)
    env = corridor(seed=rng)
    assert env.np_random is rng


def test_no_seed_is_fresh_entropy():
    assert not np.array_equal(
        corridor(seed=None).reset().observation["position"],
        corridor(seed=None).reset().observation["position"],
    )


@given(st.integers(0, 2**70))
def test_seed_does_what_the_constructor_does(seed):
    env = corridor()
    assert env.seed(seed) == [seed]
    assert_identical(env.reset(), corridor(seed=seed).reset())


def test_the_entropy_that_seed_drew_can_be_used_again():
    env = corridor()
    (entropy,) = env.seed()
    assert_identical(corridor(seed=entropy).reset(), env.reset())
    assert env.seed() != env.seed()


def test_seed_keeps_the_time_step():
    env = corridor()
    time_step = env.reset()
    env.seed(7)
    assert_identical(env.current_time_step(), time_step)


@pytest.mark.parametrize(("seed", "error_type"), [(-1, ValueError), ("x", TypeError)])
def test_a_bad_seed_changes_nothing(seed, error_type):
    env = corridor()
    env.reset()
    before = env.get_state()
    with pytest.raises(error_type, match=r"^seed is"):
        env.seed(seed)
    assert_identical(env.get_state(), before)


def test_what_is_no_token_is_refused():
    with pytest.raises(TypeError) as error:
        corridor().set_state({})
    assert str(error.value) == "state is a dict; expected what get_state() returns"


class OtherCorridor(Corridor):
    def observation_spec(self):
        return {**super().observation_spec(), "more": ArraySpec((), np.float32)}


@pytest.mark.parametrize(
    "other",
    [
        corridor(batch_size=3),
        OtherCorridor(batch_size=2),
        Unbounded(batch_size=2),
    ],
)
def test_a_token_of_another_environment_is_refused(other):
    env = corridor()
    env.reset()
    before = env.get_state()
    with pytest.raises(ValueError) as error:
        env.set_state(other.get_state())
    assert f"{type(other).__name__} with {{'batch_size': {other.batch_size}}}" in str(error.value)
    assert_identical(env.get_state(), before)


def test_print_options_of_numpy_do_not_matter():
    spec = BoundedArraySpec((3,), np.float32, [-0.123456789, -1, -2], [1 / 3, 2 / 3, 5])
    env = TransformObservation(KArmedTestbed(), lambda x: np.zeros((1, 3), np.float32), spec)
    env.reset()
    state = env.get_state()
    with np.printoptions(precision=3):
        env.set_state(state)
    assert_identical(env.get_state(), state)


@pytest.mark.parametrize(
    "edit",
    [
        lambda content: content._replace(rng=None),
        lambda content: content._replace(rng=7),
        lambda content: content._replace(time_step="x"),
        lambda content: content._replace(latent=5),
        lambda content: content._replace(latent=None),
        lambda content: [*content],
        lambda content: None,
    ],
)
def test_a_state_of_another_kind_or_spec_is_refused_and_changes_nothing(edit):
    env = KArmedTestbed(k=3, batch_size=2, seed=0)
    env.reset()
    env.step([0, 1])
    before = env.get_state()
    with pytest.raises(ValueError, match="state does not fit KArmedTestbed"):
        env.set_state(before._replace(content=edit(before.content)))
    assert_identical(env.get_state(), before)


def test_what_is_returned_can_be_reshaped_without_changing_the_environment():
    env, twin = (KArmedTestbed(k=3, batch_size=2, seed=0, horizon=3) for _ in range(2))
    time_step, expected = env.reset(), twin.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        time_step.observation.shape = (-1,)
        time_step.reward.dtype = np.int32
        time_step.discount.shape = (2, 1)
    assert_identical(env.current_time_step(), expected)
    assert_identical(env.step([0, 1]), twin.step([0, 1]))


def test_messages_stay_short():
    env = KArmedTestbed(batch_size=20_000)
    env.reset()
    with pytest.raises(TypeError) as error:
        env.step([0.5] * 20_000)
    assert len(str(error.value)) < 500


def test_the_write_flag_of_what_is_returned_cannot_be_set():
    env = KArmedTestbed(k=3, batch_size=2, seed=0)
    time_step = env.reset()
    env.step([0, 1])
    shown = (env.expected_rewards(), env.optimal_action(), *env.get_info().values(), *time_step)
    for array in shown:
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.setflags(write=True)
