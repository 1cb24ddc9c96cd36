"""The files of a release: workflows, the recipe for conda, the citation and the paper."""

import datetime
import itertools
import os
import re
import runpy
import shutil
import subprocess
from configparser import ConfigParser
from pathlib import Path

import pytest

import bandit_envs
from bandit_envs.base import saving
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.logged.files import column_layout
from bandit_envs.logged.files.served import decision_tables
from bandit_envs.logged.learners import policy_files
from bandit_envs.policies.registry import POLICIES
from bandit_envs.studies.results import assignment
from colab.pages import public

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PAPER = ROOT / "paper" / "paper.md"
VERSIONED = {
    "bandit_envs/__init__.py": r'^__version__ = "(.+)"$',
    "CHANGELOG.md": r"^## (\d\S*)",
    "CITATION.cff": r"^version: (.+)$",
    ".ci/conda/meta.yaml": r"^  version: (.+)$",
    "CONTRIBUTING.md": r"git tag v(\S+) ",
    "README.md": r"version\s+= \{(.+)\}",
    "colab/docs/faq.md": r"version\s+= \{(.+)\}",
}
"""The files that name the version, and where."""

PERSON_OR_ENTITY = {
    "family-names",
    "given-names",
    "orcid",
    "affiliation",
    "name",
    "website",
    "email",
}


def text_of(file):
    return (ROOT / file).read_text(encoding="utf-8")


def parse(file):
    return yaml.safe_load(text_of(file))


@pytest.fixture(scope="module")
def setup_cfg():
    found = ConfigParser()
    found.read(ROOT / "setup.cfg")
    return found


def requirements(text):
    """Returns requirements as conda writes them, without those of some versions of Python."""
    lines = [line for line in text.split("\n") if line and ";" not in line]
    return {re.sub(r"(?=[<>=])", " ", line, count=1) for line in lines}


@pytest.mark.parametrize("file", WORKFLOWS, ids=[file.name for file in WORKFLOWS])
def test_a_workflow_names_jobs_that_exist_and_rights_that_it_needs(file):
    workflow = parse(file)
    assert workflow["permissions"] == {"contents": "read"}  # jobs ask for more
    assert True in workflow  # the key "on", as YAML 1.1 reads it
    for name, job in workflow["jobs"].items():
        needed = job.get("needs", [])
        for other in [needed] if isinstance(needed, str) else needed:
            assert other in workflow["jobs"], name
        assert job["timeout-minutes"] <= 90
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step), name
            assert "@" in step.get("uses", "@")


def test_what_is_published_was_built_and_checked_before():
    jobs = parse(".github/workflows/release.yml")["jobs"]
    assert jobs["publish"]["needs"] == "check"
    assert jobs["check"]["needs"] == "build"
    assert jobs["publish"]["environment"] == "release"
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    commands = [step.get("run", "") for job in jobs.values() for step in job["steps"]]
    assert "twine check --strict dist/*" in commands
    assert "bandit-envs reproduce sutton-barto-2.2" in commands
    assert "secrets" not in (ROOT / ".github/workflows/release.yml").read_text()


def checks_of_a_tag():
    """Returns the commands of the workflow that look at the name of a tag."""
    steps = parse(".github/workflows/release.yml")["jobs"]["build"]["steps"]
    return [step["run"] for step in steps if "GITHUB_REF_NAME" in step.get("run", "")]


def is_released(folder, tag):
    """Returns whether the workflow would go on with a tag of the files in a folder."""
    environment = {**os.environ, "GITHUB_REF_NAME": tag}
    codes = [
        subprocess.run(["bash", "-ec", each], cwd=folder, env=environment, check=False).returncode
        for each in checks_of_a_tag()
    ]
    return not any(codes)


@pytest.fixture
def checkout(tmp_path):
    """Returns a folder with copies of the files that name the version."""
    for name in VERSIONED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.mark.posix
def test_a_tag_is_published_if_it_names_the_version_of_all_files(checkout):
    assert is_released(checkout, f"v{bandit_envs.__version__}")


@pytest.mark.posix
@pytest.mark.parametrize("tag", ["v0.2.0", "v1.0", "main"])
def test_a_tag_of_another_version_is_not_published(checkout, tag):
    assert not is_released(checkout, tag)


