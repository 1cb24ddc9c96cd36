"""Ctrl-C at any line of the package: what it interrupts is done as a whole, or not at all."""

import copy
import sys

import numpy as np
import pytest

import bandit_envs
from bandit_envs import AverageRewardMetric, KArmedTestbed
from bandit_envs.testing import assert_identical
from bandit_envs.trajectories import Trajectory, restart, termination
from bandit_envs.wrappers import AffineReward, TransformObservation
from tests.environments.per_arm import B, make

PACKAGE = bandit_envs.__path__[0]


def interrupted_at(line, function):
    """Whether `function` comes to an n-th line of the package; a KeyboardInterrupt is raised there.

    It is not if the function is done before.
    """
    lines = 0

    def trace(frame, event, _):
        nonlocal lines
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line":
            lines += 1
            if lines == line:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def twice_wrapped():
    env = KArmedTestbed(3, batch_size=B, seed=0)
    same = TransformObservation(env, lambda seen: seen, env.observation_spec())
    return AffineReward(same, scale=2.0, shift=1.0)


@pytest.mark.parametrize("make_env", [lambda: KArmedTestbed(3, batch_size=B), make, twice_wrapped])
@pytest.mark.parametrize("move", [lambda env: env.step([0] * B), lambda env: env.reset()])
def test_a_step_is_taken_or_not(make_env, move):
    env = make_env()
    env.reset()
    env.step([0] * B)
    line = 1
    while True:
        interrupted, whole = copy.deepcopy(env), copy.deepcopy(env)
        before = interrupted.get_state()
        if not interrupted_at(line, lambda moved=interrupted: move(moved)):
            break
        move(whole)
        try:
            assert_identical(interrupted.get_state(), before, "the state after an interrupt")
        except AssertionError:
            assert_identical(interrupted.get_state(), whole.get_state(), "the state after a step")
        line += 1
    assert line > 10


def test_a_metric_takes_a_step_in_or_not():
    time_step = restart(np.ones((2, 1), np.float32), batch_size=2)
    steps = [
        Trajectory.from_transition(time_step, [0, 0], termination(time_step.observation, reward))
        for reward in ([1.0, 3.0], [5.0, 5.0])
    ]
    line = 1
    while True:
        metric, twin = AverageRewardMetric(), AverageRewardMetric()
        metric(steps[0])
        twin(steps[0])
        if not interrupted_at(line, lambda called=metric: called(steps[1])):
            break
        if len(metric.result().per_step.mean) == 2:
            twin(steps[1])
        for found, expected in ((metric, twin), (copy.deepcopy(metric), twin)):
            found(steps[0])
            again = copy.deepcopy(expected)
            again(steps[0])
            assert_identical(found.result().per_step.mean, again.result().per_step.mean)
            assert_identical(found.result().cumulative, again.result().cumulative)
        line += 1
    assert line > 10
