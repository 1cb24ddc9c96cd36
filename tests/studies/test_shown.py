"""What figures and tables show of the quantities that a study measures."""

import numpy as np

from bandit_envs.metrics import QUANTITIES
from bandit_envs.studies.definition.shown import SHOWN


def test_every_quantity_is_shown_under_its_name():
    assert {name: shown.quantity for name, shown in SHOWN.items()} == QUANTITIES


def test_a_summary_has_two_digits_of_the_error_and_as_many_of_the_mean():
    regret = SHOWN["cumulative_regret"]
    assert regret.texts(66.812, 0.0416, error=0.0416) == ["66.812", "0.042"]
    for error in (0.0, 17.23, np.inf, np.nan):
        assert regret.texts(66.812, error=error) == ["66.8"]
