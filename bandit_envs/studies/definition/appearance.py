"""Labels and colours that users give to environments and policies of a study."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bandit_envs.base.checks import short_repr
from bandit_envs.base.extras import import_extra
from bandit_envs.names.choice import AnyChoice, Choice, find_entry
from bandit_envs.names.notation import to_toml
from bandit_envs.names.users_code import printable

KEYS = ("label", "color")
"""The keys of a table in a study file that are not parameters."""


class Given(NamedTuple):
    """Environments or policies as a study lists them, and how figures show them."""

    items: Any
    """Without labels and colours."""

    labels: dict[str, str]
    """By the texts of environments or policies."""

    colors: dict[str, str]


def split_appearance(choice_class: type[AnyChoice], items: object) -> Given:
    """Takes the labels and colours out of the tables of environments or policies."""
    if not isinstance(items, list):
        return Given(items, {}, {})
    given = Given([], {}, {})
    for item in items:
        own = _own_keys(choice_class, item)
        rest = {key: value for key, value in item.items() if key not in own} if own else item
        given.items.append(rest)
        if own:
            choices = list(choice_class.expand(rest))
            for key, found in (("label", given.labels), ("color", given.colors)):
                if key in own:
                    found.update(_assign(key, item[key], choices))
    return given


def check_labels(labels: object) -> dict[str, str]:
    """Returns labels by the texts of environments and policies."""
    if not isinstance(labels, Mapping) or not all(
        isinstance(text, str) for text in labels.values()
    ):
        raise TypeError(f"labels is {short_repr(labels)}; expected texts by environment or policy")
    return {str(key): printable(text) for key, text in labels.items()}


def check_colors(colors: object) -> dict[str, str]:
    """Returns colours of matplotlib by the texts of environments and policies."""
    if not isinstance(colors, Mapping):
        raise TypeError(f"colors is {short_repr(colors)}; expected them by environment or policy")
    for key, color in colors.items():
        module = import_extra("matplotlib.colors", "cli")
        if not isinstance(color, str) or not module.is_color_like(color):
            expected = 'a colour of matplotlib, such as "tab:blue" or "#0072B2"'
            raise ValueError(f"color of {key} is {short_repr(color)}; expected {expected}")
    return dict(colors)


def _own_keys(choice_class: type[AnyChoice], item: object) -> list[str]:
    """Returns which of the keys an item has that its class does not take as parameters."""
    if not isinstance(item, dict) or not isinstance(item.get("name"), str):
        return []
    found = [key for key in KEYS if key in item]
    if not found:
        return []
    taken = find_entry(choice_class, item["name"], os.getcwd()).parameters()
    return [key for key in found if key not in taken]


def _assign(key: str, given: object, choices: Sequence[Choice[Any]]) -> dict[str, str]:
    """Returns the texts of choices: one for all, or a list with one for each."""
    texts = given if isinstance(given, list) else len(choices) * [given]
    subject = f"{key} of {choices[0].name}"
    if not all(isinstance(text, str) for text in texts):
        raise TypeError(f"{subject} is {short_repr(given)}; expected a string or a list of them")
    if len(texts) != len(choices):
        raise ValueError(f"{subject} has {len(texts)} texts; expected one, or {len(choices)}")
    return {str(choice): _fill(text, choice) for text, choice in zip(texts, choices)}


def _fill(text: str, choice: Choice[Any]) -> str:
    """Returns a text with the values of parameters in place of their names in braces."""
    for name, value in choice.parameters.items():
        text = text.replace(f"{{{name}}}", to_toml(value, choice.digits).strip('"'))
    return text
