"""The policy of one action."""

import numpy as np
import pytest

from bandit_envs import ConstantPolicy, OutcomeStream


def test_another_action_is_chosen_where_the_one_is_not_available():
    available = np.array([[True, True, False], [True, True, True]])
    env = OutcomeStream(np.ones((2, 1)), np.ones((2, 3)), available=available, batch_size=2)
    policy = ConstantPolicy(2, num_actions=3, batch_size=2)
    assert policy.probabilities(env.reset()).tolist() == [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]


def test_an_action_and_an_item_are_not_both_chosen():
    with pytest.raises(ValueError, match="number is 1, and item is 3; expected one of them"):
        ConstantPolicy(1, item=3, num_actions=4)


def test_an_action_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match="number is 3"):
        ConstantPolicy(3, num_actions=3)
