"""Every agent of TF-Agents as a policy: its contract, its runs from files, its saved policies."""

import numpy as np
import pytest

pytest.importorskip("tf_agents")

import tensorflow as tf
from tf_agents.drivers import dynamic_step_driver
from tf_agents.environments import tf_py_environment
from tf_agents.policies import policy_saver

from bandit_envs import StepDriver, Trajectory, load_state, save_state
from bandit_envs.adapters.tf_agents import (
    TrackableDraws,
    TrackableEnvironment,
    as_policy,
    as_tf_agents,
    tensor_specs,
    with_distribution,
)
from bandit_envs.testing import PolicyContract
from tests.adapters.every_agent import (
    EVERY_AGENT,
    KNOW_THEIR_PROBABILITIES,
    bernoulli_thompson_sampling,
    boltzmann,
    dropout_thompson_sampling,
    epsilon_greedy,
    epsilon_greedy_of_items,
    exp3,
    exp3_mixture,
    linear_thompson_sampling,
    linear_ucb_of_items,
    static_mixture,
)

B = 5
QUICK = [bernoulli_thompson_sampling, dropout_thompson_sampling, static_mixture, exp3_mixture]
OTHERS = [make for make in EVERY_AGENT if make not in QUICK]
AGENTS = [*QUICK, *(pytest.param(make, marks=pytest.mark.slow) for make in OTHERS)]


def name_of(make):
    return make.__name__


@pytest.mark.slow
class TestEveryAgent(PolicyContract):
    """The contract of each agent; its policies share the agent, which takes seconds to compile."""

    num_steps = 4
    num_choices = 500
    rounding = 1e-4

    @pytest.fixture(autouse=True, scope="class", params=EVERY_AGENT, ids=name_of)
    def _set_agent(self, request):
        request.cls.make_environment = staticmethod(EVERY_AGENT[request.param])
        env = request.cls.make_environment(B, 0)
        request.cls.specs = tensor_specs(env)
        request.cls.known = as_policy(request.param(request.cls.specs), B, 0)
        yield
        if "_shared_run" in vars(request.cls):
            del request.cls._shared_run

    def make_policy(self, env, seed):
        if tensor_specs(env) != self.specs:
            raise ValueError("the agent takes no masks")
        return type(self.known)(self.known._model, env.batch_size, seed)


def a_policy(make, seed):
    """Returns an environment, and a policy of a new agent with other weights for each seed."""
    env = EVERY_AGENT[make](B, 0)
    tf.random.set_seed(seed)
    return env, as_policy(make(tensor_specs(env)), B, seed)


@pytest.mark.parametrize("make", AGENTS, ids=name_of)
def test_a_run_goes_on_from_a_file_without_seeds_of_tensorflow(make, tmp_path):
    env, policy = a_policy(make, 1)
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
    env, policy = a_policy(static_mixture, 1)
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


@pytest.mark.parametrize(
    "make",
    [
        epsilon_greedy,
        static_mixture,
        pytest.param(boltzmann, marks=pytest.mark.slow),
        pytest.param(epsilon_greedy_of_items, marks=pytest.mark.slow),
        pytest.param(linear_ucb_of_items, marks=pytest.mark.slow),
    ],
    ids=name_of,
)
def test_a_policy_that_is_saved_with_its_distribution_knows_its_probabilities(make, tmp_path):
    env, policy = a_policy(make, 1)
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


@pytest.mark.parametrize("make", [boltzmann, exp3], ids=name_of)
def test_a_saved_policy_with_a_distribution_knows_its_probabilities(make, tmp_path):
    env, policy = a_policy(make, 1)
    policy_saver.PolicySaver(policy._model._agent.collect_policy).save(str(tmp_path))
    loaded = as_policy(tmp_path, B, seed=1)
    time_step = env.reset()
    np.testing.assert_allclose(
        loaded.probabilities(time_step), policy.probabilities(time_step), rtol=1e-5, atol=1e-7
    )


def test_a_policy_that_draws_a_model_is_saved_without_a_distribution():
    _env, policy = a_policy(bernoulli_thompson_sampling, 1)
    with pytest.raises(ValueError, match="draws by itself, or shows slates; expected one whose"):
        with_distribution(policy._model._agent.collect_policy)


class Loop:
    """A loop of TF-Agents, compiled, whose draws are in its checkpoint."""

    def __init__(self, make, seed):
        self.seen = []
        adapted = as_tf_agents(EVERY_AGENT[make](B, seed))
        environment = tf_py_environment.TFPyEnvironment(adapted)
        specs = (environment.time_step_spec(), environment.action_spec())
        agent = make(specs)
        draws = TrackableDraws(seed)
        driver = dynamic_step_driver.DynamicStepDriver(
            environment, agent.collect_policy, [self._note], num_steps=3 * B
        )
        self.drive = draws.compile(driver.run)
        self.checkpoint = tf.train.Checkpoint(
            agent=agent, environment=TrackableEnvironment(environment), draws=draws
        )

    def _note(self, step):
        return tf.numpy_function(self.seen.append, [step.action], [])


@pytest.mark.parametrize(
    "make",
    [
        linear_thompson_sampling,
        bernoulli_thompson_sampling,
        pytest.param(epsilon_greedy, marks=pytest.mark.slow),
        pytest.param(dropout_thompson_sampling, marks=pytest.mark.slow),
        pytest.param(exp3_mixture, marks=pytest.mark.slow),
    ],
    ids=name_of,
)
def test_a_loop_of_tf_agents_goes_on_from_a_checkpoint_without_seeds(make, tmp_path):
    loop = Loop(make, 1)
    loop.drive()
    path = loop.checkpoint.save(str(tmp_path / "run"))
    loop.drive()
    other = Loop(make, 2)
    other.checkpoint.restore(path)
    other.drive()
    assert np.array_equal(loop.seen[3:], other.seen)
    assert len({tuple(actions) for actions in loop.seen}) > 1
