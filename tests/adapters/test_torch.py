"""Policies with networks of PyTorch."""

import functools
import pickle
from types import MappingProxyType

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from bandit_envs import (
    ArraySpec,
    DelayedLearning,
    DelayedRewards,
    RegretMetric,
    StepDriver,
    WheelPyEnvironment,
    load_state,
    save_state,
)
from bandit_envs.adapters.torch import (
    DropoutPolicy,
    EnsemblePolicy,
    NeuralEpsilonGreedyPolicy,
    NeuralLinearPolicy,
    NeuralThompsonSamplingPolicy,
    NeuralUCBPolicy,
)
from bandit_envs.base.state import EncodedModel
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.logged import LogRecorder, learn_from_log
from bandit_envs.testing import PolicyContract, assert_identical
from bandit_envs.trajectories import Trajectory, restart, termination
from tests.adapters.row_by_row import assert_rows_learn_alone_and_go_on_from_a_file

D, K = 3, 4
HIDDEN = 6
CONTEXT = ArraySpec((D,), np.float32)


class Squares(torch.nn.Module):
    """A network of a user, with a layer that learns from batches and one that drops units."""

    def __init__(self, num_inputs, num_outputs):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(num_inputs)
        self.drop = torch.nn.Dropout(0.5)
        self.last = torch.nn.Linear(2 * num_inputs, num_outputs)

    def forward(self, x):
        x = self.norm(x)
        return self.last(self.drop(torch.cat((x, x**2), dim=1)))


OWN_NETWORK = {
    "network": Squares,
    "optimizer": torch.optim.Adam,
    "train_every": 3,
    "train_steps": 2,
    "learning_rate_decay": 0.5,
    "memory_size": 12,
}


class PerArmContract(PolicyContract):
    """The contract with features of actions; that with contexts is among those of the registry."""

    __test__ = False

    def make_environment(self, batch_size, seed):
        make = ENVIRONMENTS["per_arm"].make
        return make(global_dim=2, arm_dim=3, max_num_actions=4, batch_size=batch_size, seed=seed)

    def make_policy(self, env, seed):
        arguments = self.policy_class.arguments_for(env)
        return self.policy_class(**arguments, **self.options, seed=seed)


class TestOwnModuleOfActionFeatures(PerArmContract):
    __test__ = True
    policy_class = NeuralEpsilonGreedyPolicy
    options = MappingProxyType(OWN_NETWORK | {"epsilon": 0.1})


def make(policy_class=NeuralEpsilonGreedyPolicy, **options):
    sizes = {"observation_spec": CONTEXT, "num_actions": K, "seed": 0}
    defaults = {"epsilon": 0.0} if policy_class is NeuralEpsilonGreedyPolicy else {}
    return policy_class(**{**sizes, **defaults, **options})


def teach(policy, contexts, action, reward):
    """Shows a policy a step of contexts [B, D], actions [B] and rewards [B]."""
    before = restart(contexts.astype(np.float32), len(contexts))
    after = termination(before.observation, np.asarray(reward, np.float32))
    policy(Trajectory.from_transition(before, np.asarray(action, np.int32), after))


@pytest.mark.slow
class TestNeuralLinearOfActionFeatures(PerArmContract):
    __test__ = True
    policy_class = NeuralLinearPolicy
    options = MappingProxyType({"width": 6, "train_every": 2})


@pytest.mark.slow
class TestUCBOfActionFeatures(PerArmContract):
    __test__ = True
    policy_class = NeuralUCBPolicy
    options = MappingProxyType({"width": 6})


@pytest.mark.slow
class TestThompsonSamplingOfActionFeatures(PerArmContract):
    __test__ = True
    policy_class = NeuralThompsonSamplingPolicy
    options = MappingProxyType({"width": 6})


@pytest.mark.slow
class TestEnsembleOfActionFeatures(PerArmContract):
    __test__ = True
    policy_class = EnsemblePolicy
    options = MappingProxyType({"width": 6, "row_probability": 0.5})


@pytest.mark.slow
class TestDropoutOfActionFeatures(PerArmContract):
    __test__ = True
    policy_class = DropoutPolicy
    options = MappingProxyType({"network": Squares})


def perceptron(seed=0):
    """Returns W1 [H, D], b1 [H], W2 [K, H] and b2 [K] of a perceptron."""
    rng = np.random.default_rng(seed)
    shapes = ((HIDDEN, D), (HIDDEN,), (K, HIDDEN), (K,))
    return [rng.normal(size=shape).astype(np.float32) for shape in shapes]


