"""Checks what a study file says, key by key."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import math
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bandit_envs import __version__
from bandit_envs.base.checks import check_number, short_repr
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.drivers import StepDriver
from bandit_envs.environments import ClassificationBandit, OutcomeTableBandit
from bandit_envs.environments.environment_choice import EnvironmentChoice
from bandit_envs.metrics import METRICS, QUANTITIES
from bandit_envs.metrics.quantities import IN_PLACE_OF, ON_REQUEST
from bandit_envs.names.choice import AnyChoice, Choice, describe_failure
from bandit_envs.names.notation import parse_toml, to_toml
from bandit_envs.names.notation.values import ALL_DIGITS
from bandit_envs.names.registry import near_miss
from bandit_envs.names.users_code import exits_as_errors, printable
from bandit_envs.nests import Nest
from bandit_envs.policies import Policy
from bandit_envs.policies.contextual import lacks_constant
from bandit_envs.policies.delayed import learner
from bandit_envs.policies.models.constant_feature import LACKS_CONSTANT
from bandit_envs.policies.policy_choice import PolicyChoice
from bandit_envs.showing.merged_texts import say_of_each

DEFAULT_PANELS = ("reward", "percent_optimal", "lost_reward")

MOST_PAIRS = 100_000
"""A study has at most so many pairs of an environment and a policy."""


def check_keys(what: str, table: Mapping[str, Any], kind: type) -> None:
    """Raises ValueError if a table lacks a field of the dataclass `kind`, or has another key."""
    fields = [field.name for field in dataclasses.fields(kind)]
    expected = f"expected {', '.join(fields)}"
    for key in table:
        if key not in fields:
            known = f"{expected}, as bandit_envs {__version__} knows them"
            raise ValueError(f"{what} has an unknown key {short_repr(key)}; {known}")
    for key in fields:
        if key not in table and key not in defaults(kind):
            raise ValueError(f"{what} needs a value for {short_repr(key)}; {expected}")


@contextlib.contextmanager
def explain_file(file: str | Path, kind: type) -> Iterator[None]:
    """Names a study file in errors, and keys that stand too low in it.

    Args:
        file: the study file.
        kind: the dataclass whose fields are the keys of a study.
    """
    try:
        yield
    except (TypeError, ValueError, RecursionError) as error:
        hints = ""
        with contextlib.suppress(TypeError, ValueError, RecursionError):
            values = parse_toml(Path(file).read_text("utf-8"))
            # A key below the header of a [table] belongs to that table.
            keys = [key for key in _misplaced_keys(values, kind) if repr(key) in str(error)]
            hints = "".join(f"; write {key} above the first table" for key in keys)
        raise ValueError(f"{file}: {error}{hints}") from error


def _misplaced_keys(values: Mapping[str, Any], kind: type) -> set[str]:
    """Returns the keys of a study that a study file has in one of its tables."""
    keys: set[str] = set()
    for value in values.values():
        for table in value if isinstance(value, list) else [value]:
            if isinstance(table, dict):
                keys |= table.keys()
    fields = {field.name for field in dataclasses.fields(kind)}
    return keys & (fields - values.keys())


def defaults(kind: type) -> dict[str, Any]:
    """Returns the defaults of a dataclass."""
    defaults = {}
    for field in dataclasses.fields(kind):
        if field.default_factory is not dataclasses.MISSING:
            defaults[field.name] = field.default_factory()
        elif field.default is not dataclasses.MISSING:
            defaults[field.name] = field.default
    return defaults


def check_title(title: object) -> str:
    """Returns a title as one line that a terminal can show."""
    if not isinstance(title, str):
        raise TypeError(f"title is {short_repr(title)}; expected a string")
    return printable(title)


def check_failed(failed: object) -> dict[str, str]:
    """Returns what went wrong in policies, by their texts, as lines that a terminal can show."""
    if not isinstance(failed, dict):
        raise TypeError(f"failed is {short_repr(failed)}; expected texts by policies")
    return {printable(policy): printable(problem) for policy, problem in failed.items()}


def check_size(environments: object, policies: object, *, paired: object) -> None:
    """Raises ValueError if a study has too many pairs, from its lists alone.

    Args:
        environments: the tables or texts of a study, which other functions check.
        policies: likewise.
        paired: whether each policy meets one environment.
    """
    sizes = [_count_choices(environments), _count_choices(policies)]
    number = max(sizes) if paired is True else math.prod(sizes)
    if number > MOST_PAIRS:
        parts = f"{sizes[0]:,} environments and {sizes[1]:,} policies, which are {number:,} pairs"
        expected = f"at most {MOST_PAIRS:,}; divide it into several studies"
        raise ValueError(f"the study has {parts}; expected {expected}")


def _count_choices(items: object) -> int:
    """Returns how many choices the tables or texts of a list stand for."""
    count = 0
    for item in items if isinstance(items, list) else []:
        values = item.values() if isinstance(item, dict) else []
        count += math.prod(len(value) for value in values if isinstance(value, list))
    return count


def check_choices(choice_class: type[AnyChoice], items: object) -> tuple[AnyChoice, ...]:
    """Returns the choices of a list of tables or texts. No two are the same."""
    what = choice_class.entry_class.what
    if not isinstance(items, list) or not items:
        raise ValueError(f"{what} is {short_repr(items)}; expected [[{what}]] tables")
    return tell_apart([choice for item in items for choice in choice_class.expand(item)])


def read_choices(choice_class: type[AnyChoice], texts: object) -> tuple[AnyChoice, ...]:
    """Returns the choices of texts in a file of results, without importing what they name."""
    what = choice_class.entry_class.what
    if not isinstance(texts, list) or not texts or not all(isinstance(t, str) for t in texts):
        raise ValueError(f"{what} is {short_repr(texts)}; expected a list of texts")
    return tell_apart([choice_class.read(text) for text in texts])


def tell_apart(choices: list[AnyChoice]) -> tuple[AnyChoice, ...]:
    """Returns choices with labels that tell them apart; ValueError if two are the same."""
    what = choices[0].entry_class.what
    met = set()
    for choice in choices:
        key = (choice.name, _hashable(list(choice.parameters.items())))
        if key in met:
            raise ValueError(f"{what} {choice} is listed twice")
        met.add(key)
    if _number_of_texts(choices, choices[0].digits) < _number_of_texts(choices, ALL_DIGITS):
        choices = [dataclasses.replace(choice, digits=ALL_DIGITS) for choice in choices]
    shared = _shared_titles(choices)
    return tuple(_show_module(choice, shared) for choice in choices)


def _shared_titles(choices: Sequence[Choice[Any]]) -> set[str]:
    """Returns the titles that several classes have."""
    titles = collections.Counter({choice.name: choice.entry.title for choice in choices}.values())
    return {title for title, count in titles.items() if count > 1}


def _show_module(choice: AnyChoice, shared: set[str]) -> AnyChoice:
    """Returns a choice whose labels have the module of a user's class with a shared title."""
    is_shared = choice.is_users and choice.entry.title in shared
    return dataclasses.replace(choice, shows_module=True) if is_shared else choice


