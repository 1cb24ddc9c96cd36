import copy
import pickle

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

from bandit_envs import BoundedArraySpec, KArmedTestbed
from bandit_envs.adapters.rlberry import RlberryEnv
from bandit_envs.wrappers import AddActionMask, AffineReward, ClipReward, RescaleReward

from ..wrappers.examples import Payer, per_arm_bandit
from .gymnasium_examples import Countdown


def make_testbed(**options):
    return RlberryEnv(KArmedTestbed(k=3, **options))


def make_per_arm(**options):
    return RlberryEnv(per_arm_bandit(batch_size=1, **options))


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


def test_it_is_a_model_with_the_spaces_of_rlberry():
    model = make_testbed()
    assert isinstance(model, Model)
    assert isinstance(model.action_space, rlberry.spaces.Discrete)
    assert isinstance(model.observation_space, rlberry.spaces.Box)
    assert (model.name, model.spec, model.unwrapped) == ("k_armed_testbed", None, model)
    assert model.metadata["render_modes"] == ["rgb_array", "human", "ansi"]
    model.close()
    model.close()


@pytest.mark.parametrize("make", [make_testbed, make_per_arm])
@pytest.mark.parametrize("horizon", [None, 4])
def test_its_trajectory_is_that_of_the_core(make, horizon):
    model = make() if make is make_per_arm else make(horizon=horizon)
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


@pytest.mark.parametrize("wrap", [lambda env: env, AddActionMask])
@pytest.mark.filterwarnings("ignore")
def test_the_checker_passes_for_dicts_too(wrap):
    # rlberry's other checker compares observations in a way that dicts of arrays do not support.
    check_gym_env(RlberryEnv(wrap(per_arm_bandit(batch_size=1, num_actions=1))))


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


def test_reseeding_without_a_seed_spawns_from_the_seeder_of_before():
    model, drawn = make_testbed(), []
    for _ in range(2):
        model.reseed(5)
        model.reseed()
        drawn.append(model.rng.random())
    assert drawn[0] == drawn[1]


def test_reseeding_reaches_the_spaces():
    model, samples = make_per_arm(), []
    for _ in range(2):
        model.reseed(5)
        samples.append((model.action_space.sample(), model.observation_space.sample()))
    assert samples[0][0] == samples[1][0]
    assert np.array_equal(samples[0][1]["per_arm"], samples[1][1]["per_arm"])


def test_reset_seeds_too():
    rewards = []
    for _ in range(2):
        model = make_testbed()
        model.reset(seed=9)
        rewards.append(model.step(0)[1])
    core = KArmedTestbed(k=3, seed=9)
    core.reset()
    assert rewards == [core.step([0]).reward[0]] * 2


@pytest.mark.parametrize(("seed", "error"), [(1.5, TypeError), ("x", TypeError), (-1, ValueError)])
def test_a_bad_seed_is_refused_and_nothing_changes(seed, error):
    model = make_testbed()
    model.reseed(1)
    model.reset()
    twin = copy.deepcopy(model)
    with pytest.raises(error, match=r"^seed_seq is "):
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
    model = make_testbed(seed=0)
    _, info = model.reset()
    state = model.env.get_state()
    model.reset()  # other arms
    rewards = np.array([[model.sample(state, arm)[1] for _ in range(400)] for arm in range(3)])
    # Within 5 standard errors; the rewards' standard deviation is 1.
    assert np.all(np.abs(rewards.mean(axis=1) - info["expected_rewards"]) < 5 / np.sqrt(400))
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
    with pytest.raises(TypeError, match="state is a ndarray; expected what get_state"):
        model.sample(model.observation_space.sample(), 0)
    with pytest.raises(ValueError, match="state is of "):
        model.sample(KArmedTestbed(k=4).get_state(), 0)


def test_it_knows_what_it_can_do_without_a_step():
    model = make_testbed()
    assert model.is_online() is True
    assert model.is_generative() is True
    with pytest.raises(ValueError, match="no time step yet"):
        model.env.current_time_step()


def test_its_parameters_are_those_of_the_constructor():
    model = RlberryEnv(KArmedTestbed(k=3), render_mode="ansi")
    for deep in (True, False):
        assert model.get_params(deep) == {"env": model.env, "render_mode": "ansi"}
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


def test_the_reward_range_is_that_of_the_environment():
    assert make_testbed().reward_range == (-np.inf, np.inf)
    assert RlberryEnv(ClipReward(KArmedTestbed(), (-1.0, 2.0))).reward_range == (-1.0, 2.0)


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


def test_the_rescaling_of_rlberry_runs_on_it():
    wrapped, bare = RescaleRewardWrapper(make_testbed(), (0.0, 1.0)), make_testbed()
    wrapped.reseed(5)
    bare.reseed(Seeder(5))
    assert wrapped.reward_range == (0.0, 1.0)
    assert wrapped.is_online()
    wrapped.reset()
    bare.reset(seed=1)
    wrapped.reset(seed=1)
    reward = bare.step(0)[1]
    assert wrapped.step(0)[1] == pytest.approx(1.0 / (1.0 + np.exp(-reward)))
    state = wrapped.env.env.get_state()
    assert all(0.0 < wrapped.sample(state, 0)[1] < 1.0 for _ in range(100))


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
    ("action", "error", "message"),
    [
        (-1, ValueError, r"action\[0\] is -1; expected 0 <= action < 3"),
        (3, ValueError, r"action\[0\] is 3; expected 0 <= action < 3"),
        (0.5, TypeError, r"action is 0.5, float64; expected int32"),
        (None, TypeError, r"action is None, object; expected int32"),
    ],
)
def test_a_bad_action_is_refused_and_nothing_changes(action, error, message):
    model = make_testbed()
    model.reset()
    twin = copy.deepcopy(model)
    for move in (model.step, lambda action: model.sample(model.env.get_state(), action)):
        with pytest.raises(error, match=message):
            move(action)
    assert model.step(0)[1] == twin.step(0)[1]
    state = model.env.get_state()
    assert model.sample(state, 0)[1] == twin.sample(state, 0)[1]


@pytest.mark.parametrize(
    ("env", "options", "error", "message"),
    [
        (KArmedTestbed(batch_size=2), {}, ValueError, "env has batch_size 2; expected 1"),
        (None, {}, TypeError, "env is None; expected a PyEnvironment"),
        (KArmedTestbed(), {"render_mode": "text"}, ValueError, "render_mode is 'text'; expected"),
    ],
)
def test_a_bad_constructor_argument_is_refused(env, options, error, message):
    with pytest.raises(error, match=message):
        RlberryEnv(env, **options)


def test_render_passes_the_mode_on():
    class Drawn(Countdown):
        def render(self, mode="rgb_array", row=0):
            return mode, row

    assert RlberryEnv(Drawn([3]), render_mode="ansi").render() == ("ansi", 0)
    assert RlberryEnv(Drawn([3])).render() is None


def test_nested_observations_and_actions_are_passed_in_their_dtypes():
    model = RlberryEnv(Countdown([3]))
    model.reset()
    observation, reward, *_, info = model.step({"push": [0.5, -1.0], "choice": 2})
    assert model.observation_space.contains(observation)
    assert (reward, info) == (1.5, {})
    assert BoundedArraySpec((), np.int32, -100, 100).check_array(observation["count"])