def module_of(weights):
    """Returns the module with the parameters of a perceptron."""
    layers = torch.nn.Linear(D, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, K)
    module = torch.nn.Sequential(*layers)
    with torch.no_grad():
        for parameter, values in zip(module.parameters(), weights):
            parameter.copy_(torch.from_numpy(values))
    return module


def forward(weights, contexts):
    """Returns the hidden units [n, H] and the outputs [n, K]."""
    w1, b1, w2, b2 = (each.astype(np.float64) for each in weights)
    hidden = np.maximum(contexts @ w1.T + b1, 0.0)
    return hidden, hidden @ w2.T + b2


def gradient(weights, context, action):
    """Returns the derivatives of one output by all parameters, as one vector."""
    w2 = weights[2].astype(np.float64)
    hidden, _ = forward(weights, context[None])
    by_hidden = w2[action] * (hidden[0] > 0.0)
    is_action = np.eye(K)[action]
    parts = np.outer(by_hidden, context), by_hidden, np.outer(is_action, hidden[0]), is_action
    return np.concatenate([part.ravel() for part in parts])


NEVER = {"initial_pulls": 0, "train_every": 10**6}
"""Options of a policy whose network stays as it is."""


def taught(policy_class, weights, **options):
    """Returns a policy with the network of `weights`, and the contexts and actions it learned."""
    rng = np.random.default_rng(1)
    contexts = rng.normal(size=(3, 5, D))
    actions = rng.integers(0, K, (3, 5))
    network = module_of(weights)
    policy = make(policy_class, network=network, batch_size=5, **NEVER, **options)
    for context, action in zip(contexts, actions):
        teach(policy, context, action, rng.normal(size=5))
    return policy, contexts.reshape(-1, D), actions.ravel()


def expected_deviations(weights, contexts, actions, asked, weight):
    """Returns sqrt(sum_p g_p^2 / u_p) of every action: [n, K]."""
    u = weight + sum(gradient(weights, *pair) ** 2 for pair in zip(contexts, actions))
    squares = [[gradient(weights, row, a) ** 2 for a in range(K)] for row in asked]
    return np.sqrt((np.array(squares) / u).sum(axis=2))


ASKED = np.random.default_rng(2).normal(size=(5, D)).astype(np.float32)


def test_neural_ucb_adds_a_bound_of_the_gradients():
    weights = perceptron()
    policy, contexts, actions = taught(NeuralUCBPolicy, weights, alpha=0.7, tikhonov_weight=0.3)
    deviations = expected_deviations(weights, contexts, actions, ASKED, 0.3)
    expected = forward(weights, ASKED)[1] + 0.7 * deviations
    found = policy._scores(policy._state.learned, restart(ASKED, 5))
    assert np.abs(found - expected).max() < 1e-5


def test_neural_thompson_draws_around_the_prediction_with_a_deviation_of_the_gradients():
    weights = perceptron()
    policy, contexts, actions = taught(
        NeuralThompsonSamplingPolicy, weights, alpha=0.7, tikhonov_weight=0.3
    )
    deviations = expected_deviations(weights, contexts, actions, ASKED, 0.3)
    noise = np.random.default_rng(3).standard_normal((5, K))
    expected = forward(weights, ASKED)[1] + 0.7 * deviations * noise
    rng = np.random.default_rng(3)
    found = policy._draw_values(rng, policy._state.learned, restart(ASKED, 5))
    assert np.abs(found - expected).max() < 1e-5


def test_derivatives_of_parts_of_a_batch_are_those_of_all(monkeypatch):
    policy, _, _ = taught(NeuralUCBPolicy, perceptron())
    scores = policy._scores(policy._state.learned, restart(ASKED, 5))
    monkeypatch.setattr("bandit_envs.adapters.torch_networks.MAX_GRADIENTS", 1)
    parts, _, _ = taught(NeuralUCBPolicy, perceptron())
    again = parts._scores(parts._state.learned, restart(ASKED, 5))
    assert np.allclose(again, scores, rtol=1e-6)


