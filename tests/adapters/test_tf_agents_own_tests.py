"""TF-Agents' own tests of its environments, as they are installed, of the replacements."""

import pathlib
import re
import shutil
import types
import unittest
from collections import Counter

import pytest

pytest.importorskip("tf_agents")

from tf_agents.bandits import environments as upstream

from tests.adapters.changed_imports import PAGE, change_imports

FILES = {path.stem: path for path in sorted(pathlib.Path(upstream.__path__[0]).glob("*_test.py"))}

PRIVATE = {
    "bernoulli_action_mask_tf_environment_test": {"_maybe_add_one_action": 2},
    "classification_environment_test": {
        "_batched_table_lookup": 1,
        "_previous_label": 1,
        "eager_utils": 1,
    },
    "dataset_utilities_test": {"_one_hot": 1},
    "drifting_linear_environment_test": {"_current_observation_to_reward": 4},
    "piecewise_stochastic_environment_test": {"_current_observation_to_reward": 2},
}
"""What TF-Agents does not promise and does not exist here, and how many tests read it."""

pytestmark = [
    pytest.mark.skipif(not FILES, reason="this TF-Agents is installed without its tests"),
    pytest.mark.filterwarnings("ignore"),
]


def result_of(name, folder):
    """Runs the tests of a file, with its imports changed as the page says, and returns the result.

    `assertRaisesRegexp` is the name that `assertRaisesRegex` had before Python 3.12.
    """
    path = folder / f"{name}.py"
    shutil.copy(FILES[name], path)
    change_imports(folder)
    code = path.read_text(encoding="utf-8").replace("assertRaisesRegexp", "assertRaisesRegex")
    assert "from bandit_envs.adapters.tf_agents.environments import" in code
    module = types.ModuleType(name)
    exec(compile(code, path, "exec"), vars(module))
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromModule(module).run(result)
    return result


@pytest.mark.parametrize("name", FILES)
def test_the_replacements_fail_those_tests_only_that_read_what_is_private(name, tmp_path):
    result = result_of(name, tmp_path)
    reports = [report for _, report in result.errors + result.failures]
    missing = [re.search(r"has no attribute '(\w+)'\n*\Z", report) for report in reports]
    assert all(missing), reports
    assert Counter(found[1] for found in missing) == PRIVATE.get(name, {})
    assert result.testsRun > len(result.skipped)


@pytest.mark.parametrize("name", PRIVATE)
def test_the_page_names_what_does_not_exist(name):
    text = PAGE.read_text(encoding="utf-8")
    differences = text.partition("## Differences\n")[2].partition("\n## ")[0]
    assert [each for each in PRIVATE[name] if f"`{each}`" not in differences] == []
