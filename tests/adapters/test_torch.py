"""Models of rewards with networks of PyTorch."""

import functools
import pickle
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from bandit_envs import (
    ArraySpec,
    ContextualPolicy,
    DelayedLearning,
    DelayedRewards,
    RegretMetric,
    StepDriver,
    WheelPyEnvironment,
    load_state,
    save_state,
)
from bandit_envs.adapters.torch import (
    Dropout,
    Ensemble,
    GradientNetwork,
    Network,
    NeuralLinear,
    presets,
)
from bandit_envs.base.saving import EncodedModel
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.logged import LogRecorder, learn_from_log
from bandit_envs.policies.models import Contexts, ModelSizes, TrainingRows
from bandit_envs.policies.registry import POLICIES
from bandit_envs.policies.rules import EpsilonGreedy, Greedy, ThompsonSampling, UpperBound
from bandit_envs.testing import assert_identical
from bandit_envs.trajectories import restart
from tests.adapters.row_by_row import assert_rows_learn_alone_and_go_on_from_a_file

D, K = 3, 4
HIDDEN = 6
SIZES = ModelSizes(num_rows=1, num_actions=K, context_dim=D, action_dim=None)
NEVER = 10**6
"""A network that is trained after so many trajectories stays as it is."""

ASKED = np.random.default_rng(2).normal(size=(5, D)).astype(np.float32)
INPUTS = Contexts(ASKED, are_problems=False)


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


def rows(contexts, action, reward):
    """Returns rows to learn from: contexts [n, D], actions [n] and rewards [n]."""
    action = np.asarray(action, np.intp)
    return TrainingRows(contexts, action, action, np.asarray(reward, np.float64), D, False)


def taught(model, *lessons, seed=0):
    """Returns what a model knows after lessons, each of contexts, actions and rewards."""
    learned = model.initial(SIZES, np.random.default_rng(seed))
    for lesson in lessons:
        learned = model.learn(learned, rows(*lesson))
    return learned


def make(model, rule=Greedy(), **options):  # noqa: B008  # a frozen dataclass
    """Returns a policy for contexts."""
    sizes = {"observation_spec": ArraySpec((D,), np.float32), "num_actions": K, "seed": 0}
    return ContextualPolicy(model, rule, **{**sizes, **options})


def policy_for(env, model, rule, seed=0):
    return ContextualPolicy(model, rule, **ContextualPolicy.arguments_for(env), seed=seed)


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


LESSONS = [
    (rng.normal(size=(5, D)), rng.integers(0, K, 5), rng.normal(size=5))
    for rng in map(np.random.default_rng, range(3))
]


def expected_deviations(weights, weight):
    """Returns sqrt(sum_p g_p^2 / u_p) of every action in `ASKED`, after `LESSONS`: [5, K]."""
    pairs = [pair for contexts, actions, _ in LESSONS for pair in zip(contexts, actions)]
    u = weight + sum(gradient(weights, *pair) ** 2 for pair in pairs)
    squares = [[gradient(weights, row, a) ** 2 for a in range(K)] for row in ASKED]
    return np.sqrt((np.array(squares) / u).sum(axis=2))


def test_bounds_and_draws_of_a_gradient_network_are_as_wide_as_its_gradients_say():
    weights = perceptron()
    model = GradientNetwork(module_of(weights), tikhonov_weight=0.3, train_every=NEVER)
    learned = taught(model, *LESSONS)
    means = forward(weights, ASKED)[1]
    widths = 0.7 * expected_deviations(weights, 0.3)
    lower, upper = model.interval(learned, INPUTS, 0.7)
    assert np.abs(lower - (means - widths)).max() < 1e-5
    assert np.abs(upper - (means + widths)).max() < 1e-5
    noise = np.random.default_rng(3).standard_normal((5, K))
    drawn = model.draw(np.random.default_rng(3), learned, INPUTS, 0.7)
    assert np.abs(drawn - (means + widths * noise)).max() < 1e-5


def test_derivatives_of_parts_of_a_batch_are_those_of_all(monkeypatch):
    model = GradientNetwork(module_of(perceptron()), train_every=NEVER)
    whole = model.interval(taught(model, *LESSONS), INPUTS, 1.0)
    monkeypatch.setattr("bandit_envs.adapters.torch.networks.MAX_GRADIENTS", 1)
    parts = model.interval(taught(model, *LESSONS), INPUTS, 1.0)
    assert np.allclose(parts, whole, rtol=1e-5)