@pytest.mark.posix
@pytest.mark.parametrize(
    ("file", "pattern", "instead"),
    [
        ("CHANGELOG.md", r"^(## \S+) - .+$", r"\1 - unreleased"),
        ("CHANGELOG.md", r"^## (\d+)\.", r"## 9\1."),
        ("CITATION.cff", r"^version: .+$", "version: 0.2.0"),
        ("CITATION.cff", r"^date-released: .+$", "date-released: 2026-01-01"),
        ("CITATION.cff", r"^date-released: .+$", ""),
        ("bandit_envs/__init__.py", r"^__version__ = .+$", '__version__ = "0.2.0"'),
    ],
)
def test_a_tag_is_not_published_if_a_file_disagrees(checkout, file, pattern, instead):
    text = (checkout / file).read_text(encoding="utf-8")
    changed = re.sub(pattern, instead, text, count=1, flags=re.MULTILINE)
    assert changed != text
    (checkout / file).write_text(changed, encoding="utf-8")
    assert not is_released(checkout, f"v{bandit_envs.__version__}")


@pytest.mark.parametrize("file", VERSIONED)
def test_every_file_names_the_same_version(file):
    (found,) = set(re.findall(VERSIONED[file], text_of(file), re.MULTILINE)[:1])
    assert found == bandit_envs.__version__


def test_the_version_is_read_where_it_is_said(setup_cfg):
    assert setup_cfg["metadata"]["version"] == "attr: bandit_envs.__version__"


def test_the_changelog_has_the_version_first_and_a_date_for_each():
    entries = re.findall(r"^## (.+)$", text_of("CHANGELOG.md"), re.MULTILINE)
    versions, dates = zip(*(entry.split(" - ") for entry in entries), strict=True)
    assert versions[0] == bandit_envs.__version__
    numbers = [tuple(map(int, version.split("."))) for version in versions]
    assert numbers == sorted(set(numbers), reverse=True)
    days = [datetime.date.fromisoformat(date) for date in dates]
    assert days == sorted(days, reverse=True)


def test_the_entry_of_a_version_in_the_changelog_has_at_most_3000_words():
    entries = text_of("CHANGELOG.md").split("\n## ")[1:]
    words = {entry.split()[0]: len(entry.split()) for entry in entries}
    assert {version: count for version, count in words.items() if count > 3000} == {}


def test_the_citations_have_the_date_of_the_changelog():
    date = re.search(r"^## \S+ - (.+)$", text_of("CHANGELOG.md"), re.MULTILINE)[1]
    assert str(parse("CITATION.cff")["date-released"]) == date
    for file in ("README.md", "colab/docs/faq.md"):
        assert re.search(r"year\s+= \{(\d+)\}", text_of(file))[1] == date[:4], file


def test_links_of_the_readme_lead_to_the_tag_where_an_index_shows_them(monkeypatch, setup_cfg):
    setuptools = pytest.importorskip("setuptools")
    given = {}
    monkeypatch.setattr(setuptools, "setup", lambda **arguments: given.update(arguments))
    runpy.run_path(str(ROOT / "setup.py"))
    shown = given["long_description"]
    targets = re.findall(r"\]\(([^)]+)\)", shown) + re.findall(r'src="([^"]+)"', shown)
    assert all(target.startswith(("https://", "#")) for target in targets)
    url = setup_cfg["metadata"]["url"]
    for kind in ("blob", "raw"):
        own = f"{url}/{kind}/v{bandit_envs.__version__}/"
        files = [target[len(own) :] for target in targets if target.startswith(own)]
        assert files
        assert all((ROOT / file.partition("#")[0]).is_file() for file in files)


def rows_of(page, heading):
    """Returns the cells of the table below a line of headings, row by row."""
    lines = text_of(page).splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith(heading)) + 2
    rows = itertools.takewhile(lambda line: line.startswith("|"), lines[start:])
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_the_page_of_versions_has_the_formats_of_this_version():
    heading = "| file | format in 0.2.0 | format in 1.0.0 |"
    found = {file: format_ for file, _, format_, _ in rows_of("colab/docs/versions.md", heading)}
    expected = {
        "saved states, `save_state`": f"{saving.FORMAT}",
        "folders of results of studies": f"{assignment.FORMAT}",
        "curves in such a folder": "no number: `curves.npy`",
        "study files": "no number",
        "logs in `.csv`, `.parquet` and data frames": f"{column_layout.FORMAT}",
        "logs in `.npz`": f"{column_layout.FORMAT}, in a state of format {saving.FORMAT}",
        "policies, `write_policy`": f"{policy_files.FORMAT}, in a state of format {saving.FORMAT}",
        "decisions of a service, `.sqlite`": (
            f"{decision_tables.FORMAT}, with a state of format {saving.FORMAT}"
        ),
    }
    assert found == expected


def test_the_page_of_versions_names_all_that_is_experimental():
    rows = rows_of("colab/docs/versions.md", "| what | modules |")
    named = [module for _, modules in rows for module in re.findall(r"`([^`]+)`", modules)]
    named = [module for module in named if "." in module]
    assert sorted(named) == sorted(public.EXPERIMENTAL)


