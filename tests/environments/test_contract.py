"""Every environment passes the contract; the slow tests are of other sizes and many rewards."""

import itertools
from functools import partial

import numpy as np
import pytest

from bandit_envs import environments, rewards, sampling
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.testing import EnvironmentContract
from tests.contracts import one_test
from tests.environments import per_arm

ARGUMENTS = {
    "testbed": {"k": 4},
    "ranking": {"num_items": 6, "num_slots": 3, "dim": 2},
    "per_arm": {"global_dim": 2, "arm_dim": 3, "max_num_actions": 4},
}
"""Arguments of the environments by id, where the defaults are large or missing."""

FEW_REWARDS = 400
MANY_REWARDS = 2000


def add_contract(name, make, num_rewards=0, slow=False):
    """Puts a class of tests into this module, where other processes find it."""

    class Contract(EnvironmentContract):
        num_steps = 7

        def make_environment(self, seed):
            try:
                environment = make(seed=0)  # presets also draw what is constant from it
            except ModuleNotFoundError as error:
                pytest.skip(f"{error.name} is not installed")
            environment.seed(seed)
            return environment

    Contract.num_rewards = num_rewards
    Contract.__name__ = f"Test {name}"
    test = one_test(Contract)
    globals()[Contract.__name__] = pytest.mark.slow(test) if slow else test


def maker(entry, **sizes):
    """Returns a function that makes the environment of an entry of the registry."""
    return partial(entry.make, **ARGUMENTS.get(entry.id, {}), **sizes)


def test_every_environment_has_a_contract():
    assert {f"Test {name}" for name in ENVIRONMENTS} <= set(globals())


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_it_has_the_rows_the_horizon_and_the_name_that_are_asked_for(name):
    try:
        env = ENVIRONMENTS[name].make(batch_size=2, horizon=3, seed=0, name="mine")
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")
    assert (env.batch_size, env.horizon, env.name) == (2, 3, "mine")


for entry in ENVIRONMENTS.values():
    episodes = maker(entry, batch_size=4, horizon=3)
    add_contract(entry.id, episodes, FEW_REWARDS)
    add_contract(f"{entry.id}, a stream of 1", maker(entry), slow=True)
    stream = maker(entry, batch_size=50)
    add_contract(f"{entry.id}, a stream of 50", stream, MANY_REWARDS, slow=True)


# Other code of the same classes. What functions of TF-Agents' kind draw cannot be replayed, so
# these draw nothing.


def contexts():
    return np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


def user():
    return [1.0, 0.5]


def item():
    return np.array([1.0, 2.0, 3.0], np.float32)


def two():
    return 2


def user_nest():
    return {"matrix": np.arange(6).reshape(2, 3), "name": np.array(["a"])}


def item_nest():
    return {"row": np.array([1.0, 2.0]), "table": (np.ones((3, 1)), np.array(["b"]))}


def reward_of_nests(user, item):
    return user["matrix"][1, 1] + item["row"][1]


def draw_uniform(rng, size):
    return rng.random((*size, 3))


