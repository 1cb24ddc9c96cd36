"""No command writes through a link that somebody else has put into a folder."""

import numpy as np
import pytest

from tests.command_line import run
from tests.serving.services import open_arms

pandas = pytest.importorskip("pandas")
pytest.importorskip("joblib")
pytest.importorskip("filelock")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")

pytestmark = pytest.mark.posix


@pytest.fixture
def precious(tmp_path):
    """A file that no command is told to write."""
    file = tmp_path / "precious"
    file.write_text("text", "utf-8")
    yield file
    assert file.read_text("utf-8") == "text"


@pytest.fixture
def log(tmp_path):
    """A log as a table."""
    table = {"action": np.arange(80) % 2, "reward": np.arange(80) % 3 % 2, "propensity": 0.5}
    pandas.DataFrame(table).to_csv(tmp_path / "log.csv", index=False)
    return tmp_path / "log.csv"


@pytest.fixture
def requests(tmp_path):
    """A table of models that answer requests."""
    rng = np.random.default_rng(0)
    names = ["x", "y", "a", "b", "a_cost", "b_cost"]
    pandas.DataFrame(rng.random((60, 6)), columns=names).to_csv(tmp_path / "r.csv", index=False)
    return tmp_path / "r.csv"


def check_refused(done):
    """Fails unless a command has ended with a line about a link."""
    assert done.code == 2
    assert "is a link" in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    "name", ["estimates.csv", "estimates.png", "weights.png", "segments.csv", "evaluation.html"]
)
def test_evaluate(tmp_path, log, precious, name):
    command = ("evaluate", log, "--policy", "random", "--output", tmp_path / "out", "--overwrite")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).symlink_to(precious)
    check_refused(run(*command))
    (tmp_path / "out" / name).unlink()
    assert run(*command).code == 0


@pytest.mark.parametrize("name", ["prices.csv", "prices.png"])
def test_route(tmp_path, requests, precious, name):
    columns = ("--features", "x,y", "--reward", "a,b", "--cost", "{}_cost", "--prices", "0")
    output = ("--output", tmp_path / "out", "--overwrite")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).symlink_to(precious)
    check_refused(run("route", requests, *columns, "--policy", "random", *output))


def test_show(tmp_path, precious):
    with open_arms(tmp_path) as service:
        service.decide()
    (tmp_path / "shop.html").symlink_to(precious)
    done = run("show", tmp_path / "shop.sqlite")
    assert done.code == 2
    assert "is a link" in done.err


def test_files_that_options_name(tmp_path, log, precious):
    for name in ("policy.npz", "picture.gif", "page.html"):
        (tmp_path / name).symlink_to(precious)
    check_refused(run("learn", log, "--output", tmp_path / "policy.npz", "--overwrite"))
    for name in ("picture.gif", "page.html"):
        options = ("--steps", 1, "--output", tmp_path / name)
        check_refused(run("watch", "testbed", "--policy", "random", *options))
