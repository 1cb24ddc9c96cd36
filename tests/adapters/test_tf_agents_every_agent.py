"""Every agent of TF-Agents as a policy: its contract, its runs from files, its saved policies."""

import functools
import os
import subprocess
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tf_agents")

import tensorflow as tf
from tf_agents.bandits.policies import constraints
from tf_agents.bandits.policies import greedy_reward_prediction_policy as greedy_reward_policy
from tf_agents.policies import policy_saver, tf_policy
from tf_agents.trajectories import policy_step

from bandit_envs import StepDriver, Trajectory, load_state, save_state
from bandit_envs.adapters.tf_agents import (
    TrackableDraws,
    as_policy,
    tensor_specs,
    trackable_draws,
    with_distribution,
)
from bandit_envs.testing import PolicyContract
from tests.adapters import resumed_agents
from tests.adapters.every_agent import (
    EVERY_AGENT,
    KNOW_THEIR_PROBABILITIES,
    bernoulli_thompson_sampling,
    boltzmann,
    boltzmann_gumbel,
    boltzmann_of_items,
    dropout_thompson_sampling,
    epsilon_greedy,
    exp3,
    exp3_mixture,
    falcon,
    greedy_with_constraint,
    linear_ucb,
    linear_ucb_of_items,
    multi_objective,
    network_of_contexts,
    neural_linucb,
    ranking_by_distance,
    static_mixture,
)


def slow(*makes):
    """Returns the cases of a test that run an agent each, as slow ones."""
    return [pytest.param(make, marks=pytest.mark.slow) for make in makes]


ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
B = 5
QUICK = [bernoulli_thompson_sampling, dropout_thompson_sampling, static_mixture, exp3_mixture]
OTHERS = [make for make in EVERY_AGENT if make not in QUICK]
AGENTS = [*QUICK, *slow(*OTHERS)]
OTHER_CHECKPOINTS = [
    neural_linucb,
    boltzmann_gumbel,
    greedy_with_constraint,
    dropout_thompson_sampling,
    ranking_by_distance,
    exp3_mixture,
]
"""Agents with each kind of variables and of draws: linear models and networks."""

EACH_TABLE = [epsilon_greedy, static_mixture, *slow(linear_ucb, boltzmann_of_items)]
"""Agents with each kind of table of probabilities: of greedy choices, of draws and of both."""

EACH_DISTRIBUTION = [boltzmann, exp3, *slow(falcon, linear_ucb_of_items, multi_objective)]
"""Agents with each class of distribution that TF-Agents saves by itself."""


def name_of(make):
    return make.__name__


def a_policy(make, seed):
    """Returns an environment, and a policy of a new agent with other weights for each seed."""
    env = EVERY_AGENT[make](B, 0)
    tf.random.set_seed(seed)
    return env, as_policy(make(tensor_specs(env)), B, seed)


@functools.cache
def known_policy(make):
    """Returns a policy of the one agent that tests share, as it takes seconds to compile it."""
    return a_policy(make, 1)[1]


def a_policy_of_the_known_agent(make):
    """Returns an environment, and a policy that has learned nothing."""
    known = known_policy(make)
    return EVERY_AGENT[make](B, 0), type(known)(known._model, B, 1)


@pytest.mark.slow
class TestEveryAgent(PolicyContract):
    """The contract of each agent."""

    num_steps = 4
    num_choices = 500
    rounding = 1e-4

    @pytest.fixture(autouse=True, scope="class", params=EVERY_AGENT, ids=name_of)
    def _set_agent(self, request):
        request.cls.make_environment = staticmethod(EVERY_AGENT[request.param])
        request.cls.specs = tensor_specs(request.cls.make_environment(B, 0))
        request.cls.known = known_policy(request.param)
        yield
        if "_shared" in vars(request.cls):
            del request.cls._shared

    def make_policy(self, env, seed):
        if tensor_specs(env) != self.specs:
            raise ValueError("the agent takes no masks")
        return type(self.known)(self.known._model, env.batch_size, seed)


