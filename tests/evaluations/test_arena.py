"""The score of RouterArena, beside numbers that its leaderboard has published."""

import json

import numpy as np
import pytest

from bandit_envs.evaluations.routing import arena_score
from tests.cases import for_each

LEADERBOARD = [  # arena, accuracy, dollars of 1,000 requests, as published with two digits
    (75.27, 76.40, 0.18),
    (75.17, 75.34, 0.08),
    (72.82, 76.32, 0.94),
    (70.61, 70.59, 0.10),
    (64.32, 73.96, 10.02),
    (63.87, 67.21, 2.06),
    (33.75, 32.01, 0.07),
]


def score_of_means(mean, cost):
    """Returns the score at a mean score and a cost of 1,000 requests."""
    return arena_score([mean], [cost / 1000]).score


def test_the_score_is_the_one_that_is_published_with_all_digits():
    found = score_of_means(0.718453907843953, 0.13639649464285758)
    assert found == pytest.approx(0.7147593301906191, abs=1e-15)
    assert score_of_means(0.7518957671, 8.5434721952) == pytest.approx(0.6586468316, abs=1e-10)


@for_each(("arena", "accuracy", "cost"), LEADERBOARD)
def test_rows_of_the_leaderboard_are_met_up_to_their_digits(arena, accuracy, cost):
    highest = score_of_means((accuracy + 0.005) / 100, cost - 0.005)
    lowest = score_of_means((accuracy - 0.005) / 100, cost + 0.005)
    assert lowest - 0.00005 <= arena / 100 <= highest + 0.00005


def test_the_interval_is_as_wide_as_that_of_requests_drawn_again():
    rng = np.random.default_rng(0)
    costs = rng.gamma(0.5, 0.02, 800)
    scores = (rng.random(800) < 0.9 - 10 * costs).astype(float)
    found = arena_score(scores, costs, confidence=0.95)
    drawn = rng.integers(800, size=(1000, 800))
    again = [arena_score(scores[rows], costs[rows]).score for rows in drawn]
    assert found.high - found.low == pytest.approx(2 * 1.96 * np.std(again), rel=0.1)
    assert found.score == pytest.approx((found.low + found.high) / 2)
    narrower = arena_score(scores, np.full(800, costs.mean()))
    assert narrower.score == pytest.approx(found.score)
    assert narrower.high - narrower.low < 0.9 * (found.high - found.low)


def test_costs_beyond_the_limits_count_as_the_limits():
    free = arena_score([1.0, 0.0], [0.0, 0.0])
    assert free == arena_score([1.0, 0.0], [1e-9, 0.0])
    assert free.score == pytest.approx(1.1 * 0.5 / (0.05 + 1))
    assert arena_score([1.0, 0.0], [1.0, 1.0]) == (0.0, 0.0, 0.0)
    assert arena_score([0.0, 0.0], [1.0, 1.0]) == (0.0, 0.0, 0.0)
    assert np.isnan(arena_score([1.0], [0.001])[1:]).all()


@for_each(
    ("scores", "costs", "message"),
    [
        ([75.0, 80.0], [0.1, 0.1], "the mean of scores is 77.5; expected at most 1"),
        ([1.0, 0.0], [0.1], "there are 2 scores and 1 costs; expected as many of both"),
        ([], [], "there are 0 scores and 0 costs; expected as many of both, and at least one"),
        ([1.0, 0.0], [-0.1, 0.1], "the lowest of costs is -0.1; expected at least 0"),
        ([1.0, 0.0], [np.nan, 0.1], "the lowest of costs is nan; expected a finite number"),
        ([1.0, 0.0], [np.inf, 0.1], "the sum of costs is inf; expected a finite number"),
        ([[1.0]], [0.1], r"scores has shape \(1, 1\); expected 1 dimensions"),
    ],
)
def test_what_has_no_score_is_refused(scores, costs, message):
    with pytest.raises(ValueError, match=message):
        arena_score(scores, costs)


def test_models_of_cached_results_have_scores(tmp_path):
    pytest.importorskip("pandas")
    pytest.importorskip("sklearn")
    from bandit_envs.datasets import read_outcomes  # noqa: PLC0415

    for model, cost in (("big", 0.004), ("small", 0.0001)):
        lines = []
        for number in range(20):
            right = number % 4 > 0 if model == "big" else number % 2 > 0
            grade = {"score": float(right), "inference_cost": cost}
            keys = {"global_index": f"AIME_{number}", "question": f"question {number}?"}
            answer = {**keys, "llm_selected": model, "evaluation_result": grade}
            lines.append(json.dumps(answer) + "\n")
        (tmp_path / f"{model}.jsonl").write_text("".join(lines), encoding="utf-8")
    table = read_outcomes(tmp_path, layout="routerarena")
    big, small = (arena_score(table.rewards[:, k], table.costs[:, k]) for k in range(2))
    assert table.actions == ["big", "small"]
    assert big.score == pytest.approx(score_of_means(0.75, 4.0))
    assert small.score == pytest.approx(score_of_means(0.5, 0.1))
    assert big.low < big.score < big.high < 0.9
