"""Policies get more actions, and keep what they have learned of those that they had."""

import numpy as np
import pytest

from bandit_envs import BernoulliPyEnvironment, StepDriver
from bandit_envs.base.bandit_py_environment import available_actions
from bandit_envs.base.saving import load_state, save_state
from bandit_envs.environments import KnapsackBandit
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.policies import BestArmPolicy, KnapsackPolicy
from bandit_envs.policies.registry import POLICIES
from bandit_envs.testing.comparison import assert_identical
from bandit_envs.wrappers.wrapper import with_entries
from tests.policies.examples import is_class_of, make_environment, make_policy

MORE = 2

REFUSED = {
    "uniform_allocation": "budget",
    "ucb_e": "budget",
    "successive_rejects": "budget",
    "sequential_halving": "budget",
    "g_optimal": "features",
    "random_number": "interval",
    "gaussian": "interval",
}
"""Policies that cannot have more actions, and a word of the reason."""

NAMES = [name for name in POLICIES if name not in REFUSED]

DEPENDS_ON_K = {
    *("exp3", "exp3_s", "tsallis_inf", "tsallis_inf_rv"),
    *("track_and_stop", "c_tracking", "decaying_epsilon_greedy", "moss"),
    *(name for name in POLICIES if "reg_cb" in name or name.startswith("sklearn")),
}
"""Policies that choose among known actions by how many there are."""

FIXED = {"constant", "greedy", "beta_greedy"}
"""Policies that may never choose new actions."""

SCALED = {
    *("exp3", "exp3_s", "tsallis_inf", "tsallis_inf_rv", "gradient"),
    *("track_and_stop", "c_tracking"),
    *("greedy", "epsilon_greedy", "decaying_epsilon_greedy"),
    *("neural_ucb", "neural_thompson"),
}
"""Policies that know numbers which depend on each other, such as shares, or are in one row."""


def wide_environment(name, batch_size, seed=0):
    """Returns an environment like that of `make_environment`, with more actions that pay more."""
    entry = POLICIES[name]
    sizes = {"batch_size": batch_size, "seed": seed}
    if entry.slates and entry.context == "items":
        return ENVIRONMENTS["ranking"].make(num_items=8, num_slots=3, dim=2, **sizes)
    if entry.slates:
        chances = np.linspace(0.1, 0.5, make_environment(name).num_actions + MORE)
        return ENVIRONMENTS["cascade"].make(chances, num_slots=2, **sizes)
    if entry.context == "items":
        return ENVIRONMENTS["per_arm"].make(global_dim=2, arm_dim=3, max_num_actions=6, **sizes)
    if is_class_of(name, KnapsackPolicy):
        rewards = (0.2, 0.4, 0.6, 0.8, 0.9, 0.9)
        return KnapsackBandit(rewards, (0.1, 0.4, 0.5, 0.9, 0.1, 0.1), 15, 20, **sizes)
    if entry.context == "any":
        return ENVIRONMENTS["logistic_context"].make(num_actions=6, **sizes)
    return BernoulliPyEnvironment([0.2, 0.4, 0.6, 0.8, 0.9, 0.9], **sizes)


def taught(name, batch_size=3, num_steps=25):
    """Returns a policy that has learned, and the last time step."""
    env = make_environment(name, batch_size)
    policy = make_policy(name, env)
    return policy, StepDriver(env, policy, [policy], num_steps=num_steps).run()


def masked(time_step, known, num_actions, first=0):
    """Returns a time step of more actions, of which those from `first` to `known` are available."""
    observation = time_step.observation
    available = available_actions(observation, known)
    size = len(time_step.step_type)
    mask = np.zeros((size, num_actions), np.bool_)
    mask[:, first:known] = True if available is None else available[:, first:known]
    if first == known:
        mask[:, known:] = True
    shown = with_entries(observation, mask=mask)
    if "per_arm" in shown:
        features = shown["per_arm"]
        more = np.ones((size, num_actions - known, *features.shape[2:]), features.dtype)
        shown["per_arm"] = np.concatenate((features[:, :known], more), axis=1)
    return time_step._replace(observation=shown)


