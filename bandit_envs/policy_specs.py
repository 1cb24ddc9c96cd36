"""Policies named by short specs, such as `ucb:c=2`."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from bandit_envs.bandit_py_environment import BanditPyEnvironment
from bandit_envs.policies import (
    EpsilonGreedyPolicy,
    GaussianThompsonSamplingPolicy,
    GradientBanditPolicy,
    Policy,
    RandomPolicy,
    UCBPolicy,
)


@dataclasses.dataclass(frozen=True)
class PolicyFamily:
    """What a name stands for.

    Fields:
        title: how a legend calls it.
        policy_class: the class.
        fixed: the arguments that the name fixes.
    """

    title: str
    policy_class: type[Policy]
    fixed: Mapping[str, Any] = dataclasses.field(default_factory=dict)


POLICIES: Mapping[str, PolicyFamily] = {
    "random": PolicyFamily("random", RandomPolicy),
    "greedy": PolicyFamily("greedy", EpsilonGreedyPolicy, {"epsilon": 0.0}),
    "epsilon_greedy": PolicyFamily("ε-greedy", EpsilonGreedyPolicy),
    "ucb": PolicyFamily("UCB", UCBPolicy),
    "gradient": PolicyFamily("gradient bandit", GradientBanditPolicy),
    "thompson": PolicyFamily("Thompson sampling", GaussianThompsonSamplingPolicy),
}
"""The policies that a spec can name."""

SYMBOLS: Mapping[str, str] = {
    "epsilon": "ε",
    "initial_value": "Q₁",
    "step_size": "α",
    "c": "c",
    "prior_mean": "μ₀",
    "prior_std": "σ₀",
    "reward_std": "σ",
}
"""How the book writes the parameters."""


@dataclasses.dataclass(frozen=True)
class PolicySpec:
    """A policy by name and parameters, as the command line writes it.

    Args:
        name: a key of `POLICIES`.
        parameters: arguments of the policy's constructor.

    Raises:
        ValueError: the name or a parameter is unknown, one is missing, or the policy refuses one.

    >>> str(PolicySpec.parse("epsilon_greedy:step_size=0.1,epsilon=0.10"))
    'epsilon_greedy:epsilon=0.1,step_size=0.1'
    """

    name: str
    parameters: Mapping[str, Any]

    def __post_init__(self) -> None:
        if self.name not in POLICIES:
            raise ValueError(f"policy is {self.name!r}; expected one of {', '.join(POLICIES)}")
        allowed = self._allowed()
        for key in self.parameters:
            if key not in allowed:
                expected = ", ".join(allowed) or "no parameters"
                raise ValueError(f"policy {self.name} got {key!r}; expected {expected}")
        for key, parameter in allowed.items():
            if parameter.default is parameter.empty and key not in self.parameters:
                raise ValueError(f"policy {self.name} got no {key}; expected one")
        in_order = {key: self.parameters[key] for key in allowed if key in self.parameters}
        object.__setattr__(self, "parameters", in_order)
        try:
            self._construct(num_actions=1)
        except (TypeError, ValueError) as error:
            raise ValueError(f"policy {self.name}: {error}") from error

    @classmethod
    def parse(cls, text: str) -> PolicySpec:
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
                raise ValueError(f"policy is {text!r}; expected name:key=value,key=value")
            if key in parameters:
                raise ValueError(f"policy {name} got {key} twice; expected it once")
            parameters[key] = _parse_value(key, value)
        return cls(name, parameters)

    def make(self, env: BanditPyEnvironment, seed: Any) -> Policy:
        """Returns a new policy that fits `env`."""
        return self._construct(
            num_actions=env.num_actions, batch_size=env.batch_size, seed=np.random.default_rng(seed)
        )

    def label(self, without: str = "") -> str:
        """Returns the policy as a legend writes it, such as `ε-greedy, ε=0.1`.

        Args:
            without: a parameter to leave out.
        """
        values = [
            f"{symbol}={_format(self.parameters[key])}"
            for key, symbol in SYMBOLS.items()
            if key in self.parameters and key != without
        ]
        if not self.parameters.get("baseline", True):
            values.append("no baseline")
        return ", ".join([POLICIES[self.name].title, *values])

    def __str__(self) -> str:
        values = ",".join(f"{key}={_format(value)}" for key, value in self.parameters.items())
        return f"{self.name}:{values}" if values else self.name

    def _construct(self, **sizes: Any) -> Policy:
        family = POLICIES[self.name]
        policy: Policy = family.policy_class(**family.fixed, **self.parameters, **sizes)
        return policy

    def _allowed(self) -> dict[str, inspect.Parameter]:
        family = POLICIES[self.name]
        return {
            key: parameter
            for key, parameter in inspect.signature(family.policy_class).parameters.items()
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD and key not in family.fixed
        }


def _parse_value(key: str, value: str) -> Any:
    words = {"true": True, "false": False, "none": None}
    if value.lower() in words:
        return words[value.lower()]
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"{key} is {value!r}; expected a number, true, false or none") from None


def _format(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return str(value).lower()
