"""The web service of the page: a real server and a real client, with kills."""

import contextlib
import itertools
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bandit_envs import ArraySpec, ContextualPolicy
from bandit_envs.logged import read_log
from bandit_envs.policies.models import Ridge
from bandit_envs.policies.rules import Softmax
from bandit_envs.serving import DecisionService, read_report

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
httpx = pytest.importorskip("httpx")

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "colab/docs/serve_decisions_web.md"
pytestmark = [pytest.mark.slow, pytest.mark.posix]


@pytest.fixture
def folder(tmp_path):
    """A folder with the programs of the page."""
    text = PAGE.read_text("utf-8")
    for name in ("shop.py", "learn.py", "rank.py"):
        (program,) = re.findall(rf"\*\*`{name}`\*\*\n\n```python\n(.*?)```", text, re.DOTALL)
        (tmp_path / name).write_text(program, "utf-8")
    return tmp_path


def find_port():
    """A port that nothing listens to."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def start(folder, *arguments):
    """Starts Python in a folder, and a group of processes with it."""
    paths = os.pathsep.join([str(folder), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": paths}
    with (folder / "log.txt").open("a") as log:
        return subprocess.Popen(
            [sys.executable, *arguments],
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def kill(process):
    """Kills a process and those that it has started, unless it has ended."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextlib.contextmanager
def serving(folder, *arguments, app="shop:app"):
    """Starts the server, waits until it answers, and kills it in the end."""
    port = find_port()
    command = ["-m", "uvicorn", app, "--port", str(port), "--log-level", "warning"]
    process = start(folder, *command, *arguments)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60.0) as client:
            wait_for(client, process, folder)
            yield client
    finally:
        kill(process)


def wait_for(client, process, folder):
    """Waits until a server answers."""
    end = time.monotonic() + 120.0
    while time.monotonic() < end:
        assert process.poll() is None, (folder / "log.txt").read_text()
        with contextlib.suppress(httpx.TransportError):
            client.get("/report")
            return
        time.sleep(0.1)
    raise AssertionError("the server does not answer")


def decide(client, user):
    """The answer to a user."""
    context = {"age": user / 100, "country": "FR" if user % 3 else "DE"}
    answer = client.post("/decide", json={"id": f"visit-{user}", "context": context})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_web_service_of_the_page_goes_on_after_kills(folder):
    answers = {}
    for start in range(0, 40, 20):
        with serving(folder) as client:
            for user, answer in answers.items():
                assert decide(client, user) == answer
            for user in range(start, start + 20):
                answers[user] = decide(client, user)
                is_new = client.post(f"/reward/visit-{user}", params={"value": 1.0}).json()
                assert is_new == {"is_new": True}
    log = read_log(folder / "web.sqlite")
    actions = [log.encoding.actions[action] for action in log.action]
    assert actions == [answers[user]["action"] for user in range(40)]
    assert log.propensity.tolist() == [answers[user]["probability"] for user in range(40)]
    assert read_report(folder / "web.sqlite").pending == 0


def test_the_web_service_refuses_what_is_wrong_and_goes_on(folder):
    with serving(folder) as client:
        decide(client, 1)
        wrong = client.post("/decide", json={"id": "visit-2", "context": {"age": "old"}})
        assert wrong.status_code == 422
        unknown = client.post("/reward/nobody", params={"value": 1.0})
        assert unknown.status_code == 422
        assert unknown.json()["detail"] == "id is 'nobody'; there is no such decision"
        assert client.post("/reward/visit-1", params={"value": 1.0}).json() == {"is_new": True}
        assert client.post("/reward/visit-1", params={"value": 0.0}).json() == {"is_new": False}
        assert "1 decision, 1 reward, mean 1" in client.get("/report").text
        (folder / "web.sqlite").rename(folder / "moved.sqlite")
        lost = client.post("/reward/visit-1", params={"value": 1.0})
        assert lost.status_code == 503
        assert lost.json()["detail"].startswith("the file was removed while")


def test_the_workers_of_the_page_decide_by_what_a_program_beside_them_learns(folder):
    program = folder / "shop.py"
    text = program.read_text("utf-8")
    program.write_text(text.replace("with open_service()", "with open_service(learns=False)"))
    learner = start(folder, "learn.py")
    try:
        wait_until((folder / "web.sqlite").exists)
        time.sleep(1.0)  # until its tables are made
        with serving(folder, "--workers", "2") as client:
            answer = decide(client, 0)
            assert answer["probability"] == pytest.approx(1 / 3)
            client.post("/reward/visit-0", params={"value": 1.0})
            users = itertools.count(1)
            wait_until(lambda: decide(client, next(users))["probability"] > 0.9)
            kill(learner)
            upgrade(folder / "web.sqlite")
            late = client.post("/reward/visit-1", params={"value": 1.0})
            assert late.status_code == 503
            assert late.json()["detail"].startswith("the file was upgraded to ContextualPolicy")
            assert late.json()["detail"].endswith("open it anew, with this policy")
    finally:
        kill(learner)
    assert len(read_log(folder / "web.sqlite")) == 1


def upgrade(file):
    """Puts another policy to work in the file of the page."""
    spec = ArraySpec((3,), "float64")
    policy = ContextualPolicy(Ridge(), Softmax(1.0), observation_spec=spec, num_actions=3)
    assert DecisionService.upgrade(file, policy)


def ask_to_rank(client, user, **changes):
    """The answer to a request for one of three items."""
    kinds = ["news", "sport", "video"]
    items = [
        {"id": f"{kind}-{user // 10}", "features": [{"price": user % 7 / 3}, {"kind": kind}]}
        for kind in kinds
    ]
    asked = {
        "eventId": f"visit-{user}",
        "contextFeatures": [{"hour": user / 100}, {"device": "phone"}],
        "actions": items,
        "excludedActions": [f"video-{user // 10}"],
        **changes,
    }
    return client.post("/personalizer/v1.0/rank", json=asked)


def test_the_web_service_that_ranks_goes_on_after_kills(folder):
    answers = {}
    for start in range(0, 40, 20):
        with serving(folder, app="rank:app") as client:
            for user, answer in answers.items():
                assert ask_to_rank(client, user).json() == answer
            for user in range(start, start + 20):
                found = ask_to_rank(client, user)
                assert found.status_code == 201, found.text
                answers[user] = found.json()
                address = f"/personalizer/v1.0/events/visit-{user}/reward"
                is_news = answers[user]["rewardActionId"].startswith("news")
                assert client.post(address, json={"value": float(is_news)}).status_code == 204
            other = [{"id": "x", "features": [{"price": 1.0, "kind": "news"}]}]
            assert ask_to_rank(client, start, actions=other).status_code == 422
            assert ask_to_rank(client, 99, contextFeatures=[]).status_code == 422
            twice = other * 2
            for wrong in (twice, [{"id": "x"}], [{"features": []}], [{"id": "x", "features": [3]}]):
                assert ask_to_rank(client, 99, actions=wrong).status_code == 422
            assert client.post(address, json={"val": 1.0}).status_code == 422
    log = read_log(folder / "rank.sqlite")
    items = [log.encoding.items[log.item[row, log.action[row]]] for row in range(40)]
    assert items == [answers[user]["rewardActionId"] for user in range(40)]
    probabilities = [answers[user]["ranking"][0]["probability"] for user in range(40)]
    assert log.propensity.tolist() == probabilities
    assert not any(name.startswith("video") for name in log.encoding.items)


def wait_until(is_met):
    """Waits until a condition is met."""
    end = time.monotonic() + 120.0
    while not is_met():
        assert time.monotonic() < end
        time.sleep(0.1)
