"""Users' policies that fail before a study runs: the others run without them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.base.checks import short_repr
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.environments.environment_choice import EnvironmentChoice
from bandit_envs.names.registry import UsersCodeError
from bandit_envs.names.users_code import name_in_interrupts, printable
from bandit_envs.policies.policy_choice import PolicyChoice
from bandit_envs.policies.row_by_row import check_learns_by_row, shares_a_model
from bandit_envs.studies.definition.keys import (
    check_choices,
    explain_failure,
    find_unknown_metrics,
)

TRIED_ROWS = 13
"""A batch size that users' arrays hardly have by chance."""


class TriedPolicies(NamedTuple):
    """The policies of a study that have taken a step, and what went wrong in others, by texts."""

    policies: tuple[PolicyChoice, ...]
    failed: Mapping[str, str]


def try_policies(
    environments: Sequence[EnvironmentChoice], items: Any, runs: object
) -> TriedPolicies:
    """Lets each policy of a user take a step; leaves those out that fail, if others are left.

    Args:
        environments: those of the study.
        items: of the study's policies, tables or texts.
        runs: of each policy in each environment.

    Raises:
        TypeError, ValueError: the policies are none, or all of them fail.
    """
    errors: dict[str, ValueError] = {}
    usable = []
    for item in items if isinstance(items, list) else []:
        try:
            list(PolicyChoice.expand(item))
            usable.append(item)
        except UsersCodeError as error:
            errors[item if isinstance(item, str) else short_repr(item)] = error
    if errors and not usable:
        raise next(iter(errors.values()))
    policies = check_choices(PolicyChoice, usable if errors else items)
    for policy in filter(lambda choice: choice.is_users, policies):
        try:
            with name_in_interrupts(f"policy {policy}", *policy.modules):
                _try_policy(environments, policy, runs)
        except ValueError as error:
            errors[str(policy)] = error
    acting = tuple(policy for policy in policies if str(policy) not in errors)
    if not acting:
        raise next(iter(errors.values()))
    return TriedPolicies(acting, {text: printable(str(error)) for text, error in errors.items()})


def _try_policy(
    environments: Sequence[EnvironmentChoice], policy: PolicyChoice, runs: object
) -> None:
    """Lets a policy take a step. Raises ValueError if it fails, or if its runs would share rows."""
    with warnings.catch_warnings():  # the study's own trial repeats them
        warnings.simplefilter("ignore")
        find_unknown_metrics(environments, [policy])
    for environment in environments if runs != 1 else ():
        is_kept_apart(environment, policy)


def is_kept_apart(
    environment: EnvironmentChoice, policy: PolicyChoice, env: PyEnvironment | None = None
) -> bool:
    """Returns whether a policy needs one model for each run in an environment.

    Args:
        environment: of the study.
        policy: of the study.
        env: what is made of `environment`, with `TRIED_ROWS` rows.

    Raises:
        ValueError: what the policy knows has no rows, so that runs would share it.
    """
    if not environment.entry.independent_rows:
        return False
    with explain_failure(f"policy {policy} in environment {environment}", environment, policy):
        made = environment.make(TRIED_ROWS, np.random.SeedSequence(0)) if env is None else env
        tried = policy.make(made, 0)
        check_learns_by_row(tried)
    return shares_a_model(tried)
