"""A headless Chromium, for tests of pages."""

import contextlib
import importlib
import os
import shutil

import pytest

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--headless=new", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@pytest.fixture(scope="module")
def browser():
    """Returns a headless Chromium with its console logged."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    chromium = next(filter(None, map(shutil.which, CHROMIUM)), None)
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromedriver is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in FLAGS:
        options.add_argument(flag)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # root cannot use Chromium's sandbox
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield started
    started.quit()


@contextlib.contextmanager
def without_network(driver):
    """Takes the network away from a browser, and empties its console."""
    driver.execute_cdp_cmd("Network.enable", {})
    off = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    driver.execute_cdp_cmd("Network.emulateNetworkConditions", off)
    driver.get_log("browser")
    yield driver
    driver.execute_cdp_cmd("Network.emulateNetworkConditions", {**off, "offline": False})


def wait_for(driver, script, value):
    """Waits until a script returns a value."""
    wait = importlib.import_module("selenium.webdriver.support.ui").WebDriverWait
    wait(driver, 20).until(lambda shown: shown.execute_script(script) == value)
