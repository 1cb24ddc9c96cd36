"""Agents and policies of TF-Agents as policies of this package."""

import numpy as np
import pytest

pytest.importorskip("tf_agents")

import tensorflow as tf
from tf_agents.agents.dqn import dqn_agent
from tf_agents.bandits.agents import (
    bernoulli_thompson_sampling_agent,
    exp3_mixture_agent,
    greedy_multi_objective_neural_agent,
    lin_ucb_agent,
    linear_thompson_sampling_agent,
    neural_epsilon_greedy_agent,
    ranking_agent,
)
from tf_agents.bandits.multi_objective import multi_objective_scalarizer
from tf_agents.bandits.networks import global_and_arm_feature_network
from tf_agents.bandits.policies import categorical_policy
from tf_agents.drivers import dynamic_step_driver
from tf_agents.environments import tf_py_environment
from tf_agents.networks import q_network, q_rnn_network
from tf_agents.policies import (
    epsilon_greedy_policy,
    greedy_policy,
    policy_saver,
    py_tf_eager_policy,
    q_policy,
    random_py_policy,
    tf_policy,
)
from tf_agents.trajectories import policy_step
from tf_agents.trajectories import time_step as ts

from bandit_envs import (
    BernoulliPyEnvironment,
    DelayedLearning,
    DelayedRewards,
    EpsilonGreedyPolicy,
    KArmedTestbed,
    LinUCBPolicy,
    RegretMetric,
    StepDriver,
    Trajectory,
    load_state,
    save_state,
)
from bandit_envs.adapters.tf_agents import as_policy, as_tf_agents, examples, tensor_specs
from bandit_envs.environments import logistic_context, per_arm
from bandit_envs.environments.slates.ranking import FeedbackModel, RankingPyEnvironment
from bandit_envs.environments.slates.ranking import ranking as ranking_env
from bandit_envs.logged import LogRecorder, probabilities_of
from bandit_envs.sampling import Normal
from bandit_envs.testing import PolicyContract
from bandit_envs.wrappers import OneProblem, RandomActionMask
from tests.adapters import agents
from tests.adapters.agents import context_and_mask
from tests.adapters.examples import TwoRewards
from tests.adapters.row_by_row import assert_rows_learn_alone_and_go_on_from_a_file

B = 5


def items(batch_size=B, seed=0, **options):
    sizes = {"global_dim": 3, "arm_dim": 4, "max_num_actions": 6, **options}
    return per_arm(batch_size=batch_size, seed=seed, **sizes)


class TestLinearUCB(PolicyContract):
    """The contract of policies, of an agent for items with features."""

    num_steps = 12
    num_choices = 500
    make_policy = staticmethod(agents.with_a_shared_agent(examples.linear_ucb_agent))

    def make_environment(self, batch_size, seed):
        return items(batch_size, seed)


neural_with_masks = agents.with_a_shared_agent(agents.neural_with_masks)


@pytest.mark.slow
class TestNeuralAgentWithMasks(PolicyContract):
    num_steps = 12
    num_choices = 500

    def make_policy(self, env, seed):
        spec = env.observation_spec()
        if isinstance(spec, dict) and "num_actions" in spec:
            raise ValueError("it takes masks only")
        return neural_with_masks(env, seed)

    def make_environment(self, batch_size, seed):
        return logistic_context(4, 3, batch_size, seed=seed)


def ranking(batch_size, seed):
    return ranking_env(num_items=6, num_slots=3, dim=2, batch_size=batch_size, seed=seed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "make_environment"),
    [
        (examples.linear_thompson_sampling_agent, items),
        (examples.neural_epsilon_greedy_agent, items),
        (examples.neural_lin_ucb_agent, items),
        (examples.ranking_agent, ranking),
    ],
)
def test_an_agent_of_the_examples_acts_and_learns(make, make_environment):
    env = make_environment(B, 0)
    policy = make(env, 1)
    before = policy._state.learned
    StepDriver(env, policy, [policy], 3).run()
    after = policy._state.learned
    assert not all(np.array_equal(old, new) for old, new in zip(before, after, strict=True))


def regrets(env, policy, num_steps):
    metric = RegretMetric(env)
    StepDriver(env, policy, [policy, metric], num_steps).run()
    return metric.result().per_step.mean


