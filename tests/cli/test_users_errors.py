"""What a user's class raises ends a command with one line that names its file and line."""

import itertools
import re
import sys

import pytest

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")

from bandit_envs.cli import studies as commands
from bandit_envs.environments import KArmedTestbed
from bandit_envs.logged import InversePropensityScoring
from bandit_envs.logged.learners.learner import Learner
from bandit_envs.policies import RandomPolicy
from tests.command_line import run

ERRORS = {
    "division": lambda: 1 / 0,
    "key": lambda: {}["missing"],
    "index": [].pop,
    "attribute": lambda: None.missing,
    "exit": lambda: sys.exit(0),
}
ME = "tests.cli.test_users_errors"


class Odd(RandomPolicy):
    """Fails where it is asked for probabilities."""

    def __init__(self, error, **options):
        self._error = error
        super().__init__(**options)

    def _probabilities(self, learned, time_step):
        return ERRORS[self._error]()


class OddArms(KArmedTestbed):
    """Fails at its first step."""

    def __init__(self, error, batch_size=1, seed=None):
        self._error = error
        super().__init__(3, batch_size=batch_size, seed=seed)

    def _draw_rewards(self, rng, state, action):
        return ERRORS[self._error]()


class OddEstimator(InversePropensityScoring):
    """Fails where it weighs rows."""

    def __init__(self, error):
        self._error = error

    def terms(self, log, probabilities, predicted_rewards=None):
        return ERRORS[self._error]()


class OddLearner(Learner):
    """Fails where it learns."""

    def __init__(self, error):
        self._error = error

    def _fit(self, log, batch_size, seed):
        return ERRORS[self._error]()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a log."""
    folder = tmp_path_factory.mktemp("errors")
    size = ("--steps", "20", "--output", folder / "run", "--workers", "1")
    run("run", "logistic_context", "--policy", "random", *size, "--record", folder / "log.npz")
    return folder


COMMANDS = [
    ("watch", "testbed:k=3", "--policy", f"{ME}:Odd:error=ERROR", "--output", "x.gif"),
    ("watch", f"{ME}:OddArms:error=ERROR", "--policy", "random", "--output", "x.gif"),
    ("run", "testbed:k=3", "--policy", f"{ME}:Odd:error=ERROR", "--record", "x.npz"),
    ("evaluate", "log.npz", "--policy", f"{ME}:Odd:error=ERROR"),
    (
        "evaluate",
        "log.npz",
        "--policy",
        "random",
        "--estimator",
        f"{ME}:OddEstimator:error=ERROR",
    ),
    ("learn", "log.npz", "--learner", f"{ME}:OddLearner:error=ERROR", "--output", "x.npz"),
]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        pytest.param(
            *pair, marks=[pytest.mark.slow] * (pair[0] != COMMANDS[3] and pair[1] != "division")
        )
        for pair in itertools.product(COMMANDS, ERRORS)
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value[:3:2]),
)
def test_an_error_of_a_users_class_is_one_line(folder, monkeypatch, arguments, error):
    monkeypatch.chdir(folder)
    code, out, err = run(*(text.replace("ERROR", error) for text in arguments))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert re.search(r"(Error|SystemExit): .*test_users_errors\.py:\d+\)$", err.strip())
    assert not (folder / arguments[-1]).exists()


def test_an_error_of_our_own_is_no_wrong_input(monkeypatch):
    def fail(options):
        raise KeyError("a mistake of ours")

    monkeypatch.setattr(commands, "report", fail)
    with pytest.raises(KeyError, match="a mistake of ours"):
        run("report", "somewhere")
