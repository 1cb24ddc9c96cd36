"""The parts of pages, each with its writer."""

import re
from collections.abc import Callable
from pathlib import Path

from colab.pages import command, comparison, environments, gallery, policies, readme
from colab.pages.places import PART

WRITERS: dict[str, Callable[[str, Path], str]] = {
    "command": command.subcommands,
    "comparison": comparison.comparison,
    "environments": environments.sections,
    "gallery": gallery.sections,
    "models_and_rules": policies.models_and_rules,
    "policies": policies.sections,
    "readme": readme.section,
}
"""Functions that take what follows their name in the comment, and the page."""


def rewrite(text: str, page: Path) -> str:
    """Returns the text of a page with all of its parts written anew."""

    def write(found: re.Match[str]) -> str:
        comment = found[0].partition("\n")[0]
        body = WRITERS[found["writer"]](found["argument"], page)
        return f"{comment}\n\n{body}\n\n<!-- end -->"

    return PART.sub(write, text)
