"""A study as the text of a study file."""

from __future__ import annotations

from collections.abc import Mapping

from bandit_envs.names.notation import to_toml
from bandit_envs.studies.definition.keys import defaults
from bandit_envs.studies.definition.study import Study

LONGEST_LIST = 70
"""A list of more letters has a line for each item."""


def study_text(study: Study) -> str:
    """Returns a study file of which `Study.from_toml` makes the same study.

    It lacks the policies that have failed. A long list has a line for each item. Tables stand below
    all other keys.

    >>> values = {"title": "Greed", "environment": ["testbed"], "policy": ["greedy"]}
    >>> print(study_text(Study.from_dict({**values, "runs": 2, "steps": 9, "metrics": ["reward"]})))
    title = "Greed"
    environment = ["testbed"]
    policy = ["greedy"]
    runs = 2
    steps = 9
    metrics = ["reward"]
    panels = ["reward"]
    """
    usual = defaults(Study)
    lines = []
    tables = []
    for key, value in study.to_dict().items():
        if key == "failed":
            continue
        is_empty = value in ([], {})
        is_usual = is_empty or (key in usual and value == usual[key])
        if is_usual and key != "panels":  # an empty list of panels is another figure
            continue
        if isinstance(value, Mapping):
            tables.append("\n".join(["", f"[{key}]", *_items(value)]))
        else:
            lines.append(f"{key} = {_text(value)}")
    return "\n".join([*lines, *tables])  # what follows a table in a file is part of it


def _items(table: Mapping[str, object]) -> list[str]:
    """Returns the keys and values of a table."""
    return [f"{to_toml(str(key))} = {_text(each)}" for key, each in table.items()]


def _text(value: object) -> str:
    """Returns a value as TOML writes it; a list that is long, or of tables, has a line for each."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(_items(value))} }}"
    if isinstance(value, list):
        texts = [_text(each) for each in value]
        text = f"[{', '.join(texts)}]"
        if len(text) <= LONGEST_LIST and not any(isinstance(each, Mapping) for each in value):
            return text
        rows = "".join(f"  {each},\n" for each in texts)
        return f"[\n{rows}]"
    return to_toml(value)