def test_neural_linear_draws_from_posteriors_of_the_last_hidden_layer():
    weights = perceptron()
    rng = np.random.default_rng(1)
    contexts = rng.normal(size=(30, D))
    actions = rng.integers(0, K, 30)
    rewards = rng.normal(size=30)
    options = {"a0": 2.0, "b0": 3.0, "tikhonov_weight": 0.5, "batch_size": 30, **NEVER}
    policy = make(NeuralLinearPolicy, network=module_of(weights), **options)
    teach(policy, contexts, actions, rewards)
    asked = np.repeat(ASKED, 6, axis=0)
    draws = np.random.default_rng(3).standard_t(4.0 + np.bincount(actions, minlength=K), (30, K))
    found = policy._draw_values(np.random.default_rng(3), policy._state.learned, restart(asked, 30))
    hidden, _ = forward(weights, contexts.astype(np.float32).astype(np.float64))
    z, _ = forward(weights, asked)
    for action in range(K):
        chosen = actions == action
        x, r = hidden[chosen], rewards[chosen].astype(np.float32)
        inverse = np.linalg.inv(x.T @ x + 0.5 * np.eye(HIDDEN))
        mean = inverse @ x.T @ r
        a = 2.0 + chosen.sum() / 2
        b = 3.0 + (r @ r - mean @ x.T @ r) / 2
        deviations = np.sqrt(b / a * np.einsum("bi,ij,bj->b", z, inverse, z))
        expected = z @ mean + draws[:, action] * deviations
        assert np.abs(found[:, action] - expected).max() < 1e-5


def test_neural_linear_learns_anew_from_its_memory_after_training():
    policy = make(NeuralLinearPolicy, batch_size=5, train_every=2, train_steps=3, memory_size=8)
    for _ in range(2):
        teach(policy, ASKED, np.arange(5) % K, np.arange(5.0))
    after = policy.get_state().content.learned
    assert after.extra.counts.sum() == 8
    hidden = after.networks.represent(after.memory.inputs)
    for action in range(K):
        chosen = after.memory.output == action
        inverse = np.linalg.inv(hidden[chosen].T @ hidden[chosen] + 0.25 * np.eye(50))
        expected = inverse @ hidden[chosen].T @ after.memory.reward[chosen]
        assert np.allclose(after.extra.models.theta[action], expected)


def test_neural_linear_needs_a_network_that_ends_in_a_linear_layer():
    ends = torch.nn.Sequential(torch.nn.Linear(D, K), torch.nn.Tanh())
    for network in (ends, torch.nn.Sequential(torch.nn.Conv1d(1, 1, 1), torch.nn.Flatten())):
        with pytest.raises(ValueError, match="network"):
            make(NeuralLinearPolicy, network=network)


def test_an_ensemble_chooses_as_a_network_drawn_at_random():
    networks = [perceptron(seed) for seed in range(3)]
    modules = iter([module_of(weights) for weights in networks])
    options = {"batch_size": 5, "num_networks": 3, **NEVER}
    policy = make(EnsemblePolicy, network=lambda num_inputs, num_outputs: next(modules), **options)
    best = [forward(weights, ASKED)[1].argmax(axis=1) for weights in networks]
    expected = np.mean([np.eye(K)[each] for each in best], axis=0)
    assert np.abs(policy.probabilities(restart(ASKED, 5)) - expected).max() < 1e-12


def test_a_network_of_an_ensemble_learns_from_its_own_rows():
    policy = make(EnsemblePolicy, batch_size=2000, row_probability=0.3)
    teach(policy, np.ones((2000, D)), np.zeros(2000), np.ones(2000))
    weight = policy.get_state().content.learned.memory.weight[:2000]
    assert weight.shape == (2000, 3)
    assert np.abs(weight.mean(axis=0) - 0.3).max() < 5 * np.sqrt(0.3 * 0.7 / 2000)
    assert abs(np.corrcoef(weight.T)[0, 1]) < 5 / np.sqrt(2000)


def test_dropout_draws_other_units_for_every_row():
    linear = torch.nn.Linear(D, K)
    network = torch.nn.Sequential(torch.nn.Dropout(0.25), linear)
    policy = make(DropoutPolicy, network=network, batch_size=400, **NEVER)
    rows = np.repeat(ASKED[:1], 400, axis=0)
    found = policy._draw_values(np.random.default_rng(0), policy._state.learned, restart(rows, 400))
    kept = np.array(np.meshgrid(*D * [[0, 1]])).reshape(D, -1).T
    weight = linear.weight.detach().numpy().astype(np.float64)
    possible = (kept * ASKED[0] / 0.75) @ weight.T + linear.bias.detach().numpy()
    distances = np.abs(found[:, None] - possible).max(axis=2)
    assert distances.min(axis=1).max() < 1e-5
    counts = np.bincount(distances.argmin(axis=1), minlength=len(kept))
    probability = 0.75 ** kept.sum(axis=1) * 0.25 ** (D - kept.sum(axis=1))
    deviations = np.sqrt(400 * probability * (1 - probability))
    assert (np.abs(counts - 400 * probability) < 5 * deviations).all()


