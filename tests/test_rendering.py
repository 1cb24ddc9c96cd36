import subprocess
import sys

import numpy as np
import pytest

from bandit_envs import (
    BernoulliPyEnvironment,
    CascadeBandit,
    KArmedTestbed,
    RankingPyEnvironment,
    StepDriver,
    UCBPolicy,
)
from bandit_envs.environments import StationaryStochasticPerArmPyEnvironment
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.rendering import Arms, Knowledge
from bandit_envs.rendering.arms import text
from bandit_envs.rewards import LinearReward
from bandit_envs.sampling import Integers, Normal
from bandit_envs.wrappers import RescaleReward
from tests.wrappers.examples import Vectors


def k_armed(**options):
    return KArmedTestbed(3, batch_size=2, seed=0, **options)


def per_arm(reward_fn=None, **options):
    reward = LinearReward(np.arange(5.0)) if reward_fn is None else reward_fn
    available = Integers(1, 2, 4)
    return StationaryStochasticPerArmPyEnvironment(
        Normal(2), Normal(3), 4, reward, available, 2, seed=0, **options
    )


def green(image):
    """Returns how much of an image is in the colour of the optimal arm."""
    red, green, blue = np.moveaxis(image.astype(int), -1, 0)
    return np.mean((green > red + 60) & (green > blue + 20))


def blue(image):
    """Returns how much of an image is in the colour of what a policy knows."""
    _, green, blue = np.moveaxis(image.astype(int), -1, 0)
    return np.mean(blue > green + 30)


def test_text_shows_the_distributions_the_optimal_arm_and_the_last_reward():
    arms = Arms("two arms", np.array([0.0, 1.0]), [1], 1.0, 3, [1], [2.0])
    assert text(arms).splitlines() == [
        "two arms: 3 steps; last action 1, reward 2.00",
        " arm    mean  -2.00                                                    3.00",
        "   0    0.00              ------------o------------",
        "   1    1.00                          |-----------*-----------x",
    ]


def test_text_shows_means_alone_if_there_is_no_distribution():
    arms = Arms("three arms", np.array([-1.0, 2.0, -np.inf]), [1], None, 1, [0], [-5.0])
    assert text(arms).splitlines() == [
        "three arms: 1 step; last action 0, reward -5.00",
        " arm    mean  -1.00                                                    2.00",
        "   0   -1.00  o-------------------|",
        "   1    2.00                      |---------------------------------------*",
        "   2          not available",
    ]


def test_text_shows_the_optimal_slate_and_the_last_one():
    arms = Arms("items", np.array([0.25, 1.0, 0.5]), [1, 2], None, 4, [0, 1], [0.0, 1.0])
    assert text(arms).splitlines() == [
        "items: 4 steps; last slate 0, 1, reward 1.00",
        "item   value  0.00                                                     1.00",
        "   0    0.25  |--------------o",
        "   1    1.00  |-----------------------------------------------------------*",
        "   2    0.50  |-----------------------------*",
    ]


@pytest.mark.parametrize("name", ["cascade", "position_based", "ranking", "positional_bias"])
def test_a_slate_is_shown_among_the_items_that_it_was_chosen_from(name):
    env = ENVIRONMENTS[name].make(seed=0)
    env.reset()
    values = env._rendered_arms(0).values
    items = np.arange(env.action_spec().shape[0])
    time_step = env.step(np.tile(items, (env.batch_size, 1)))
    arms = env._rendered_arms(0)
    assert (arms.action, arms.reward) == (items.tolist(), time_step.reward[0].tolist())
    assert sorted(values[arms.optimal]) == sorted(np.sort(values)[-len(items) :])
    np.testing.assert_array_equal(arms.values, values)


def test_an_image_shows_the_optimal_slate_and_the_last_one():
    pytest.importorskip("matplotlib")
    env = CascadeBandit([1.0, 1.0, 0.0, 0.0], 2, seed=0)
    env.reset()
    env.step([[2, 1]])
    image = env.render()
    assert 0.2 < green(image) < 0.6
    assert 0.0001 < np.mean((image == (0xD5, 0x5E, 0x00)).all(axis=2)) < 0.01  # the items chosen


def test_a_reward_that_is_not_a_number_is_not_shown():
    env = RankingPyEnvironment(Normal(2), Normal(2), 9, 4, np.eye(2), seed=0)
    env.reset()
    env.step([[1, 2, 3, 4]])
    arms = env._rendered_arms(0)
    assert arms.reward == []
    assert "reward" not in text(arms)