def test_the_site_is_published_one_at_a_time():
    workflow = parse(".github/workflows/site.yml")
    assert workflow["concurrency"] == {"group": "pages", "cancel-in-progress": False}
    publish = workflow["jobs"]["publish"]
    assert publish["permissions"] == {"pages": "write", "id-token": "write"}
    assert publish["environment"]["name"] == "github-pages"


def test_the_recipe_of_conda_agrees_with_the_package(setup_cfg):
    recipe = parse(".ci/conda/meta.yaml")
    metadata = setup_cfg["metadata"]
    options = setup_cfg["options"]
    assert recipe["package"] == {"name": metadata["name"], "version": bandit_envs.__version__}
    python = f"python {options['python_requires']}"
    assert {*recipe["requirements"]["run"]} == requirements(options["install_requires"]) | {python}
    assert python in recipe["requirements"]["host"]
    command = requirements(setup_cfg["options.extras_require"]["cli"])
    constrained = recipe["requirements"]["run_constrained"]
    assert {each.replace("-base", "") for each in constrained} == command
    scripts = setup_cfg["options.entry_points"]["console_scripts"].strip()
    assert recipe["build"]["entry_points"] == [scripts]
    about = recipe["about"]
    assert (about["home"], about["license"]) == (metadata["url"], metadata["license"])
    assert about["summary"] == metadata["description"]
    assert (ROOT / ".ci/conda" / recipe["source"]["path"] / about["license_file"]).is_file()
    build_system = (ROOT / "pyproject.toml").read_text()
    assert f'"{recipe["requirements"]["host"][-1].replace(" ", "")}"' in build_system


def test_the_citation_has_the_keys_that_its_format_requires(setup_cfg):
    citation = parse("CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] == "software"
    assert citation["repository-code"] == setup_cfg["metadata"]["url"]
    assert citation["license"] == setup_cfg["metadata"]["license"]
    for author in citation["authors"]:
        assert author
        assert author.keys() <= PERSON_OR_ENTITY


def test_the_paper_has_the_parts_that_its_journal_asks_for():
    _, header, body = PAPER.read_text(encoding="utf-8").split("---\n", 2)
    metadata = yaml.safe_load(header)
    citation = parse("CITATION.cff")
    assert metadata["title"] == citation["title"]
    assert [each["name"] for each in metadata["authors"]] == [
        each["name"] for each in citation["authors"]
    ]
    affiliations = {each["index"] for each in metadata["affiliations"]}
    assert all(each["affiliation"] in affiliations for each in metadata["authors"])
    assert re.findall(r"^# (.+)$", body, re.MULTILINE) == [
        "Summary",
        "Statement of need",
        "State of the field",
        "Software design",
        "Research impact statement",
        "AI usage disclosure",
        "References",
    ]
    assert 750 <= len(body.split()) <= 1750


def test_the_numbers_of_the_paper_are_those_of_the_package():
    text = " ".join(text_of("paper/paper.md").split())
    for things, count in (("environments", len(ENVIRONMENTS)), ("policies", len(POLICIES))):
        claimed = int(re.search(rf"more than (\d+) {things}", text)[1])
        assert claimed < count <= claimed + 10, things
    studies = [*(ROOT / "bandit_envs" / "studies" / "gallery").glob("*.toml")]
    assert f"gallery of {len(studies)} study files" in text
    cost = re.search(r"2,000 ten-armed testbeds costs ([\d.]+ to [\d.]+) times", text)[1]
    assert f"| the same, batch 2000 | a bare loop | {cost} |" in text_of("colab/docs/faq.md")


def test_the_paper_cites_what_its_bibliography_has_and_shows_pictures_that_exist():
    text = PAPER.read_text(encoding="utf-8")
    bibliography = (PAPER.parent / "paper.bib").read_text(encoding="utf-8")
    cited = set(re.findall(r"(?<![\w.])@([a-z]+\d{4})", text))
    known = re.findall(r"^@\w+\{(\w+),$", bibliography, re.MULTILINE)
    assert sorted(cited) == sorted(known)
    for entry in bibliography.split("\n\n"):
        fields = set(re.findall(r"^  (\w+) +=", entry, re.MULTILINE))
        assert {"author", "title", "year"} <= fields, entry
        assert entry.count("{") == entry.count("}")
    pictures = re.findall(r"\]\(([^)]+\.png)\)", text)
    assert len(pictures) == 2
    assert all((PAPER.parent / picture).is_file() for picture in pictures)
    labels = set(re.findall(r"\\label\{([^}]+)\}", text))
    assert labels == set(re.findall(r"\\autoref\{([^}]+)\}", text))