def _hashable(value: object) -> object:
    return tuple(map(_hashable, value)) if isinstance(value, (list, tuple)) else value


def _number_of_texts(choices: Sequence[Choice[Any]], digits: int) -> int:
    """Returns how many values of parameters labels with so many digits tell apart."""
    texts = {
        (key, to_toml(value, digits))
        for choice in choices
        for key, value in choice.parameters.items()
    }
    return len(texts)


def check_quantiles(levels: object) -> list[float]:
    """Returns no or two numbers from 0 to 1, the smaller one first."""
    if not isinstance(levels, (list, tuple)) or len(levels) not in (0, 2):
        raise ValueError(f"quantiles is {short_repr(levels)}; expected two numbers from 0 to 1")
    return sorted(check_number("quantiles", level, 0.0, 1.0) for level in levels)


def check_over(over: object, length: int) -> dict[str, list[float]]:
    """Returns no or one name, with a number for each of so many environments."""
    problem = f"over is {short_repr(over)}; expected one name with numbers"
    if not isinstance(over, Mapping) or len(over) > 1:
        raise ValueError(problem)
    checked = {}
    for name, numbers in over.items():
        if not isinstance(numbers, list):
            raise ValueError(problem)
        if len(numbers) != length:
            raise _wrong_length(name, len(numbers))
        checked[printable(name)] = [check_number("over", number) for number in numbers]
    return checked


def check_expected(items: object) -> list[Any]:
    """Returns a list of expected values, whose items `Expected` checks."""
    if not isinstance(items, list):
        raise TypeError(f"expected is {short_repr(items)}; expected [[expected]] tables")
    return items


def check_paired(paired: object, num_policies: int, num_environments: int) -> bool:
    """Returns whether policies and environments are paired, of which there must be as many."""
    if not isinstance(paired, bool):
        raise TypeError(f"paired is {short_repr(paired)}; expected true or false")
    if paired and num_policies != num_environments:
        raise _wrong_length("policy", num_policies)
    return paired


def _wrong_length(key: str, length: int) -> ValueError:
    return ValueError(f"{key} has {length} items; expected one for each environment")


