"""A choice: an entry of a registry with values of its parameters, as users write it."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Generic, TypeVar

from bandit_envs.base.checks import short_repr
from bandit_envs.names.notation import parse_choice, to_toml
from bandit_envs.names.registry import Entry
from bandit_envs.names.users_code import (
    defined_at,
    look_for_modules_in,
    name_in_errors,
    printable,
    raised_at,
)

SYMBOLS = {
    "epsilon": "ε",
    "initial_value": "Q₁",
    "step_size": "α",
    "alpha": "α",
    "gamma": "γ",
    "tikhonov_weight": "λ",
    "prior_mean": "μ₀",
    "prior_std": "σ₀",
    "reward_std": "σ",
    "batch_size": "B",
}
"""How legends write parameters; the others by name."""

USERS_NAME = re.compile(r"(?:^|[\"=])([A-Za-z_][\w.]*):[A-Za-z_]")
"""How `module:name` begins, of a user's class or function, in a parameter or in a part of it."""

AnyEntry = TypeVar("AnyEntry", bound=Entry)
AnyChoice = TypeVar("AnyChoice", bound="Choice[Any]")


@dataclasses.dataclass(frozen=True, eq=False)
class Choice(Generic[AnyEntry]):
    """An entry of a registry, or of a user's class, with values of its parameters.

    Two are equal if their names and parameters are.
    """

    entry_class: ClassVar[type[Entry]]
    """The class of its entry."""

    table: ClassVar[Mapping[str, Entry]]
    """The entries that have an id."""

    entry: AnyEntry
    parameters: Mapping[str, object]

    folder: str = dataclasses.field(default_factory=os.getcwd)
    """Where a user's module is."""

    digits: int = 4
    """How many digits labels have."""

    shows_module: bool = dataclasses.field(default=False, compare=False)
    """Whether labels have the module of a user's class, as classes of others have its name."""

    @classmethod
    def make_choice(cls: type[AnyChoice], name: str, parameters: Mapping[str, object]) -> AnyChoice:
        """Returns the choice of an id, or of a user's `module:Class` in the current folder.

        Raises:
            ValueError: there is no such class, or it does not take these parameters.
        """
        entry = find_entry(cls, name, os.getcwd())
        given = entry.check(parameters)
        allowed = entry.parameters()
        for key, value in given.items():
            default = allowed[key].default if key in allowed else None
            _check_parameter(f"{cls.entry_class.what} {name}: {key}", value, default)
        return cls(entry, given)

    @classmethod
    def expand(cls: type[AnyChoice], item: object) -> Iterator[AnyChoice]:
        """Yields the choices of `name:key=value`, or of a table with lists for "each of these"."""
        what = cls.entry_class.what
        if isinstance(item, str):
            yield cls.make_choice(*parse_choice(what, item, cls.table))
        elif isinstance(item, dict) and isinstance(item.get("name"), str):
            lists = [value if isinstance(value, list) else [value] for value in item.values()]
            if [] in lists:
                raise ValueError(f"{what} {item['name']} has an empty list")
            for combination in itertools.product(*lists):
                parameters = dict(zip(item, combination))
                name = parameters.pop("name")
                yield cls.make_choice(name, parameters)
        else:
            raise ValueError(f"{what} is {short_repr(item)}; expected a table with a name")

    @classmethod
    def restored(cls: type[AnyChoice], text: str, folder: str) -> AnyChoice:
        """Returns the choice whose `str` is a text, without checking it again.

        Args:
            text: `name:key=value`.
            folder: where a user's module is.
        """
        name, parameters = parse_choice(cls.entry_class.what, text, cls.table)
        return cls(find_entry(cls, name, folder), parameters, folder)

    @classmethod
    def read(cls: type[AnyChoice], text: str) -> AnyChoice:
        """Returns the choice whose `str` is a text of a file. No user's class is imported.

        Raises:
            ValueError: there is no such id.
        """
        name, parameters = parse_choice(cls.entry_class.what, text, cls.table)
        is_users = ":" in name and name not in cls.table
        entry: Any = cls.entry_class.of_name(name) if is_users else find_entry(cls, name, "")
        return cls(entry, parameters)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return (self.name, self.parameters) == (other.name, other.parameters)

    @property
    def name(self) -> str:
        """The id, or a user's `module:Class`."""
        return self.entry.id

    @property
    def is_users(self) -> bool:
        """Whether it is a user's class."""
        return ":" in self.name

    @property
    def modules(self) -> list[str]:
        """The users' modules that it names: of its class, and of models in its parameters."""
        texts = [self.name, *filter(lambda value: isinstance(value, str), self.parameters.values())]
        return [name for text in texts for name in USERS_NAME.findall(str(text))]

    @property
    def title(self) -> str:
        """How labels write the class."""
        return self.name if self.shows_module else self.entry.title

    def parts(self, without: str = "") -> list[str]:
        """Returns the parts of a label, such as `ε-greedy` and `ε=0.1`, without one parameter."""
        values = [
            f"{SYMBOLS.get(key, key)}={to_toml(value, self.digits)}"
            for key, value in self.parameters.items()
            if key != without
        ]
        return [self.title, *values]

    def __str__(self) -> str:
        values = ",".join(f"{key}={to_toml(value)}" for key, value in self.parameters.items())
        return f"{self.name}:{values}" if values else self.name

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the name: a worker looks for a user's class in the same folder."""
        labels = (self.digits, self.shows_module)
        return _unpickle, (type(self), self.name, self.parameters, self.folder, labels)


def describe_failure(error: BaseException, *choices: Choice[Any]) -> str:
    """Returns an exception as a line, with the line in users' code where it was raised.

    Where none of it ran, such as after a hook that returned something else than is expected, it is
    the line of the hook or of the class.
    """
    modules = [module for choice in choices for module in choice.modules]
    text = printable(error, *modules)
    if raised_at(error, *modules):
        return text
    found = [defined_at(choice.entry.make, text) for choice in choices if choice.is_users]
    return "".join([text, *found[-1:]])


@contextlib.contextmanager
def name_choice_in_errors(subject: str, choice: Choice[Any]) -> Iterator[None]:
    """Names in errors what failed, with the line in users' code that `describe_failure` tells."""
    try:
        with name_in_errors(subject, *choice.modules):
            yield
    except ValueError as error:
        cause = error.__cause__
        if cause is None or not choice.is_users or raised_at(cause, *choice.modules):
            raise
        raise ValueError(f"{error}{defined_at(choice.entry.make, str(cause))}") from cause


def find_entry(choice_class: type[AnyChoice], name: str, folder: str) -> Any:
    """Returns the entry of an id, or of a user's class, whose module may be in `folder`."""
    if ":" in name:
        look_for_modules_in(folder)
    return choice_class.entry_class.find(name, choice_class.table)


def _unpickle(
    choice_class: type[AnyChoice],
    name: str,
    parameters: Mapping[str, object],
    folder: str,
    labels: tuple[int, bool],
) -> AnyChoice:
    """Returns the choice that was pickled, in the process of any worker."""
    return choice_class(find_entry(choice_class, name, folder), parameters, folder, *labels)


def _check_parameter(name: str, value: object, default: object) -> None:
    """Raises ValueError if a parameter has a value of a wrong kind."""
    if not isinstance(value, (int, float, str, list)):
        raise ValueError(f"{name} is {short_repr(value)}; expected a number, string or list")
    if isinstance(default, (list, tuple)) and not isinstance(value, list):
        expected = f"a list; in a study file, a list in a list, as [{to_toml(default)}]"
        raise ValueError(f"{name} is {short_repr(value)}; expected {expected}")
