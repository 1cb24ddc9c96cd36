"""The documentation: every page is run as it stands, and every link in it leads somewhere."""

import re
from pathlib import Path

import pytest

from tests import documents

DOCS = documents.ROOT / "colab" / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
TEXTS = [*PAGES, *sorted(documents.ROOT.glob("*.md"))]
LINK = re.compile(r"\[[^]]*\]\((?P<target>[^)\s]+)\)")


def name(path: Path) -> str:
    return str(path.relative_to(documents.ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_runs_as_it_stands(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    documents.run(page, tmp_path)


def test_the_environment_that_the_page_makes_passes_all_of_the_contract(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in documents.blocks(DOCS / "add_your_own_environment.md"):
        documents.write(block, tmp_path)
    said = documents.run_command("pytest test_news_page.py", tmp_path)
    assert re.search(r"\d+ passed in", said), said  # and none skipped


@pytest.mark.parametrize("text", TEXTS, ids=name)
def test_links_to_files_lead_somewhere(text):
    for match in LINK.finditer(text.read_text(encoding="utf-8")):
        target, _, anchor = match["target"].partition("#")
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        linked = text.parent / target if target else text
        assert linked.exists(), f"{match[0]} leads nowhere"
        if anchor:
            assert anchor in anchors(linked), f"{match[0]} leads to no heading"


def anchors(text: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
