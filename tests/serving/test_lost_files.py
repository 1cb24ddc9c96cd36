"""A service acknowledges nothing that is not in the file at its path."""

import os
import shutil

import pytest

from bandit_envs.logged import read_log
from tests.serving.services import open_arms

pytestmark = pytest.mark.posix  # elsewhere, an open file stays where it is


def remove(file):
    file.unlink()


def move(file):
    file.rename(file.with_name("moved"))


def replace(file):
    shutil.copy(file, file.with_name("copy"))
    os.replace(file.with_name("copy"), file)


@pytest.mark.parametrize("suffix", ["", "-wal"], ids=["file", "log"])
@pytest.mark.parametrize("change", [remove, move, replace])
def test_a_file_that_is_not_at_its_path_takes_nothing(tmp_path, change, suffix):
    service = open_arms(tmp_path)
    service.decide(id="one")
    change(tmp_path / f"shop.sqlite{suffix}")
    for call in (service.decide, lambda: service.reward("one", 1.0), service.learn):
        with pytest.raises(OSError, match=r"shop\.sqlite.* was (removed|replaced) while"):
            call()
    service.close()


def test_a_service_whose_file_was_removed_says_so_when_it_is_closed(tmp_path):
    service = open_arms(tmp_path)
    service.reward(service.decide().id, 1.0)
    (tmp_path / "shop.sqlite").unlink()
    with pytest.raises(OSError, match="was removed while a service had it open"):
        service.close()
    service.close()


def test_a_file_that_is_back_takes_calls_again(tmp_path):
    with open_arms(tmp_path) as service:
        service.decide(id="one")
        (tmp_path / "shop.sqlite").rename(tmp_path / "elsewhere")
        with pytest.raises(OSError, match="was removed"):
            service.reward("one", 1.0)
        (tmp_path / "elsewhere").rename(tmp_path / "shop.sqlite")
        assert service.reward("one", 1.0)
    assert len(read_log(tmp_path / "shop.sqlite")) == 1


def test_processes_that_come_and_go_do_not_disturb(tmp_path):
    with open_arms(tmp_path) as service:
        for _ in range(3):
            with open_arms(tmp_path, learns=False) as other:
                other.reward(service.decide().id, 1.0)
            service.reward(service.decide().id, 1.0)
        assert len(service.log()) == 6


@pytest.mark.parametrize("suffix", ["-learner", "-wal", "-shm"])
def test_no_file_is_made_at_the_end_of_a_link_beside_the_file(tmp_path, suffix):
    open_arms(tmp_path).close()
    (tmp_path / f"shop.sqlite{suffix}").unlink(missing_ok=True)
    (tmp_path / f"shop.sqlite{suffix}").symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match=r"shop\.sqlite"):
        open_arms(tmp_path)
    assert not (tmp_path / "other").exists()
