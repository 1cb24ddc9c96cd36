"""The documentation: every page is run as it stands, and every link in it leads somewhere."""

import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import bandit_envs
from bandit_envs.studies.specs import EnvironmentSpec, PolicySpec
from tests import documents

DOCS = documents.ROOT / "colab" / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
TEXTS = [*PAGES, *sorted(documents.ROOT.glob("*.md"))]
LINK = re.compile(r"\[[^]]*\]\((?P<target>[^)\s]+)\)")


def name(path: Path) -> str:
    return str(path.relative_to(documents.ROOT))


@pytest.mark.parametrize("page", [*PAGES, documents.ROOT / "README.md"], ids=name)
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


def test_the_page_on_sweeps_names_what_a_study_may():
    text = (DOCS / "sweeps.md").read_text(encoding="utf-8")
    for families in (EnvironmentSpec.families, PolicySpec.families):
        for name, family in families.items():
            parameters = ", ".join(f"`{key}`" for key in family.parameters())
            assert f"| `{name}` | {parameters} |".replace("|  |", "| |") in text


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


def test_the_site_builds_without_a_warning_and_has_every_public_name(tmp_path):
    for needed in ("sphinx", "furo", "myst_parser", "sphinx_copybutton"):
        pytest.importorskip(needed)
    options = ["-q", "-W", "--keep-going", "-d", str(tmp_path / "doctrees")]
    finished = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, str(DOCS), str(tmp_path / "site")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    pages = "".join(page.read_text("utf-8") for page in (tmp_path / "site/api").glob("*.html"))
    described = set(re.findall(r'id="bandit_envs\.[\w.]*?(\w+)"', pages))
    assert public_names() - described == set()


def public_names() -> set[str]:
    """Returns the names that packages and modules offer by `__all__`, where they can be imported.

    Names for types are left out: they need no description beyond the one in their module.
    """
    names = set(bandit_envs.__all__)
    for module in pkgutil.walk_packages(bandit_envs.__path__, "bandit_envs."):
        if not module.name.endswith("__main__"):
            try:
                offered = importlib.import_module(module.name)
            except ImportError:
                continue
            names.update(getattr(offered, "__all__", ()))
    return names - {"SamplingFunction"}