def test_a_module_predicts_the_rewards_and_stays_as_it_is():
    module = torch.nn.Linear(D, K)
    before = module.weight.detach().numpy().copy()
    policy = make(network=module, initial_pulls=0, batch_size=5)
    contexts = np.random.default_rng(0).normal(size=(5, D)).astype(np.float32)
    expected = contexts @ before.T + module.bias.detach().numpy()
    assert (policy.action(restart(contexts, 5)) == expected.argmax(axis=1)).all()
    teach(policy, contexts, np.zeros(5), np.ones(5))
    assert np.array_equal(module.weight.detach().numpy(), before)


def test_first_parameters_follow_from_the_seed_and_not_from_pytorchs_generators():
    torch.manual_seed(5)
    one = make(network=Squares, seed=1)
    state = torch.get_rng_state()
    two = make(network=Squares, seed=1)
    other = make(network=Squares, seed=2)
    assert torch.equal(torch.get_rng_state(), state)
    assert_identical(one.get_state(), two.get_state())
    weights = [
        policy.get_state().content.learned.networks.modules[0].last.weight
        for policy in (one, other)
    ]
    assert not torch.equal(*weights)


def test_the_memory_holds_the_last_rows():
    policy = make(memory_size=4, batch_size=3)
    for step in range(3):
        teach(policy, np.full((3, D), step), [0, 1, 2], [step, step + 0.25, step + 0.5])
    memory = policy.get_state().content.learned.memory
    assert sorted(memory.reward) == [1.5, 2.0, 2.25, 2.5]
    assert memory.seen == 9


def test_the_optimizer_steps_after_every_n_trajectories():
    policy = make(train_every=3)
    changed = []
    for _ in range(6):
        before = policy.get_state().content.learned.networks.modules
        teach(policy, np.ones((1, D)), [0], [5.0])
        after = policy.get_state().content.learned.networks.modules
        changed.append(not torch.equal(before[0][0].weight, after[0][0].weight))
    assert changed == [False, False, True, False, False, True]


def test_a_step_is_that_of_pytorch():
    module = torch.nn.Linear(D, K)
    expected = torch.nn.Linear(D, K)
    expected.load_state_dict(module.state_dict())
    optimizer = functools.partial(torch.optim.SGD, momentum=0.5)
    policy = make(network=module, optimizer=optimizer, learning_rate=0.1, max_gradient_norm=0.7)
    steps = optimizer(expected.parameters(), lr=0.1)
    for _ in range(3):
        teach(policy, np.ones((1, D)), [2], [5.0])  # the memory holds equal rows only
        steps.zero_grad()
        torch.square(expected(torch.ones(1, D))[0, 2] - 5.0).backward()
        torch.nn.utils.clip_grad_norm_(expected.parameters(), 0.7)
        steps.step()
    found = policy.get_state().content.learned.networks.modules[0]
    assert torch.allclose(found.weight, expected.weight, atol=1e-5)


def test_every_action_is_tried_first():
    policy = make(initial_pulls=2)
    actions = []
    for _ in range(2 * K):
        (action,) = policy.action(restart(np.ones((1, D), np.float32), 1))
        actions.append(action)
        teach(policy, np.ones((1, D)), [action], [action == 0])
    assert sorted(actions) == sorted(2 * list(range(K)))


def test_a_run_leaves_the_number_of_threads_as_it_is():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        env = ENVIRONMENTS["logistic_context"].make(num_actions=K, batch_size=5, seed=0)
        arguments = NeuralEpsilonGreedyPolicy.arguments_for(env)
        policy = NeuralEpsilonGreedyPolicy(0.1, **arguments, seed=0)
        StepDriver(env, policy, [policy], 3).run()
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_each_row_of_independent_problems_has_a_network_of_its_own(tmp_path):
    def make_policy(env, seed):
        return NeuralEpsilonGreedyPolicy(
            0.2, **NeuralEpsilonGreedyPolicy.arguments_for(env), memory_size=50, seed=seed
        )

    assert_rows_learn_alone_and_go_on_from_a_file(make_policy, tmp_path)


