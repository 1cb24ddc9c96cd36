import numpy as np
import pytest

from bandit_envs import ArraySpec, BoundedArraySpec, KArmedTestbed
from bandit_envs.wrappers import AddActionMask, TransformObservation
from tests.cases import for_each
from tests.wrappers.examples import Payer, per_arm_bandit

SPEC = ArraySpec((1,), np.float32, "observation")


def test_the_function_sees_the_whole_batch_and_its_result_is_observed():
    bandit = per_arm_bandit()
    spec = ArraySpec((4, 5), np.float32, "concatenated")

    def concatenated(observation):
        users = np.repeat(observation["global"][:, np.newaxis], 4, axis=1)
        return np.concatenate([users, observation["per_arm"]], axis=2)

    env = TransformObservation(bandit, concatenated, spec)
    assert env.observation_spec() is spec
    for move in (env.reset, lambda: env.step([0, 0, 0])):
        time_step = move()
        assert time_step.observation.shape == (3, 4, 5)
        inner = bandit.current_time_step().observation
        assert np.array_equal(time_step.observation[:, 0, :2], inner["global"])
        assert not time_step.observation.flags.writeable
    assert np.array_equal(env.expected_rewards(), bandit.expected_rewards())


@for_each(
    ("func", "spec"),
    [
        (lambda x: x.astype(np.float64), SPEC),
        (lambda x: x[:1], SPEC),
        (lambda x: 2 * x, BoundedArraySpec((1,), np.float32, 0.0, 1.0)),
        (lambda x: {"x": x}, SPEC),
        (lambda x: None, SPEC),
        (lambda x: x, {"x": SPEC}),
        (lambda x: np.where([[True], [False]], x, np.float32("nan")), SPEC),
    ],
)
def test_what_is_not_as_the_spec_says_is_refused(func, spec):
    env = TransformObservation(KArmedTestbed(batch_size=2), func, spec)
    with pytest.raises((TypeError, ValueError), match="func of Transform"):
        env.reset()


def test_a_function_that_changes_its_dict_changes_no_more():
    def without_users(observation):
        observation["global"] = np.zeros_like(observation["global"])
        return observation

    bandit, twin = per_arm_bandit(), per_arm_bandit()
    env = TransformObservation(bandit, without_users, bandit.observation_spec())
    env.reset()
    twin.reset()
    for _ in range(3):
        time_step, expected = env.step([0, 0, 0]), twin.step([0, 0, 0])
        assert np.array_equal(time_step.reward, expected.reward)
        assert np.array_equal(time_step.observation["per_arm"], expected.observation["per_arm"])
        assert not time_step.observation["global"].any()
        assert bandit.current_time_step().observation["global"].all()
    assert env.observation_spec() == bandit.observation_spec()


def test_what_is_no_spec_is_refused():
    with pytest.raises(TypeError, match="spec is 'spec'"):
        TransformObservation(KArmedTestbed(), lambda x: x, "spec")


def test_the_mask_says_which_actions_are_available():
    env = AddActionMask(per_arm_bandit(batch_size=50))
    assert env.observation_spec()["mask"] == ArraySpec((4,), np.bool_)
    for move in (env.reset, lambda: env.step(np.zeros(50, int))):
        observation = move().observation
        mask = observation["mask"]
        assert list(observation) == ["global", "per_arm", "num_actions", "mask"]
        assert (mask.shape, mask.dtype) == ((50, 4), np.bool_)
        assert np.array_equal(mask, np.isfinite(env.expected_rewards()))
        assert np.array_equal(mask.sum(axis=1), observation["num_actions"])
        assert not mask.flags.writeable


def test_an_action_that_is_masked_out_is_refused_by_the_environment():
    env = AddActionMask(per_arm_bandit(batch_size=50))
    mask = env.reset().observation["mask"]
    row = int(np.flatnonzero(~mask[:, 3])[0])
    action = np.where(np.arange(50) == row, 3, 0)
    with pytest.raises(ValueError, match=rf"action\[{row}\] is 3"):
        env.step(action)


def dict_observation(**specs):
    """A testbed that observes zeros, under the names given."""

    def zeros(observation):
        return {name: np.zeros((1, *spec.shape), spec.dtype) for name, spec in specs.items()}

    return TransformObservation(KArmedTestbed(k=3), zeros, specs)


COUNT = ArraySpec((), np.int32)


@for_each(
    ("env", "message"),
    [
        (KArmedTestbed(), "env has observation_spec ArraySpec.*; expected num_actions"),
        (dict_observation(x=SPEC), "expected num_actions"),
        (dict_observation(num_actions=COUNT, mask=SPEC), "and no mask"),
    ],
)
def test_an_environment_without_numbers_of_actions_has_no_mask(env, message):
    with pytest.raises(ValueError, match=message):
        AddActionMask(env)


def test_an_environment_that_is_no_bandit_has_no_mask():
    spec = {"num_actions": ArraySpec((), np.int32)}
    env = TransformObservation(Payer([1.0]), lambda steps: {"num_actions": steps}, spec)
    with pytest.raises(NotImplementedError, match="is not a bandit"):
        AddActionMask(env)
