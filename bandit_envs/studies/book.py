"""The figures of chapter 2 of Sutton & Barto, as studies.

Source: Sutton & Barto, Reinforcement Learning, 2nd ed., figures 2.2 to 2.6.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True)
class Figure:
    """A figure of the book: what runs, and what is drawn of it.

    Fields:
        title: what it shows.
        policies: their specs.
        panels: what is drawn over steps, from top to bottom; none for a parameter study.
        value_mean: mean of the arm values.
    """

    title: str
    policies: tuple[str, ...]
    panels: tuple[str, ...]
    value_mean: float = 0.0


def _powers_of_two(spec: str, low: int, high: int) -> tuple[str, ...]:
    return tuple(f"{spec}={2.0**power!r}" for power in range(low, high + 1))


FIGURES: Mapping[str, Figure] = {
    "2.2": Figure(
        "Average performance of ε-greedy action-value methods",
        ("greedy", "epsilon_greedy:epsilon=0.01", "epsilon_greedy:epsilon=0.1"),
        ("reward", "percent_optimal"),
    ),
    "2.3": Figure(
        "The effect of optimistic initial values",
        (
            "greedy:initial_value=5,step_size=0.1",
            "epsilon_greedy:epsilon=0.1,initial_value=0,step_size=0.1",
        ),
        ("percent_optimal",),
    ),
    "2.4": Figure(
        "Average performance of UCB action selection",
        ("ucb:c=2", "epsilon_greedy:epsilon=0.1"),
        ("reward",),
    ),
    "2.5": Figure(
        "Gradient bandits with and without a baseline, arm values about 4",
        (
            "gradient:step_size=0.1",
            "gradient:step_size=0.4",
            "gradient:step_size=0.1,baseline=false",
            "gradient:step_size=0.4,baseline=false",
        ),
        ("percent_optimal",),
        value_mean=4.0,
    ),
    "2.6": Figure(
        "Parameter study",
        (
            *_powers_of_two("epsilon_greedy:epsilon", -7, -2),
            *_powers_of_two("gradient:step_size", -5, 2),
            *_powers_of_two("ucb:c", -4, 2),
            *_powers_of_two("greedy:step_size=0.1,initial_value", -2, 2),
        ),
        (),
    ),
}
