"""A folder of results remembers the code of users that the results depend on."""

import importlib
import sys
from pathlib import Path

import pytest

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")

from bandit_envs.environments.environment_choice import EnvironmentChoice
from bandit_envs.policies.policy_choice import PolicyChoice
from bandit_envs.studies import Study, run
from bandit_envs.studies.definition.user_modules import check_same_modules, digest_modules
from tests.command_line import run as run_command

POLICY = """
from bandit_envs.policies import RandomPolicy

class Mine(RandomPolicy):
    pass
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """Makes an empty folder the current one, and forgets its modules afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    known = set(sys.modules)
    yield
    for name in sorted(set(sys.modules) - known, reverse=True):  # inner modules first
        module = sys.modules[name]  # libraries that a test was the first to import stay
        places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
        if any(str(tmp_path) in str(place) for place in places):
            del sys.modules[name]


def write(texts):
    """Writes files of code."""
    for name, text in texts.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


def run_anew(*arguments):
    """Runs the command as a new process would: it has imported no code of the user."""
    for name in ("chosen", "helper"):
        sys.modules.pop(name, None)
    return run_command(*arguments)


def digests(policy):
    """Returns the digests of a policy's modules."""
    return digest_modules(PolicyChoice.expand(policy))


def test_modules_count_that_a_users_module_imports_whenever_that_is():
    texts = {
        "chosen.py": "import first\nfrom second import thing\nimport numpy" + POLICY,
        "first.py": "def later():\n    from third import thing",
        "second.py": "import first, chosen\nthing = 1",
        "third.py": "import missing_here",
        "wrong.py": "not Python",
        "other.py": "",
    }
    write(texts)
    before = digests("chosen:Mine")
    assert before.keys() == {"chosen", "first", "second", "third"}
    write({"third.py": "import wrong", "other.py": "x = 1"})
    after = digests("chosen:Mine")
    assert {name for name, _ in after.items() ^ before.items()} == {"third", "wrong"}


def test_modules_of_packages_count_by_every_kind_of_import():
    imports = "from . import two\nfrom .three import x\nimport mine.inner.four"
    texts = {
        "mine/__init__.py": "y = 1",
        "mine/one.py": imports + POLICY,
        "mine/two.py": "from mine import five",
        "mine/three.py": "import top\nx = 1",
        "mine/inner/four.py": "from ..six import *",
        "mine/five.py": "",
        "mine/six.py": "",
        "mine/seven.py": "",
        "top.py": "",
    }
    write(texts)
    names = {"mine", *(f"mine.{name}" for name in ("one", "two", "three", "five", "six"))}
    assert digests("mine.one:Mine").keys() == {*names, "mine.inner.four", "top"}


def test_the_module_that_a_parameter_names_counts():
    own = "def policy(env, seed, model): pass"
    write({"models.py": "import helper\ndef make(): pass", "helper.py": "", "own.py": own})
    (choice,) = PolicyChoice.expand('own:policy:model="models:make"')
    importlib.import_module("models")  # as a policy does that makes a model by its name
    assert digest_modules([choice]).keys() == {"own", "models", "helper"}


def test_packages_of_others_count_by_their_own_modules_alone():
    site = Path("site-packages")
    write({site / "theirs.py": "import beside\n" + POLICY, site / "beside.py": ""})
    sys.path.insert(0, str(site.resolve()))
    assert digests("theirs:Mine").keys() == {"theirs"}
    assert digest_modules(EnvironmentChoice.expand("testbed")) == {}


def test_a_folder_of_results_is_refused_once_a_helper_has_changed():
    write({"chosen.py": "import helper" + POLICY, "helper.py": "x = 1"})
    size = ("--runs", "2", "--steps", "2", "--workers", "1", "--output", "results")
    command = ("run", "testbed", "--policy", "chosen:Mine", *size)
    assert run_anew(*command).code == 0
    assert "nothing to run" in run_anew(*command).err
    write({"helper.py": "x = 2"})
    code, _, err = run_anew(*command)
    assert (code, err.count("\n")) == (2, 1)
    assert "other versions of helper; " in err
    assert run_anew(*command, "--overwrite").code == 0


CONSTANT = """
from helper import ACTION
from bandit_envs.policies import ConstantPolicy

class Mine(ConstantPolicy):
    def __init__(self, **options):
        super().__init__(ACTION, **options)
"""


def mean_reward(folder, backend):
    """Returns the mean reward of a study of an action that a helper names: 0 or 1."""
    values = {"environment": ["bernoulli:means=[0.0,1.0]"], "policy": ["chosen:Mine"]}
    one = Study.from_dict({"title": "", "runs": 3, "steps": 2, **values})
    (pair,) = run(one, folder, backend=backend).pairs
    return pair.statistics("mean_reward").mean


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_code_that_changed_after_its_import_is_refused_until_it_is_imported_anew(backend):
    write({"chosen.py": CONSTANT, "helper.py": "ACTION = 0"})
    assert mean_reward("before", backend) == 0.0
    write({"helper.py": "ACTION = 1  # from now on"})
    with pytest.raises(ValueError, match="file of helper has changed since Python imported it"):
        mean_reward("after", backend)
    for name in ("helper", "chosen"):
        importlib.reload(sys.modules[name])
    assert mean_reward("after", backend) == 1.0


def test_a_worker_refuses_code_that_is_not_what_the_study_was_started_with():
    write({"chosen.py": "import helper" + POLICY, "helper.py": "x = 1"})
    (choice,) = PolicyChoice.expand("chosen:Mine")
    started = digest_modules([choice])
    check_same_modules([choice], started)
    with pytest.raises(ValueError, match="helper changed while the study was started"):
        check_same_modules([choice], {**started, "helper": "of another file"})