@pytest.mark.parametrize("make", AGENTS, ids=name_of)
def test_a_run_goes_on_from_a_file_without_seeds_of_tensorflow(make, tmp_path):
    env, policy = a_policy_of_the_known_agent(make)
    seen = []
    driver = StepDriver(env, policy, [policy, seen.append], 3)
    driver.run()
    save_state(tmp_path / "run.npz", driver.get_state())
    driver.run()
    other_env, other = a_policy(make, 2)
    again = []
    restored = StepDriver(other_env, other, [other, again.append], 3)
    restored.set_state(load_state(tmp_path / "run.npz"))
    tf.random.set_seed(77)
    restored.run()
    for one, two in zip(seen[3:], again, strict=True):
        assert np.array_equal(one.action, two.action)
    for one, two in zip(policy._state.learned, other._state.learned, strict=True):
        assert np.array_equal(one, two)
    assert policy.knows_probabilities == (make in KNOW_THEIR_PROBABILITIES)


def test_training_with_dropout_differs_by_the_seed_of_the_policy():
    env = EVERY_AGENT[dropout_thompson_sampling](B, 0)
    agent = dropout_thompson_sampling(tensor_specs(env))
    time_step = env.reset()
    action = np.zeros(B, np.int32)
    step = Trajectory.from_transition(time_step, action, env.step(action))
    policies = [as_policy(agent, B, seed) for seed in (1, 1, 2)]
    for policy in policies:
        policy(step)
    one, same, other = (policy._state.learned[1:] for policy in policies)
    assert all(np.array_equal(a, b) for a, b in zip(one, same))
    assert not all(np.array_equal(a, b) for a, b in zip(one, other))


def test_a_policy_that_draws_is_compiled_once_for_each_number_of_rows():
    env = EVERY_AGENT[bernoulli_thompson_sampling](B, 0)
    agent = bernoulli_thompson_sampling(tensor_specs(env))
    original = agent.collect_policy._distribution
    calls = []

    def counted(time_step, policy_state):
        calls.append(time_step)
        return original(time_step, policy_state)

    agent.collect_policy._distribution = counted
    policy = as_policy(agent, B, seed=0)
    time_step = env.reset()
    policy.action(time_step)
    compiled = len(calls)
    actions = [tuple(policy.action(time_step)) for _ in range(20)]
    assert len(calls) == compiled
    assert len(set(actions)) > 1


def test_a_mixture_trains_the_agent_that_can_have_chosen_an_action():
    env, policy = a_policy_of_the_known_agent(static_mixture)
    agent = policy._model._agent
    time_step = env.reset()
    table = policy.probabilities(time_step)
    assert np.allclose(table.sum(axis=1), 1.0)
    assert (table > 0.0).all()  # a part explores
    responsible = policy._model._responsible_agents
    frequencies = np.zeros((B, 4))
    for action in range(4):
        for _ in range(25):
            infos = responsible(time_step.observation, np.full(B, action))
            frequencies[:, action] += infos["mixture_agent_id"] == 0
    greedy = as_policy(agent._agents[0].collect_policy, B).action(time_step)
    is_greedy = np.eye(4, dtype=bool)[greedy]
    assert (frequencies[~is_greedy] == 0.0).all()  # the first agent never chooses these
    expected = 0.75 / table[is_greedy]
    assert (abs(frequencies[is_greedy] / 25 - expected) < 0.3).all()


@pytest.mark.parametrize("make", EACH_TABLE, ids=name_of)
def test_a_policy_that_is_saved_with_its_distribution_knows_its_probabilities(make, tmp_path):
    env, policy = a_policy_of_the_known_agent(make)
    StepDriver(env, policy, [policy], 3).run()
    saved = with_distribution(policy._model._agent.collect_policy)
    policy_saver.PolicySaver(saved).save(str(tmp_path))
    loaded = as_policy(tmp_path, B, seed=1)
    time_step = env.current_time_step()
    np.testing.assert_allclose(
        loaded.probabilities(time_step), policy.probabilities(time_step), rtol=1e-5, atol=1e-7
    )
    again = as_policy(tmp_path, B, seed=1)
    for _ in range(5):
        assert np.array_equal(loaded.action(time_step), again.action(time_step))


