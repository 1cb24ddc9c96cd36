"""The rows of independent problems become users of one problem."""

import contextlib
import functools
from typing import NamedTuple

import numpy as np
import pytest

from bandit_envs import (
    BanditPyEnvironment,
    KArmedTestbed,
    LinUCBPolicy,
    RegretMetric,
    StepDriver,
    load_state,
    rewards,
    save_state,
)
from bandit_envs.environments import (
    BernoulliPyEnvironment,
    CascadeBandit,
    DelayedBernoulliBandit,
    KArmedBandit,
    KnapsackBandit,
    PositionBasedBandit,
    RestlessMarkovBandit,
)
from bandit_envs.environments.arms.rested import rotting
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.logged import BanditLog
from bandit_envs.logged.replay import ReplayEnvironment
from bandit_envs.testing import EnvironmentContract
from bandit_envs.testing.comparison import assert_identical
from bandit_envs.wrappers import (
    AffineReward,
    DelayedRewards,
    OneProblem,
    RandomActionMask,
)
from tests.cases import for_each
from tests.contracts import one_test
from tests.wrappers.examples import Payer, per_arm_bandit

B = 4
INDEPENDENT = [
    name
    for name, entry in ENVIRONMENTS.items()
    if entry.independent_rows and issubclass(entry.environment, BanditPyEnvironment)
]
"""The ids of bandits whose rows are independent problems, and not of wrappers of such."""


class ProblemContract(EnvironmentContract):
    num_steps = 6
    num_rewards = 2000


@one_test
class TestDriftingProblem(ProblemContract):
    def make_environment(self, seed):
        return OneProblem(KArmedTestbed(k=4, batch_size=3, drift_std=0.1, seed=seed))


@one_test
class TestProblemOfEpisodes(ProblemContract):
    def make_environment(self, seed):
        return OneProblem(KArmedTestbed(k=4, batch_size=3, horizon=4, seed=seed))


@one_test
class TestMaskedProblem(ProblemContract):
    def make_environment(self, seed):
        testbed = KArmedTestbed(k=4, batch_size=3, horizon=4, drift_std=0.1, seed=seed)
        return AffineReward(RandomActionMask(OneProblem(testbed), 0.5), 2.0)


@one_test
class TestSleepingProblem(ProblemContract):
    def make_environment(self, seed):
        return OneProblem(Sleeping(batch_size=3, seed=seed))


for name in INDEPENDENT:

    @pytest.mark.slow
    class Entry(ProblemContract):
        id = name

        def make_environment(self, seed):
            # Presets also draw what is constant from the seed.
            env = OneProblem(ENVIRONMENTS[self.id].make(batch_size=3, seed=0))
            env.seed(seed)
            return env

    Entry.__name__ = f"Test one problem of {name}"
    globals()[Entry.__name__] = one_test(Entry)


def run(env, num_steps=5):
    """Returns all time steps of a run whose rows act differently, and what was optimal."""
    rng = np.random.default_rng(3)
    spec = env.action_spec()
    steps = [env.reset()]
    optima = [env.optimal_reward()]
    for _ in range(num_steps):
        slates = rng.permuted(np.tile(np.arange(env.num_actions), (env.batch_size, 1)), axis=1)
        steps.append(env.step(slates[:, : spec.shape[0]] if spec.shape else slates[:, 0]))
        optima.append(env.optimal_reward())
    return steps, np.array(optima)


@pytest.mark.parametrize("name", sorted({*INDEPENDENT} - {"rotting", "rising"}))
def test_all_rows_have_the_problem_that_the_first_row_has_alone(name):
    env = OneProblem(ENVIRONMENTS[name].make(batch_size=B, seed=0))
    alone = ENVIRONMENTS[name].make(batch_size=B, seed=0)
    _, optima = run(env, 30)
    _, of_rows = run(alone, 30)
    assert (optima == of_rows[:, :1]).all()
    assert not env.independent_rows


