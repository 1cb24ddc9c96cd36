"""The pages as GitHub shows them: nothing is raw, dead, wrong or old."""

import ast
import doctest
import functools
import importlib
import re
import textwrap
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.names.notation import parse_toml
from colab.pages.places import PART, ROOT, pages

cmarkgfm = pytest.importorskip("cmarkgfm")
options = importlib.import_module("cmarkgfm.cmark").Options

README = ROOT / "README.md"
TEXTS = [README, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *pages()]
WRITTEN = [page for page in pages() if PART.search(page.read_text(encoding="utf-8"))]
BUILT = [
    ROOT / line.strip("/")
    for line in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    if line.startswith("/colab/docs/")
]
"""What only the build of the site makes, so that links on GitHub cannot lead there."""

RAW = {
    "a mark of a merge": r"^(<{7}|={7}|>{7})( |$)",
    "a role": r"\{[a-zA-Z][\w:+-]*\}`",
    "a directive": r"^:::",
    "an option of a directive": r"^:[a-z][\w-]*:",
    "a target": r"^\([\w-]+\)=$",
    "an item of a definition list": r"^: ",
    "an equation that is not a block of math": r"\$\$",
}


class Rendered(HTMLParser):
    """What GitHub makes of a text: its prose, blocks of code, anchors and links."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.prose = ""
        self.blocks: list[tuple[str, str]] = []
        self.anchors: set[str] = set()
        self.targets: list[str] = []
        self._block: list[str] | None = None
        self._heading: list[str] | None = None
        self.html = cmarkgfm.github_flavored_markdown_to_html(
            text, options.CMARK_OPT_UNSAFE | options.CMARK_OPT_GITHUB_PRE_LANG
        )
        self.feed(self.html)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.anchors |= {found[key] for key in ("id", "name") if found.get(key)}
        self.targets += [found[key] for key in ("href", "src") if found.get(key)]
        if tag == "pre":
            self._block = [found.get("lang") or "", ""]
        elif tag == "code" and self._block is None:
            self.prose += "`"
        elif re.fullmatch("h[1-6]", tag):
            self._heading = []

    def handle_data(self, data):
        if self._block is not None:
            self._block[1] += data
            return
        self.prose += data
        if self._heading is not None:
            self._heading.append(data)

    def handle_endtag(self, tag):
        if tag == "pre":
            self.blocks.append(tuple(self._block))
            self._block = None
        elif self._heading is not None and re.fullmatch("h[1-6]", tag):
            self._add_anchor("".join(self._heading))
            self._heading = None

    def _add_anchor(self, heading: str) -> None:
        """Adds the anchor that GitHub gives a heading; another one of that name gets a number."""
        first = re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", "-")
        number = 0
        while (anchor := f"{first}-{number}" if number else first) in self.anchors:
            number += 1
        self.anchors.add(anchor)


@functools.cache
def rendered(path: Path) -> Rendered:
    return Rendered(path.read_text(encoding="utf-8"))


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


each_text = pytest.mark.parametrize("text", TEXTS, ids=name)


@each_text
def test_github_shows_no_raw_directive_role_option_or_mark_of_a_merge(text):
    page = rendered(text)
    found = {
        kind: match[0]
        for kind, pattern in RAW.items()
        if (match := re.search(pattern, page.prose, re.MULTILINE))
    }
    found |= {language: code for language, code in page.blocks if language.startswith("{")}
    found |= {
        code: code for _, code in page.blocks if re.match(RAW["an option of a directive"], code)
    }
    assert found == {}
    assert not re.search(r"\$[^$\s<][^$<]*<(em|strong)>", page.html), "emphasis within a formula"


@each_text
def test_every_block_of_code_parses(text):
    for language, code in rendered(text).blocks:
        if language == "toml":
            parse_toml(code)
        elif language == "python" and ">>>" in code:
            for example in doctest.DocTestParser().get_examples(code):
                ast.parse(example.source)
        elif language == "python":
            ast.parse(textwrap.dedent(code))


@each_text
def test_every_link_on_github_leads_to_a_file_or_a_heading(text):
    for address in rendered(text).targets:
        if re.match(r"[a-z]+:", address):
            continue
        target, _, anchor = unquote(address).partition("#")
        linked = (text.parent / target).resolve() if target else text
        assert linked.exists(), f"{address} leads nowhere"
        assert not any(linked.is_relative_to(built) for built in BUILT), address
        if anchor:
            assert anchor in rendered(linked).anchors, f"{address} leads to no heading"


def test_every_page_can_be_reached_from_the_readme():
    reached = {README}
    new = [README]
    while new:
        text = new.pop()
        targets = {(text.parent / address.partition("#")[0]) for address in rendered(text).targets}
        linked = {target.resolve() for target in targets} & set(pages())
        new += linked - reached
        reached |= linked
    assert set(pages()) - reached == set()


def first_hours() -> list[Path]:
    """Returns the pages to which the README leads each kind of user."""
    ways = README.read_text(encoding="utf-8").partition("## Your way in\n")[2]
    rows = re.findall(r"^\| .*", ways.partition("\n## ")[0], re.MULTILINE)
    return [(ROOT / re.search(r"\]\(([^)#]+)", row)[1]).resolve() for row in rows[1:]]


def test_the_readme_is_short_before_how_to_cite():
    text, heading, _ = README.read_text(encoding="utf-8").partition("## How to cite\n")
    assert heading
    assert len(text.split()) <= 450


def test_the_readme_names_all_notebooks():
    linked = {(ROOT / address).resolve() for address in rendered(README).targets}
    assert set((ROOT / "colab").glob("*.ipynb")) <= linked


def test_the_first_hour_of_each_kind_of_user_is_a_page_of_at_most_900_words():
    words = {page.stem: len(page.read_text(encoding="utf-8").split()) for page in first_hours()}
    assert len(words) >= 6
    assert {stem: count for stem, count in words.items() if count > 900} == {}


@pytest.mark.parametrize("page", first_hours(), ids=name)
def test_a_first_hour_shows_the_picture_that_its_first_command_makes(page):
    text = page.read_text(encoding="utf-8")
    after = re.split(r"^```sh\nbandit-envs [^`]+^```$", text, maxsplit=1, flags=re.MULTILINE)[1]
    assert re.search(r"^!\[.+\]\(\.\./images/", after.partition("\n## ")[0], re.MULTILINE)


def words_by_hand(page: Path) -> int:
    """Returns the number of words outside of code and of parts that a command writes."""
    text = PART.sub("", page.read_text(encoding="utf-8"))
    words = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL).split()
    return sum(any(letter.isalnum() for letter in word) for word in words)  # no bar of a table


def test_at_most_34_pages_have_at_most_32000_words_by_hand():
    words = {page.stem: words_by_hand(page) for page in pages()}
    assert len(words) <= 34
    assert sum(words.values()) <= 32_000, words


@pytest.mark.parametrize("page", WRITTEN, ids=name)
def test_what_the_command_writes_on_a_page_is_up_to_date(page):
    if page.stem == "policies":
        pytest.importorskip("sklearn")
    parts = importlib.import_module("colab.pages.parts")
    text = page.read_text(encoding="utf-8")
    if parts.rewrite(text, page) != text:
        pytest.fail(f"{name(page)} is old: run python -m colab.pages", pytrace=False)


def test_every_part_of_a_page_has_a_writer_and_an_end():
    for page in pages():
        text = page.read_text(encoding="utf-8")
        assert len(PART.findall(text)) == text.count("<!-- python -m colab.pages")
        assert len(PART.findall(text)) == text.count("<!-- end -->")


def test_each_environment_has_a_picture_and_no_other_picture_is_left():
    pictures = (ROOT / "colab" / "images" / "environments").glob("*.png")
    assert {picture.stem for picture in pictures} == set(ENVIRONMENTS)


@pytest.mark.slow
@pytest.mark.parametrize("entry", ENVIRONMENTS.values(), ids=lambda entry: entry.id)
def test_the_picture_of_an_environment_is_up_to_date(entry):
    pytest.importorskip("matplotlib")
    pytest.importorskip("sklearn")
    pictures = importlib.import_module("colab.pages.pictures")
    is_old = pictures.is_old(entry, pictures.draw(entry))
    assert not is_old, "run python -m colab.pages"
