"""Every environment of the registry passes the contract; the slow ones are variants of them."""

import itertools

import numpy as np
import pytest

from bandit_envs import KArmedTestbed, StationaryStochasticPerArmPyEnvironment
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.rewards import LinearReward, LogisticReward
from bandit_envs.sampling import BatchFunction, Catalog, Integers, Normal
from bandit_envs.testing import EnvironmentContract

ARGUMENTS = {
    "testbed": {"k": 4},
    "ranking": {"num_items": 6, "num_slots": 3, "dim": 2},
    "per_arm": {"global_dim": 2, "arm_dim": 3, "max_num_actions": 4},
}
"""Arguments of the environments by id, where the defaults are large or missing."""

FEW_REWARDS = 400
MANY_REWARDS = 2000


def add_contract(name, make, num_rewards, slow):
    """Puts a class of tests into this module, where other processes find it."""

    class Contract(EnvironmentContract):
        num_steps = 7

        def make_environment(self, seed):
            try:
                environment = make()
            except ModuleNotFoundError as error:
                pytest.skip(f"{error.name} is not installed")
            environment.seed(seed)
            return environment

    Contract.num_rewards = num_rewards
    Contract.__name__ = Contract.__qualname__ = f"Test {name}"
    globals()[Contract.__name__] = pytest.mark.slow(Contract) if slow else Contract


def maker(entry, **sizes):
    """Returns a function that makes the environment of an entry of the registry."""
    arguments = {"seed": 0, **ARGUMENTS.get(entry.id, {}), **sizes}
    return lambda: entry.make(**arguments)


def test_every_environment_has_a_contract():
    assert {f"Test {name}" for name in ENVIRONMENTS} <= set(globals())


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_it_has_the_rows_the_horizon_and_the_name_that_are_asked_for(name):
    try:
        env = ENVIRONMENTS[name].make(batch_size=2, horizon=3, seed=0, name="mine")
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")
    assert (env.batch_size, env.horizon, env.name) == (2, 3, "mine")


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("adversarial", "period"),
        ("adversarial", "num_actions"),
        ("structured", "arm_dim"),
        ("drifting_linear", "context_dim"),
        ("drifting_linear", "num_actions"),
        ("piecewise_linear", "context_dim"),
        ("piecewise_linear", "num_actions"),
    ],
)
def test_a_wrong_parameter_of_a_preset_is_named(name, parameter):
    for value in (-1, 1.5):
        with pytest.raises((TypeError, ValueError), match=f"^{parameter} is {value}"):
            ENVIRONMENTS[name].make(**{parameter: value})


drawn = set()  # classes whose rewards are drawn by default; presets of one class draw slowly
for entry in ENVIRONMENTS.values():
    num_rewards = 0 if entry.environment in drawn else FEW_REWARDS
    drawn.add(entry.environment)
    add_contract(entry.id, maker(entry, batch_size=4, horizon=3), num_rewards, slow=False)
    for size in (1, 50):
        make = maker(entry, batch_size=size)
        add_contract(f"{entry.id}, a stream of {size}", make, MANY_REWARDS, slow=True)


for arguments in (
    {},
    {"k": 3, "batch_size": 2, "drift_std": 0.5, "dtype": np.float64},
    {"k": 3, "batch_size": 50, "value_mean": -4.0, "value_std": 2.0, "reward_std": 3.0},
    {"k": 1, "reward_std": 0.0, "horizon": 1},
):
    name = f"testbed {', '.join(arguments) or 'of the book'}"
    add_contract(name, lambda arguments=arguments: KArmedTestbed(**arguments), MANY_REWARDS, True)


# What functions of TF-Agents' kind draw cannot be replayed, so these draw nothing.


def user():
    return [1.0]


def item():
    return np.array([1.0, 2.0], np.float32)


def two():
    return 2


def reward(vector):
    return vector @ THETA


def uniform_items(rng, size):
    return rng.random((*size, 2))


THETA = np.array([0.5, -1.0, 1.0])
CATALOG = Catalog(np.random.default_rng(0).normal(size=(9, 2)))
KINDS = {
    "samplers": (Normal(1), BatchFunction(uniform_items, 2), LinearReward(THETA)),
    "functions": (user, item, reward),
    "a shop": (Normal(1), CATALOG, LogisticReward(THETA)),
}
NUMBERS = {"all items": None, "two items": two, "some items": Integers(1, 0, 5)}

for kind, number, horizon in itertools.product(KINDS, NUMBERS, (None, 2)):

    def make(kind=kind, number=number, horizon=horizon):
        users, items, law = KINDS[kind]
        return StationaryStochasticPerArmPyEnvironment(
            users, items, 3, law, NUMBERS[number], 3, horizon=horizon
        )

    name = f"per-arm {kind}, {number}, horizon {horizon}"
    add_contract(name, make, MANY_REWARDS, slow=True)