@pytest.mark.parametrize("make", EACH_DISTRIBUTION, ids=name_of)
def test_a_saved_policy_with_a_distribution_knows_its_probabilities(make, tmp_path):
    env, policy = a_policy_of_the_known_agent(make)
    time_step = env.reset()
    expected = policy.probabilities(
        time_step
    )  # copies what the policy has learned to the variables
    policy_saver.PolicySaver(policy._model._agent.collect_policy).save(str(tmp_path))
    loaded = as_policy(tmp_path, B, seed=1)
    np.testing.assert_allclose(loaded.probabilities(time_step), expected, rtol=1e-5, atol=1e-7)


def test_a_policy_that_draws_a_model_is_saved_without_a_distribution():
    policy = known_policy(bernoulli_thompson_sampling)
    with pytest.raises(ValueError, match="draws by itself, or shows slates; expected one whose"):
        with_distribution(policy._model._agent.collect_policy)


def test_an_agent_has_no_distribution_to_save():
    policy = known_policy(bernoulli_thompson_sampling)
    with pytest.raises(TypeError, match=r"expected a TFPolicy, such as agent\.collect_policy"):
        with_distribution(policy._model._agent)


def test_an_agent_has_the_same_variables_however_many_steps_others_have_trained():
    env = EVERY_AGENT[neural_linucb](B, 0)
    step = tf.compat.v1.train.get_or_create_global_step()
    before = int(step)
    sizes = []
    for number in (0, 50):
        step.assign(number)
        policy = as_policy(neural_linucb(tensor_specs(env)), B)
        sizes.append([np.shape(value) for value in policy._state.learned])
        assert int(step) == number
    step.assign(before)
    assert sizes[0] == sizes[1]


def test_runs_of_an_agent_that_draws_go_on_in_a_new_process_without_seeds(tmp_path):
    expected = {}
    for kind, run in resumed_agents.KINDS.items():
        folder = tmp_path / kind
        folder.mkdir()
        uninterrupted = run(bernoulli_thompson_sampling, seed=1)
        uninterrupted.go_on()
        uninterrupted.save(folder)
        expected[folder] = uninterrupted.go_on()
    command = [sys.executable, "-m", "tests.adapters.resumed_agents", str(tmp_path)]
    name = bernoulli_thompson_sampling.__name__
    subprocess.run([*command, name], cwd=ROOT, env=ENVIRONMENT, check=True)
    for folder, arrays in expected.items():
        found = list(np.load(folder / "found.npz").values())
        assert len(found) == len(arrays), folder
        assert all(map(np.array_equal, found, arrays)), folder


@pytest.mark.slow
@pytest.mark.parametrize("make", OTHER_CHECKPOINTS, ids=name_of)
def test_a_loop_of_an_agent_goes_on_in_new_objects_without_seeds(make, tmp_path):
    uninterrupted = resumed_agents.LoopRun(make, seed=1)
    uninterrupted.go_on()
    uninterrupted.save(tmp_path)
    expected = uninterrupted.go_on()
    restored = resumed_agents.LoopRun(make, seed=2)
    restored.restore(tmp_path)
    found = restored.go_on()
    assert len(found) == len(expected)
    assert all(map(np.array_equal, found, expected))


class NothingIsFeasible(constraints.BaseConstraint):
    """A constraint that no action meets in a row with a negative feature."""

    def __call__(self, observation, actions=None):
        return tf.repeat(tf.cast(observation >= 0.0, tf.float32), 4, axis=1)


def test_an_agent_whose_constraints_allow_no_action_says_so():
    env = EVERY_AGENT[greedy_with_constraint](3, 0)
    specs = tensor_specs(env)
    network = network_of_contexts(specs)
    never = NothingIsFeasible(*specs)
    policy = greedy_reward_policy.GreedyRewardPredictionPolicy(
        *specs, reward_network=network, constraints=[never]
    )
    chooser = as_policy(policy, 3, seed=0)
    time_step = env.reset()
    assert chooser.action(time_step).shape == (3,)
    observation = np.array([[1.0], [-1.0], [1.0]], np.float32)
    message = "GreedyRewardPredictionPolicy allows no action in row 1; expected constraints that"
    with pytest.raises(ValueError, match=message):
        chooser.action(time_step._replace(observation=observation))


