"""A browser without network, the demonstration's page, and a page whose names are hostile."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

pytest.importorskip("selenium", reason="make test-browser installs selenium")
from selenium import webdriver

from fairstress.report.page import write_page

FLAGS = """
--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync
"""


def where(variable: str, *names: str) -> str:
    """The path of a program: as the environment says, or as it is installed; never downloaded."""
    found = os.environ.get(variable) or next(filter(None, map(shutil.which, names)), None)
    assert found, f"no {names[0]} found: run make test-browser, or set {variable}"
    return found


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core."""
    folder = os.environ.get("AXE_CORE", ".venv/axe")
    return (Path(folder) / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory):
    options = webdriver.ChromeOptions()
    options.binary_location = where("CHROMIUM", "chromium", "chromium-browser")
    for flag in (*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(where("CHROMEDRIVER", "chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    driver.execute_cdp_cmd("Network.enable", {})
    offline = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    driver.execute_cdp_cmd("Network.emulateNetworkConditions", offline)
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def law_page(demonstration) -> Path:
    """The page that the demonstration writes."""
    return demonstration.page


@pytest.fixture(scope="session")
def hostile_page(hostile_results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "page.html"
    write_page(path, hostile_results, labels=True)
    return path