TABLE = [[0.1, 0.9, 0.3], [0.9, 0.1, 0.2]]
OF_TABLES = {
    "bernoulli": lambda: BernoulliPyEnvironment(TABLE, batch_size=2, seed=0),
    "k_armed": lambda: KArmedBandit(rewards.NormalReward(TABLE, 0.1), batch_size=2, seed=0),
    "cascade": lambda: CascadeBandit(TABLE, num_slots=2, batch_size=2, seed=0),
    "position_based": lambda: PositionBasedBandit(TABLE, [1.0, 0.5], batch_size=2, seed=0),
}
"""Bandits with a problem for each row that is constant."""

MAKERS = {
    **{f"table of {name}": make for name, make in OF_TABLES.items()},
    **{
        name: functools.partial(ENVIRONMENTS[name].make, batch_size=B, seed=0)
        for name in INDEPENDENT
    },
}


def look_at(env):
    """Asks an environment for all that it knows."""
    for name in ("expected_rewards", "optimal_action", "optimal_reward", "get_info"):
        with contextlib.suppress(NotImplementedError):
            getattr(env, name)()


@for_each("name", MAKERS)
def test_an_environment_that_was_looked_at_makes_the_same_problem(name):
    env = MAKERS[name]()
    twin = MAKERS[name]()
    env.reset()
    look_at(env)
    twin.reset()
    np.testing.assert_equal(run(OneProblem(env)), run(OneProblem(twin)))


@for_each("name", OF_TABLES)
def test_means_of_the_first_row_take_the_place_of_others_that_were_looked_at(name):
    env = OF_TABLES[name]()
    env.reset()
    look_at(env)
    problem = OneProblem(env)
    problem.reset()
    np.testing.assert_array_equal(problem.optimal_action(), env.optimal_action()[[0, 0]])
    np.testing.assert_array_equal(problem.optimal_reward(), env.optimal_reward()[[0, 0]])
    action = env.optimal_action()[[1, 1]]
    problem.step(action)
    env.step(action)
    expected = env.get_info()["expected_reward"][[0, 0]]
    np.testing.assert_array_equal(problem.get_info()["expected_reward"], expected)


def test_an_environment_of_a_table_has_the_means_of_its_first_row():
    env = BernoulliPyEnvironment([[0.1, 0.9], [0.9, 0.1]], batch_size=2, seed=0)
    env.reset()
    env.expected_rewards()
    problem = OneProblem(env)
    problem.reset()
    assert problem.expected_rewards().tolist() == [[0.1, 0.9], [0.1, 0.9]]
    assert env.expected_rewards().tolist() == [[0.1, 0.9], [0.9, 0.1]]


@for_each("name", MAKERS)
def test_what_is_wrapped_stays_as_it_is_and_goes_on_alone(name):
    env = MAKERS[name]()
    twin = MAKERS[name]()
    start = run(twin)
    np.testing.assert_equal(run(env), start)
    before = dict(vars(env))
    run(OneProblem(env))
    assert all(vars(env)[name] is value for name, value in before.items())
    np.testing.assert_equal(run(env), run(twin))
    assert_identical(env.get_state(), twin.get_state(), "the state of an environment")


def test_one_user_meets_the_environment_itself():
    bandit = run(KArmedTestbed(k=3, drift_std=0.1, horizon=2, seed=0))
    problem = run(OneProblem(KArmedTestbed(k=3, drift_std=0.1, horizon=2, seed=0)))
    np.testing.assert_equal(problem, bandit)


def test_values_drift_together_through_episodes():
    env = OneProblem(KArmedTestbed(k=3, batch_size=B, drift_std=1.0, horizon=3, seed=0))
    env.reset()
    met = []
    for _ in range(9):
        env.step([0, 1, 2, 0])
        met.append(env.expected_rewards())
        assert (met[-1] == met[-1][0]).all()
    assert len(np.unique(np.array(met)[:, 0, 0])) == 9


def test_users_draw_rewards_of_their_own():
    env = OneProblem(KArmedTestbed(k=3, batch_size=5000, seed=0))
    env.reset()
    reward = env.step(np.ones(5000, np.int32)).reward
    assert abs(reward.std() - 1.0) < 0.06
    assert abs(reward.mean() - env.expected_rewards()[0, 1]) < 0.08