def test_text_of_arms_that_are_all_0_has_a_scale():
    assert text(Arms("one arm", np.zeros(1), [0], None, 0, [], [])).count("1.00") == 2


@pytest.mark.parametrize("make", [k_armed, per_arm])
def test_each_row_can_be_shown(make):
    env = make()
    env.reset()
    time_step = env.step([1, 0])
    for row, action in enumerate([1, 0]):
        title, _, *arms = env.render("ansi", row).splitlines()
        reward = time_step.reward[row]
        assert title == f"{env.name}, row {row}: 1 step; last action {action}, reward {reward:.2f}"
        means = [line.split()[1] for line in arms]
        assert means == [
            "not" if mean == -np.inf else f"{mean:.2f}" for mean in env.expected_rewards()[row]
        ]


@pytest.mark.parametrize("make", [k_armed, pytest.param(per_arm, marks=pytest.mark.slow)])
def test_an_image_shows_the_optimal_arm(make):
    pytest.importorskip("matplotlib")
    env = make()
    env.reset()
    before = env.render()
    assert before.shape == (450, 800, 3)
    assert before.dtype == np.uint8
    assert 0.01 < green(before) < 0.2
    np.testing.assert_array_equal(before, env.render("rgb_array", 0))
    assert (before != env.render(row=1)).any()
    env.step([0, 0])
    assert (before != env.render()).any()


@pytest.mark.parametrize(
    ("num_arms", "reward_std"),
    [(1, 0.0), (20, 1.0), (21, 0.0), pytest.param(100, 1.0, marks=pytest.mark.slow)],
)
def test_an_image_takes_any_number_of_arms(num_arms, reward_std):
    pytest.importorskip("matplotlib")
    env = KArmedTestbed(num_arms, reward_std=reward_std, seed=0)
    env.reset()
    assert green(env.render()) > 0.0


@pytest.mark.parametrize(
    "scale",
    [*(pytest.param(scale, marks=pytest.mark.slow) for scale in (-0.00025, 0.0125)), -99_999.0],
)
def test_no_label_of_an_image_is_cut(scale):
    pytest.importorskip("matplotlib")
    figure = pytest.importorskip("bandit_envs.rendering.figure")
    arms = Arms("arms", scale * np.array([1.0, -0.31, 0.17]), [1], None, 9, [0], [scale])
    known = Knowledge("mine", arms.values, np.array([99_999.0, 2.0, 3.0]), high=arms.values)
    for image in (figure.arms_image(arms), figure.arms_image(arms, known)):
        for edge in (image[0], image[-1], image[:, 0], image[:, -1]):
            assert (edge == 255).all()


def test_each_environment_has_a_window_until_it_is_closed():
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot  # noqa: PLC0415

    envs = k_armed(), per_arm()
    for env in envs:
        env.reset()
        for _ in range(2):
            assert env.render("human") is None
    assert len(pyplot.get_fignums()) == 2
    for remaining, env in zip([1, 0], envs):
        env.close()
        env.close()
        assert len(pyplot.get_fignums()) == remaining


def test_showing_changes_nothing():
    env, other = k_armed(), k_armed()
    for one in (env, other):
        one.reset()
    env.render("ansi")
    np.testing.assert_array_equal(env.step([0, 1]).reward, other.step([0, 1]).reward)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("gif",), ValueError, "mode is 'gif'; expected 'rgb_array', 'human' or 'ansi'"),
        (("ansi", 2), ValueError, "row is 2; expected at most 1"),
        (("ansi", -1), ValueError, "row is -1; expected at least 0"),
        (("ansi", 0.5), TypeError, "row is 0.5; expected an integer"),
    ],
)
def test_what_cannot_be_shown_is_refused(arguments, error, message):
    env = k_armed()
    env.reset()
    with pytest.raises(error) as caught:
        env.render(*arguments)
    assert str(caught.value) == message


def test_there_is_nothing_to_show_before_the_first_reset():
    with pytest.raises(ValueError, match="call reset"):
        k_armed().render("ansi")


def test_unknown_means_are_not_shown():
    env = per_arm(reward_fn=np.sum)
    env.reset()
    with pytest.raises(NotImplementedError, match="has no mean"):
        env.render("ansi")


