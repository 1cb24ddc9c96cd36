"""Environments and policies named by short specs, such as `ucb:c=2`."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np

from bandit_envs.base.bandit_py_environment import BanditPyEnvironment
from bandit_envs.base.checks import checked_number
from bandit_envs.studies import problems
from bandit_envs.policies import (
    EpsilonGreedyPolicy,
    GaussianThompsonSamplingPolicy,
    GradientBanditPolicy,
    LinearEpsilonGreedyPolicy,
    LinearThompsonSamplingPolicy,
    LinUCBPolicy,
    Policy,
    RandomPolicy,
    UCBPolicy,
)

SpecType = TypeVar("SpecType", bound="Spec")

SYMBOLS: Mapping[str, str] = {
    "epsilon": "ε",
    "initial_value": "Q₁",
    "step_size": "α",
    "c": "c",
    "alpha": "α",
    "gamma": "γ",
    "tikhonov_weight": "λ",
    "prior_mean": "μ₀",
    "prior_std": "σ₀",
    "reward_std": "σ",
    "batch_size": "B",
    "k": "k",
}
"""How legends write the parameters; others are written out."""


@dataclasses.dataclass(frozen=True)
class Family:
    """What a name stands for.

    Fields:
        title: how a legend calls it.
        make: makes one; its positional parameters are those that a spec may give.
        fixed: the arguments that the name fixes.
    """

    title: str
    make: Callable[..., Any]
    fixed: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def parameters(self) -> dict[str, inspect.Parameter]:
        """Returns the parameters that a spec may give, in their order."""
        return {
            key: parameter
            for key, parameter in inspect.signature(self.make).parameters.items()
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD and key not in self.fixed
        }


@dataclasses.dataclass(frozen=True)
class EnvironmentFamily(Family):
    """A family of environments.

    Fields:
        rows_are_runs: whether the rows of a batch are independent runs; else a batch is one run.
    """

    rows_are_runs: bool = False


@dataclasses.dataclass(frozen=True)
class Spec:
    """A name and parameters; written `name` or `name:key=value,key=value`.

    Args:
        name: of a family.
        parameters: arguments of its `make`.

    Raises:
        ValueError: the name or a parameter is unknown, or one is missing.
    """

    what: ClassVar[str]
    families: ClassVar[Mapping[str, Family]]

    name: str
    parameters: Mapping[str, Any]

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or self.name not in self.families:
            expected = ", ".join(self.families)
            raise ValueError(f"{self.what} is {self.name!r}; expected one of {expected}")
        allowed = self.family.parameters()
        for key in self.parameters:
            if key not in allowed:
                expected = ", ".join(allowed) or "no parameters"
                raise ValueError(f"{self.what} {self.name} got {key!r}; expected {expected}")
        for key, parameter in allowed.items():
            if parameter.default is parameter.empty and key not in self.parameters:
                raise ValueError(f"{self.what} {self.name} got no {key}; expected one")
        in_order = {
            key: _checked_value(f"{self.what} {self.name}: {key}", self.parameters[key])
            for key in allowed
            if key in self.parameters
        }
        object.__setattr__(self, "parameters", in_order)

    @property
    def family(self) -> Family:
        """What the name stands for."""
        return self.families[self.name]

    @classmethod
    def parse(cls: type[SpecType], text: str) -> SpecType:
        """Returns what `name` or `name:key=value,key=value` stands for.

        A value is a number, `true`, `false` or `none`.

        Raises:
            ValueError: `text` is not of this form, or as for the constructor.
        """
        name, colon, rest = text.partition(":")
        parameters: dict[str, Any] = {}
        for item in rest.split(",") if colon else ():
            key, equals, value = item.partition("=")
            if not (key and equals and value):
                raise ValueError(f"{cls.what} is {text!r}; expected name:key=value,key=value")
            if key in parameters:
                raise ValueError(f"{cls.what} {name} got {key} twice; expected it once")
            parameters[key] = _parse_value(key, value)
        return cls(name, parameters)

    def label(self, without: str = "") -> str:
        """Returns the spec as a legend writes it, such as `ε-greedy, ε=0.1`.

        Args:
            without: a parameter to leave out.
        """
        keys = [key for key in self.parameters if key != without]
        return ", ".join([self.family.title, *map(self.written, keys)])

    def value(self, key: str) -> Any:
        """Returns the value of a parameter, or its default."""
        return self.parameters.get(key, self.family.parameters()[key].default)

    def written(self, key: str) -> str:
        """Returns a parameter as a legend writes it, such as `ε=0.1`."""
        return f"{SYMBOLS.get(key, key)}={_format(self.value(key))}"

    def __str__(self) -> str:
        values = ",".join(f"{key}={_format(value)}" for key, value in self.parameters.items())
        return f"{self.name}:{values}" if values else self.name


@dataclasses.dataclass(frozen=True)
class PolicySpec(Spec):
    """A policy.

    >>> str(PolicySpec.parse("epsilon_greedy:step_size=0.1,epsilon=0.10"))
    'epsilon_greedy:epsilon=0.1,step_size=0.1'
    """

    what = "policy"
    families = {  # noqa: RUF012  # never changed
        "random": Family("random", RandomPolicy),
        "greedy": Family("greedy", EpsilonGreedyPolicy, {"epsilon": 0.0}),
        "epsilon_greedy": Family("ε-greedy", EpsilonGreedyPolicy),
        "ucb": Family("UCB", UCBPolicy),
        "gradient": Family("gradient bandit", GradientBanditPolicy),
        "thompson": Family("Thompson sampling", GaussianThompsonSamplingPolicy),
        "lin_ucb": Family("LinUCB", LinUCBPolicy),
        "linear_thompson": Family("linear Thompson sampling", LinearThompsonSamplingPolicy),
        "linear_epsilon_greedy": Family("linear ε-greedy", LinearEpsilonGreedyPolicy),
    }

    def make(self, env: BanditPyEnvironment, seed: Any) -> Policy:
        """Returns a new policy that fits `env`.

        Raises:
            ValueError: a parameter is out of its range, or the policy cannot act in `env`.
        """
        policy_class = self.family.make
        arguments = {**self.family.fixed, **self.parameters}
        try:
            sizes = policy_class.sizes(env)  # type: ignore[attr-defined]
            policy: Policy = policy_class(**arguments, **sizes, seed=np.random.default_rng(seed))
        except (TypeError, ValueError, MemoryError) as error:
            raise ValueError(f"policy {self}: {error}") from error
        return policy


@dataclasses.dataclass(frozen=True)
class EnvironmentSpec(Spec):
    """An environment.

    >>> str(EnvironmentSpec.parse("testbed:k=5"))
    'testbed:k=5'
    """

    what = "environment"
    families: ClassVar[Mapping[str, EnvironmentFamily]] = {
        "testbed": EnvironmentFamily("k-armed testbed", problems.make_testbed, rows_are_runs=True),
        "per_arm": EnvironmentFamily("per-arm bandit", problems.make_per_arm, rows_are_runs=False),
    }

    def make(self, runs: int, seed: np.random.SeedSequence) -> BanditPyEnvironment:
        """Returns an environment in which `runs` runs can be made as one batch.

        Raises:
            ValueError: a parameter is out of its range.
        """
        try:
            env: BanditPyEnvironment = self.family.make(**self.parameters, runs=runs, seed=seed)
        except (TypeError, ValueError, MemoryError) as error:
            raise ValueError(f"environment {self}: {error}") from error
        return env

    @property
    def runs_a_block(self) -> int:
        """How many runs are made as one batch. Fixed, so that it cannot change the results."""
        return 2000 if self.rows_are_runs else 1

    @property
    def rows_are_runs(self) -> bool:
        """Whether the rows of a batch are independent runs; else a batch is one run."""
        return self.families[self.name].rows_are_runs


def _parse_value(key: str, value: str) -> Any:
    words = {"true": True, "false": False, "none": None}
    if value.lower() in words:
        return words[value.lower()]
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"{key} is {value!r}; expected a number, true, false or none") from None


def _checked_value(name: str, value: Any) -> Any:
    """Returns integers as floats, so that 1 and 1.0 are the same parameter."""
    if value is None or isinstance(value, bool):
        return value
    if not isinstance(value, (int, float)):
        raise ValueError(f"{name} is {value!r}; expected a number, true or false")
    return checked_number(name, value)


def _format(value: Any) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return str(value).lower()
