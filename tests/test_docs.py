"""The documentation: every code block runs, and every link leads somewhere."""

import importlib
import re
from configparser import ConfigParser
from pathlib import Path

import pytest

import bandit_envs

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "colab" / "docs"
README = ROOT / "README.md"
PAGES = [README, *sorted(set(DOCS.rglob("*.md")) - set(DOCS.glob("_written/*")))]
TEXTS = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
SLOW = (
    "add_your_own_environment",
    "command",
    "datasets",
    "faq",
    "coming_from_tf_agents",
    "coming_from_rlberry",
    "gallery",
    "logged_data",
    "pytorch_policy",
    "route_requests",
    "scikit_learn_policy",
    "start_here",
    "studies",
    "write_a_policy",
)
LINK = re.compile(r"\[[^]]*\]\((?P<target>[^)\s]+)\)|src=\"(?P<source>[^\"]+)\"")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] * (page.stem in SLOW)) for page in PAGES],
    ids=name,
)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    pytest.importorskip("sybil")
    documents = importlib.import_module("tests.documents")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    documents.run(page)


def test_the_address_of_the_repository_is_the_same_everywhere():
    setup_cfg = ConfigParser()
    setup_cfg.read(ROOT / "setup.cfg")
    for text in [*TEXTS, ROOT / "CITATION.cff", *sorted((ROOT / "colab").glob("*.ipynb"))]:
        addresses = re.findall(r"https://github\.com/[\w./-]*\w", text.read_text(encoding="utf-8"))
        url = setup_cfg["metadata"]["url"]
        assert all(f"{address}/".startswith(f"{url}/") for address in addresses), text


def test_the_map_in_contributing_is_the_real_tree():
    lines = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("```")[1].splitlines()
    mapped = {word for line in lines if re.match("  [a-z_]", line) for word in line[:30].split()}
    package = Path(bandit_envs.__file__).parent
    modules = {file.name for file in package.glob("*.py")}
    packages = {f"{file.parent.name}/" for file in package.glob("*/__init__.py")}
    assert mapped == modules | packages


@pytest.mark.parametrize("text", TEXTS, ids=name)
def test_links_to_files_lead_somewhere(text):
    for match in LINK.finditer(text.read_text(encoding="utf-8")):
        target, _, anchor = (match["target"] or match["source"]).partition("#")
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        linked = text.parent / target if target else text
        assert linked.exists(), f"{match[0]} leads nowhere"
        if anchor:
            assert anchor in anchors(linked), f"{match[0]} leads to no heading"


def anchors(text: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
