"""What is deprecated still works, and says what to write instead and until when."""

import ast
import inspect
import re
import warnings
from pathlib import Path
from typing import NamedTuple

import pytest

import bandit_envs
from bandit_envs.names.deprecation import deprecated, renamed_argument


@deprecated(instead="policies.rules.Greedy", removed_in="2.0")
def pick_largest(values):
    """Returns the place of the largest value."""
    return values.index(max(values))


class Rule:
    def __init__(self, rate=0.5):
        self.rate = rate


@deprecated(instead="Rule", removed_in="2.0")
class OldRule(Rule):
    """The old name of `Rule`."""


@deprecated(instead="Rule", removed_in="2.0")
class Pair(NamedTuple):
    rate: float
    steps: int


def explore(rate=None, step_size=None):
    return renamed_argument(
        old_name="step_size", old=step_size, new_name="rate", new=rate, removed_in="2.0"
    )


@pytest.mark.parametrize(
    ("use", "found", "message"),
    [
        (
            lambda: pick_largest([1, 3, 2]),
            1,
            "pick_largest .* version 2.0 .* policies.rules.Greedy",
        ),
        (lambda: OldRule(rate=0.1).rate, 0.1, "OldRule .* version 2.0 .*; use Rule"),
        (lambda: tuple(Pair(0.1, steps=2)), (0.1, 2), "Pair .* version 2.0 .*; use Rule"),
        (lambda: explore(step_size=0.2), 0.2, "the argument step_size .* version 2.0 .*; use rate"),
    ],
)
def test_an_old_name_works_and_warns_in_the_line_that_uses_it(use, found, message):
    with pytest.warns(DeprecationWarning, match=message) as caught:
        assert use() == found
    assert [warning.filename for warning in caught] == [__file__]


def test_new_names_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Rule().rate == 0.5
        assert explore(rate=0.3) == 0.3
        assert explore() is None


def test_an_argument_is_not_taken_under_both_names():
    with pytest.raises(TypeError, match="step_size and rate were both given; expected rate"):
        explore(rate=0.1, step_size=0.1)


def test_what_is_deprecated_keeps_its_name_signature_and_class():
    assert str(inspect.signature(OldRule)) == "(rate=0.5)"
    assert pick_largest.__doc__ == "Returns the place of the largest value."
    assert issubclass(OldRule, Rule)
    assert OldRule.__name__ == "OldRule"


@pytest.mark.parametrize("wrapped", [property, classmethod, staticmethod])
def test_only_functions_and_classes_are_deprecated(wrapped):
    decorate = deprecated(instead="Rule", removed_in="2.0")
    with pytest.raises(TypeError, match="expected a function or a class"):
        decorate(wrapped(lambda self: 1))


def removals(source):
    """Yields the versions that a module says will remove something."""
    if "removed_in" not in source:
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg == "removed_in" and isinstance(keyword.value, ast.Constant):
                    yield keyword.value.value


def as_numbers(version):
    return [int(number) for number in re.findall(r"\d+", version)]


def test_nothing_outlives_the_version_that_removes_it():
    assert list(removals(Path(__file__).read_text("utf-8"))) == ["2.0"] * 5
    now = as_numbers(bandit_envs.__version__)
    for file in Path(bandit_envs.__file__).parent.rglob("*.py"):
        late = [v for v in removals(file.read_text("utf-8")) if as_numbers(v) <= now]
        assert not late, f"{file} keeps what version {late[0]} removes"