def check_listed_names(
    what: str, names: object, allowed: Collection[str], reasons: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """Returns names that are allowed, each once.

    Args:
        what: the key of the study.
        names: what the study gives.
        allowed: the names that it may give.
        reasons: why others are not allowed, for the error.
    """
    problem = f"{what} is {short_repr(names)}; expected a list of {', '.join(allowed)}"
    if not isinstance(names, (list, tuple)):
        raise ValueError(problem)
    for name in names:
        if name not in allowed:
            reason = (reasons or {}).get(str(name)) or near_miss(name, allowed)
            raise ValueError(f"{problem}; {reason}" if reason else problem)
    return tuple(dict.fromkeys(names))


def resolve_metrics(names: object, reasons: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the metrics of a study, by default all that the environments know.

    Args:
        names: what the study gives.
        reasons: why the environments do not know the others.
    """
    known = [name for name in METRICS if name not in reasons]
    measured = {name for name in known if name not in ON_REQUEST}
    default = [name for name in known if name in measured and IN_PLACE_OF.get(name) not in measured]
    return check_listed_names("metrics", names or default, known, reasons)


def resolve_panels(
    names: object, metrics: Collection[str], reasons: Mapping[str, str]
) -> tuple[str, ...]:
    """Returns the panels of a study, by default those of `DEFAULT_PANELS` that it measures.

    Args:
        names: what the study gives; None for the default.
        metrics: what the study measures.
        reasons: why the environments do not know other metrics.
    """
    drawable = [name for name, each in QUANTITIES.items() if each.axis and each.metric in metrics]
    if names is None:
        return tuple(name for name in DEFAULT_PANELS if name in drawable) or tuple(drawable)
    why = {name: reasons.get(each.metric, "") for name, each in QUANTITIES.items()}
    panels = check_listed_names("panels", names, [*drawable, "arms"], why)
    if not panels and "reward" not in metrics:
        raise ValueError(f"panels is empty; expected some of {', '.join(drawable)}")
    return panels


def find_unknown_metrics(
    environments: Sequence[EnvironmentChoice], policies: Sequence[PolicyChoice]
) -> dict[str, str]:
    """Lets every policy take a step, and returns which metrics are unknown, and why."""
    unknown: dict[str, str] = {}
    lacking: list[str] = []
    one_of_each = list({policy.name: policy for policy in policies}.values())
    for environment in environments:
        subject = f"environment {environment}"
        with explain_failure(subject, environment, listed=environments):
            env = environment.make(1, np.random.SeedSequence(0))
        for choice in policies if environment is environments[0] else one_of_each:
            subject = f"policy {choice} in environment {environment}"
            with explain_failure(subject, environment, choice, listed=policies):
                policy = choice.make(env, 1)
            names = [name for name in METRICS if name not in unknown]
            with explain_failure(subject, environment, choice):
                reasons = _reasons_against(names, env, policy)
            contexts = _contexts_of(env)
            if contexts is not None and lacks_constant(policy, contexts):
                lacking.append(subject)
            for name, reason in reasons.items():
                unknown[name] = f"environment {environment} has no {name}: {reason}".rstrip(": ")
    if lacking:
        warnings.warn(say_of_each(lacking, LACKS_CONSTANT), stacklevel=2)
    return unknown


def _contexts_of(env: PyEnvironment) -> Nest | None:
    """Returns the features of all examples of an environment of a table; None of others."""
    table = env.unwrapped
    return table.contexts if isinstance(table, (ClassificationBandit, OutcomeTableBandit)) else None


def _reasons_against(names: Sequence[str], env: PyEnvironment, policy: Policy) -> dict[str, str]:
    """Returns the metrics that cannot be measured, and why; the policy takes a step to find out."""
    reasons = {}
    metrics = {}
    for name in names:
        try:
            metrics[name] = METRICS[name](env, policy)
        except NotImplementedError as error:
            reasons[name] = str(error)
    try:
        StepDriver(env, policy, (learner(env, policy), *metrics.values())).run()
    except NotImplementedError:
        StepDriver(env, policy, (learner(env, policy),)).run()  # an error of the policy itself
        for name in metrics:
            try:
                StepDriver(env, policy, (learner(env, policy), METRICS[name](env, policy))).run()
            except NotImplementedError as error:
                reasons[name] = str(error)
    return reasons


@contextlib.contextmanager
def explain_failure(
    subject: str, *choices: Choice[Any], listed: Sequence[Choice[Any]] = ()
) -> Iterator[None]:
    """Names in errors what failed, and the line in a user's class.

    Args:
        subject: what failed.
        choices: whose classes may have failed.
        listed: the study's choices, where the last of `choices` is made of its parameters.
    """
    try:
        with exits_as_errors():
            yield
    except Exception as error:  # users' classes raise any
        hint = _list_hint(choices[-1], listed)
        raise ValueError(f"{subject}: {describe_failure(error, *choices)}{hint}") from error


def _list_hint(failed: Choice[Any], listed: Sequence[Choice[Any]]) -> str:
    """Returns how to write a list, if a user's class may have got the items of one."""
    same = [choice for choice in listed if choice.name == failed.name]
    if not failed.is_users or len(same) < 2:
        return ""
    return "; in a study file, a value that is a list is a list in a list: [[1, 2]]"
