"""Estimators of scikit-learn by name, as users of the command write them."""

from __future__ import annotations

import ast
import functools
import random
from typing import Any

from bandit_envs.base.checks import short_repr
from bandit_envs.base.extras import import_extra
from bandit_envs.names.notation import parse_expression
from bandit_envs.names.users_code import exits_as_errors, text_of
from bandit_envs.names.users_models import ModelEntry, find_users
from bandit_envs.policies.scikit_learn.model import check_estimator


class ScikitLearnEntry(ModelEntry):
    """A class of estimators, or a function that makes one."""

    what = "estimator"


def make_estimator(text: str) -> Any:
    """Returns the estimator that a text names, such as "LogisticRegression(C=100)" or "Ridge(10)".

    The name is that of a class of scikit-learn; or, as `module:name`, that of a class or of a
    function that makes an estimator. The module may be in the current folder. Values are numbers,
    strings, and tuples and lists of these.

    Raises:
        ModuleNotFoundError: scikit-learn is not installed.
        ValueError: there is no such estimator, or it cannot be made with these values.
    """
    name, values, keywords = _parse(text)
    if ":" in name:
        entry = find_users(ScikitLearnEntry, name)
    else:
        entry = ScikitLearnEntry.find(name, _entries())
    try:
        with exits_as_errors():
            made = entry.make(*values, **keywords)
        return check_estimator(name, made)
    except Exception as error:  # users' functions raise any
        problem = f"cannot be made: {text_of(error)}"
        raise ValueError(f"estimator {short_repr(text)} {problem}") from error


@functools.cache
def _entries() -> dict[str, ScikitLearnEntry]:
    """Returns the classes of scikit-learn by name. To find them, it looks through all its files."""
    state = random.getstate()
    try:
        known = import_extra("sklearn.utils", "scikit-learn").all_estimators()
    finally:
        random.setstate(state)  # what these files import may draw numbers, as rich does
    return {each: ScikitLearnEntry(id=each, title=each, make=made) for each, made in known}


def _parse(text: str) -> tuple[str, list[object], dict[str, object]]:
    """Returns the name and the values, without and with keywords, in `name(value, key=value)`."""
    name, parenthesis, rest = text.partition("(")
    try:
        call = parse_expression(f"make({rest}" if parenthesis else "make()")
        if not isinstance(call, ast.Call):
            raise ValueError("it is not a call")
        values: list[object] = [ast.literal_eval(each) for each in call.args]
        keywords = {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
    except (SyntaxError, ValueError) as error:
        expected = "a name, or name(value, key=value) as in Python"
        raise ValueError(f"estimator is {short_repr(text)}; expected {expected}") from error
    return name, values, keywords
