"""Settings of the documentation; CONTRIBUTING.md says how to build it."""

import gc
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

from reference import sources

import bandit_envs
from colab.pages.public import file_of

gc.disable()  # Sphinx keeps what it makes: garbage collection takes a third of a build

setup_cfg = ConfigParser()
setup_cfg.read(ROOT / "setup.cfg")

project = "bandit_envs"
release = version = bandit_envs.__version__
author = "the bandit_envs authors"
copyright = author  # noqa: A001 - Sphinx's name
repository = setup_cfg["metadata"]["url"]

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.linkcode",
    "sphinx.ext.napoleon",
    "mathml",
    "myst_nb",
    "names",
    "reference",
    "sphinx_copybutton",
]
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 3
html_math_renderer = "mathml"
highlight_language = "none"
smartquotes_action = "qe"  # two hyphens start an option

# The notebooks and the changelog are outside of this folder. MyST-NB executes copies of notebooks.
NOTEBOOKS = DOCS / "notebooks"
shutil.rmtree(NOTEBOOKS, ignore_errors=True)
NOTEBOOKS.mkdir()
for path in (ROOT / "colab").glob("*.ipynb"):
    shutil.copy2(path, NOTEBOOKS)
shutil.copy2(ROOT / "CHANGELOG.md", DOCS / "changelog.md")
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
        "first_bandit_tf_agents": "tf_agents",
        "per_arm_bandits_tf_agents": "tf_agents",
        "ranking_tf_agents": "tf_agents",
    }.items()
    if importlib.util.find_spec(needed) is None
]

autodoc_class_signature = "mixed"
autodoc_default_options = {"members": True, "member-order": "bysource", "show-inheritance": True}
autodoc_inherit_docstrings = False
autodoc_mock_imports = [
    "gym",
    "rlberry",
    "tensorflow",
    "tensorflow_probability",
    "tf_agents",
    "torch",
]
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
napoleon_custom_sections = [
    (section, "params_style") for section in ("Shapes", "Fields", "Override also")
]
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True

html_theme = "furo"
html_domain_indices = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_title = "bandit_envs"
copybutton_exclude = ".linenos, .gp, .go"

NAVIGATION = {
    "index": {
        "": ["concepts", "environments", "policies", "gallery", "faq"],
        "First hours": [
            "teach",
            "first_hour_tf_agents",
            "research",
            "logged_data",
            "test_variants",
            "serve_decisions",
            "route_requests",
        ],
        "Guides": [
            "add_your_own_environment",
            "write_a_policy",
            "estimators_and_networks",
            "text_agents",
            "studies",
            "find_the_best_arm",
            "coming_from",
            "comparison",
        ],
        "Notebooks": [
            "notebooks/k_armed_testbed",
            "notebooks/evaluate_your_policy",
            "notebooks/non_stationary_bandits",
            "notebooks/find_the_best_arm",
            "notebooks/from_simulation_to_service",
            "notebooks/per_arm_bandits_end_to_end",
            "notebooks/the_zoo",
            "notebooks/off_policy_evaluation",
            "notebooks/neural_bandits",
            "notebooks/first_bandit_tf_agents",
            "notebooks/per_arm_bandits_tf_agents",
            "notebooks/ranking_tf_agents",
        ],
        "Reference": ["command", "api/index", "versions", "changelog"],
    },
    "first_hour_tf_agents": {
        "": ["tf_agents_in_detail"],
    },
    "logged_data": {
        "": [
            "logged_data_in_detail",
            "items_with_features",
            "logged_data_kinds",
            "logged_data_learners",
            "logged_data_intervals",
        ],
    },
    "route_requests": {
        "": ["route_requests_python"],
    },
    "serve_decisions": {
        "": ["serve_decisions_web"],
    },
    "studies": {
        "": ["studies_statistics", "studies_clusters"],
    },
}
"""The pages below a page, by the captions of their lists."""

LINKS = (
    (r"\]\(((?:\.\./)*)\.\./(\w+\.ipynb)", r"](\1notebooks/\2"),
    (r"\]\(((?:\.\./)*)\.\./\.\./CHANGELOG\.md", r"](\1changelog.md"),
    (r"\]\(colab/docs/", "]("),  # in the changelog
    (r"\]\((?:\.\./)+(bandit_envs/|CONTRIBUTING\.md|LICENSE)", rf"]({repository}/blob/main/\1"),
)
"""Links to files of the repository, and where they lead on the site."""


def lead_links_to_the_site(app: Any, page: str, source: list[str]) -> None:
    """Replaces links to files outside of this folder, and adds the navigation of the site."""
    if page.startswith("notebooks/"):
        return
    for link, target in LINKS:
        source[0] = re.sub(link, target, source[0])
    for caption, names in NAVIGATION.get(page, {}).items():
        options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
        lines = ["", "```{toctree}", *options, "", *names, "```", ""]
        source[0] += "\n".join(lines)


def lead_to_the_source(
    app: Any, page: str, template: str, context: dict[str, Any], tree: object
) -> None:
    """Leads the button that shows the source of a page to the file in the repository."""
    file = f"colab/docs/{page}.md?plain=true"
    if page.startswith("notebooks/"):
        file = f"colab/{page.removeprefix('notebooks/')}.ipynb"
    if page.startswith("api/"):
        room = page.removeprefix("api/")
        file = file_of("bandit_envs" if room == "index" else room)
    if page == "changelog":
        file = "CHANGELOG.md?plain=true"
    context["theme_source_view_link"] = f"{repository}/blob/main/{file}"


def linkcode_resolve(domain: str, info: dict[str, str]) -> str | None:
    """Returns the address of the file that defines a name of the reference."""
    file = sources().get(f"{info['module']}.{info['fullname']}")
    return f"{repository}/blob/main/{file}" if file else None


def setup(app: Any) -> None:
    """Connects the hooks."""
    app.connect("source-read", lead_links_to_the_site)
    app.connect("html-page-context", lead_to_the_source)
