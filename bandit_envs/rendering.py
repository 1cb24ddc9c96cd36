"""What `render` shows of one row: its arms, as an image, in a window or as text."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandit_envs.bandit_py_environment import BanditPyEnvironment, BanditState
from bandit_envs.checks import checked_integer

TEXT_WIDTH = 61


class Arms(NamedTuple):
    """What there is to show of one row.

    Shapes:
        K: arms.

    Fields:
        title: what the environment is called.
        expected_rewards: [K], the mean of each arm's reward; -inf for an arm not available.
        reward_std: the standard deviation of the rewards, if they are normal; else None.
        pulls: how many there have been in this episode.
        action: the last arm pulled; None if there was none.
        reward: what it paid; None if there was none.
        pulls_of_arms: [K], how many of the pulls each arm had; None if they were not counted.
    """

    title: str
    expected_rewards: NDArray[Any]
    reward_std: float | None
    pulls: int
    action: int | None
    reward: float | None
    pulls_of_arms: Sequence[int] | None = None

    def optimal_action(self) -> int:
        """Returns the first arm with the largest mean."""
        return int(self.expected_rewards.argmax())

    def progress(self) -> str:
        """Returns a phrase on the pulls so far and the last reward."""
        pulls = f"{self.pulls} pull" if self.pulls == 1 else f"{self.pulls} pulls"
        if self.action is None:
            return pulls
        return f"{pulls}, the last of arm {self.action} for {self.reward:.2f}"

    def reward_limits(self, num_stds: float) -> tuple[float, float]:
        """Returns two rewards between which all means lie, so many deviations around, and 0."""
        spread = num_stds * (self.reward_std or 0.0)
        known = self.expected_rewards[np.isfinite(self.expected_rewards)]
        shown = [0.0, known.min() - spread, known.max() + spread]
        if self.reward is not None and self.reward_std:
            shown.append(self.reward)
        low, high = float(min(shown)), float(max(shown))
        return (low, high) if low < high else (low - 1.0, high + 1.0)


def render(arms: Arms, mode: str, owner: object) -> Any:
    """Shows arms.

    Args:
        arms: what to show.
        mode: "rgb_array", "human" or "ansi".
        owner: the environment; each has its own window, until `close`.

    Returns:
        An image [height, width, 3] uint8, None, or a text.

    Raises:
        NotImplementedError: there is no such mode.
    """
    if mode == "ansi":
        return text(arms)
    if mode not in ("rgb_array", "human"):
        raise NotImplementedError(f"{arms.title} has no render({mode!r})")
    # Only here: drawing takes matplotlib, which neither the environments nor a text need.
    from bandit_envs import plots  # noqa: PLC0415

    return plots.arms_image(arms) if mode == "rgb_array" else plots.show_arms(arms, id(owner))


def close(owner: object) -> None:
    """Closes the window of an environment, if it has one."""
    plots = sys.modules.get("bandit_envs.plots")
    if plots is not None:
        plots.close_window(id(owner))


def arms_of(env: BanditPyEnvironment, row: int, reward_std: float | None = None) -> Arms:
    """Returns what there is to show of one row of a bandit.

    Args:
        env: the bandit; its expected rewards are known.
        row: which row.
        reward_std: as in `Arms`.

    Raises:
        NotImplementedError: the expected rewards are not known.
        TypeError: `row` is not an integer.
        ValueError: there is no such row, or there has been no `reset` yet.
    """
    if checked_integer("row", row, minimum=0) >= env.batch_size:
        raise ValueError(f"row is {row}; expected 0 <= row < {env.batch_size}")
    expected = env.expected_rewards()[row]
    bandit: BanditState = env._state.hidden
    return Arms(
        title=env.name if env.batch_size == 1 else f"{env.name}, row {row}",
        expected_rewards=expected,
        reward_std=reward_std,
        pulls=int(np.broadcast_to(bandit.pulls, env.batch_size)[row]),
        action=None if bandit.action is None else int(bandit.action[row]),
        reward=None if bandit.action is None else float(env.current_time_step().reward[row]),
    )


def text(arms: Arms) -> str:
    """Returns arms as lines of text.

    The mean of each arm's rewards is an o, or a * if it is the largest. Dashes go one standard
    deviation to both sides of it; or else, to 0, which is a |. The last reward is an x.
    """
    low, high = arms.reward_limits(num_stds=2.0)
    width = TEXT_WIDTH // 2
    header = f" arm    mean  {low:<{width}.2f}{high:>{TEXT_WIDTH - width}.2f}"
    lines = [f"{arms.title}: {arms.progress()}", header]
    for arm, mean in enumerate(arms.expected_rewards.tolist()):
        if mean == -np.inf:
            lines.append(f"{arm:4d}          not available")
        else:
            lines.append(f"{arm:4d} {mean:7.2f}  {_marks(arms, arm, mean, low, high)}".rstrip())
    if arms.pulls_of_arms is not None:
        lines[1] += "  pulls"
        for arm, pulls in enumerate(arms.pulls_of_arms):
            lines[arm + 2] = f"{lines[arm + 2]:<{len(header)}}{pulls:7d}"
    return "\n".join(lines)


def _marks(arms: Arms, arm: int, mean: float, low: float, high: float) -> str:
    def column(reward: float) -> int:
        return round((reward - low) / (high - low) * (TEXT_WIDTH - 1))

    std = arms.reward_std
    first, last = (mean - std, mean + std) if std else (min(mean, 0.0), max(mean, 0.0))
    marks = [" "] * TEXT_WIDTH
    for place in range(column(first), column(last) + 1):
        marks[place] = "-"
    marks[column(0.0)] = "|"
    marks[column(mean)] = "*" if arm == arms.optimal_action() else "o"
    if std and arms.reward is not None and arm == arms.action:
        marks[column(arms.reward)] = "x"
    return "".join(marks)
