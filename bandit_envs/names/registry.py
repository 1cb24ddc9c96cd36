"""Entries of a registry: classes under short ids, with the parameters that users may give."""

import dataclasses
import difflib
import functools
import importlib
import inspect
import operator
import pkgutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from bandit_envs.base.checks import short_repr
from bandit_envs.names.users_code import exits_as_errors, raised_at, text_of

EntryType = TypeVar("EntryType", bound="Entry")
signature = functools.cache(inspect.signature)

MANY_NAMES = 40
"""An error does not list more names than these."""


def closest(name: Any, known: Iterable[str]) -> list[str]:
    """Returns the known name that resembles `name` most, or else those that have it as a part."""
    text = str(name).lower()
    names = list(known)
    resembling = difflib.get_close_matches(text, names, n=1)
    return resembling or [each for each in names if text and text in each]


def near_miss(name: Any, known: Iterable[str]) -> str:
    """Returns "did you mean ...?" with the known names that are closest, or "" without one."""
    return _did_you_mean(closest(name, known))


def _did_you_mean(names: Sequence[str]) -> str:
    """Returns a question for the name that is meant, or "" without names."""
    return f"did you mean {' or '.join(names)}?" if names else ""


def _expected_names(known: Iterable[str]) -> str:
    """Returns what is expected in place of an unknown name: one of all names, if they are few."""
    names = list(known)
    if len(names) > MANY_NAMES:
        return "expected an id, all of which `bandit-envs list` shows, or module:Class"
    return f"expected one of {', '.join(names)}"


class UsersCodeError(ValueError):
    """A user's module cannot be imported, or has no class of the right kind."""


