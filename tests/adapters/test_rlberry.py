import copy
import pickle
from functools import partial

import numpy as np
import pytest

pytest.importorskip("rlberry")

import rlberry.spaces
from rlberry.agents import AgentWithSimplePolicy
from rlberry.envs.interface import Model
from rlberry.manager import ExperimentManager, evaluate_agents
from rlberry.seeding import Seeder
from rlberry.utils.check_env import check_env, check_rlberry_env
from rlberry.utils.check_gym_env import check_gym_env
from rlberry.wrappers import RescaleRewardWrapper

from bandit_envs import BernoulliPyEnvironment, KArmedTestbed
from bandit_envs.adapters.rlberry import RlberryEnv
from bandit_envs.environments.registry import find_environment
from bandit_envs.rewards import LinearReward
from bandit_envs.testing import assert_identical
from bandit_envs.wrappers import AddActionMask, AffineReward, RescaleReward

from ..statistical import is_near
from ..wrappers.examples import Payer
from .examples import THETA, Countdown, per_arm


def make_testbed(expected_rewards=False, **options):
    return RlberryEnv(KArmedTestbed(k=3, **options), expected_rewards=expected_rewards)


def make_per_arm(**options):
    return RlberryEnv(per_arm(reward=LinearReward(THETA), batch_size=1), **options)


def make_rescaled(**options):
    return RescaleRewardWrapper(make_testbed(**options), (0.0, 1.0))


class SampleMeans(AgentWithSimplePolicy):
    """Explores with probability 0.1, and takes the arm with the best mean otherwise."""

    name = "SampleMeans"

    def __init__(self, env, **keywords):
        AgentWithSimplePolicy.__init__(self, env, **keywords)
        self.totals = np.zeros(self.env.action_space.n)
        self.counts = np.ones(self.env.action_space.n)

    def fit(self, budget, **_):
        self.rewards = []
        observation, _ = self.env.reset()
        for _ in range(budget):
            explore = self.rng.random() < 0.1
            action = self.rng.integers(len(self.counts)) if explore else self.policy(observation)
            observation, reward, terminated, truncated, _ = self.env.step(action)
            self.totals[action] += reward
            self.counts[action] += 1
            self.rewards.append(reward)
            if terminated or truncated:
                observation, _ = self.env.reset()

    def policy(self, observation):
        return int((self.totals / self.counts).argmax())


@pytest.mark.parametrize("make", [make_testbed, make_per_arm, partial(make_testbed, horizon=4)])
def test_its_trajectory_is_that_of_the_core(make):
    model = make(expected_rewards=True)
    core = copy.deepcopy(model.env)
    observation, info = model.reset(seed=3)
    core.seed(3)
    time_step = core.reset()
    for _ in range(12):
        assert model.observation_space.contains(observation)
        np.testing.assert_array_equal(info["expected_rewards"], core.expected_rewards()[0])
        action = info["best_arm"]
        assert action == core.optimal_action()[0]
        if core.should_reset(time_step):
            (observation, info), time_step = model.reset(), core.reset()
            continue
        observation, reward, terminated, truncated, info = model.step(action)
        time_step = core.step([action])
        last = bool(time_step.is_last()[0])
        assert reward == time_step.reward[0]
        assert (type(reward), type(terminated), type(truncated)) == (float, bool, bool)
        assert (terminated, truncated) == (last and core.horizon is None, last and not terminated)
    assert isinstance(model, Model)
    assert isinstance(model.action_space, rlberry.spaces.Discrete)
    assert model.name == core.name


