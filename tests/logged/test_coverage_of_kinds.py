"""Intervals hold about as often as the page on logged data says."""

import numpy as np
import pytest

from tests.logged import coverage_of_kinds as coverage


def test_the_bootstrap_of_obp_is_that_of_its_formula():
    rng = np.random.default_rng(0)
    log, probabilities = coverage.draw_log(coverage.make_laws()[1], rng)
    weight = probabilities[np.arange(1000), log.action] / log.propensity
    lower, upper = coverage.obp_interval(log, probabilities, None, "IPS", rng)
    error = (weight * log.reward).std() / np.sqrt(1000)
    assert (upper - lower) / (2 * 1.96 * error) == pytest.approx(1.0, abs=0.2)
    assert (upper + lower) / 2 == pytest.approx((weight * log.reward).mean(), abs=error)


@pytest.mark.slow
@pytest.mark.parametrize("law", coverage.make_laws()[:2], ids=lambda law: law.title)
def test_intervals_hold_as_often_as_they_say(law):
    shares = coverage.measure(law, num_logs=200, with_obp=False)
    for estimator in ("IPS", "SNIPS", "DR"):
        assert shares[estimator, "normal"] == pytest.approx(95.0, abs=4.5)
        assert shares[estimator, "bootstrap"] == pytest.approx(95.0, abs=5.0)
        assert shares[estimator, "Bernstein"] > 99.0
    for estimator in ("IPS", "DR"):
        assert shares[estimator, "sequence"] >= 98.0
