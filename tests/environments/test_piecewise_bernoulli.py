import copy
import itertools
import pickle

import numpy as np
import pytest

from bandit_envs import ArraySpec, PiecewiseBernoulliPyEnvironment, load_state, save_state
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.sampling import Integers
from tests.cases import for_each
from tests.statistical import is_near

pytestmark = pytest.mark.filterwarnings("ignore:Pickle, copy, and deepcopy support")

MEANS = np.array([[0.1, 0.9, 0.5], [0.8, 0.2, 0.3], [0.4, 0.5, 0.6]])


def pieces(env, steps):
    """The pieces that the next so many actions meet."""
    found = []
    for _ in range(steps):
        found.append(env.current_piece)
        env.step(np.zeros(env.batch_size, int))
    return found


@for_each(
    "durations", [3, [3] * 9, np.full(9, 3), itertools.repeat(3), iter([3] * 9), Integers(1, 3, 4)]
)
def test_pieces_last_as_long_as_their_durations_say(durations):
    env = PiecewiseBernoulliPyEnvironment(MEANS, durations, seed=0)
    env.reset()
    assert pieces(env, 14) == [0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 0, 0, 1, 1]
    assert env.change_points.tolist() == [3, 6, 9, 12]


def test_the_means_are_those_of_the_piece_that_an_action_meets():
    env = PiecewiseBernoulliPyEnvironment(MEANS, 2, 2, seed=0)
    env.reset()
    for step in range(7):
        means = MEANS[step // 2 % 3]
        assert env.expected_rewards().tolist() == [means.tolist()] * 2
        assert env.optimal_action().tolist() == [means.argmax()] * 2
        assert env.optimal_reward().tolist() == [means.max()] * 2
        env.step([0, 2])
        info = env.get_info()
        assert info["expected_reward"].tolist() == [means[0], means[2]]
        assert info["optimal_reward"].tolist() == [means.max()] * 2


def test_rewards_are_drawn_in_the_old_piece():
    env = PiecewiseBernoulliPyEnvironment([[0.0, 1.0], [1.0, 0.0]], 1, 3, seed=0)
    env.reset()
    found = [env.step([0, 1, 0]).reward.tolist() for _ in range(4)]
    assert found == [[0, 1, 0], [1, 0, 1]] * 2


def test_rewards_are_1_with_the_probability_of_the_piece():
    env = PiecewiseBernoulliPyEnvironment(MEANS, 1, 50_000, seed=0)
    env.reset()
    for piece in range(3):
        reward = env.step(np.ones(50_000, int)).reward
        assert is_near(reward == 1.0, MEANS[piece, 1])


def test_time_goes_on_through_resets():
    env = PiecewiseBernoulliPyEnvironment(MEANS, iter(lambda: 10, None), 4, seed=0)
    for time in range(100):
        env.reset()
        assert env.current_piece == time // 10 % 3
        env.step(np.zeros(4, int))


@for_each("durations", [2, [2, 1, 9], iter([2, 1, 9]), Integers(1, 0, 4)])
def test_with_restart_on_reset_each_episode_starts_with_the_first_piece(durations):
    env = PiecewiseBernoulliPyEnvironment(MEANS, durations, restart_on_reset=True, seed=0)
    found = []
    for _ in range(3):
        env.reset()
        found.append(pieces(env, 6))
    if not isinstance(durations, Integers):
        assert found[0] == found[1] == found[2]
        assert found[0][0] == 0


def test_a_duration_of_0_skips_a_piece():
    env = PiecewiseBernoulliPyEnvironment(MEANS, [0, 2, 0, 2, 5], seed=0)
    env.reset()
    assert pieces(env, 6) == [1, 1, 0, 0, 1, 1]
    assert env.change_points.tolist() == [2, 4]


def test_the_last_piece_stays_when_there_are_no_more_durations():
    for durations in ([2, 1], iter([2, 1])):
        env = PiecewiseBernoulliPyEnvironment(MEANS, durations, seed=0)
        env.reset()
        assert pieces(env, 9) == [0, 0, 1, 1, 1, 1, 1, 1, 1]
        assert env.change_points.tolist() == [2]
    env = PiecewiseBernoulliPyEnvironment(MEANS, [], seed=0)
    env.reset()
    assert pieces(env, 3) == [0, 0, 0]


def test_sampled_durations_have_their_distribution_and_all_rows_share_them():
    env = PiecewiseBernoulliPyEnvironment([[1.0], [0.0]], Integers(1, 1, 6), 2, seed=3)
    env.reset()
    rewards = np.array([env.step([0, 0]).reward for _ in range(5000)])
    assert np.array_equal(rewards[:, 0], rewards[:, 1])
    durations = np.diff(env.change_points)
    assert set(durations) == {1, 2, 3, 4, 5}
    assert is_near(durations, 3.0, 2.0**0.5)
    changes = np.flatnonzero(np.diff(rewards[:, 0])) + 1
    assert changes.tolist() == env.change_points[env.change_points < 5000].tolist()


def test_states_replay_with_an_iterator_as_far_as_it_was_drawn():
    rng = np.random.default_rng(0)
    env = PiecewiseBernoulliPyEnvironment(MEANS, iter(lambda: int(rng.integers(0, 4)), -1), seed=0)
    env.reset()
    pieces(env, 10)
    state = env.get_state()
    found = pieces(env, 30)
    env.set_state(state)
    assert pieces(env, 30) == found


def test_states_replay_in_an_environment_with_an_equal_iterator(tmp_path):
    def environment(seed):
        return PiecewiseBernoulliPyEnvironment(MEANS, itertools.count(1), seed=seed)

    env = environment(0)
    other = environment(1)
    env.reset()
    pieces(env, 10)
    save_state(tmp_path / "state.npz", env.get_state())
    found = pieces(env, 30)
    other.set_state(load_state(tmp_path / "state.npz"))
    assert pieces(other, 30) == found
    copied = pickle.loads(pickle.dumps(copy.deepcopy(other)))
    assert pieces(copied, 30) == pieces(other, 30)


def test_negative_durations_of_an_iterator_are_refused_when_they_come():
    env = PiecewiseBernoulliPyEnvironment(MEANS, iter([1, -1]), seed=0)
    env.reset()
    with pytest.raises(ValueError, match=r"Generated duration must be non-negative\. Got -1\."):
        env.step([0])


def test_pieces_that_never_last_are_refused():
    for durations in (0, Integers(1, 0, 1), itertools.repeat(0)):
        with pytest.raises(ValueError, match="change_duration_generator"):
            PiecewiseBernoulliPyEnvironment(MEANS, durations).reset()


def test_the_specs_are_those_of_tf_agents():
    env = PiecewiseBernoulliPyEnvironment(MEANS, 1, 2)
    assert env.observation_spec() == ArraySpec((1,), np.int32, "observation")
    assert env.reset().observation.tolist() == [[0], [0]]


@pytest.mark.parametrize(
    ("problem", "arms", "changes"),
    [
        (0, 2, [200, 400, 600, 800]),
        (1, 3, [200, 400, 600, 800]),
        (2, 3, [200, 400, 600, 800]),
        (3, 3, [250, 500, 750]),
        (4, 3, [500, 625, 750, 875]),
        (5, 6, [111, 222, 333, 444, 556, 667, 778, 889]),
        (6, 3, [300, 500]),
    ],
)
def test_the_problems_have_their_change_points(problem, arms, changes):
    env = ENVIRONMENTS["piecewise_bernoulli"].make(problem, steps=1000, seed=0)
    env.reset()
    for _ in range(1500):
        env.step([0])
    assert env.num_actions == arms
    assert env.change_points.tolist() == changes
    env.reset()
    assert env.current_piece == 0


def test_the_constrained_adversary_moves_all_means_and_keeps_the_gap():
    env = ENVIRONMENTS["constrained_adversary"].make(4, 0.25, batch_size=2, seed=0)
    env.reset()
    means = []
    for _ in range(100):
        means.append(env.expected_rewards())
        env.step([0, 1])
    np.testing.assert_array_equal(np.unique(np.array(means) @ [1, 0, 0, 0]), [0.25, 1.0])
    np.testing.assert_array_equal(np.diff(means, axis=2), np.tile([-0.25, 0.0, 0.0], (100, 2, 1)))
    # Pieces last 1, 2, 3, 5, 7, 11, 17, 27 and 43 steps.
    assert env.change_points.tolist() == [1, 3, 6, 11, 18, 29, 46, 73]