def test_a_user_wears_out_rested_arms_alone():
    env = OneProblem(rotting([1.0, 0.5], rate=1.0, std=0.0, batch_size=2))
    env.reset()
    env.step([0, 1])
    assert env.expected_rewards().tolist() == [[0.5, 0.5], [1.0, 0.25]]


def test_rested_chains_move_for_the_user_who_pulls_them():
    chains = [[[0.0, 1.0], [1.0, 0.0]]] * 2  # a chain changes its state at each pull
    pays = [[0.0, 1.0]] * 2
    env = OneProblem(RestlessMarkovBandit(chains, pays, rested=True, batch_size=2, seed=0))
    env.reset()
    before = env.expected_rewards()
    env.step([0, 1])
    changed = env.expected_rewards() != before
    assert changed.tolist() == [[True, False], [False, True]]


def test_users_walk_through_one_log_in_orders_of_their_own():
    log = BanditLog(np.arange(50.0)[:, np.newaxis], [1] * 50, np.ones(50), [0.5] * 50)
    seen = [
        make(ReplayEnvironment(log, batch_size=2, seed=0)).reset().observation
        for make in (lambda env: env, OneProblem)
    ]
    np.testing.assert_array_equal(seen[0], seen[1])
    assert seen[0][0] != seen[0][1]


def test_what_the_class_says_of_a_step_is_said_of_one_problem():
    log = BanditLog(np.arange(50.0)[:, np.newaxis], [1] * 50, np.ones(50), [0.5] * 50)
    env = OneProblem(ReplayEnvironment(log, batch_size=2, seed=0))
    env.reset()
    assert env.get_info() is None
    env.step([1, 0])
    assert env.get_info()["matched"].tolist() == [True, False]
    shown = OneProblem(KArmedTestbed(k=3, batch_size=2, seed=0))
    shown.reset()
    shown.step([2, 0])
    assert "k-armed testbed, row 1" in shown.render("ansi", row=1)