def test_recorded_probabilities_are_those_of_the_choices_and_the_log_teaches_another_policy():
    env = ENVIRONMENTS["logistic_context"].make(num_actions=K, batch_size=5, seed=0)
    arguments = NeuralEpsilonGreedyPolicy.arguments_for(env)
    policy = NeuralEpsilonGreedyPolicy(0.2, **arguments, seed=0)
    recorder = LogRecorder(K, env)
    StepDriver(env, policy, [policy, recorder], 30, emit_log_probability=True).run()
    log = recorder.log()
    told = np.unique(np.round(log.propensity, 6))
    assert told.min() >= 0.05 - 1e-6
    assert 0.85 in told
    learner = make(observation_spec=env.observation_spec())
    taught = learn_from_log(learner, log, batch_rows=10)
    assert taught._state.learned.memory.seen == 150
    assert taught._state.learned.steps == 15
    assert learner.is_untrained


def test_rewards_that_arrive_later_are_learned_with_their_contexts():
    env = DelayedRewards(
        ENVIRONMENTS["logistic_context"].make(num_actions=K, batch_size=5, seed=0), 3
    )
    policy = NeuralEpsilonGreedyPolicy(0.2, **NeuralEpsilonGreedyPolicy.arguments_for(env), seed=0)
    StepDriver(env, policy, [DelayedLearning(env, policy)], 10).run()
    assert policy._state.learned.memory.seen == 7 * 5


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"network": "Net"}, TypeError, "network is 'Net'; expected a torch.nn.Module"),
        ({"network": "torch:Net"}, ValueError, "network is 'torch:Net', which cannot be used"),
        ({"network": "torch:nn"}, ValueError, "it is neither a class nor a function"),
        ({"network": torch.nn.Linear(D + 1, K)}, ValueError, "expected outputs of shape"),
        ({"network": torch.nn.Linear(D, K + 1)}, ValueError, r"returned shape \(2, 5\)"),
        ({"network": torch.nn.ReLU()}, ValueError, "no parameters to learn"),
        ({"width": 0}, ValueError, "width is 0"),
        ({"train_every": 0}, ValueError, "train_every is 0"),
        ({"memory_size": 0}, ValueError, "memory_size is 0"),
        ({"learning_rate": 0.0}, ValueError, "learning_rate is 0"),
    ],
)
def test_what_makes_no_policy_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        make(**options)


def test_a_state_of_another_network_is_refused():
    small, large = make(width=5), make(width=6)
    before = small.get_state()
    with pytest.raises(ValueError, match="num_parameters"):
        small.set_state(large.get_state())
    assert_identical(small.get_state(), before)


@pytest.mark.slow
def test_neural_linears_regret_on_the_wheel_is_that_of_an_independent_program():
    """2,000 steps with delta 0.5, as shares of the uniform policy's regret.

    Ten runs of networks in NumPy, with the same settings, gave 7.77 +- 0.24 %.
    """
    uniform = 0.75 * (50.0 - 54.2 / 5.0) + 0.25 * 0.16
    settings = {
        "learning_rate": 0.1,
        "learning_rate_decay": 0.5,
        "minibatch_size": 512,
        "train_every": 50,
        "train_steps": 100,
    }
    shares = []
    for seed in range(3):
        env = WheelPyEnvironment(0.5, [1.2, 1.0, 1.0, 1.0, 1.0], [0.01] * 5, 50.0, 0.01, seed=seed)
        arguments = NeuralLinearPolicy.arguments_for(env)
        policy = NeuralLinearPolicy(**settings, **arguments, seed=seed + 100)
        regret = RegretMetric(env)
        StepDriver(env, policy, [policy, regret], 2000).run()
        shares.append(regret.result().cumulative.at(-1).mean / 2000 / uniform)
    deviation = 0.0024 * np.sqrt(10)  # of one run
    assert abs(np.mean(shares) - 0.0777) < 3.0 * np.hypot(0.0024, deviation / np.sqrt(3))


class Marks:
    """An object that would write a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.parametrize("part", ["networks", "optimizer", "groups"])
def test_a_file_of_a_network_holds_no_objects_and_another_one_is_refused(part, tmp_path):
    policy = make()
    teach(policy, np.ones((1, D)), [1], [1.0])
    save_state(tmp_path / "state.npz", policy.get_state())
    state = load_state(tmp_path / "state.npz")
    content = state.content.learned.networks.content
    path = tmp_path / "mark"

    for bad in (np.frombuffer(pickle.dumps(Marks(path)), np.uint8), "__import__('os')", {}, None):
        forged = EncodedModel({**content, part: {"0": {"weight": bad}}})
        learned = state.content.learned._replace(networks=forged)
        with pytest.raises(ValueError, match="does not fit"):
            policy.set_state(state._replace(content=state.content._replace(learned=learned)))
    with pytest.raises(TypeError, match=r"state holds a .*Marks"):
        save_state(tmp_path / "state.npz", {"object": Marks(path)})
    assert not path.exists()
