"""The site: it builds, every link and image on it resolves, and a browser shows every page."""

import functools
import http.server
import importlib
import re
import subprocess
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlencode

import pytest

from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.policies.registry import POLICIES
from colab.pages.public import package
from colab.pages.words import path_of

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "colab" / "docs"
NEEDED = (
    "furo",
    "gin",
    "latex2mathml",
    "matplotlib",
    "myst_nb",
    "sklearn",
    "sphinx",
    "sphinx_copybutton",
)
WIDTHS = {"desktop": (1280, 800), "phone": (390, 844)}
FAULTS = """
const wide = [...document.body.querySelectorAll("*")].filter(e =>
    e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80));
const page = document.documentElement;
return [
    ...(page.scrollWidth > innerWidth ? ["is wider than the window: " + wide[0]] : []),
    ...[...document.images].filter(e => !e.alt).map(e => "has no alternative text: " + e.src),
    ...[...document.images].filter(e => e.complete && !e.naturalWidth).map(e => "broken: " + e.src),
];
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """Returns the folder of the site, built without a warning."""
    for needed in NEEDED:
        pytest.importorskip(needed)
    folder = tmp_path_factory.mktemp("site")
    options = ["-q", "-W", "--keep-going", "-d", str(folder / "doctrees")]
    finished = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, str(DOCS), str(folder / "html")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return folder / "html"


class Page(HTMLParser):
    """The targets and the anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.anchors |= {found[key] for key in ("id", "name") if found.get(key)}
        if tag in {"a", "img", "link", "script"}:
            self.targets += [found[key] for key in ("href", "src") if found.get(key)]


def test_every_internal_link_and_image_resolves(site):
    pages = {path: Page(path) for path in site.rglob("*.html")}
    wrong = []
    for path, page in pages.items():
        for target in page.targets:
            if re.match(r"[a-z]+:", target):
                continue
            file, anchor = urldefrag(unquote(target))
            linked = (path.parent / file.partition("?")[0]).resolve() if file else path
            linked = linked / "index.html" if linked.is_dir() else linked
            lost = anchor and linked in pages and anchor not in pages[linked].anchors
            if lost or not linked.exists():
                wrong.append((path.name, target))
    assert wrong == []


def test_every_page_leads_to_its_source_in_the_repository(site):
    for page in sorted(site.rglob("*.html")):
        found = re.findall(r'href="([^"]*)"\s+title="View this page"', page.read_text("utf-8"))
        if page.name in ("genindex.html", "search.html"):
            assert found == []
            continue
        (link,) = found
        file = link.partition("?")[0].partition("/blob/main/")[2]
        assert (ROOT / file).is_file(), link


def test_the_reference_has_every_public_name_and_says_which_are_experimental(site):
    wrong = []
    for name in package().names():
        page = (site / "api" / f"{name.room}.html").read_text("utf-8")
        rows = re.findall(r"<tr .*?</tr>", page, re.DOTALL)
        said = [row for row in rows if f">{name.path}<" in row]
        stability = "experimental" if name.is_experimental else "stable"
        is_there = f'<dt class="sig sig-object py" id="{name.path}">' in page
        if not is_there or len(said) != 1 or f"<p>{stability}</p>" not in said[0]:
            wrong.append(name.path)
    assert wrong == []


def test_a_name_in_a_text_is_a_link_to_its_entry(site):
    page = (site / "policies.html").read_text("utf-8")
    entry = "api/bandit_envs.policies.html#bandit_envs.UCBPolicy"
    assert re.search(rf'<a [^>]*href="{entry}"[^>]*><code[^>]*><span class="pre">UCBPolicy<', page)


def test_no_page_names_a_public_name_without_a_link(site):
    names = [each.name for each in package().names() if path_of(each.name) == each.path]
    lost = {}
    for page in site.glob("*.html"):
        text = re.sub(r"<(a|h\d)\b.*?</\1>", "", page.read_text("utf-8"), flags=re.DOTALL)
        words = set(re.findall(r"<code [^>]*><span class=\"pre\">(\w+)</span></code>", text))
        if words & set(names):
            lost[page.name] = words & set(names)
    assert lost == {}


def test_the_site_has_every_id_and_every_subcommand(site):
    for name, ids in (("environments", ENVIRONMENTS), ("policies", POLICIES)):
        page = (site / f"{name}.html").read_text("utf-8")
        assert [key for key in ids if f">{key}<" not in page] == []
    command = (site / "command.html").read_text("utf-8")
    assert [name for name in ("run", "sweep", "evaluate") if f'id="{name}"' not in command] == []


@pytest.mark.parametrize(("name", "ids"), [("environments", ENVIRONMENTS), ("policies", POLICIES)])
def test_every_environment_and_policy_is_shown_with_its_equations(site, name, ids):
    page = (site / f"{name}.html").read_text("utf-8")
    sections = re.findall(r"<h2>(\w+)<.*?</section>", page, re.DOTALL)
    assert sections == list(ids)
    texts = {text.partition("<")[0]: text for text in page.split("<h2>")[1:]}
    assert [key for key in ids if "<pre>" not in texts[key]] == []


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address(site):
    """Returns the address at which the site is served on this machine."""
    handler = functools.partial(Handler, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("width", WIDTHS)
def test_a_browser_shows_every_page_without_errors_or_horizontal_scrolling(
    site, browser, address, width
):
    columns, lines = WIDTHS[width]
    size = {"width": columns, "height": lines, "deviceScaleFactor": 1, "mobile": columns < 800}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    faults = {}
    for path in sorted(site.rglob("*.html")):
        name = str(path.relative_to(site))
        browser.get(f"{address}/{name}")
        found = browser.execute_script(FAULTS)
        logged = [entry["message"] for entry in browser.get_log("browser")]
        found += [message for message in logged if "favicon" not in message]
        if found:
            faults[name] = found
    assert faults == {}


ANSWERS = {
    "regret curve": "faq.html",
    "Thompson": "policies.html",
    "CSV": "logged_data_in_detail.html",
    "torch": "estimators_and_networks.html",
    "seed": "concepts.html",
    "GPU": "faq.html",
}
FOUND = "return [...document.querySelectorAll('ul.search li > a')].map(e => e.pathname.slice(1))"
IS_OVER = (
    "return document.querySelector('.search-summary')?.textContent.startsWith('Search finished')"
)


@pytest.mark.parametrize("words", ANSWERS)
def test_the_search_finds_the_page_that_answers_among_the_first_ten(browser, address, words):
    wait = importlib.import_module("selenium.webdriver.support.ui").WebDriverWait
    browser.get(f"{address}/search.html?{urlencode({'q': words})}")
    wait(browser, 20).until(lambda shown: shown.execute_script(IS_OVER))
    assert ANSWERS[words] in browser.execute_script(FOUND)[:10]
