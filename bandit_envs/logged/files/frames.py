"""Logs as pandas data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bandit_envs.base.extras import import_extra
from bandit_envs.logged.files.column_layout import TableLayout, check_layout, join_frame, split_log
from bandit_envs.logged.files.log_roles import LogRoles, Propensity
from bandit_envs.logged.files.open_table import open_table
from bandit_envs.logged.files.reward_table import RewardTable
from bandit_envs.logged.log import BanditLog
from bandit_envs.tables.parts import FramePart, Parts
from bandit_envs.tables.roles import Names
from bandit_envs.tables.whole_table import AnyTable

if TYPE_CHECKING:
    from pandas import DataFrame

KEY = "bandit_envs.log"
"""Where frames and files keep the layout of a log."""


def to_frame(log: BanditLog) -> DataFrame:
    """Returns a log as a pandas DataFrame, which `from_frame` reads."""
    pandas = import_extra("pandas", "logged")
    layout, columns = split_log(log)
    frame: DataFrame = pandas.DataFrame(columns)
    frame.attrs[KEY] = layout
    return frame


def from_frame(
    frame: DataFrame,
    action: str = "action",
    reward: str = "reward",
    propensity: Propensity = "propensity",
    *,
    features: Names | None = None,
    num_actions: int | None = None,
    embedding: Names = (),
    drop_missing: bool = False,
    weight: str | None = None,
    logger: str | None = None,
    balance: bool = False,
    decision: str | None = None,
    item: str | None = None,
    chosen: str = "chosen",
    item_features: Names | None = None,
    gather: bool = False,
    available: str | None = None,
    unit: str | None = None,
    time: str | None = None,
    rewards: AnyTable | RewardTable | None = None,
) -> BanditLog:
    """Returns the log in a pandas DataFrame, which has one row a decision, or one a candidate.

    Columns of numbers are features as they are. Those of texts become a feature for each text, and
    those of dates and times become five. `log.encoding` says what became of which column.

    Args:
        frame: the table; `to_frame` may have made it.
        action: the column of the actions: integers from 0, or names, which are numbered in sorted
            order.
        reward: the column of the rewards.
        propensity: the column of the probabilities with which the actions were chosen, or a number
            that is the probability in all rows; None if they are not known. With `logger`, a dict:
            for each logging policy, by its name, the column of the probabilities with which it
            takes the logged actions. Without `balance`, only those of its own rows count.
        features: the columns of the observation [n, d]; None for all that have a name, and no other
            role.
        num_actions: by default, the largest action plus 1, or the number of names; or 0, if
            most actions are numbers that are not whole. 0 says that actions are real numbers, such
            as prices or doses, and propensities their densities.
        embedding: the columns of the categories of the action, integers from 0, if there are any.
        drop_missing: whether to drop rows with missing values. By default, they raise a ValueError
            that counts them.
        weight: the column of how many decisions each row stands for, above 0; None for one each.
        logger: the column that says which of several logging policies a row is of. Each row has the
            propensity of its own.
        balance: whether propensities are those of the mixture of all logging policies, as by
            `balance_loggers`, which says what that assumes.
        decision: the column of the names of the decisions, if a table has one row for each
            candidate of a decision, which are adjacent; or if `rewards` has them, too.
        item: the column of the items, if actions are items with features. There is no `action`.
        chosen: the column that is 1 for the chosen candidate, and 0 for others.
        item_features: the columns of the features of the items; `features` are those of the
            context. None takes the columns without another role that differ in the rows of a
            decision, or that have lists; if `features` is None, too, they are the others.
        gather: whether rows of a decision may stand anywhere. All are read into memory.
        available: the column of the actions that were available in each row: lists, which are JSON
            in CSV, such as `["hats", "shoes"]`. By default, all were.
        unit: the column of integers or texts that says whose a decision is, such as of which user
            or session. Rows of one unit belong together, and intervals are by units. The text "17"
            is the same unit as the integer 17.
        time: the column of dates or times, which the log has as seconds. It is no feature, unless
            it is named as one.
        rewards: a table of the rewards, such as conversions: a data frame, a path, or a
            `RewardTable`, which says in which window they count. It has the columns `decision` and
            `reward`, the ids of the decisions, as the log has them, and the rewards. The sum of a
            decision's rewards counts; without one, it is 0.

    Raises:
        ValueError: a column is missing, or has a value that cannot be; missing values are counted
            by column.

    Warns:
        UserWarning: a column without a name is not a feature, or a column of dates in another form
            is read as texts.
    """
    others = (features, logger, item, unit, time, rewards)
    if all(name is None for name in others) and KEY in frame.attrs:
        layout: TableLayout = check_layout(frame.attrs[KEY]).copy()
        layout["rows"] = len(frame)  # some may have been filtered
        return join_frame(layout, frame)
    columns = LogRoles.of(
        reward=reward,
        propensity=propensity,
        features=features,
        action=action,
        embedding=embedding,
        logger=logger,
        balance=balance,
        decision=decision,
        item=item,
        chosen=chosen,
        item_features=item_features,
        available=available,
        unit=unit,
        time=time,
        weight=weight,
        rewards=rewards,
        num_actions=num_actions,
        drop_missing=drop_missing,
        gather=gather,
    )
    scan = open_table("frame", Parts([FramePart(frame)]), columns)
    if time is not None:
        scan = scan.with_dates(time)
    return scan.read()
