"""What docstrings of environments and policies say of their equations and their sources."""

import inspect
import re
import textwrap
from typing import Any

from bandit_envs.names.registry import Entry


def law_of(documented: Any) -> str:
    """Returns the equations of a docstring: its first indented block, ahead of its sections."""
    text = re.split(r"\n(?:Args|Shapes):", document(documented))[0]
    block = re.search(r"\n\n((?: {4}.*\n?|\n)+)", text)
    return textwrap.dedent(block[1]).strip() if block else ""


def source_of(documented: Any) -> str:
    """Returns the sentence of a docstring that names its source, or ""."""
    found = re.search(r"^Source: .*?(?=\n\n|\Z)", document(documented), re.DOTALL | re.MULTILINE)
    return found[0] if found else ""


def parameters_of(entry: Entry) -> str:
    """Returns a sentence with the parameters of an environment or a policy, or ""."""
    parameters = ", ".join(f"`{name}`" for name in entry.parameters())
    return f"Parameters: {parameters}." if parameters else ""


def document(documented: Any) -> str:
    """Returns a docstring."""
    return inspect.getdoc(documented) or ""
