"""Environments and policies with parameters, as users write them: `ucb:c=2`."""

import dataclasses
import importlib
import itertools
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from bandit_envs.base.checks import short_repr
from bandit_envs.base.registry import Entry, raised_at
from bandit_envs.environments.registry import ENVIRONMENTS, EnvironmentEntry
from bandit_envs.policies.registry import POLICIES, PolicyEntry

SYMBOLS = {  # how legends write parameters; the others by name
    **{"epsilon": "ε", "initial_value": "Q₁", "step_size": "α", "alpha": "α", "gamma": "γ"},
    **{"tikhonov_weight": "λ", "prior_mean": "μ₀", "prior_std": "σ₀", "reward_std": "σ"},
    **{"batch_size": "B"},
}


def parse_toml(text: str) -> dict[str, Any]:
    """Returns what TOML says; Python 3.10 needs a package for it."""
    module = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    return dict(module.loads(text))


@dataclasses.dataclass(frozen=True)
class Choice:
    """An id, or a user's `module:Class` that is found in `folder`, with parameters."""

    entries: ClassVar[type[Entry]]
    table: ClassVar[Mapping[str, Any]]
    name: str
    parameters: Mapping[str, Any]
    folder: str = dataclasses.field(default_factory=os.getcwd, compare=False)
    digits: int = dataclasses.field(default=4, compare=False)  # of numbers in labels

    def __post_init__(self) -> None:
        given, allowed = self.entry.check(self.parameters), self.entry.parameters()
        for key, value in given.items():
            name, default = f"{self.entries.what} {self.name}: {key}", allowed[key].default
            if not isinstance(value, (int, float, str, list)):
                raise ValueError(
                    f"{name} is {short_repr(value)}; expected a number, string or list"
                )
            if isinstance(default, (list, tuple)) and not isinstance(value, list):
                expected = f"a list; in a study file, a list in a list, as [{written(default)}]"
                raise ValueError(f"{name} is {short_repr(value)}; expected {expected}")
        object.__setattr__(self, "parameters", given)

    @property
    def entry(self) -> Any:
        """The entry of the registry, in the process of any worker."""
        if ":" in self.name and sys.path[:1] != [self.folder]:
            sys.path.insert(0, self.folder)
        return self.entries.find(self.name, self.table)

    @classmethod
    def expand(cls, item: Any) -> Iterator[Any]:
        """Yields the choices of `name:key=value`, or of a table with lists for "each of these"."""
        what = cls.entries.what
        if isinstance(item, str):
            name, _, values = item.partition(":")
            path, _, rest = values.partition(":")
            if name not in cls.table and path and "=" not in path:  # module:Class
                name, values = f"{name}:{path}", rest
            try:
                parameters = parse_toml(f"parameters = {{{values}}}")["parameters"]
            except (ValueError, RecursionError) as error:
                raise ValueError(
                    f"{what} is {short_repr(item)}; expected name:key=value,key=value with values "
                    f'such as 0.1, true, "text" or [1, 2]: {str(error).partition(" (at")[0]}'
                ) from error
            yield cls(name, parameters)
        elif isinstance(item, dict) and isinstance(item.get("name"), str):
            lists = [value if isinstance(value, list) else [value] for value in item.values()]
            if [] in lists:
                raise ValueError(f"{what} {item['name']} has an empty list")
            for combination in itertools.product(*lists):
                parameters = dict(zip(item, combination))
                yield cls(parameters.pop("name"), parameters)
        else:
            raise ValueError(f"{what} is {short_repr(item)}; expected a table with a name")

    def parts(self, without: str = "") -> list[str]:
        """Returns the parts of a label, such as `ε-greedy` and `ε=0.1`, without one parameter."""
        keys = [key for key in self.parameters if key != without]
        values = [f"{SYMBOLS.get(k, k)}={written(self.parameters[k], self.digits)}" for k in keys]
        return [self.entry.title, *values]

    def __str__(self) -> str:
        values = ",".join(f"{key}={written(value)}" for key, value in self.parameters.items())
        return f"{self.name}:{values}" if values else self.name


class EnvironmentChoice(Choice):
    """An environment."""

    entries, table = EnvironmentEntry, ENVIRONMENTS

    def make(self, runs: int, seed: np.random.SeedSequence) -> Any:
        """Returns an environment with a row for each run; if rows share a problem, for one run."""
        sizes = {"batch_size": runs} if self.entry.independent_rows else {}
        return self.entry.make(**self.entry.fixed, **self.parameters, **sizes, seed=seed)


class PolicyChoice(Choice):
    """A policy."""

    entries, table = PolicyEntry, POLICIES

    def make(self, env: Any, seed: Any) -> Any:
        """Returns a new policy that fits `env`."""
        return self.entry.make_for(env, self.parameters, np.random.default_rng(seed))


def written(value: Any, digits: int = 17) -> str:
    """Returns a value as in TOML, or a class by its name.

    With fewer than 17 digits, it rounds, but 0.99999 is never 1; and long lists are shortened.
    """
    if isinstance(value, (list, tuple)):
        texts = [written(each, digits) for each in value]
        texts[3:-1] = ["…"] if len(texts) > 12 and digits < 17 else texts[3:-1]
        return f"[{','.join(texts)}]"
    if isinstance(value, float) and not (rounded := float(f"{value:.{digits}g}")).is_integer():
        value = rounded
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return "".join(('"', *(c if c.isprintable() else f"\\U{ord(c):08X}" for c in escaped), '"'))
    return written(value.__name__) if isinstance(value, type) else str(value).lower()


def printable(value: Any, *choices: Choice) -> str:
    """Returns text, or an exception and its line in the users' classes of `choices`, as a line."""
    text = str(value)
    if isinstance(value, OSError) and value.filename is not None:
        text = f"{value.filename}: {value.strerror}"
    elif not isinstance(value, (str, TypeError, ValueError, OSError)):
        text = f"{type(value).__name__}: {value}"
    line = "".join(filter(str.isprintable, " ".join(text.split())))
    line = line if len(line) <= 500 else f"{line[:196]} ... {line[-299:]}"  # reasons come last
    modules = [choice.name.partition(":")[0] for choice in choices if ":" in choice.name]
    return line + raised_at(value, *modules) if modules else line