def test_neural_linear_has_posteriors_of_the_last_hidden_layer():
    weights = perceptron()
    rng = np.random.default_rng(1)
    contexts, actions, rewards = (
        rng.normal(size=(30, D)),
        rng.integers(0, K, 30),
        rng.normal(size=30),
    )
    model = NeuralLinear(module_of(weights), a0=2.0, b0=3.0, tikhonov_weight=0.5, train_every=NEVER)
    learned = taught(model, (contexts, actions, rewards))
    means = model.means(learned, INPUTS)
    _, upper = model.interval(learned, INPUTS, 1.5)
    drawn = model.draw(np.random.default_rng(3), learned, INPUTS, 0.7)
    noise = np.random.default_rng(3).standard_t(4.0 + np.bincount(actions, minlength=K), (5, K))
    hidden, _ = forward(weights, contexts.astype(np.float32).astype(np.float64))
    z, _ = forward(weights, ASKED)
    for action in range(K):
        x, r = hidden[actions == action], rewards[actions == action]
        inverse = np.linalg.inv(x.T @ x + 0.5 * np.eye(HIDDEN))
        mean = inverse @ x.T @ r
        a = 2.0 + len(r) / 2
        b = 3.0 + (r @ r - mean @ x.T @ r) / 2
        deviations = np.sqrt(b / a * np.einsum("bi,ij,bj->b", z, inverse, z))
        assert np.abs(means[:, action] - z @ mean).max() < 1e-5
        assert np.abs(upper[:, action] - (z @ mean + 1.5 * deviations)).max() < 1e-5
        expected = z @ mean + 0.7 * noise[:, action] * deviations
        assert np.abs(drawn[:, action] - expected).max() < 1e-5


def test_neural_linear_learns_anew_from_its_memory_after_training():
    model = NeuralLinear(train_every=2, train_steps=3, memory_size=8)
    lesson = (ASKED, np.arange(5) % K, np.arange(5.0))
    learned = taught(model, lesson, lesson)
    assert learned.extra.counts.sum() == 8
    hidden = learned.networks.represent(learned.memory.rows.inputs)
    for action in range(K):
        chosen = learned.memory.rows.output == action
        inverse = np.linalg.inv(hidden[chosen].T @ hidden[chosen] + 0.25 * np.eye(50))
        expected = inverse @ hidden[chosen].T @ learned.memory.rows.reward[chosen]
        assert np.allclose(learned.extra.theta[0, action], expected)


def test_neural_linear_needs_a_network_that_ends_in_a_linear_layer():
    ends = torch.nn.Sequential(torch.nn.Linear(D, K), torch.nn.Tanh())
    for network in (ends, torch.nn.Sequential(torch.nn.Conv1d(1, 1, 1), torch.nn.Flatten())):
        with pytest.raises(ValueError, match="network"):
            make(NeuralLinear(network))


def test_an_ensemble_predicts_what_its_networks_do_and_draws_one_of_them_for_each_row():
    networks = [perceptron(seed) for seed in range(3)]
    modules = iter([module_of(weights) for weights in networks])
    model = Ensemble(lambda num_inputs, num_outputs: next(modules), train_every=NEVER)
    learned = taught(model)
    expected = np.array([forward(weights, ASKED)[1] for weights in networks])
    assert np.abs(model.members(learned, INPUTS) - expected).max() < 1e-5
    assert np.abs(model.means(learned, INPUTS) - expected.mean(axis=0)).max() < 1e-5
    lower, upper = model.interval(learned, INPUTS, 2.0)
    assert np.abs(upper - lower - 4.0 * expected.std(axis=0)).max() < 1e-5
    assert np.abs(model.quantile(learned, INPUTS, 0.5) - np.median(expected, axis=0)).max() < 1e-5
    many = Contexts(np.repeat(ASKED[:1], 3000, axis=0), are_problems=False)
    drawn = model.draw(np.random.default_rng(0), learned, many, 1.0)
    distances = np.abs(drawn - expected[:, :1]).max(axis=2)
    assert distances.min(axis=0).max() < 1e-5
    counts = np.bincount(distances.argmin(axis=0), minlength=3)
    assert np.abs(counts - 1000).max() < 5 * np.sqrt(3000 * 2 / 9)