class PolicyOfItsOwnGenerator(tf_policy.TFPolicy):
    """A user's policy that draws from a generator of its own."""

    def __init__(self, specs):
        super().__init__(*specs)
        self._generator = tf.random.Generator.from_seed(0)

    def _action(self, time_step, policy_state, seed):
        size = tf.shape(time_step.step_type)
        return policy_step.PolicyStep(self._generator.uniform(size, 0, 3, tf.int32))

    def _distribution(self, time_step, policy_state):
        raise NotImplementedError


def test_a_policy_that_draws_from_its_own_generator_knows_no_probabilities():
    env = EVERY_AGENT[exp3](B, 0)
    policy = as_policy(PolicyOfItsOwnGenerator(tensor_specs(env)), B, seed=0)
    assert not policy.knows_probabilities
    time_step = env.reset()
    assert len({tuple(policy.action(time_step)) for _ in range(10)}) > 1


def every_draw():
    """Draws by each operation that can be replaced."""
    rates = tf.constant([0.5, 20.0])
    return [
        tf.random.uniform([7]),
        tf.random.uniform([7], maxval=90, dtype=tf.int32),
        tf.random.normal([7]),
        tf.random.truncated_normal([7]),
        tf.random.categorical(tf.zeros([2, 90]), 7),
        tf.random.gamma([7], rates),
        tf.random.poisson([7], rates),
        tf.random.shuffle(tf.range(90)),
    ]


def test_each_operation_draws_anew_and_again_from_a_state():
    draws = TrackableDraws(seed=0)
    draw = draws.compile(every_draw)
    before = tf.identity(draws.state)
    first = draw()
    second = draw()
    draws.state.assign(before)
    again = draw()
    for one, two, other in zip(first, again, second, strict=True):
        assert np.array_equal(one, two)
        assert not np.array_equal(one, other)
    for found, original in zip(first, every_draw(), strict=True):
        assert found.dtype == original.dtype
        assert found.shape == original.shape


def test_draws_within_loops_and_branches_are_replaced_too():
    def walk():
        return tf.while_loop(
            lambda place: tf.less(tf.size(place), 5),
            lambda place: tf.cond(
                tf.size(place) > 0,
                lambda: tf.concat([place, tf.random.normal([1])], axis=0),
                lambda: place,
            ),
            [tf.zeros([1])],
            shape_invariants=[tf.TensorShape([None])],
        )

    draws = TrackableDraws(seed=0)
    walk_anew = draws.compile(walk)
    before = tf.identity(draws.state)
    first = np.array(walk_anew()).ravel()
    draws.state.assign(before)
    assert np.array_equal(first, np.array(walk_anew()).ravel())
    assert len(set(first)) == 5


@pytest.mark.parametrize("autograph", [True, False])
def test_a_function_that_is_compiled_without_autograph_stays_without_it(autograph):
    files = set()

    def draw():
        files.update(frame.filename for frame in traceback.extract_stack())
        return tf.random.uniform([3])

    TrackableDraws(seed=0).compile(tf.function(draw, autograph=autograph))()
    assert any("autograph_generated" in name for name in files) == autograph


def test_a_draw_that_nobody_can_save_is_refused():
    sample = TrackableDraws(seed=0).compile(
        lambda: tf.random.log_uniform_candidate_sampler([[0]], 1, 2, True, 9)
    )
    with pytest.raises(NotImplementedError, match="LogUniformCandidateSampler draws from"):
        sample()


def test_a_tensorflow_that_does_not_show_its_draws_is_named(monkeypatch):
    monkeypatch.setattr(trackable_draws, "op_callbacks", None)
    with pytest.raises(ImportError, match="has no op_callbacks, which show what it draws"):
        TrackableDraws(seed=0)
