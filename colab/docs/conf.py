"""Settings of the documentation; CONTRIBUTING.md says how to build it."""

import csv
import os
import re
import sys
import textwrap
from collections.abc import Callable
from configparser import ConfigParser
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "colab" / "docs"
sys.path[:0] = [str(ROOT), str(DOCS / "_ext")]

import command_reference
import first_uses
import formulas
import notebooks
import registry_tables
import repository_texts
from numpy import typing
from sphinx.util.typing import stringify_annotation

import bandit_envs
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.studies.choice import parse_toml

setup_cfg = ConfigParser()
setup_cfg.read(ROOT / "setup.cfg")

project = "bandit_envs"
release = version = bandit_envs.__version__
author = "the bandit_envs authors"
copyright = author  # noqa: A001 - Sphinx's name

extensions = [
    "mathml",
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
exclude_patterns = ["_build"]
myst_enable_extensions = ["deflist", "dollarmath", "substitution"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

os.environ["PYTHONPATH"] = str(ROOT)  # the kernels of notebooks import the package
os.environ.pop("MPLBACKEND", None)  # and draw into the notebooks
nb_execution_mode = "cache"
nb_execution_cache_path = str(
    ROOT / "build" / "notebooks" / notebooks.version(ROOT / "bandit_envs")
)
nb_execution_excludepatterns = notebooks.copy(ROOT / "colab", DOCS / "notebooks")
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True
nb_output_stderr = "remove"

PRESETS = [entry.make for entry in ENVIRONMENTS.values() if entry.make is not entry.environment]
myst_substitutions = {
    "presets": "\n\n".join(
        f"```{{eval-rst}}\n.. autofunction:: {make.__module__}.{make.__name__}\n```"
        for make in PRESETS
    ),
}

GALLERY = ROOT / "bandit_envs" / "studies" / "gallery"
IMAGES = ROOT / "colab" / "images" / "gallery"


def figures() -> str:
    """Returns the figures of the gallery with their commands and comparisons, as Markdown."""
    parts = []
    for file in sorted(GALLERY.glob("*.toml")):
        text = file.read_text(encoding="utf-8")
        about = " ".join(line[2:] for line in text.splitlines() if line.startswith("#"))
        lines = (IMAGES / f"{file.stem}.csv").read_text(encoding="utf-8").splitlines()
        rows = [" | ".join(cell.replace("|", r"\|") for cell in row) for row in csv.reader(lines)]
        rows.insert(1, " | ".join("---" for _ in rows[0].split(" | ")))
        table = "\n".join(f"| {row} |" for row in rows).replace("cumulative_", "cumulative ")
        title = parse_toml(text)["title"]
        parts += [f"## {title}", about]
        parts += [f"```sh\nbandit-envs reproduce {file.stem}\n```"]
        parts += [f"![{title}: the measured curves](../images/gallery/{file.stem}.png)"]
        parts += [f"```{{table}}\n:class: expected\n:widths: 30 12 8 18 12 14 8\n\n{table}\n```"]
    return "\n\n".join(parts)


WRITTEN: dict[str, Callable[[], str]] = {
    "api/environments": registry_tables.reference_of_environments,
    "api/policies": registry_tables.reference_of_policies,
    "changelog": repository_texts.changelog,
    "command": command_reference.command,
    "environments": lambda: registry_tables.environments(DOCS / "_generated" / "environments"),
    "faq": repository_texts.citation,
    "gallery": figures,
    "policies": registry_tables.policies,
    "promises": lambda: repository_texts.readme("Speed"),
}
"""The pages with a part that is written when the site is built."""


def add_written(app: Any, name: str, source: list[str]) -> None:
    """Puts the part that is written into a page."""
    if name in WRITTEN:
        source[0] = source[0].replace("<!-- written -->", WRITTEN[name]())


# The frameworks need not be installed to build the pages of their adapters.
autodoc_mock_imports = [
    "gin",
    "gym",
    "gymnasium",
    "rlberry",
    "tensorflow",
    "tensorflow_probability",
    "tf_agents",
]
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_inherit_docstrings = False  # a subclass shows what it adds
maximum_signature_line_length = 80
napoleon_custom_sections = [
    (section, "params_style") for section in ("Shapes", "Fields", "Override also")
]
napoleon_use_rtype = False
default_role = "code"  # single backticks in docstrings
highlight_language = "none"

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_title = "bandit_envs"
html_theme_options = {"source_repository": setup_cfg["metadata"]["url"]}
copybutton_exclude = ".linenos, .gp, .go"


SPELLED = {
    stringify_annotation(getattr(typing, name), "smart"): name
    for name in ("ArrayLike", "DTypeLike")
}
"""How Sphinx spells out `ArrayLike` and `DTypeLike`."""


def name_types(  # noqa: PLR0917 - Sphinx's order
    app: Any,
    what: str,
    name: str,
    obj: Any,
    options: Any,
    signature: str | None,
    returns: str | None,
) -> tuple[str | None, str | None]:
    """Names the types of NumPy, and leaves out those of `**sizes` and `**options`."""
    text = f"{signature}\n{returns}"
    for spelled, short in SPELLED.items():
        text = text.replace(spelled, short)
    text = re.sub(r"~numpy\.ndarray\[tuple\[.*?\], ~numpy\.dtype\[(.*?)\]\]", r"NDArray[\1]", text)
    text = re.sub(r"(\*\*(?:sizes|options)): ~typing\.Unpack\[.*?\]", r"\1", text)
    signature, returns = (None if part == "None" else part for part in text.split("\n"))
    return signature, returns


BLOCK = re.compile(r"(?m)^(\S.*\n)\n((?: {4}.*(?:\n|\Z))+)")
"""An indented block of a docstring, and the line above it."""


def shown(found: re.Match[str]) -> str:
    """Returns the equations of a docstring as maths, and other blocks as they are."""
    above, block = found.groups()
    if not formulas.is_formulas(block):
        return f"{above}\n::\n\n{block}"
    rows = formulas.lines(textwrap.dedent(block).strip("\n"))
    maths = [" ".join(f":math:`{part}`" for part in parts) for parts in rows]
    return f"{above}\n.. container:: law\n\n" + "".join(f"   {row}\n\n" for row in maths)


def rest_markup(  # noqa: PLR0917 - Sphinx's order
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Rewrites the three things in docstrings that reStructuredText and napoleon misread."""
    text = BLOCK.sub(shown, "\n".join(lines))
    text = re.sub(r"(?m)(: [A-Z])\.(?= |$)", r"\1\\.", text)  # "B." would start a list
    text = re.sub(r"\A(.*?:) ", r"\1\n", text)  # what precedes ":" would be an attribute's type
    lines[:] = text.split("\n")


def no_way_back(app: Any, name: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Removes the links from source code to the reference, some of which lead to no anchor."""
    if name.startswith("_modules/"):
        context["body"] = re.sub(r'<a class="viewcode-back".*?</a>', "", context["body"])


def setup(app: Any) -> None:
    """Connects the hooks: to autodoc, ahead of napoleon, and to the pages."""
    app.connect("html-page-context", no_way_back)
    app.connect("doctree-read", notebooks.describe_figures)
    app.connect("doctree-read", first_uses.link)
    app.connect("autodoc-process-signature", name_types)
    app.connect("autodoc-process-docstring", rest_markup, priority=400)
    app.connect("source-read", add_written)