def test_thompson_sampling_knows_the_probabilities_of_an_ensemble():
    policy = make(Ensemble(num_networks=5), ThompsonSampling(), batch_size=5)
    learned = policy.get_state().content.learned.model
    best = policy.model.members(learned, INPUTS).argmax(axis=2)
    expected = np.mean(np.eye(K)[best], axis=0)
    assert np.abs(policy.probabilities(restart(ASKED, 5)) - expected).max() < 1e-12


def test_a_network_of_an_ensemble_learns_from_its_own_rows():
    model = Ensemble(row_probability=0.3, train_every=NEVER)
    learned = taught(model, (np.ones((2000, D)), np.zeros(2000), np.ones(2000)))
    weight = learned.memory.rows.weight[:2000]
    assert weight.shape == (2000, 3)
    assert np.abs(weight.mean(axis=0) - 0.3).max() < 5 * np.sqrt(0.3 * 0.7 / 2000)
    assert abs(np.corrcoef(weight.T)[0, 1]) < 5 / np.sqrt(2000)


def test_dropout_draws_other_units_for_every_row_and_predicts_with_all():
    linear = torch.nn.Linear(D, K)
    model = Dropout(torch.nn.Sequential(torch.nn.Dropout(0.25), linear))
    learned = taught(model)
    many = Contexts(np.repeat(ASKED[:1], 400, axis=0), are_problems=False)
    found = model.draw(np.random.default_rng(0), learned, many, 1.0)
    weight = linear.weight.detach().numpy().astype(np.float64)
    bias = linear.bias.detach().numpy()
    assert np.abs(model.means(learned, INPUTS) - (ASKED @ weight.T + bias)).max() < 1e-5
    kept = np.array(np.meshgrid(*D * [[0, 1]])).reshape(D, -1).T
    possible = (kept * ASKED[0] / 0.75) @ weight.T + bias
    distances = np.abs(found[:, None] - possible).max(axis=2)
    assert distances.min(axis=1).max() < 1e-5
    counts = np.bincount(distances.argmin(axis=1), minlength=len(kept))
    probability = 0.75 ** kept.sum(axis=1) * 0.25 ** (D - kept.sum(axis=1))
    deviations = np.sqrt(400 * probability * (1 - probability))
    assert (np.abs(counts - 400 * probability) < 5 * deviations).all()


def test_a_module_predicts_the_rewards_and_stays_as_it_is():
    module = torch.nn.Linear(D, K)
    before = module.weight.detach().numpy().copy()
    model = Network(module)
    expected = ASKED @ before.T + module.bias.detach().numpy()
    assert np.abs(model.means(taught(model), INPUTS) - expected).max() < 1e-6
    learned = taught(model, (ASKED, np.zeros(5), np.ones(5)))
    assert np.abs(model.means(learned, INPUTS) - expected).max() > 1e-4
    assert np.array_equal(module.weight.detach().numpy(), before)


def test_first_parameters_follow_from_the_seed_and_not_from_pytorchs_generators():
    torch.manual_seed(5)
    one = make(Network(Squares), seed=1)
    state = torch.get_rng_state()
    two = make(Network(Squares), seed=1)
    other = make(Network(Squares), seed=2)
    assert torch.equal(torch.get_rng_state(), state)
    assert_identical(one.get_state(), two.get_state())
    weights = [
        policy.get_state().content.learned.model.networks.modules[0].last.weight
        for policy in (one, other)
    ]
    assert not torch.equal(*weights)


def test_the_memory_holds_the_last_rows():
    lessons = [(np.full((3, D), t), [0, 1, 2], [t, t + 0.25, t + 0.5]) for t in range(3)]
    memory = taught(Network(memory_size=4), *lessons).memory
    assert sorted(memory.rows.reward) == [1.5, 2.0, 2.25, 2.5]
    assert memory.seen == 9


def test_the_optimizer_steps_after_every_n_trajectories():
    model = Network(train_every=3)
    learned = taught(model)
    changed = []
    for _ in range(6):
        before = model.means(learned, INPUTS)
        learned = model.learn(learned, rows(np.ones((1, D)), [0], [5.0]))
        changed.append(not np.array_equal(model.means(learned, INPUTS), before))
    assert changed == [False, False, True, False, False, True]


