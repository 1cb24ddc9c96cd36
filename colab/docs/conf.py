"""Settings of the documentation; CONTRIBUTING.md says how to build it."""

import importlib.util
import os
import re
import shutil
import sys
from configparser import ConfigParser
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parents[1]
sys.path[:0] = [str(ROOT), str(DOCS / "_ext")]

import written

import bandit_envs

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
    "sphinxarg.ext",
]
exclude_patterns = ["_build", "_written/*.md"]
myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"
highlight_language = "none"
smartquotes_action = "qe"  # two hyphens start an option

# Pages include what follows from the registries and from the gallery.
written.write(DOCS / "_written", ROOT)

# The notebooks are beside the folder of the documentation. MyST-NB executes copies of them.
NOTEBOOKS = DOCS / "notebooks"
shutil.rmtree(NOTEBOOKS, ignore_errors=True)
NOTEBOOKS.mkdir()
for path in (ROOT / "colab").glob("*.ipynb"):
    shutil.copy2(path, NOTEBOOKS)
os.environ["PYTHONPATH"] = str(ROOT)  # the kernels of notebooks import the package
os.environ.pop("MPLBACKEND", None)  # and draw into the notebooks
nb_execution_mode = os.environ.get("NOTEBOOKS", "cache")  # "off" does not execute them
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 180  # seconds a cell
nb_merge_streams = True
nb_output_stderr = "remove"
nb_execution_excludepatterns = [
    f"notebooks/{notebook}.ipynb"
    for notebook, needed in {
        "neural_bandits": "torch",
        "per_arm_bandits_tf_agents": "tf_agents",
    }.items()
    if importlib.util.find_spec(needed) is None
]

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

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_title = "bandit_envs"
html_theme_options = {"source_repository": setup_cfg["metadata"]["url"]}
copybutton_exclude = ".linenos, .gp, .go"

SHORT = {
    r"~typing\.Annotated\[.*?\]": "Any",
    r"~numpy\.ndarray\[tuple\[.*?\], ~numpy\.dtype\[(.*?)\]\]": r"NDArray[\1]",
    r"(\*\*(?:sizes|options)): ~typing\.Unpack\[.*?\]": r"\1",
}
"""Long types of signatures, and what is shown in their place."""


def shorten_types(  # noqa: PLR0917 - Sphinx's order
    app: Any,
    what: str,
    name: str,
    documented: Any,
    options: Any,
    signature: str | None,
    returns: str | None,
) -> tuple[str | None, str | None]:
    """Shortens the types in a signature."""
    texts = [signature, returns]
    for long, short in SHORT.items():
        texts = [text and re.sub(long, short, text) for text in texts]
    return texts[0], texts[1]


def mark_equations(  # noqa: PLR0917 - Sphinx's order
    app: Any, what: str, name: str, documented: Any, options: Any, lines: list[str]
) -> None:
    """Marks indented blocks of a docstring as literal, ahead of napoleon."""
    text = re.sub(r"(?m)^(\S.*\n)\n(?= {4})", r"\1\n::\n\n", "\n".join(lines))
    lines[:] = text.split("\n")


def remove_links_to_the_reference(
    app: Any, page: str, template: str, context: dict[str, Any], tree: Any
) -> None:
    """Removes the links of source code, some of which lead to no anchor."""
    if page.startswith("_modules/"):
        context["body"] = re.sub(r'<a class="viewcode-back".*?</a>', "", context["body"])


def setup(app: Any) -> None:
    """Connects the hooks."""
    app.connect("autodoc-process-signature", shorten_types)
    app.connect("autodoc-process-docstring", mark_equations, priority=400)
    app.connect("html-page-context", remove_links_to_the_reference)
