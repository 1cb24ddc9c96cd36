"""What a bandit says of hooks that return what they should not."""

import numpy as np
import pytest

from bandit_envs import ArraySpec, BanditPyEnvironment, StationaryStochasticPyEnvironment
from bandit_envs.rewards import LinearActionReward
from bandit_envs.sampling import Normal
from bandit_envs.specs import SlateSpec
from tests.testing.sound_environments import Preferences


class Masked(BanditPyEnvironment):
    """The last action is not available."""

    def __init__(self):
        super().__init__(num_actions=3, batch_size=2)

    def _initial_state(self, rng):
        return np.zeros((2, 3))

    def _available(self, state):
        return np.array([[True, True, False]] * 2)

    def _expected_rewards(self, state):
        return state

    def _draw_rewards(self, rng, state, action):
        return np.zeros(2)


class Shelf(BanditPyEnvironment):
    """Slates of two of three items."""

    def __init__(self):
        super().__init__(action_spec=SlateSpec.of(2, 3), batch_size=2)

    def _initial_state(self, rng):
        return None

    def _draw_rewards(self, rng, state, action):
        return np.zeros(2)

    def _expected_reward(self, state, action):
        return np.zeros(2)

    def _optimal_action(self, state):
        return np.array([[0, 1], [0, 1]])


class Parts(Preferences):
    """Rewards and observations are dicts."""

    def __init__(self):
        spec = {"a": ArraySpec((), np.float32), "b": ArraySpec((), np.float32)}
        BanditPyEnvironment.__init__(self, spec, 4, spec, batch_size=2)

    def _observe(self, state):
        return {"a": np.zeros(2, np.float32), "b": np.zeros(2, np.float32)}

    def _draw_rewards(self, rng, state, action):
        return {"a": np.zeros(2), "b": np.zeros(2)}


def run(env):
    """Calls every hook."""
    env.reset()
    env.step([[0, 1], [1, 2]] if isinstance(env, Shelf) else np.zeros(env.batch_size, int))
    env.get_info()
    env.reset()


BAD_RESULTS = [
    (Masked, "_observe", None, TypeError, r"None: found a NoneType; expected a dict"),
    (Masked, "_observe", {"mask": 1}, ValueError, r"keys are \['mask'\]; expected"),
    (Masked, "_available", [[True] * 3] * 2, TypeError, r"\[\[True.*; expected an array of bool"),
    (Masked, "_expected_rewards", None, TypeError, "object: None; expected real numbers"),
    (Masked, "_expected_rewards", 1.0, ValueError, r"shape \(\); expected \(2, 3\)"),
    (Masked, "_draw_rewards", None, TypeError, "object: None; expected real numbers"),
    (Masked, "_draw_rewards", [[1], [1, 2]], ValueError, r"\[\[1\], \[1, 2\]\]; expected"),
    (Masked, "_next_state", None, TypeError, "None; expected the next state"),
    (Masked, "_next_episode", None, TypeError, "None; expected the next state"),
    (Preferences, "_observe", None, TypeError, "None; expected an array"),
    (Preferences, "_observe", [[0.0] * 4] * 3, TypeError, r"\[\[0.0.*; expected an array"),
    (Shelf, "_expected_reward", None, TypeError, "object: None; expected real numbers"),
    (Shelf, "_expected_reward", np.zeros(3), ValueError, r"shape \(3,\); expected \(2,\)"),
    (Shelf, "_optimal_action", None, TypeError, "object: None; expected real numbers"),
    (Parts, "_observe", {"a": np.zeros(2), "b": np.zeros(2)}, TypeError, "float64; .* float32"),
    (Parts, "_draw_rewards", None, TypeError, "None: found a NoneType; expected a dict"),
    (Parts, "_draw_rewards", {"a": np.zeros(2)}, ValueError, "keys are .*; expected"),
]


@pytest.mark.parametrize(("kind", "hook", "result", "error", "message"), BAD_RESULTS)
def test_a_bad_result_names_the_hook_and_what_it_returned(kind, hook, result, error, message):
    wrong = type("Wrong", (kind,), {hook: lambda *arguments: result})
    with pytest.raises(error, match=rf"^Wrong\.{hook} returned .*{message}"):
        run(wrong())


def test_a_subclass_of_a_class_that_skips_the_check_for_nan_is_checked():
    class Forgetful(StationaryStochasticPyEnvironment):
        def _observe(self, state):
            return np.full_like(state, np.nan)

    env = Forgetful(Normal(2), LinearActionReward(np.ones((3, 2))), batch_size=2)
    with pytest.raises(ValueError, match=r"_observe returned NaN for row 0"):
        env.reset()

    class LaterForgetful(StationaryStochasticPyEnvironment):
        def _next_state(self, rng, state, action):
            return np.full_like(state, np.nan)

    env = LaterForgetful(Normal(2), LinearActionReward(np.ones((3, 2))), batch_size=2)
    env.reset()
    with pytest.raises(ValueError, match=r"_observe returned NaN for row 0"):
        env.step([0, 0])
