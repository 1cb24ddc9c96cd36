"""The modules that stand for those of `tf_agents.bandits.environments`, and their names in gin."""

import importlib
import inspect
import pkgutil
import shutil

import numpy as np
import pytest

pytest.importorskip("tf_agents")

import gin
from tf_agents.bandits import environments as upstream
from tf_agents.environments import wrappers

from bandit_envs.adapters import tf_agents as adapter
from bandit_envs.adapters.tf_agents import environments
from bandit_envs.adapters.tf_agents.environments import dataset_utilities, wheel_py_environment
from tests.adapters.changed_imports import run_sed

MODULES = [
    module.name
    for module in pkgutil.iter_modules(upstream.__path__)
    if not module.name.endswith("_test")
]

LOADED = [name for name in MODULES if hasattr(environments, name)]
"""Before a test imports them by name."""

WHEEL = "wheel_py_environment.WheelPyEnvironment"
ROOM = "bandit_envs.adapters.tf_agents.environments"
NAMES_IN_GIN = ["WheelPyEnvironment", WHEEL, f"{ROOM}.{WHEEL}"]


@pytest.fixture(autouse=True)
def clean_gin():
    yield
    gin.clear_config()


def public_names(module):
    """The names that a module of TF-Agents defines for its users."""
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (getattr(value, "__module__", None) == module.__name__ or name.isupper())
    }


def wheel(batch_size=2, **keywords):
    means = [1.2, 1.0, 1.0, 1.0, 1.0]
    return wheel_py_environment.WheelPyEnvironment(
        0.5, means, [0.01] * 5, 50.0, 0.01, batch_size, **keywords
    )


def test_each_module_of_tf_agents_has_one_of_the_same_name():
    assert MODULES
    assert [module.name for module in pkgutil.iter_modules(environments.__path__)] == MODULES


def test_the_modules_are_attributes_of_their_room_as_those_of_tf_agents_are():
    assert LOADED == MODULES


@pytest.mark.parametrize("name", MODULES)
def test_a_module_has_each_public_name_of_tf_agents_module(name):
    ours = importlib.import_module(f"{ROOM}.{name}")
    theirs = importlib.import_module(f"{upstream.__name__}.{name}")
    assert public_names(theirs)
    assert public_names(theirs) <= set(ours.__all__)
    assert set(ours.__all__) <= set(vars(ours))


@pytest.mark.parametrize("name", MODULES)
def test_the_front_of_the_adapter_has_the_same_classes(name):
    ours = importlib.import_module(f"{ROOM}.{name}")
    classes = [each for each in ours.__all__ if each[0].isupper() and hasattr(adapter, each)]
    for each in classes:
        assert getattr(adapter, each) is getattr(ours, each)


@pytest.mark.parametrize("name", MODULES)
def test_gin_knows_each_class_that_is_replaced(name):
    ours = importlib.import_module(f"{ROOM}.{name}")
    for each in ours.__all__:
        value = getattr(ours, each)
        if inspect.isclass(value) and value.__module__.startswith(f"{ROOM}."):
            assert gin.get_configurable(f"{name}.{each}") is value


@pytest.mark.parametrize("name", NAMES_IN_GIN)
def test_gin_configures_a_class_by_each_of_its_names(name):
    gin.parse_config(f"{name}.seed = 3\n{name}.name = 'of gin'")
    configured, seeded = wheel(), wheel(seed=3)
    assert configured.name == "of gin"
    np.testing.assert_array_equal(configured.reset().observation, seeded.reset().observation)


@pytest.mark.parametrize("name", NAMES_IN_GIN)
def test_an_argument_in_the_code_goes_before_one_of_gin(name):
    gin.parse_config(f"{name}.batch_size = 5\n{name}.name = 'of gin'")
    env = wheel(batch_size=3, name="of the code")
    assert env.batch_size == 3
    assert env.name == "of the code"


@pytest.mark.parametrize("name", NAMES_IN_GIN)
def test_a_run_repeats_from_the_configuration_that_gin_logged(name):
    gin.parse_config(f"{name}.seed = 3")
    first = wheel().reset().observation
    logged = gin.operative_config_str()
    gin.clear_config()
    gin.parse_config(logged)
    np.testing.assert_array_equal(wheel().reset().observation, first)


@pytest.mark.parametrize("prefix", ["", "dataset_utilities.", f"{ROOM}.dataset_utilities."])
def test_gin_configures_a_function_by_each_of_its_names(prefix):
    name = f"{prefix}mushroom_reward_distribution"
    gin.parse_config(f"{name}.r_noeat = 7.0\n{name}.prob_poison_bad = 0.5")
    rewards = dataset_utilities.mushroom_reward_distribution(
        r_eat_safe=5.0, r_eat_poison_bad=-35.0, r_eat_poison_good=5.0
    )
    np.testing.assert_allclose(rewards.mean()[:, 0], 7.0)


@pytest.mark.parametrize("prefix", ["", "wheel_py_environment.", f"{ROOM}.wheel_py_environment."])
def test_gin_configures_the_optimum_of_the_wheel(prefix):
    gin.parse_config(f"{prefix}compute_optimal_action.delta = 0.5")
    actions = wheel_py_environment.compute_optimal_action([[0.1, 0.1], [0.9, 0.1]])
    assert (actions > 0).tolist() == [False, True]


def test_of_the_names_in_gin_the_longest_goes_before_the_others():
    gin.parse_config([f"{name}.name = '{len(name)}'" for name in NAMES_IN_GIN])
    assert wheel().name == str(max(map(len, NAMES_IN_GIN)))


def test_an_error_ends_with_a_line_of_gin_for_each_name():
    with pytest.raises(ValueError, match="batch_size") as error:
        wheel(batch_size=0)
    assert str(error.value).count("\n  In call to configurable") == len(NAMES_IN_GIN)


def test_the_bare_name_of_a_wrapper_in_gin_is_that_of_tf_agents():
    gin.parse_config("ExtraDisabledActionsWrapper.num_extra_actions = 2")
    env = wrappers.ExtraDisabledActionsWrapper(wheel())
    assert env.reset().observation[1].shape == (2, 5 + 2)


@pytest.mark.posix
@pytest.mark.skipif(shutil.which("sed") is None, reason="needs sed")
def test_one_line_of_sed_changes_whole_names_in_a_file_of_gin(tmp_path):
    whole = upstream.__name__
    contexts = f"{whole}.environment_utilities.context_sampling_fn"
    path = tmp_path / "run.gin"
    path.write_text(
        f"import {whole}.wheel_py_environment\n"
        f"{whole}.{WHEEL}.seed = 3\n"
        f"{whole}.stationary_stochastic_py_environment.StationaryStochasticPyEnvironment"
        f".context_sampling_fn = @{contexts}\n"
        f"{contexts}.batch_size = 2\n"
        f"{contexts}.context_dim = 7\n"
    )
    run_sed(tmp_path, ".gin")
    gin.parse_config_file(str(path))
    np.testing.assert_array_equal(wheel().reset().observation, wheel(seed=3).reset().observation)
    env = adapter.StationaryStochasticPyEnvironment(reward_fns=[np.sum], batch_size=2)
    assert env.reset().observation.shape == (2, 7)