def test_text_needs_no_matplotlib():
    code = (
        "import sys; from bandit_envs import KArmedTestbed; env = KArmedTestbed(); env.reset(); "
        "env.render('ansi'); env.close(); print('matplotlib' in sys.modules)"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"


def test_several_rewards_are_shown_by_their_mean():
    env = Vectors(batch_size=2, seed=0)
    env.reset()
    env.step([0, 1])
    means = env.expected_rewards()[1].mean(axis=1)
    title, _, *arms = env.render("ansi", 1).splitlines()
    assert title.startswith("Vectors, row 1, mean of 2 rewards: 1 step; last action 1, reward")
    assert [float(line.split()[1]) for line in arms] == means.round(2).tolist()


def test_text_shows_what_a_policy_knows():
    arms = Arms("two arms", np.array([0.0, 1.0]), [1], None, 3, [1], [2.0])
    counts = np.array([1.0, 2.0])
    known = Knowledge("UCB", np.array([0.5, 0.75]), counts, high=np.array([np.inf, 2.0]))
    first, *others = text(arms, known).splitlines()
    assert first == "two arms: 3 steps; last action 1, reward 2.00; UCB"
    assert [line.split()[-3:] for line in others] == [
        ["estimate", "to", "N"],
        ["0.50", "inf", "1"],
        ["0.75", "2.00", "2"],
    ]


def test_a_policy_that_tells_no_estimates_is_shown_by_its_name_and_its_choices():
    arms = Arms("two arms", np.array([0.0, 1.0]), [1], None, 3, [1], [2.0])
    known = Knowledge("mine", None, np.array([1.0, 2.0]))
    first, *others = text(arms, known).splitlines()
    assert first == "two arms: 3 steps; last action 1, reward 2.00; mine"
    assert [line.split()[-1] for line in others] == ["N", "1", "2"]
    scaled = RescaleReward(BernoulliPyEnvironment([0.1, 0.9], seed=0), (0.0, 2.0))
    scaled.reset()
    assert "; mine" in scaled.render("ansi", 0, known)


def test_an_image_shows_what_a_policy_knows_beside_the_true_means():
    pytest.importorskip("matplotlib")
    env = k_armed()
    policy = UCBPolicy(1.0, num_actions=3, batch_size=2, seed=1)
    env.reset()
    StepDriver(env, policy, [policy], 5).run()
    known = policy.describe(1)
    image = env.render("rgb_array", 1, known)
    assert image.shape == env.render("rgb_array", 1).shape == (450, 800, 3)
    assert blue(image) > 0.01 > blue(env.render("rgb_array", 1))
    assert known.title in env.render("ansi", 1, known)


def test_knowledge_of_other_arms_or_other_rewards_is_refused():
    env = KArmedTestbed(3, seed=0)
    env.reset()
    known = UCBPolicy(1.0, num_actions=4).describe()
    with pytest.raises(ValueError, match="knowledge is of 4 arms; expected 3"):
        env.render("ansi", 0, known)
    scaled = RescaleReward(BernoulliPyEnvironment([0.1, 0.9], seed=0), (0.0, 2.0))
    scaled.reset()
    with pytest.raises(ValueError, match="maps rewards; expected no knowledge"):
        scaled.render("ansi", 0, UCBPolicy(1.0, num_actions=2).describe())


@pytest.mark.parametrize("suffix", [".gif", ".html"])
def test_an_animation_has_every_image(tmp_path, suffix):
    animation = pytest.importorskip("bandit_envs.rendering.animation")
    images = [np.full((40, 60, 3), level, np.uint8) for level in (0, 120, 250)]
    file = tmp_path / f"images{suffix}"
    assert animation.write_animation(images, file, 2) == 3
    if suffix == ".html":
        page = file.read_text("utf-8")
        assert page.count("data:image/png;base64") == 3
        assert "http://" not in page
        assert "https://" not in page
        assert "fa-" not in page.partition("<body")[2]
        assert "width=device-width" in page
        return
    shown = pytest.importorskip("PIL.Image").open(file)
    assert (shown.n_frames, shown.size) == (3, (60, 40))
    assert shown.info["duration"] == 500
    shown.seek(2)
    assert shown.info["duration"] == 2500  # the last image stays


def test_a_file_that_is_no_animation_is_refused(tmp_path, monkeypatch):
    animation = pytest.importorskip("bandit_envs.rendering.animation")
    with pytest.raises(ValueError, match=r"expected a file ending in \.gif or \.mp4 or \.html"):
        animation.check_animation_file(tmp_path / "lesson.png")
    monkeypatch.setattr(animation.FFMpegWriter, "isAvailable", lambda: False)
    with pytest.raises(ValueError, match="which needs ffmpeg"):
        animation.check_animation_file(tmp_path / "lesson.mp4")