def require_kept(found, known):
    """Requires arrays to be at the beginning of larger ones, and all else to be the same."""

    def compare(old, new):
        if isinstance(old, np.ndarray):
            np.testing.assert_array_equal(new[tuple(map(slice, old.shape))], old)
        elif isinstance(old, (int, float)):
            assert old == new

    if isinstance(known, (list, tuple)):
        for old, new in zip(known, found):
            require_kept(new, old)
    elif isinstance(known, dict):
        for key, old in known.items():
            require_kept(found[key], old)
    else:
        compare(known, found)


@pytest.mark.parametrize("batch_size", [1, 3])
@pytest.mark.parametrize("name", NAMES)
def test_known_actions_stay_known(name, batch_size):
    policy, time_step = taught(name, batch_size)
    known = policy.num_actions
    before = policy.get_state()
    wide = policy.with_actions(known + MORE)
    assert_identical(policy.get_state(), before, "the policy itself")
    assert wide.num_actions == known + MORE
    assert_identical(wide.get_state().content.rng, before.content.rng, "the generator")
    if name not in SCALED:
        learned = before.content.learned
        if is_class_of(name, BestArmPolicy):
            learned = learned._replace(stopped=np.zeros_like(learned.stopped))
        require_kept(wide.get_state().content.learned, learned)
    if name in DEPENDS_ON_K or POLICIES[name].slates or not policy.knows_probabilities:
        return
    asked = masked(time_step, known, known)
    found = wide.probabilities(masked(time_step, known, known + MORE))
    rows = ~policy.stopped if isinstance(policy, BestArmPolicy) else slice(None)
    assert not found[:, known:].any()
    np.testing.assert_allclose(found[rows, :known], policy.probabilities(asked)[rows], rtol=1e-9)


@pytest.mark.parametrize("batch_size", [1, 3])
@pytest.mark.parametrize("name", NAMES)
def test_learning_goes_on_with_new_actions(name, batch_size, tmp_path):
    policy, _ = taught(name, batch_size)
    wide = policy.with_actions(policy.num_actions + MORE)
    env = wide_environment(name, batch_size)
    assert env.num_actions == wide.num_actions
    save_state(tmp_path / "state.npz", wide.get_state())
    recorded = []
    StepDriver(env, wide, [wide, recorded.append], num_steps=60).run()
    chosen = np.concatenate([trajectory.action.reshape(-1) for trajectory in recorded])
    assert name in FIXED or (chosen >= policy.num_actions).any()

    env = wide_environment(name, batch_size)
    again = make_wide(name, env)
    again.set_state(load_state(tmp_path / "state.npz"))
    StepDriver(env, again, [again], num_steps=60).run()
    assert_identical(again.get_state(), wide.get_state(), "the policy from the file")


def make_wide(name, env):
    """Returns a policy that is made with more actions than its log has, if it has one."""
    if name == "warm_start":
        return POLICIES["lin_ucb"].make_for(env, {"alpha": 0.5}, 0)
    return make_policy(name, env)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "warm_start"])
def test_a_policy_that_knows_nothing_becomes_one_that_is_made_with_more_actions(name):
    narrow = make_policy(name, make_environment(name))
    wide = narrow.with_actions(narrow.num_actions + MORE)
    made = make_policy(name, wide_environment(name, 5))
    assert repr(wide) == repr(made)
    assert_identical(wide.get_state(), made.get_state(), "what it knows")


@pytest.mark.parametrize("name", REFUSED)
def test_a_policy_that_cannot_have_more_actions_says_why(name):
    policy, _ = taught(name, num_steps=2)
    with pytest.raises(ValueError, match=f"cannot have more than .* actions: .*{REFUSED[name]}"):
        policy.with_actions(policy.num_actions + 1)
    same = policy.with_actions(max(policy.num_actions, 0))
    assert_identical(same.get_state(), policy.get_state(), "a copy")
