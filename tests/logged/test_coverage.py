"""Intervals hold about as often as the page on logged data says, where nothing warns."""

import numpy as np
import pytest

from tests.logged import coverage

LAWS = {law.title: law for law in coverage.make_laws()}


@pytest.mark.parametrize("title", LAWS)
def test_logs_are_drawn_as_a_law_says(title):
    law = LAWS[title]
    log, context = coverage.draw_log(law, np.random.default_rng(0), 50_000)
    weights = law.policy[context, log.action] / log.propensity
    assert weights.mean() == pytest.approx(1.0, abs=6.0 * weights.std() / np.sqrt(50_000))
    errors = log.reward - law.means[context, log.action]
    assert errors.mean() == pytest.approx(0.0, abs=6.0 * errors.std() / np.sqrt(50_000))


def test_short_logs_of_heavy_weights_are_warned_of():
    cells = coverage.measure(LAWS["heavy, clicks"], rows=500, num_logs=3)
    assert cells.keys() == coverage.ESTIMATORS.keys()
    assert all(cell.silent == 0.0 and cell.width >= 1.0 for cell in cells.values())


@pytest.mark.slow
@pytest.mark.parametrize("title", LAWS)
def test_intervals_hold_where_nothing_warns(title):
    cells = coverage.measure(LAWS[title], rows=5000, num_logs=60)
    for name, cell in cells.items():
        if title.startswith("mild") and not name.startswith("SGIPS"):  # whose bias is warned of
            assert cell.silent > 0.5, name
        if cell.silent >= coverage.JUDGED:
            assert cell.covered >= 0.84, name  # at least 90 % in the long run
    assert not title.startswith("mild") or cells["DR"].silent == 1.0
