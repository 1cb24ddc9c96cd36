"""Signatures as text."""

import re
from typing import Any

from griffe import Parameter
from griffe import ParameterKind as Kind

WIDTH = 88
"""A longer signature has a line for each parameter."""

SHORT = (
    (r"\btyping\.", ""),
    (r"(\*\*\w+): Unpack\[.*\]$", r"\1"),
)
"""What is shown in a shorter form."""

STARS = {Kind.var_positional: "*", Kind.var_keyword: "**"}


def call_of(target: Any, *, returns: bool = False) -> str:
    """Returns how to call a class or a function."""
    parameters = parameters_of(target)
    result = f" -> {target.returns}" if returns and target.returns else ""
    line = f"{target.name}({', '.join(parameters)}){result}"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"{target.name}(", *(f"    {each}," for each in parameters), f"){result}"])


def line_of(member: Any) -> str:
    """Returns the head of an attribute or a method: its name, parameters and type."""
    if member.is_function:
        names = [each.partition(":")[0].partition(" =")[0] for each in parameters_of(member)]
        return f"{member.name}({', '.join(names)})"
    return f"{member.name}"


def parameters_of(target: Any) -> list[str]:
    """Returns the parameters with their types and defaults, and the marks between them."""
    shown = []
    previous = None
    for parameter in fields_of(target) or target.parameters:
        if parameter.name in {"self", "cls"}:
            continue
        if previous is Kind.positional_only and parameter.kind is not previous:
            shown.append("/")
        if parameter.kind is Kind.keyword_only and previous not in {
            Kind.keyword_only,
            Kind.var_positional,
        }:
            shown.append("*")
        shown.append(parameter_of(parameter))
        previous = parameter.kind
    return shown


def fields_of(target: Any) -> list[Parameter]:
    """Returns the fields of a named tuple as parameters, or nothing."""
    if not target.is_class or not any("NamedTuple" in str(base) for base in target.bases):
        return []
    return [
        Parameter(
            member.name,
            annotation=member.annotation,
            kind=Kind.positional_or_keyword,
            default=member.value,
        )
        for member in target.members.values()
        if member.is_attribute and member.annotation and "property" not in member.labels
    ]


def parameter_of(parameter: Parameter) -> str:
    """Returns a parameter with its type and its default."""
    stars = STARS.get(parameter.kind, "")
    text = f"{stars}{parameter.name}"
    if parameter.annotation is not None:
        text += f": {parameter.annotation}"
    if parameter.default is not None and not stars:
        text += f" = {parameter.default}"
    for long, short in SHORT:
        text = re.sub(long, short, text)
    return text