@pytest.mark.parametrize(
    "make",
    [
        make_testbed,
        lambda: make_testbed(horizon=5),
        lambda: RlberryEnv(AffineReward(KArmedTestbed(k=3), 2.0)),
        lambda: RescaleRewardWrapper(make_testbed(), (0.0, 1.0)),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_the_checkers_of_rlberry_pass(make):
    model = make()
    check_env(model)
    check_rlberry_env(model)


@pytest.mark.filterwarnings("ignore")
def test_the_checker_passes_for_dicts_too():
    # rlberry's other checker compares observations in a way that dicts of arrays do not support.
    check_gym_env(make_per_arm())
    check_gym_env(RlberryEnv(AddActionMask(per_arm(num_actions=lambda: 5, batch_size=1))))


def test_reseeding_with_an_integer_repeats_the_stream():
    model, core = make_testbed(), KArmedTestbed(k=3, seed=Seeder(5).rng)
    core.reset()
    expected = core.step([1]).reward[0]
    for seed in (5, np.int64(5), np.random.SeedSequence(5)):
        model.reseed(seed)
        model.reset()
        assert model.step(1)[1] == expected
        assert model.rng is model.np_random is model.env.np_random


def test_a_seed_sequence_or_a_seeder_is_spawned_from():
    model, drawn = make_testbed(), set()
    sequence, seeder = np.random.SeedSequence(5), Seeder(5)
    for source in (sequence, sequence, seeder, seeder, None, None):
        model.reseed(source)
        drawn.add(float(model.rng.random()))
    assert len(drawn) == 6


@pytest.mark.parametrize("name", ["drifting_linear", "piecewise_linear", "adversarial"])
def test_reseeding_with_an_integer_repeats_what_goes_on_through_resets(name):
    model = RlberryEnv(find_environment(name).make(batch_size=1))
    runs = []
    for _ in range(2):
        model.reseed(42)
        runs.append([model.step(0)[:2] for _ in range(6)])
        model.reset()
    assert_identical(runs[0], runs[1])


def test_reseeding_reaches_the_spaces():
    model, samples = make_per_arm(), []
    for _ in range(2):
        model.reseed(5)
        samples.append((model.action_space.sample(), model.observation_space.sample()))
    assert samples[0][0] == samples[1][0]
    assert np.array_equal(samples[0][1]["per_arm"], samples[1][1]["per_arm"])


@pytest.mark.parametrize(("seed", "error"), [(1.5, TypeError), ("x", TypeError), (-1, ValueError)])
def test_a_bad_seed_is_refused_and_nothing_changes(seed, error):
    model = make_testbed()
    model.reseed(1)
    model.reset()
    twin = copy.deepcopy(model)
    with pytest.raises(error):  # rlberry's own
        model.reseed(seed)
    with pytest.raises(error, match=r"^seed is "):
        model.reset(seed=seed)
    assert model.step(0)[1] == twin.step(0)[1]
    model.reseed()
    twin.reseed()
    assert model.rng.random() == twin.rng.random()


@pytest.mark.parametrize("make", [make_testbed, make_per_arm, lambda: make_testbed(horizon=4)])
def test_sampling_leaves_the_environment_as_it_was(make):
    model, twin = make(), make()
    for each in (model, twin):
        each.reseed(2)
        each.reset()
        each.step(0)
    state, rng = model.env.get_state(), model.rng
    rewards = {model.sample(state, 0)[1] for _ in range(5)}
    assert len(rewards) == 5
    assert model.rng is rng
    assert pickle.dumps(model.env.get_state()) == pickle.dumps(state)
    for _ in range(3):
        assert model.step(0)[1:4] == twin.step(0)[1:4]


def test_samples_are_steps_from_the_state_that_is_given():
    model = make_testbed(seed=0, expected_rewards=True)
    _, info = model.reset()
    state = model.env.get_state()
    model.reset()  # other arms
    rewards = np.array([[model.sample(state, arm)[1] for _ in range(400)] for arm in range(3)])
    assert is_near(rewards.T, info["expected_rewards"], std=1.0)
    observation, _, terminated, truncated, info = model.sample(state, 0)
    assert model.observation_space.contains(observation)
    assert (terminated, truncated) == (True, False)


def test_reseeding_repeats_samples():
    model, samples = make_testbed(seed=0), []
    model.reset()
    state = model.env.get_state()
    for _ in range(2):
        model.reseed(4)
        samples.append([model.sample(state, 0)[1] for _ in range(3)])
    assert samples[0] == samples[1]


def test_a_state_that_cannot_be_stepped_is_refused():
    model = make_testbed(horizon=1)
    with pytest.raises(ValueError, match="has no time step yet"):
        model.sample(model.env.get_state(), 0)
    model.reset()
    model.step(0)
    with pytest.raises(ValueError, match="state is at the end of an episode"):
        model.sample(model.env.get_state(), 0)
    with pytest.raises(TypeError, match="state"):
        model.sample(model.observation_space.sample(), 0)
    with pytest.raises(ValueError, match="state"):
        model.sample(KArmedTestbed(k=4).get_state(), 0)


def test_its_parameters_are_those_of_the_constructor():
    model = RlberryEnv(KArmedTestbed(k=3), render_mode="ansi")
    for deep in (True, False):
        parameters = {"env": model.env, "render_mode": "ansi", "expected_rewards": False}
        assert model.get_params(deep) == parameters
    again = RlberryEnv(**model.get_params())
    assert again.env.num_actions == 3
    assert again.render_mode == "ansi"


def test_models_made_from_one_environment_are_independent():
    env = KArmedTestbed(k=3, seed=0)
    first, second = RlberryEnv(env), RlberryEnv(env)
    first.reset()
    first.step(0)
    second.reset()
    with pytest.raises(ValueError, match="no time step yet"):
        env.current_time_step()
    assert not np.shares_memory(first.env.expected_rewards(), second.env.expected_rewards())


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_goes_on_alone(copied):
    model = make_testbed(seed=1)
    model.reset()
    model.sample(model.env.get_state(), 0)
    other = copied(model)
    assert model.step(0)[1] == other.step(0)[1]
    state = model.env.get_state()
    assert model.sample(state, 0)[1] == other.sample(state, 0)[1]


@pytest.mark.parametrize("bounds", [(0.0, 2.0), (-1.0, np.inf), (-np.inf, 1.0), (-np.inf, np.inf)])
def test_both_rescalings_give_the_same_rewards(bounds):
    rewards = [-3.0, -1.0, 0.0, 0.5, 1.0, 2.0, 50.0]
    ours = RescaleReward(Payer(rewards, *bounds), (-5.0, 15.0))
    ours.reset()
    rescaled = ours.step(np.zeros(7, np.int32)).reward
    for reward, expected in zip(rewards, rescaled):
        theirs = RescaleRewardWrapper(RlberryEnv(Payer([reward], *bounds)), (-5.0, 15.0))
        theirs.reset()
        assert theirs.step(0)[1] == pytest.approx(expected, rel=1e-13)


def test_it_has_the_public_names_of_the_wrapper_of_rlberry():
    model = RlberryEnv(RescaleReward(KArmedTestbed(k=3), (0.0, 1.0)))
    wanted = {name for name in dir(RescaleRewardWrapper) if not name.startswith("_")}
    assert wanted <= set(dir(model))
    assert RlberryEnv.class_name() == "RlberryEnv"
    observation, _ = model.seed(3)
    first = model.step(0)[1]
    assert model.reset(seed=3)[0] == observation
    assert model.step(0)[1] == first
    with pytest.raises(NotImplementedError, match="has no goals"):
        model.compute_reward(None, None, {})
    with pytest.raises(AssertionError, match="reward_range"):
        RescaleReward(KArmedTestbed(k=3), (1.0, 0.0))


def manager(output_dir, env, **options):
    return ExperimentManager(
        SampleMeans,
        env,
        fit_budget=200,
        eval_kwargs={"eval_horizon": 20, "n_simulations": 3},
        n_fit=2,
        seed=42,
        output_dir=str(output_dir),
        **options,
    )


@pytest.mark.parametrize(
    "env",
    [
        (make_testbed, {"horizon": 100}),
        (RlberryEnv, {"env": KArmedTestbed(k=3, horizon=100)}),
        (make_rescaled, {"horizon": 100}),
    ],
    ids=["function", "class", "rescaled"],
)
@pytest.mark.filterwarnings("ignore")
def test_experiments_repeat_for_a_seed(env, tmp_path):
    rewards, evaluations = [], []
    for run in ("first", "second"):
        experiment = manager(tmp_path / run, env)
        experiment.fit()
        rewards.append([agent.rewards for agent in experiment.get_agent_instances()])
        result = evaluate_agents([experiment], n_simulations=4, plot=False)
        evaluations.append(result.to_numpy().tolist())
    assert rewards[0] == rewards[1]
    assert rewards[0][0] != rewards[0][1]
    assert evaluations[0] == evaluations[1]
    assert np.shape(evaluations[0]) == (4, 1)


@pytest.mark.parametrize(
    ("action", "error"), [(-1, ValueError), (3, ValueError), (0.5, TypeError), (None, TypeError)]
)
def test_a_bad_action_is_refused_and_nothing_changes(action, error):
    model = make_testbed()
    model.reset()
    twin = copy.deepcopy(model)
    for move in (model.step, lambda action: model.sample(model.env.get_state(), action)):
        with pytest.raises(error, match="action"):
            move(action)
    assert model.step(0)[1] == twin.step(0)[1]
    state = model.env.get_state()
    assert model.sample(state, 0)[1] == twin.sample(state, 0)[1]


def test_render_passes_the_mode_on():
    assert RlberryEnv(Countdown([3]), render_mode="ansi").render() == ("ansi", 0)
    assert RlberryEnv(Countdown([3])).render() is None


class NeverResets(AgentWithSimplePolicy):
    """Steps without a reset, as the bandit agents of rlberry do; tries each arm ten times."""

    name = "NeverResets"

    def fit(self, budget, **_):
        arms = self.env.action_space.n
        self.rewards = np.zeros((arms, 10))
        for step in range(10 * arms):
            self.rewards[step % arms, step // arms] = self.env.step(step % arms)[1]
        self.best = int(self.rewards.sum(axis=1).argmax())
        for _ in range(budget - 10 * arms):
            self.env.step(self.best)
        return {"episode_reward": self.rewards.sum()}

    def policy(self, observation):
        return self.best


def test_every_step_of_an_agent_that_never_resets_is_paid():
    agent = NeverResets(RlberryEnv(BernoulliPyEnvironment([1.0, 0.0])), seeder=0)
    assert agent.fit(30)["episode_reward"] == 10.0
    assert agent.best == 0


def test_a_bad_first_action_is_refused():
    with pytest.raises(ValueError, match="action"):
        RlberryEnv(BernoulliPyEnvironment([1.0, 0.0])).step(2)


@pytest.mark.parametrize(
    ("agent", "maker"),
    [
        ("IndexAgent", "makeSubgaussianUCBIndex"),
        ("IndexAgent", "makeBoundedUCBIndex"),
        ("IndexAgent", "makeBoundedIMEDIndex"),
        ("IndexAgent", "makeBoundedNPTSIndex"),
        ("RandomizedAgent", "makeEXP3Index"),
        ("TSAgent", "makeBetaPrior"),
        ("TSAgent", "makeGaussianPrior"),
    ],
)
def test_the_bandit_agents_of_rlberry_find_the_best_arm(agent, maker):
    agents = pytest.importorskip("rlberry_research.agents.bandits")
    rule, tracker = getattr(agents, maker)()
    model = RlberryEnv(BernoulliPyEnvironment([0.1, 0.9, 0.3]))
    model.reseed(0)
    learner = getattr(agents, agent)(model, rule, tracker_params=tracker, seeder=0)
    info = learner.fit(400)
    assert sum(map(learner.tracker.n_pulls, range(3))) == 400
    assert learner.optimal_action == 1
    assert info["episode_reward"] > 0.6 * 400


def test_a_manager_fits_and_evaluates_the_bandit_agents_of_rlberry(tmp_path):
    agents = pytest.importorskip("rlberry_research.agents.bandits")
    manager = ExperimentManager(
        agents.IndexAgent,
        (RlberryEnv, {"env": BernoulliPyEnvironment([0.1, 1.0, 0.3])}),
        fit_budget=300,
        n_fit=2,
        seed=0,
        output_dir=tmp_path,
    )
    manager.fit()
    assert manager.eval_agents(4) == [1.0] * 4
