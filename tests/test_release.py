"""The files of a release: workflows, the recipe for conda, the citation and the paper."""

import re
from configparser import ConfigParser
from pathlib import Path

import pytest

import bandit_envs

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PAPER = ROOT / "paper" / "paper.md"
PERSON_OR_ENTITY = {
    "family-names",
    "given-names",
    "orcid",
    "affiliation",
    "name",
    "website",
    "email",
}


def parse(file):
    return yaml.safe_load((ROOT / file).read_text(encoding="utf-8"))


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
    assert "bandit-envs testbed" in commands
    assert "secrets" not in (ROOT / ".github/workflows/release.yml").read_text()


def test_a_tag_is_published_only_if_it_names_the_version():
    (step,) = [
        step["run"]
        for step in parse(".github/workflows/release.yml")["jobs"]["build"]["steps"]
        if step.get("name") == "The tag names the version"
    ]
    pattern = step.split('grep -qx "')[1].split('" bandit_envs')[0].replace('\\"', '"')
    line = pattern.replace("${GITHUB_REF_NAME#v}", bandit_envs.__version__)
    assert line in (ROOT / "bandit_envs" / "__init__.py").read_text().splitlines()


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
    headings = re.findall(r"^# (.+)$", body, re.MULTILINE)
    assert headings[0] == "Summary"
    assert {"Statement of need", "State of the field", "References"} <= {*headings}
    assert 250 <= len(body.split()) <= 1750


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
