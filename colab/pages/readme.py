"""Sections of the README, which pages repeat."""

import re
from pathlib import Path

from colab.pages.places import ROOT, relative

README = ROOT / "README.md"


def section(title: str, page: Path) -> str:
    """Returns the text of a section, with links that lead from the page."""
    found = re.search(
        rf"(?ms)^## {re.escape(title)}\n(.*?)(?=^## |\Z)", README.read_text(encoding="utf-8")
    )
    if found is None:
        raise ValueError(f"README.md has no section {title!r}; {page.name} repeats it")

    def lead(link: re.Match[str]) -> str:
        return f"]({relative(README.parent / link[1], page)}"

    return re.sub(r"\]\((?!https?:)([^)#]+)", lead, found[1]).strip()
