"""A browser without network, the demonstration's page, and a page whose names are hostile."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("selenium", reason="make test-browser installs selenium")
from selenium import webdriver
from sklearn.linear_model import LogisticRegression

import fairstress as fs
from fairstress.report.html.page import write_page

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
    write_page(path, hostile_results, people=True, labels=True)
    return path


def numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """What a classifier that knows no groups looks at."""
    return frame[["x", "z", "w"]]


@pytest.fixture(scope="session")
def user_predictor_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three groups, a fair edge, a two-valued outcome, and a classifier of the columns themselves."""
    drawn = fs.CausalGraph.parse("a -> x -> z; a -> z; a -> w", protected="a", outcome="y")
    frame = fs.datasets.simulate(drawn, 300, binary=False, random_state=0).frame
    frame["a"] = pd.cut(frame["a"], [-9, -0.5, 0.5, 9], labels=["left", "middle", "right"]).astype(str)
    frame["y"] = np.where(frame["y"] > 0, "yes", "no")
    graph = fs.CausalGraph.parse("a -> x =fair=> z; a -> z; a -> w; x <-> z; x <-> w", protected="a", outcome="y")
    predictor = fs.Predictor(LogisticRegression(), input=numbers, gradient="differences")
    degrees = dict.fromkeys("xzw", 1)
    audit = fs.Audit.fit(frame, graph, penalty=1, degrees=degrees, predictor=predictor, random_state=0)
    path = tmp_path_factory.mktemp("user_predictor") / "page.html"
    audit.report(path, 0.2, sizes=(0, 0.2), grid=tuple(np.linspace(-0.3, 0.3, 7)), threshold=0.5)
    return path
