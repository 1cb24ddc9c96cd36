"""Parts of the texts at the root of the repository, with links that hold on the site."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def changelog() -> str:
    """Returns the changelog."""
    return _linked((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))


def readme(*headings: str) -> str:
    """Returns sections of the README."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    found = {section.partition("\n")[0].removeprefix("## "): section for section in sections}
    return _linked("".join(found[heading] for heading in headings))


def citation() -> str:
    """Returns how to cite the package, as the README says it, without its heading."""
    return readme("How to cite").partition("\n")[2]


def _linked(text: str) -> str:
    """Returns text whose links to pages stay on the site; what is not a page is only named."""
    text = re.sub(r"\]\(colab/docs/", "](", text)
    return re.sub(r"\[([^]]*)\]\((?!http|[\w/]+\.md)[^)]*\)", r"\1", text)
