"""The documentation: every code block runs, and what it says of the repository is true."""

import importlib
import re
from configparser import ConfigParser
from pathlib import Path

import pytest

import bandit_envs
from colab.pages.places import pages

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, *pages()]
TEXTS = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
SLOW = (  # they run as readers copy them, with the sizes that are shown
    "add_your_own_environment",
    "coming_from",
    "command",
    "estimators_and_networks",
    "faq",
    "find_the_best_arm",
    "gallery",
    "first_hour_tf_agents",
    "items_with_features",
    "logged_data",
    "logged_data_kinds",
    "logged_data_learners",
    "logged_data_in_detail",
    "policies",
    "research",
    "route_requests",
    "route_requests_python",
    "serve_decisions",
    "studies",
    "studies_clusters",
    "studies_statistics",
    "teach",
    "test_variants",
    "text_agents",
    "tf_agents_in_detail",
    "write_a_policy",
)

SECTIONS = {  # of pages whose frameworks do not go into one environment
    "coming_from": ("Gymnasium and river", "rlberry", "The Open Bandit Pipeline"),
    "estimators_and_networks": ("Estimators of scikit-learn", "Networks of PyTorch"),
}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.fixture
def documents(tmp_path, monkeypatch):
    """Returns what runs pages, in an empty folder."""
    pytest.importorskip("sybil")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return importlib.import_module("tests.documents")


@pytest.mark.parametrize(
    ("page", "section"),
    [
        pytest.param(
            page,
            section,
            marks=[pytest.mark.slow] * (page.stem in SLOW),
            id=f"{name(page)} {section}".strip(),
        )
        for page in PAGES
        for section in SECTIONS.get(page.stem, ("",))
    ],
)
@pytest.mark.filterwarnings("ignore:.*A Box observation space")
def test_the_code_of_a_page_runs(page, section, documents):
    documents.run(page, section)


PAGE = """
**`mine.py`**

```python
class Mine:
```

The class goes on:

**`mine.py`**

```python
    number = 3
```

**`mine.toml`**

```toml
number = 4
```

```python
from mine import Mine
from pathlib import Path

assert Mine.number == 3
assert Path("mine.toml").read_text().strip() == "number = 4"
```

<!-- cluster: dask -->
```sh
dask scheduler
```

<!-- python -m colab.pages writes this: gallery -->

```python
raise RuntimeError("part")
```

<!-- end -->
"""


def test_blocks_below_names_of_files_are_files_that_later_blocks_use(documents, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    documents.run(page)
    page.write_text(PAGE.replace("== 3", "== 5"), encoding="utf-8")
    (tmp_path / "mine.py").unlink()
    with pytest.raises(AssertionError):
        documents.run(page)


def test_the_address_of_the_repository_is_the_same_everywhere():
    setup_cfg = ConfigParser()
    setup_cfg.read(ROOT / "setup.cfg")
    for text in [*TEXTS, ROOT / "CITATION.cff", *sorted((ROOT / "colab").glob("*.ipynb"))]:
        url = setup_cfg["metadata"]["url"]
        name = url.rpartition("/")[2]
        pattern = rf"https://github\.com/[\w.-]+/{name}\b[\w./-]*"
        addresses = re.findall(pattern, text.read_text(encoding="utf-8"))
        assert all(f"{address}/".startswith(f"{url}/") for address in addresses), text


def test_the_map_in_contributing_is_the_real_tree():
    lines = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("```")[1].splitlines()
    mapped = {word for line in lines if re.match("  [a-z_]", line) for word in line[:30].split()}
    package = Path(bandit_envs.__file__).parent
    modules = {file.name for file in package.glob("*.py")}
    packages = {f"{file.parent.name}/" for file in package.glob("*/__init__.py")}
    assert mapped == modules | packages


def test_the_core_is_read_in_an_hour():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.split("## Read the core in an hour")[1].split("\n## ")[0]
    listed = re.findall(r"^\d+\. `(.+?)` [^.]+\.$", section, re.MULTILINE)
    assert len(listed) == len(re.findall(r"^\d+\.", section, re.MULTILINE)) == 11
    package = Path(bandit_envs.__file__).parent
    lines = {name: len((package / name).read_text("utf-8").splitlines()) for name in listed}
    assert sum(lines.values()) <= 2300, lines
