"""A state belongs to an object with the same constants."""

import functools

import numpy as np
import pytest

from bandit_envs import (
    AffineReward,
    AverageRewardMetric,
    BanditPyEnvironment,
    BernoulliPyEnvironment,
    ContextualPolicy,
    DelayedRewards,
    EpsilonGreedyPolicy,
    KArmedTestbed,
    LinUCBPolicy,
    RandomActionMask,
    StationaryStochasticPerArmPyEnvironment,
    StepDriver,
    UCBPolicy,
    WheelPyEnvironment,
    load_state,
    save_state,
)
from bandit_envs.base import made_with
from bandit_envs.base.bandit_py_environment import available_actions
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.policies.models import Ridge
from bandit_envs.policies.registry import POLICIES
from bandit_envs.policies.rules import EpsilonGreedy
from bandit_envs.rewards import LinearReward, LogisticReward
from bandit_envs.sampling import Normal, Uniform
from bandit_envs.specs import ArraySpec
from tests.policies.examples import ARGUMENTS, make_environment, make_policy

pytestmark = pytest.mark.filterwarnings("ignore:budget is .*, too tight")

DRAWN = ("stationary_stochastic", "structured", "per_arm", "neural_context", "ratings", "ranking")
"""Their weights are drawn from their seeds."""


def make(name, seed):
    env = ENVIRONMENTS[name].make(batch_size=2, seed=seed)
    env.reset()
    return env


@pytest.mark.parametrize("name", DRAWN)
def test_a_state_is_refused_where_weights_were_drawn_from_another_seed(name):
    other = make(name, seed=2)
    before = other.current_time_step()
    with pytest.raises(ValueError, match="such as weights that were drawn from its seed"):
        other.set_state(make(name, seed=1).get_state())
    assert other.current_time_step().observation is not None
    np.testing.assert_array_equal(other.current_time_step().reward, before.reward)


@pytest.mark.parametrize("name", DRAWN)
def test_a_state_from_a_file_is_accepted_by_one_made_in_the_same_way(name, tmp_path):
    env = make(name, seed=1)
    save_state(tmp_path / "state.npz", env.get_state())
    again = make(name, seed=1)
    again.set_state(load_state(tmp_path / "state.npz"))


def test_a_wrapped_environment_is_told_apart_too():
    states = [AffineReward(make("structured", seed), 2.0).get_state() for seed in (1, 2)]
    env = AffineReward(make("structured", 1), 2.0)
    env.set_state(states[0])
    with pytest.raises(ValueError, match="drawn from its seed"):
        env.set_state(states[1])


class Mine(BanditPyEnvironment):
    """A user's environment, which draws its means when it is made."""

    def __init__(self, seed):
        self._means = np.random.default_rng(seed).random(3)
        super().__init__(observation_spec=None, num_actions=3, seed=seed)

    def _initial_state(self, rng):
        return ()

    def _draw_rewards(self, rng, state, action):
        return self._means[action]


def test_a_users_environment_is_told_apart_too():
    env = Mine(seed=1)
    env.set_state(Mine(seed=1).get_state())
    with pytest.raises(ValueError, match="another Mine"):
        env.set_state(Mine(seed=2).get_state())


def test_sizes_that_differ_are_named_as_before():
    with pytest.raises(ValueError, match="'batch_size': 2"):
        ENVIRONMENTS["structured"].make(batch_size=3, seed=1).set_state(
            make("structured", 1).get_state()
        )


class Equal(Mine):
    """All are equal, so Python cannot hash them."""

    def __eq__(self, other):
        return isinstance(other, Equal)


def test_constants_are_those_of_an_object_whatever_it_equals():
    env = Equal(seed=1)
    state = env.get_state()
    env.set_state(state)
    with pytest.raises(ValueError, match="drawn from its seed"):
        Equal(seed=2).set_state(state)


def per_arm(sampler=None, reward=LinearReward, **options):
    return StationaryStochasticPerArmPyEnvironment(
        sampler or Normal(2), Normal(2), 3, reward([0.1, 0.2, 0.3, 0.4], **options), seed=0
    )


def lin_ucb(**arguments):
    return LinUCBPolicy(observation_spec=ArraySpec((2,), np.float64), num_actions=3, **arguments)