CHAINS = [[[0.9, 0.1], [0.3, 0.7]], [[0.5, 0.5], [0.2, 0.8]]]
ARMS = [
    rewards.Gamma(2.0),
    rewards.NormalReward(1.0),
    rewards.Corrupted(rewards.Bernoulli(0.5), 0.1, rewards.Poisson(9.0)),
]
EXAMPLES = (np.arange(10.0)[:, np.newaxis], np.arange(10) % 3)
OF_LABELS = rewards.NormalReward([[0.0, -1.0], [1.0, 3.0], [2.0, 0.5]], 0.5)
LINEAR = rewards.LinearActionReward(np.arange(6.0).reshape(3, 2), 0.5)
PAIRS = rewards.LinearActionReward(np.arange(12.0).reshape(3, 2, 2), 0.5)
FOUR = sampling.Normal(4)
SHOP = {
    "items": sampling.Catalog(np.random.default_rng(0).normal(size=(9, 3))),
    "reward": rewards.LogisticReward(per_arm.THETA),
}
TABLE = (
    {"user": np.arange(24.0).reshape(12, 2), "hour": np.arange(12).reshape(12, 1)},
    np.random.default_rng(1).random((12, 4)),
    np.random.default_rng(2).random((12, 4)),
)
OFFERED = np.arange(12)[:, np.newaxis] % 5 != np.arange(4)
classification = partial(environments.ClassificationBandit, *EXAMPLES)
of_actions = environments.StationaryStochasticPyEnvironment
VARIANTS = {
    "rested chains": partial(environments.RestlessMarkovBandit, CHAINS, [[0, 1], [2, -1]], True, 3),
    "arms of several distributions": partial(environments.KArmedBandit, ARMS, 3, horizon=4),
    "labels with distributions": partial(classification, OF_LABELS, 3, horizon=4),
    "examples with replacement": partial(classification, batch_size=3, replace=True),
    "shared noise": partial(
        environments.DriftingLinearBandit,
        FOUR,
        sampling.Normal(3),
        additive_mean=2.0,
        batch_size=4,
        shared_noise=True,
    ),
    "intervals from a sampler": partial(
        environments.PiecewiseLinearBandit,
        FOUR,
        sampling.Integers(1, 1, 4),
        FOUR,
        FOUR,
        5,
        horizon=4,
    ),
    "durations from a sampler": partial(
        environments.PiecewiseBernoulliPyEnvironment,
        [[0.1, 0.9], [0.8, 0.2]],
        sampling.Integers(1, 0, 5),
        2,
        horizon=5,
        restart_on_reset=True,
    ),
    "distances": partial(
        environments.RankingPyEnvironment,
        FOUR,
        FOUR,
        5,
        3,
        np.eye(4),
        click_model=environments.ClickModel.DISTANCE_BASED,
        distance_threshold=0.5,
        batch_size=3,
    ),
    "outcomes with costs": partial(environments.OutcomeTableBandit, *TABLE, 3, noise_std=0.5),
    "outcomes with masks": partial(
        environments.OutcomeTableBandit, *TABLE, 3, replace=False, available=OFFERED, horizon=4
    ),
    "a stream of outcomes": partial(environments.OutcomeStream, *TABLE, 3, available=OFFERED),
    "functions of actions": partial(of_actions, contexts, [sum, max, min], None, 3, horizon=2),
    "vectors of rewards": partial(of_actions, sampling.Integers(2, -3, 4), PAIRS, None, 4),
    "constraints": partial(of_actions, sampling.Normal(2), LINEAR, LINEAR, 4, horizon=3),
    "some items of a shop": partial(
        per_arm.make, **SHOP, num_actions=sampling.Integers(1, 0, 5), horizon=3
    ),
    "functions of nests": partial(
        environments.StationaryStochasticStructuredPyEnvironment,
        user_nest,
        item_nest,
        4,
        reward_of_nests,
        3,
    ),
}

for name, make in VARIANTS.items():
    add_contract(name, make)


for arguments in (
    {},
    {"k": 3, "batch_size": 2, "drift_std": 0.5, "dtype": np.float64},
    {"k": 3, "batch_size": 50, "value_mean": -4.0, "value_std": 2.0, "reward_std": 3.0},
    {"k": 1, "reward_std": 0.0, "horizon": 1},
):
    name = f"testbed {', '.join(arguments) or 'of the book'}"
    add_contract(name, partial(environments.KArmedTestbed, **arguments), slow=True)

KINDS = {
    "samplers": {"items": sampling.BatchFunction(draw_uniform, 3)},
    "functions": {"users": user, "items": item, "reward": sum},
    "a shop": SHOP,
}
NUMBERS = {"all items": None, "two items": two, "some items": sampling.Integers(1, 0, 5)}
for kind, number, horizon in itertools.product(KINDS, NUMBERS, (None, 2)):
    make = partial(per_arm.make, **KINDS[kind], num_actions=NUMBERS[number], horizon=horizon)
    add_contract(f"per-arm {kind}, {number}, horizon {horizon}", make, slow=True)