def test_linear_ucb_of_tf_agents_chooses_as_ours():
    theirs = items()
    ours = items()
    found = regrets(theirs, examples.linear_ucb_agent(theirs, 1), 40)
    expected = regrets(
        ours, LinUCBPolicy(observation_spec=ours.observation_spec(), batch_size=B), 40
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_a_run_in_a_driver_continues_from_a_file(tmp_path):
    def run(seed):
        env = items()
        policy = examples.neural_epsilon_greedy_agent(env, seed)
        metric = RegretMetric(env)
        return StepDriver(env, policy, [policy, metric], 10), metric

    driver, metric = run(1)
    driver.run()
    save_state(tmp_path / "run.npz", driver.get_state())
    driver.run()
    other, restored = run(2)
    other.set_state(load_state(tmp_path / "run.npz"))
    other.run()
    assert np.array_equal(restored.result().per_step.mean, metric.result().per_step.mean)


def test_each_row_of_independent_problems_has_what_an_agent_learned_for_itself(tmp_path):
    make_policy = agents.with_a_shared_agent(
        lambda env, seed: as_policy(lin_ucb_agent.LinearUCBAgent(*tensor_specs(env)))
    )
    assert_rows_learn_alone_and_go_on_from_a_file(make_policy, tmp_path)


def test_two_policies_of_one_agent_do_not_disturb_each_other():
    env = items()
    policy = examples.linear_ucb_agent(env, 1)
    before = regrets(items(), policy, 5)
    fresh = examples.linear_ucb_agent(env, 1)
    copied = fresh.replicate(B)
    assert np.array_equal(regrets(items(), fresh, 5), before)
    assert np.array_equal(regrets(items(), copied, 5), before)


@pytest.mark.slow
def test_agents_that_share_the_global_step_train_as_if_they_were_alone():
    alone = regrets(items(), examples.neural_lin_ucb_agent(items(), 1, train_steps=10), 12)
    first = examples.neural_epsilon_greedy_agent(items(), 1)
    regrets(items(), first, 20)
    assert np.array_equal(
        regrets(items(), examples.neural_lin_ucb_agent(items(), 1, train_steps=10), 12), alone
    )


@pytest.mark.slow
def test_an_agent_learns_from_the_probabilities_that_a_trajectory_tells():
    env = OneProblem(BernoulliPyEnvironment([0.1, 0.9], batch_size=8, seed=0))
    policy = agents.exp3(env, 1)
    StepDriver(env, policy, [policy], 100, emit_log_probability=True).run()
    assert (policy.probabilities(env.current_time_step())[:, 1] > 0.9).all()
    uniform = agents.exp3(env, 1)
    StepDriver(env, uniform, [uniform], 100).run()
    assert (uniform.probabilities(env.current_time_step())[:, 1] > 0.9).all()


def test_a_ranking_agent_learns_from_a_chosen_slot():
    env = RankingPyEnvironment(
        Normal(2),
        Normal(2),
        num_items=5,
        num_slots=2,
        scores_weight_matrix=np.eye(2),
        feedback_model=FeedbackModel.CASCADING,
        batch_size=B,
        seed=0,
    )
    time_step_spec, action_spec = tensor_specs(env)
    network = global_and_arm_feature_network.create_feed_forward_common_tower_network(
        time_step_spec.observation, (5,), (5,), (5,)
    )
    agent = ranking_agent.RankingAgent(
        time_step_spec,
        action_spec,
        scoring_network=network,
        optimizer=tf.compat.v1.train.AdamOptimizer(0.05),
        policy_type=ranking_agent.RankingPolicyType.DESCENDING_SCORES,
    )
    policy = as_policy(agent, B, seed=1)
    before = policy.get_state().content.learned
    StepDriver(env, policy, [policy], 3).run()
    after = policy.get_state().content.learned
    assert any(not np.array_equal(a, b) for a, b in zip(before, after))


def categorical(env):
    return categorical_policy.CategoricalPolicy(tf.Variable([0.0, 1.0, 2.0]), *tensor_specs(env))


def test_a_policy_tells_the_probabilities_of_its_distribution_and_does_not_learn():
    env = BernoulliPyEnvironment([0.1, 0.5, 0.9], B, seed=0)
    policy = as_policy(categorical(env), B, seed=1)
    assert not policy.can_learn
    expected = np.exp([0.0, 1.0, 2.0]) / np.exp([0.0, 1.0, 2.0]).sum()
    table = policy.probabilities(env.reset())
    np.testing.assert_allclose(table, np.tile(expected, (B, 1)), rtol=1e-6)


def test_a_greedy_and_an_epsilon_greedy_policy_tell_their_probabilities():
    env = BernoulliPyEnvironment([0.1, 0.5, 0.9], 1, seed=0)
    greedy = greedy_policy.GreedyPolicy(categorical(env))
    assert as_policy(greedy).probabilities(env.reset()).tolist() == [[0.0, 0.0, 1.0]]
    mixed = epsilon_greedy_policy.EpsilonGreedyPolicy(
        categorical(env), epsilon=0.5, exploration_mask=(1, 1, 0)
    )
    assert as_policy(mixed).probabilities(env.reset()).tolist() == [[0.25, 0.25, 0.5]]


def test_a_saved_policy_chooses_as_the_one_that_was_saved(tmp_path):
    env = items()
    policy = examples.linear_ucb_agent(env, 1)
    regrets(env, policy, 10)
    agent = policy._model._agent
    policy_saver.PolicySaver(agent.collect_policy).save(str(tmp_path))
    loaded = as_policy(tmp_path, B, seed=2)
    time_step = env.current_time_step()
    assert not loaded.can_learn
    assert loaded.action(time_step).tolist() == policy.action(time_step).tolist()
    assert np.array_equal(loaded.probabilities(time_step), policy.probabilities(time_step))


class PolicyThatDraws(tf_policy.TFPolicy):
    """A user's policy that draws in a compiled function, and tells no distribution."""

    def __init__(self, env):
        super().__init__(*tensor_specs(env))
        count = env.num_actions
        self._draw = tf.function(lambda size: tf.random.uniform([size], 0, count, tf.int32))

    def _action(self, time_step, policy_state, seed):
        return policy_step.PolicyStep(self._draw(tf.shape(time_step.step_type)[0]))

    def _distribution(self, time_step, policy_state):
        raise NotImplementedError


def drawn(policy, env, samples=200):
    """Returns the frequencies of the actions that a policy draws."""
    return policy.estimated_probabilities(env.reset(), samples, np.random.default_rng(0))


def test_a_policy_that_draws_in_a_compiled_function_draws_anew_and_repeats():
    env = BernoulliPyEnvironment([0.1, 0.5, 0.9], B, seed=0)
    tf.random.set_seed(5)
    frequencies = drawn(as_policy(PolicyThatDraws(env), B), env)
    assert (abs(frequencies - 1 / 3) < 0.15).all()
    assert np.array_equal(frequencies, drawn(as_policy(PolicyThatDraws(env), B), env))


def test_a_saved_policy_that_draws_does_so_anew_each_time(tmp_path):
    env = BernoulliPyEnvironment([0.1, 0.5, 0.9], B, seed=0)
    tf.random.set_seed(5)
    policy_saver.PolicySaver(PolicyThatDraws(env)).save(str(tmp_path))
    frequencies = drawn(as_policy(tmp_path, B), env)
    assert (abs(frequencies - 1 / 3) < 0.15).all()


def bernoulli_thompson_sampling(env, seed):
    """An agent whose policy reads the number of rows while it is compiled."""
    agent = bernoulli_thompson_sampling_agent.BernoulliThompsonSamplingAgent(*tensor_specs(env))
    return as_policy(agent, env.batch_size, seed)


def test_thompson_sampling_finds_the_best_action_and_repeats_from_a_file(tmp_path):
    env = BernoulliPyEnvironment([0.1, 0.5, 0.9], seed=0)
    policy = bernoulli_thompson_sampling(env, 1)
    assert not policy.knows_probabilities
    StepDriver(env, policy, [policy], 80).run()
    frequencies = drawn(policy, env, samples=50)
    assert (frequencies[:, 2] > 0.8).all()
    save_state(tmp_path / "policy.npz", policy.get_state())
    other = bernoulli_thompson_sampling(env, 2)
    other.set_state(load_state(tmp_path / "policy.npz"))
    assert np.array_equal(drawn(other, env, samples=20), drawn(policy, env, samples=20))


def test_a_saved_thompson_sampling_acts(tmp_path):
    env = BernoulliPyEnvironment([0.1, 0.5, 0.9], B, seed=0)
    agent = bernoulli_thompson_sampling_agent.BernoulliThompsonSamplingAgent(*tensor_specs(env))
    policy_saver.PolicySaver(agent.policy, batch_size=B).save(str(tmp_path))
    assert as_policy(tmp_path, B).action(env.reset()).shape == (B,)


def multi_objective(env, seed):
    """An agent whose policy has a state in which there is nothing."""
    time_step_spec, action_spec = tensor_specs(env)
    tf.random.set_seed(seed)
    networks = [
        q_network.QNetwork(time_step_spec.observation, action_spec, fc_layer_params=())
        for _ in range(2)
    ]
    loss = tf.compat.v1.losses.mean_squared_error
    agent = greedy_multi_objective_neural_agent.GreedyMultiObjectiveNeuralAgent(
        time_step_spec,
        action_spec,
        scalarizer=multi_objective_scalarizer.LinearScalarizer([1.0, 0.0]),
        objective_network_and_loss_fn_sequence=[(network, loss) for network in networks],
        optimizer=tf.compat.v1.train.AdamOptimizer(0.5),
    )
    return agent, as_policy(agent, env.batch_size, seed)


def test_an_agent_with_several_objectives_learns_and_is_saved(tmp_path):
    env = TwoRewards(batch_size=20, seed=0)
    agent, policy = multi_objective(env, 0)
    explorer = EpsilonGreedyPolicy(1.0, num_actions=5, batch_size=20, seed=1)
    StepDriver(env, explorer, [policy], 100).run()
    time_step = env.current_time_step()
    assert policy.action(time_step).tolist() == [4] * 20  # pays [4, -4], of which the first counts
    assert policy.probabilities(time_step)[:, 4].tolist() == [1.0] * 20
    policy_saver.PolicySaver(agent.policy).save(str(tmp_path))
    assert as_policy(tmp_path, 20).action(time_step).tolist() == [4] * 20
    eager = py_tf_eager_policy.PyTFEagerPolicy(agent.policy, batch_time_steps=False)
    assert as_policy(eager, 20).action(time_step).tolist() == [4] * 20


def test_a_recurrent_policy_is_refused():
    env = BernoulliPyEnvironment([0.1, 0.9], B, seed=0)
    time_step_spec, action_spec = tensor_specs(env)
    network = q_rnn_network.QRnnNetwork(
        time_step_spec.observation,
        action_spec,
        input_fc_layer_params=(2,),
        lstm_size=(2,),
        output_fc_layer_params=(2,),
    )
    policy = q_policy.QPolicy(time_step_spec, action_spec, network)
    with pytest.raises(
        ValueError, match=r"QPolicy is recurrent: .*; expected a policy without a state"
    ):
        as_policy(policy, B)


def masked_bandit(seed=0):
    return RandomActionMask(logistic_context(4, 3, B, seed=seed), 0.5)


def masked_lin_ucb(specs):
    return lin_ucb_agent.LinearUCBAgent(
        *specs, observation_and_action_constraint_splitter=agents.context_and_mask
    )


def masked_thompson_sampling(specs):
    return linear_thompson_sampling_agent.LinearThompsonSamplingAgent(
        *specs, observation_and_action_constraint_splitter=agents.context_and_mask
    )


def masked_bernoulli(specs):
    return bernoulli_thompson_sampling_agent.BernoulliThompsonSamplingAgent(
        *specs, observation_and_action_constraint_splitter=agents.context_and_mask
    )


def masked_neural(specs):
    network = q_network.QNetwork(specs[0].observation["observation"], specs[1])
    return neural_epsilon_greedy_agent.NeuralEpsilonGreedyAgent(
        *specs,
        reward_network=network,
        optimizer=tf.compat.v1.train.AdamOptimizer(0.05),
        epsilon=0.2,
        observation_and_action_constraint_splitter=agents.context_and_mask,
    )


@pytest.mark.parametrize(
    "make", [masked_lin_ucb, masked_thompson_sampling, masked_bernoulli, masked_neural]
)
def test_agents_take_our_masks_in_our_driver_and_in_that_of_tf_agents(make):
    seen = []
    env = masked_bandit()
    policy = as_policy(make(tensor_specs(env)), B, seed=1)
    StepDriver(env, policy, [policy, seen.append], 10).run()
    environment = tf_py_environment.TFPyEnvironment(as_tf_agents(masked_bandit()))
    agent = make(tensor_specs(environment))
    dynamic_step_driver.DynamicStepDriver(
        environment, agent.collect_policy, [seen.append], num_steps=10 * B
    ).run()
    assert len(seen) == 20
    for step in seen:
        assert np.asarray(step.observation["mask"])[np.arange(B), step.action].all()


def test_policies_of_python_act():
    env = BernoulliPyEnvironment([0.1, 0.5, 0.9], B, seed=0)
    eager = py_tf_eager_policy.PyTFEagerPolicy(
        greedy_policy.GreedyPolicy(categorical(env)), batch_time_steps=False
    )
    assert as_policy(eager, B).action(env.reset()).tolist() == [2] * B
    time_step_spec, action_spec = tensor_specs(env)
    random = random_py_policy.RandomPyPolicy(time_step_spec, action_spec)
    chosen = as_policy(random, B).estimated_probabilities(
        env.reset(), 300, np.random.default_rng(0)
    )
    assert (abs(chosen - 1 / 3) < 0.15).all()


def test_a_log_of_an_agent_evaluates_another():
    env = items()
    recorder = LogRecorder(6, env)
    behaviour = examples.neural_epsilon_greedy_agent(env, 0)
    StepDriver(env, behaviour, [recorder], 20, emit_log_probability=True).run()
    log = recorder.log()
    table = probabilities_of(examples.linear_ucb_agent(items(1), 0), log)
    assert table.shape == (100, 6)
    assert (table.max(axis=1) == 1.0).all()


def test_what_does_not_fit_is_refused():
    env = logistic_context(2, 3, seed=0)
    specs = tensor_specs(env)
    with pytest.raises(TypeError, match="agent is 5; expected a TFAgent"):
        as_policy(5)
    with pytest.raises(FileNotFoundError, match="expected the folder of a PolicySaver"):
        as_policy("no_folder")
    linear = lin_ucb_agent.LinearUCBAgent(*specs)
    mixture = exp3_mixture_agent.Exp3MixtureAgent([linear])
    nested = exp3_mixture_agent.Exp3MixtureAgent([mixture])
    with pytest.raises(ValueError, match=r"Exp3MixtureAgent, which learns from .*mixture"):
        as_policy(nested)
    network = q_network.QNetwork(specs[0].observation, specs[1])
    deep = dqn_agent.DqnAgent(*specs, q_network=network, optimizer=None)
    with pytest.raises(ValueError, match="train_sequence_length 2; expected an agent of bandits"):
        as_policy(deep)
    with pytest.raises(ValueError, match="policy has num_actions 2; expected 6"):
        StepDriver(items(1), as_policy(linear))
    with pytest.raises(ValueError, match="observation does not fit the policy"):
        as_policy(linear).action(logistic_context(2, 4, seed=0).reset())


def test_rewards_that_an_agent_does_not_take_are_refused():
    env = items()
    policy = examples.linear_ucb_agent(env, 1)
    time_step = env.reset()
    action = policy.action(time_step)
    trajectory = Trajectory.from_transition(time_step, action, env.step(action))
    with pytest.raises(ValueError, match="reward has shape"):
        policy(trajectory._replace(reward=np.zeros((B, 2))))


def test_the_specs_of_an_environment_are_those_of_its_tensors():
    time_step_spec, action_spec = tensor_specs(items())
    assert isinstance(time_step_spec, ts.TimeStep)
    assert time_step_spec.observation["per_arm"].shape == (6, 4)
    assert int(action_spec.maximum) == 5


@pytest.mark.parametrize(
    "make",
    [items, masked_bandit, lambda: RankingPyEnvironment(Normal(2), Normal(2), 5, 2, np.eye(2))],
)
def test_an_environment_has_the_same_specs_adapted_or_not(make):
    env = make()
    adapted = as_tf_agents(env)
    expected = tensor_specs(env)
    assert tensor_specs(adapted) == expected
    assert tensor_specs(tf_py_environment.TFPyEnvironment(adapted)) == expected
    with pytest.raises(TypeError, match="env is 5; expected an environment"):
        tensor_specs(5)


def test_an_agent_learns_from_another_policys_steps():
    env = items()
    agent = examples.linear_ucb_agent(env, 1)
    explorer = EpsilonGreedyPolicy(1.0, num_actions=6, batch_size=B, seed=0)
    StepDriver(env, explorer, [explorer, agent], 40).run()
    regret = RegretMetric(env)
    StepDriver(env, agent, [regret], 40).run()
    assert regret.result().mean.mean < 0.2


@pytest.mark.parametrize("told", ["predicted_rewards_mean", "predicted_rewards_optimistic"])
def test_scores_are_what_the_agent_predicts_for_all_actions(told):
    env = items()
    agent = lin_ucb_agent.LinearUCBAgent(
        *tensor_specs(env), alpha=0.5, accepts_per_arm_features=True, emit_policy_info=(told,)
    )
    policy = as_policy(agent, B, seed=1)
    time_step = StepDriver(env, policy, [policy], num_steps=20).run()
    scores = policy.scores(time_step)
    step = ts.restart(
        tf.nest.map_structure(tf.constant, env.current_time_step().observation), batch_size=B
    )
    with policy._model._variables.set_to(policy.get_state().content.learned):
        expected = getattr(agent.policy.action(step).info, told).numpy()
    np.testing.assert_allclose(scores, expected, rtol=1e-5)
    if told == "predicted_rewards_optimistic":
        np.testing.assert_array_equal(scores.argmax(axis=1), policy.action(time_step))


def test_an_agent_that_tells_no_predictions_has_no_scores():
    env = items()
    policy = as_policy(
        lin_ucb_agent.LinearUCBAgent(*tensor_specs(env), accepts_per_arm_features=True), B
    )
    with pytest.raises(
        NotImplementedError, match=r'give emit_policy_info=\("predicted_rewards_mean"'
    ):
        policy.scores(env.reset())


def test_an_agent_learns_from_delayed_rewards_when_they_arrive():
    env = DelayedRewards(logistic_context(3, 4, batch_size=B, seed=0), 2)
    agent = lin_ucb_agent.LinearUCBAgent(*tensor_specs(env))
    policy = as_policy(agent, B, seed=1)
    StepDriver(env, policy, [DelayedLearning(env, policy)], num_steps=6).run()
    with policy._model._variables.set_to(policy.get_state().content.learned):
        counts = [int(count.numpy()) for count in agent._num_samples_list]
    assert sum(counts) == 4 * B


def test_a_policy_that_chooses_what_is_not_available_is_refused():
    env = RandomActionMask(logistic_context(3, 4, batch_size=B, seed=0), 0.2)
    specs = as_tf_agents(env)
    chooser = random_py_policy.RandomPyPolicy(specs.time_step_spec(), specs.action_spec(), seed=0)
    policy = as_policy(chooser, B)
    with pytest.raises(ValueError, match="where it is not available; expected one that reads"):
        StepDriver(env, policy, num_steps=20).run()


@pytest.mark.slow
def test_a_saved_policy_that_draws_keeps_to_the_mask(tmp_path):
    env = RandomActionMask(logistic_context(3, 4, batch_size=B, seed=0), 0.5)
    agent = linear_thompson_sampling_agent.LinearThompsonSamplingAgent(
        *tensor_specs(env), observation_and_action_constraint_splitter=context_and_mask
    )
    policy_saver.PolicySaver(agent.policy).save(str(tmp_path))
    policy = as_policy(tmp_path, B)
    StepDriver(env, policy, num_steps=20).run()  # an action that is not available is refused


def test_agents_for_items_take_no_masks():
    env = RandomActionMask(items(), 0.5)
    with pytest.raises(ValueError, match=r"reads no mask of items.* expected num_actions in its"):
        as_policy(lin_ucb_agent.LinearUCBAgent(*tensor_specs(env), accepts_per_arm_features=True))


def test_a_greedy_policy_without_a_splitter_is_refused_where_its_choice_is_not_available():
    env = RandomActionMask(KArmedTestbed(3, batch_size=B, seed=0), 0.5)
    logits = tf.Variable([0.0, 0.0, 200.0])
    constant = categorical_policy.CategoricalPolicy(logits, *tensor_specs(env))
    policy = as_policy(greedy_policy.GreedyPolicy(constant), B)
    with pytest.raises(ValueError, match=r"chose action 2 in row .* where it is not available"):
        StepDriver(env, policy, num_steps=5).run()