def contextual(rule):
    spec = ArraySpec((2,), np.float64)
    return ContextualPolicy(Ridge(), rule, observation_spec=spec, num_actions=3)


def driver(num_steps=5, epsilon=0.1, **options):
    env = KArmedTestbed(k=3, seed=0)
    policy = EpsilonGreedyPolicy(epsilon, num_actions=3, seed=1)
    return StepDriver(env, policy, [policy, AverageRewardMetric()], num_steps, **options)


def wheel(delta):
    return WheelPyEnvironment(delta, [1.2, 1, 1, 1, 1], [0.01] * 5, 50.0, 0.01, 2, seed=0)


class Keeper(UCBPolicy):
    """A user's policy, which passes on the options of its base."""

    def __init__(self, more=1.0, **options):
        self._more = more
        super().__init__(**options)


def double(value):
    return 2 * value


def treble(value):
    return 3 * value


class Paid(AffineReward):
    """A user's wrapper that is made with a function."""

    def __init__(self, env, function):
        self._function = function
        super().__init__(env, 2.0)


def k_armed(**arguments):
    return KArmedTestbed(k=3, seed=0, **arguments)


PAIRS = {
    "another spread of rewards": (k_armed(reward_std=1), k_armed(reward_std=50)),
    "another drift": (k_armed(drift_std=0.1), k_armed(drift_std=0.2)),
    "another mean of values": (k_armed(value_mean=0), k_armed(value_mean=4)),
    "another delta of the wheel": (wheel(0.5), wheel(0.95)),
    "another scale": (AffineReward(k_armed(), 2.0), AffineReward(k_armed(), 3.0)),
    "another share of masks": (RandomActionMask(k_armed(), 0.1), RandomActionMask(k_armed(), 0.5)),
    "another noise": (per_arm(noise_std=1.0), per_arm(noise_std=2.0)),
    "another sampler": (per_arm(), per_arm(sampler=Uniform(2, 0.0, 1.0))),
    "another class of rewards": (per_arm(), per_arm(reward=LogisticReward)),
    "another function": (Paid(k_armed(), double), Paid(k_armed(), treble)),
    "another epsilon": tuple(EpsilonGreedyPolicy(e, num_actions=3) for e in (0.1, 0.5)),
    "another prior": tuple(
        EpsilonGreedyPolicy(0.1, num_actions=3, initial_value=value) for value in (0.0, 5.0)
    ),
    "another c": (UCBPolicy(1.0, num_actions=3), UCBPolicy(2.0, num_actions=3)),
    "another c of a base": (Keeper(c=1.0, num_actions=3), Keeper(c=2.0, num_actions=3)),
    "another argument of a user": (
        Keeper(c=1.0, num_actions=3),
        Keeper(more=2.0, c=1.0, num_actions=3),
    ),
    "another alpha": (lin_ucb(alpha=1.0), lin_ucb(alpha=2.0)),
    "another epsilon of a rule": (contextual(EpsilonGreedy(0.1)), contextual(EpsilonGreedy(0.2))),
    "another policy in a driver": (driver(), driver(epsilon=0.5)),
    "another number of steps": (driver(), driver(num_steps=6)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_state_is_refused_by_what_has_other_numbers(name, tmp_path):
    one, other = PAIRS[name]
    before = other.get_state()
    save_state(tmp_path / "state.npz", one)
    for state in (one.get_state(), load_state(tmp_path / "state.npz")):
        with pytest.raises(ValueError, match="state belongs to"):
            other.set_state(state)
    other.set_state(before)


def test_names_seeds_types_of_numbers_and_observers_do_not_count():
    k_armed(reward_std=2, name="mine").set_state(KArmedTestbed(k=3, reward_std=2.0).get_state())
    UCBPolicy(2, num_actions=3, seed=1).set_state(UCBPolicy(2.0, num_actions=3).get_state())
    env = k_armed()
    policy = UCBPolicy(1.0, num_actions=3)
    watched = StepDriver(env, policy, [policy, lambda trajectory: None])
    watched.set_state(StepDriver(env, policy, [policy]).get_state())


@pytest.mark.parametrize(
    "make_again",
    [
        lambda number: DelayedRewards(KArmedTestbed(k=3, seed=0), number(2)),
        lambda number: DelayedRewards(KArmedTestbed(k=3, seed=0), [number(1), 0, 2]),
        lambda number: ENVIRONMENTS["per_arm"].make(number(2), number(255), 3, seed=0),
    ],
)
@pytest.mark.parametrize("number", [np.int32, np.uint8, np.int64])
def test_integers_of_all_types_make_the_same_environment(make_again, number):
    env = make_again(int)
    again = make_again(number)
    env.reset()
    again.set_state(env.get_state())
    actions = [0] * env.batch_size
    np.testing.assert_array_equal(again.step(actions).reward, env.step(actions).reward)


def test_a_long_array_that_differs_in_one_number_is_told_apart():
    means = np.full(10_000, 0.5)
    state = BernoulliPyEnvironment(means, seed=0).get_state()
    BernoulliPyEnvironment(means, seed=0).set_state(state)
    means[7_000] = 0.25
    with pytest.raises(ValueError, match="with other arguments"):
        BernoulliPyEnvironment(means, seed=0).set_state(state)


def another(value):
    """Returns values, one of which a parameter may have in place of `value`."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, max(value - 1, 1), 2 * value]
    if isinstance(value, float):
        return [0.9 * value + 0.04, value + 0.1, 0.3, 1.5]
    if value is None:
        return [0.3, 2, 1.5, 100, (0.0, 1.0)]
    return []


def one_other(make, parameter, value):
    """Returns what `make` makes of another value of a parameter, or None if it takes none."""
    for other in another(value):
        try:
            return make(**{parameter: other})
        except (TypeError, ValueError, NotImplementedError):
            continue
    return None


UNSAID = {("outcomes", "drop_missing")}
"""Both values mean the same, of a table without gaps."""


@pytest.mark.parametrize("name", [name for name in ENVIRONMENTS if ENVIRONMENTS[name].fixed == {}])
def test_every_number_of_an_environment_tells_its_states_apart(name):
    entry = ENVIRONMENTS[name]
    make = functools.partial(entry.make, batch_size=2, seed=0)
    try:
        env = make()
    except (ModuleNotFoundError, TypeError, ValueError) as error:
        pytest.skip(str(error))
    for parameter, each in entry.parameters().items():
        if parameter in {"batch_size", "seed", "name"} or each.default is each.empty:
            continue
        if (name, parameter) in UNSAID:
            continue
        made = one_other(make, parameter, each.default)
        if made is not None:
            with pytest.raises((TypeError, ValueError), match="state"):
                made.set_state(env.get_state())


@pytest.mark.parametrize("name", POLICIES)
def test_every_number_of_a_policy_tells_its_states_apart(name):
    env = make_environment(name, 1, 0)
    policy = make_policy(name, env)
    for parameter, each in POLICIES[name].parameters().items():
        default = ARGUMENTS.get(name, {}).get(parameter, each.default)
        if default is each.empty or (name, parameter) in UNSAID:
            continue
        made = one_other(functools.partial(make_policy, name, env), parameter, default)
        if made is not None:
            with pytest.raises((TypeError, ValueError), match="state"):
                made.set_state(policy.get_state())


@pytest.mark.parametrize("name", POLICIES)
def test_no_constant_changes_as_an_environment_and_a_policy_go_on(name):
    env = make_environment(name, 2, 0)
    policy = make_policy(name, env, 1)
    StepDriver(env, policy, [policy], 10).run()
    same_env = make_environment(name, 2, 0)
    same_env.set_state(env.get_state())
    make_policy(name, same_env, 0).set_state(policy.get_state())


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_no_constant_changes_as_an_environment_goes_on(name):
    if name == "classification":
        pytest.importorskip("sklearn")  # has the images
    env = make(name, 0)
    rng = np.random.default_rng(0)
    for _ in range(10):
        observation = env.current_time_step().observation
        available = available_actions(observation, env.action_kind.num_actions)
        env.step(env.action_kind.draw(rng, available))
    make(name, 0).set_state(env.get_state())


def test_an_interrupted_digest_is_not_kept_for_the_next_object(monkeypatch):
    env = KArmedTestbed(2, seed=0)

    def interrupt(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(made_with.weakref, "finalize", interrupt)
        with pytest.raises(KeyboardInterrupt):
            env.get_state()
    assert id(env) not in made_with._KNOWN