def test_a_step_is_that_of_pytorch():
    module = torch.nn.Linear(D, K)
    expected = torch.nn.Linear(D, K)
    expected.load_state_dict(module.state_dict())
    optimizer = functools.partial(torch.optim.SGD, momentum=0.5)
    model = Network(module, optimizer=optimizer, learning_rate=0.1, max_gradient_norm=0.7)
    learned = taught(model, *3 * [(np.ones((1, D)), [2], [5.0])])  # the memory holds equal rows
    steps = optimizer(expected.parameters(), lr=0.1)
    for _ in range(3):
        steps.zero_grad()
        torch.square(expected(torch.ones(1, D))[0, 2] - 5.0).backward()
        torch.nn.utils.clip_grad_norm_(expected.parameters(), 0.7)
        steps.step()
    assert torch.allclose(learned.networks.modules[0].weight, expected.weight, atol=1e-5)


def test_initial_pulls_do_nothing_where_actions_have_features():
    sizes = {"global_dim": 2, "arm_dim": 3, "max_num_actions": 4, "batch_size": 5}
    runs = []
    for pulls in (0, 1000):
        env = ENVIRONMENTS["per_arm"].make(**sizes, seed=0)
        policy = POLICIES["neural_ucb"].make_for(env, {"initial_pulls": pulls}, seed=1)
        trajectories = []
        StepDriver(env, policy, [policy, trajectories.append], 20).run()
        runs.append([step.action.tolist() for step in trajectories])
    assert runs[0] == runs[1]


def test_a_run_leaves_the_number_of_threads_as_it_is():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        env = ENVIRONMENTS["logistic_context"].make(num_actions=K, batch_size=5, seed=0)
        policy = policy_for(env, GradientNetwork(), UpperBound())
        StepDriver(env, policy, [policy], 3).run()
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_each_row_of_independent_problems_has_a_network_of_its_own(tmp_path):
    def make_policy(env, seed):
        return policy_for(env, Network(memory_size=50), EpsilonGreedy(0.2), seed)

    assert_rows_learn_alone_and_go_on_from_a_file(make_policy, tmp_path)


def test_recorded_probabilities_are_those_of_the_choices_and_the_log_teaches_another_policy():
    env = ENVIRONMENTS["logistic_context"].make(num_actions=K, batch_size=5, seed=0)
    policy = policy_for(env, Network(), EpsilonGreedy(0.2))
    recorder = LogRecorder(K, env)
    StepDriver(env, policy, [policy, recorder], 30, emit_log_probability=True).run()
    log = recorder.log()
    told = np.unique(np.round(log.propensity, 6))
    assert told.min() >= 0.05 - 1e-6
    assert 0.85 in told
    learner = make(Network(), observation_spec=env.observation_spec())
    learned = learn_from_log(learner, log, batch_rows=10)._state.learned.model
    assert (learned.memory.seen, learned.steps) == (150, 15)
    assert learner.is_untrained


def test_rewards_that_arrive_later_are_learned_with_their_contexts():
    env = ENVIRONMENTS["logistic_context"].make(num_actions=K, batch_size=5, seed=0)
    delayed = DelayedRewards(env, 3)
    policy = policy_for(delayed, Network(), EpsilonGreedy(0.2))
    StepDriver(delayed, policy, [DelayedLearning(delayed, policy)], 10).run()
    assert policy._state.learned.model.memory.seen == 7 * 5


@pytest.mark.parametrize(
    ("make_model", "error", "message"),
    [
        (lambda: Network("Net"), TypeError, "network is 'Net'; expected a torch"),
        (lambda: Network("torch:Net"), ValueError, "network is 'torch:Net', which cannot be used"),
        (lambda: Network("torch:nn"), ValueError, "it is neither a class nor a function"),
        (lambda: Network(torch.nn.Linear(D + 1, K)), ValueError, "expected outputs of shape"),
        (lambda: Network(torch.nn.Linear(D, K + 1)), ValueError, r"returned shape \(2, 5\)"),
        (lambda: Network(torch.nn.ReLU()), ValueError, "no parameters to learn"),
        (lambda: Network(width=0), ValueError, "width is 0"),
        (lambda: Network(train_every=0), ValueError, "train_every is 0"),
        (lambda: Network(memory_size=0), ValueError, "memory_size is 0"),
        (lambda: Network(learning_rate=0.0), ValueError, "learning_rate is 0"),
        (lambda: Dropout(torch.nn.Linear(D, K)), ValueError, "no layer such as"),
        (lambda: Ensemble(torch.nn.Linear(D, K)), TypeError, "several networks must differ"),
        (lambda: Ensemble(num_networks=0), ValueError, "num_networks is 0"),
    ],
)
def test_what_makes_no_policy_is_refused(make_model, error, message):
    with pytest.raises(error, match=message):
        make(make_model())


