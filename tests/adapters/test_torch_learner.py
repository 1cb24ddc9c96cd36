"""Networks of PyTorch as scores of policies, learned from logs."""

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from bandit_envs.adapters.torch import NetworkGradientLearner, NetworkScores, new_networks
from bandit_envs.evaluations import learn
from bandit_envs.logged import (
    BanditLog,
    DoublyRobust,
    DRWithOptimisticShrinkage,
    PolicyGradientLearner,
    SelfNormalizedIPS,
    SwitchDR,
    probabilities_of,
    read_policy,
)
from bandit_envs.logged.features import spec_of_rows
from bandit_envs.trajectories import restart
from tests.logged.test_learners import bad_logger_log
from tests.logged.test_model_learner import value_of


@pytest.mark.parametrize("constant", [0.1, 0.25, 1 / 3])
def test_a_constant_feature_is_not_scaled_by_rounding(constant):
    network = new_networks.make_scaled(torch.nn.Linear, 2, 1).eval()
    features = np.column_stack([np.arange(300.0), np.full(300, constant)])
    scaled = network[0](new_networks.scale_features(network, features))
    assert scaled[:, 1].abs().max() < 1e-6
    assert scaled[:, 0].std(unbiased=False) == pytest.approx(1.0, abs=1e-5)
    assert network[0].running_var[1] == 1.0


def make_rings(size, seed):
    """Returns a log of two actions, of which one is better inside of a circle."""
    rng = np.random.default_rng(seed)
    context = rng.normal(size=(size, 2)) * [1.0, 50.0] + [0.0, 300.0]
    action = rng.integers(2, size=size)
    means = means_of_rings(context)
    reward = (rng.random(size) < means[np.arange(size), action]).astype(float)
    return BanditLog(context, action, reward, np.full(size, 0.5))


def means_of_rings(context):
    radius = np.hypot(context[:, 0], (context[:, 1] - 300.0) / 50.0)
    inside = radius < 1.18  # half of the contexts
    return np.where(inside[:, np.newaxis], [0.8, 0.2], [0.2, 0.8])


@pytest.mark.parametrize(
    "objective",
    [None, SelfNormalizedIPS(), DoublyRobust(), DRWithOptimisticShrinkage(10.0)],
    ids=["IPS", "SNIPS", "DR", "DRos"],
)
def test_a_network_learns_what_linear_scores_cannot(objective):
    log = make_rings(4000, seed=0)
    new = make_rings(4000, seed=1)
    values = []
    for learner in (NetworkGradientLearner(objective), PolicyGradientLearner(objective)):
        table = probabilities_of(learner.fit(log, seed=0), new)
        values.append((table * means_of_rings(new.observation)).sum(axis=1).mean())
    by_network, by_line = values
    assert by_network > 0.7
    assert by_line < 0.56


def test_a_baseline_and_a_penalty_are_taken():
    learner = NetworkGradientLearner(baseline=1.0, variance_penalty=1.0, num_steps=150)
    assert value_of(learner.fit(bad_logger_log(1000, seed=0), seed=0)) > 0.72


def test_features_of_actions_are_learned_from():
    rng = np.random.default_rng(2)
    items = rng.normal(size=(2000, 3, 2))
    action = rng.integers(3, size=2000)
    reward = np.abs(items[np.arange(2000), action, 0])
    log = BanditLog(
        {"global": np.ones((2000, 1)), "per_arm": items}, action, reward, np.full(2000, 1 / 3), 3
    )
    policy = NetworkGradientLearner(SelfNormalizedIPS()).fit(log, seed=0)
    table = probabilities_of(policy, log[:1])
    assert table.shape == (1, 3)
    shown = policy.replicate(2000).probabilities(restart(log.observation, 2000))
    assert (shown * np.abs(items[:, :, 0])).sum(axis=1).mean() > 1.1  # uniform choice: 0.8


def test_one_seed_learns_one_policy_and_a_file_keeps_it(tmp_path):
    log = make_rings(300, seed=3)
    text = "network_gradient:objective=snips,width=8,num_steps=20"
    found = learn(log, text)
    found.write(tmp_path / "policy.npz")

    saved = read_policy(tmp_path / "policy.npz")

    assert saved.model == NetworkScores(width=8)
    again = saved.make(spec_of_rows(log.observation))
    np.testing.assert_allclose(
        probabilities_of(again, log[200:]), probabilities_of(found.policy, log[200:]), atol=1e-12
    )
    assert not again.can_learn
    learner = NetworkGradientLearner(num_steps=20)
    twice = [probabilities_of(learner.fit(log[:99], seed=4), log[99:]) for _ in range(2)]
    np.testing.assert_array_equal(*twice)


def test_a_network_of_ones_own_is_copied():
    own = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    before = [each.clone() for each in own.parameters()]
    NetworkGradientLearner(scores=NetworkScores(own), num_steps=5).fit(make_rings(100, 0), seed=0)
    assert all(torch.equal(*pair) for pair in zip(before, own.parameters()))


def test_an_objective_without_a_gradient_is_refused():
    with pytest.raises(ValueError, match="objective is SwitchDR"):
        NetworkGradientLearner(SwitchDR(1.0))
