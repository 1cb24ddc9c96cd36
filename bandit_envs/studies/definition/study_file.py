"""A study as the text of a study file."""

from __future__ import annotations

from collections.abc import Mapping

from bandit_envs.studies.definition.choice import to_toml
from bandit_envs.studies.definition.keys import defaults
from bandit_envs.studies.definition.study import Study


def study_text(study: Study) -> str:
    """Returns a study file of which `Study.from_toml` makes the same study.

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
    for key, value in study.to_dict().items():
        is_empty = value in ([], {})
        is_usual = is_empty or (key in usual and value == usual[key])
        if key == "panels" or not is_usual:  # an empty list of panels is another figure
            lines.append(f"{key} = {_text(value)}")
    return "\n".join(lines)


def _text(value: object) -> str:
    """Returns a value as TOML writes it; a list of tables takes a line for each."""
    if isinstance(value, Mapping):
        items = [f"{to_toml(str(key))} = {_text(each)}" for key, each in value.items()]
        return f"{{ {', '.join(items)} }}"
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        rows = "".join(f"  {_text(each)},\n" for each in value)
        return f"[\n{rows}]"
    return to_toml(value)