def test_a_rule_that_a_network_cannot_serve_names_the_models_that_can():
    with pytest.raises(TypeError, match=r"needs draw.*use Dropout, Ensemble, GradientNetwork, Neu"):
        make(Network(), ThompsonSampling())
    with pytest.raises(ValueError, match=r"alpha is 2.0; expected 1, as draws of a Dropout"):
        make(Dropout(), ThompsonSampling(2.0))


def test_a_state_of_another_network_is_refused():
    small, large = make(Network(width=5)), make(Network(width=6))
    before = small.get_state()
    with pytest.raises(ValueError, match="with other arguments"):
        small.set_state(large.get_state())
    assert_identical(small.get_state(), before)


class Marks:
    """An object that would write a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.parametrize("part", ["networks", "optimizer", "groups"])
def test_a_file_of_a_network_holds_no_objects_and_another_one_is_refused(part, tmp_path):
    policy = make(Network())
    save_state(tmp_path / "state.npz", policy.get_state())
    state = load_state(tmp_path / "state.npz")
    knowledge = state.content.learned
    content = knowledge.model.networks.content
    path = tmp_path / "mark"
    for bad in (np.frombuffer(pickle.dumps(Marks(path)), np.uint8), "__import__('os')", {}, None):
        forged = EncodedModel({**content, part: {"0": {"weight": bad}}})
        learned = knowledge._replace(model=knowledge.model._replace(networks=forged))
        with pytest.raises(ValueError, match="does not fit"):
            policy.set_state(state._replace(content=state.content._replace(learned=learned)))
    with pytest.raises(TypeError, match=r"state holds a .*Marks"):
        save_state(tmp_path / "state.npz", {"object": Marks(path)})
    assert not path.exists()


def test_every_number_of_what_an_optimizer_knows_is_compared():
    """The state of an optimizer is a dict whose keys are the parameters."""

    def known():
        parameter = torch.nn.Parameter(torch.zeros(2000))
        return {parameter: {"step": torch.tensor(1.0)}}

    assert_identical(known(), known())
    changed = known()
    next(iter(changed)).data[1000] = 1.0
    with pytest.raises(
        AssertionError, match=r"value\.keys\(\)\[0\].*\[1000\] is 1\.0; expected 0\.0"
    ):
        assert_identical(changed, known())
    changed = known()
    next(iter(changed.values()))["step"] += 1.0
    with pytest.raises(AssertionError, match=r"value\.values\(\)\[0\]\['step'\].* is 2\.0"):
        assert_identical(changed, known())


def test_a_model_is_compared_copied_and_written_out_by_its_parameters():
    model = Ensemble(Squares, num_networks=4, optimizer=torch.optim.Adam)
    assert pickle.loads(pickle.dumps(model)) == model
    assert model != Ensemble(Squares, num_networks=5, optimizer=torch.optim.Adam)
    assert "num_networks=4" in repr(model)


def test_models_can_be_named_without_pytorch_and_policies_say_what_to_install():
    program = (
        "import sys\n"
        "sys.modules['torch'] = None\n"
        "from bandit_envs.policies.registry import POLICIES\n"
        "from bandit_envs.environments.registry import ENVIRONMENTS\n"
        "assert 'width' in POLICIES['neural_ucb'].parameters()\n"
        "env = ENVIRONMENTS['logistic_context'].make(seed=0)\n"
        "POLICIES['neural_ucb'].make_for(env, {}, seed=0)\n"
    )
    command = [sys.executable, "-c", program]
    found = subprocess.run(command, check=False, capture_output=True, text=True)
    assert "torch is not installed" in found.stderr


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
        policy = policy_for(env, NeuralLinear(**settings), presets.first_draws(), seed + 100)
        regret = RegretMetric(env)
        StepDriver(env, policy, [policy, regret], 2000).run()
        shares.append(regret.result().cumulative.at(-1).mean / 2000 / uniform)
    deviation = 0.0024 * np.sqrt(10)  # of one run
    assert abs(np.mean(shares) - 0.0777) < 3.0 * np.hypot(0.0024, deviation / np.sqrt(3))