class Importable:
    """A field that is given as what it is, or as `module:name`, imported when it is first read.

    So an entry can name a class of a storey above.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:  # dataclasses ask for a default, which there is not
            raise AttributeError(self._name)
        found = instance.__dict__[self._name]
        if isinstance(found, str):
            found = pkgutil.resolve_name(found)
            instance.__dict__[self._name] = found
        return found

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self._name] = value


@dataclasses.dataclass(frozen=True)
class Entry:
    """What an id stands for: a `what`, such as "policy", made by a class of one of the `kinds`."""

    what: ClassVar[str]
    kinds: ClassVar[tuple[type, ...]]
    former: ClassVar[Mapping[str, str]] = {}  # what stands in the place of ids that are gone
    id: str  # the short id, or `module:Class`
    title: str  # how a legend writes it
    # A class, a function of plain values that returns an instance, or the `module:name` of one.
    make: Importable = Importable()
    # Arguments that the id fixes.
    fixed: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def supplied(self) -> frozenset[str]:
        """The arguments that the user does not give, such as the seed."""
        return frozenset()

    @property
    def summary(self) -> str:
        """The first line of the docstring, and what the id fixes."""
        fixed = [f" Here {name} is {value:g}." for name, value in self.fixed.items()]
        return "".join([(inspect.getdoc(self.make) or "").partition("\n")[0], *fixed])

    def parameters(self) -> dict[str, inspect.Parameter]:
        """Returns the parameters that users may give, in order."""
        return {
            name: parameter
            for name, parameter in self._all_parameters().items()
            if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
            and name not in self.supplied.union(self.fixed)
        }

    def _all_parameters(self) -> Mapping[str, inspect.Parameter]:
        """Returns the parameters of what makes an instance, in order."""
        return signature(self.make).parameters

    @property
    def passes_on(self) -> bool:
        """Whether it is a user's class or function with `**options`: only it can say which."""
        kinds = [each.kind for each in signature(self.make).parameters.values()]
        return ":" in self.id and inspect.Parameter.VAR_KEYWORD in kinds

    def check(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the arguments in the order of the parameters; behind them, those of `**options`.

        Raises:
            ValueError: a parameter is unknown, or one without a default is missing.
        """
        allowed, subject = self.parameters(), f"{self.what} {self.id}"
        reserved = self.supplied.union(self.fixed)
        for name in arguments:
            if name not in allowed and not (self.passes_on and name not in reserved):
                expected = ", ".join(allowed) or "no parameters"
                which = " that users give" if name in self.supplied else ""
                raise ValueError(f"{subject} has no parameter {name!r}{which}; expected {expected}")
        for name, parameter in allowed.items():
            if parameter.default is parameter.empty and name not in arguments:
                raise ValueError(f"{subject} needs a value for {name}")
        known = {name: arguments[name] for name in allowed if name in arguments}
        return {**known, **arguments}

    @classmethod
    def of_class(cls: type[EntryType], name: str, found: type) -> EntryType:
        """Returns the entry of a user's class, which `name` says as `module:Class`."""
        return cls(name, found.__name__, found)

    @classmethod
    def of_name(cls: type[EntryType], name: str) -> EntryType:
        """Returns the entry of a user's `module:name`, which is imported when `make` is read."""
        return cls(name, name.rpartition(":")[2].rpartition(".")[2], name)

    @classmethod
    def of_users(cls: type[EntryType], name: str, found: object) -> EntryType:
        """Returns the entry of what a user's `module:name` is, or raises TypeError."""
        if isinstance(found, type) and issubclass(found, cls.kinds):
            return cls.of_class(name, found)
        expected = " or ".join(kind.__name__ for kind in cls.kinds)
        raise TypeError(f"it is not a subclass of {expected}")

    @classmethod
    def table(cls: type[EntryType], *rows: tuple[Any, ...]) -> dict[str, EntryType]:
        """Returns entries by their ids; a row has the fields of one."""
        return {row[0]: cls(*row) for row in rows}

    @classmethod
    def find(cls: type[EntryType], name: str, table: Mapping[str, EntryType]) -> EntryType:
        """Returns the entry of an id in `table`, or of the class that `module:Class` names.

        Raises:
            ValueError: there is no such id, module or class, or it is of the wrong kind.
        """
        if name in table:
            return table[name]
        module, colon, path = name.partition(":")
        if not colon:
            raise ValueError(f"{cls.what} is {short_repr(name)}; {cls._hint(name, table)}")
        if module in table and "=" in path:
            problem = (
                f"in a table, name is {short_repr(module)}, and parameters are keys of their own"
            )
            raise ValueError(f"{cls.what} is {short_repr(name)}; {problem}")
        if module.endswith(".py"):
            dotted = module.removesuffix(".py").replace("/", ".")
            raise ValueError(f"{cls.what} is {short_repr(name)}; did you mean {dotted}:{path}?")
        try:
            with exits_as_errors():
                found = operator.attrgetter(path)(importlib.import_module(module))
            entry = cls.of_users(name, found)
        except Exception as error:  # a user's module raises whatever it likes
            problem = f"cannot be used: {text_of(error)}{raised_at(error, module)}"
            hint = cls._suggest(module, path)
            text = f"{cls.what} is {short_repr(name)}, which {problem}{hint}"
            raise UsersCodeError(text) from error
        return entry

    @classmethod
    def _hint(cls: type[EntryType], name: str, table: Mapping[str, EntryType]) -> str:
        """Returns what is expected in place of an unknown id."""
        if name in cls.former:
            return f"did you mean {cls.former[name]}?"
        return _did_you_mean(cls.similar(name, table)) or _expected_names(table)

    @classmethod
    def similar(cls, name: str, table: Mapping[str, "Entry"]) -> list[str]:
        """Returns what a user who writes an unknown name may mean."""
        return closest(name, table)

    @classmethod
    def _suggest(cls, module: str, path: str) -> str:
        """Returns which classes of a user's module resemble a name that it does not have, or ""."""
        members = vars(sys.modules[module]) if module in sys.modules else {}
        classes = [
            name
            for name, member in members.items()
            if isinstance(member, type) and issubclass(member, cls.kinds)
        ]
        hint = "" if path in members else near_miss(path, classes)
        return f"; {hint}" if hint else ""
