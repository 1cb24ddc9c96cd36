"""Animations that the command makes."""

import numpy as np
import pytest

from tests.command_line import run

pytest.importorskip("matplotlib")
pytest.importorskip("rich")
pytest.importorskip("filelock")
image = pytest.importorskip("PIL.Image")

WATCH = ("watch", "testbed:k=4", "--policy", "ucb:c=1", "--steps", 1)


@pytest.fixture(scope="module")
def lesson(tmp_path_factory):
    """A file of an animation, and what the command that made it wrote."""
    file = tmp_path_factory.mktemp("watch") / "lesson.gif"
    return file, run(*WATCH, "--output", file)


def test_an_animation_has_a_picture_before_each_step_and_one_in_the_end(lesson):
    file, outcome = lesson
    assert outcome == (0, f"{file}: 2 pictures\n", "")
    shown = image.open(file)
    assert (shown.n_frames, shown.size) == (2, (800, 450))


@pytest.mark.parametrize(
    ("env", "policy", "has_counts"),
    [
        ("testbed:k=4", "random", True),
        pytest.param("position_based", "random_slate", False, marks=pytest.mark.slow),
        pytest.param("continuous", "random_number", False, marks=pytest.mark.slow),
    ],
)
def test_a_policy_that_tells_nothing_is_shown_by_its_choices(tmp_path, env, policy, has_counts):
    file = tmp_path / "lesson.gif"
    options = ("--policy", policy, "--steps", 1, "--output", file)
    assert run("watch", env, *options).code == 0
    shown = image.open(file)
    assert shown.n_frames == 2
    shown.seek(1)
    _, green, blue = np.moveaxis(np.asarray(shown.convert("RGB"), int), -1, 0)
    assert (np.mean(blue > green + 30) > 0.001) == has_counts  # the bars of the choices


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--output", "lesson.png"), "expected a file ending in .gif or .mp4 or .html"),
        (("--steps", 0), "steps is 0"),
        (("--policy", "contextual:model=hybrid_ridge,rule=upper_bound"), "hybrid_ridge"),
    ],
)
def test_what_cannot_be_watched_is_refused_and_nothing_written(
    tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*WATCH, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_same_command_makes_the_same_file_in_place_of_an_older_one(tmp_path, lesson):
    file = tmp_path / "lesson.gif"
    file.write_bytes(b"mine")
    assert run(*WATCH, "--output", file).code == 0
    assert file.read_bytes() == lesson[0].read_bytes()
