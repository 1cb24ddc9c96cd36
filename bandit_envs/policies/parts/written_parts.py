"""Models and rules as files hold them: their names, and their parameters as plain values."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.base.checks import short_repr
from bandit_envs.base.saving import EncodedModel
from bandit_envs.policies.models.value_model import Model
from bandit_envs.policies.parts.registry import FITTED, MODELS, RULES
from bandit_envs.policies.rules.rule import Rule
from bandit_envs.policies.scikit_learn.model import ScikitLearnModel, read_estimator

Part = Model | Rule

PLAIN = (type(None), bool, int, float, str)

KNOWN: Mapping[str, Any] = {**MODELS, **FITTED, **RULES}
"""The models and rules of the package, by id."""


class WrittenPart(NamedTuple):
    """What a file says of a model or a rule.

    Fields:
        name: the id of one of the package, or the `module:Class` of a user's own.
        parameters: the fields of the dataclass.
    """

    name: str
    parameters: dict[str, Any]


def write_part(part: Part) -> WrittenPart:
    """Returns a model or a rule as `save_state` writes it.

    Parameters are plain values, arrays, estimators of scikit-learn, other models and rules, and
    tuples, lists and dicts of these.

    Raises:
        TypeError: it is not a dataclass, or a parameter is something else.
    """
    kind = type(part)
    fields: list[str] = []
    if dataclasses.is_dataclass(part):
        fields = [field.name for field in dataclasses.fields(part)]
    if fields != list(inspect.signature(kind).parameters):
        expected = "a frozen dataclass, whose fields are its parameters"
        raise TypeError(f"a {kind.__name__} cannot be written; expected {expected}")
    made_of_text = _made_of_text(kind)
    parameters = {}
    for name in fields:
        value = getattr(part, name)
        if isinstance(value, str) and name in made_of_text:
            value = made_of_text[name](value)
        parameters[name] = _write(f"{name} of a {kind.__name__}", value)
    return WrittenPart(_name_of(kind), parameters)


@dataclasses.dataclass(frozen=True)
class PartReader:
    """Makes models and rules of what a file says of them. It imports nothing that the file names.

    Args:
        kinds: users' own classes of models and rules, which the file may hold.
        estimators: users' own estimators, whose classes the file may hold.
    """

    kinds: Sequence[type[Part]] = ()
    estimators: Sequence[Any] = ()

    def __post_init__(self) -> None:
        for kind in self.kinds:
            if not (isinstance(kind, type) and issubclass(kind, (Model, Rule))):
                expected = "classes of models and rules"
                raise TypeError(f"parts has {short_repr(kind)}; expected {expected}")

    def read(self, written: Any, expected: type[Any]) -> Any:
        """Returns a model or a rule.

        Raises:
            TypeError, ValueError: it is something else, of an unknown class, or refused by its
                class.
        """
        if not isinstance(written, WrittenPart) or not isinstance(written.parameters, dict):
            raise TypeError(f"found {short_repr(written)}; expected a {expected.__name__}")
        part = self._make(written)
        if not isinstance(part, expected):
            raise TypeError(f"found a {type(part).__name__}; expected a {expected.__name__}")
        return part

    def _make(self, written: WrittenPart) -> Any:
        kind = self._find(written.name)
        for name in _made_of_text(kind):
            if isinstance(written.parameters.get(name), str):
                text = short_repr(written.parameters[name])
                raise ValueError(f"{name} is {text}, which names code; a file holds what it made")
        values = {name: self._value(value) for name, value in written.parameters.items()}
        return kind(**values)

    def _find(self, name: Any) -> Any:
        """Returns the class of an id, or the one among the user's that has the name."""
        if name in KNOWN:
            return KNOWN[name].make
        own = str(name).rpartition(":")[2]
        found = [kind for kind in self.kinds if kind.__qualname__ == own]
        if len(found) == 1:
            return found[0]
        problem = f"it holds a {short_repr(name)}"
        if found:
            raise ValueError(f"{problem}; parts has {len(found)} classes of this name")
        advice = f"read it with parts=[{own}]" if own.isidentifier() else "parts takes such classes"
        raise ValueError(f"{problem}, which is not of this package; {advice}")

    def _value(self, value: Any) -> Any:
        """Returns a parameter."""
        if isinstance(value, WrittenPart):
            return self._make(value)
        if isinstance(value, EncodedModel):
            return read_estimator(value.content, self.estimators, value.trusted)
        if type(value) in (list, tuple):
            return type(value)(map(self._value, value))
        if type(value) is dict:
            return {key: self._value(item) for key, item in value.items()}
        if isinstance(value, (*PLAIN, np.ndarray, np.generic)):
            return value
        raise TypeError(f"found {short_repr(value)}; expected a parameter")


def _write(name: str, value: Any) -> Any:
    """Returns a parameter as `save_state` writes it."""
    if isinstance(value, Part):
        return write_part(value)
    if type(value) in (list, tuple):
        return type(value)(_write(name, item) for item in value)
    if type(value) is dict and all(type(key) is str for key in value):
        return {key: _write(name, item) for key, item in value.items()}
    if type(value) in PLAIN or isinstance(value, (np.ndarray, np.generic)):
        return value
    if callable(getattr(value, "fit", None)) and not isinstance(value, type):
        return ScikitLearnModel(value)
    expected = "plain values, arrays, estimators, models and rules"
    raise TypeError(f"{name} is {short_repr(value)}, which cannot be written; expected {expected}")


def _name_of(kind: type[Any]) -> str:
    """Returns the id of a class of the package, or the `module:Class` of a user's own."""
    if kind.__module__.partition(".")[0] == "bandit_envs":
        table = {**FITTED, **MODELS} if issubclass(kind, Model) else RULES
        for name, entry in table.items():  # the classes of frameworks come last, if at all
            if entry.make is kind:
                return name
    return f"{kind.__module__}:{kind.__qualname__}"


def _made_of_text(kind: type[Any]) -> Mapping[str, Any]:
    """Returns the parameters of a class that may be a text that names code."""
    return kind.made_of_text if issubclass(kind, Model) else {}