@for_each("make", [BernoulliPyEnvironment, CascadeBandit])
def test_of_a_problem_for_each_row_the_first_is_taken(make):
    table = [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    arguments = {"num_slots": 2} if make is CascadeBandit else {}
    env = OneProblem(make(table, batch_size=2, seed=0, **arguments))
    env.reset()
    assert (env.optimal_action()[0] == env.optimal_action()[1]).all()
    action = env.optimal_action()
    assert (env.step(action).reward.sum(axis=-1) == (2.0 if action.ndim == 1 else [1, 1])).all()
    other = action[:, ::-1] if action.ndim == 2 else 1 - action
    assert env.step(other).reward.sum() == (0.0 if action.ndim == 1 else 2.0)


def test_arms_of_any_distribution_become_those_of_the_first_row():
    means = [[0.0, 5.0], [10.0, 20.0]]
    env = OneProblem(KArmedBandit(rewards.NormalReward(means, 0.1), batch_size=2, seed=0))
    env.reset()
    assert env.expected_rewards().tolist() == [means[0]] * 2
    assert (abs(env.step([1, 1]).reward - 5.0) < 1.0).all()


def test_one_model_learns_from_all_users():
    env = OneProblem(KArmedTestbed(k=5, batch_size=20, seed=0))
    policy = LinUCBPolicy(**LinUCBPolicy.arguments_for(env), seed=1)
    regret = RegretMetric(env)
    StepDriver(env, policy, [policy, regret], num_steps=100).run()
    assert not policy.learns_by_row
    assert regret.result().per_step.mean[-20:].max() == 0.0


def test_a_run_goes_on_from_a_file(tmp_path):
    env = OneProblem(KArmedTestbed(k=3, batch_size=B, drift_std=0.1, horizon=4, seed=0))
    env.reset()
    env.step([0, 1, 2, 0])
    save_state(tmp_path / "run.npz", env.get_state())
    other = OneProblem(KArmedTestbed(k=3, batch_size=B, drift_std=0.1, horizon=4, seed=1))
    other.set_state(load_state(tmp_path / "run.npz"))
    for action in ([0, 0, 1, 2], [2, 2, 1, 0], [1, 1, 1, 1]):
        np.testing.assert_equal(other.step(action), env.step(action))
        np.testing.assert_equal(other.get_info(), env.get_info())


def test_states_of_problems_for_each_row_and_of_one_problem_are_told_apart():
    rows = BernoulliPyEnvironment([[0.0, 1.0], [1.0, 0.0]], batch_size=2, seed=0)
    other = BernoulliPyEnvironment([[0.0, 1.0], [0.5, 0.5]], batch_size=2, seed=0)
    testbed = KArmedTestbed(k=2, batch_size=2, seed=0)
    problem = OneProblem(rows)
    for env in (rows, OneProblem(other), OneProblem(testbed)):
        with pytest.raises(ValueError, match=r"expected a OneProblem|another OneProblem"):
            problem.set_state(env.get_state())
        with pytest.raises(ValueError, match="belongs to a"):
            env.set_state(problem.get_state())


def test_masks_and_delays_are_the_users_own():
    problem = OneProblem(KArmedTestbed(k=6, batch_size=50, seed=0))
    env = DelayedRewards(RandomActionMask(problem, 0.5), 2)
    mask = env.reset().observation["mask"]
    assert len(np.unique(mask, axis=0)) > 10
    assert not env.independent_rows
    shown = env.expected_rewards()
    assert (shown == np.where(mask, problem.expected_rewards(), -np.inf)).all()
    assert all(len(np.unique(column[column > -np.inf])) == 1 for column in shown.T)


def test_rows_that_are_users_already_are_refused():
    for env in (per_arm_bandit(), OneProblem(KArmedTestbed(batch_size=2))):
        with pytest.raises(ValueError, match="users of one problem already"):
            OneProblem(env)
    with pytest.raises(TypeError, match="expected a bandit"):
        OneProblem(Payer([1.0, 2.0]))


class Doubled(KArmedTestbed):
    """Makes its own steps."""

    def _step(self, action):
        latent, time_step = super()._step(action)
        return latent, time_step._replace(reward=2.0 * time_step.reward)


def test_a_class_that_makes_its_own_steps_is_refused():
    with pytest.raises(TypeError, match="expected the hooks of a bandit alone, not _step"):
        OneProblem(Doubled(batch_size=2))


class Short(KArmedTestbed):
    """Ends its episodes after two steps."""

    def should_reset(self, time_step):
        return self.bandit_state().steps == 2


def test_a_class_that_says_when_to_reset_is_asked_in_the_state_of_the_one_problem():
    env = OneProblem(Short(horizon=9, batch_size=2))
    steps = [env.step([0, 0]) for _ in range(6)]
    assert [step.is_first().all() for step in steps] == [True, False, False, True, False, False]


def test_wrappers_are_told_to_go_around():
    masked = RandomActionMask(AffineReward(KArmedTestbed(k=4, batch_size=3), 2.0), 0.5)
    for env in (masked, KnapsackBandit(batch_size=3), DelayedBernoulliBandit(batch_size=3)):
        with pytest.raises(TypeError, match="expected a bandit without wrappers: they go around"):
            OneProblem(env)


class Worn(NamedTuple):
    values: np.ndarray
    pulls: np.ndarray


class Wearing(BanditPyEnvironment):
    """Hidden values, and arms that a user wears out."""

    independent_rows = True

    def __init__(self, batch_size=2, seed=None):
        super().__init__(num_actions=3, batch_size=batch_size, seed=seed)

    def _initial_state(self, rng):
        shape = (self.batch_size, 3)
        return Worn(rng.random(shape), np.zeros(shape))

    def _next_state(self, rng, state, action):
        return state._replace(pulls=state.pulls + np.eye(3)[action])

    def _expected_rewards(self, state):
        return state.values - state.pulls

    def _draw_rewards(self, rng, state, action):
        return self._expected_rewards(state)[np.arange(self.batch_size), action]


class WearingAlone(Wearing):
    def _share(self, state):
        return state._replace(values=np.repeat(state.values[:1], self.batch_size, axis=0))


class Sleeping(Wearing):
    """Arms that a user finds open or not, and that pay alike to all users."""

    def _initial_state(self, rng):
        is_open = rng.random((self.batch_size, 3)) < 0.5
        is_open[:, 0] = True
        return Worn(rng.random((self.batch_size, 3)), is_open)

    def _available(self, state):
        return state.pulls

    def _expected_rewards(self, state):
        return state.values

    def _next_state(self, rng, state, action):
        return state._replace(pulls=self._initial_state(rng).pulls)

    _share = WearingAlone._share


class WearingTestbed(KArmedTestbed):
    """Has the `_share` of a class in which actions do not change the state."""

    def _next_state(self, rng, state, action):
        return state - np.eye(state.shape[1], dtype=state.dtype)[action]


@for_each("make", [Wearing, WearingTestbed])
def test_a_class_whose_state_changes_needs_to_say_what_is_shared(make):
    with pytest.raises(NotImplementedError, match=r"env is .*, .* expected a _share"):
        OneProblem(make(batch_size=2, seed=0))


def test_what_is_available_is_the_users_own():
    env = OneProblem(Sleeping(batch_size=50, seed=0))
    mask = env.reset().observation["mask"]
    assert len(np.unique(mask, axis=0)) == 4
    closed = np.argwhere(~mask)[0]
    action = np.zeros(50, int)
    action[closed[0]] = closed[1]
    with pytest.raises(ValueError, match="available"):
        env.step(action)


def test_what_is_shared_can_be_said():
    env = OneProblem(WearingAlone(seed=0))
    env.reset()
    start = env.expected_rewards()
    assert (start[0] == start[1]).all()
    env.step([0, 2])
    assert (start - env.expected_rewards()).round(9).tolist() == [[1.0, 0, 0], [0, 0, 1.0]]


class Still(Wearing):
    """Has a state that never changes."""

    _next_state = BanditPyEnvironment._next_state


class Flat(Still):
    """Has a state without an axis of rows."""

    def _initial_state(self, rng):
        return rng.random(3)

    def _expected_rewards(self, state):
        return np.tile(state, (self.batch_size, 1))


class Constants(Still):
    """Has a problem for each row that is not part of the state."""

    def _initial_state(self, rng):
        return None

    def _expected_rewards(self, state):
        return np.arange(3.0) + np.arange(self.batch_size)[:, np.newaxis]


def test_states_and_constants_of_which_the_rows_are_unknown_are_refused():
    with pytest.raises(
        NotImplementedError, match=r"the state of Flat has an array of shape \(3,\)"
    ):
        OneProblem(Flat()).reset()
    with pytest.raises(ValueError, match="rows of Constants have different means"):
        OneProblem(Constants()).reset()


def test_a_state_that_never_changes_is_that_of_the_first_row():
    env = Still(batch_size=3, seed=0)
    problem = OneProblem(env)
    problem.reset()
    env.reset()
    assert (problem.expected_rewards() == env.expected_rewards()[[0, 0, 0]]).all()


def test_an_id_makes_one_problem_of_an_environment_with_parameters():
    env = ENVIRONMENTS["one_problem"].make("testbed:k=3,drift_std=0.5", batch_size=B, seed=0)
    twin = OneProblem(KArmedTestbed(k=3, drift_std=0.5, batch_size=B, seed=0))
    np.testing.assert_equal(run(env), run(twin))
    module = "bandit_envs.environments.arms.k_armed_testbed:KArmedTestbed:k=2"
    assert ENVIRONMENTS["one_problem"].make(module, batch_size=B).num_actions == 2
    with pytest.raises(ValueError, match="users of one problem already"):
        ENVIRONMENTS["one_problem"].make("wheel")
    with pytest.raises(TypeError, match=r"go around OneProblem\(k-armed testbed\)"):
        ENVIRONMENTS["one_problem"].make("scheduled_arms")
    arms = 'one_problem:environment="testbed:k=3"'
    scheduled = ENVIRONMENTS["scheduled_contexts"].make(arms, [0, 0, 2], batch_size=B, seed=0)
    scheduled.reset()
    assert len(np.unique(scheduled.optimal_reward())) == 1
    with pytest.raises(ValueError, match="environment testbed has no parameter 'arms'"):
        ENVIRONMENTS["one_problem"].make("testbed:arms=3")
