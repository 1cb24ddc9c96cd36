"""Settings of the documentation; CONTRIBUTING.md says how to build it."""

import inspect
import re
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from sphinx.util.inspect import stringify_signature
from sphinx.util.typing import stringify_annotation

import bandit_envs

setup_cfg = ConfigParser()
setup_cfg.read(ROOT / "setup.cfg")

project = "bandit_envs"
release = version = bandit_envs.__version__
author = "the bandit_envs authors"
copyright = author  # noqa: A001 - Sphinx's name

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# None of these is needed to read what the adapters say of themselves.
autodoc_mock_imports = ["gin", "gym", "gymnasium", "rlberry", "tensorflow", "tf_agents"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
maximum_signature_line_length = 80
autodoc_inherit_docstrings = True
napoleon_custom_sections = [
    (section, "params_style") for section in ("Shapes", "Fields", "Override also")
]
napoleon_use_rtype = False
default_role = "code"
highlight_language = "none"

html_theme = "furo"
html_title = "bandit_envs"
html_theme_options = {"source_repository": setup_cfg["metadata"]["url"]}
html_copy_source = False
copybutton_exclude = ".linenos, .gp, .go"
linkcheck_timeout = 20


def with_rest_markup(lines: list[str]) -> Iterator[str]:
    """Yields the lines of a docstring, written as Markdown is, in reStructuredText.

    Single backticks and indented paragraphs are code, and an asterisk is an asterisk.
    """
    in_code = in_doctest = False
    before = last_text = ""
    for line in lines:
        starts_paragraph = not before and bool(line)
        if starts_paragraph:
            in_doctest = line.startswith(">>>")
            indented = line.startswith("    ")
            if indented and not in_code and not last_text.startswith(" "):
                yield from ("::", "")
                in_code = True
            in_code = in_code and indented
        yield line if in_code or in_doctest else inline_markup(line)
        before, last_text = line, line or last_text


def inline_markup(line: str) -> str:
    """Returns a line with its single backticks doubled and its asterisks escaped."""
    parts = re.split(r"(?<!`)`([^`]+)`(?!`)", line)
    parts[::2] = [text.replace("*", r"\*") for text in parts[::2]]
    parts[-1] = re.sub(r"(?<= [A-Z])\.$", r"\.", parts[-1])  # "B." alone would be a list's item
    parts[1::2] = [f"``{code}``" for code in parts[1::2]]
    return "".join(parts)


def process_docstring(  # noqa: PLR0917 - Sphinx's order
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Makes reStructuredText of a docstring, before its Google sections are read."""
    lines[:] = with_rest_markup(lines)
    if what in ("attribute", "data", "property") and lines:
        # What stands before a colon would be taken for the type if there were more on the line.
        lines[:1] = lines[0].replace(": ", ":\n").split("\n")


def skip_member(  # noqa: PLR0917 - Sphinx's order
    app: Any, what: str, name: str, obj: Any, skip: bool, options: Any
) -> bool | None:
    """Leaves out the fields of named tuples, which their class describes."""
    return True if isinstance(obj, type(bandit_envs.TimeStep.reward)) else None


def process_signature(  # noqa: PLR0917 - Sphinx's order
    app: Any, what: str, name: str, obj: Any, options: Any, arguments: str, returned: str
) -> tuple[str, str] | None:
    """Gives annotations as they are written, and a class with a mocked base its own parameters."""
    if not arguments:
        return None
    own_init = what == "class" and inspect.isfunction(obj.__init__)
    signature = inspect.signature(obj.__init__ if own_init else obj)
    parameters = [one for one in signature.parameters.values() if one.name != "self"]
    result = "" if what == "class" else stringify_annotation(signature.return_annotation, "smart")
    signature = inspect.Signature(parameters)
    return stringify_signature(signature, unqualified_typehints=True), result


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", process_docstring, priority=400)
    app.connect("autodoc-process-signature", process_signature)
    app.connect("autodoc-skip-member", skip_member)
